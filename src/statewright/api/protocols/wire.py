"""What every protocol has in common: a request as it comes in, an answer as it goes out, and the `Wire` between them.

A wire reads requests into members of the service's model, and writes answers and errors of them. It knows HTTP and
nothing of operations; `app.py` stands between.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from statewright.api import guard
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Gather = Callable[[], Awaitable[list[bytes]]]
"""The next pieces of a body, about half a MiB of them, none at its end. Raises: Disconnected."""
Headers = Sequence[tuple[bytes, bytes]]

JSON_TYPE: Final = b"application/json"
SHORT_REST_BYTES: Final = 32 * 1024 * 1024
"""Up to so much of a refused body is read and dropped: callers that send first and read then see the answer."""


class Disconnected(Exception):
    """The caller has gone before the answer."""


@dataclass(slots=True)
class Incoming:
    """A request whose head has been read. `raw_path` is as sent, still escaped; header names are in lower case.

    `limit` is the longest body, in bytes, that is taken into memory.
    """

    method: str
    raw_path: str
    query: str
    headers: Mapping[str, str]
    receive: Receive
    limit: int
    is_taken: bool = False
    """Whether the body has been read to its end."""
    gather: Gather | None = None
    """Where the HTTP server has it: a long body comes with fewer copies, and wakes its taker less often."""
    _body: bytes | None = None

    async def body(self) -> bytes:
        """The whole body, read once.

        Raises: ApiError (`RequestEntityTooLarge`), Disconnected.
        """
        if self._body is None:
            guard.refuse_length(self.headers.get("content-length"), self.limit)
            self._body = await _read_body(self.receive, self.limit)
            self.is_taken = True
        return self._body

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body piece by piece, of any length. Raises: Disconnected."""
        if self.gather is not None:
            while not self.is_taken:
                parts = await self.gather()
                self.is_taken = not parts
                for part in parts:
                    yield part
            return
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            part = message.get("body", b"")
            self.is_taken = not message.get("more_body")
            if part:
                yield part
            if self.is_taken:
                return

    async def drop_rest(self) -> bool:
        """Whether the connection can take another request, once the rest of a short body has been read and dropped.

        Who waits for `100 Continue` may never send his body, and a long one is not worth waiting for.
        """
        declared = self.headers.get("content-length", "0" if "transfer-encoding" not in self.headers else "")
        if self.is_taken or declared == "0":
            return True
        if "expect" in self.headers or not declared.isdigit() or int(declared[:18]) > SHORT_REST_BYTES:
            return False
        async for _ in self.chunks():
            pass
        return True


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes out. A body that comes in pieces needs its length among the headers, or is sent chunked."""

    status: int
    body: bytes | AsyncIterator[bytes]
    content_type: bytes = JSON_TYPE
    headers: Headers = field(default=())


class Wire(Protocol):
    """One protocol of one service."""

    async def read(self, incoming: Incoming) -> tuple[str, JsonObject]:
        """The operation, and its members by the names of the model.

        Values are as JSON services have them: instants as epoch seconds, blobs as base64 text or as bytes.

        Raises: ApiError.
        """

    def answer(self, operation: str, result: Json, request_id: str, /) -> Answer:
        """The answer; instants of `result` are epoch milliseconds."""

    def refusal(self, error: ApiError, request_id: str, path: str) -> Answer:
        """The answer to a request that failed; `path` is the request's."""


async def _read_body(receive: Receive, limit: int) -> bytes:
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise guard.too_long(limit)
        return body
    parts = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise Disconnected
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise guard.too_long(limit)
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()
