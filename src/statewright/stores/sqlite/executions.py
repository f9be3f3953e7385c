"""Executions in the SQLite store. How commits are written is in `writer`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Final

from statewright.stores.executions.merging import Merge, thin_statement
from statewright.stores.ids import COUNTER_BITS, FIRST_MS, first_id, last_id, shard_of_id
from statewright.stores.plan import ALL_MACHINES, STATUS_NUMBERS, RowGroups
from statewright.stores.protocol import (
    BEFORE_EVERY_TIMER,
    BEHIND_EVERY_START,
    STATUSES,
    Commit,
    HistoryPage,
    InboxRow,
    OutboxRow,
    Outcome,
    Page,
    Row,
    Started,
    Stored,
    Thin,
    TimerRow,
)
from statewright.stores.sqlite.opened import SqliteFile
from statewright.stores.sqlite.writer import row_of, write_groups, write_ids, write_rows
from statewright.stores.statements import statements

MOST_FREE_SHARE: Final = 0.25
VACUUM_PAGES: Final = 500
_EXECUTIONS: Final = statements("executions")
_WRITES: Final = statements("writes")


class SqliteExecutions:
    """See `ExecutionStore`."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def commit(self, commit: Commit) -> Outcome:
        outcome: Outcome = await self._file.opened.writer.submit(commit)
        return outcome

    def make_way(self) -> None:
        self._file.opened.writer.right_of_way.make_way()

    async def load(self, execution: int) -> Stored | None:
        return self._file.opened.read(lambda on: _load(on, execution))

    async def row(self, execution: int) -> Row | None:
        return self._file.opened.read(lambda on: _one_row(on, "row", execution))

    async def find(self, machine: int, name: str) -> Row | None:
        return self._file.opened.read(lambda on: _one_row(on, "row_by_name", machine, name))

    async def list_rows(self, machine: int, *, status: str | None, after: Started | None, limit: int) -> Page:
        place = after or BEHIND_EVERY_START
        filtered = (STATUS_NUMBERS[status],) if status is not None else ()
        text = _EXECUTIONS["list_rows_of_status" if filtered else "list_rows"]
        given = (machine, *filtered, *place, limit + 1)
        found = await self._file.opened.scan(lambda on: on.execute(text, given).fetchall())
        return Page.of([row_of(columns) for columns in found], limit)

    async def thin_rows(
        self,
        machines: Sequence[int],
        *,
        statuses: Sequence[str],
        after: Started | None,
        since_ms: int,
        limit: int,
        oldest_first: bool = False,
    ) -> list[Thin]:
        merge = Merge(machines, statuses, after, limit, oldest_first=oldest_first)
        text = _EXECUTIONS[thin_statement(statuses, oldest_first=oldest_first)]
        return await self._file.opened.scan(lambda on: _merged(on, merge, text, since_ms))

    async def rows(self, executions: Sequence[int]) -> list[Row]:
        given = (json.dumps(list(executions)),)
        found = await self._file.opened.scan(lambda on: on.execute(_EXECUTIONS["rows"], given).fetchall())
        by_id = {columns[0]: row_of(columns) for columns in found}
        return [by_id[one] for one in executions if one in by_id]

    async def count_by_status(self, machine: int | None) -> dict[str, int]:
        key = ALL_MACHINES if machine is None else machine
        counts = dict(self._file.opened.read(lambda on: on.execute(_EXECUTIONS["counts"], (key,)).fetchall()))
        return {status: counts.get(number, 0) for number, status in enumerate(STATUSES)}

    async def count_open(self, shard: int) -> int:
        given = (ALL_MACHINES, STATUS_NUMBERS["RUNNING"], shard)
        found = self._file.opened.read(lambda on: on.execute(_EXECUTIONS["count_open"], given).fetchone())
        return int(found[0])

    async def history(self, execution: int, *, first: int, pages: int, reverse: bool) -> list[HistoryPage]:
        if reverse:
            text, start = _EXECUTIONS["history_reversed"], first or 2**63 - 1
        else:
            text, start = _EXECUTIONS["history"], first
        found = self._file.opened.read(lambda on: on.execute(text, (execution, start, pages)).fetchall())
        return [HistoryPage(*columns) for columns in found]

    async def due(self, shard: int, until_ms: int, limit: int, after: TimerRow | None = None) -> list[TimerRow]:
        place = (after.due_ms, after.execution, after.timer) if after is not None else BEFORE_EVERY_TIMER
        given = (shard, until_ms, *place, limit)
        found = await self._file.opened.scan(lambda on: on.execute(_EXECUTIONS["due"], given).fetchall())
        return [TimerRow(*columns) for columns in found]

    async def sent(self, number: int) -> OutboxRow | None:
        columns = self._file.opened.read(lambda on: on.execute(_EXECUTIONS["sent"], (number,)).fetchone())
        return OutboxRow(*columns) if columns is not None else None

    async def pending(self, shard: int) -> tuple[list[OutboxRow], list[InboxRow]]:
        return await self._file.opened.scan(lambda on: _pending(on, shard))

    async def inbox_of(self, shards: Sequence[int], kinds: Sequence[str], limit: int) -> list[InboxRow]:
        wanted = json.dumps(list(kinds))
        given = [(first_id(shard), last_id(shard), wanted, limit) for shard in sorted(shards)]
        text = _EXECUTIONS["inbox_of"]
        found = await self._file.opened.scan(lambda on: [row for one in given for row in on.execute(text, one)])
        return [InboxRow(*columns) for columns in found]

    async def put_inbox(self, row: InboxRow) -> None:
        await self._file.opened.writer.submit(row)

    async def forget(self, before_ms: int, limit: int) -> int:
        gone: int = await self._file.opened.writer.submit(lambda on: _forget(on, before_ms, limit))
        return gone

    async def discard(self, timers: Sequence[TimerRow], outbox: Sequence[int], inbox: Sequence[int]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            rows = [(shard_of_id(t.execution), t.due_ms, t.execution, t.timer) for t in timers]
            write_rows(connection, "drop_timers", rows)
            write_ids(connection, _WRITES["drop_outbox"], outbox)
            write_ids(connection, _WRITES["drop_inbox"], inbox)

        await self._file.opened.writer.submit(work)


def _one_row(connection: sqlite3.Connection, name: str, *key: object) -> Row | None:
    columns = connection.execute(_EXECUTIONS[name], key).fetchone()
    return row_of(columns) if columns is not None else None


def _merged(connection: sqlite3.Connection, merge: Merge, text: str, since_ms: int) -> list[Thin]:
    connection.execute("BEGIN")
    try:
        while wanted := merge.wanted():
            for part in wanted:
                status = () if part.status is None else (part.status,)
                given = (part.machine, *status, *part.after, since_ms, merge.chunk)
                merge.add(part, connection.execute(text, given).fetchall())
    finally:
        connection.execute("ROLLBACK")
    return merge.taken()


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
    """Return free pages to the disk if there are many; a few are soon used again."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    if free > MOST_FREE_SHARE * pages:
        # One by one, because Python's module leaves this statement after its first page for any number.
        for _ in range(min(free, VACUUM_PAGES)):
            connection.execute("PRAGMA incremental_vacuum(1)")
