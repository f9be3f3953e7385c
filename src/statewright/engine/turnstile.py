"""Keeps the event loop's turns short while executions wait for their commits.

A start takes half a dozen turns of the loop: read, begin, written, answered. Each lasts as long as everything else
that is ready, so with sixteen synchronous EXPRESS executions and a hundred long bursts in every turn a start would take
as long as all of those together, six times. What can wait goes through here, a little of it in each turn; that costs it
nothing, because the loop is busy all the same.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

WHOLE_TURN: Final = 16
"""Weight of all that passes in one turn of the loop: one to two milliseconds of work."""
BURST: Final = 16
"""Weight of a burst that continues."""
EXPRESS: Final = 4
"""Weight of a synchronous EXPRESS execution, which is short as a rule; what comes with it is reading and answering."""
CHILD: Final = 1
"""Weight of a child execution that is started."""


class Turnstile:
    """Lets work through in the order in which it came. `make_way` gives commits under way some room first."""

    __slots__ = ("_left", "_turning", "_waiting", "make_way")

    def __init__(self, make_way: Callable[[], None]) -> None:
        self.make_way = make_way
        self._left = WHOLE_TURN
        self._turning = False
        self._waiting: deque[tuple[int, Callable[[], object]]] = deque()

    async def enter(self, weight: int) -> None:
        """Return when it is this caller's turn."""
        if self._left < weight or self._waiting:
            passed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.pass_later(weight, lambda: _wake(passed))
            await passed
        else:
            self._left -= weight
            self._turn_soon()
        self.make_way()

    def pass_later(self, weight: int, work: Callable[[], object]) -> None:
        """Do some work when it is its turn."""
        self._waiting.append((weight, work))
        self._turn_soon()

    def _turn_soon(self) -> None:
        if not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._turning = False
        self._left = WHOLE_TURN
        waiting = self._waiting
        while waiting and self._left >= waiting[0][0]:
            weight, work = waiting.popleft()
            self._left -= weight
            # Before the work, which may raise.
            self._turn_soon()
            work()


def _wake(sleeper: asyncio.Future[None]) -> None:
    # One who has gone meanwhile needs no waking.
    if not sleeper.done():
        sleeper.set_result(None)
