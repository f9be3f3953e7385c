"""The one thread that writes a SQLite store: all that is queued goes into one transaction, and is answered after it.

Commits and inbox rows of a group are merged by `plan` into one statement per table, tasks of queues by `queue_plan`
and changes of tables by `table_plan`; every other write is a function that runs by itself inside the same transaction.
A job that the database refuses is set apart: the group is rolled back and its jobs run again one by one, so that no job
fails because of another.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from statewright.clock import BusyToken, Clock
from statewright.errors import OwnershipLost, Unavailable
from statewright.stores import fail_points
from statewright.stores.job_queue import GroupFigures, JobQueue, RightOfWay, call_loop
from statewright.stores.plan import RowGroups, Standing, Taken, Verdict, Wave, pass_gate, waves
from statewright.stores.protocol import STATUSES, Commit, Existing, InboxRow, Row, Stale
from statewright.stores.queue_plan import QueueTask, write_queue_tasks
from statewright.stores.sqlite.completing import complete
from statewright.stores.sqlite.file import explain
from statewright.stores.sqlite.item_rows import SqliteTableSql
from statewright.stores.sqlite.messages import SqliteQueueSql
from statewright.stores.sqlite.ownership import Ownership
from statewright.stores.statements import SqlRow, row_statements, statements
from statewright.stores.table_plan import write_table_changes
from statewright.stores.table_protocol import Change
from statewright.virtual_clock import VirtualClock

_ROWS: Final = row_statements("writes")
_IDS: Final = statements("writes")
_READ: Final = statements("executions")
_FENCE: Final = "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM shard WHERE id = 0 AND epoch = ?)"
"""Nothing, unless another process has raised the epoch: the row that is missing saves a second call into SQLite."""

Work = Callable[[sqlite3.Connection], object]
Task = Commit | InboxRow | QueueTask | Change | Work


@dataclass(slots=True)
class _Job:
    task: Task
    future: asyncio.Future[Any]


class Writer:
    """Takes jobs from the event loop, and answers them there once they are durable."""

    def __init__(self, connection: sqlite3.Connection, file: Path, ownership: Ownership, clock: Clock | None) -> None:
        """Start the thread; `connection` is its own from now on. Time of `clock` stands still while a job is open."""
        self._connection = connection
        self._file = file
        self._ownership = ownership
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._queue: JobQueue[_Job] = JobQueue(self._loop)
        self.right_of_way = RightOfWay()
        self.figures = GroupFigures()
        self._open_jobs = 0
        self._busy: BusyToken | None = None
        self._written: tuple[list[_Job], list[object]] = ([], [])
        """Jobs that are written and not answered yet; in virtual time."""
        self._closing = False
        self._ended = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="statewright-writer", daemon=True)
        self._thread.start()

    def submit(self, task: Task) -> asyncio.Future[Any]:
        """Queue a write. Raises: Unavailable after `close`."""
        if self._closing:
            raise Unavailable(f"the store {self._file} is closed")
        future: asyncio.Future[Any] = self._loop.create_future()
        if self._clock is not None and self._busy is None:
            self._busy = self._clock.busy()
        self._open_jobs += 1
        self._queue.put(_Job(task, future))
        return future

    async def close(self) -> None:
        """Write what is queued, close the connection and end the thread."""
        if not self._closing:
            self._closing = True
            self._queue.end()
        busy = self._clock.busy() if self._clock is not None else BusyToken()
        with busy:
            await asyncio.shield(self._ended)
            self._thread.join()

    def _run(self) -> None:
        closing = False
        while not closing:
            jobs, closing = self._queue.take()
            if jobs:
                began = time.perf_counter()
                answers = self._write(jobs)
                self.figures.note(len(jobs), time.perf_counter() - began)
                call_loop(self._loop, self._resolve, jobs, answers)
        self._ownership.end(self._connection)
        call_loop(self._loop, self._ended.set_result, None)

    def _resolve(self, jobs: list[_Job], answers: list[object]) -> None:
        if isinstance(self._clock, VirtualClock):
            # How jobs fell into groups must not show: all are answered when the last one is.
            self._written[0].extend(jobs)
            self._written[1].extend(answers)
            if len(self._written[0]) == self._open_jobs and self._busy is not None:
                (jobs, answers), self._written = self._written, ([], [])
                # Writes from now on form a new group, even before these are answered.
                self._open_jobs -= len(jobs)
                busy, self._busy = self._busy, None
                self._clock.at_rest(0, lambda: self._answer(jobs, answers))
                busy.release()
        else:
            self._open_jobs -= len(jobs)
            self._answer(jobs, answers)

    def _answer(self, jobs: list[_Job], answers: list[object]) -> None:
        for job, answer in zip(jobs, answers, strict=True):
            if job.future.done():
                continue
            if isinstance(answer, Exception):
                job.future.set_exception(answer)
            else:
                job.future.set_result(answer)
        if self._open_jobs == 0 and self._busy is not None:
            # Through the loop: callers that were just answered run first and may have more to write at this instant.
            self._loop.call_soon(self._resume_time)

    def _resume_time(self) -> None:
        if self._open_jobs == 0 and self._busy is not None:
            busy, self._busy = self._busy, None
            busy.release()

    def _write(self, jobs: list[_Job]) -> list[object]:
        try:
            self._ownership.check()
            return self._transaction(jobs)
        except OwnershipLost as lost:
            return [OwnershipLost(*lost.args) for _ in jobs]
        except Exception as error:
            answer = explain(error, self._file) if isinstance(error, sqlite3.Error) else error
            if isinstance(answer, Unavailable):
                return [Unavailable(*answer.args) for _ in jobs]
            if len(jobs) > 1:
                return [self._write([job])[0] for job in jobs]
            if isinstance(error, sqlite3.IntegrityError) and self._is_taken_id(jobs[0].task):
                return [Stale()]
            return [answer]

    def _transaction(self, jobs: list[_Job]) -> list[object]:
        connection = self._connection
        if connection.in_transaction:
            # A disk that failed during a rollback.
            connection.execute("ROLLBACK")
        connection.execute("BEGIN IMMEDIATE")
        try:
            self.right_of_way.enter()
            try:
                if connection.execute(_FENCE, (self._ownership.epoch,)).fetchone() is not None:
                    raise self._ownership.taken()
                answers = _write_jobs(connection, [job.task for job in jobs])
            finally:
                # The commit itself is one call without the interpreter's lock, however long the disk takes.
                self.right_of_way.leave()
            fail_points.passed(fail_points.BEFORE_COMMIT)
            connection.execute("COMMIT")
            fail_points.passed(fail_points.AFTER_COMMIT)
        except BaseException:
            # A full disk may have rolled it back already.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return answers

    def _is_taken_id(self, task: Task) -> bool:
        if not isinstance(task, Commit) or task.expected != 0:
            return False
        return self._connection.execute(_READ["row"], (task.row.id,)).fetchone() is not None


def row_of(columns: SqlRow) -> Row:
    """A row as `sql/executions.sql` selects it."""
    number, shard, machine, name, status, started_ms, stopped_ms, head, tail = columns
    return Row(number, shard, machine, name, STATUSES[status], started_ms, stopped_ms, head, tail)


def write_rows(connection: sqlite3.Connection, name: str, rows: Sequence[SqlRow]) -> None:
    """Run a statement of `sql/writes.sql` over rows; none is nothing."""
    if rows:
        for text, values in _ROWS[name].runs(rows):
            connection.execute(text, values)


def write_ids(connection: sqlite3.Connection, text: str, ids: Iterable[int], *more: int) -> None:
    """Run a statement over a JSON array of ids; none is nothing."""
    joined = ",".join(map(str, ids))
    if joined:
        connection.execute(text, (f"[{joined}]", *more))


def write_groups(connection: sqlite3.Connection, groups: RowGroups) -> None:
    """Write what `plan` made of a group, deletions first."""
    write_ids(connection, _IDS["clear_frames"], groups.cleared)
    write_ids(connection, _IDS["clear_payloads"], groups.cleared)
    frames = [(execution, *frame) for execution, of_one in groups.frames.items() for frame in of_one.items()]
    write_rows(connection, "drop_frames", [frame[:2] for frame in frames if frame[2] is None])
    write_rows(connection, "put_frames", [frame for frame in frames if frame[2] is not None])
    texts = [(execution, *text) for execution, of_one in groups.texts.items() for text in of_one.items()]
    write_rows(connection, "put_payloads", texts)
    write_rows(connection, "insert_history", groups.history)
    write_rows(connection, "drop_timers", [timer for timer, stays in groups.timers.items() if not stays])
    write_rows(connection, "put_timers", [timer for timer, stays in groups.timers.items() if stays])
    write_ids(connection, _IDS["drop_outbox"], [number for number, sent in groups.outbox.items() if sent is None])
    write_rows(connection, "put_outbox", [sent for sent in groups.outbox.values() if sent is not None])
    write_ids(connection, _IDS["drop_inbox"], [number for number, waits in groups.inbox.items() if waits is None])
    write_rows(connection, "put_inbox", [waits for waits in groups.inbox.values() if waits is not None])
    complete(connection, groups.completed)
    write_rows(connection, "count_executions", groups.count_rows())


def _write_jobs(connection: sqlite3.Connection, tasks: Sequence[Task]) -> list[object]:
    answers: list[object] = [None] * len(tasks)
    groups = RowGroups()
    commits: list[Commit] = []
    places: list[int] = []
    messages: list[tuple[int, QueueTask]] = []
    changes: list[tuple[int, Change]] = []
    others: list[tuple[int, Work]] = []
    for place, task in enumerate(tasks):
        if isinstance(task, Commit):
            commits.append(task)
            places.append(place)
        elif isinstance(task, InboxRow):
            groups.add_inbox(task)
        elif isinstance(task, QueueTask):
            messages.append((place, task))
        elif isinstance(task, Change):
            changes.append((place, task))
        else:
            others.append((place, task))
    verdicts = _write_commits(connection, commits, groups)
    write_groups(connection, groups)
    for place, verdict in zip(places, verdicts, strict=True):
        if isinstance(verdict, Taken):
            columns = connection.execute(_READ["row"], (verdict.execution,)).fetchone()
            answers[place] = Existing(row_of(columns))
        else:
            answers[place] = verdict
    if messages:
        found = write_queue_tasks(SqliteQueueSql(connection), [task for _, task in messages])
        for (place, _), answer in zip(messages, found, strict=True):
            answers[place] = answer
    if changes:
        found = write_table_changes(SqliteTableSql(connection), [task for _, task in changes])
        for (place, _), answer in zip(changes, found, strict=True):
            answers[place] = answer
    for place, work in others:
        answers[place] = work(connection)
    return answers


def _write_commits(connection: sqlite3.Connection, commits: Sequence[Commit], groups: RowGroups) -> list[Verdict]:
    verdicts: list[Verdict] = [Stale()] * len(commits)
    for wave in waves(commits):
        rows = pass_gate(wave, _taken(connection, wave), _standing(connection, wave), verdicts, groups)
        write_rows(connection, "insert_executions", rows.inserts)
        write_rows(connection, "insert_heads", rows.heads)
        write_rows(connection, "step_executions", rows.steps)
        write_rows(connection, "change_executions", rows.changes)
    return verdicts


def _taken(connection: sqlite3.Connection, wave: Wave) -> dict[int, int]:
    """The starts of a wave whose names are taken: their places, and who has them."""
    named = [(place, commit.row.machine, commit.row.name) for place, commit in wave if commit.expected == 0]
    found: dict[int, int] = {}
    for text, values in _ROWS["taken_names"].runs(named) if named else ():
        (joined,) = connection.execute(text, values).fetchone()
        numbers = orjson.loads(f"[{joined or ''}]")
        found.update(zip(numbers[::2], numbers[1::2], strict=True))
    return found


def _standing(connection: sqlite3.Connection, wave: Wave) -> dict[int, Standing]:
    """The stored state of the executions that a wave steps."""
    ids = ",".join([str(commit.row.id) for _, commit in wave if commit.expected != 0])
    if not ids:
        return {}
    (joined,) = connection.execute(_IDS["versions"], (f"[{ids}]",)).fetchone()
    numbers = orjson.loads(f"[{joined or ''}]")
    found = map(Standing, numbers[1::4], numbers[2::4], numbers[3::4])
    return dict(zip(numbers[::4], found, strict=True))
