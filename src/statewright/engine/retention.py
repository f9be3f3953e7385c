"""Retention: closed executions and Map Runs go after a while, some hundred at a time, and then what only they needed.

It has no timer of its own: it sweeps when the engine starts, and when commits happen and the last sweep was long ago.
An idle engine has nothing to gain from deleting, and in virtual time a timer would make the clock jump.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.work import Batch
from statewright.engine.shard import Shard
from statewright.errors import StoreError

logger = logging.getLogger(__name__)

STEP: Final = 500
EVERY_MS: Final = 3_600_000

Forget = Callable[[int, int], Awaitable[int]]


class Retention:
    """Deletes what closed longer ago than `kept_ms`; `None` keeps everything.

    `then` are asked, with the instant and how many entries they may take at most, once the executions have gone; each
    answers how many went.
    """

    def __init__(self, shard: Shard, kept_ms: int | None, then: Sequence[Forget]) -> None:
        self._shard = shard
        self._then = then
        self._kept_ms = kept_ms
        self._swept_ms = 0
        self._task: asyncio.Task[None] | None = None
        self.forgotten = 0

    def after_commit(self, _live: LiveExecution, _batch: Batch) -> None:
        """See `CommitListener`."""
        self.sweep()

    def sweep(self) -> None:
        """Delete what has expired, unless the last sweep is recent or one is under way."""
        now_ms = self._shard.clock.now_ms()
        if self._kept_ms is None or now_ms - self._swept_ms < EVERY_MS:
            return
        if self._task is None or self._task.done():
            self._swept_ms = now_ms
            self._task = self._shard.spawn(self._forget(now_ms - self._kept_ms))

    async def _forget(self, before_ms: int) -> None:
        try:
            while True:
                gone = await self._shard.store.executions.forget(before_ms, STEP)
                self.forgotten += gone
                if gone < STEP:
                    break
                await asyncio.sleep(0)
            for forget in self._then:
                while await forget(before_ms, STEP) == STEP:
                    await asyncio.sleep(0)
        except StoreError as problem:
            logger.warning("expired executions could not be deleted: %s", problem)

    def stop(self) -> None:
        """Delete no more."""
        if self._task is not None:
            self._task.cancel()
