"""Tells customers about their parcels; their messages come from the topic of orders, through a queue."""

import json


def handler(event, context):
    for record in event["Records"]:
        message = json.loads(json.loads(record["body"])["Message"])
        print(f"told {message['email']} about {message['order']}")
