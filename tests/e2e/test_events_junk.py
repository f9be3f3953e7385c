"""Requests with something wrong in them, seeded: events and schedules answer in the service's errors, not ours."""

from __future__ import annotations

import http.client
import json
import random
from typing import Any

import pytest

from tests.deadlines import PATIENCE_SECONDS
from tests.e2e.test_dynamodb_junk import spoiled

QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"
ROLE = "arn:aws:iam::000000000000:role/r"
RULE_ARN = "arn:aws:events:us-east-1:000000000000:rule/junk"
PATTERN = json.dumps({"source": ["nobody"], "detail": {"n": [{"numeric": [">", 1]}, {"prefix": "x"}]}})
EVENTS: dict[str, dict[str, Any]] = {
    "CreateEventBus": {
        "Name": "junk-bus", "Description": "d", "DeadLetterConfig": {"Arn": QUEUE},
        "Tags": [{"Key": "a", "Value": "b"}],
        "LogConfig": {"IncludeDetail": "NONE", "Level": "OFF"},
    },
    "UpdateEventBus": {"Name": "junk-bus", "Description": "d", "KmsKeyIdentifier": "k"},
    "DescribeEventBus": {"Name": "default"},
    "ListEventBuses": {"NamePrefix": "j", "Limit": 3, "NextToken": "eA=="},
    "DeleteEventBus": {"Name": "junk-bus"},
    "PutRule": {
        "Name": "junk", "EventPattern": PATTERN, "ScheduleExpression": "rate(5 minutes)", "State": "DISABLED",
        "Description": "d", "RoleArn": ROLE, "Tags": [{"Key": "a", "Value": "b"}], "EventBusName": "default",
    },
    "PutTargets": {
        "Rule": "junk",
        "Targets": [
            {"Id": "1", "Arn": QUEUE, "InputPath": "$.detail", "SqsParameters": {"MessageGroupId": "$.id"},
             "RetryPolicy": {"MaximumRetryAttempts": 1, "MaximumEventAgeInSeconds": 60}},
            {"Id": "2", "Arn": QUEUE, "InputTransformer": {"InputPathsMap": {"a": "$.b"}, "InputTemplate": "<a>"}},
        ],
    },
    "RemoveTargets": {"Rule": "junk", "Ids": ["1", "9"], "Force": True},
    "ListTargetsByRule": {"Rule": "junk", "Limit": 1},
    "ListRuleNamesByTarget": {"TargetArn": QUEUE, "Limit": 1},
    "DescribeRule": {"Name": "junk"},
    "EnableRule": {"Name": "junk"},
    "ListRules": {"NamePrefix": "j", "EventBusName": "default"},
    "PutEvents": {
        "Entries": [
            {"Source": "nobody", "DetailType": "t", "Detail": '{"n": 2}', "Resources": ["a"], "Time": 1.5e9},
            {"Source": "nobody", "DetailType": "t", "Detail": "{}", "EventBusName": "default", "TraceHeader": "t"},
        ]
    },
    "PutPermission": {
        "Action": "events:PutEvents", "Principal": "*", "StatementId": "s",
        "Condition": {"Type": "StringEquals", "Key": "aws:PrincipalOrgID", "Value": "o"},
    },
    "RemovePermission": {"StatementId": "s", "EventBusName": "default"},
    "TestEventPattern": {
        "EventPattern": PATTERN,
        "Event": json.dumps({"id": "1", "account": "0", "source": "s", "time": "t", "region": "r", "resources": [],
                             "detail-type": "d", "detail": {}}),
    },
    "TagResource": {"ResourceARN": RULE_ARN, "Tags": [{"Key": "a", "Value": "b"}]},
    "UntagResource": {"ResourceARN": RULE_ARN, "TagKeys": ["a"]},
    "ListTagsForResource": {"ResourceARN": RULE_ARN},
}  # fmt: skip
SCHEDULE = {
    "ScheduleExpression": "cron(0 9 1 1 ? *)", "ScheduleExpressionTimezone": "Europe/Berlin", "StartDate": 4e9,
    "EndDate": 5e9, "State": "ENABLED", "Description": "d", "ActionAfterCompletion": "NONE", "ClientToken": "t",
    "FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 5},
    "Target": {
        "Arn": QUEUE, "RoleArn": ROLE, "Input": "x", "SqsParameters": {"MessageGroupId": "g"},
        "RetryPolicy": {"MaximumRetryAttempts": 1, "MaximumEventAgeInSeconds": 60}, "DeadLetterConfig": {"Arn": QUEUE},
    },
}  # fmt: skip
EXPRESSIONS = (
    "rate(0 days)", "rate(999999999 days)", "rate(-1 days)", "rate(1.5 hours)", "rate()", "cron()", "",
    "cron(* * * * * *)", "cron(60 * * * ? *)", "cron(0 0 ? * 8 *)", "cron(0 0 32 * ? *)", "cron(0 0 L-3 * ? *)",
    "cron(0 0 0W * ? *)", "cron(0 0 ? * 3#6 *)", "cron(0 0 ? * 3#1,4#1 *)", "cron(0/0 * * * ? *)",
    "cron(5-1 * * * ? *)", "cron(a b c d e f)", "cron(0 0 1 1 ? 1969)", "cron(0 0 1 1 ? 2200)",
    "cron(0 0 30 2 ? *)", "cron(0 0 1 1 ? 1970)", "cron(\u0661 * * * ? *)", "at(2026-13-01T00:00:00)",
    "at(9999-12-31T23:59:59)", "at(0001-01-01T00:00:00)", "at(2099-01-01)", "at()",
)  # fmt: skip


class Caller:
    """Posts JSON without an SDK, which would refuse junk itself."""

    def __init__(self, server: Any) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)

    def close(self) -> None:
        self._connection.close()

    def __call__(self, service: str, path: str, body: Any, target: str = "") -> tuple[int, Any]:
        scope = f"AKIA/20260101/us-east-1/{service}/aws4_request"
        headers = {
            "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0",
            "Content-Type": "application/x-amz-json-1.1",
            **({"X-Amz-Target": f"AWSEvents.{target}"} if target else {}),
        }
        self._connection.request("POST", path, json.dumps(body), headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")


@pytest.fixture
def call(server):
    caller = Caller(server)
    yield caller
    caller.close()


def checked(answered: tuple[int, Any], request: Any) -> None:
    status, answer = answered
    assert status < 500, (request, answer)
    assert status == 200 or answer.get("message") or answer.get("Message"), (request, answer)


@pytest.mark.parametrize("operation", sorted(EVENTS))
def test_junk_for_events(call, operation):
    draw = random.Random(operation)
    for name in ("CreateEventBus", "PutRule", "PutTargets"):
        call("events", "/", EVENTS[name], name)
    for _ in range(150):
        request = spoiled(EVENTS[operation], draw)
        checked(call("events", "/", request, operation), request)


@pytest.mark.parametrize("seed", range(4))
def test_junk_for_schedules(call, seed):
    draw = random.Random(seed)
    for number in range(150):
        request = spoiled(SCHEDULE, draw)
        checked(call("scheduler", f"/schedules/junk-{seed}-{number}", request), request)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_from_outside(call, expression):
    for zone in ("UTC", "Europe/Berlin", "Pacific/Kiritimati", "../passwd", "Europe", "America/Adak"):
        request = {**SCHEDULE, "ScheduleExpression": expression, "ScheduleExpressionTimezone": zone}
        checked(call("scheduler", "/schedules/expressions", request), request)
    status, answer = call("events", "/", {"Name": "expressions", "ScheduleExpression": expression}, "PutRule")
    checked((status, answer), expression)
