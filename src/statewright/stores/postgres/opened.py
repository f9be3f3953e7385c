"""The database of a store while it is open: the lease, the threads that write, and connections to read on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Protocol, TypeVar

import psycopg

from statewright.clock import BusyToken, Clock
from statewright.errors import InUse, StoreError, Unavailable
from statewright.lease_end import LeaseEnd
from statewright.stores.bucket.client import Bucket
from statewright.stores.bucket.database import BucketBinding
from statewright.stores.postgres.connection import (
    READ_TIMEOUT_MS,
    SCHEMA_VERSION,
    WRITE_TIMEOUT_MS,
    Connection,
    connect,
    explained,
    has_table,
    migrate,
    place_of,
    run,
    transaction,
    version_of,
)
from statewright.stores.postgres.identity import Identity
from statewright.stores.postgres.lease import Lease
from statewright.stores.postgres.pool import ConnectionPool
from statewright.stores.postgres.surroundings import examine
from statewright.stores.postgres.watching import LeaseWatch, Seen
from statewright.stores.postgres.writer import LeaseGroups, Writers
from statewright.stores.statements import SqlRow, statements

T = TypeVar("T")

READ_THREADS: Final = 4
_EXECUTIONS: Final = statements("postgres_executions")
_CELLS: Final = statements("postgres_cells")


class Database(Protocol):
    """The database as every part of a store uses it."""

    @property
    def place(self) -> str:
        """The database as messages show it."""

    @property
    def opened(self) -> OpenDatabase:
        """The open store. Raises: Unavailable when it is closed."""

    async def write_owned(self, work: Callable[[Connection], T], executions: Sequence[int] | None = None, /) -> T:
        """Write in a transaction that only the owner of what is written gets through.

        `executions` are ids that name the cells of all that is written; None for rows of the store as a whole.
        Raises: OwnershipLost, Unavailable; StoreError for rows that this process must not write.
        """


class PostgresDatabase:
    """The database at an address, open or not: what every part of the store works on."""

    def __init__(
        self,
        address: str,
        clock: Clock | None,
        files: Path | None = None,
        bucket: Bucket | None = None,
        *,
        of_node: bool = False,
    ) -> None:
        """Nothing is touched before `open`. Time of `clock` stands still while the store is at work. `files` is the
        folder that must belong to the database, `bucket` the bucket. `of_node`: the process is one of a cluster.

        Raises: StoreError for an address that cannot be read.
        """
        self.place = place_of(address)
        self._of_node = of_node
        self._address = address
        self._clock = clock
        self._identity = Identity(files, self.place) if files is not None else None
        self._binding = BucketBinding(bucket, self.place)
        self._open: OpenDatabase | None = None
        self._is_opening = False
        self._watch = LeaseWatch(address, self.place)
        self._is_examined = False
        self.lease_end: Final = LeaseEnd()

    @property
    def opened(self) -> OpenDatabase:
        """The open store. Raises: Unavailable when it is closed."""
        if self._open is None:
            raise Unavailable(f"the store {self.place} is closed")
        return self._open

    async def open(self, owner: str) -> int:
        """Migrate, and take the lease, waiting up to three seconds for that of a process that died; returns its epoch.

        Raises: Unavailable, naming who has it; StoreError for a data folder that is not the one of the database.
        """
        if self._open is not None or self._is_opening:
            raise Unavailable(f"the store {self.place} is in use by this process")
        self._is_opening = True
        busy = self._clock.busy() if self._clock is not None else BusyToken()
        try:
            with busy:
                lease = await asyncio.get_running_loop().run_in_executor(None, self._take, owner)
        finally:
            self._is_opening = False
        writers = Writers(self._address, self.place, LeaseGroups(lease), self._clock)
        self._open = OpenDatabase(self._address, self.place, writers, self._clock, lease=lease)
        return lease.epoch

    async def look(self) -> Seen:
        """See who has the lease, without waiting for it. Raises: Unavailable; StoreError as `open` does."""
        return await asyncio.get_running_loop().run_in_executor(None, self._look)

    def _look(self) -> Seen:
        self._examine()
        return self._watch.look()

    def _examine(self) -> None:
        if self._is_examined:
            return
        examine(self._address, self.place)
        with explained(self.place), connect(self._address, WRITE_TIMEOUT_MS) as connection:
            # A database without these tables is checked once they are there, with the lease.
            if self._identity is not None and has_table(connection, "store_identity"):
                self._identity.check(connection)
            if version_of(connection) == SCHEMA_VERSION:
                self._binding.check(connection)
        self._is_examined = True

    def _take(self, owner: str) -> Lease:
        self._watch.close()
        self._examine()
        migrate(self._address, self.place)
        with explained(self.place), connect(self._address, WRITE_TIMEOUT_MS) as connection:
            self._refuse_cluster(connection)
            lease = Lease(self._address, self.place, owner, self.lease_end)
            try:
                if self._identity is not None:
                    self._identity.adopt(connection, lease)
                self._binding.bind(connection, lease)
            except BaseException:
                lease.release()
                raise
            return lease

    def _refuse_cluster(self, connection: Connection) -> None:
        """Refuse a database that nodes share to a process that is none of them. Raises: InUse."""
        found = None if self._of_node else run(connection, _CELLS["living"]).fetchone()
        if found is not None:
            raise InUse(
                f"the store {self.place} is in use by a cluster, of which the node {found[0]} at {found[1]} lives: "
                "start this server with --node"
            )

    async def close(self) -> None:
        """Write what is queued and release the store; harmless when repeated."""
        self._watch.close()
        opened, self._open = self._open, None
        if opened is not None:
            await opened.close()

    def fence(self) -> int:
        """The epoch of the lease, after a look into the database. Raises: OwnershipLost, Unavailable. Blocks."""
        opened = self.opened
        lease = opened.lease
        lease.check()
        given = (lease.owner, lease.epoch)
        if opened.write_connections.run(lambda on: run(on, _EXECUTIONS["held"], given).fetchone()) is None:
            raise lease.taken_over()
        return lease.epoch

    async def write_owned(self, work: Callable[[Connection], T], _: Sequence[int] | None = None, /) -> T:
        """See `Database.write_owned`."""
        opened = self.opened
        found: T = await opened.writers.submit(_owned(opened.lease, work))
        return found


class OpenDatabase:
    """The parts of an open store: the lease, the writers, and connections to read on."""

    def __init__(
        self,
        address: str,
        place: str,
        writers: Writers,
        clock: Clock | None,
        *,
        lease: Lease | None,
        read_threads: int = READ_THREADS,
    ) -> None:
        """`lease` is that of the whole store, which a worker does not have."""
        self.writers = writers
        self._lease = lease
        self.write_connections = ConnectionPool(address, place, WRITE_TIMEOUT_MS)
        """For threads other than those of `writers`: these write blobs."""
        self.read_connections = ConnectionPool(address, place, READ_TIMEOUT_MS)
        self._address = address
        self._place = place
        self._clock = clock
        self._pool = ThreadPoolExecutor(read_threads, "statewright-read")
        self._of_thread = threading.local()
        self._connections: list[Connection] = []

    @property
    def lease(self) -> Lease:
        """The lease of the whole store. Raises: StoreError for a worker."""
        if self._lease is None:
            raise not_the_home(self._place)
        return self._lease

    async def read(self, name: str, *given: object, of: dict[str, str] = _EXECUTIONS) -> list[SqlRow]:
        """The rows of a named statement."""
        return await self.work(lambda on: run(on, of[name], given).fetchall())

    async def work(self, work: Callable[[Connection], T]) -> T:
        """Read in the pool; `work` may be called twice."""
        busy = self._clock.busy() if self._clock is not None else BusyToken()
        with busy:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._work, work)

    def _work(self, work: Callable[[Connection], T]) -> T:
        with explained(self._place):
            connection = self._connected()
            try:
                return work(connection)
            except psycopg.OperationalError:
                if not connection.closed:
                    raise
            # The server closed the connection while it was idle. Reading twice does no harm.
            return work(self._connected())

    def _connected(self) -> Connection:
        connection: Connection | None = getattr(self._of_thread, "connection", None)
        if connection is None or connection.closed:
            connection = self._of_thread.connection = connect(self._address, READ_TIMEOUT_MS)
            self._connections.append(connection)
        return connection

    async def close(self) -> None:
        """Write what is queued, close all connections and release the lease."""
        await self.writers.close()
        busy = self._clock.busy() if self._clock is not None else BusyToken()
        with busy:
            await asyncio.get_running_loop().run_in_executor(None, self._end)

    def _end(self) -> None:
        self._pool.shutdown()
        self.write_connections.close()
        self.read_connections.close()
        for connection in self._connections:
            connection.close()
        # Last, because another process may take the store from now on.
        if self._lease is not None:
            self._lease.release()


def not_the_home(place: str) -> StoreError:
    """The error for a write of a worker that is not one of an execution."""
    return StoreError(f"a worker of the store {place} writes executions of its cells only: its home writes all else")


def _owned(lease: Lease, work: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """The work as a transaction that only the store's owner gets through."""

    def run_owned(connection: Connection) -> T:
        with transaction(connection):
            if run(connection, _EXECUTIONS["held"], (lease.owner, lease.epoch)).fetchone() is None:
                raise lease.taken_over()
            return work(connection)

    return run_owned
