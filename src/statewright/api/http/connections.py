"""The connections of the HTTP server: uvicorn's protocol with limits on heads and on time.

A head longer than `HEAD_BYTES` is refused. A connection whose request head or body is not complete in time, or whose
client does not read its answers, is closed: slow or endless requests cannot hold connections. When as many connections
are open as the process may have files, the longest idle one is closed for the next. The times are in
`ConnectionTimeouts`, by the real monotonic clock, as for all socket timeouts. `listening.py` opens the port.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from itertools import chain
from types import MethodType
from typing import Final, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from statewright.api.apigatewayv2.door import NAMES
from statewright.api.app import GATHER, WATCH, Send
from statewright.api.protocols.wire import Disconnected, Message, Receive
from statewright.errors import shortage

HEAD_BYTES: Final = 64 * 1024
PROGRESS_BYTES: Final = 1024 * 1024
"""Part of a body that must arrive within the time for bodies."""
GATHERED_BYTES: Final = 512 * 1024
"""Bytes of a long body that are gathered before its reader wakes; each connection buffers at most this and one read."""
WHOLE_BYTES: Final = 64 * 1024
"""Longest body that is copied behind its head, to be written in one piece."""
TLS_HANDSHAKE: Final = b"\x16\x03"
"""The first bytes of a connection with TLS. Source: RFC 8446, section 5.1."""
_CONTROLS: Final = bytes(range(32)) + b"\x7f"

log = logging.getLogger("statewright.server")


LONG_HEAD_ANSWER: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
    b"content-length: 45\r\n\r\nThe head of the request is longer than 64 KiB"
)
SHORTAGE_ANSWER: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
    b"content-length: 24\r\n\r\nThe server lacks memory."
)


class LongHead(Exception):
    """A complete head is longer than `HEAD_BYTES`."""


@dataclass(frozen=True, slots=True)
class ConnectionTimeouts:
    """Time limits for connections, and for the stop of a server, in seconds."""

    head_seconds: float = 30.0
    """For a request's head, from its first byte, or from the connection's opening."""
    body_seconds: float = 120.0
    """For a request's body, or a MiB of a longer one."""
    answer_seconds: float = 120.0
    """For a caller to read some part of an answer that waits to be sent."""
    idle_seconds: float = 75.0
    """For the next request on a connection."""
    drain_seconds: float = 10.0
    """For running calls, once the server has been asked to stop."""
    stop_seconds: float = 30.0
    """For the whole stop, the running calls included."""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> ConnectionTimeouts:
        """The default limits, overridden by `STATEWRIGHT_HEAD_SECONDS` and so on.

        Raises: ValueError, naming the variable.
        """
        given: dict[str, float] = {}
        for one in fields(cls):
            name = f"STATEWRIGHT_{one.name.upper()}"
            text = environment.get(name)
            if text is None:
                continue
            try:
                given[one.name] = float(text)
            except ValueError:
                given[one.name] = 0.0
            if not 0 < given[one.name] < 1e6:
                raise ValueError(f"{name} is {text!r}; it must be a number of seconds above 0")
        return cls(**given)


class Connections(ServerState):
    """State shared by all connections: their time limits, and which of them are idle."""

    def __init__(self, timeouts: ConnectionTimeouts, most: int) -> None:
        super().__init__()
        self.timeouts = timeouts
        self.most = most
        self.idle: dict[GuardedProtocol, None] = {}
        """Connections without a complete request, the longest idle first."""
        self.cut = 0
        self._warned = False
        self._hinted = False

    def hint_at_tls(self) -> None:
        """Log, once, that a client speaks TLS."""
        if not self._hinted:
            self._hinted = True
            log.warning(
                "a client speaks TLS (https) to this port, which does not: give it an endpoint that begins with "
                "http://, or put a proxy with TLS in front"
            )

    def make_room(self) -> None:
        """Close the connection that has been idle longest, if too many are open."""
        if len(self.connections) <= self.most:
            return
        if not self._warned:
            self._warned = True
            log.warning(
                "%d connections are open, the most this process may have: idle ones are closed to make room "
                "(raise the limit on open files with `ulimit -n`)", self.most,
            )  # fmt: skip
        for connection in self.idle:
            connection.cut("made room for another")
            return


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with limits on the time that a request takes to arrive and on the size of its head."""

    server_state: Connections
    head_since: float | None = None
    head_bytes = 0
    body_since: float | None = None
    body_bytes = 0
    answer_since: float | None = None
    answer_bytes = 0
    header_names: list[bytes]
    on_gone: Callable[[], None] | None = None
    """Called when the caller of the request that is being answered disconnects."""
    gathering: Gathering | None = None
    """The body of the request that is being answered, if it is read in large pieces."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Called when a connection opens: start the time limit of its first head."""
        super().connection_made(transport)
        self.app = self._answer
        self.head_since = time.monotonic()
        self.server_state.make_room()
        self.server_state.idle[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Called when the connection has closed."""
        self.server_state.idle.pop(self, None)
        super().connection_lost(exc)
        if self.on_gone is not None:
            self.on_gone()

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        """Have the application answer a request. Writing to a caller who has disconnected raises `Disconnected`."""
        cycle = cast("MethodType", send).__self__
        assert isinstance(cycle, RequestResponseCycle)
        head: Message | None = None

        async def send_joined(message: Message) -> None:
            nonlocal head
            if message["type"] == "http.response.start":
                # Held back until its body comes: one write to the socket costs half as much as two.
                head = message
                return
            held, head = head, None
            try:
                if held is not None:
                    if written_whole(cycle, held, message):
                        return
                    await send(held)
                await send(message)
            except RuntimeError:
                if not self.transport.is_closing():
                    raise
                # uvicorn notices it one turn of the loop later.
                cycle.disconnected = True
            if cycle.disconnected:
                raise Disconnected

        async def gather() -> list[bytes]:
            if self.gathering is None or self.gathering.cycle is not cycle:
                self.gathering = Gathering(cycle)
            return await self.gathering.take(receive)

        scope[WATCH] = self._watch
        scope[GATHER] = gather
        with contextlib.suppress(Disconnected):
            await self.config.loaded_app(scope, receive, send_joined)

    def _watch(self, on_gone: Callable[[], None] | None) -> None:
        self.on_gone = on_gone
        if on_gone is not None and self.transport.is_closing():
            on_gone()

    def data_received(self, data: bytes) -> None:
        """Called with bytes that have arrived."""
        if self.head_since is not None:
            if not self.head_bytes and data.startswith(TLS_HANDSHAKE):
                self.server_state.hint_at_tls()
            self.head_bytes += len(data)
        super().data_received(data)
        if self.head_since is not None and self.head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self.refuse_long_head()

    def on_message_begin(self) -> None:
        """Called when another request begins on the connection."""
        if self.head_since is None:
            self.head_since = time.monotonic()
        super().on_message_begin()
        names: list[bytes] = []
        self.header_names = names
        cast("Message", self.scope)[NAMES] = names

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called with a header; as uvicorn's, and keeps the name as it was sent."""
        lower = name.lower()
        if lower == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((lower, value))
        self.header_names.append(name)

    def on_headers_complete(self) -> None:
        """Called when the head is complete. It may have come in one piece with a body.

        Raises: LongHead, which ends the parsing.
        """
        if self.head_bytes > HEAD_BYTES and head_length(self.url, self.headers) > HEAD_BYTES:
            raise LongHead
        self.head_since = None
        self.head_bytes = 0
        self.body_since = time.monotonic()
        self.server_state.idle.pop(self, None)
        super().on_headers_complete()
        # The request has this list of headers, and its task runs later: trailers, which come until then, are none.
        self.headers = []
        self.header_names = []

    def on_body(self, body: bytes) -> None:
        """Called with a part of the body. Each MiB restarts the time limit, so that long bodies may take longer."""
        self.body_bytes += len(body)
        if self.body_bytes >= PROGRESS_BYTES:
            self.body_bytes = 0
            self.body_since = time.monotonic()
        gathering = self.gathering
        if gathering is not None and gathering.cycle is self.cycle and not self.cycle.response_complete:
            gathering.add(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Called when the body is complete."""
        self.body_since = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Called when the answer has been sent."""
        super().on_response_complete()
        if not self.pipeline and not self.transport.is_closing():
            self.server_state.idle[self] = None

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not HTTP, whose head is too long, or that there is no memory for, and close."""
        if self.head_since is not None and self.head_bytes > HEAD_BYTES:
            self.refuse_long_head()
            return
        problem = sys.exc_info()[1]
        lacking = shortage(problem.__context__) if problem is not None and problem.__context__ is not None else None
        if lacking is not None:
            # The parser wraps what its callbacks raise.
            log.warning("a request was answered with 503: %s", lacking)
            self.transport.write(SHORTAGE_ANSWER)
            self.transport.close()
            return
        log.debug("answered 400: %s", msg)
        super().send_400_response(msg)

    def _unsupported_upgrade_warning(self) -> None:
        # Clients offer other protocols (h2c) without needing them: the request is answered as it is.
        log.debug("a request offered to change the protocol")

    def refuse_long_head(self) -> None:
        """Answer 431 and close."""
        log.debug("answered 431: the head of a request was longer than 64 KiB")
        self.server_state.cut += 1
        self.transport.write(LONG_HEAD_ANSWER)
        self.transport.close()

    def cut_if_slow(self, now: float) -> None:
        """Close the connection if its request takes too long to arrive, or its answer to be read."""
        timeouts = self.server_state.timeouts
        if self.head_since is not None and now - self.head_since > timeouts.head_seconds:
            self.cut(f"head was not complete in {timeouts.head_seconds:g} s")
        elif self.body_since is not None and now - self.body_since > timeouts.body_seconds:
            self.cut(f"body was not complete in {timeouts.body_seconds:g} s")
        elif (waiting := self.transport.get_write_buffer_size()) == 0:
            self.answer_since = None
        elif self.answer_since is None or waiting != self.answer_bytes:
            self.answer_since, self.answer_bytes = now, waiting
        elif now - self.answer_since > timeouts.answer_seconds:
            self.cut(f"answer was not read in {timeouts.answer_seconds:g} s")

    def cut(self, why: str) -> None:
        """Close the connection."""
        log.debug("cut a connection whose request %s", why)
        self.server_state.cut += 1
        self.head_since = self.body_since = self.answer_since = None
        self.server_state.idle.pop(self, None)
        self.transport.abort()


def head_length(url: bytes, headers: list[tuple[bytes, bytes]]) -> int:
    """The length of a request's head in bytes, at least."""
    return len(url) + sum(len(name) + len(value) + 4 for name, value in headers)


def written_whole(cycle: RequestResponseCycle, head: Message, message: Message) -> bool:
    """Write a short answer in one piece, with the bytes that uvicorn writes in two; False if uvicorn must write it.

    Rare cases are left to uvicorn: bodies in parts, answers to HEAD, connections that close, callers who do not read,
    headers that are refused.
    """
    body: bytes = message.get("body", b"")
    headers: list[tuple[bytes, bytes]] = head["headers"]
    if (
        message.get("more_body")
        or len(body) > WHOLE_BYTES
        or cycle.disconnected
        or cycle.flow.write_paused
        or not cycle.keep_alive
        or cycle.scope["method"] == "HEAD"
        or (b"content-length", b"%d" % len(body)) not in headers
    ):
        return False
    plain = b"".join(chain.from_iterable(headers))
    if len(plain.translate(None, _CONTROLS)) != len(plain) or b"onnection" in plain or b"ransfer-" in plain:
        return False
    lines = [b"%b: %b\r\n" % one for one in chain(cycle.default_headers, headers)]
    cycle.transport.write(b"".join((STATUS_LINE[head["status"]], *lines, b"\r\n", body)))
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = cycle.chunked_encoding = False
    cycle.message_event.set()
    cycle.on_response()
    return True


class Gathering:
    """A body on its way from its connection to its reader. Pieces are passed on as they arrived, without a copy."""

    def __init__(self, cycle: RequestResponseCycle) -> None:
        """`cycle` is uvicorn's side of the request."""
        self.cycle = cycle
        self._pieces: list[bytes] = []
        self._held = 0

    def add(self, piece: bytes) -> None:
        """Add a piece that has arrived."""
        self._pieces.append(piece)
        self._held += len(piece)
        if self._held >= GATHERED_BYTES:
            self.cycle.flow.pause_reading()
            self.cycle.message_event.set()

    async def take(self, receive: Receive) -> list[bytes]:
        """The next pieces, an empty list at the body's end. Raises: Disconnected."""
        cycle = self.cycle
        if cycle.waiting_for_100_continue and cycle.more_body and not cycle.body:
            # uvicorn asks for the body.
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            if message["body"]:
                return [message["body"]]
        if cycle.body:
            # The part that arrived before the reader asked.
            first = bytes(cycle.body)
            cycle.body = bytearray()
            self._pieces.insert(0, first)
            self._held += len(first)
        while self._held < GATHERED_BYTES and cycle.more_body and not cycle.disconnected:
            cycle.flow.resume_reading()
            cycle.message_event.clear()
            await cycle.message_event.wait()
        if cycle.disconnected and cycle.more_body:
            raise Disconnected
        pieces, self._pieces, self._held = self._pieces, [], 0
        return pieces
