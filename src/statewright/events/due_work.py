"""What falls due, done: deliveries, rules and schedules by their numbers.

Owns the tasks that do it, and what becomes of one that the store does not answer or that fails by our mistake. What
falls due when is `engine.timers`' and `engine.catalogue_timers`'; what is done then is the caller's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from statewright.background import Background
from statewright.clock import Clock
from statewright.engine.catalogue_timers import CatalogueTimers
from statewright.engine.timers import DueSoon
from statewright.errors import StoreError, Unreadable
from statewright.stores.protocol import CatalogStore

STORE_PAUSE_MS: Final = 1_000

log = logging.getLogger("statewright.events")


class DueWork:
    """The entries of one kind; `work` is called with the number of one that is due, and `what` is what logs call it.

    `work` repeated for the same number must be harmless: it is, when the store did not answer.
    """

    def __init__(
        self, catalog: CatalogStore, kind: str, clock: Clock, what: str, work: Callable[[int], Awaitable[object]]
    ) -> None:
        self._clock = clock
        self._what = what
        self._work = work
        self._background = Background(f"work on a {what}")
        self._due = DueSoon(CatalogueTimers(catalog, kind), clock, 0, self._fire)

    def __len__(self) -> int:
        """How many are in memory."""
        return len(self._due)

    async def start(self) -> None:
        """Take up what the store has. Raises: StoreError."""
        await self._due.recover()

    async def stop(self) -> None:
        """Begin nothing more; what is under way is left to the next start."""
        self._due.stop()
        await self._background.stop()

    def arm(self, number: int, due_ms: int) -> None:
        """Have a number done at an instant: after the store has it."""
        self._due.arm(number, 0, due_ms)

    def disarm(self, number: int) -> None:
        """Forget the instant of a number."""
        self._due.disarm(number, 0)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside, until `stop`."""
        self._background.spawn(work)

    def _fire(self, number: int, _timer: int, settled: Callable[[], None]) -> None:
        self.spawn(self._take(number, settled))

    async def _take(self, number: int, settled: Callable[[], None]) -> None:
        try:
            await self._work(number)
        except Unreadable as problem:
            log.error("a %s that is due is left to another version: %s", self._what, problem)
        except StoreError as problem:
            log.warning("the store did not answer a %s that is due, which is tried again: %s", self._what, problem)
            self.arm(number, self._clock.now_ms() + STORE_PAUSE_MS)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("%s %d failed by a mistake of ours; it is left to the next start", self._what, number)
        finally:
            settled()
