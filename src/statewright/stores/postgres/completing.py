"""Completing outbox rows of a PostgreSQL store, inside the transaction of their effects. See `stores.completion`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from statewright.stores.completion import Completion, completed
from statewright.stores.postgres.arrays import bigints, byteas
from statewright.stores.postgres.connection import Connection, run
from statewright.stores.statements import statements

T = TypeVar("T")

_COMPLETE: Final = statements("postgres_executions")["complete_outbox"]


def complete(connection: Connection, rows: Sequence[tuple[int, bytes]]) -> None:
    """Write the bodies of outbox rows, by id, where they are still there; none is nothing."""
    if rows:
        run(connection, _COMPLETE, (bigints([number for number, _ in rows]), byteas([body for _, body in rows])))


def completing(work: Callable[[Connection], T], completion: Completion[T] | None) -> Callable[[Connection], T]:
    """The work inside a transaction, and the completion of its outbox row."""
    if completion is None:
        return work

    def both(connection: Connection) -> T:
        outcome = work(connection)
        complete(connection, completed([(completion, outcome)]))
        return outcome

    return both
