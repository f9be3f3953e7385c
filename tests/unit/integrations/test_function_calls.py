"""The short way of an invocation gives what the long way gives."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from statewright.asl.resources import parse_resource
from statewright.clock import RealClock
from statewright.config import Config
from statewright.engine.dispatch import Later, ScheduledCall, Submitted, TaskResult
from statewright.errors import ApiError, OwnershipLost, StoreError, Unavailable
from statewright.functions.outcomes import Invoked
from statewright.integrations.registry import Registry
from statewright.limits import FUNCTION_REQUEST_BYTES
from statewright.payload import dump_json
from tests.unit.integrations.stub import NO_CALLS

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"
ERROR = b'{"errorMessage": "no", "errorType": "Refused"}'


class Still(RealClock):
    """A clock that stands, so that both ways tell of the same second."""

    def now_ms(self) -> int:
        return 1_700_000_000_123


class Lambda:
    """Answers both ways with the same, and notes by which it was asked."""

    content_type = "application/json"

    def __init__(self, done: Invoked | Exception) -> None:
        self.done = done
        self.long: list[tuple[dict[str, Any], str]] = []
        self.short: list[tuple[str, bytes, str]] = []

    async def __call__(
        self, operation: str, request: dict[str, Any], *, request_id: str, completion: Any = None
    ) -> Any:
        self.long.append((request, request_id))
        if len(self.long) > 1 and isinstance(self.done, Exception):
            raise self.done
        done = self.done if isinstance(self.done, Invoked) else done_with(b"1")
        answer = {"StatusCode": done.status, "ExecutedVersion": done.executed_version, "Payload": done.payload}
        return {**answer, "FunctionError": done.function_error} if done.function_error else answer

    async def invoke(self, name: str, payload: bytes, *, request_id: str) -> Invoked:
        self.short.append((name, payload, request_id))
        if isinstance(self.done, Exception):
            raise self.done
        return self.done


def done_with(payload: bytes, error: str | None = None) -> Invoked:
    return Invoked(200, payload, error, None, "3", "unused")


def task(resource: str, parameters: Any) -> ScheduledCall:
    name = resource if resource.startswith("arn:aws:lambda") else f"arn:aws:states:::{resource}"
    execution = "arn:aws:states:us-east-1:000000000000:execution:m:e"
    return ScheduledCall(execution, "S", parse_resource(name), parameters, "token", 0, "7", "arn:aws:iam::0:role/r")


def second_call(service: Lambda, call: ScheduledCall, *, short: bool) -> TaskResult:
    async def run() -> TaskResult:
        invoke = service.invoke if short else None
        calls = replace(NO_CALLS, services={"lambda": service}, function=invoke)
        registry = Registry(Config(), Still(), calls)
        try:
            await registry.call(call)
            result = await registry.call(call)
            assert not isinstance(result, Later)
            return result
        finally:
            await registry.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    "done",
    [
        done_with(b'{"y": 2, "x": [1.0, 12345678901234567890123]}'),
        done_with(b"null"),
        done_with(b""),
        done_with(b"no JSON \xff"),
        done_with(ERROR, "Unhandled"),
        done_with(b"[]", "Unhandled"),
        ApiError("TooManyRequestsException", "Rate Exceeded.", status=429),
        ApiError("Unheard", "What?"),
        StoreError("no such row"),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    ("resource", "parameters"),
    [
        (FUNCTION, {"x": 1}),
        (FUNCTION, "text"),
        (FUNCTION, None),
        ("lambda:invoke", {"FunctionName": "f", "Payload": {"é": [None, 1.0]}}),
        ("lambda:invoke", {"FunctionName": "f", "Payload": 0}),
        ("lambda:invoke", {"FunctionName": "f", "Payload": None}),
        ("lambda:invoke", {"FunctionName": "f"}),
        ("lambda:invoke.waitForTaskToken", {"FunctionName": "f", "Payload": {}}),
    ],
)
def test_both_ways_give_the_same(resource, parameters, done):
    call = task(resource, parameters)
    long, short = Lambda(done), Lambda(done)
    expected = second_call(long, call, short=False)
    found = second_call(short, call, short=True)
    assert type(found) is type(expected)
    if hasattr(expected, "output"):
        assert dump_json(found.output) == dump_json(expected.output)  # type: ignore[union-attr]
    else:
        assert found == expected
    assert isinstance(expected, Submitted) == (resource.endswith("Token") and hasattr(expected, "output"))
    assert (len(long.long), len(long.short)) == (2, 0)
    assert (len(short.long), len(short.short)) == (1, 1)
    request, request_id = long.long[1]
    assert short.short == [(request["FunctionName"], request.get("Payload", b"{}"), request_id)]


@pytest.mark.parametrize(
    ("resource", "parameters"),
    [
        ("lambda:invoke", {"FunctionName": "f", "Payload": '{"a": 1}'}),
        ("lambda:invoke", {"FunctionName": "f", "Qualifier": "1"}),
        ("lambda:invoke", {"FunctionName": "f", "InvocationType": "Event"}),
        ("lambda:invoke", {"FunctionName": "f", "Payload": "x" * FUNCTION_REQUEST_BYTES}),
        (FUNCTION, "x" * FUNCTION_REQUEST_BYTES),
        ("aws-sdk:lambda:invoke", {"FunctionName": "f"}),
    ],
    ids=["text", "qualifier", "event", "long text", "long", "sdk"],
)
def test_what_is_not_plain_goes_the_long_way(resource, parameters):
    service = Lambda(done_with(b"1"))
    second_call(service, task(resource, parameters), short=True)
    assert (len(service.long), service.short) == (2, [])


def test_a_name_that_was_refused_is_validated_again():
    class Refusing(Lambda):
        async def __call__(
            self, operation: str, request: dict[str, Any], *, request_id: str, completion: Any = None
        ) -> Any:
            self.long.append((request, request_id))
            raise ApiError("ValidationException", "1 validation error detected", status=400)

    service = Refusing(done_with(b"1"))
    second_call(service, task("lambda:invoke", {"FunctionName": "a b"}), short=True)
    assert (len(service.long), service.short) == (2, [])


@pytest.mark.parametrize("problem", [Unavailable("gone"), OwnershipLost("theirs")], ids=repr)
@pytest.mark.parametrize("short", [False, True])
def test_an_outage_of_the_store_is_no_result(problem, short):
    with pytest.raises(type(problem)):
        second_call(Lambda(problem), task(FUNCTION, {}), short=short)
