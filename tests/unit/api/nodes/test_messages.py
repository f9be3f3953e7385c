from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright.api.nodes import messages
from statewright.api.nodes.messages import DONE, answer_of, decode, encode, encode_answer, encode_refusal
from statewright.api.operations import Call
from statewright.api.protocols.uploads import Upload
from statewright.errors import ApiError, Unavailable, Unreadable
from statewright.stores.completion import Completion

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.binary()
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)  # fmt: skip


def at_once(work: Coroutine[Any, Any, bytes]) -> bytes:
    """The result of a coroutine that does not wait, without a loop."""
    with pytest.raises(StopIteration) as ended:
        work.send(None)
    found: bytes = ended.value.value
    return found


@given(values)
def test_any_value_arrives(value):
    assert answer_of(DONE, at_once(encode_answer(value))) == value


def test_a_value_that_looks_like_bytes_is_none():
    plain, none = (asyncio.run(encode_answer({"x": value}))[:16].decode() for value in (b"1", "1"))
    assert plain != asyncio.run(encode_answer({"x": b"1"}))[:16].decode(), "it is drawn for each message"
    for name in (plain, none):
        value = {name: [0, 1, False], "y": {name: "z"}}
        assert answer_of(DONE, asyncio.run(encode_answer(value))) == value
        assert answer_of(DONE, asyncio.run(encode_answer({**value, "b": b"1"}))) == {**value, "b": b"1"}


def test_a_call_arrives_with_all_that_operations_look_at():
    call = Call(
        "states", "SendTaskFailure", "id", {"x-amzn-trace-id": "t", "host": "h", "authorization": "s"}, "KEY",
        sent_by="task", completion=Completion(9, lambda answer: b"\0" + bytes(answer)),
    )  # fmt: skip
    found = decode(asyncio.run(encode(7, "1", "r", call, {"a": b"x"}, 5)))
    assert (found.shard, found.account, found.region, found.request, found.timeout_ms) == (7, "1", "r", {"a": b"x"}, 5)
    assert found.completed == (9, b"\0")
    there = found.call
    assert (there.service, there.operation, there.request_id) == ("states", "SendTaskFailure", "id")
    assert (there.access_key, there.sent_by, there.headers) == ("KEY", "task", {"x-amzn-trace-id": "t", "host": "h"})
    assert there.completion is not None
    assert (there.completion.outbox, there.completion.body_of({})) == (9, b"\0")
    start = Call("states", "StartExecution", "id", completion=call.completion)
    assert decode(asyncio.run(encode(7, "1", "r", start, {}, 5))).completed is None, "its answer is not known yet"


def test_a_body_that_is_too_long(monkeypatch):
    monkeypatch.setattr(messages, "MOST_BYTES", 3)

    async def pieces() -> Any:
        yield b"12"
        yield b"34"

    call = Call("s3", "PutObject", "id")
    with pytest.raises(ApiError, match="cannot go from node to node"):
        asyncio.run(encode(0, "", "", call, {"Body": Upload(pieces())}, 1))


@pytest.mark.parametrize("body", [b"", b"{}", b"0" * 32, b"0" * 31 + b"2{}", b"0" * 31 + b"2[]"])
def test_what_is_no_call(body):
    with pytest.raises(Unreadable):
        decode(body)


def test_refusals_and_answers_of_others():
    body = encode_refusal(ApiError("C", "m", status=499, details={"a": 1}, headers={"b": "c"}))
    with pytest.raises(ApiError) as refused:
        answer_of(messages.REFUSED, body)
    assert (refused.value.code, refused.value.status, refused.value.details) == ("C", 499, {"a": 1})
    with pytest.raises(Unavailable, match="down"):
        answer_of(503, messages.encode_unavailable(Unavailable("down")))
    for status, text in ((500, b"Internal Server Error"), (200, b"<html>"), (422, b"")):
        with pytest.raises(Unavailable, match=f"answered {status}"):
            answer_of(status, text)
