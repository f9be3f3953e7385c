"""Stock: reserves, packs, releases and checks."""

import time


def handler(event, context):
    action = event["action"]
    if action == "reserve":
        time.sleep(0.4)
        print(f"reserved {len(event['lines'])} lines for {event['order']}")
        return {"reservation": f"r-{event['order'].rpartition('-')[2]}", "warehouse": "north"}
    if action == "pack":
        time.sleep(0.3)
        return {**event["line"], "packed": True}
    print(action, event.get("reservation", ""))
    return {"done": action}
