"""The worker behind the queue: adds up the numbers of each file, and says which messages have to come again."""

import csv
import json
import os

import boto3

STATUS_BUCKET = os.environ.get("STATUS_BUCKET", "status")

s3 = boto3.client("s3")


def handler(event, context):
    failures = []
    for record in event["Records"]:
        try:
            treat(json.loads(record["body"]))
        except ValueError as problem:
            print(record["body"], problem)
            failures.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failures}


def treat(file):
    text = s3.get_object(Bucket=file["bucket"], Key=file["key"])["Body"].read().decode()
    total = sum(float(row["value"]) for row in csv.DictReader(text.splitlines()))
    name = file["key"].replace("/", "-")
    s3.put_object(Bucket=STATUS_BUCKET, Key=f"{file['run_id']}/done/{name}", Body=json.dumps({"total": total}))
