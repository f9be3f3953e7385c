"""Completing outbox rows of a SQLite store, inside the transaction of their effects. See `stores.completion`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from statewright.stores.completion import Completion, completed
from statewright.stores.statements import statements

T = TypeVar("T")

_COMPLETE: Final = statements("writes")["complete_outbox"]


def complete(connection: sqlite3.Connection, rows: Sequence[tuple[int, bytes]]) -> None:
    """Write the bodies of outbox rows, by id, where they are still there; none is nothing."""
    if rows:
        # A statement that carries all rows would first collect them in a table of its own, which costs more.
        connection.executemany(_COMPLETE, rows)


def completing(
    work: Callable[[sqlite3.Connection], T], completion: Completion[T] | None
) -> Callable[[sqlite3.Connection], T]:
    """The work, and the completion of its outbox row."""
    if completion is None:
        return work

    def both(connection: sqlite3.Connection) -> T:
        outcome = work(connection)
        complete(connection, completed([(completion, outcome)]))
        return outcome

    return both
