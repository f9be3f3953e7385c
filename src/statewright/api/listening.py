"""The HTTP server around the application: uvicorn with limits on request heads, signals, and a graceful end.

A connection is cut whose request head is not complete within `HEAD_SECONDS`, or longer than `HEAD_BYTES`, or whose body
is not complete within `BODY_SECONDS`: slow or endless requests cannot hold connections. These are socket timeouts, so
they use the real monotonic clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import time
from collections.abc import Callable, Generator
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from statewright.api.app import Api

HEAD_SECONDS: Final = 30.0
HEAD_BYTES: Final = 64 * 1024
BODY_SECONDS: Final = 120.0
SWEEP_TICKS: Final = 10
"""Connections are looked at once a second; uvicorn's loop turns ten times in one."""
BACKLOG: Final = 2048
DRAIN_SECONDS: Final = 10

log = logging.getLogger("statewright.server")


class CannotListen(Exception):
    """The address cannot be had; the text says why and what to do."""


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with an eye on how long a request takes to come in, and how large its head becomes."""

    head_since: float | None = None
    head_bytes = 0
    body_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection opens: its first head is awaited."""
        super().connection_made(transport)
        self.head_since = time.monotonic()

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
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The body is complete."""
        self.body_since = None
        super().on_message_complete()

    def cut_if_slow(self, now: float) -> None:
        """Give the connection up if its request takes too long to come in."""
        if self.head_since is not None and now - self.head_since > HEAD_SECONDS:
            self.cut("head was not complete in 30 s")
        elif self.body_since is not None and now - self.body_since > BODY_SECONDS:
            self.cut("body was not complete in 120 s")

    def cut(self, why: str) -> None:
        """Give the connection up."""
        log.info("cut a connection whose request %s", why)
        self.head_since = self.body_since = None
        self.transport.abort()


class Listener(uvicorn.Server):
    """uvicorn's server: serves until a signal, then turns new calls away and lets running ones end."""

    def __init__(self, config: uvicorn.Config, api: Api, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._api = api
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: whether it is time to end."""
        if counter % SWEEP_TICKS == 0:
            now = time.monotonic()
            for connection in list(self.server_state.connections):
                if isinstance(connection, GuardedProtocol):
                    connection.cut_if_slow(now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse new calls, end polls, let the rest finish."""
        self._api.drain()
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


def listener(api: Api, on_ready: Callable[[], None]) -> Listener:
    """A server for the application; run it with `serve(sockets=[...])`."""
    settings: dict[str, Any] = {
        "http": GuardedProtocol,
        "ws": "none",
        "lifespan": "off",
        "access_log": False,
        "log_config": None,
        "log_level": "warning",
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": 75,
        "timeout_graceful_shutdown": DRAIN_SECONDS,
        "backlog": BACKLOG,
    }
    return Listener(uvicorn.Config(api, **settings), api, on_ready)


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
            raise CannotListen(
                f"port {port} on {host} is in use by another process; stop it, or choose another port with --port"
            ) from None
        raise CannotListen(f"cannot listen on {host}:{port}: {problem.strerror or problem}") from None
    listening.setblocking(False)
    return listening
