"""Connections to other nodes: HTTP/1.1 over asyncio's streams, kept for the next call.

`integrations/http_client.py` blocks a thread for each call, and a node has thousands of calls and long polls on their
way to others; so this is the parser of the server's own port (`httptools`, by uvicorn's maker) on a stream of asyncio.
It speaks to nodes alone: no TLS, no proxies, no redirects, no other form of answer than uvicorn writes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

import httptools

from statewright.api.nodes.peers import time_limit
from statewright.clock import Clock

CONNECT_MS: Final = 2_000
IDLE_MS: Final = 30_000
"""Connections that have been idle for longer are closed: the other end closes them after `idle_seconds` (75 s)."""
MOST_IDLE: Final = 256
"""Idle connections that are kept for a node."""
PIECE_BYTES: Final = 1 << 18

Headers = Iterable[tuple[bytes, bytes]]


class NotSent(Exception):
    """Nothing of a call was written to a socket: it may be made again, anywhere."""


class Unanswered(Exception):
    """A call was written, at least in part, and its answer did not come, or broke off: it may have had its effect."""


class Link:
    """One connection, with at most one call on it. Not for several tasks, but that one may send while one reads."""

    def __init__(self, address: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.address = address
        self.idle_since_ms = 0
        self._reader = reader
        self._writer = writer
        self._parser = httptools.HttpResponseParser(self)
        self._method = b""
        self.may_send = asyncio.Event()
        """Set once the other end has asked for the body (`100 Continue`)."""
        self._begin()

    def _begin(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.is_complete = False
        self._has_head = False
        self._closes = False
        self._pieces: deque[bytes] = deque()

    @property
    def is_open(self) -> bool:
        """True if neither end has closed the connection, as far as is known."""
        return not (self._writer.is_closing() or self._reader.at_eof())

    @property
    def is_reusable(self) -> bool:
        """True once a call has been answered completely and the connection can take another."""
        return self.is_complete and not self._closes and self.is_open

    # ------------------------------------------------------------------ sending

    def write_head(self, method: str, target: bytes, headers: Headers, body: bytes = b"") -> None:
        """Write the head of a request, and in one piece with it `body`, the whole body or its beginning.

        Raises: NotSent if the connection is closed.
        """
        if not self.is_open:
            raise NotSent(f"{self.address} has closed the connection")
        self._begin()
        self._parser = httptools.HttpResponseParser(self)
        self.may_send.clear()
        self._method = method.encode()
        lines = [b"%b %b HTTP/1.1\r\n" % (self._method, target)]
        lines += [b"%b: %b\r\n" % one for one in headers]
        try:
            self._writer.write(b"".join((*lines, b"\r\n", body)))
        except RuntimeError as problem:
            raise NotSent(f"{self.address}: {problem}") from None

    def write(self, piece: bytes) -> None:
        """Write a piece of the body. Raises: Unanswered."""
        try:
            self._writer.write(piece)
        except RuntimeError as problem:
            # What uvloop says of a closed connection.
            raise Unanswered(f"{self.address}: {problem}") from None

    async def drain(self) -> None:
        """Wait until the other end takes more. Raises: Unanswered."""
        try:
            await self._writer.drain()
        except OSError as problem:
            raise Unanswered(f"{self.address}: {problem}") from None

    # ------------------------------------------------------------------ reading

    async def read_head(self) -> None:
        """Read up to the end of the answer's head. Raises: Unanswered."""
        while not self._has_head:
            await self._read()

    async def read_body(self) -> bytes:
        """The bytes of the body that have come, waiting for some; empty at its end. Raises: Unanswered."""
        while not self._pieces and not self.is_complete:
            await self._read()
        found = b"".join(self._pieces) if len(self._pieces) != 1 else self._pieces[0]
        self._pieces.clear()
        return found

    async def _read(self) -> None:
        try:
            data = await self._reader.read(PIECE_BYTES)
            if not data:
                raise Unanswered(f"{self.address} has closed the connection")
            self._parser.feed_data(data)
        except OSError as problem:
            raise Unanswered(f"{self.address}: {problem}") from None
        except httptools.HttpParserError as problem:
            if self.is_complete:
                # The body of an answer to HEAD, which there is not.
                self._closes = True
                return
            raise Unanswered(f"{self.address} answers no HTTP: {problem}") from None

    # Called by the parser.

    def on_message_begin(self) -> None:
        """Called when an answer begins."""
        self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called with a header."""
        if not self._has_head:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Called when a head is complete; that of `100 Continue` is none."""
        status = self._parser.get_status_code()
        if status < 200:
            return
        self.status = status
        self._has_head = True
        self._closes = not self._parser.should_keep_alive()
        if self._method == b"HEAD":
            self.is_complete = True

    def on_body(self, body: bytes) -> None:
        """Called with a piece of the body."""
        if self.is_complete:
            self._closes = True
        else:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Called at the end of an answer."""
        if self._has_head:
            self.is_complete = True
        else:
            self.may_send.set()

    def close(self) -> None:
        """Close the connection at once; what was not sent is dropped."""
        self._writer.transport.abort()


class Links:
    """Connections to all nodes, idle ones and those with a call."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._idle: dict[str, deque[Link]] = {}
        self._busy: dict[str, set[Link]] = {}
        self._is_closed = False

    async def take(self, address: str) -> Link:
        """A connection for one call, kept or new; give it back with `give_back`. Raises: NotSent."""
        if self._is_closed:
            raise NotSent("this node is stopping")
        now_ms = self._clock.now_ms()
        idle = self._idle.get(address)
        while idle:
            # The one used last: those that are not needed grow old.
            link = idle.pop()
            if link.is_open and now_ms - link.idle_since_ms < IDLE_MS:
                break
            link.close()
        else:
            link = await self._opened(address)
        self._busy.setdefault(address, set()).add(link)
        return link

    async def _opened(self, address: str) -> Link:
        parts = urlsplit(address)
        try:
            with time_limit(self._clock, CONNECT_MS):
                reader, writer = await asyncio.open_connection(
                    parts.hostname, parts.port or 80, limit=PIECE_BYTES
                )  # fmt: skip
        except (OSError, ValueError, TimeoutError) as problem:
            raise NotSent(f"{address} does not answer: {problem or 'it took too long'}") from None
        return Link(address, reader, writer)

    def give_back(self, link: Link) -> None:
        """Keep a connection for the next call, or close it if its call did not end well."""
        self._busy.get(link.address, set()).discard(link)
        idle = self._idle.setdefault(link.address, deque())
        if self._is_closed or not link.is_reusable:
            link.close()
            return
        link.idle_since_ms = self._clock.now_ms()
        idle.append(link)
        while idle and (len(idle) > MOST_IDLE or link.idle_since_ms - idle[0].idle_since_ms >= IDLE_MS):
            idle.popleft().close()

    def cut(self, address: str) -> None:
        """Close all connections to an address: its node has lost what it was asked for, or is gone.

        Its calls under way are `Unanswered` from then on; at a machine that has vanished they would wait otherwise.
        """
        for link in [*self._idle.pop(address, ()), *self._busy.get(address, ())]:
            link.close()

    def close(self) -> None:
        """Close all connections, and open no others."""
        self._is_closed = True
        for address in [*self._idle, *self._busy]:
            self.cut(address)
