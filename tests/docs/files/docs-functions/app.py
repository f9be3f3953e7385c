def handler(event, context):
    return {"item": event["item"], "price": 12}
