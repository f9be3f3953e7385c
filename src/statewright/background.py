"""Tasks that run beside their caller: held until they end, logged when they fail, cancelled when their owner stops.

Also work that begins on the event loop and leaves it for a thread when it proves long.

Owns the set that keeps such a task from being collected, and the log line of one that fails. Callers decide what may be
lost: work that must not be is a row of the store before it is spawned.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TypeVar

from statewright.clock import Clock
from statewright.errors import ApiError, StoreError

T = TypeVar("T")
Spawn = Callable[[Coroutine[object, None, object]], object]
"""`Background.spawn`, for callers that need nothing else."""

log = logging.getLogger("statewright.background")


class Background:
    """The background tasks of one owner, on one event loop. `what` names the work in log lines: "work on queues".

    A task that ends in an `ApiError` or `StoreError` gave up: a warning. Anything else is a bug: an error with its
    traceback. `on_problem` sees the exception first, and returns True if it has handled it.
    """

    def __init__(self, what: str, on_problem: Callable[[BaseException], bool] | None = None) -> None:
        self._what = what
        self._on_problem = on_problem
        self._tasks: set[asyncio.Task[object]] = set()
        self._stopped = False

    def __len__(self) -> int:
        """How many tasks are under way."""
        return len(self._tasks)

    def spawn(self, work: Coroutine[object, None, T]) -> asyncio.Task[T]:
        """Run a coroutine as a task of its own. After `stop` the task is cancelled before its first step."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        if self._stopped:
            task.cancel()
        return task

    def cancel(self) -> None:
        """Cancel what is under way, without waiting for its end."""
        for task in self._tasks:
            task.cancel()

    def end(self) -> None:
        """Cancel what is under way, without waiting for its end, and run nothing more."""
        self._stopped = True
        self.cancel()

    async def stop(self) -> None:
        """Cancel what is under way, wait for its end, and run nothing more."""
        self.end()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def at_rest(self) -> None:
        """Return once nothing is under way: what it spawns in turn has ended, too."""
        while self._tasks:
            # Unlike `gather`, this lets the loop turn, and `_ended` run, where all tasks have ended (Python 3.12).
            await asyncio.wait(self._tasks)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        problem = None if task.cancelled() else task.exception()
        if problem is None or (self._on_problem is not None and self._on_problem(problem)):
            return
        if isinstance(problem, ApiError | StoreError):
            log.warning("%s in the background was given up: %s", self._what, problem)
        else:
            log.error("%s in the background failed", self._what, exc_info=problem)


async def beyond_in_thread(clock: Clock, problem: type[Exception], brief: Callable[[], T], long: Callable[[], T]) -> T:
    """The result of `brief`, or, if its bound on work ends it with `problem`, that of `long`, which runs in a thread.

    Raises: what `long` raises.
    """
    try:
        return brief()
    except problem:
        return await in_thread(clock, long)


async def in_thread(clock: Clock, work: Callable[[], T]) -> T:
    """The result of some work in a thread. Virtual time stands still meanwhile, as it does for work on the loop."""
    with clock.busy():
        return await asyncio.to_thread(work)
