"""Alerts one user, which here only counts in the table, and takes it off those that remain."""

import os

import boto3

SETTINGS_TABLE = os.environ.get("SETTINGS_TABLE", "alert-settings")

table = boto3.resource("dynamodb").Table(SETTINGS_TABLE)


def handler(event, context):
    table.update_item(
        Key={"id": event["id"]}, UpdateExpression="ADD alerts :one", ExpressionAttributeValues={":one": 1}
    )
    return {**event, "remaining": event["remaining"] - 1}
