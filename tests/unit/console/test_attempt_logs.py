"""Which log lines belong to a visit: by the function and the request that its events name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.console.services.attempt_logs import function_of, of_requests, request_of
from statewright.interpreter.history import HistoryEvent

ONE, OTHER = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def event(kind: str, **details: Any) -> HistoryEvent:
    return HistoryEvent(1, 0, 0, kind, details)


@pytest.mark.parametrize(
    ("scheduled", "name"),
    [
        (event("LambdaFunctionScheduled", resource="arn:aws:lambda:us-east-1:0:function:charge:live"), "charge"),
        (event("LambdaFunctionScheduled", resource="charge"), "charge"),
        (event("TaskScheduled", resourceType="lambda", parameters='{"FunctionName": "charge:3"}'), "charge"),
        (event("TaskScheduled", resourceType="lambda", parameters='{"FunctionName": 7}'), None),
        (event("TaskScheduled", resourceType="lambda", parameters="{"), None),
        (event("TaskScheduled", resourceType="sqs", parameters='{"FunctionName": "charge"}'), None),
        (event("TaskStarted", resourceType="lambda"), None),
    ],
)
def test_the_function_is_that_of_the_scheduled_task(scheduled, name):
    assert function_of(scheduled) == name


def test_a_result_names_its_request():
    output = json.dumps({"Payload": 1, "SdkResponseMetadata": {"RequestId": ONE}})
    assert request_of(event("TaskSucceeded", output=output)) == ONE
    assert request_of(event("TaskFailed", error="E", cause=json.dumps({"errorMessage": "m", "requestId": ONE}))) == ONE
    for other in ("no JSON", "[1]", json.dumps({"requestId": 7})):
        assert request_of(event("TaskFailed", cause=other)) is None
    assert request_of(event("TaskStateExited", output=output)) is None


def test_lines_of_a_request_are_those_between_its_start_and_its_report_in_its_stream():
    texts = [
        ("a", f"START RequestId: {ONE} Version: $LATEST"), ("b", f"START RequestId: {OTHER} Version: $LATEST"),
        ("a", "mine"), ("b", "not mine"), ("a", f"END RequestId: {ONE}"), ("a", f"REPORT RequestId: {ONE}\tDuration"),
        ("a", "between"), ("a", f"START RequestId: {OTHER} Version: $LATEST"), ("a", "of the next"),
        ("a", f"2026 {ONE} Task timed out"),
    ]  # fmt: skip
    lines = [{"atMs": 0, "stream": stream, "text": text} for stream, text in texts]
    chosen = [line["text"] for line in of_requests(lines, {ONE})]
    assert chosen == [texts[0][1], "mine", texts[4][1], texts[5][1]]
