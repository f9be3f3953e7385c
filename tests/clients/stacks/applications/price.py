"""The price of an order."""

import json
import os


def handler(event, context):
    """Multiply the amount by the factor of the stack."""
    return {"id": event["id"], "price": event["amount"] * int(os.environ["FACTOR"])}


def quote(event, context):
    """Answer a request of the HTTP API with the price of what its path and query name."""
    asked = {"id": event["pathParameters"]["id"], "amount": int(event["queryStringParameters"]["amount"])}
    return {"statusCode": 200, "body": json.dumps(handler(asked, context))}
