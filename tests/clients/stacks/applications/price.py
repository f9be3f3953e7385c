"""The price of an order."""

import os


def handler(event, context):
    """Multiply the amount by the factor of the stack."""
    return {"id": event["id"], "price": event["amount"] * int(os.environ["FACTOR"])}
