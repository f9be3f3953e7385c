"""Calls of operations and their answers as bytes, between nodes.

A name of 16 digits, the length of a JSON text in 16 digits, the text, and bytes. In the text, bytes are an object with
one member, their place behind the text; its name is drawn for each message, so that no value of a caller is taken for
bytes. A message without bytes has `_NO_BYTES` in place of the name, and its text stands for itself. Bodies that stream
are read whole, because a call at another node is one message; `MOST_BYTES` bounds them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from statewright import chance
from statewright.api.operations import Call
from statewright.api.protocols.uploads import Upload
from statewright.errors import ApiError, Unavailable, Unreadable
from statewright.payload import MAX_DEPTH, Json, JsonObject, JsonTextError, parse_json
from statewright.stores.completion import Completion, known

MOST_BYTES: Final = 64 * 1024 * 1024
"""The longest body that streams, in a call at another node."""
HOME: Final = -1
"""In place of a shard: the home."""

DONE: Final = 200
REFUSED: Final = 422
MOVED: Final = 409
UNREADABLE: Final = 400
UNAVAILABLE: Final = 503

_NAME: Final = 16
_HEAD: Final = 32
_NO_BYTES: Final = "-" * _NAME
_HEADERS: Final = ("host", "x-amzn-trace-id")
"""Headers of a call that operations look at."""


@dataclass(frozen=True, slots=True)
class NodeCall:
    """A call of an operation at another node, at the owner of `shard`.

    `completed` is the outbox row that the call completes and its body, where the answer is known in advance.
    """

    shard: int
    account: str
    region: str
    service: str
    operation: str
    request: Json
    request_id: str
    timeout_ms: int
    sent_by: str | None = None
    access_key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    completed: tuple[int, bytes] | None = None

    @property
    def call(self) -> Call:
        """The call as its operation sees it."""
        completion: Completion[Json] | None = None
        if self.completed is not None:
            outbox, body = self.completed
            completion = Completion(outbox, lambda _: body)
        return Call(
            self.service, self.operation, self.request_id, self.headers, self.access_key, sent_by=self.sent_by,
            completion=completion,
        )  # fmt: skip


async def encode(shard: int, account: str, region: str, call: Call, request: Json, timeout_ms: int) -> bytes:
    """The body of a call. Raises: ApiError for a request that is too long, or cannot be written as JSON."""
    completed = known(call.completion, {}) if _is_known(call) else None
    return _dump(
        {
            "shard": shard,
            "account": account,
            "region": region,
            "service": call.service,
            "operation": call.operation,
            "request": await _whole(request),
            "requestId": call.request_id,
            "timeoutMs": timeout_ms,
            "sentBy": call.sent_by,
            "accessKey": call.access_key,
            "headers": {name: call.headers[name] for name in _HEADERS if name in call.headers},
            "completed": list(completed) if completed is not None else None,
        }
    )


def _is_known(call: Call) -> bool:
    """True if the answer of an operation that completes an outbox row is known before it runs."""
    return call.service == "states" and call.operation in ("SendTaskSuccess", "SendTaskFailure")


def decode(body: bytes) -> NodeCall:
    """Read the body of a call. Raises: Unreadable."""
    try:
        given = _load(body)
        completed = given["completed"]
        return NodeCall(
            given["shard"], given["account"], given["region"], given["service"], given["operation"], given["request"],
            given["requestId"], given["timeoutMs"], given["sentBy"], given["accessKey"], given["headers"],
            (completed[0], completed[1]) if completed is not None else None,
        )  # fmt: skip
    except (KeyError, IndexError, TypeError, ValueError) as problem:
        raise Unreadable(f"it is no call of a node: {problem!r}") from None


async def encode_answer(answer: Json) -> bytes:
    """The body of an answer. Raises: ApiError for one that is too long."""
    return _dump(await _whole(answer))


def encode_refusal(error: ApiError) -> bytes:
    """The body of a refusal, with what the wire needs to write it."""
    return _dump(
        {
            "code": error.code,
            "message": error.message,
            "status": error.status,
            "details": dict(error.details),
            "headers": dict(error.headers),
        }
    )


def encode_unavailable(problem: Exception) -> bytes:
    """The body of an answer that says that the node's store does not answer."""
    return _dump({"message": str(problem)})


def answer_of(status: int, body: bytes) -> Json:
    """The answer of a call that has not moved. Raises: ApiError, Unavailable."""
    try:
        given = _load(body)
        if status == DONE:
            return given
        if status == REFUSED:
            raise ApiError(
                given["code"], given["message"], status=given["status"], details=given["details"],
                headers=given["headers"],
            )  # fmt: skip
        raise Unavailable(str(given["message"])[:1000])
    except (KeyError, TypeError, ValueError):
        raise Unavailable(f"a node answered {status} to a call of this one") from None


# ------------------------------------------------------------------ values


def _dump(value: Json) -> bytes:
    name = _NO_BYTES
    contents: list[bytes] = []
    end = 0

    def other(item: object) -> Json:
        nonlocal end, name
        if isinstance(item, Mapping):
            return dict(item)
        content = item.body if isinstance(item, _Uploaded) else item
        if not isinstance(content, bytes | bytearray | memoryview):
            raise TypeError(f"{type(item).__name__} is no JSON value")
        if name == _NO_BYTES:
            name = chance.secret_bytes(8).hex()
        contents.append(bytes(content))
        begin, end = end, end + len(content)
        return {name: [begin, end, isinstance(item, _Uploaded)]}

    try:
        text = orjson.dumps(value, default=other, option=orjson.OPT_PASSTHROUGH_DATACLASS)
    except TypeError:
        # Integers of more than 64 bits, deep nesting.
        contents, end = [], 0
        try:
            text = json.dumps(
                value, default=other, ensure_ascii=False, separators=(",", ":"), allow_nan=False
            ).encode()  # fmt: skip
        except (TypeError, ValueError, RecursionError) as problem:
            raise ApiError("SerializationException", f"The request cannot be passed on: {problem}") from None
    return b"".join((name.encode(), b"%016x" % len(text), text, *contents))


def _load(body: bytes) -> Json:
    name, begin = body[:_NAME].decode("ascii"), _HEAD + int(body[_NAME:_HEAD], 16)
    try:
        value = parse_json(body[_HEAD:begin], max_depth=MAX_DEPTH + 8)
    except JsonTextError as problem:
        raise ValueError(problem.message) from None
    return _with_bytes(value, name, memoryview(body)[begin:]) if name != _NO_BYTES else value


def _with_bytes(value: Json, name: str, contents: memoryview) -> Json:
    if isinstance(value, dict):
        found = value.get(name)
        if found is not None:
            begin, end, is_upload = found
            content = bytes(contents[begin:end])
            return Upload(_once(content), len(content)) if is_upload else content
        return {member: _with_bytes(one, name, contents) for member, one in value.items()}
    if isinstance(value, list):
        return [_with_bytes(one, name, contents) for one in value]
    return value


@dataclass(frozen=True, slots=True)
class _Uploaded:
    """The bytes of an upload."""

    body: bytes


async def _whole(value: Json) -> Json:
    """A request or an answer, with bytes in place of members that stream. Raises: ApiError."""
    if not isinstance(value, Mapping):
        return value
    streams = [name for name, one in value.items() if isinstance(one, AsyncIterable)]
    if not streams:
        return value
    read: JsonObject = dict(value)
    for name in streams:
        body = await _read(read[name])
        read[name] = _Uploaded(body) if isinstance(read[name], Upload) else body
    return read


async def _read(pieces: AsyncIterable[bytes]) -> bytes:
    found, size = [], 0
    try:
        async for piece in pieces:
            size += len(piece)
            if size > MOST_BYTES:
                raise ApiError(
                    "ServiceUnavailable", f"A body of more than {MOST_BYTES} bytes cannot go from node to node.",
                    status=503,
                )  # fmt: skip
            found.append(piece)
    finally:
        end = getattr(pieces, "aclose", None)
        if end is not None:
            await end()
    return b"".join(found)


async def _once(content: bytes) -> AsyncIterator[bytes]:
    if content:
        yield content
