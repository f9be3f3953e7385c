"""Calls that block, on a bounded number of threads beside the event loop.

The threads are daemons: a server that stops must not wait a quarter of an hour for a function's answer. What nobody
waits for any more is dropped when it ends.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from statewright.clock import Clock, VirtualLoop

T = TypeVar("T")

THREADS: Final = 32
"""Calls at once; further ones queue."""


class BlockingCalls:
    """Threads that are made when there is work for them and kept."""

    def __init__(self, clock: Clock, threads: int = THREADS) -> None:
        self._clock = clock
        self._limit = threads
        self._queue: SimpleQueue[_Call | None] = SimpleQueue()
        self._threads = 0
        self._open = 0

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
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
                self._queue.put(_Call(loop, future, function, arguments))
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
            call.run()
            # Nothing of a call may outlive it while this thread is idle.
            del call


class _Call:
    __slots__ = ("_arguments", "_function", "_future", "_loop")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        future: asyncio.Future[Any],
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
    ) -> None:
        self._loop = loop
        self._future = future
        self._function = function
        self._arguments = arguments

    def run(self) -> None:
        if self._future.cancelled():
            return
        try:
            result, problem = self._function(*self._arguments), None
        except Exception as raised:
            result, problem = None, raised
        try:
            self._loop.call_soon_threadsafe(self._end, result, problem)
        except RuntimeError:
            # The loop is closed: nobody waits for anything any more.
            return

    def _end(self, result: Any, problem: Exception | None) -> None:
        if self._future.done():
            return
        if problem is not None:
            self._future.set_exception(problem)
        else:
            self._future.set_result(result)
