"""Says how a job is, and gives up on one that takes too long."""

import hashlib
import os
from datetime import datetime

import boto3

BUCKET = os.environ.get("BUCKET", "jobs")
DEADLINE_SECONDS = int(os.environ.get("DEADLINE_SECONDS", "30"))

s3 = boto3.client("s3")


def handler(event, context):
    """`event` is the context object of the execution."""
    job = hashlib.md5(event["Execution"]["Id"].encode()).hexdigest()
    try:
        status = s3.get_object(Bucket=BUCKET, Key=f"{job}/status")["Body"].read().decode()
    except s3.exceptions.NoSuchKey:
        status = "RUNNING"
    started = s3.get_object(Bucket=BUCKET, Key=f"{job}/started")["Body"].read().decode()
    elapsed = datetime.utcnow() - datetime.fromisoformat(started)
    if status == "RUNNING" and elapsed.total_seconds() > DEADLINE_SECONDS:
        raise TimeoutError(f"job run timed out in {DEADLINE_SECONDS} seconds!")
    return {"status": status}
