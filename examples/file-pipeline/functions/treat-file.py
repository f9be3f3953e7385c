"""The worker behind the queue: adds up the numbers of each file, and says which messages have to come again."""

import csv
import json
import os
from decimal import Decimal

import boto3

STATUS_TABLE = os.environ.get("STATUS_TABLE", "file-status")
QUEUE_URL = os.environ.get("QUEUE_URL", "files")
RETRY_SECONDS = os.environ.get("RETRY_SECONDS")
"""After how long a message comes again; if unset, after the visibility timeout of the queue."""

s3 = boto3.client("s3")
table = boto3.resource("dynamodb").Table(STATUS_TABLE)


def handler(event, context):
    failures = []
    for record in event["Records"]:
        try:
            treat(json.loads(record["body"]))
        except (ArithmeticError, KeyError) as problem:
            print(record["body"], repr(problem))
            failures.append({"itemIdentifier": record["messageId"]})
            if RETRY_SECONDS is not None:
                retry_after(int(RETRY_SECONDS), record)
    return {"batchItemFailures": failures}


def retry_after(seconds, record):
    """Let a message come again before the visibility timeout of the queue. Rare, so the client is made here."""
    boto3.client("sqs").change_message_visibility(
        QueueUrl=QUEUE_URL, ReceiptHandle=record["receiptHandle"], VisibilityTimeout=seconds
    )


def treat(message):
    bucket, _, key = message["file"].removeprefix("s3://").partition("/")
    text = s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode()
    total = sum(Decimal(row["value"]) for row in csv.DictReader(text.splitlines()))
    table.update_item(
        Key={"run_id": message["run_id"], "file": message["file"]},
        UpdateExpression="SET #status = :done, #total = :total",
        ExpressionAttributeNames={"#status": "status", "#total": "total"},
        ExpressionAttributeValues={":done": "done", ":total": total},
    )
