"""A store in one SQLite file: what `statewright` uses unless told otherwise.

One thread writes (`writer`). Point reads run on the event loop, on a connection of their own, since they cost
less than a hop to a thread; lists go to a pool of two. The data folder belongs to one process at a time, so the lease
of its one shard is taken at once.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from statewright.clock import Clock
from statewright.errors import Unavailable
from statewright.stores.cursor import NO_TIMER, pack_cursor, unpack_cursor
from statewright.stores.ids import COUNTER_BITS, FIRST_MS, first_id, last_id, shard_of_id
from statewright.stores.job_queue import GroupFigures
from statewright.stores.plan import ALL_MACHINES, STATUS_NUMBERS, RowGroups
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
from statewright.stores.sqlite.file import (
    FILE_NAME,
    Durability,
    FolderLock,
    connect,
    copy_database,
    explained,
    migrate,
)
from statewright.stores.sqlite.objects import SqliteRunner
from statewright.stores.sqlite.tables import SqliteTables
from statewright.stores.sqlite.writer import Work, Writer, row_of, write_groups, write_ids, write_rows
from statewright.stores.statements import statements

T = TypeVar("T")

SCAN_THREADS: Final = 2
MOST_FREE_SHARE: Final = 0.25
VACUUM_PAGES: Final = 500
_EXECUTIONS: Final = statements("executions")
_CATALOG: Final = statements("catalog")
_WRITES: Final = statements("writes")
_NO_PLACE: Final = (2**63 - 1, 2**63 - 1)
"""Behind every (start, id)."""


class _Open:
    """What an open store has: the folder's lock, the writer, and connections to read on."""

    def __init__(self, folder: Path, owner: str, durability: Durability, clock: Clock | None) -> None:
        self.file = folder / FILE_NAME
        self.clock = clock
        self._lock = FolderLock(folder, owner)
        try:
            writes = connect(self.file, durability=durability, writes=True)
            try:
                migrate(writes, self.file)
                with explained(self.file):
                    self.epoch = _take_shard(writes, owner)
                self.points = connect(self.file)
            except BaseException:
                writes.close()
                raise
        except BaseException:
            self._lock.release()
            raise
        self.writer = Writer(writes, self.file, clock)
        self._scans = ThreadPoolExecutor(SCAN_THREADS, "statewright-scan")
        self._of_thread = threading.local()
        self._connections: list[sqlite3.Connection] = []

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Read on the event loop's own connection."""
        with explained(self.file):
            return work(self.points)

    async def scan(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Read in the pool."""
        if self.clock is None:
            return await asyncio.get_running_loop().run_in_executor(self._scans, self._scan, work)
        with self.clock.busy():
            return await asyncio.get_running_loop().run_in_executor(self._scans, self._scan, work)

    def _scan(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection: sqlite3.Connection | None = getattr(self._of_thread, "connection", None)
        if connection is None:
            connection = self._of_thread.connection = connect(self.file)
            self._connections.append(connection)
        with explained(self.file):
            return work(connection)

    async def close(self) -> None:
        self._scans.shutdown()
        for connection in (self.points, *self._connections):
            connection.close()
        # Last, because the last connection to close empties the write-ahead log.
        await self.writer.close()
        self._lock.release()


def _take_shard(connection: sqlite3.Connection, owner: str) -> int:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "INSERT INTO shard (id, owner, epoch) VALUES (0, ?, 1) "
        "ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, epoch = epoch + 1",
        (owner,),
    )
    (epoch,) = connection.execute("SELECT epoch FROM shard WHERE id = 0").fetchone()
    connection.execute("COMMIT")
    return int(epoch)


class SqliteStore:
    """A whole store in a data folder. Belongs to the event loop that opened it."""

    def __init__(self, folder: Path, *, durability: Durability = "full", clock: Clock | None = None) -> None:
        """Nothing is touched before `open`. Time of `clock` stands still while the store is at work."""
        self.folder = folder
        self._durability = durability
        self._clock = clock
        self._open: _Open | None = None
        self.executions = SqliteExecutions(self)
        self.catalog = SqliteCatalog(self)
        runner = SqliteRunner(self)
        self.objects = SqlObjects(runner)
        self.uploads = SqlUploads(runner)
        self.queues = SqlQueues(self._submit)
        self.tables = SqliteTables(self)

    @property
    def opened(self) -> _Open:
        """What there is while the store is open. Raises: Unavailable when it is not."""
        if self._open is None:
            raise Unavailable(f"the store in {self.folder} is closed")
        return self._open

    async def open(self, owner: str) -> int:
        """See `Store.open`."""
        if self._open is not None:
            raise Unavailable(f"data folder {self.folder} is in use by this process")
        self._open = _Open(self.folder, owner, self._durability, self._clock)
        return self._open.epoch

    async def close(self) -> None:
        """See `Store.close`; harmless when repeated."""
        opened, self._open = self._open, None
        if opened is not None:
            await opened.close()

    def check_lease(self) -> None:
        """See `Store.check_lease`: the folder's lock goes only with the process."""

    def _submit(self, task: QueueTask) -> Awaitable[Any]:
        return self.opened.writer.submit(task)

    async def newest_id(self, shard: int) -> int:
        """See `Store.newest_id`."""
        bounds = first_id(shard), last_id(shard)
        return self.opened.read(lambda on: int(on.execute(_EXECUTIONS["newest_id"], bounds).fetchone()[0]))

    def figures(self) -> GroupFigures:
        """See `Store.figures`."""
        return self.opened.writer.figures

    async def backup(self, target: str) -> None:
        """See `Store.backup`: one SQLite file, to be put into a data folder as `statewright.db`."""
        await self.opened.scan(lambda on: copy_database(on, Path(target)))


class SqliteExecutions:
    """See `ExecutionStore`."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    async def commit(self, commit: Commit) -> Outcome:
        """See `ExecutionStore.commit`."""
        outcome: Outcome = await self._store.opened.writer.submit(commit)
        return outcome

    def make_way(self) -> None:
        """See `ExecutionStore.make_way`."""
        self._store.opened.writer.right_of_way.make_way()

    async def load(self, execution: int) -> Stored | None:
        """See `ExecutionStore.load`."""
        return self._store.opened.read(lambda on: _load(on, execution))

    async def row(self, execution: int) -> Row | None:
        """See `ExecutionStore.row`."""
        return self._store.opened.read(lambda on: _one_row(on, "row", execution))

    async def find(self, machine: int, name: str) -> Row | None:
        """See `ExecutionStore.find`."""
        return self._store.opened.read(lambda on: _one_row(on, "row_by_name", machine, name))

    async def list_rows(self, machine: int, *, status: str | None, after: bytes | None, limit: int) -> Page:
        """See `ExecutionStore.list_rows`."""
        place = unpack_cursor(after) if after is not None else _NO_PLACE
        filtered = (STATUS_NUMBERS[status],) if status is not None else ()
        text = _EXECUTIONS["list_rows_of_status" if filtered else "list_rows"]
        # One more than asked for tells whether there is another page.
        given = (machine, *filtered, *place, limit + 1)
        found = await self._store.opened.scan(lambda on: on.execute(text, given).fetchall())
        rows = [row_of(columns) for columns in found[:limit]]
        more = len(found) > limit and limit > 0
        return Page(rows, pack_cursor(rows[-1].started_ms, rows[-1].id) if more else None)

    async def count_by_status(self, machine: int | None) -> dict[str, int]:
        """See `ExecutionStore.count_by_status`."""
        key = ALL_MACHINES if machine is None else machine
        counts = dict(self._store.opened.read(lambda on: on.execute(_EXECUTIONS["counts"], (key,)).fetchall()))
        return {status: counts.get(number, 0) for number, status in enumerate(STATUSES)}

    async def history(self, execution: int, *, first: int, pages: int, reverse: bool) -> list[HistoryPage]:
        """See `ExecutionStore.history`."""
        if reverse:
            text, start = _EXECUTIONS["history_reversed"], first or 2**63 - 1
        else:
            text, start = _EXECUTIONS["history"], first
        found = self._store.opened.read(lambda on: on.execute(text, (execution, start, pages)).fetchall())
        return [HistoryPage(*columns) for columns in found]

    async def due(self, shard: int, until_ms: int, limit: int, after: TimerRow | None = None) -> list[TimerRow]:
        """See `ExecutionStore.due`."""
        place = (after.due_ms, after.execution, after.timer) if after is not None else NO_TIMER
        given = (shard, until_ms, *place, limit)
        found = await self._store.opened.scan(lambda on: on.execute(_EXECUTIONS["due"], given).fetchall())
        return [TimerRow(*columns) for columns in found]

    async def pending(self, shard: int) -> tuple[list[OutboxRow], list[InboxRow]]:
        """See `ExecutionStore.pending`."""
        return await self._store.opened.scan(lambda on: _pending(on, shard))

    async def inbox_of(self, shard: int, kinds: Sequence[str], limit: int) -> list[InboxRow]:
        """See `ExecutionStore.inbox_of`."""
        given = (first_id(shard), last_id(shard), json.dumps(list(kinds)), limit)
        found = await self._store.opened.scan(lambda on: on.execute(_EXECUTIONS["inbox_of"], given).fetchall())
        return [InboxRow(*columns) for columns in found]

    async def put_inbox(self, row: InboxRow) -> None:
        """See `ExecutionStore.put_inbox`."""
        await self._store.opened.writer.submit(row)

    async def forget(self, before_ms: int, limit: int) -> int:
        """See `ExecutionStore.forget`."""
        gone: int = await self._store.opened.writer.submit(lambda on: _forget(on, before_ms, limit))
        return gone

    async def discard(self, timers: Sequence[TimerRow], outbox: Sequence[int], inbox: Sequence[int]) -> None:
        """See `ExecutionStore.discard`."""

        def work(connection: sqlite3.Connection) -> None:
            rows = [(shard_of_id(t.execution), t.due_ms, t.execution, t.timer) for t in timers]
            write_rows(connection, "drop_timers", rows)
            write_ids(connection, _WRITES["drop_outbox"], outbox)
            write_ids(connection, _WRITES["drop_inbox"], inbox)

        await self._store.opened.writer.submit(work)


def _one_row(connection: sqlite3.Connection, name: str, *key: Any) -> Row | None:
    columns = connection.execute(_EXECUTIONS[name], key).fetchone()
    return row_of(columns) if columns is not None else None


def _load(connection: sqlite3.Connection, execution: int) -> Stored | None:
    found = connection.execute(_EXECUTIONS["load"], (execution,)).fetchall()
    if not found:
        return None
    frames: dict[int, bytes] = {}
    texts: dict[bytes, bytes] = {}
    for columns in found[1:]:
        if columns[-1] == 1:
            frames[columns[0]] = columns[1]
        else:
            texts[columns[0]] = columns[1]
    *columns, version, state, _ = found[0]
    return Stored(row_of(columns), version, state, frames, texts)


def _pending(connection: sqlite3.Connection, shard: int) -> tuple[list[OutboxRow], list[InboxRow]]:
    bounds = first_id(shard), last_id(shard)
    connection.execute("BEGIN")
    try:
        outbox = connection.execute(_EXECUTIONS["pending_outbox"], bounds).fetchall()
        inbox = connection.execute(_EXECUTIONS["pending_inbox"], bounds).fetchall()
    finally:
        connection.execute("ROLLBACK")
    return [OutboxRow(*columns) for columns in outbox], [InboxRow(*columns) for columns in inbox]


def _forget(connection: sqlite3.Connection, before_ms: int, limit: int) -> int:
    closed = connection.execute(_EXECUTIONS["closed_before"], (before_ms, limit)).fetchall()
    groups = RowGroups()
    ids = [execution for execution, _, _, _ in closed]
    groups.cleared.update(ids)
    for _, shard, machine, status in closed:
        groups.count(shard, machine, status, -1)
    write_groups(connection, groups)
    for name in ("forget_executions", "forget_heads", "forget_history"):
        write_ids(connection, _EXECUTIONS[name], ids)
    ticks = max(before_ms - FIRST_MS, 0) << COUNTER_BITS
    for shard in {shard_of_id(execution) for execution in ids}:
        of_shard = [execution for execution in ids if shard_of_id(execution) == shard]
        low, high = first_id(shard), first_id(shard) + ticks - 1
        write_ids(connection, _EXECUTIONS["forget_timers"], of_shard, shard, before_ms)
        write_ids(connection, _EXECUTIONS["forget_outbox"], of_shard, low, high)
        write_ids(connection, _EXECUTIONS["forget_inbox"], of_shard, low, high)
    write_ids(connection, _EXECUTIONS["forget_counts"], {machine for _, _, machine, _ in closed})
    _shrink(connection)
    return len(ids)


def _shrink(connection: sqlite3.Connection) -> None:
    """Give room back to the disk where much is free; a little is soon used again."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    if free > MOST_FREE_SHARE * pages:
        # One by one, because Python's module leaves this statement after its first page whatever number it is given.
        for _ in range(min(free, VACUUM_PAGES)):
            connection.execute("PRAGMA incremental_vacuum(1)")


class SqliteCatalog:
    """See `CatalogStore`."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    async def get(self, kind: str, key: str) -> Record | None:
        """See `CatalogStore.get`."""
        columns = self._store.opened.read(lambda on: on.execute(_CATALOG["get"], (kind, key)).fetchone())
        return Record(*columns) if columns is not None else None

    async def write(self, put: Sequence[Record], delete: Sequence[tuple[str, str]] = ()) -> bool:
        """See `CatalogStore.write`."""
        fits: bool = await self._store.opened.writer.submit(lambda on: _write_entries(on, put, delete))
        return fits

    async def list_entries(
        self, kind: str, parent: str, *, after: tuple[int, str] | None, limit: int, newest_first: bool
    ) -> list[Record]:
        """See `CatalogStore.list_entries`."""
        text = _CATALOG["list" + ("_newest" if newest_first else "") + ("_after" if after is not None else "")]
        given = (kind, parent, *(after or ()), limit)
        found = await self._store.opened.scan(lambda on: on.execute(text, given).fetchall())
        return [Record(*columns) for columns in found]

    async def next_number(self, name: str) -> int:
        """See `CatalogStore.next_number`."""
        work: Work = lambda on: on.execute(_CATALOG["next_number"], (name,)).fetchone()[0]  # noqa: E731
        number: int = await self._store.opened.writer.submit(work)
        return number


def _write_entries(connection: sqlite3.Connection, put: Sequence[Record], delete: Sequence[tuple[str, str]]) -> bool:
    for record in put:
        found = connection.execute(_CATALOG["version"], (record.kind, record.key)).fetchone()
        if record.version != (found[0] if found is not None else 0) + 1:
            return False
    for key in delete:
        connection.execute(_CATALOG["delete"], key)
    for record in put:
        columns = record.kind, record.key, record.parent, record.sort, record.version, record.body
        connection.execute(_CATALOG["put"], columns)
    return True
