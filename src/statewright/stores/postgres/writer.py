"""The threads that write a PostgreSQL store: each has a connection, and writes all that is queued for it as one group.

A thread with its connection is a lane. The larger a group, the less each of its commits costs, so a lane is filled
before the next one is used. A commit goes to the lane in which its execution has another one under way, so that they
stay in order; lanes are chosen by name, so that starts of one name stay in order, too. The catalogue has a lane of its
own, so that its writes wait for no group of commits. A job that the database refuses is set apart: the group runs again
one by one, so that no job fails because of another.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from types import UnionType
from typing import Any, Final, Protocol, TypeVar

import psycopg

from statewright.clock import BusyToken, Clock
from statewright.errors import OwnershipLost, Unavailable
from statewright.stores.job_queue import GroupFigures, JobQueue, call_loop
from statewright.stores.plan import waves
from statewright.stores.postgres.arrays import Packed, bigints, byteas, texts
from statewright.stores.postgres.completing import complete
from statewright.stores.postgres.connection import (
    WRITE_TIMEOUT_MS,
    Connection,
    Idle,
    NotCommittedError,
    connect,
    explain,
    is_worth_another_try,
    run,
    transaction,
)
from statewright.stores.postgres.entry_group import EntryWrite, NumberRequest, next_numbers, write_entries
from statewright.stores.postgres.group import group_statement
from statewright.stores.postgres.item_rows import PostgresTableSql
from statewright.stores.postgres.lease import Lease
from statewright.stores.postgres.messages import PostgresQueueSql
from statewright.stores.protocol import STATUSES, Commit, Committed, Existing, InboxRow, Outcome, Row, Stale
from statewright.stores.queue_plan import QueueTask, write_queue_tasks
from statewright.stores.statements import SqlRow, statements
from statewright.stores.table_plan import write_table_changes
from statewright.stores.table_protocol import Change

LANES: Final = 4
"""Of executions; the first of them also carries messages, items and objects."""
FULL_LANE: Final = 128
"""Open jobs from which on the next lane is used."""
TRIES: Final = 3

_SQL: Final = statements("postgres_executions")
_GROUPED: Final = (Commit, InboxRow, QueueTask, Change, EntryWrite, NumberRequest)

T = TypeVar("T")
Work = Callable[[Connection], object]
Task = Commit | InboxRow | QueueTask | Change | EntryWrite | NumberRequest | Work


class Groups(Protocol):
    """Decides on what may be written, and writes the tasks of a lane in groups."""

    def check(self) -> None:
        """Check that this process may still write. Raises: OwnershipLost, Unavailable."""

    def admit(self, task: Task) -> Any:
        """The form in which a task is queued. Raises: as `check`; StoreError if this process must not write it."""

    def write(self, lane: Lane, tasks: Sequence[Any]) -> list[object]:
        """Write what was queued; the answers in the same order, exceptions among them. In the lane's thread."""


@dataclass(slots=True)
class _Job:
    task: Any
    future: asyncio.Future[Any]
    lane: Lane
    name: str | None
    """That of the execution, for a commit."""


class Writers:
    """Takes jobs from the event loop, and answers them there once they are durable."""

    def __init__(
        self,
        address: str,
        place: str,
        groups: Groups,
        clock: Clock | None,
        *,
        lanes: Sequence[int] = range(LANES),
        of_catalogue: int | None = LANES,
    ) -> None:
        """Start the threads; they connect with their first job. Time of `clock` stands still while a job is open.

        `lanes` are the numbers of those that write executions, `of_catalogue` that of the one that writes the
        catalogue. No two lanes of any processes that write one database may have the same number, for that of their
        counters.
        """
        self._place = place
        self._groups = groups
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._open_jobs = 0
        self._busy: BusyToken | None = None
        self._is_closing = False
        self._under_way: dict[str, tuple[Lane, int]] = {}
        self.figures = GroupFigures()
        made = [
            Lane(number, address, place, groups, self._loop, self._resolve, self.figures)
            for number in (*lanes, *(() if of_catalogue is None else (of_catalogue,)))
        ]
        self._every_lane = made
        self._lanes = made[: len(lanes)]
        self._of_catalogue = made[-1]

    def submit(self, task: Task) -> asyncio.Future[Any]:
        """Queue a write.

        Raises: Unavailable after `close`, or while the lease is in doubt; OwnershipLost; StoreError for a task that
        this process must not write.
        """
        if self._is_closing:
            raise Unavailable(f"the store {self._place} is closed")
        queued = self._groups.admit(task)
        future: asyncio.Future[Any] = self._loop.create_future()
        if self._clock is not None and self._busy is None:
            self._busy = self._clock.busy()
        self._open_jobs += 1
        name = task.row.name if isinstance(task, Commit) else None
        if name is not None:
            lane = self._lane_for(name)
        else:
            lane = self._of_catalogue if isinstance(task, EntryWrite | NumberRequest) else self._lanes[0]
        lane.open_jobs += 1
        lane.queue.put(_Job(queued, future, lane, name))
        return future

    def _lane_for(self, name: str) -> Lane:
        found, many = self._under_way.get(name, (None, 0))
        if found is None:
            found = next((lane for lane in self._lanes if lane.open_jobs < FULL_LANE), None)
        if found is None:
            found = min(self._lanes, key=_open_jobs)
        self._under_way[name] = found, many + 1
        return found

    async def close(self) -> None:
        """Write what is queued, close the connections and end the threads."""
        self._is_closing = True
        busy = self._clock.busy() if self._clock is not None else BusyToken()
        with busy:
            for lane in self._every_lane:
                lane.queue.end()
            for lane in self._every_lane:
                await asyncio.shield(lane.ended)
                lane.thread.join()

    def _resolve(self, jobs: list[_Job], answers: list[object]) -> None:
        self._open_jobs -= len(jobs)
        for job, answer in zip(jobs, answers, strict=True):
            job.lane.open_jobs -= 1
            if job.name is not None:
                self._leave(job.name)
            if job.future.done():
                continue
            if isinstance(answer, Exception):
                job.future.set_exception(answer)
            else:
                job.future.set_result(answer)
        if self._open_jobs == 0 and self._busy is not None:
            # Through the loop: callers that were just answered run first and may have more to write at this instant.
            self._loop.call_soon(self._resume_time)

    def _leave(self, name: str) -> None:
        lane, many = self._under_way[name]
        if many == 1:
            del self._under_way[name]
        else:
            self._under_way[name] = lane, many - 1

    def _resume_time(self) -> None:
        if self._open_jobs == 0 and self._busy is not None:
            busy, self._busy = self._busy, None
            busy.release()


class Lane:
    """One thread with one connection."""

    def __init__(
        self,
        number: int,
        address: str,
        place: str,
        groups: Groups,
        loop: asyncio.AbstractEventLoop,
        resolve: Callable[[list[_Job], list[object]], None],
        figures: GroupFigures,
    ) -> None:
        self.number = number
        self.figures = figures
        self.queue: JobQueue[_Job] = JobQueue(loop)
        self.ended = loop.create_future()
        self.open_jobs = 0
        """Those without an answer; counted on the event loop."""
        self._address = address
        self._place = place
        self._groups = groups
        self._loop = loop
        self._answer = resolve
        self._connection: Connection | None = None
        self._idle: Idle | None = None
        self._written = 0
        self.thread = threading.Thread(target=self._run, name=f"statewright-writer-{number}", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        is_closing = False
        while not is_closing:
            jobs, is_closing = self.queue.take()
            if jobs:
                began = time.perf_counter()
                answers = self._groups.write(self, [job.task for job in jobs])
                self.figures.note(len(jobs), time.perf_counter() - began)
                call_loop(self._loop, self._answer, jobs, answers)
        self._drop_connection()
        call_loop(self._loop, self.ended.set_result, None)

    def guard(
        self, write: Callable[[Connection, list[T]], Sequence[object]], tasks: list[T], tries: int = 1
    ) -> Sequence[object]:
        """Write tasks of a kind together; if that fails, fail each of them, or find the one at fault."""
        try:
            self._groups.check()
            return write(self._connected(), tasks)
        except Exception as raised:
            error = raised.problem if isinstance(raised, NotCommittedError) else raised
            # A connection that broke before the COMMIT was sent is replaced by the next attempt.
            is_harmless = isinstance(raised, NotCommittedError) and self._is_broken()
            if (is_harmless or is_worth_another_try(error)) and tries < TRIES:
                return self.guard(write, tasks, tries + 1)
            answer = explain(error, self._place) if isinstance(error, psycopg.Error) else error
            if isinstance(answer, OwnershipLost | Unavailable):
                if isinstance(answer, Unavailable):
                    self._drop_connection()
                return [type(answer)(*answer.args) for _ in tasks]
            if len(tasks) > 1:
                return [self.guard(write, [task])[0] for task in tasks]
            return [answer]

    def answer(
        self,
        write: Callable[[Connection, list[T]], Sequence[object]],
        placed: Sequence[tuple[int, T]],
        answers: list[object],
    ) -> None:
        """Write tasks of a kind together, if there are any; put their answers at their places."""
        if placed:
            found = self.guard(write, [task for _, task in placed])
            for (place, _), answer in zip(placed, found, strict=True):
                answers[place] = answer

    def count_group(self, connection: Connection) -> None:
        """Note that a group of commits is about to be written."""
        self._written += 1
        if self._written >= 16 and self._written & (self._written - 1) == 0:
            # Tables have grown by a known factor since the plans were made, and may deserve others.
            connection.execute("DISCARD PLANS", prepare=False)

    def _connected(self) -> Connection:
        connection = self._connection
        if connection is not None and (connection.broken or self._idle is None or self._idle.is_broken()):
            # Nothing has been sent on it, so the work begins on another one as if this had never been.
            self._drop_connection()
        if self._connection is None:
            self._connection = connect(self._address, WRITE_TIMEOUT_MS)
            self._idle = Idle(self._connection)
            self._written = 0
        return self._connection

    def _is_broken(self) -> bool:
        return self._connection is not None and self._connection.broken

    def _drop_connection(self) -> None:
        connection, self._connection, self._idle = self._connection, None, None
        if connection is not None:
            connection.close()


class LeaseGroups:
    """See `Groups`: everything, by the one owner of the store."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._by_kind: tuple[tuple[type | UnionType, Callable[[Connection, list[Any]], Sequence[object]]], ...] = (
            (InboxRow, self._write_inputs),
            (QueueTask, self._write_queue_tasks),
            (Change, self._write_table_changes),
            (EntryWrite, lambda on, writes: write_entries(on, lease, writes)),
            (NumberRequest, lambda on, requests: next_numbers(on, lease, requests)),
        )
        """How the tasks of a group that are of one kind are written together, in this order, after its commits."""

    def check(self) -> None:
        """See `Groups.check`."""
        self._lease.check()

    def admit(self, task: Task) -> Any:
        """See `Groups.admit`."""
        self._lease.check()
        return task

    def write(self, lane: Lane, tasks: Sequence[Task]) -> list[object]:
        """See `Groups.write`."""
        answers: list[object] = [None] * len(tasks)
        commits = [(place, task) for place, task in enumerate(tasks) if isinstance(task, Commit)]
        write_commits = partial(self._write_commits, lane)
        for wave in waves([commit for _, commit in commits]):
            lane.answer(write_commits, [commits[place] for place, _ in wave], answers)
        for kind, write in self._by_kind:
            lane.answer(write, [(place, task) for place, task in enumerate(tasks) if isinstance(task, kind)], answers)
        for place, task in enumerate(tasks):
            if not isinstance(task, _GROUPED):
                lane.answer(lambda on, works: [works[0](on)], [(place, task)], answers)
        return answers

    def _write_commits(self, lane: Lane, connection: Connection, commits: list[Commit]) -> list[Outcome]:
        lane.count_group(connection)
        if any(commit.completed for commit in commits):
            # In a statement of its own, because one statement may not touch a row twice.
            with transaction(connection):
                passed = self._write_group(lane, connection, commits)
                rows = [row for commit in commits if commit.row.id in passed for row in commit.completed]
                complete(connection, rows)
        else:
            passed = self._write_group(lane, connection, commits)
        return outcomes_of(connection, commits, passed)

    def _write_group(self, lane: Lane, connection: Connection, commits: list[Commit]) -> set[int]:
        """Write commits in one statement; the executions that passed. Raises: OwnershipLost."""
        text, given = group_statement(commits, self._lease.owner, self._lease.epoch, lane.number)
        found = run(connection, text, given).fetchone()
        if found is None or not found[0]:
            raise self._lease.taken_over()
        return set(found[1])

    def _write_queue_tasks(self, connection: Connection, tasks: list[QueueTask]) -> list[object]:
        with transaction(connection):
            self._hold(connection)
            return write_queue_tasks(PostgresQueueSql(connection), tasks)

    def _write_table_changes(self, connection: Connection, changes: list[Change]) -> list[object]:
        with transaction(connection):
            self._hold(connection)
            return write_table_changes(PostgresTableSql(connection), changes)

    def _write_inputs(self, connection: Connection, rows: list[InboxRow]) -> list[None]:
        given = self._lease.owner, self._lease.epoch, *input_columns(rows)
        found = run(connection, _SQL["put_inbox"], given).fetchone()
        if found is None or not found[0]:
            raise self._lease.taken_over()
        return [None] * len(rows)

    def _hold(self, connection: Connection) -> None:
        """Check that this process owns the store. Raises: OwnershipLost."""
        if run(connection, _SQL["held"], (self._lease.owner, self._lease.epoch)).fetchone() is None:
            raise self._lease.taken_over()


def input_columns(rows: Sequence[InboxRow]) -> tuple[Packed, ...]:
    """Rows of the inbox as the arrays that `put_inbox` takes."""
    return (
        bigints([row.id for row in rows]),
        bigints([row.execution for row in rows]),
        texts([row.kind for row in rows]),
        byteas([row.body for row in rows]),
    )


def outcomes_of(connection: Connection, commits: Sequence[Commit], passed: Collection[int]) -> list[Outcome]:
    """The answers to commits of a group, of which some executions passed."""
    if len(passed) == len(commits):
        return [Committed(commit.expected + 1) for commit in commits]
    refused = [commit for commit in commits if commit.expected == 0 and commit.row.id not in passed]
    holders = _holders(connection, refused)
    return [
        Committed(commit.expected + 1) if commit.row.id in passed else holders.get(commit.row.id, Stale())
        for commit in commits
    ]


def _holders(connection: Connection, refused: list[Commit]) -> dict[int, Outcome]:
    """The answers of starts that did not pass."""
    if not refused:
        return {}
    given = bigints([commit.row.machine for commit in refused]), texts([commit.row.name for commit in refused])
    rows = [row_of(columns) for columns in run(connection, _SQL["rows_by_names"], given)]
    by_name = {(row.machine, row.name): row for row in rows}
    found: dict[int, Outcome] = {}
    for commit in refused:
        holder = by_name.get((commit.row.machine, commit.row.name))
        if holder is not None:
            found[commit.row.id] = Existing(holder)
    return found


def _open_jobs(lane: Lane) -> int:
    return lane.open_jobs


def row_of(columns: SqlRow) -> Row:
    """A row as `sql/postgres_executions.sql` selects it."""
    number, shard, machine, name, status, started_ms, stopped_ms, head, tail = columns[:9]
    return Row(number, shard, machine, name, STATUSES[status], started_ms, stopped_ms, head, tail)
