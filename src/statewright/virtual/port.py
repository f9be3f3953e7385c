"""The port at which workers reach a virtual system: handlers call its services by HTTP, as they would in the cloud.

Bound at the first worker's start; a system without handlers has none. A worker that has called is not busy until it
is answered: what it asked for may take virtual time (a long poll, a function that sleeps). Calls of one instant are
taken in the order of the invocations that made them, once every worker is at rest.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Final

import uvicorn

from statewright.api.app import GATHER, Api
from statewright.api.http.connections import Connections, ConnectionTimeouts, GuardedProtocol
from statewright.api.http.listening import bind
from statewright.api.protocols.wire import Message, Receive
from statewright.functions.workers.pools import Pools
from statewright.virtual_clock import VirtualClock

WORKER_HEADER: Final = b"x-statewright-worker"
NOW_HEADER: Final = b"x-statewright-now"
MOST_CONNECTIONS: Final = 60_000


class WorkerPort:
    """A socket on loopback, served by the system's own loop."""

    def __init__(self, clock: VirtualClock, api: Api, pools: Pools) -> None:
        self._clock = clock
        self._api = api
        self._pools = pools
        self._socket: socket.socket | None = None
        self._opening: asyncio.Task[None] | None = None
        self._server: asyncio.Server | None = None
        self._connections = Connections(ConnectionTimeouts(), MOST_CONNECTIONS)

    def address(self) -> str:
        """The address at which workers reach the system; the port is opened at the first request."""
        if self._socket is None:
            self._socket = bind("127.0.0.1", 0)
            self._opening = asyncio.get_running_loop().create_task(self._open(self._socket))
        host, port = self._socket.getsockname()[:2]
        return f"http://{host}:{port}"

    async def _open(self, listening: socket.socket) -> None:
        config = uvicorn.Config(
            self._answer, interface="asgi3", ws="none", lifespan="off", access_log=False, log_config=None,
            log_level="error", server_header=False, proxy_headers=False, backlog=2048,
        )  # fmt: skip
        config.load()

        def made() -> asyncio.Protocol:
            return _Connection(config, self._connections, {})

        self._server = await asyncio.get_running_loop().create_server(made, sock=listening)

    async def close(self) -> None:
        """Take no more calls."""
        if self._opening is not None:
            await asyncio.gather(self._opening, return_exceptions=True)
        server, self._server = self._server, None
        if server is not None:
            server.close()
            for connection in list(self._connections.connections):
                if isinstance(connection, GuardedProtocol):
                    connection.transport.abort()
            await server.wait_closed()
        if self._socket is not None:
            self._socket.close()

    async def _answer(self, scope: Message, receive: Receive, send: Any) -> None:
        """Have a call answered, for a worker that rests meanwhile."""
        number = next((value for name, value in scope["headers"] if name == WORKER_HEADER), b"")
        worker = self._pools.worker(int(number)) if number.isdigit() else None
        if worker is None:
            await self._api(scope, receive, send)
            return
        scope.pop(GATHER, None)
        taken: list[Message] = [await receive()]
        while taken[-1].get("more_body"):
            taken.append(await receive())
        resting: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def rested() -> None:
            if not resting.done():
                resting.set_result(None)

        self._clock.at_rest(worker.turn, rested)
        worker.begin_call()
        try:
            await resting

            async def replay() -> Message:
                return taken.pop(0) if taken else await receive()

            async def tell(message: Message) -> None:
                worker.end_call()
                if message["type"] == "http.response.start":
                    now = str(self._clock.now_ms()).encode()
                    message = {**message, "headers": [*message["headers"], (NOW_HEADER, now)]}
                await send(message)

            await self._api(scope, replay, tell)
        finally:
            worker.end_call()


class _Connection(GuardedProtocol):
    """A worker's connection. It is kept for as long as the worker likes: idle times are virtual here."""

    def on_response_complete(self) -> None:
        """An answer has been given."""
        super().on_response_complete()
        self._unset_keepalive_if_required()
