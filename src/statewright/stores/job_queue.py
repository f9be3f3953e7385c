"""Carries jobs from the event loop to a writer thread, and answers back. Serves every SQL store."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final, Generic, TypeVar, TypeVarTuple

JobT = TypeVar("JobT")
Ts = TypeVarTuple("Ts")

MOST_JOBS: Final = 512
"""Jobs in one group: more gain nothing and make the first one wait."""


PATIENCE_SECONDS: Final = 0.001
"""The time that a group's statements take when nothing delays them, with a margin."""
ASIDE_SECONDS: Final = 0.002


@dataclass(slots=True)
class GroupFigures:
    """Counts of written groups. Concurrent threads may lose a count, which does no harm."""

    groups: int = 0
    jobs: int = 0
    seconds_total: float = 0.0
    seconds_most: float = 0.0

    def note(self, jobs: int, seconds: float) -> None:
        """Count a group."""
        self.groups += 1
        self.jobs += jobs
        self.seconds_total += seconds
        self.seconds_most = max(self.seconds_most, seconds)


class JobQueue(Generic[JobT]):
    """The jobs of one thread.

    Jobs of one turn of the event loop are passed on together: the first job alone would wake the thread, which would
    then write a group of one while the others are still being made.
    """

    __slots__ = ("_left", "_loop", "_pending", "_queue")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: SimpleQueue[list[JobT] | None] = SimpleQueue()
        self._pending: list[JobT] = []
        self._left: list[JobT] | None = None
        """Taken, but too many for one group; the thread's own."""

    def put(self, job: JobT) -> None:
        """Queue a job; from the loop's thread."""
        if not self._pending:
            self._loop.call_soon(self._flush)
        self._pending.append(job)

    def end(self) -> None:
        """Nothing follows what was put; from the loop's thread."""
        self._flush()
        self._queue.put(None)

    def _flush(self) -> None:
        if self._pending:
            pending, self._pending = self._pending, []
            self._queue.put(pending)

    def take(self) -> tuple[list[JobT], bool]:
        """Wait for jobs, then take what else is queued, up to `MOST_JOBS`; also whether the end was met."""
        jobs, self._left = self._left or self._queue.get(), None
        if jobs is None:
            return [], True
        while len(jobs) < MOST_JOBS:
            try:
                part = self._queue.get_nowait()
            except Empty:
                break
            if part is None:
                return jobs, True
            jobs += part
        if len(jobs) > MOST_JOBS:
            self._left = jobs[MOST_JOBS:]
            del jobs[MOST_JOBS:]
        return jobs, False


class RightOfWay:
    """Lets a thread finish a group that the event loop's own work delays.

    Every call into a database hands the interpreter's lock to a busy loop, and gets it back only when the loop is made
    to give it up: some thirty times a group, each as long as a neighbour on the machine makes it. So code that is about
    to keep the loop busy calls `make_way` first.
    """

    __slots__ = ("_began", "_idle")

    def __init__(self) -> None:
        self._idle = threading.Event()
        self._idle.set()
        self._began = 0.0

    def enter(self) -> None:
        """The thread begins with the statements of a group."""
        self._began = time.perf_counter()
        self._idle.clear()

    def leave(self) -> None:
        """The rest of the group does not need the interpreter lock."""
        self._idle.set()

    def make_way(self) -> None:
        """Wait for a moment if a group has been under way for long; from the loop's thread."""
        if not self._idle.is_set() and time.perf_counter() - self._began > PATIENCE_SECONDS:
            self._idle.wait(ASIDE_SECONDS)


def call_loop(loop: asyncio.AbstractEventLoop, function: Callable[[*Ts], object], *arguments: *Ts) -> None:
    """Call a function on the loop's thread, if the loop still runs."""
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        # The loop is closed: no caller waits any more, and what was written stays written.
        return
