"""Changes of tables in an SQL store: a group of them becomes one look and one statement of each kind. No SQL, no I/O.

The look takes every item that a change of the group names. Then each change decides in turn, seeing what those before
it wrote, and the net effect is written at the end. A change that refuses writes nothing and does not affect the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from statewright.stores.completion import completed
from statewright.stores.statements import SqlRow
from statewright.stores.table_protocol import Change, Counted, ItemKey, StoredItem


class TableSql(Protocol):
    """The named statements of `sql/tables.sql` and its kin, inside the transaction of a group."""

    def current(self, keys: Sequence[ItemKey]) -> list[tuple[int, int, str]]:
        """Those items that are there: place among the keys, size, body."""

    def write(self, name: str, rows: Sequence[SqlRow]) -> None:
        """Run a statement over rows; none is nothing."""

    def complete(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Complete outbox rows, by id, with bodies; none is nothing."""


def write_table_changes(sql: TableSql, changes: Sequence[Change]) -> list[object]:
    """Execute the changes of a group; their answers, or the exceptions they raised."""
    wanted = list(dict.fromkeys([key for change in changes for key in change.keys]))
    standing: dict[ItemKey, StoredItem | None] = {}
    for place, size, body in sql.current(wanted) if wanted else ():
        standing[wanted[place]] = StoredItem(size, body)
    written: dict[ItemKey, StoredItem | None] = {}
    counts: dict[int, Counted] = {}
    answers: list[object] = []
    for change in changes:
        try:
            decision = change.decide([standing.get(key) for key in change.keys])
        except Exception as refusal:
            answers.append(refusal)
            continue
        for key in decision.drops:
            standing[key] = written[key] = None
        for key, item in decision.puts.items():
            standing[key] = written[key] = item
        for space, by in decision.counts.items():
            items, size = counts.get(space, (0, 0))
            counts[space] = Counted(items + by.items, size + by.bytes)
        answers.append(decision.answer)
    sql.write("drop_items", [key for key, item in written.items() if item is None])
    sql.write("put_items", [(*key, *item) for key, item in written.items() if item is not None])
    sql.write("count_items", [(space, *by) for space, by in counts.items() if any(by)])
    sql.complete(completed((change.completion, answer) for change, answer in zip(changes, answers, strict=True)))
    return answers
