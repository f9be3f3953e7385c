"""A store in PostgreSQL 15 or newer, for one server whose data lives elsewhere. Needs the extra `postgres`.

Four threads write (`writer`), each group of commits in one round trip; reads go to a pool of threads, each
with a connection of its own. The store belongs to one process at a time, by a lease (`lease`).
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import psycopg

from statewright.clock import BusyToken, Clock
from statewright.errors import OwnershipLost, StoreError, Unavailable
from statewright.stores.cursor import NO_TIMER, pack_cursor, unpack_cursor
from statewright.stores.ids import COUNTER_BITS, FIRST_MS, first_id, last_id, shard_of_id
from statewright.stores.job_queue import GroupFigures
from statewright.stores.plan import ALL_MACHINES, STATUS_NUMBERS, total_of
from statewright.stores.postgres.arrays import bigints
from statewright.stores.postgres.connection import (
    READ_TIMEOUT_MS,
    Connection,
    connect,
    explained,
    migrate,
    place_of,
    run,
)
from statewright.stores.postgres.lease import Lease
from statewright.stores.postgres.objects import PostgresRunner
from statewright.stores.postgres.tables import PostgresTables
from statewright.stores.postgres.writer import Writers, row_of
from statewright.stores.protocol import (
    STATUSES,
    Commit,
    HistoryPage,
    InboxRow,
    OutboxRow,
    Outcome,
    Page,
    Record,
    Row,
    Stored,
    TimerRow,
)
from statewright.stores.queue_plan import QueueTask
from statewright.stores.sql_object_store import SqlObjects, SqlUploads
from statewright.stores.sql_queues import SqlQueues
from statewright.stores.statements import statements

T = TypeVar("T")

READ_THREADS: Final = 4
_EXECUTIONS: Final = statements("postgres_executions")
_CATALOG: Final = statements("postgres_catalog")
_NO_PLACE: Final = (2**63 - 1, 2**63 - 1)
"""Behind every (start, id)."""


class _Open:
    """What an open store has: the lease, the writers, and connections to read on."""

    def __init__(self, address: str, place: str, lease: Lease, clock: Clock | None) -> None:
        self.lease = lease
        self.writers = Writers(address, place, lease, clock)
        self._address = address
        self._place = place
        self._clock = clock
        self._pool = ThreadPoolExecutor(READ_THREADS, "statewright-read")
        self._of_thread = threading.local()
        self._connections: list[Connection] = []

    async def read(self, name: str, *given: Any, of: dict[str, str] = _EXECUTIONS) -> list[tuple[Any, ...]]:
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
            # The server broke the connection off while it lay idle. Reading twice harms nobody.
            return work(self._connected())

    def _connected(self) -> Connection:
        connection: Connection | None = getattr(self._of_thread, "connection", None)
        if connection is None or connection.closed:
            connection = self._of_thread.connection = connect(self._address, READ_TIMEOUT_MS)
            self._connections.append(connection)
        return connection

    async def close(self) -> None:
        await self.writers.close()
        busy = self._clock.busy() if self._clock is not None else BusyToken()
        with busy:
            await asyncio.get_running_loop().run_in_executor(None, self._end)

    def _end(self) -> None:
        self._pool.shutdown()
        for connection in self._connections:
            connection.close()
        # Last, because another process may take the store from now on.
        self.lease.release()


class PostgresStore:
    """A whole store in a database. Belongs to the event loop that opened it."""

    def __init__(self, address: str, *, clock: Clock | None = None) -> None:
        """Nothing is touched before `open`. Time of `clock` stands still while the store is at work.

        `address` is what PostgreSQL's library takes: `postgresql://user:password@host:port/database?sslmode=...`.

        Raises: StoreError for an address that cannot be read.
        """
        self.place = place_of(address)
        self._address = address
        self._clock = clock
        self._open: _Open | None = None
        self._is_opening = False
        self.executions = PostgresExecutions(self)
        self.catalog = PostgresCatalog(self)
        runner = PostgresRunner(self)
        self.objects = SqlObjects(runner)
        self.uploads = SqlUploads(runner)
        self.queues = SqlQueues(self._submit)
        self.tables = PostgresTables(self)

    @property
    def opened(self) -> _Open:
        """What there is while the store is open. Raises: Unavailable when it is not."""
        if self._open is None:
            raise Unavailable(f"the store {self.place} is closed")
        return self._open

    async def open(self, owner: str) -> int:
        """See `Store.open`. Waits up to three seconds for the lease of a process that died."""
        if self._open is not None or self._is_opening:
            raise Unavailable(f"the store {self.place} is in use by this process")
        self._is_opening = True
        busy = self._clock.busy() if self._clock is not None else BusyToken()
        try:
            with busy:
                lease = await asyncio.get_running_loop().run_in_executor(None, self._take, owner)
        finally:
            self._is_opening = False
        self._open = _Open(self._address, self.place, lease, self._clock)
        return lease.epoch

    def _take(self, owner: str) -> Lease:
        migrate(self._address, self.place)
        return Lease(self._address, self.place, owner)

    async def close(self) -> None:
        """See `Store.close`; harmless when repeated."""
        opened, self._open = self._open, None
        if opened is not None:
            await opened.close()

    async def write_owned(self, work: Callable[[Connection], T]) -> T:
        """Write in a transaction that only the store's owner gets through."""
        opened = self.opened
        found: T = await opened.writers.submit(_owned(opened.lease, work))
        return found

    def _submit(self, task: QueueTask) -> Awaitable[Any]:
        return self.opened.writers.submit(task)

    async def newest_id(self, shard: int) -> int:
        """See `Store.newest_id`."""
        found = await self.opened.read("newest_id", first_id(shard), last_id(shard))
        return int(found[0][0])

    def check_lease(self) -> None:
        """See `Store.check_lease`."""
        self.opened.lease.check()

    def figures(self) -> GroupFigures:
        """See `Store.figures`."""
        return self.opened.writers.figures

    async def backup(self, target: str) -> None:
        """PostgreSQL has its own tools. Raises: StoreError, always."""
        raise StoreError(f"the store {self.place} cannot be copied to {target}; use pg_dump or your provider's backups")


class PostgresExecutions:
    """See `ExecutionStore`."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    async def commit(self, commit: Commit) -> Outcome:
        """See `ExecutionStore.commit`."""
        outcome: Outcome = await self._store.opened.writers.submit(commit)
        return outcome

    def make_way(self) -> None:
        """See `ExecutionStore.make_way`: a group is one call of the driver, so there is little to wait for."""

    async def load(self, execution: int) -> Stored | None:
        """See `ExecutionStore.load`."""
        found = await self._store.opened.read("load", execution)
        if not found:
            return None
        version, state, frames, frame_bodies, hashes, text_bodies = found[0][9:]
        return Stored(
            row_of(found[0]),
            version,
            state,
            dict(zip(frames, frame_bodies, strict=True)),
            dict(zip(hashes, text_bodies, strict=True)),
        )

    async def row(self, execution: int) -> Row | None:
        """See `ExecutionStore.row`."""
        found = await self._store.opened.read("row", execution)
        return row_of(found[0]) if found else None

    async def find(self, machine: int, name: str) -> Row | None:
        """See `ExecutionStore.find`."""
        found = await self._store.opened.read("row_by_name", machine, name)
        return row_of(found[0]) if found else None

    async def list_rows(self, machine: int, *, status: str | None, after: bytes | None, limit: int) -> Page:
        """See `ExecutionStore.list_rows`."""
        place = unpack_cursor(after) if after is not None else _NO_PLACE
        filtered = (STATUS_NUMBERS[status],) if status is not None else ()
        name = "list_rows_of_status" if filtered else "list_rows"
        # One more than asked for tells whether there is another page.
        found = await self._store.opened.read(name, machine, *filtered, *place, limit + 1)
        rows = [row_of(columns) for columns in found[:limit]]
        more = len(found) > limit and limit > 0
        return Page(rows, pack_cursor(rows[-1].started_ms, rows[-1].id) if more else None)

    async def count_by_status(self, machine: int | None) -> dict[str, int]:
        """See `ExecutionStore.count_by_status`."""
        found = await self._store.opened.read("counts", ALL_MACHINES if machine is None else machine)
        counts: dict[int, int] = dict(found)
        return {status: counts.get(number, 0) for number, status in enumerate(STATUSES)}

    async def history(self, execution: int, *, first: int, pages: int, reverse: bool) -> list[HistoryPage]:
        """See `ExecutionStore.history`."""
        if reverse:
            found = await self._store.opened.read("history_reversed", execution, first or 2**63 - 1, pages)
        else:
            found = await self._store.opened.read("history", execution, first, pages)
        return [HistoryPage(*columns) for columns in found]

    async def due(self, shard: int, until_ms: int, limit: int, after: TimerRow | None = None) -> list[TimerRow]:
        """See `ExecutionStore.due`."""
        place = (after.due_ms, after.execution, after.timer) if after is not None else NO_TIMER
        found = await self._store.opened.read("due", shard, until_ms, limit, *place)
        return [TimerRow(*columns) for columns in found]

    async def pending(self, shard: int) -> tuple[list[OutboxRow], list[InboxRow]]:
        """See `ExecutionStore.pending`."""
        found = await self._store.opened.read("pending", first_id(shard), last_id(shard))
        return (
            [OutboxRow(*columns[1:]) for columns in found if columns[0] == 0],
            [InboxRow(*columns[1:]) for columns in found if columns[0] == 1],
        )

    async def inbox_of(self, shard: int, kinds: Sequence[str], limit: int) -> list[InboxRow]:
        """See `ExecutionStore.inbox_of`."""
        found = await self._store.opened.read("inbox_of", first_id(shard), last_id(shard), list(kinds), limit)
        return [InboxRow(*columns) for columns in found]

    async def put_inbox(self, row: InboxRow) -> None:
        """See `ExecutionStore.put_inbox`."""
        await self._store.opened.writers.submit(row)

    async def forget(self, before_ms: int, limit: int) -> int:
        """See `ExecutionStore.forget`."""
        opened = self._store.opened
        gone: int = await opened.writers.submit(_owned(opened.lease, lambda on: _forget(on, before_ms, limit)))
        return gone

    async def discard(self, timers: Sequence[TimerRow], outbox: Sequence[int], inbox: Sequence[int]) -> None:
        """See `ExecutionStore.discard`."""

        def work(connection: Connection) -> None:
            if timers:
                rows = [(shard_of_id(timer.execution), timer.due_ms, timer.execution, timer.timer) for timer in timers]
                arrays = tuple(bigints(column) for column in zip(*rows, strict=True))
                run(connection, _EXECUTIONS["discard_timers"], arrays)
            for name, ids in (("discard_outbox", outbox), ("discard_inbox", inbox)):
                if ids:
                    run(connection, _EXECUTIONS[name], (bigints(ids),))

        opened = self._store.opened
        await opened.writers.submit(_owned(opened.lease, work))


def _owned(lease: Lease, work: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """The work as a transaction that only the store's owner gets through."""

    def run_owned(connection: Connection) -> T:
        with connection.transaction():
            if run(connection, _EXECUTIONS["held"], (lease.owner, lease.epoch)).fetchone() is None:
                lease.lose()
                raise OwnershipLost("the store was taken over by another process")
            return work(connection)

    return run_owned


def _forget(connection: Connection, before_ms: int, limit: int) -> int:
    closed = run(connection, _EXECUTIONS["forget_executions"], (before_ms, limit)).fetchall()
    if not closed:
        return 0
    ids = [columns[0] for columns in closed]
    for name in ("forget_heads", "forget_frames", "forget_payloads", "forget_history"):
        run(connection, _EXECUTIONS[name], (bigints(ids),))
    ticks = max(before_ms - FIRST_MS, 0) << COUNTER_BITS
    for shard in {shard_of_id(execution) for execution in ids}:
        of_shard = bigints([execution for execution in ids if shard_of_id(execution) == shard])
        low, high = first_id(shard), first_id(shard) + ticks - 1
        run(connection, _EXECUTIONS["forget_timers"], (of_shard, shard, before_ms))
        run(connection, _EXECUTIONS["forget_outbox"], (of_shard, low, high))
        run(connection, _EXECUTIONS["forget_inbox"], (of_shard, low, high))
    changes: Counter[tuple[int, int]] = Counter()
    for _, machine, status in closed:
        changes[machine, status] -= 1
        changes[total_of(machine), status] -= 1
    rows = [(*key, by) for key, by in changes.items()]
    run(connection, _EXECUTIONS["lower_counts"], tuple(bigints(column) for column in zip(*rows, strict=True)))
    _forget_counts(connection, sorted({machine for _, machine, _ in closed}))
    return len(ids)


def _forget_counts(connection: Connection, machines: list[int]) -> None:
    """Delete the counters of a status that nothing of a machine has any more: together they say 0."""
    totals: Counter[tuple[int, int]] = Counter()
    lanes: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for machine, status, lane, n in run(connection, _EXECUTIONS["lock_counts"], (bigints(machines),)):
        totals[machine, status] += n
        lanes.setdefault((machine, status), []).append((machine, status, lane))
    empty = [row for key, rows in lanes.items() if totals[key] == 0 for row in rows]
    if empty:
        arrays = tuple(bigints(column) for column in zip(*empty, strict=True))
        run(connection, _EXECUTIONS["forget_counts"], arrays)


class PostgresCatalog:
    """See `CatalogStore`."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    async def get(self, kind: str, key: str) -> Record | None:
        """See `CatalogStore.get`."""
        found = await self._store.opened.read("get", kind, key, of=_CATALOG)
        return Record(*found[0]) if found else None

    async def write(self, put: Sequence[Record], delete: Sequence[tuple[str, str]] = ()) -> bool:
        """See `CatalogStore.write`."""
        fits: bool = await self._store.opened.writers.submit(lambda on: _write_entries(on, put, delete))
        return fits

    async def list_entries(
        self, kind: str, parent: str, *, after: tuple[int, str] | None, limit: int, newest_first: bool
    ) -> list[Record]:
        """See `CatalogStore.list_entries`."""
        name = "list" + ("_newest" if newest_first else "") + ("_after" if after is not None else "")
        found = await self._store.opened.read(name, kind, parent, *(after or ()), limit, of=_CATALOG)
        return [Record(*columns) for columns in found]

    async def next_number(self, name: str) -> int:
        """See `CatalogStore.next_number`."""
        found = await self._store.opened.writers.submit(lambda on: run(on, _CATALOG["next_number"], (name,)).fetchone())
        return int(found[0])


def _write_entries(connection: Connection, put: Sequence[Record], delete: Sequence[tuple[str, str]]) -> bool:
    # Not fenced: records have versions of their own, and any process may write them.
    kept = {(record.kind, record.key) for record in put}
    with connection.transaction() as transaction:
        for record in put:
            given = record.kind, record.key, record.parent, record.sort, record.version, record.body
            statement = _CATALOG["insert" if record.version == 1 else "update"]
            if run(connection, statement, given).rowcount != 1:
                raise psycopg.Rollback(transaction)
        for key in delete:
            if key not in kept:
                run(connection, _CATALOG["delete"], key)
        return True
    return False
