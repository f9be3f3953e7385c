"""Counts the files of a run that are final, by the status objects in the bucket."""

import os

import boto3

STATUS_BUCKET = os.environ.get("STATUS_BUCKET", "status")

s3 = boto3.client("s3")


def handler(event, context):
    done, error = (count(f"{event['run_id']}/{status}/") for status in ("done", "error"))
    return {"done": done, "error": error, "open": event["files"] - done - error}


def count(prefix):
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=STATUS_BUCKET, Prefix=prefix)
    return sum(page["KeyCount"] for page in pages)
