"""Finds the files below a prefix and sends one message for each of them."""

import json
import os

import boto3

QUEUE_URL = os.environ.get("QUEUE_URL", "files")

s3 = boto3.client("s3")
sqs = boto3.client("sqs")


def handler(event, context):
    bucket, _, prefix = event["prefix"].removeprefix("s3://").partition("/")
    entries, files = [], 0
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for found in page.get("Contents", []):
            body = {"run_id": event["run_id"], "bucket": bucket, "key": found["Key"]}
            entries.append({"Id": str(len(entries)), "MessageBody": json.dumps(body)})
            files += 1
            if len(entries) == 10:
                sqs.send_message_batch(QueueUrl=QUEUE_URL, Entries=entries)
                entries = []
    if entries:
        sqs.send_message_batch(QueueUrl=QUEUE_URL, Entries=entries)
    return {"run_id": event["run_id"], "files": files}
