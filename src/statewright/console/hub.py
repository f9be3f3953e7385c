"""What happens to executions while pages watch: notes of the engine's commits, and the wake-up of watchers.

Owns when the engine is listened to. The hub follows the engine's history with the first watcher of a run, and its
changes of status with the first watcher of the list, and leaves both with the last one: without watchers a commit costs
nothing. A note is a number in a dict; data are read from the store by those who were woken, after the commit.

1. A note is made after the commit is durable, so that a read after a note finds what was noted.
2. A watcher registers first and reads then: what is committed between the two is noted, and read again.
3. However many commits there are, watchers wake up at most once in `PAUSE_MS`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from statewright.clock import Timer
from statewright.engine.engine import Engine
from statewright.engine.executions.views import Head, StatusChange
from statewright.interpreter.history import HistoryEvent
from statewright.payload import JsonObject

PAUSE_MS: Final = 100
"""Between two deltas of a run."""
LIST_PAUSE_MS: Final = 500
"""Between two batches of changes of a list. Batches of all watchers are at the same instants."""
MOST_CHANGES: Final = 100
"""A watcher that has missed more changes of status reads its list again: that costs less than so many rows."""


@dataclass(slots=True)
class RunWatch:
    """A watcher of one execution. `last_event` is the last one that was noted; 0 while there was none."""

    arn: str
    wake: asyncio.Event
    last_event: int = 0


@dataclass(slots=True)
class ListWatch:
    """A watcher of changes of status. `seen` is the number of those that it has taken."""

    wake: asyncio.Event
    seen: int


@dataclass(slots=True)
class Batch:
    """Changes between two numbers. `arns` is None if there were too many; `rows` has what the first watcher has read of
    them, for all.
    """

    first: int
    last: int
    arns: list[str] | None
    rows: list[JsonObject] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class Hub:
    """Notes what pages watch in one region."""

    engine: Engine
    changes: int = 0
    """Changes of status since the server started, as far as they were listened to."""
    _runs: dict[str, list[RunWatch]] = field(default_factory=dict)
    _lists: list[ListWatch] = field(default_factory=list)
    _changed: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_CHANGES))
    _batch: Batch | None = None
    _tick: int = 0
    _leave_history: Callable[[], None] | None = None
    _leave_changes: list[Callable[[], None]] = field(default_factory=list)
    _stirred: dict[asyncio.Event, None] = field(default_factory=dict)
    _timer: Timer | None = None
    _rested_ms: int = 0
    """When the next wake-up may be."""

    @property
    def is_listening(self) -> bool:
        """True while the engine tells the hub anything."""
        return self._leave_history is not None or bool(self._leave_changes)

    # ------------------------------------------------------------------ watchers

    def watch_run(self, arn: str, wake: asyncio.Event) -> RunWatch:
        """Have `wake` set after commits of an execution, until `leave`."""
        watch = RunWatch(arn, wake)
        self._runs.setdefault(arn, []).append(watch)
        if self._leave_history is None:
            self._leave_history = self.engine.history_log.follow(self._note)
        return watch

    def watch_list(self, wake: asyncio.Event) -> ListWatch:
        """Have `wake` set after changes of any execution's status, until `leave`."""
        watch = ListWatch(wake, self.changes)
        self._lists.append(watch)
        if not self._leave_changes:
            self._leave_changes = [
                self.engine.subscribe(self._status_changed),
                self.engine.subscribe_express(self._ended),
            ]  # fmt: skip
        return watch

    def taken(self, watch: ListWatch) -> Batch:
        """The executions that have changed since the last call, each once. Watchers that come at the same time get the
        same batch.
        """
        tick = self.engine.clock.now_ms() // LIST_PAUSE_MS
        if self._batch is None or self._tick != tick or self._batch.first != watch.seen:
            missed = self.changes - watch.seen
            arns = None
            if missed <= min(MOST_CHANGES, len(self._changed)):
                arns = list(dict.fromkeys(islice(reversed(self._changed), missed)))
            self._tick, self._batch = tick, Batch(watch.seen, self.changes, arns)
        watch.seen = self._batch.last
        return self._batch

    def leave(self, watch: RunWatch | ListWatch) -> None:
        """Take a watcher out; the last one of its kind ends the notes."""
        if isinstance(watch, ListWatch):
            self._lists = [one for one in self._lists if one is not watch]
        else:
            left = [one for one in self._runs[watch.arn] if one is not watch]
            if left:
                self._runs[watch.arn] = left
            else:
                del self._runs[watch.arn]
        if not self._runs and self._leave_history is not None:
            self._leave_history()
            self._leave_history = None
        if not self._lists and self._leave_changes:
            for leave in self._leave_changes:
                leave()
            self._leave_changes = []
            self._changed.clear()
            self._batch = None
        if not self.is_listening and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._stirred.clear()

    # ------------------------------------------------------------------ notes

    def _note(self, head: Head, history: list[HistoryEvent]) -> None:
        watches = self._runs.get(head.execution_arn)
        if watches is None:
            return
        for watch in watches:
            watch.last_event = history[-1].id
            self._stirred[watch.wake] = None
        self._set_timer()

    def _status_changed(self, change: StatusChange) -> None:
        self._ended(change.execution_arn)

    def _ended(self, execution_arn: str) -> None:
        self.changes += 1
        self._changed.append(execution_arn)
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is None:
            clock = self.engine.clock
            self._timer = clock.call_at(max(clock.now_ms(), self._rested_ms), self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._rested_ms = self.engine.clock.now_ms() + PAUSE_MS
        stirred, self._stirred = self._stirred, {}
        for wake in stirred:
            wake.set()
        for watch in self._lists:
            if watch.seen != self.changes:
                watch.wake.set()
