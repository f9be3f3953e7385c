"""Behind the dead-letter queue: writes down which files nobody could treat."""

import json
import os

import boto3

STATUS_TABLE = os.environ.get("STATUS_TABLE", "file-status")

table = boto3.resource("dynamodb").Table(STATUS_TABLE)


def handler(event, context):
    for record in event["Records"]:
        message = json.loads(record["body"])
        table.update_item(
            Key={"run_id": message["run_id"], "file": message["file"]},
            UpdateExpression="SET #status = :error, #received = :received",
            ExpressionAttributeNames={"#status": "status", "#received": "received"},
            ExpressionAttributeValues={
                ":error": "error",
                ":received": int(record["attributes"]["ApproximateReceiveCount"]),
            },
        )
