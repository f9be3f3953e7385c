"""The due-soon heap: timers of the next minute in memory, all others in the store alone.

Nothing ticks: one alarm stands at the earliest instant in the heap, one where the next timer beyond it comes within
reach. So an idle engine sleeps, and virtual time jumps straight to what is due.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from statewright.clock import Clock, Timer, TimerQueue
from statewright.errors import Unavailable
from statewright.stores.protocol import ExecutionStore

logger = logging.getLogger(__name__)

REACH_MS: Final = 60_000
"""How far ahead timers are held in memory."""
MOST_AT_ONCE: Final = 50_000
"""How many timers one look into the store takes up."""
FOREVER_MS: Final = 1 << 62
RETRY_MS: Final = 500

Fire = Callable[[int, int], None]
"""`fire(execution, timer)`."""


class DueSoon:
    """The timers of one shard."""

    def __init__(self, store: ExecutionStore, clock: Clock, shard: int, fire: Fire) -> None:
        self._store = store
        self._clock = clock
        self._shard = shard
        self._fire = fire
        self._queue: TimerQueue[tuple[int, int]] = TimerQueue()
        self._entries: dict[tuple[int, int], int] = {}
        self._alarm: Timer | None = None
        self._alarm_ms = FOREVER_MS
        self._refill: Timer | None = None
        self._refill_ms = FOREVER_MS
        self._filling: asyncio.Task[None] | None = None
        self._stopped = False
        self.fired = 0
        self.late_ms_total = 0
        self.late_ms_most = 0

    def __len__(self) -> int:
        return len(self._entries)

    async def recover(self) -> None:
        """Take up what the store has."""
        await self._fill()

    def arm(self, execution: int, timer: int, due_ms: int) -> None:
        """A timer was committed."""
        if self._stopped:
            return
        if due_ms > self._clock.now_ms() + REACH_MS:
            self._look_again_at(due_ms - REACH_MS)
            return
        self._hold(execution, timer, due_ms)
        if due_ms < self._alarm_ms:
            self._set_alarm(due_ms)

    def disarm(self, execution: int, timer: int) -> None:
        """A timer is gone; harmless for one that is not in reach."""
        entry = self._entries.pop((execution, timer), None)
        if entry is not None:
            self._queue.cancel(entry)

    def stop(self) -> None:
        """Fire nothing more."""
        self._stopped = True
        for alarm in (self._alarm, self._refill):
            if alarm is not None:
                alarm.cancel()
        if self._filling is not None:
            self._filling.cancel()

    def _hold(self, execution: int, timer: int, due_ms: int) -> None:
        key = (execution, timer)
        if key not in self._entries:
            self._entries[key] = self._queue.push(due_ms, key)

    # ------------------------------------------------------------------ firing

    def _set_alarm(self, due_ms: int) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_ms = due_ms
        self._alarm = self._clock.call_at(due_ms, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._alarm_ms = FOREVER_MS
        now_ms = self._clock.now_ms()
        while (due_ms := self._queue.next_due_ms()) is not None:
            if due_ms > now_ms:
                self._set_alarm(due_ms)
                return
            _, (execution, timer) = self._queue.pop_next()
            del self._entries[execution, timer]
            late_ms = now_ms - due_ms
            self.fired += 1
            self.late_ms_total += late_ms
            self.late_ms_most = max(self.late_ms_most, late_ms)
            self._fire(execution, timer)

    # ------------------------------------------------------------------ refilling

    def _look_again_at(self, at_ms: int) -> None:
        if at_ms < self._refill_ms and not self._stopped:
            if self._refill is not None:
                self._refill.cancel()
            self._refill_ms = at_ms
            self._refill = self._clock.call_at(at_ms, self._start_filling)

    def _start_filling(self) -> None:
        self._refill = None
        self._refill_ms = FOREVER_MS
        if self._filling is not None and not self._filling.done():
            self._look_again_at(self._clock.now_ms() + 1)
            return
        self._filling = asyncio.create_task(self._fill_or_retry())

    async def _fill_or_retry(self) -> None:
        try:
            await self._fill()
        except Unavailable:
            logger.warning("the store did not answer when asked for due timers; asking again")
            self._look_again_at(self._clock.now_ms() + RETRY_MS)

    async def _fill(self) -> None:
        rows = await self._store.due(self._shard, FOREVER_MS, MOST_AT_ONCE)
        reach_ms = self._clock.now_ms() + REACH_MS
        for row in rows:
            if row.due_ms > reach_ms:
                # Rows come by due instant: this is the first that is out of reach.
                self._look_again_at(row.due_ms - REACH_MS)
                break
            self._hold(row.execution, row.timer, row.due_ms)
        else:
            if len(rows) == MOST_AT_ONCE:
                self._look_again_at(rows[-1].due_ms)
        due_ms = self._queue.next_due_ms()
        if due_ms is not None and due_ms < self._alarm_ms:
            self._set_alarm(due_ms)
