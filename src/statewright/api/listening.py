"""The HTTP server around the application: uvicorn with limits on request heads, signals, and a graceful end.

A connection is cut whose request head is not complete in time, or longer than `HEAD_BYTES`, whose body is not complete
in time, or whose answers nobody takes: slow or endless requests cannot hold connections. When as many are open as the
process may have files, the one that has been idle longest makes room for the next. `Patience` has the times; they are
socket timeouts, so they use the real monotonic clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from statewright.api.app import GATHER, WATCH, Api
from statewright.api.protocols.wire import Disconnected

HEAD_BYTES: Final = 64 * 1024
PROGRESS_BYTES: Final = 1024 * 1024
"""What must come of a body within the time for bodies."""
GATHERED_BYTES: Final = 512 * 1024
"""Of a long body, before its taker is woken: what waits on each connection stays below this and one read."""
WHOLE_BYTES: Final = 64 * 1024
"""Longer bodies are not copied behind their heads."""
_CONTROLS: Final = bytes(range(32)) + b"\x7f"
SWEEP_TICKS: Final = 10
"""Connections are looked at once a second; uvicorn's loop turns ten times in one."""
TICK_SECONDS: Final = 0.1
BACKLOG: Final = 2048
MOST_FILES: Final = 1 << 20
FILES_KEPT: Final = 128
"""Files that connections may not have: the store's, those of tasks, and a margin."""

log = logging.getLogger("statewright.server")


class CannotListen(Exception):
    """The address cannot be had; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long connections are waited for, in seconds."""

    head_seconds: float = 30.0
    """For a request's head, from its first byte, or from the connection's opening."""
    body_seconds: float = 120.0
    """For a request's body, or a MiB of a longer one."""
    answer_seconds: float = 120.0
    """For a caller to take something of an answer that waits for him."""
    idle_seconds: float = 75.0
    """For the next request on a connection."""
    drain_seconds: float = 10.0
    """For running calls, when the server is told to end."""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Patience:
        """The times, with those that `STATEWRIGHT_HEAD_SECONDS` and its like set.

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
    """What all connections share: how long they are waited for, and which of them have nothing to do."""

    def __init__(self, patience: Patience, most: int) -> None:
        super().__init__()
        self.patience = patience
        self.most = most
        self.idle: dict[GuardedProtocol, None] = {}
        """Without a complete request, the longest idle first."""
        self.cut = 0
        self._warned = False

    def make_room(self) -> None:
        """Give up the connection that has been idle longest, if there are too many."""
        if len(self.connections) <= self.most:
            return
        if not self._warned:
            self._warned = True
            log.warning(
                "%d connections are open, as many as this process may have: idle ones make room for new ones "
                "(more files may be allowed with `ulimit -n`)", self.most,
            )  # fmt: skip
        for connection in self.idle:
            connection.cut("made room for another")
            return


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with an eye on how long a request takes to come in, and how large its head becomes."""

    server_state: Connections
    head_since: float | None = None
    head_bytes = 0
    body_since: float | None = None
    body_bytes = 0
    answer_since: float | None = None
    answer_bytes = 0
    on_gone: Callable[[], None] | None = None
    """Called when the caller goes; of the request that is being answered."""
    gathering: Gathering | None = None
    """The body that is being taken in large pieces, if any: of the request that is being answered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection opens: its first head is awaited."""
        super().connection_made(transport)
        self.app = self._answer
        self.head_since = time.monotonic()
        self.server_state.make_room()
        self.server_state.idle[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self.server_state.idle.pop(self, None)
        super().connection_lost(exc)
        if self.on_gone is not None:
            self.on_gone()

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        """Have a request answered. Whoever writes to a caller who has gone is told so: `Disconnected`."""
        cycle = send.__self__
        head: Any = None

        async def tell(message: Any) -> None:
            nonlocal head
            if message["type"] == "http.response.start":
                # Kept for its body: one write to the socket costs half as much as two.
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
                # uvicorn hears of it a turn of the loop later.
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
            await self.config.loaded_app(scope, receive, tell)

    def _watch(self, on_gone: Callable[[], None] | None) -> None:
        self.on_gone = on_gone
        if on_gone is not None and self.transport.is_closing():
            on_gone()

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        if self.head_since is not None:
            self.head_bytes += len(data)
        super().data_received(data)
        if self.head_since is not None and self.head_bytes > HEAD_BYTES:
            self.cut("head was longer than 64 KiB")

    def on_message_begin(self) -> None:
        """Another request begins on the connection."""
        if self.head_since is None:
            self.head_since = time.monotonic()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self.head_since = None
        self.head_bytes = 0
        self.body_since = time.monotonic()
        self.server_state.idle.pop(self, None)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Some of the body has come: whoever sends it at a fair pace may take his time with a long one."""
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
        """The body is complete."""
        self.body_since = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer has been given."""
        super().on_response_complete()
        if not self.pipeline and not self.transport.is_closing():
            self.server_state.idle[self] = None

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, and close."""
        log.debug("answered 400: %s", msg)
        super().send_400_response(msg)

    def _unsupported_upgrade_warning(self) -> None:
        # Clients offer other protocols (h2c) without needing them: the request is answered as it is.
        log.debug("a request offered to change the protocol")

    def cut_if_slow(self, now: float) -> None:
        """Give the connection up if its request takes too long to come in, or its answer to go out."""
        patience = self.server_state.patience
        if self.head_since is not None and now - self.head_since > patience.head_seconds:
            self.cut(f"head was not complete in {patience.head_seconds:g} s")
        elif self.body_since is not None and now - self.body_since > patience.body_seconds:
            self.cut(f"body was not complete in {patience.body_seconds:g} s")
        elif (waiting := self.transport.get_write_buffer_size()) == 0:
            self.answer_since = None
        elif self.answer_since is None or waiting != self.answer_bytes:
            self.answer_since, self.answer_bytes = now, waiting
        elif now - self.answer_since > patience.answer_seconds:
            self.cut(f"answer was not taken in {patience.answer_seconds:g} s")

    def cut(self, why: str) -> None:
        """Give the connection up."""
        log.debug("cut a connection whose request %s", why)
        self.server_state.cut += 1
        self.head_since = self.body_since = self.answer_since = None
        self.server_state.idle.pop(self, None)
        self.transport.abort()


def written_whole(cycle: RequestResponseCycle, head: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    """Write a short answer in one piece, as uvicorn writes it in two; false where that is not for us to do.

    What is rare is left to uvicorn: bodies in parts, answers to HEAD, connections that end, callers who take nothing,
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
    """A body on its way from its connection to its taker. Its pieces are handed on as they came, without a copy."""

    def __init__(self, cycle: RequestResponseCycle) -> None:
        """`cycle` is uvicorn's side of the request."""
        self.cycle = cycle
        self._pieces: list[bytes] = []
        self._held = 0

    def add(self, piece: bytes) -> None:
        """A piece has come."""
        self._pieces.append(piece)
        self._held += len(piece)
        if self._held >= GATHERED_BYTES:
            self.cycle.flow.pause_reading()
            self.cycle.message_event.set()

    async def take(self, receive: Callable[[], Awaitable[Any]]) -> list[bytes]:
        """The next pieces, none at the body's end. Raises: Disconnected."""
        cycle = self.cycle
        if cycle.waiting_for_100_continue and cycle.more_body and not cycle.body:
            # uvicorn asks for the body.
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            if message["body"]:
                return [message["body"]]
        if cycle.body:
            # What came before there was a taker.
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


class Listener(uvicorn.Server):
    """uvicorn's server: serves until a signal, then turns new calls away and lets running ones end."""

    def __init__(self, config: uvicorn.Config, api: Api, on_ready: Callable[[], None], patience: Patience) -> None:
        super().__init__(config)
        self.server_state: Connections = Connections(patience, raise_file_limit() - FILES_KEPT)
        self._api = api
        self._on_ready = on_ready
        self._ticked_at = 0.0
        self.lag_seconds = 0.0
        """By how much the loop was late, the last time it was looked at."""
        self.most_lag_seconds = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: whether it is time to end."""
        now = time.monotonic()
        if self._ticked_at:
            self.lag_seconds = max(0.0, now - self._ticked_at - TICK_SECONDS)
            self.most_lag_seconds = max(self.most_lag_seconds, self.lag_seconds)
        self._ticked_at = now
        if counter % SWEEP_TICKS == 0:
            for connection in list(self.server_state.connections):
                if isinstance(connection, GuardedProtocol):
                    connection.cut_if_slow(now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse new calls, end polls, let the rest finish; who has not said all of his request is not waited for."""
        self._api.drain()
        for connection in list(self.server_state.connections):
            if isinstance(connection, GuardedProtocol) and connection.body_since is not None:
                connection.cut("body was not complete at the server's end")
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """End on SIGTERM and SIGINT; a second one cuts what still runs."""
        loop = asyncio.get_running_loop()
        caught = (signal.SIGTERM, signal.SIGINT)
        for number in caught:
            loop.add_signal_handler(number, self._on_signal)
        try:
            yield
        finally:
            for number in caught:
                loop.remove_signal_handler(number)

    def _on_signal(self) -> None:
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True


def listener(api: Api, on_ready: Callable[[], None], patience: Patience | None = None) -> Listener:
    """A server for the application; run it with `serve(sockets=[...])`."""
    patience = patience or Patience()
    settings: dict[str, Any] = {
        "http": GuardedProtocol,
        "ws": "none",
        "lifespan": "off",
        "access_log": False,
        "log_config": None,
        # What it warns of is what strangers send.
        "log_level": "error",
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": patience.idle_seconds,
        "timeout_graceful_shutdown": patience.drain_seconds,
        "backlog": BACKLOG,
    }
    return Listener(uvicorn.Config(api, **settings), api, on_ready, patience)


def holder_of(port: int) -> str | None:
    """The process that listens at a TCP port, as `python3 (pid 17)`, where the system tells: Linux, for one's own."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                columns = line.split()
                if columns[3] == "0A" and int(columns[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{columns[9]}]")
    for process in Path("/proc").glob("[0-9]*") if inodes else ():
        # Processes of others, and those that end meanwhile, tell nothing.
        with contextlib.suppress(OSError):
            if any(os.readlink(file) in inodes for file in (process / "fd").iterdir()):
                return f"{(process / 'comm').read_text().strip()} (pid {process.name})"
    return None


def raise_file_limit() -> int:
    """Let the process have as many open files as it may; returns how many these are."""
    if sys.platform == "win32":
        return 8192
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError):  # macOS has a limit that it does not tell
            log.debug("the limit on open files stays at %d", soft)
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at an address.

    Raises: CannotListen.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as problem:
        raise CannotListen(f"cannot listen on {host}: {problem.strerror or problem}") from None
    family, kind, protocol, _, address = found[0]
    listening = socket.socket(family, kind, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as problem:
        listening.close()
        if problem.errno == errno.EADDRINUSE:
            holder = holder_of(port) or "another process"
            raise CannotListen(
                f"port {port} on {host} is in use by {holder}; stop it, or choose another port with --port"
            ) from None
        raise CannotListen(f"cannot listen on {host}:{port}: {problem.strerror or problem}") from None
    listening.setblocking(False)
    return listening
