"""The job itself: works for as long as it is told, and leaves its status in the bucket."""

import os
import time

import boto3

BUCKET = os.environ.get("BUCKET", "jobs")

s3 = boto3.client("s3")


def handler(event, context):
    time.sleep(event.get("seconds", 13))
    status = "FAILED" if event.get("fails") else "SUCCEEDED"
    s3.put_object(Bucket=BUCKET, Key=f"{event['job']}/status", Body=status)
    if status == "FAILED":
        raise RuntimeError("the job came to nothing")
