"""Lets the oldest running execution pass: lists all that run, page after page, and looks who began first."""

import os

import boto3

STATE_MACHINE_ARN = os.environ.get("STATE_MACHINE_ARN", "arn:aws:states:us-east-1:000000000000:stateMachine:semaphore")

stepfunctions = boto3.client("stepfunctions")


def handler(event, context):
    pages = stepfunctions.get_paginator("list_executions").paginate(
        stateMachineArn=STATE_MACHINE_ARN, statusFilter="RUNNING"
    )
    running = [execution for page in pages for execution in page["executions"]]
    oldest = min(running, key=lambda execution: execution["startDate"])
    return {"proceed": oldest["name"] == event["name"]}
