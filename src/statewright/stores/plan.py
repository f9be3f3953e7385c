"""Turns commits into rows: selects the commits of a group that may write, and makes the rows of each table. No SQL, no
I/O.

A group is written in waves, each with at most one commit of an execution, because the next one is gated by what the
one before it wrote. In each wave the store looks up which names are taken and which versions stand; `pass_gate`
compares, reports the outcomes and returns the rows of `execution`. `RowGroups` adds up the other changes of passed
commits over all waves to their net effect, so that each table gets one statement of each kind for the whole group.

The comparison needs a store with no other write between the look and the statement: SQLite's one writer, or
rows locked by the look.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from statewright.stores.ids import shard_of_id
from statewright.stores.protocol import MAP_RUNS, STATUSES, Commit, Committed, InboxRow, Outcome, Stale


def total_of(machine: int) -> int:
    """The total that a row counts into: that of executions, or that of Map Runs."""
    return ALL_MACHINES if machine >= 0 else MAP_RUNS


STATUS_NUMBERS: Final = {status: number for number, status in enumerate(STATUSES)}
ALL_MACHINES: Final = -1
"""Stands for the whole store among the counted machines."""


class Standing(NamedTuple):
    """The stored state of an execution when a step arrives."""

    version: int
    status: int
    is_open_ended: bool
    """True if the execution has no stopping instant."""


class Taken(NamedTuple):
    """The outcome of a start whose name an execution has; the store reads its row and answers `Existing`."""

    execution: int


Verdict = Outcome | Taken
Wave = list[tuple[int, Commit]]
"""Commits with their places in the group."""


@dataclass(slots=True)
class ExecutionRows:
    """The rows of one wave in the tables of executions."""

    inserts: list[tuple[object, ...]] = field(default_factory=list)
    """id, shard, machine, name, status, started, stopped, state, tail."""

    heads: list[tuple[object, ...]] = field(default_factory=list)
    """id, head."""

    steps: list[tuple[object, ...]] = field(default_factory=list)
    """id, new version, state, tail: no indexed column."""

    changes: list[tuple[object, ...]] = field(default_factory=list)
    """The same, status, stopped."""


@dataclass(slots=True)
class RowGroups:
    """The net effect of passed commits on the other tables. A key that maps to None or False is deleted.

    Deletions are to be written before insertions; `cleared` first of all.
    """

    cleared: set[int] = field(default_factory=set)
    frames: dict[int, dict[int, bytes | None]] = field(default_factory=lambda: defaultdict(dict))
    texts: dict[int, dict[bytes, bytes]] = field(default_factory=lambda: defaultdict(dict))
    history: list[tuple[int, int, int, int, bytes]] = field(default_factory=list)
    timers: dict[tuple[int, int, int, int], bool] = field(default_factory=dict)
    outbox: dict[int, tuple[int, int, str, bytes] | None] = field(default_factory=dict)
    inbox: dict[int, tuple[int, int, str, bytes] | None] = field(default_factory=dict)
    completed: list[tuple[int, bytes]] = field(default_factory=list)
    counts: dict[tuple[int, int, int], int] = field(default_factory=lambda: defaultdict(int))
    """Differences by (machine, status, shard)."""

    def add_inbox(self, row: InboxRow) -> None:
        """An input that arrives by itself."""
        if self.inbox.get(row.id) is None:
            self.inbox[row.id] = (row.id, row.execution, row.kind, row.body)

    def count(self, shard: int, machine: int, status: int, by: int) -> None:
        """Executions that reach or leave a status."""
        self.counts[machine, status, shard] += by

    def count_rows(self) -> list[tuple[int, int, int, int]]:
        """The differences as rows, those of the whole store with them."""
        totals: dict[tuple[int, int, int], int] = defaultdict(int)
        for (machine, status, shard), by in self.counts.items():
            totals[total_of(machine), status, shard] += by
        rows = [(*key, by) for key, by in self.counts.items() if by]
        return rows + [(*key, by) for key, by in totals.items() if by]

    def add(self, commit: Commit) -> None:
        """The changes of a passed commit outside its row."""
        execution = commit.row.id
        if commit.state is None:
            if commit.expected:
                self.cleared.add(execution)
            self.frames.pop(execution, None)
            self.texts.pop(execution, None)
        else:
            if commit.frames:
                self.frames[execution].update(commit.frames)
            if commit.dropped:
                self.frames[execution].update(dict.fromkeys(commit.dropped))
            if commit.texts:
                self.texts[execution].update(commit.texts)
        page = commit.history
        if page is not None:
            self.history.append((execution, page.first, page.count, page.at_ms, page.body))
        for timer in commit.timers:
            self.timers[shard_of_id(timer.execution), timer.due_ms, timer.execution, timer.timer] = True
        for timer in commit.timers_done:
            self.timers[shard_of_id(timer.execution), timer.due_ms, timer.execution, timer.timer] = False
        for sent in commit.outbox:
            self.outbox[sent.id] = (sent.id, sent.execution, sent.kind, sent.body)
        for number in commit.outbox_done:
            self.outbox[number] = None
        for waits in commit.inbox:
            self.add_inbox(waits)
        for number in commit.inbox_done:
            self.inbox[number] = None
        self.completed += commit.completed


def waves(commits: Sequence[Commit]) -> list[Wave]:
    """The group in waves, each execution's commits in the order given, one a wave."""
    if len({commit.row.id for commit in commits}) == len(commits):
        return [list(enumerate(commits))] if commits else []
    found: list[Wave] = []
    seen: dict[int, int] = {}
    for place, commit in enumerate(commits):
        number = seen.get(commit.row.id, 0)
        seen[commit.row.id] = number + 1
        if number == len(found):
            found.append([])
        found[number].append((place, commit))
    return found


def pass_gate(
    wave: Iterable[tuple[int, Commit]],
    taken: Mapping[int, int],
    standing: Mapping[int, Standing],
    verdicts: list[Verdict],
    groups: RowGroups,
) -> ExecutionRows:
    """Pass those commits of a wave that fit the store's contents.

    `taken` maps the place of a start to the execution that has its name; `standing` has the executions that exist.
    Verdicts go to their places; the rows of passed commits are returned and added to `groups`.
    """
    rows = ExecutionRows()
    named: dict[tuple[int, str], int] = {}
    for place, commit in wave:
        row = commit.row
        status = STATUS_NUMBERS[row.status]
        if commit.expected == 0:
            holder = taken.get(place)
            if holder is None:
                holder = named.setdefault((row.machine, row.name), row.id)
            if holder != row.id or place in taken:
                verdicts[place] = Taken(holder)
                continue
            rows.inserts.append(
                (
                    row.id,
                    row.shard,
                    row.machine,
                    row.name,
                    status,
                    row.started_ms,
                    row.stopped_ms,
                    commit.state,
                    row.tail,
                )
            )
            rows.heads.append((row.id, row.head))
            groups.count(row.shard, row.machine, status, 1)
        else:
            stands = standing.get(row.id)
            if stands is None or stands.version != commit.expected:
                verdicts[place] = Stale()
                continue
            if stands.status == status and stands.is_open_ended and row.stopped_ms is None:
                rows.steps.append((row.id, commit.expected + 1, commit.state, row.tail))
            else:
                rows.changes.append((row.id, commit.expected + 1, commit.state, row.tail, status, row.stopped_ms))
                groups.count(row.shard, row.machine, stands.status, -1)
                groups.count(row.shard, row.machine, status, 1)
        verdicts[place] = Committed(commit.expected + 1)
        groups.add(commit)
    return rows
