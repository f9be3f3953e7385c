"""The interface of every protocol: an incoming request, an outgoing answer, and the `Wire` that converts between them.

A wire reads requests into members of the service's model, and writes answers and errors from them. It knows HTTP but no
operations: `app.py` calls them.
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
"""Returns the next pieces of a body, about half a MiB, an empty list at its end. Raises: Disconnected."""
Headers = Sequence[tuple[bytes, bytes]]

JSON_TYPE: Final = b"application/json"
SHORT_REST_BYTES: Final = 32 * 1024 * 1024
"""Up to this much of a refused body is read and dropped, so that callers who send before they read see the answer."""


class Disconnected(Exception):
    """The caller disconnected before the answer was complete."""


@dataclass(slots=True)
class Incoming:
    """A request whose head has been read. `raw_path` is as sent, still escaped; header names are in lower case.

    `limit` is the longest body, in bytes, that is read into memory.
    """

    method: str
    raw_path: str
    query: str
    headers: Mapping[str, str]
    receive: Receive
    limit: int
    is_taken: bool = False
    """True once the body has been read to its end."""
    gather: Gather | None = None
    """Reads a long body with fewer copies and fewer wake-ups, if the HTTP server can."""
    _body: bytes | None = None

    async def body(self) -> bytes:
        """Read the whole body, once.

        Raises: ApiError (`RequestEntityTooLarge`), Disconnected.
        """
        if self._body is None:
            guard.refuse_length(self.headers.get("content-length"), self.limit)
            self._body = await _read_body(self.receive, self.limit)
            self.is_taken = True
        return self._body

    @property
    def size(self) -> int:
        """Length of the body in bytes, if it has been read into memory."""
        return len(self._body or b"")

    async def chunks(self) -> AsyncIterator[bytes]:
        """Read the body piece by piece, at any length. Raises: Disconnected."""
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
        """Read and drop the rest of a short body; True if the connection can then take another request.

        A caller who waits for `100 Continue` may never send the body, and a long one is not worth waiting for.
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
    """An answer. A body in pieces needs its length among the headers, or is sent chunked."""

    status: int
    body: bytes | AsyncIterator[bytes]
    content_type: bytes = JSON_TYPE
    headers: Headers = field(default=())


class Wire(Protocol):
    """One protocol of one service."""

    async def read(self, incoming: Incoming) -> tuple[str, JsonObject]:
        """Read the operation, and its members by the names of the model.

        Values are as JSON services have them: instants as epoch seconds, blobs as base64 text or as bytes.

        Raises: ApiError.
        """

    def answer(self, operation: str, result: Json, request_id: str, /) -> Answer:
        """Write an answer; instants of `result` are epoch milliseconds."""

    def refusal(self, error: ApiError, request_id: str, path: str) -> Answer:
        """Write the answer to a request that failed; `path` is the request's."""


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
