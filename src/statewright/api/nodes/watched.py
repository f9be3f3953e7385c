"""Work for a caller that ends when the caller disconnects, without a task besides that of the request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from statewright.api.app import Watch
from statewright.api.protocols.wire import Disconnected

T = TypeVar("T")


class Watched:
    """Work in the present task that can be ended from outside: by its caller's leaving, or with a reason."""

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self.reason: Exception | None = None
        """Why the work was ended."""

    def end(self, reason: Exception) -> None:
        """End the work; it raises the reason."""
        if self.reason is None and self._task is not None:
            self.reason = reason
            self._task.cancel()

    async def result(self, work: Awaitable[T]) -> T:
        """Do the work. Raises: the reason for which it was ended."""
        try:
            return await work
        except asyncio.CancelledError:
            # Others may have cancelled the task, too: they come first.
            if self.reason is None or (self._task is not None and self._task.uncancel() > 0):
                raise
            raise self.reason from None
        finally:
            self._task = None


async def while_connected(work: Awaitable[T], watch: Watch | None) -> T:
    """The result of some work, which ends when the caller disconnects. Raises: Disconnected."""
    if watch is None:
        return await work
    watched = Watched()
    watch(lambda: watched.end(Disconnected()))
    try:
        return await watched.result(work)
    finally:
        watch(None)
