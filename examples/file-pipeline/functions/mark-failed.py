"""Behind the dead-letter queue: writes down which files nobody could treat."""

import json
import os

import boto3

STATUS_BUCKET = os.environ.get("STATUS_BUCKET", "status")

s3 = boto3.client("s3")


def handler(event, context):
    for record in event["Records"]:
        file = json.loads(record["body"])
        name = file["key"].replace("/", "-")
        received = record["attributes"]["ApproximateReceiveCount"]
        s3.put_object(Bucket=STATUS_BUCKET, Key=f"{file['run_id']}/error/{name}", Body=f"given up, received {received}")
