"""Counts the files of a run that are final, by their status in the table."""

import os

import boto3
from boto3.dynamodb.conditions import Attr, Key

STATUS_TABLE = os.environ.get("STATUS_TABLE", "file-status")

table = boto3.resource("dynamodb").Table(STATUS_TABLE)


def handler(event, context):
    done, error = (count(event["run_id"], status) for status in ("done", "error"))
    return {"done": done, "error": error, "open": event["files"] - done - error}


def count(run_id, status):
    """How many files of a run have a status; a query reads a megabyte at most, hence the pages."""
    question = {
        "KeyConditionExpression": Key("run_id").eq(run_id),
        "FilterExpression": Attr("status").eq(status),
        "Select": "COUNT",
    }
    page = table.query(**question)
    found = page["Count"]
    while "LastEvaluatedKey" in page:
        page = table.query(**question, ExclusiveStartKey=page["LastEvaluatedKey"])
        found += page["Count"]
    return found
