"""`statewright machine check`: an execution that cannot be read is listed with the reason; the others are judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from statewright.asl.compile import compile_definition
from statewright.cli.client import ApiProblem, Server, Unreachable
from statewright.cli.inspection import machine_check
from statewright.cli.inspection.machine_check import _judged, _limits
from statewright.limits import AWS, OPEN
from statewright.simulator.judging import Machine

ARN = "arn:aws:states:us-east-1:000000000000:stateMachine:m"
GOOD = {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PASSED = [
    {"type": "ExecutionStarted", "executionStartedEventDetails": {"input": "{}"}},
    {"type": "PassStateEntered", "stateEnteredEventDetails": {"name": "A", "input": "{}"}},
    {"type": "PassStateExited", "stateExitedEventDetails": {"name": "A", "output": "{}"}},
    {"type": "ExecutionSucceeded", "executionSucceededEventDetails": {"output": "{}"}},
]


class OneMachine:
    """What a server has of a machine with two executions: `x`, and `fine` before it."""

    def __init__(self, definition: Any, events: list[Any] | ApiProblem) -> None:
        self.definition = definition
        self.events = events

    def call(self, _operation: str, executionArn: str) -> Any:  # noqa: N803
        definition = GOOD if executionArn.endswith("fine") else self.definition
        return {"definition": json.dumps(definition), "stateMachineArn": ARN}

    def pages(self, operation: str, _members: str, **request: Any) -> Iterator[Any]:
        if operation == "list_executions":
            for name in ("x", "fine"):
                arn = f"{ARN.replace('stateMachine', 'execution')}:{name}"
                yield {"executionArn": arn, "name": name, "status": "SUCCEEDED", "startDate": NOW}
            return
        events = PASSED if request["executionArn"].endswith("fine") else self.events
        if isinstance(events, ApiProblem):
            raise events
        for number, event in enumerate(events, 1):
            yield {"id": number, "previousEventId": number - 1, "timestamp": NOW, **event}


@pytest.mark.parametrize(
    ("definition", "events", "reason"),
    [
        ({**GOOD, "StartAt": "B"}, PASSED, "Statewright finds errors in its definition: "),
        (GOOD, [], "Its history cannot be read: "),
        (GOOD, ApiProblem("ExecutionDoesNotExist", "It is gone."), "ExecutionDoesNotExist: It is gone."),
    ],
)
def test_an_execution_that_cannot_be_read_leaves_out_no_other(definition, events, reason):
    server = cast("Server", OneMachine(definition, events))
    one, fine = _judged(server, ARN, Machine(GOOD, compile_definition(GOOD)), 10, AWS)
    assert one["verdict"] == "unjudged"
    assert one["reason"].startswith(reason)
    assert (fine["verdict"], fine["changes"]) == ("same", [])


class OwnService:
    """Statewright's own service of a server, which has one answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.named_endpoint = "http://127.0.0.1:4566"

    def __enter__(self) -> OwnService:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, operation: str) -> Any:
        assert operation == "describe_limits"
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


LIFTED = [name for name in OPEN.__slots__ if getattr(OPEN, name) is None]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"profile": "open", "limits": {}, "lifted": [*LIFTED, "of_a_newer_server"]}, OPEN),
        ({"profile": "aws", "limits": {"history_events": 7}, "lifted": []}, replace(AWS, history_events=7)),
        (ApiProblem("UnknownOperationException", ""), AWS),
        (Unreachable("http://127.0.0.1:4566"), AWS),
    ],
)
def test_the_limits_are_those_of_the_server_if_it_tells_them(monkeypatch, answer, expected):
    own = OwnService(answer)
    monkeypatch.setattr(machine_check, "Server", lambda *_, **__: own)
    # A limit that an older server does not know is the service's.
    assert _limits(cast("Server", own)) == replace(expected, queue_name_rest_seconds=AWS.queue_name_rest_seconds)
