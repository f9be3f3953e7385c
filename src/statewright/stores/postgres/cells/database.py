"""The database of a worker while it is open: the threads that write its cells, and connections to read on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from statewright.clock import BusyToken, Clock
from statewright.errors import StoreError, Unavailable
from statewright.stores.postgres.cells.groups import CellGroups, CellWork, lanes_of
from statewright.stores.postgres.cells.membership import Membership
from statewright.stores.postgres.connection import (
    SCHEMA_VERSION,
    WRITE_TIMEOUT_MS,
    Connection,
    connect,
    explained,
    refuse_unsuitable,
    too_new,
    version_of,
)
from statewright.stores.postgres.opened import OpenDatabase, not_the_home
from statewright.stores.postgres.writer import Writers

READ_THREADS: Final = 2

T = TypeVar("T")


class CellDatabase:
    """See `Database`: the connections of a node beside those of its membership."""

    def __init__(self, address: str, membership: Membership, clock: Clock | None) -> None:
        """Nothing is touched before `open`. Time of `clock` stands still while the store is at work."""
        self.place: Final = membership.place
        self._address = address
        self._membership = membership
        self._clock = clock
        self._open: OpenDatabase | None = None
        self._is_opening = False

    @property
    def opened(self) -> OpenDatabase:
        """The open store. Raises: Unavailable when it is closed."""
        if self._open is None:
            raise Unavailable(f"the store {self.place} is closed")
        return self._open

    async def open(self) -> None:
        """Check the version of the schema, and connect. Neither migrates nor takes a lease: that is the membership's.

        Raises: Unavailable, also if the membership is not there; StoreError for a database of another version.
        """
        if self._open is not None or self._is_opening:
            raise Unavailable(f"the store {self.place} is in use by this worker")
        self._membership.check()
        self._is_opening = True
        try:
            with self._clock.busy() if self._clock is not None else BusyToken():
                await asyncio.get_running_loop().run_in_executor(None, self._examine)
        finally:
            self._is_opening = False
        writers = Writers(
            self._address,
            self.place,
            CellGroups(self._membership),
            self._clock,
            lanes=lanes_of(self._membership.name),
            of_catalogue=None,
        )
        self._open = OpenDatabase(
            self._address, self.place, writers, self._clock, lease=None, read_threads=READ_THREADS
        )

    def _examine(self) -> None:
        with explained(self.place), connect(self._address, WRITE_TIMEOUT_MS) as connection:
            refuse_unsuitable(connection, self.place)
            version = version_of(connection)
        if version > SCHEMA_VERSION:
            raise too_new(self.place, version, SCHEMA_VERSION)
        if version < SCHEMA_VERSION:
            raise StoreError(
                f"the store {self.place} has version {version} of the schema, this program has {SCHEMA_VERSION}: a "
                "worker does not change it"
            )

    async def close(self) -> None:
        """Write what is queued, and close all connections; harmless when repeated."""
        opened, self._open = self._open, None
        if opened is not None:
            await opened.close()

    def fence(self) -> int:
        """The epoch of the lease on the whole store. Raises: StoreError, always."""
        raise not_the_home(self.place)

    async def write_owned(self, work: Callable[[Connection], T], executions: Sequence[int] | None = None, /) -> T:
        """See `Database.write_owned`."""
        found: T = await self.opened.writers.submit(CellWork(work, executions))
        return found
