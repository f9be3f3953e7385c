"""Whatever must never run twice at once. Here it tells when it was in."""

import time


def handler(event, context):
    began = time.time()
    time.sleep(event.get("seconds", 1))
    return {"began": began, "ended": time.time()}
