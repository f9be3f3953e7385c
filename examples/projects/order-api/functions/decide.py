"""Follows a link of a letter: answers the task token in it."""

import json

import boto3

states = boto3.client("stepfunctions")


def handler(event, context):
    query = event.get("queryStringParameters") or {}
    if query.get("decision") not in ("yes", "no") or "token" not in query:
        return {"statusCode": 400, "body": json.dumps({"message": "follow one of the links of the letter"})}
    try:
        states.send_task_success(taskToken=query["token"], output=json.dumps({"decision": query["decision"]}))
    except (states.exceptions.TaskTimedOut, states.exceptions.TaskDoesNotExist, states.exceptions.InvalidToken):
        return {"statusCode": 410, "body": json.dumps({"message": "this order is decided"})}
    return {"statusCode": 200, "body": json.dumps({"message": "thank you"})}
