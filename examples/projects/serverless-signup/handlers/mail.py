"""Mail to users: here it is only written to the log and noted at the user."""

import json
import os

import boto3

users = boto3.resource("dynamodb").Table(os.environ["USERS_TABLE"])


def send_welcome(event, context):
    failed = []
    for record in event["Records"]:
        user = json.loads(record["body"])
        if "email" not in user:
            failed.append({"itemIdentifier": record["messageId"]})
            continue
        print(f"{os.environ['OUTBOX']}: welcome, {user['email']}")
        users.update_item(
            Key={"email": user["email"]},
            UpdateExpression="SET welcomed = :yes",
            ExpressionAttributeValues={":yes": True},
        )
    return {"batchItemFailures": failed}
