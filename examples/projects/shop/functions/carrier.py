"""Books a parcel with the carrier, who closes a little later."""

import time


def handler(event, context):
    time.sleep(0.3)
    return {"tracking": f"1Z{event['order'].rpartition('-')[2]}", "cutOffSeconds": 1}
