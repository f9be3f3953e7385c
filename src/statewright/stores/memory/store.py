"""A store in memory: nothing survives the process. For tests, for `memory:` and as the model of the others.

It applies each commit alone and exactly as the contract says, without the row groups of `plan`, so that the
contract suite can compare it with the stores that use them. A write lets the loop turn once before it answers, as a
store with a disk would.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from statewright.errors import StoreError, Unavailable
from statewright.stores.completion import Complete, Completion, completed
from statewright.stores.ids import SHARD, made_ms, shard_of_id
from statewright.stores.job_queue import GroupFigures
from statewright.stores.memory.objects import MemoryObjects
from statewright.stores.memory.queues import MemoryQueues
from statewright.stores.memory.tables import MemoryTables
from statewright.stores.protocol import (
    CLOSED,
    MAP_RUNS,
    STATUSES,
    Commit,
    Committed,
    EntryRow,
    Existing,
    HistoryPage,
    InboxRow,
    OutboxRow,
    Outcome,
    Page,
    Row,
    Stale,
    Started,
    Stored,
    Thin,
    TimerRow,
)


class MemoryStore:
    """A whole store in memory. Closing keeps its rows, so that a restart can be played on the same object."""

    shard: Final = SHARD
    blobs: Final = None
    minutes: Final = None
    lease_end: Final = None

    def __init__(self) -> None:
        self.executions = MemoryExecutions()
        complete = self.executions.complete
        self.catalogue = MemoryCatalogue(complete)
        self.objects = MemoryObjects(self.catalogue.add, complete)
        self.uploads = self.objects.uploads
        self.queues = MemoryQueues(complete)
        self.tables = MemoryTables(complete)
        self._owner: str | None = None
        self._epoch = 0

    async def open(self, owner: str) -> int:
        if self._owner is not None:
            raise Unavailable(f"this store in memory is in use by {self._owner}")
        self._owner = owner
        self._epoch += 1
        self._set_open(True)
        return self._epoch

    async def close(self) -> None:
        self.kill()

    def kill(self) -> None:
        """Release everything as a dying process does; what was committed stays for the next `open`."""
        self._owner = None
        self._set_open(False)

    def _set_open(self, is_open: bool) -> None:
        self.executions.is_open = self.catalogue.is_open = self.objects.is_open = is_open
        self.queues.is_open = self.tables.is_open = is_open

    def check_lease(self) -> None:
        """See `Store.check_lease`: no other process can have it."""

    async def newest_id(self, shard: int) -> int:
        kept = self.executions
        ids = (*kept.by_id, *kept.outbox, *kept.inbox, *self.queues.messages)
        return max((number for number in ids if shard_of_id(number) == shard), default=0)

    def figures(self) -> GroupFigures:
        """See `Store.figures`: nothing is written, so there are none."""
        return GroupFigures()

    async def examine(self) -> str | None:
        """See `Store.examine`: there is no file."""
        return None

    async def backup(self, target: str) -> None:
        """A store in memory has no file. Raises: StoreError, always."""
        raise StoreError(f"a store in memory cannot be copied to {target}; start the server with a data folder")


@dataclass(slots=True)
class _Kept:
    """One execution with everything that is deleted with it."""

    row: Row
    version: int
    state: bytes | None
    frames: dict[int, bytes] = field(default_factory=dict)
    texts: dict[bytes, bytes] = field(default_factory=dict)
    history: list[HistoryPage] = field(default_factory=list)


class MemoryExecutions:
    """See `ExecutionStore`."""

    def __init__(self) -> None:
        self.is_open = False
        self.by_id: dict[int, _Kept] = {}
        self.outbox: dict[int, OutboxRow] = {}
        self.inbox: dict[int, InboxRow] = {}
        self._by_name: dict[tuple[int, str], int] = {}
        self._by_start: dict[int, list[tuple[int, int]]] = {}
        self._timers: list[tuple[int, int, int, int]] = []
        self._counts: Counter[tuple[int | None, str]] = Counter()

    async def commit(self, commit: Commit) -> Outcome:
        self._check()
        outcome = self._apply(commit)
        await asyncio.sleep(0)
        return outcome

    def make_way(self) -> None:
        """See `ExecutionStore.make_way`: there is no other thread."""

    async def load(self, execution: int) -> Stored | None:
        self._check()
        kept = self.by_id.get(execution)
        if kept is None:
            return None
        return Stored(kept.row, kept.version, kept.state, dict(kept.frames), dict(kept.texts))

    async def row(self, execution: int) -> Row | None:
        self._check()
        kept = self.by_id.get(execution)
        return kept.row if kept is not None else None

    async def find(self, machine: int, name: str) -> Row | None:
        self._check()
        execution = self._by_name.get((machine, name))
        return self.by_id[execution].row if execution is not None else None

    async def list_rows(self, machine: int, *, status: str | None, after: Started | None, limit: int) -> Page:
        self._check()
        starts = self._by_start.get(machine, [])
        end = bisect_left(starts, after) if after is not None else len(starts)
        rows = []
        for position in range(end - 1, -1, -1):
            row = self.by_id[starts[position][1]].row
            if status is None or row.status == status:
                rows.append(row)
                if len(rows) > limit:
                    break
        return Page.of(rows, limit)

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
        self._check()
        places = sorted((place for one in machines for place in self._by_start.get(one, ())), reverse=not oldest_first)
        found: list[Thin] = []
        for place in places:
            row = self.by_id[place[1]].row
            is_past = after is None or (place > after if oldest_first else place < after)
            if is_past and row.started_ms >= since_ms and (not statuses or row.status in statuses):
                found.append(Thin(row.id, row.machine, row.name, row.status, row.started_ms, row.stopped_ms))
                if len(found) == limit:
                    break
        return found

    async def rows(self, executions: Sequence[int]) -> list[Row]:
        self._check()
        return [self.by_id[execution].row for execution in executions if execution in self.by_id]

    async def count_by_status(self, machine: int | None) -> dict[str, int]:
        self._check()
        return {status: self._counts[machine, status] for status in STATUSES}

    async def count_open(self, shard: int) -> int:
        self._check()
        rows = (kept.row for kept in self.by_id.values())
        return sum(1 for row in rows if row.shard == shard and row.status == "RUNNING" and row.machine >= 0)

    async def history(self, execution: int, *, first: int, pages: int, reverse: bool) -> list[HistoryPage]:
        self._check()
        kept = self.by_id.get(execution)
        if kept is None:
            return []
        if reverse:
            return [page for page in reversed(kept.history) if first == 0 or page.first <= first][:pages]
        return [page for page in kept.history if page.first + page.count > first][:pages]

    async def due(self, shard: int, until_ms: int, limit: int, after: TimerRow | None = None) -> list[TimerRow]:
        self._check()
        place = (shard,) if after is None else (shard, after.due_ms, after.execution, after.timer + 1)
        low = bisect_left(self._timers, place)
        high = bisect_left(self._timers, (shard, until_ms + 1))
        found = self._timers[low : min(high, low + limit)]
        return [TimerRow(execution, timer, due_ms) for _, due_ms, execution, timer in found]

    async def sent(self, number: int) -> OutboxRow | None:
        self._check()
        return self.outbox.get(number)

    def complete(self, completion: Completion[Any] | None, outcome: object) -> None:
        """Complete the outbox row of an effect, immediately."""
        self._complete(completed([(completion, outcome)]))

    def _complete(self, rows: Sequence[tuple[int, bytes]]) -> None:
        for number, body in rows:
            row = self.outbox.get(number)
            if row is not None:
                self.outbox[number] = replace(row, body=body)

    async def pending(self, shard: int) -> tuple[list[OutboxRow], list[InboxRow]]:
        self._check()
        return (
            sorted((row for row in self.outbox.values() if shard_of_id(row.execution) == shard), key=_by_id),
            sorted((row for row in self.inbox.values() if shard_of_id(row.execution) == shard), key=_by_id),
        )

    async def inbox_of(self, shards: Sequence[int], kinds: Sequence[str], limit: int) -> list[InboxRow]:
        self._check()
        found: list[InboxRow] = []
        for shard in sorted(shards):
            rows = (row for row in self.inbox.values() if row.kind in kinds and shard_of_id(row.id) == shard)
            found += sorted(rows, key=_by_id)[:limit]
        return found

    async def put_inbox(self, row: InboxRow) -> None:
        self._check()
        self.inbox.setdefault(row.id, row)
        await asyncio.sleep(0)

    async def forget(self, before_ms: int, limit: int) -> int:
        self._check()
        old = [
            (kept.row.stopped_ms, kept.row.id)
            for kept in self.by_id.values()
            if kept.row.status in CLOSED and kept.row.stopped_ms is not None and kept.row.stopped_ms < before_ms
        ]
        gone = {execution for _, execution in sorted(old)[:limit]}
        for execution in gone:
            row = self.by_id.pop(execution).row
            del self._by_name[row.machine, row.name]
            self._by_start[row.machine].remove((row.started_ms, row.id))
            self._count(row, -1)
        sent = [s.id for s in self.outbox.values() if s.execution in gone and made_ms(s.id) < before_ms]
        waits = [w.id for w in self.inbox.values() if w.execution in gone and made_ms(w.id) < before_ms]
        timers = [TimerRow(t[2], t[3], t[1]) for t in self._timers if t[2] in gone and t[1] < before_ms]
        self._delete(timers, sent, waits)
        await asyncio.sleep(0)
        return len(gone)

    async def discard(self, timers: Sequence[TimerRow], outbox: Sequence[int], inbox: Sequence[int]) -> None:
        self._check()
        self._delete(timers, outbox, inbox)
        await asyncio.sleep(0)

    def _check(self) -> None:
        if not self.is_open:
            raise Unavailable("this store in memory is closed")

    def _apply(self, commit: Commit) -> Outcome:
        if commit.expected == 0:
            taken = self._by_name.get((commit.row.machine, commit.row.name))
            if taken is not None:
                return Existing(self.by_id[taken].row)
            if commit.row.id in self.by_id:
                return Stale()
            kept = _Kept(commit.row, 1, commit.state)
            self.by_id[commit.row.id] = kept
            self._by_name[commit.row.machine, commit.row.name] = commit.row.id
            insort(self._by_start.setdefault(commit.row.machine, []), (commit.row.started_ms, commit.row.id))
        else:
            found = self.by_id.get(commit.row.id)
            if found is None or found.version != commit.expected:
                return Stale()
            kept = found
            _check_history(kept, commit)
            self._count(kept.row, -1)
            new = commit.row
            kept.row = replace(kept.row, status=new.status, stopped_ms=new.stopped_ms, tail=new.tail)
            kept.version += 1
            kept.state = commit.state
        self._count(kept.row, 1)
        self._write_rows(kept, commit)
        return Committed(kept.version)

    def _write_rows(self, kept: _Kept, commit: Commit) -> None:
        if commit.state is None:
            kept.frames.clear()
            kept.texts.clear()
        else:
            kept.frames.update(commit.frames)
            for frame in commit.dropped:
                kept.frames.pop(frame, None)
            kept.texts.update(commit.texts)
        if commit.history is not None:
            kept.history.append(commit.history)
        for timer in commit.timers:
            entry = _timer_entry(timer)
            if not self._has_timer(entry):
                insort(self._timers, entry)
        for sent in commit.outbox:
            self.outbox.setdefault(sent.id, sent)
        for waits in commit.inbox:
            self.inbox.setdefault(waits.id, waits)
        self._complete(commit.completed)
        self._delete(commit.timers_done, commit.outbox_done, commit.inbox_done)

    def _delete(self, timers: Sequence[TimerRow], outbox: Sequence[int], inbox: Sequence[int]) -> None:
        for timer in timers:
            entry = _timer_entry(timer)
            if self._has_timer(entry):
                del self._timers[bisect_left(self._timers, entry)]
        for number in outbox:
            self.outbox.pop(number, None)
        for number in inbox:
            self.inbox.pop(number, None)

    def _has_timer(self, entry: tuple[int, int, int, int]) -> bool:
        place = bisect_left(self._timers, entry)
        return place < len(self._timers) and self._timers[place] == entry

    def _count(self, row: Row, by: int) -> None:
        self._counts[None if row.machine >= 0 else MAP_RUNS, row.status] += by
        self._counts[row.machine, row.status] += by


class MemoryCatalogue:
    """See `CatalogueStore`."""

    def __init__(self, complete: Complete) -> None:
        self.is_open = False
        self._complete = complete
        self._entries: dict[tuple[str, str], EntryRow] = {}
        self._lists: dict[tuple[str, str], list[tuple[int, str]]] = {}
        self._numbers: Counter[str] = Counter()

    async def get(self, kind: str, key: str) -> EntryRow | None:
        self._check()
        return self._entries.get((kind, key))

    async def write(
        self,
        put: Sequence[EntryRow],
        delete: Sequence[tuple[str, str]] = (),
        completion: Completion[bool] | None = None,
    ) -> bool:
        self._check()
        fits = all(row.version == self._version(row) + 1 for row in put)
        if fits:
            for kind, key in delete:
                self._remove(kind, key)
            self.add(put)
        self._complete(completion, fits)
        await asyncio.sleep(0)
        return fits

    def add(self, put: Sequence[EntryRow]) -> None:
        """Insert or replace immediately."""
        for row in put:
            self._remove(row.kind, row.key)
            self._entries[row.kind, row.key] = row
            insort(self._lists.setdefault((row.kind, row.parent), []), (row.sort, row.key))

    async def list_entries(
        self, kind: str, parent: str, *, after: tuple[int, str] | None, limit: int, newest_first: bool
    ) -> list[EntryRow]:
        self._check()
        places = self._lists.get((kind, parent), [])
        if newest_first:
            end = bisect_left(places, after) if after is not None else len(places)
            chosen = places[max(0, end - limit) : end][::-1]
        else:
            begin = bisect_left(places, (after[0], after[1] + "\0")) if after is not None else 0
            chosen = places[begin : begin + limit]
        return [self._entries[kind, key] for _, key in chosen]

    async def next_number(self, name: str) -> int:
        self._check()
        self._numbers[name] += 1
        number = self._numbers[name]
        await asyncio.sleep(0)
        return number

    def _check(self) -> None:
        if not self.is_open:
            raise Unavailable("this store in memory is closed")

    def _version(self, row: EntryRow) -> int:
        stored = self._entries.get((row.kind, row.key))
        return stored.version if stored is not None else 0

    def _remove(self, kind: str, key: str) -> None:
        row = self._entries.pop((kind, key), None)
        if row is not None:
            self._lists[kind, row.parent].remove((row.sort, key))


def _check_history(kept: _Kept, commit: Commit) -> None:
    page = commit.history
    if page is None or not kept.history or page.first > kept.history[-1].first:
        return
    if any(page.first == other.first for other in kept.history):
        raise StoreError(f"execution {commit.row.id} has a history page from event {page.first} already")


def _by_id(row: OutboxRow | InboxRow) -> int:
    return row.id


def _timer_entry(timer: TimerRow) -> tuple[int, int, int, int]:
    return shard_of_id(timer.execution), timer.due_ms, timer.execution, timer.timer
