"""Nodes of a cluster in one process: each with its port, and applications that a test gives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from statewright.api.app import Api
from statewright.api.http.listening import bind, listener
from statewright.api.nodes.apps import Apps
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.front import NodeFront
from statewright.api.nodes.logs import LogCalls, LogsAtHome
from statewright.api.nodes.peers import Peer
from statewright.api.nodes.proxy import HomeProxy
from statewright.api.nodes.serving import NodeCalls
from statewright.api.nodes.signing import Verifier
from statewright.api.nodes.tasks import TasksAtHome
from statewright.api.standby import Application, NoPages
from statewright.clock import Clock, RealClock
from statewright.config import Config
from tests.unit.api.apps import app_of

SECRET = b"a secret of the cluster"


@dataclass
class Rows:
    """The rows of the cluster: which node has the home, and which one has a shard."""

    clock: Clock
    peers: dict[str, Peer] = field(default_factory=dict)
    home: str | None = None
    owners: dict[int, str] = field(default_factory=dict)
    on_wait: Callable[[], None] = lambda: None
    """Called whenever a node waits for a change."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set to end such a wait early, as a test in real time does."""


@dataclass
class FakeDirectory:
    """What one node knows of them. `stale_home` is what it believes of the home until it refreshes."""

    rows: Rows
    name: str
    stale_home: str | None = None
    refreshed: int = 0

    def _peer(self, name: str | None) -> Peer | None:
        return self.rows.peers.get(name) if name is not None else None

    def home(self) -> Peer | None:
        return self._peer(self.stale_home or self.rows.home)

    def is_home(self) -> bool:
        return self.rows.home == self.name

    def owner_of(self, shard: int) -> Peer | None:
        return self._peer(self.rows.owners.get(shard))

    def owners(self) -> list[tuple[int, Peer]]:
        found = [(shard, self.owner_of(shard)) for shard in sorted(self.rows.owners)]
        return [(shard, peer) for shard, peer in found if peer is not None]

    def has(self, shard: int) -> bool:
        return self.rows.owners.get(shard) == self.name

    def has_any(self) -> bool:
        return self.name in self.rows.owners.values()

    async def wait_for_change(self, timeout_seconds: float) -> None:
        self.rows.on_wait()
        clock, changed = self.rows.clock, self.rows.changed
        timer = clock.call_at(clock.now_ms() + round(timeout_seconds * 1000), changed.set)
        await changed.wait()
        timer.cancel()
        changed.clear()

    async def refresh(self) -> None:
        self.refreshed += 1
        self.stale_home = None


def refusing(text: str) -> Application:
    return Api(app_of(), pages=NoPages(), draining=True, refusal=text)


class Answering:
    """An application that answers as a function says, and keeps the heads of what it was asked."""

    def __init__(self, name: str, answer: Callable[..., Awaitable[None]] | None = None) -> None:
        self.name = name
        self.answer = answer
        self.scopes: list[dict[str, Any]] = []
        self.drained = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        if self.answer is not None:
            await self.answer(scope, receive, send)
            return
        body = await whole(receive)
        await respond(send, 200, self.name.encode() + b":" + body)

    def drain(self) -> None:
        self.drained = True


async def whole(receive: Any) -> bytes:
    pieces = []
    while True:
        message = await receive()
        assert message["type"] == "http.request", "the client has left"
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


async def respond(send: Any, status: int, body: bytes, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    head = [(b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


async def nothing() -> None:
    """A node that has no logs to send."""


class Node:
    """One node: its front with a worker and, once it has the home, a home."""

    def __init__(self, rows: Rows, name: str, config: Config | None = None, clock: Clock | None = None) -> None:
        clock = clock or rows.clock
        self.name = name
        self.directory = FakeDirectory(rows, name)
        self.client = NodeClient(SECRET, name, clock)
        self.verifier = Verifier(SECRET, clock)
        self.apps = Apps()
        self.tasks = TasksAtHome(self.apps, self.directory)
        self.logs = LogsAtHome(self.apps, self.directory, clock)
        self.send_logs: Callable[[], Awaitable[None]] = nothing
        logs = LogCalls(self.logs, lambda: self.send_logs())
        self.calls = NodeCalls(self.apps, self.directory, self.verifier, self.tasks, logs, clock, hello=self.hello)
        self.proxy = HomeProxy(self.directory, self.client, clock, refusing, self.own_home)
        self.worker: Any = Answering(f"worker {name}")
        self.home: Any = Answering(f"home {name}")
        self.pages = Answering(f"pages {name}")
        self.front = NodeFront(
            config or Config(), self.directory, self.verifier, worker=self, home=lambda: self.home, proxy=self.proxy,
            calls=self.calls, pages=self.pages,
        )  # fmt: skip
        self.port = 0

    async def hello(self) -> Any:
        return {"name": self.name, "incarnation": f"{self.name} 1"}

    def own_home(self) -> Application | None:
        return self.home if self.directory.is_home() else None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.worker(scope, receive, send)

    def drain(self) -> None:
        self.worker.drain()


@asynccontextmanager
async def ported(application: Application) -> AsyncIterator[int]:
    """The port of an application, for as long as the block lasts."""
    ready = asyncio.Event()
    sock = bind("127.0.0.1", 0)
    server = listener(application, ready.set)
    running = asyncio.ensure_future(server.serve(sockets=[sock]))
    await ready.wait()
    try:
        yield sock.getsockname()[1]
    finally:
        server._on_signal()
        server._on_signal()
        await running


@asynccontextmanager
async def cluster(*names: str, home: str | None = None, config: Config | None = None) -> AsyncIterator[list[Node]]:
    """Nodes with ports; the first name has the home unless another is given."""
    rows = Rows(RealClock(), home=home or names[0])
    nodes = [Node(rows, name, config) for name in names]
    async with _all_ported(nodes):
        for node in nodes:
            rows.peers[node.name] = Peer(node.name, f"http://127.0.0.1:{node.port}", 1)
        try:
            yield nodes
        finally:
            for node in nodes:
                node.client.close()


@asynccontextmanager
async def _all_ported(nodes: list[Node]) -> AsyncIterator[None]:
    if not nodes:
        yield
        return
    async with ported(nodes[0].front) as port:
        nodes[0].port = port
        async with _all_ported(nodes[1:]):
            yield


class Line:
    """A client's connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> tuple[int, list[tuple[str, str]]]:
        text = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = text.rstrip("\r\n").split("\r\n")
        return int(first.split(" ")[1]), [(name, value) for name, _, value in (one.partition(": ") for one in lines)]

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        status, lines = await self.head()
        headers = {name.lower(): value for name, value in lines}
        if headers.get("transfer-encoding") == "chunked":
            return status, headers, await self._chunks()
        return status, headers, await self.reader.readexactly(int(headers.get("content-length", "0")))

    async def chunk(self) -> bytes:
        size = int(await self.reader.readline(), 16)
        data = await self.reader.readexactly(size)
        await self.reader.readexactly(2)
        return data

    async def _chunks(self) -> bytes:
        found = []
        while piece := await self.chunk():
            found.append(piece)
        return b"".join(found)

    def close(self) -> None:
        self.writer.transport.abort()


@asynccontextmanager
async def line(port: int) -> AsyncIterator[Line]:
    """A connection to a port."""
    made = Line(*await asyncio.open_connection("127.0.0.1", port))
    try:
        yield made
    finally:
        made.close()


async def ask(port: int, text: bytes) -> tuple[int, dict[str, str], bytes]:
    """One request and its answer."""
    async with line(port) as made:
        await made.send(text)
        return await made.answer()


def request(target: str = "/x", body: bytes = b"", method: str = "POST", **headers: Any) -> bytes:
    """The text of a request; underscores in the names of headers are hyphens."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def json_of(body: bytes) -> Any:
    return orjson.loads(body)


@asynccontextmanager
async def silent() -> AsyncIterator[int]:
    """A port that takes the head of a request and closes the connection, as a process that is killed does."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()
