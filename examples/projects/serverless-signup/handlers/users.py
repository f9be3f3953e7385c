"""Users and their addresses."""

import os
import re

import boto3

users = boto3.resource("dynamodb").Table(os.environ["USERS_TABLE"])


class InvalidAddress(Exception):
    pass


def register(event, context):
    email = event.get("email", "").strip().lower()
    if not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", email):
        raise InvalidAddress(email)
    users.put_item(Item={"email": email, "confirmed": False, "stage": os.environ["STAGE"]})
    return {"email": email}


def confirm(event, context):
    users.update_item(
        Key={"email": event["email"]},
        UpdateExpression="SET confirmed = :yes",
        ExpressionAttributeValues={":yes": True},
    )
    return {"email": event["email"], "confirmed": True}
