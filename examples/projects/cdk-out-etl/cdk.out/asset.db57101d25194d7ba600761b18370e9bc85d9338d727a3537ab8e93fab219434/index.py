"""Averages the readings of one file by sensor, and stores them."""

import csv
import io
import os
from decimal import Decimal

import boto3

files = boto3.client("s3")
readings = boto3.resource("dynamodb").Table(os.environ["READINGS"])


def handler(event, context):
    body = files.get_object(Bucket=os.environ["INCOMING"], Key=event["Key"])["Body"].read().decode()
    values = {}
    for row in csv.DictReader(io.StringIO(body)):
        values.setdefault(row["sensor"], []).append(Decimal(row["value"]))
    for sensor, found in values.items():
        readings.put_item(
            Item={"sensor": sensor, "file": event["Key"], "average": sum(found) / len(found), "count": len(found)}
        )
    return {"file": event["Key"], "rows": sum(len(found) for found in values.values())}
