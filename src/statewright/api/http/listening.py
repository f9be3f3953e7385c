"""The HTTP server around the application: uvicorn on a port of ours, with signals and a graceful end.

`connections.py` limits what a connection may hold, and how long.
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
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final

import uvicorn

from statewright.api.http.connections import Connections, ConnectionTimeouts, GuardedProtocol
from statewright.api.standby import Application
from statewright.metrics.loop_watch import LoopWatch

SWEEP_TICKS: Final = 10
"""Ticks between two checks for slow connections: one second, as uvicorn ticks ten times a second."""
TICK_SECONDS: Final = 0.1
BACKLOG: Final = 2048
MOST_FILES: Final = 1 << 20
FILES_KEPT: Final = 128
"""Files that are kept back from connections: the store's, those of tasks, and a margin."""

log = logging.getLogger("statewright.server")


class CannotListen(Exception):
    """The server cannot listen at the address; the text says why and what to do."""


class Listener(uvicorn.Server):
    """uvicorn's server: serves until a signal, then refuses new calls and lets running ones finish."""

    def __init__(
        self,
        config: uvicorn.Config,
        api: Application,
        on_ready: Callable[[], None],
        on_stop: Callable[[], None],
        timeouts: ConnectionTimeouts,
    ) -> None:
        super().__init__(config)
        self.server_state: Connections = Connections(timeouts, most_connections(raise_file_limit()))
        self._api = api
        self._on_ready = on_ready
        self._on_stop = on_stop
        self._ticked_at = 0.0
        self.watch = LoopWatch()
        """The watchdog of the loop; whether it looks is the server's to say."""
        self.lag_seconds = 0.0
        """How late the loop was at the last tick."""
        self.most_lag_seconds = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        """Close slow connections; True if it is time to stop. uvicorn calls it ten times a second."""
        now = time.monotonic()
        self.watch.beat()
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
        """Refuse new calls, end long polls, let the rest finish; connections with an incomplete request are closed."""
        self._api.drain()
        for connection in list(self.server_state.connections):
            if isinstance(connection, GuardedProtocol) and connection.body_since is not None:
                connection.cut("body was not complete at the server's end")
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop on SIGTERM and SIGINT; a second one aborts calls that still run."""
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
        self._on_stop()


def listener(
    api: Application,
    on_ready: Callable[[], None],
    timeouts: ConnectionTimeouts | None = None,
    on_stop: Callable[[], None] = lambda: None,
) -> Listener:
    """Make a server for the application; run it with `serve(sockets=[...])`. `on_stop` is called at each signal."""
    timeouts = timeouts or ConnectionTimeouts()
    config = uvicorn.Config(
        api,
        http=GuardedProtocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        # Its warnings are about malformed requests.
        log_level="error",
        server_header=False,
        proxy_headers=False,
        # uvicorn declares whole seconds, and takes fractions.
        timeout_keep_alive=timeouts.idle_seconds,  # type: ignore[arg-type]
        timeout_graceful_shutdown=timeouts.drain_seconds,  # type: ignore[arg-type]
        backlog=BACKLOG,
    )
    return Listener(config, api, on_ready, on_stop, timeouts)


def holder_of(port: int) -> str | None:
    """The process that listens at a TCP port: `python3 (pid 17)`. Known only on Linux, for the user's own processes."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                columns = line.split()
                if columns[3] == "0A" and int(columns[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{columns[9]}]")
    for process in Path("/proc").glob("[0-9]*") if inodes else ():
        # Processes of other users, and those that end meanwhile, cannot be read.
        with contextlib.suppress(OSError):
            if any(os.readlink(file) in inodes for file in (process / "fd").iterdir()):
                return f"{(process / 'comm').read_text().strip()} (pid {process.name})"
    return None


def most_connections(files: int) -> int:
    """The connections that a process with so many files may have: at least half, if there are few."""
    return max(files // 2, files - FILES_KEPT, 1)


def raise_file_limit() -> int:
    """Raise the limit on open files as far as allowed, and return it."""
    if sys.platform == "win32":
        return 8192
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError):  # macOS has a limit that it does not report
            log.debug("the limit on open files stays at %d", soft)
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


def bind(host: str, port: int) -> socket.socket:
    """Open a socket that listens at an address.

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
