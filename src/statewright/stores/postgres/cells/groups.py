"""How a worker's groups are written: executions alone, each behind the fence of its cell.

1. A write is queued with its cells and their epochs as of that moment: those of its ids. It passes only while this
   node still has all of them under these epochs, even if the node has lost a cell and taken it again meanwhile.
2. The fence is in the statement (`held`): it locks the rows of the cells FOR KEY SHARE, and what belongs to a cell that
   is not locked drops out. The others of the group do not notice.
3. `CellGroups.admit` refuses all other writes before they are queued.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Final
from zlib import crc32

from statewright.errors import CellLost
from statewright.stores.ids import shard_of_id
from statewright.stores.plan import waves
from statewright.stores.postgres.arrays import BigintArray, bigints
from statewright.stores.postgres.cells.membership import Membership
from statewright.stores.postgres.completing import complete
from statewright.stores.postgres.connection import Connection, run, transaction
from statewright.stores.postgres.group import GroupParts, rows_of
from statewright.stores.postgres.opened import not_the_home
from statewright.stores.postgres.writer import Lane, Task, input_columns, outcomes_of
from statewright.stores.protocol import Commit, InboxRow
from statewright.stores.statements import SqlRow, statements

LANES: Final = 3
"""Of executions: a worker has fewer than a store with one owner, because several share the database."""
_FIRST_LANE: Final = 8
"""Lanes below are those of the home."""
_MOST_LANE: Final = 999

_SQL: Final = statements("postgres_cells")
_WRITES: Final = GroupParts(statements("postgres_writes") | statements("postgres_cell_writes"))

Cell = tuple[int, int]
"""The shard of a cell, and an epoch."""


@dataclass(frozen=True, slots=True)
class CellCommit:
    """A commit with its cells as they were when it was given: that of its execution first."""

    commit: Commit
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class CellInput:
    """A row of the inbox with the cell of its execution, as that was when it was given."""

    row: InboxRow
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class CellWork:
    """A transaction that writes rows of cells. `executions` are ids that name these, `cells` are added by `admit`."""

    work: Callable[[Connection], object]
    executions: Sequence[int] | None
    cells: tuple[Cell, ...] = ()

    def __call__(self, connection: Connection) -> object:
        """Run the work inside the transaction."""
        return self.work(connection)


Fenced = CellCommit | CellInput | CellWork


def lanes_of(name: str) -> range:
    """The numbers of a node's lanes, for its counters. Nodes with the same numbers wait for each other's groups."""
    slots = (_MOST_LANE - _FIRST_LANE + 1) // LANES
    first = _FIRST_LANE + crc32(name.encode()) % slots * LANES
    return range(first, first + LANES)


class CellGroups:
    """See `Groups`: executions of the cells that a node has."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership

    def check(self) -> None:
        """See `Groups.check`."""
        self._membership.check()

    def admit(self, task: Task) -> Fenced:
        """See `Groups.admit`. Raises: also CellLost for a cell that this node does not have."""
        self._membership.check()
        if isinstance(task, Commit):
            held = self._membership.held() if task.completed else {}
            # The row of a task in another node's cell is completed wherever that is: its owner has asked for it.
            own = [number for number, _ in task.completed if shard_of_id(number) in held]
            return CellCommit(task, self._cells([task.row.id, *own]))
        if isinstance(task, InboxRow):
            return CellInput(task, self._cells([task.execution]))
        if isinstance(task, CellWork) and task.executions is not None:
            return replace(task, cells=self._cells(task.executions))
        raise not_the_home(self._membership.place)

    def _cells(self, ids: Iterable[int]) -> tuple[Cell, ...]:
        shards = dict.fromkeys(map(shard_of_id, ids))
        return tuple((shard, self._membership.epoch_of(shard)) for shard in shards)

    def write(self, lane: Lane, tasks: Sequence[Fenced]) -> list[object]:
        """See `Groups.write`."""
        answers: list[object] = [None] * len(tasks)
        commits = [(place, task) for place, task in enumerate(tasks) if isinstance(task, CellCommit)]
        write_commits = partial(self._write_commits, lane)
        for wave in waves([one.commit for _, one in commits]):
            lane.answer(write_commits, [commits[place] for place, _ in wave], answers)
        inputs = [(place, task) for place, task in enumerate(tasks) if isinstance(task, CellInput)]
        lane.answer(self._write_inputs, inputs, answers)
        for place, task in enumerate(tasks):
            if isinstance(task, CellWork):
                lane.answer(self._write_work, [(place, task)], answers)
        return answers

    def _write_commits(self, lane: Lane, connection: Connection, group: list[CellCommit]) -> list[object]:
        lane.count_group(connection)
        if any(one.commit.completed for one in group):
            # In a statement of its own, as for a store with one owner. The own cells of the rows that are completed are
            # held first: if one is lost, the task that asked is another owner's to repeat.
            with transaction(connection):
                held = self._held(connection, group)
                kept = [one for one in group if held.issuperset(one.cells)]
                _, passed = self._write_group(lane, connection, kept)
                rows = [row for one in kept if one.commit.row.id in passed for row in one.commit.completed]
                complete(connection, rows)
        else:
            held, passed = self._write_group(lane, connection, group)
            kept = [one for one in group if held.issuperset(one.cells)]
        outcomes = iter(outcomes_of(connection, [one.commit for one in kept], passed))
        return [error or next(outcomes) for error in self._lost(group, held)]

    def _write_group(
        self, lane: Lane, connection: Connection, group: Sequence[CellCommit]
    ) -> tuple[set[Cell], set[int]]:
        """Write commits in one statement: the cells that were held, and the executions that passed."""
        if not group:
            return set(), set()
        text, given = cell_group_statement(group, self._membership.incarnation, lane.number)
        [(shards, epochs, passed)] = run(connection, text, given).fetchall()
        return set(zip(shards, epochs, strict=True)), set(passed)

    def _write_inputs(self, connection: Connection, group: list[CellInput]) -> list[object]:
        given = (
            self._membership.incarnation,
            *_columns(one.cells[0] for one in group),
            *input_columns([one.row for one in group]),
            bigints([one.cells[0][0] for one in group]),
            bigints([one.cells[0][1] for one in group]),
        )
        [(shards, epochs)] = run(connection, _SQL["put_inbox"], given).fetchall()
        return list(self._lost(group, set(zip(shards, epochs, strict=True))))

    def _write_work(self, connection: Connection, works: list[CellWork]) -> list[object]:
        """Run pieces of work, all of whose cells are held, in one transaction."""
        with transaction(connection):
            lost = self._lost(works, self._held(connection, works))
            return [error or work(connection) for work, error in zip(works, lost, strict=True)]

    def _held(self, connection: Connection, group: Sequence[Fenced]) -> set[Cell]:
        """Those cells of a group that this node has; no other node takes them before the transaction ends."""
        cells = _columns(chain.from_iterable(one.cells for one in group))
        found = run(connection, _SQL["held"], (self._membership.incarnation, *cells))
        return {(shard, epoch) for shard, epoch in found}

    def _lost(self, group: Sequence[Fenced], held: Collection[Cell]) -> list[CellLost | None]:
        """For each of a group: the error if one of its cells is lost."""
        missing = [next((cell for cell in one.cells if cell not in held), None) for one in group]
        self._membership.doubt({cell for cell in missing if cell is not None})
        return [None if cell is None else self._membership.not_held(cell[0]) for cell in missing]


def cell_group_statement(group: Sequence[CellCommit], owner: str, lane: int) -> tuple[str, SqlRow]:
    """The statement and its parameters for commits of different executions.

    It answers one row: shards and epochs of the cells that were held, and the ids of the executions that passed.

    Raises: struct.error for a number that no column holds.
    """
    rows = rows_of([one.commit for one in group])
    for name, is_start in (("started", True), ("stepped", False)):
        cells = [one.cells[0] for one in group if (one.commit.expected == 0) is is_start]
        rows[name] = [(*row, *cell) for row, cell in zip(rows[name], cells, strict=True)]
    fence = *_columns(one.cells[0] for one in group), owner
    return _WRITES.statement(rows, fence, lane)


def _columns(cells: Iterable[Cell]) -> tuple[BigintArray, BigintArray]:
    """Cells as two arrays, each of them once."""
    chosen = list(dict.fromkeys(cells))
    return bigints([shard for shard, _ in chosen]), bigints([epoch for _, epoch in chosen])
