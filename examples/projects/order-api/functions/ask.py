"""Writes the letter with the two links that decide on an order."""

import json
import os
from urllib.parse import urlencode

import boto3

sqs = boto3.client("sqs")


def handler(event, context):
    def link(decision):
        query = urlencode({"token": event["token"], "decision": decision})
        return f"/orders/{event['orderId']}/decision?{query}"

    letter = {"orderId": event["orderId"], "total": event["total"], "approve": link("yes"), "reject": link("no")}
    sqs.send_message(QueueUrl=os.environ["MAILS"], MessageBody=json.dumps(letter))
