"""Writes down every file below a prefix as not processed, then sends one message for each of them."""

import json
import os

import boto3

QUEUE_URL = os.environ.get("QUEUE_URL", "files")
STATUS_TABLE = os.environ.get("STATUS_TABLE", "file-status")

s3 = boto3.client("s3")
sqs = boto3.client("sqs")
table = boto3.resource("dynamodb").Table(STATUS_TABLE)


def handler(event, context):
    run_id, files = event["run_id"], 0
    bucket, _, prefix = event["prefix"].removeprefix("s3://").partition("/")
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        uris = [f"s3://{bucket}/{found['Key']}" for found in page.get("Contents", [])]
        # Written before anything is sent: a fast worker's status must not be overwritten.
        with table.batch_writer() as batch:
            for uri in uris:
                batch.put_item(Item={"run_id": run_id, "file": uri, "status": "NotProcessed"})
        for first in range(0, len(uris), 10):
            send(run_id, uris[first : first + 10])
        files += len(uris)
    return {"run_id": run_id, "files": files}


def send(run_id, uris):
    bodies = [json.dumps({"run_id": run_id, "file": uri}) for uri in uris]
    entries = [{"Id": str(number), "MessageBody": body} for number, body in enumerate(bodies)]
    answer = sqs.send_message_batch(QueueUrl=QUEUE_URL, Entries=entries)
    if answer.get("Failed"):
        raise RuntimeError(f"not sent: {answer['Failed']}")
