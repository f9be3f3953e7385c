"""Reads of log groups at the home: before one is answered, all workers send what they have logged until then.

Workers send log events a moment after they were written (`api.nodes.logs`), which filters and exports may wait for.
A caller who has seen the end of an execution, and reads its log then, finds its events, as on one server.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

from statewright.api.nodes.apps import Apps
from statewright.api.nodes.peers import time_limit
from statewright.api.nodes.workers.asking import ASK_SECONDS, AllNodes
from statewright.api.operations import App, Around, Call, Run
from statewright.clock import Clock
from statewright.log_export.exporting import LogExport
from statewright.payload import Json

SEND_LOGS: Final = "/_statewright/node/send-logs"
"""Asks a node to send the home what its worker has logged until now."""
_READS: Final = frozenset(
    {"DeleteLogGroup", "DescribeLogGroups", "DescribeLogStreams", "FilterLogEvents", "GetLogEvents"}
)
"""A group that is deleted is deleted with these events."""

Send = Callable[[], Awaitable[None]]


async def send_logs(app: App, export: LogExport) -> None:
    """Send the home what a worker, whose application is given, has logged until now."""
    app.services.functions.logs.flush()
    await app.engine.history_log.logs.written()
    await export.flush()


class CurrentLogs:
    """An `Around` of the home, around another one. `send` sends the logs of the worker of its own process."""

    is_free = False

    def __init__(self, inner: Around, apps: Apps, nodes: AllNodes, send: Send, clock: Clock) -> None:
        self._inner = inner
        self._apps = apps
        self._nodes = nodes
        self._send = send
        self._clock = clock

    async def __call__(self, call: Call, request: Json, run: Run, /) -> Json:
        """Answer a call. Raises: ApiError, StoreError."""
        if call.service == "logs" and call.operation in _READS:
            await asyncio.gather(self._send_own(), self._nodes.ask(SEND_LOGS))
            if self._apps.home is not None:
                await self._apps.home.engine.history_log.logs.written()
        return await self._inner(call, request, run)

    async def _send_own(self) -> None:
        with contextlib.suppress(TimeoutError), time_limit(self._clock, round(ASK_SECONDS * 1000)):
            await self._send()
