"""Writes the receipt of an order to the bucket."""

import os

import boto3

bucket = boto3.client("s3")


def handler(event, context):
    lines = [f"{line.get('pieces', 1):>3} x {line['item']}" for line in event["lines"]]
    lines += [f"shipping {event['shipping']}", f"total {event['price']['total'] + event['shipping']}"]
    key = f"{event['orderId']}.txt"
    bucket.put_object(Bucket=os.environ["RECEIPTS"], Key=key, Body="\n".join(lines).encode())
    return {"key": key}
