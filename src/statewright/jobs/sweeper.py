"""Timer that removes ECS tasks and Batch jobs some time after their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from statewright.clock import Clock, Timer

SWEEP_MS: Final = 600 * 1000


class Sweeper:
    """Calls `forget` with the instant `kept_ms` ago, for what ended before it: immediately, then every ten minutes.

    The timer runs only while `has_any` returns True, so that it does not wake an empty server.
    """

    def __init__(self, clock: Clock, kept_ms: int, has_any: Callable[[], bool], forget: Callable[[int], None]) -> None:
        self._clock = clock
        self._kept_ms = kept_ms
        self._has_any = has_any
        self._forget = forget
        self._timer: Timer | None = None
        self._stopped = False

    def sweep(self) -> None:
        """Forget old entries, and schedule the next sweep."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._forget(self._clock.now_ms() - self._kept_ms)
        self.sweep_later()

    def sweep_later(self) -> None:
        """Schedule the next sweep if there is anything to forget."""
        if self._timer is None and not self._stopped and self._has_any():
            self._timer = self._clock.call_at(self._clock.now_ms() + SWEEP_MS, self.sweep)

    def stop(self) -> None:
        """Stop the timer."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
