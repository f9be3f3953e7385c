"""Reads an order from the table."""

import json
import os

import boto3

orders = boto3.resource("dynamodb").Table(os.environ["ORDERS"])


def handler(event, context):
    order = orders.get_item(Key={"orderId": event["pathParameters"]["orderId"]}).get("Item")
    if order is None:
        return {"statusCode": 404, "body": json.dumps({"message": "there is no such order"})}
    return {**order, "total": int(order["total"])}
