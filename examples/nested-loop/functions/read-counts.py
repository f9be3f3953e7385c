"""Reads from the table how many users there are to alert, and in how many rounds."""

import os

import boto3

SETTINGS_TABLE = os.environ.get("SETTINGS_TABLE", "alert-settings")

table = boto3.resource("dynamodb").Table(SETTINGS_TABLE)


def handler(event, context):
    item = table.get_item(Key={"id": event["id"]}, ConsistentRead=True)["Item"]
    return {
        "id": item["id"],
        "users": int(item["users"]),
        "notification_count": int(item["rounds"]),
        "first": True,
        "remaining": 0,
    }
