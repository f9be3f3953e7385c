"""Executes work when it falls due: deliveries, rules and schedules, by their numbers.

Owns the background tasks, and their failures when the store is unavailable or because of a bug. Due times are kept by
`engine.timers` and `engine.catalogue_timers`; the work itself is the caller's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final

from statewright.background import Background
from statewright.clock import Clock
from statewright.engine.catalogue_timers import CatalogueTimers
from statewright.engine.timers import DueSoon
from statewright.errors import StoreError, Unreadable, shortage
from statewright.stores.protocol import CatalogueStore

STORE_PAUSE_MS: Final = 1_000

log = logging.getLogger("statewright.events")


class DueWork:
    """The entries of one kind. `work` is called with the number of a due entry, which logs call a `what`.

    `work` must be harmless when repeated for the same number: it is repeated when the store does not answer.
    """

    def __init__(
        self, catalogue: CatalogueStore, kind: str, clock: Clock, what: str, work: Callable[[int], Awaitable[object]]
    ) -> None:
        self._clock = clock
        self._what = what
        self._work = work
        self._background = Background(f"work on a {what}")
        self._due = DueSoon(CatalogueTimers(catalogue, kind), clock, 0, self._fire, has_lengths=False)

    def __len__(self) -> int:
        """The number of entries in memory."""
        return len(self._due)

    async def start(self) -> None:
        """Recover the due entries from the store. Raises: StoreError."""
        await self._due.recover()

    async def stop(self) -> None:
        """Begin nothing more; what is under way is left to the next start."""
        self._due.stop()
        await self._background.stop()

    def arm(self, number: int, due_ms: int) -> None:
        """Schedule a number, which the store has already, for an instant."""
        self._due.arm(number, 0, due_ms)

    def disarm(self, number: int) -> None:
        """Cancel the schedule of a number."""
        self._due.disarm(number, 0)

    def spawn(self, work: Coroutine[object, object, None]) -> None:
        """Run a background task, until `stop`."""
        self._background.spawn(work)

    def _fire(self, number: int, _timer: int, settled: Callable[[], None]) -> None:
        self.spawn(self._execute(number, settled))

    async def _execute(self, number: int, settled: Callable[[], None]) -> None:
        try:
            await self._work(number)
        except Unreadable as problem:
            log.error("a due %s is left to another version of Statewright: %s", self._what, problem)
        except StoreError as problem:
            log.warning("the store failed to execute a due %s, which will be retried: %s", self._what, problem)
            self.arm(number, self._clock.now_ms() + STORE_PAUSE_MS)
        except asyncio.CancelledError:
            raise
        except Exception as problem:
            lacking = shortage(problem)
            if lacking is None:
                log.exception(
                    "%s %d failed because of a bug in Statewright; it is left to the next start", self._what, number
                )
            else:
                log.warning("a due %s will be retried: %s", self._what, lacking)
                self.arm(number, self._clock.now_ms() + STORE_PAUSE_MS)
        finally:
            settled()
