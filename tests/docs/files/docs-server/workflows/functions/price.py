def handler(event, context):
    if event.get("order") == 7:
        raise ValueError("no such item")
    return {"price": 12}
