"""Executions in the PostgreSQL store. How commits are written is in `writer` and `group`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from statewright.stores.executions.merging import Merge, thin_statement
from statewright.stores.ids import COUNTER_BITS, FIRST_MS, MOST_SHARDS, SHARD, first_id, last_id, shard_of_id
from statewright.stores.plan import ALL_MACHINES, STATUS_NUMBERS, total_of
from statewright.stores.postgres.arrays import bigints
from statewright.stores.postgres.connection import Connection, run
from statewright.stores.postgres.opened import Database
from statewright.stores.postgres.writer import row_of
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
from statewright.stores.statements import SqlRow, statements

_EXECUTIONS: Final = statements("postgres_executions")


class PostgresExecutions:
    """See `ExecutionStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def commit(self, commit: Commit) -> Outcome:
        outcome: Outcome = await self._database.opened.writers.submit(commit)
        return outcome

    def make_way(self) -> None:
        """See `ExecutionStore.make_way`: a group is one call of the driver, so there is little to wait for."""

    async def load(self, execution: int) -> Stored | None:
        found = await self._database.opened.read("load", execution)
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
        found = await self._database.opened.read("row", execution)
        return row_of(found[0]) if found else None

    async def find(self, machine: int, name: str) -> Row | None:
        found = await self._database.opened.read("row_by_name", machine, name)
        return row_of(found[0]) if found else None

    async def list_rows(self, machine: int, *, status: str | None, after: Started | None, limit: int) -> Page:
        place = after or BEHIND_EVERY_START
        filtered = (STATUS_NUMBERS[status],) if status is not None else ()
        name = "list_rows_of_status" if filtered else "list_rows"
        found = await self._database.opened.read(name, machine, *filtered, *place, limit + 1)
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
        name = thin_statement(statuses, oldest_first=oldest_first)
        while wanted := merge.wanted():
            columns = zip(
                *((place, one.machine, one.status, *one.after) for place, one in enumerate(wanted)), strict=True
            )
            arrays = [bigints(column) for column in columns]
            found = await self._database.opened.read(name, *arrays, since_ms, merge.chunk)
            of_part: dict[int, list[SqlRow]] = {}
            for place, *row in found:
                of_part.setdefault(place, []).append(tuple(row))
            for place, part in enumerate(wanted):
                merge.add(part, of_part.get(place, ()))
        return merge.taken()

    async def rows(self, executions: Sequence[int]) -> list[Row]:
        found = await self._database.opened.read("rows", bigints(executions))
        by_id = {columns[0]: row_of(columns) for columns in found}
        return [by_id[one] for one in executions if one in by_id]

    async def count_by_status(self, machine: int | None) -> dict[str, int]:
        found = await self._database.opened.read("counts", ALL_MACHINES if machine is None else machine)
        counts: dict[int, int] = dict(found)
        return {status: counts.get(number, 0) for number, status in enumerate(STATUSES)}

    async def count_open(self, shard: int) -> int:
        # Counters have lanes here, not shards. Other regions have few executions beside the default one.
        low, high = first_id(shard or 1), last_id(shard or MOST_SHARDS - 1)
        ((found,),) = await self._database.opened.read("count_open", STATUS_NUMBERS["RUNNING"], low, high)
        if shard != SHARD:
            return int(found)
        return (await self.count_by_status(None))["RUNNING"] - int(found)

    async def history(self, execution: int, *, first: int, pages: int, reverse: bool) -> list[HistoryPage]:
        if reverse:
            found = await self._database.opened.read("history_reversed", execution, first or 2**63 - 1, pages)
        else:
            found = await self._database.opened.read("history", execution, first, pages)
        return [HistoryPage(*columns) for columns in found]

    async def due(self, shard: int, until_ms: int, limit: int, after: TimerRow | None = None) -> list[TimerRow]:
        place = (after.due_ms, after.execution, after.timer) if after is not None else BEFORE_EVERY_TIMER
        found = await self._database.opened.read("due", shard, until_ms, limit, *place)
        return [TimerRow(*columns) for columns in found]

    async def sent(self, number: int) -> OutboxRow | None:
        found = await self._database.opened.read("sent", number)
        return OutboxRow(*found[0]) if found else None

    async def pending(self, shard: int) -> tuple[list[OutboxRow], list[InboxRow]]:
        found = await self._database.opened.read("pending", first_id(shard), last_id(shard))
        # SQL promises no order without a sort; here it costs next to nothing.
        found.sort(key=itemgetter(0, 1))
        return (
            [OutboxRow(*columns[1:]) for columns in found if columns[0] == 0],
            [InboxRow(*columns[1:]) for columns in found if columns[0] == 1],
        )

    async def inbox_of(self, shards: Sequence[int], kinds: Sequence[str], limit: int) -> list[InboxRow]:
        first, last = [first_id(shard) for shard in shards], [last_id(shard) for shard in shards]
        found = await self._database.opened.read("inbox_of", bigints(first), bigints(last), list(kinds), limit)
        return [InboxRow(*columns) for columns in found]

    async def put_inbox(self, row: InboxRow) -> None:
        await self._database.opened.writers.submit(row)

    async def forget(self, before_ms: int, limit: int) -> int:
        return await self._database.write_owned(lambda on: _forget(on, before_ms, limit))

    async def discard(self, timers: Sequence[TimerRow], outbox: Sequence[int], inbox: Sequence[int]) -> None:
        def work(connection: Connection) -> None:
            if timers:
                rows = [(shard_of_id(timer.execution), timer.due_ms, timer.execution, timer.timer) for timer in timers]
                arrays = tuple(bigints(column) for column in zip(*rows, strict=True))
                run(connection, _EXECUTIONS["discard_timers"], arrays)
            for name, ids in (("discard_outbox", outbox), ("discard_inbox", inbox)):
                if ids:
                    run(connection, _EXECUTIONS[name], (bigints(ids),))

        executions = [timer.execution for timer in timers]
        await self._database.write_owned(work, (*executions, *outbox, *inbox))


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
