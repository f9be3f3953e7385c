"""Bodies that the engine stores: those of a newer version are refused by name, members that are not known left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from statewright.asl.resources import parse_resource
from statewright.engine.dispatch import (
    CALL_VERSION,
    Failed,
    ScheduledCall,
    Submitted,
    Succeeded,
    TaskResult,
    decode_call,
    encode_answer,
    encode_call,
)
from statewright.engine.executions.views import Head, Tail
from statewright.engine.map_runs.head import RunHead
from statewright.engine.map_runs.requests import RunRequest, decode_request, encode_request
from statewright.errors import Unreadable
from statewright.interpreter.commands import RedriveMapRun
from statewright.payload import Payload, dump_json, parse_json

CALL = ScheduledCall(
    "arn:e", "A", parse_resource("arn:aws:states:::sqs:sendMessage"), {"a": 1}, "token", 2, "key", "role", 5, 6,
    (1, 2), 7, "us-east-1", "trace", Payload({"b": 2}),
)  # fmt: skip
HEAD = Head("arn:e", "arn:m", "m", 1, "r", "STANDARD", "role", None, None, None, "{}", index=3)
TAIL = Tail("{}", redrive_tokens=(("a", 1), ("b", 2)), last_event=9)
RUN_HEAD = RunHead("arn:r", 1, "arn:p", 2, "r", 0, "STANDARD", "role", {"a": 1}, {}, [1], 0, "A")
BODIES: dict[str, tuple[bytes, Callable[[bytes], Any], Any]] = {
    "the call of a task": (encode_call(CALL, Payload(CALL.parameters)), decode_call, CALL),
    "the head of an execution": (HEAD.encode(), Head.decode, HEAD),
    "the tail of an execution": (TAIL.encode(), Tail.decode, TAIL),
    "the head of a Map Run": (RUN_HEAD.encode(), RunHead.decode, RUN_HEAD),
    "the request to a Map Run": (
        encode_request(RedriveMapRun(7, "arn:r", 1)), decode_request, RunRequest(7, "arn:r", 1, None),
    ),
}  # fmt: skip
KNOWN = {"the call of a task": CALL_VERSION}
"""Formats beyond the first."""


@pytest.mark.parametrize(
    "result",
    [Succeeded(Payload({"a": 1})), Succeeded(Payload(None)), Submitted(Payload([])), Failed("E", None, "refused")],
)
def test_a_call_that_has_happened_comes_back_with_its_answer_and_without_its_parameters(result: TaskResult) -> None:
    answered = replace(CALL, parameters=None, outbox=5, answer=result)
    assert decode_call(encode_answer(CALL, result), 5) == answered


def test_a_call_without_an_answer_is_one_that_older_programs_read() -> None:
    assert parse_json(encode_call(CALL, Payload(CALL.parameters)))[0] == 1


@pytest.mark.parametrize("name", BODIES)
def test_a_body_comes_back_as_it_was(name: str) -> None:
    body, read, value = BODIES[name]
    assert read(body) == value


@pytest.mark.parametrize("name", BODIES)
def test_a_newer_version_is_refused_by_name(name: str) -> None:
    body, read, _ = BODIES[name]
    with pytest.raises(Unreadable) as refused:
        read(b"[99" + body[2:])
    assert str(refused.value) == (
        f"{name} was written by a newer Statewright (format 99, this one reads up to {KNOWN.get(name, 1)}); "
        "start that version again or restore a backup"
    )


@pytest.mark.parametrize("name", [name for name in BODIES if "request" not in name])
def test_members_that_are_not_known_are_left_out(name: str) -> None:
    body, read, value = BODIES[name]
    assert read(dump_json([*parse_json(body), "wings"]).encode()) == value


@pytest.mark.parametrize("name", ["the head of an execution", "the tail of an execution"])
def test_members_that_are_missing_at_the_end_have_their_defaults(name: str) -> None:
    body, read, value = BODIES[name]
    assert read(dump_json(parse_json(body)[:-1]).encode()) == value


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"[1", b"[1]", b'["1"]', b"[0, 1]", b"null"])
@pytest.mark.parametrize("name", [name for name in BODIES if "tail" not in name])
def test_damage_is_refused_by_name(name: str, body: bytes) -> None:
    with pytest.raises(Unreadable, match=rf"^{name} cannot be read \(.*\); restore a backup$"):
        BODIES[name][1](body)
