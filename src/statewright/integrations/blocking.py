"""Calls that block, on a bounded number of threads beside the event loop.

The threads are daemons: a server that stops must not wait a quarter of an hour for a function's answer. The result of
a call whose caller was cancelled is dropped.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Final, Generic, TypeVar, TypeVarTuple

from statewright.clock import Clock
from statewright.virtual_clock import VirtualLoop

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

THREADS: Final = 32
"""Concurrent calls; further ones queue."""


class BlockingCalls:
    """Threads that are started when there is work for them, and kept."""

    def __init__(self, clock: Clock, threads: int = THREADS) -> None:
        self._clock = clock
        self._limit = threads
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = 0
        self._open = 0

    async def run(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """The result of a function that blocks; virtual time stands still meanwhile.

        Raises: what the function raises.
        """
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualLoop) and loop.works_inline:
            return function(*arguments)
        future: asyncio.Future[T] = loop.create_future()
        self._open += 1
        if self._open > self._threads < self._limit:
            self._threads += 1
            threading.Thread(target=self._work, name=f"statewright-call-{self._threads}", daemon=True).start()
        try:
            with self._clock.busy():
                self._queue.put(_Call(loop, future, partial(function, *arguments)).run)
                return await future
        finally:
            self._open -= 1

    def close(self) -> None:
        """Let idle threads end; those at work end with their call."""
        for _ in range(self._threads):
            self._queue.put(None)
        self._threads = 0

    def _work(self) -> None:
        while True:
            call = self._queue.get()
            if call is None:
                return
            call()
            # Nothing of a call may outlive it while this thread is idle.
            del call


class _Call(Generic[T]):
    __slots__ = ("_function", "_future", "_loop")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        future: asyncio.Future[T],
        function: Callable[[], T],
    ) -> None:
        self._loop = loop
        self._future = future
        self._function = function

    def run(self) -> None:
        if self._future.cancelled():
            return
        try:
            end = partial(self._succeed, self._function())
        except Exception as raised:
            end = partial(self._fail, raised)
        try:
            self._loop.call_soon_threadsafe(end)
        except RuntimeError:
            # The loop is closed: no caller waits any more.
            return

    def _succeed(self, result: T) -> None:
        if not self._future.done():
            self._future.set_result(result)

    def _fail(self, problem: Exception) -> None:
        if not self._future.done():
            self._future.set_exception(problem)
