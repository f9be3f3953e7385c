"""Starts a job: remembers when, sets the runner going without waiting for it, and answers RUNNING."""

import hashlib
import json
import os
from datetime import datetime

import boto3

BUCKET = os.environ.get("BUCKET", "jobs")

s3 = boto3.client("s3")
functions = boto3.client("lambda")


def handler(event, context):
    """`event` is the context object of the execution."""
    job = hashlib.md5(event["Execution"]["Id"].encode()).hexdigest()
    s3.put_object(Bucket=BUCKET, Key=f"{job}/started", Body=datetime.utcnow().isoformat())
    order = {"job": job, **event["Execution"]["Input"]}
    functions.invoke(FunctionName="job-runner", InvocationType="Event", Payload=json.dumps(order))
    return {"status": "RUNNING"}
