"""The timer by which ECS tasks and Batch jobs that ended long ago are forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from statewright.clock import Clock, Timer

SWEEP_MS: Final = 600 * 1000


class Sweeper:
    """Calls `forget` with the instant before which what ended is forgotten, `kept_ms` ago: now, then every ten minutes.

    It looks only while `has_any` says that something may have to be forgotten: nothing wakes a system that is empty.
    """

    def __init__(self, clock: Clock, kept_ms: int, has_any: Callable[[], bool], forget: Callable[[int], None]) -> None:
        self._clock = clock
        self._kept_ms = kept_ms
        self._has_any = has_any
        self._forget = forget
        self._timer: Timer | None = None
        self._stopped = False

    def sweep(self) -> None:
        """Forget what is old, and look again later."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._forget(self._clock.now_ms() - self._kept_ms)
        self.look_later()

    def look_later(self) -> None:
        """Have the timer run, if there is anything to forget one day."""
        if self._timer is None and not self._stopped and self._has_any():
            self._timer = self._clock.call_at(self._clock.now_ms() + SWEEP_MS, self.sweep)

    def stop(self) -> None:
        """Look no more."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
