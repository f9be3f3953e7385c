"""Writes how much a run has read beside what it has read."""

import json
import os

import boto3

files = boto3.client("s3")


def handler(event, context):
    report = {"files": len(event["results"]), "rows": sum(result["rows"] for result in event["results"])}
    key = f"reports/{event['run']}.json"
    files.put_object(Bucket=os.environ["INCOMING"], Key=key, Body=json.dumps(report).encode())
    return report
