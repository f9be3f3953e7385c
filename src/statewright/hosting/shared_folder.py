"""The data folder beside a store in PostgreSQL, which a server and its standby share: its owner's lock.

The lease of the store decides who owns the folder; the lock only follows it. A process that takes the lease takes the
lock after it. A former owner that was killed has no lock any more, and one that was demoted gives it up within moments.
One that is frozen keeps it: the new owner goes on without the lock, which would otherwise undo what the lease is for,
and takes it once the other process has released it. A process that wakes up finds its lease over before it writes.
"""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Final

from statewright.background import Background
from statewright.clock import Clock
from statewright.errors import InUse
from statewright.stores.sqlite.file import CannotLock, FolderLock

KIND: Final = "PostgreSQL"
"""Names, in the lock file, the kind of store that the folder's owner has."""
PATIENCE_MS: Final = 500
"""For a former owner to notice that it has lost the lease, and to release the lock."""
LOOK_MS: Final = 50
LATER_MS: Final = 1_000

log = logging.getLogger("statewright.server")


class SharedFolder:
    """The lock on a data folder whose store this process has."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._lock: FolderLock | None = None
        self._background = Background("the lock of the data folder")

    @property
    def is_locked(self) -> bool:
        """True while this process has the lock."""
        return self._lock is not None

    async def hold(self) -> None:
        """Take the lock, or go on without it and take it later.

        Raises: InUse for the folder of a server on SQLite; Unavailable for a folder that cannot be used.
        """
        until_ms = self._clock.now_ms() + PATIENCE_MS
        while True:
            try:
                self._lock = FolderLock(self._folder, KIND)
                return
            except CannotLock as problem:
                log.warning("%s: the lease of the store alone keeps other servers from it", problem)
                return
            except InUse as problem:
                if f"({KIND})" not in str(problem):
                    raise
                if self._clock.now_ms() >= until_ms:
                    log.warning(
                        "%s, which has lost the store's lease and does not know it yet (is it frozen?): this server "
                        "goes on, for the other one can write nothing any more", problem,
                    )  # fmt: skip
                    self._background.spawn(self._hold_later())
                    return
            await self._clock.sleep_until(self._clock.now_ms() + LOOK_MS)

    async def _hold_later(self) -> None:
        while self._lock is None:
            await self._clock.sleep_until(self._clock.now_ms() + LATER_MS)
            with contextlib.suppress(InUse):
                self._lock = FolderLock(self._folder, KIND)
        log.info("the lock of the data folder %s is this server's now", self._folder)

    async def release(self) -> None:
        """Release the lock; harmless when repeated."""
        await self._background.stop()
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()
