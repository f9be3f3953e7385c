"""A front before the nodes of a cluster: each request goes to a node that is drawn at random, not each connection.

Requests and answers go on as they came, byte by byte: a signature covers the `Host` of the front, which nodes see. A
request that finds its node dead before it is sent goes to another one; one that was sent is never sent again. When the
client leaves, the connection to the node is closed, and the other way round.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Final

from tests.deadlines import PATIENCE_SECONDS

PIECE_BYTES: Final = 65_536
_LONGEST_HEAD: Final = 1024 * 1024
_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CHUNKED: Final = re.compile(rb"\r\ntransfer-encoding:[^\r]*chunked", re.IGNORECASE)
_CLOSE: Final = re.compile(rb"\r\nconnection:[^\r]*close", re.IGNORECASE)
_NO_BODY: Final = (204, 304)
_BROKEN: Final = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


class RandomFront:
    """A front on a port of its own, served by a thread. The same seed draws the same nodes in the same order."""

    def __init__(self, ports: Sequence[int], seed: int = 0) -> None:
        """`ports` are those of the nodes, on loopback."""
        self._ports = list(ports)
        self._random = random.Random(seed)
        self.taken: Counter[int] = Counter()
        """How many requests each node was sent, by its port."""
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._listens = threading.Event()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)
        self._thread.start()
        assert self._listens.wait(PATIENCE_SECONDS), "the front does not listen"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """End all connections, and the thread."""
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(PATIENCE_SECONDS)
        self._loop.close()

    async def _serve(self) -> None:
        connections: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            connections.add(task)
            try:
                # Cancelled at the end alone; Python 3.11 logs that as a mistake if it is raised here.
                with contextlib.suppress(asyncio.CancelledError):
                    await self._relay(reader, writer)
            finally:
                connections.discard(task)
                writer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=_LONGEST_HEAD)
        self.port = server.sockets[0].getsockname()[1]
        self._listens.set()
        await self._over.wait()
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay the requests of one connection of a client, one after the other, until one side ends it."""
        head = await _head(reader)
        while head:
            found = await self._node()
            if found is None:
                return
            exchange = _Exchange(head, reader, writer, *found)
            try:
                head = await exchange.run()
            finally:
                exchange.there.close()

    async def _node(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection to a node that lives; `None` if none does."""
        for port in self._random.sample(self._ports, len(self._ports)):
            with contextlib.suppress(OSError):
                found = await asyncio.open_connection("127.0.0.1", port, limit=_LONGEST_HEAD)
                self.taken[port] += 1
                return found
        return None


class _Exchange:
    """One request and its answer, over a connection of its own to the node."""

    def __init__(
        self,
        head: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        back: asyncio.StreamReader,
        there: asyncio.StreamWriter,
    ) -> None:
        self._head = head
        self._reader = reader
        self._writer = writer
        self._back = back
        self.there = there

    async def run(self) -> bytes:
        """Relay both; the head of the next request, or nothing if the connection is over."""
        sending = asyncio.create_task(self._send())
        answering = asyncio.create_task(self._answer())
        try:
            await asyncio.wait((sending, answering), return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() and self._reader.at_eof():
                # The client has left.
                return b""
            return await sending if await answering else b""
        finally:
            for task in (sending, answering):
                task.cancel()
            await asyncio.gather(sending, answering, return_exceptions=True)

    async def _send(self) -> bytes:
        """Send the request, and wait for the head of the next one; nothing if there is none."""
        try:
            self.there.write(self._head)
            await _pass_body(self._head, self._reader, self.there)
        except _BROKEN:
            return b""
        return await _head(self._reader)

    async def _answer(self) -> bool:
        """Pass the answer back; true if the connection stays open after it."""
        try:
            head = await _head(self._back)
            while head and (status := int(head.split(b" ", 2)[1])) < 200:
                self._writer.write(head)
                head = await _head(self._back)
            if not head:
                return False
            self._writer.write(head)
            if self._head.startswith(b"HEAD ") or status in _NO_BODY:
                await self._writer.drain()
            elif _LENGTH.search(head) or _CHUNKED.search(head):
                await _pass_body(head, self._back, self._writer)
            else:
                await _pass_all(self._back, self._writer)
                return False
        except _BROKEN:
            return False
        return _CLOSE.search(head) is None


async def _head(reader: asyncio.StreamReader) -> bytes:
    """The next head; nothing if the connection is over."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except _BROKEN:
        return b""


async def _pass_body(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on the body that a head announces."""
    length = _LENGTH.search(head)
    if _CHUNKED.search(head):
        await _pass_chunks(reader, writer)
    elif length is not None:
        await _pass_exactly(int(length[1]), reader, writer)
    await writer.drain()


async def _pass_chunks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        line = await reader.readuntil(b"\r\n")
        writer.write(line)
        size = int(line.partition(b";")[0], 16)
        if size == 0:
            break
        await _pass_exactly(size + 2, reader, writer)
    # The trailers, and the empty line that ends them.
    while True:
        line = await reader.readuntil(b"\r\n")
        writer.write(line)
        if line == b"\r\n":
            return


async def _pass_exactly(count: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while count:
        piece = await reader.read(min(count, PIECE_BYTES))
        if not piece:
            raise asyncio.IncompleteReadError(b"", count)
        count -= len(piece)
        writer.write(piece)
        await writer.drain()


async def _pass_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(PIECE_BYTES):
        writer.write(piece)
        await writer.drain()
