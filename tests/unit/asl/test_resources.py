from __future__ import annotations

import pytest

from statewright.asl.resources import parse_resource

LAMBDA = "arn:aws:lambda:us-east-1:000000000000:function:"


@pytest.mark.parametrize(
    ("arn", "kind", "resource_type", "action", "pattern"),
    [
        (LAMBDA + "f", "lambda", "lambda", LAMBDA + "f", "request"),
        (LAMBDA + "f:live", "lambda", "lambda", LAMBDA + "f:live", "request"),
        ("arn:aws:states:::sqs:sendMessage", "task", "sqs", "sendMessage", "request"),
        (
            "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
            "task",
            "sqs",
            "sendMessage.waitForTaskToken",
            "waitForTaskToken",
        ),
        ("arn:aws:states:::batch:submitJob.sync", "task", "batch", "submitJob.sync", "sync"),
        ("arn:aws:states:::states:startExecution.sync:2", "task", "states", "startExecution.sync:2", "sync"),
        ("arn:aws-cn:states:::aws-sdk:s3:getObject", "task", "aws-sdk:s3", "getObject", "request"),
        (
            "arn:aws:states:::aws-sdk:sqs:sendMessage.waitForTaskToken",
            "task",
            "aws-sdk:sqs",
            "sendMessage.waitForTaskToken",
            "waitForTaskToken",
        ),
        ("arn:aws:states:::http:invoke", "task", "http", "invoke", "request"),
        ("arn:aws:states:eu-west-1::lambda:invoke", "task", "lambda", "invoke", "request"),
        ("${ChargeFunctionArn}", "lambda", "lambda", "${ChargeFunctionArn}", "request"),
        (
            "arn:aws:states:::sqs:sendMessage.other",
            "lambda",
            "lambda",
            "arn:aws:states:::sqs:sendMessage.other",
            "request",
        ),
    ],
)
def test_reads(arn: str, kind: str, resource_type: str, action: str, pattern: str) -> None:
    found = parse_resource(arn)
    assert (found.arn, found.kind, found.resource_type, found.action, found.pattern) == (
        arn, kind, resource_type, action, pattern,
    )  # fmt: skip
    assert found.waits_for_token == (pattern == "waitForTaskToken")


def test_an_activity_waits_for_its_token() -> None:
    arn = "arn:aws:states:us-east-1:000000000000:activity:Approve"
    found = parse_resource(arn)
    assert (found.kind, found.resource_type, found.action) == ("activity", "activity", arn)
    assert found.waits_for_token


@pytest.mark.parametrize(
    ("arn", "name"),
    [
        (LAMBDA + "Charge", "lambda:Charge"),
        (LAMBDA + "Charge:live", "lambda:Charge:live"),
        ("${Charge}", "lambda:${Charge}"),
        ("arn:aws:states:us-east-1:000000000000:activity:Approve", "activity:Approve"),
        ("arn:aws:states:::batch:submitJob.sync", "batch:submitJob.sync"),
        ("arn:aws:states:::aws-sdk:s3:getObject", "aws-sdk:s3:getObject"),
    ],
)
def test_short_names(arn: str, name: str) -> None:
    assert parse_resource(arn).short_name == name
