"""Proxies between a node and PostgreSQL, or the other nodes: they delay, hold back or break off what goes through.

Each is a process of its own (`python -m tests.storm.proxies`) that takes a word a line: see `_Relay.obey`. It listens
where PostgreSQL would in a folder (arguments: the folder, and that of PostgreSQL), or on a port (argument: that of the
node). What is held back goes on afterwards, as packets that are sent again do, also that of a node that has died
meanwhile.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from tests.crash.servers import ROOT
from tests.deadlines import end, started

SOCKET: Final = ".s.PGSQL.5432"
TO, FROM = "to", "from"
CHUNK_BYTES: Final = 65_536


class Proxy:
    """A proxy, which does what it is asked once the call returns."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "tests.storm.proxies", *arguments]
        self._process = started(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self._answer()

    def _say(self, words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n")
        self._process.stdin.flush()
        self._answer()

    def _answer(self) -> str:
        """Wait until the proxy has begun, or has obeyed; the line that says so."""
        assert self._process.stdout is not None
        found: str = self._process.stdout.readline()
        assert found, "the proxy has ended"
        return found.strip()

    def delay(self, seconds: float) -> None:
        """Let everything come later, both ways."""
        self._say(f"delay {seconds}")

    def hold(self, *directions: str) -> None:
        """Let nothing through to what is behind it (`TO`), or from there (`FROM`)."""
        for direction in directions:
            self._say(f"hold {direction}")

    def reset(self) -> None:
        """Break all connections off."""
        self._say("reset")

    def heal(self) -> None:
        """Let everything through at once, and what was held back."""
        self._say("heal")

    def close(self) -> None:
        end(self._process)


class DatabaseProxy(Proxy):
    """A proxy between one node and PostgreSQL; `address` is that of the database through it."""

    def __init__(self, address: str) -> None:
        """`address` names the folder of PostgreSQL's socket, as `host`."""
        found = re.search(r"host=([^&,]+)", address)
        assert found is not None, address
        # A short path: that of a socket may have about a hundred characters.
        self._folder = Path(tempfile.mkdtemp(prefix="statewright-proxy-", dir="/tmp"))
        self.address = address.replace(found[0], f"host={self._folder}")
        super().__init__(str(self._folder), found[1])

    def close(self) -> None:
        super().close()
        shutil.rmtree(self._folder, ignore_errors=True)


class NodeProxy(Proxy):
    """A proxy between one node and the others; `address` is that of the node for these."""

    def __init__(self, port: int) -> None:
        """`port` is the node's."""
        super().__init__(str(port))
        self.address = f"http://127.0.0.1:{self.ready}"


class _Relay:
    """The connections of a proxy, in its own process."""

    def __init__(self, connect: Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]) -> None:
        """`connect` makes a connection with what is behind the proxy."""
        self._connect = connect
        self._delay_seconds = 0.0
        self._open = {direction: asyncio.Event() for direction in (TO, FROM)}
        self._writers: set[asyncio.StreamWriter] = set()
        self.obey("heal")

    def obey(self, line: str) -> None:
        """Do what a line says: `delay SECONDS`, `hold to`, `hold from`, `reset` or `heal`."""
        word, _, rest = line.strip().partition(" ")
        if word == "delay":
            self._delay_seconds = float(rest)
        elif word == "hold":
            self._open[rest].clear()
        elif word == "reset":
            for writer in self._writers:
                writer.transport.abort()
        elif word == "heal":
            self._delay_seconds = 0.0
            for one in self._open.values():
                one.set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay a connection of the node until one side ends it."""
        try:
            there, back = await self._connect()
        except OSError:
            writer.close()
            return
        self._writers |= {writer, back}
        pumps = [asyncio.create_task(one) for one in (self._pump(TO, reader, back), self._pump(FROM, there, writer))]
        await asyncio.gather(*pumps, return_exceptions=True)
        self._writers -= {writer, back}

    async def _pump(self, direction: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(CHUNK_BYTES):
                await self._pass(direction)
                writer.write(data)
                await writer.drain()
            await self._pass(direction)
        finally:
            writer.close()

    async def _pass(self, direction: str) -> None:
        if self._delay_seconds:
            await asyncio.sleep(self._delay_seconds)
        await self._open[direction].wait()


async def _serve(place: str, target: str = "") -> None:
    loop = asyncio.get_running_loop()
    if target:
        relay = _Relay(lambda: asyncio.open_unix_connection(f"{target}/{SOCKET}"))
        server = await asyncio.start_unix_server(relay.connected, f"{place}/{SOCKET}")
        ready = "ready"
    else:
        relay = _Relay(lambda: asyncio.open_connection("127.0.0.1", int(place)))
        server = await asyncio.start_server(relay.connected, "127.0.0.1", 0)
        ready = str(server.sockets[0].getsockname()[1])
    async with server:
        print(ready, flush=True)
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            relay.obey(line)
            print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:]))
