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
sqs = boto3.client("sqs")
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
                sqs.change_message_visibility(
                    QueueUrl=QUEUE_URL, ReceiptHandle=record["receiptHandle"], VisibilityTimeout=int(RETRY_SECONDS)
                )
    return {"batchItemFailures": failures}


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
