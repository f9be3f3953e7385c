"""Jobs on their way from the event loop to a writer thread, and answers on their way back. Serves every SQL store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

JobT = TypeVar("JobT")

MOST_JOBS: Final = 512
"""Jobs in one group: more gain nothing and make the first one wait."""


@dataclass(slots=True)
class GroupFigures:
    """How groups of jobs were written. Of several threads that count, one may lose a count; nothing hangs on it."""

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


def take_group(queue: SimpleQueue[JobT | None]) -> tuple[list[JobT], bool]:
    """Wait for a job, then take whatever else is queued, up to `MOST_JOBS`; also whether the queue's end was met."""
    job = queue.get()
    jobs: list[JobT] = []
    while job is not None:
        jobs.append(job)
        if len(jobs) == MOST_JOBS:
            break
        try:
            job = queue.get_nowait()
        except Empty:
            break
    return jobs, job is None


def call_loop(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *arguments: Any) -> None:
    """Call a function on the loop's thread, if the loop still runs."""
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        # The loop is closed: nobody waits any more, and what was written stays written.
        return
