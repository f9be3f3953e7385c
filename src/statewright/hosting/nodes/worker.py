"""The worker of a node: an engine with the cells of this node, and the functions that its tasks call."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from statewright.assembly import System
from statewright.background import Background
from statewright.clock import Clock
from statewright.engine.dispatch import ScheduledCall
from statewright.engine.effects import calls_of
from statewright.engine.executions.views import StatusChange
from statewright.errors import StoreError, Unavailable
from statewright.hosting.status_log import log_status

KNOWN_FOR_MS: Final = 1_000
"""How long this worker goes on with a function as it was before the home changed it."""
LOOK_MS: Final = 1_000
"""Between two looks for machines that are being deleted."""

log = logging.getLogger("statewright.server")

OnChange = Callable[[StatusChange], None]


class FollowedTasks(Protocol):
    """The tasks of a worker that the home makes."""

    async def follow_again(self, calls: Iterable[ScheduledCall]) -> None:
        """Have the home follow the jobs that calls have begun. Raises: Unavailable."""


class Worker:
    """The system of a worker, from its start to its end. `on_change` gets every change of an execution's status;
    `tasks` are those that the home makes.
    """

    def __init__(self, system: System, clock: Clock, on_change: OnChange, tasks: FollowedTasks) -> None:
        self.system: Final = system
        self._tasks = tasks
        self._following: asyncio.Task[None] | None = None
        self._clock = clock
        self._on_change = on_change
        self._background = Background("the worker of this node")

    async def start(self) -> None:
        """Start what tasks need. The home is there: it has made what every process reads. Raises: StoreError."""
        app, engine = self.system.app, self.system.engine
        await app.services.sessions.start()
        functions = app.services.functions
        functions.invoker.known_for_ms = KNOWN_FOR_MS
        await functions.definitions.start_packages()
        if functions.invoker.ray is not None:
            functions.invoker.ray.start()
        engine.subscribe(log_status)
        engine.subscribe(self._on_change)
        await engine.start()
        engine.watch_inbox()
        self._background.spawn(self._look_for_deletions())

    async def stop(self) -> None:
        """End the worker, once its cells have been handed over."""
        await self._background.stop()
        await self.system.engine.stop()
        await self.system.app.services.functions.stop()
        await self.system.integrations.close()

    def home_changed(self) -> None:
        """Have the new home follow the jobs that tasks of these cells wait for."""
        if self._following is not None:
            self._following.cancel()
        self._following = self._background.spawn(self._follow_again())

    async def _follow_again(self) -> None:
        engine = self.system.engine
        for shard in engine.cells.shards():
            while engine.cells.of_shard(shard) is not None:
                try:
                    outbox, _ = await engine.store.executions.pending(shard)
                    await self._tasks.follow_again(calls_of(outbox).values())
                    break
                except Unavailable as problem:
                    log.debug("jobs are not followed yet: %s", problem)
                    await self._clock.sleep_until(self._clock.now_ms() + LOOK_MS)

    async def _look_for_deletions(self) -> None:
        while True:
            await self._clock.sleep_until(self._clock.now_ms() + LOOK_MS)
            with contextlib.suppress(StoreError):
                await self.system.engine.catalogue.look_for_deletions()
