"""The due-soon heap: timers of the next minute in memory, at most 50,000 of them; all others in the store alone.

Nothing ticks: one alarm stands at the earliest instant in the heap, one where timers beyond it come within reach. So
an idle engine sleeps, and virtual time jumps straight to what is due.

The store is read in order, from where the last reading ended. What it has up to there is in the heap, on its way or
done; a timer that is armed behind that place is left to a later reading when the heap is full. When very many are due
at once they are fired a few at a time, as fast as executions take them, because each one on its way holds its execution
in memory.

What is stored are instants in epoch milliseconds, whether a wait was given as a length or as an instant. A timer of at
most a minute that was armed in this process keeps its length if the wall is set back meanwhile (`clock`). One that is
read from the store, because it is longer or was set before a restart, keeps its instant: it is late by as much as the
wall was wrong when it was set.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from statewright.clock import Clock, Timer, TimerQueue
from statewright.errors import Unavailable
from statewright.stores.protocol import TimerRow

logger = logging.getLogger(__name__)

REACH_MS: Final = 60_000
"""How far ahead timers are held in memory."""
MOST_HELD: Final = 50_000
"""How many timers are held in memory."""
MOST_ON_THEIR_WAY: Final = 512
"""How many fired timers may wait for their executions at once: a full group of the store's writer."""
IN_ONE_GO: Final = 32
"""How many are fired before others have the loop again: a few milliseconds of work."""
FOREVER_MS: Final = 1 << 62
RETRY_MS: Final = 500

Fire = Callable[[int, int, Callable[[], None]], None]
"""`fire(execution, timer, settled)`; `settled` is called once the execution has taken the timer, or never will."""


class TimerStore(Protocol):
    """The stored timers: those of executions, or entries of the catalogue."""

    async def due(self, shard: int, until_ms: int, limit: int, after: TimerRow | None = None, /) -> list[TimerRow]:
        """Timers due up to an instant, by (due, execution, timer), from behind the place of `after` on."""


_Place = tuple[int, int, int]
"""(due, execution, timer): the order of timers in the store."""
_START: Final[_Place] = (-1, 0, 0)
_LAST_ID: Final = (1 << 63) - 1


@dataclass(slots=True)
class TimerFigures:
    """How many timers have fired, and how late, in milliseconds."""

    fired: int = 0
    late_ms_total: int = 0
    late_ms_most: int = 0

    def add(self, other: TimerFigures) -> None:
        """Count those of others, too."""
        self.fired += other.fired
        self.late_ms_total += other.late_ms_total
        self.late_ms_most = max(self.late_ms_most, other.late_ms_most)


class DueSoon:
    """The timers of one shard."""

    def __init__(
        self,
        store: TimerStore,
        clock: Clock,
        shard: int,
        fire: Fire,
        most: int = MOST_HELD,
        *,
        has_lengths: bool = True,
    ) -> None:
        """`has_lengths`: timers are armed for a length of time, rather than for an instant of the wall."""
        self._store = store
        self._clock = clock
        self._shard = shard
        self._fire = fire
        self._most = most
        self._queue: TimerQueue[tuple[_Place, bool]] = TimerQueue()
        """By instants on the timeline that keeps its pace; whether a timer keeps its length, or else its instant."""
        self._entries: dict[tuple[int, int], tuple[_Place, int]] = {}
        """(execution, timer) to its place and its id in the queue."""
        self._alarm: Timer | None = None
        self._alarm_ms = FOREVER_MS
        self._next_fill: Timer | None = None
        self._next_fill_ms = FOREVER_MS
        self._filling: asyncio.Task[None] | None = None
        self._seen = _START
        self._more = False
        """True if the store has more behind `_seen` that is within reach."""
        self._on_their_way = 0
        self._continues = False
        """True if another call of `_fire_due` is scheduled."""
        self._has_lengths = has_lengths
        self._stopped = False
        self.figures = TimerFigures()

    def __len__(self) -> int:
        return len(self._entries)

    async def recover(self) -> None:
        """Read what the store has."""
        await self._fill()

    def arm(self, execution: int, timer: int, due_ms: int) -> None:
        """A timer was committed."""
        if self._stopped:
            return
        place = (due_ms, execution, timer)
        if due_ms > self._clock.now_ms() + REACH_MS and place > self._seen:
            self._fill_at(due_ms - REACH_MS)
            return
        if len(self._entries) >= self._most:
            self._let_half_go()
        # While the store is read, it is unknown whether the answer will have this timer.
        if place > self._seen and self._more and not self._is_filling:
            self._fill_at(due_ms)
            return
        self._hold(place, is_length=self._has_lengths)
        steady_due_ms = due_ms + self._clock.held_back_ms()
        if steady_due_ms < self._alarm_ms:
            self._set_alarm(steady_due_ms)

    def disarm(self, execution: int, timer: int) -> None:
        """A timer is gone; harmless for one that is not held."""
        held = self._entries.pop((execution, timer), None)
        if held is not None:
            self._queue.cancel(held[1])

    def stop(self) -> None:
        """Fire nothing more."""
        self._stopped = True
        for alarm in (self._alarm, self._next_fill):
            if alarm is not None:
                alarm.cancel()
        if self._filling is not None:
            self._filling.cancel()

    def _hold(self, place: _Place, *, is_length: bool = False) -> None:
        key = place[1:]
        if key not in self._entries:
            due_ms = place[0] + self._clock.held_back_ms()
            self._entries[key] = (place, self._queue.push(due_ms, (place, is_length)))

    def _let_half_go(self) -> None:
        """Leave the later half of what is held to the store."""
        places = sorted(place for place, _ in self._entries.values())
        kept = places[: len(places) // 2]
        for _, execution, timer in places[len(kept) :]:
            self.disarm(execution, timer)
        self._seen = min(self._seen, kept[-1])
        self._more = True
        self._fill_at(self._seen[0])

    # ------------------------------------------------------------------ firing

    def _set_alarm(self, steady_due_ms: int) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_ms = steady_due_ms
        self._alarm = self._clock.call_at(steady_due_ms - self._clock.held_back_ms(), self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._alarm_ms = FOREVER_MS
        self._fire_due()

    def _fire_due(self) -> None:
        """Fire what is due, as long as executions take it."""
        self._continues = False
        now_ms = self._clock.now_ms()
        held_back_ms = self._clock.held_back_ms()
        fired = 0
        while (due_ms := self._queue.next_due_ms()) is not None:
            if due_ms > now_ms + held_back_ms:
                if due_ms < self._alarm_ms:
                    self._set_alarm(due_ms)
                break
            if self._on_their_way >= MOST_ON_THEIR_WAY or self._stopped:
                return
            if fired == IN_ONE_GO:
                self._go_on()
                return
            _, (place, is_length) = self._queue.pop_next()
            _, execution, timer = place
            del self._entries[execution, timer]
            if place[0] > now_ms and not is_length:
                # Time has been held back since it was put there.
                self._hold(place)
                continue
            fired += 1
            late_ms = now_ms + held_back_ms - due_ms
            figures = self.figures
            figures.fired += 1
            figures.late_ms_total += late_ms
            figures.late_ms_most = max(figures.late_ms_most, late_ms)
            self._on_their_way += 1
            self._fire(execution, timer, self._settled)
        if self._more and len(self._entries) < self._most // 2:
            self._fill_at(now_ms)

    def _settled(self) -> None:
        self._on_their_way -= 1
        # Not at every one of them: whole groups of the store's writer are cheaper than many small ones.
        if self._on_their_way == MOST_ON_THEIR_WAY // 2:
            self._go_on()

    def _go_on(self) -> None:
        if not self._continues and not self._stopped:
            self._continues = True
            asyncio.get_running_loop().call_soon(self._fire_due)

    # ------------------------------------------------------------------ looking into the store

    @property
    def _is_filling(self) -> bool:
        return self._filling is not None and not self._filling.done()

    def _fill_at(self, at_ms: int) -> None:
        if at_ms < self._next_fill_ms and not self._stopped:
            if self._next_fill is not None:
                self._next_fill.cancel()
            self._next_fill_ms = at_ms
            self._next_fill = self._clock.call_at(at_ms, self._start_filling)

    def _start_filling(self) -> None:
        self._next_fill = None
        self._next_fill_ms = FOREVER_MS
        if self._is_filling:
            self._fill_at(self._clock.now_ms() + 1)
            return
        if len(self._entries) > self._most // 2:
            due_ms = self._queue.next_due_ms()
            if due_ms is not None and due_ms <= self._clock.now_ms() + self._clock.held_back_ms():
                # What is held comes first; once little of it is left, this is called again.
                self._more = True
                return
            self._let_half_go()
        self._filling = asyncio.create_task(self._fill_or_retry())

    async def _fill_or_retry(self) -> None:
        try:
            await self._fill()
        except Unavailable:
            logger.warning("the store did not answer when asked for due timers; asking again")
            self._fill_at(self._clock.now_ms() + RETRY_MS)

    async def _fill(self) -> None:
        limit = max(self._most - len(self._entries), 1)
        due_ms, execution, timer = self._seen
        after = TimerRow(execution, timer, due_ms)
        reach_ms = self._clock.now_ms() + REACH_MS
        rows = await self._store.due(self._shard, reach_ms, limit, after)
        for row in rows:
            self._hold((row.due_ms, row.execution, row.timer))
        self._more = len(rows) == limit
        if self._more:
            last = rows[-1]
            self._seen = (last.due_ms, last.execution, last.timer)
            self._fill_at(last.due_ms)
        else:
            self._seen = (reach_ms, _LAST_ID, _LAST_ID)
            for row in await self._store.due(self._shard, FOREVER_MS, 1, TimerRow(_LAST_ID, _LAST_ID, reach_ms)):
                self._fill_at(row.due_ms - REACH_MS)
        first_ms = self._queue.next_due_ms()
        if first_ms is not None and first_ms < self._alarm_ms:
            self._set_alarm(first_ms)
