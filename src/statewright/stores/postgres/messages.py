"""The statements on messages as PostgreSQL runs them. What they are asked for is in `queue_plan`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from statewright.stores.postgres.arrays import bigints, texts
from statewright.stores.postgres.completing import complete
from statewright.stores.postgres.connection import LONG_TIMEOUT_MS, Connection, run
from statewright.stores.queue_protocol import Claimed
from statewright.stores.statements import SqlRow, statements

_SQL: Final = statements("postgres_queues")
_COLUMNS: Final = {
    "insert_messages": (bigints, bigints, bigints, bigints, texts, texts),
    "insert_bodies": (bigints, texts, texts),
    "fill_groups": (bigints, texts, bigints, bigints),
    "known_dedups": (bigints, bigints, texts, bigints),
    "put_dedups": (bigints, texts, bigints, bigints),
    "proven": (bigints, bigints),
    "hide": (bigints, bigints),
    "shrink_groups": (bigints, texts, bigints, bigints),
    "drop_empty_groups": (bigints, texts),
    "put_notes": (bigints, bigints, texts, texts),
}
"""How the columns of rows are packed."""


class PostgresQueueSql:
    """See `QueueSql`."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def write(self, name: str, rows: Sequence[SqlRow]) -> None:
        if rows:
            run(self._connection, _SQL[name], _packed(name, rows))

    def write_ids(self, name: str, ids: Iterable[int], *before: object) -> None:
        run(self._connection, _SQL[name], (*before, bigints(list(ids))))

    def match(self, name: str, rows: Sequence[SqlRow]) -> list[SqlRow]:
        return run(self._connection, _SQL[name], _packed(name, rows)).fetchall() if rows else []

    def fetch(self, name: str, *given: object) -> list[SqlRow]:
        return run(self._connection, _SQL[name], given).fetchall()

    def fetch_ids(self, name: str, ids: Iterable[int]) -> list[SqlRow]:
        return run(self._connection, _SQL[name], (bigints(list(ids)),)).fetchall()

    def claim(self, queue: int, until_ms: int, limit: int, now_ms: int) -> list[Claimed]:
        found = run(self._connection, _SQL["claim"], (now_ms, queue, until_ms, limit)).fetchall()
        return [Claimed._make(columns) for columns in found]

    def read(self, ids: Sequence[int], now_ms: int) -> list[Claimed]:
        found = run(self._connection, _SQL["read_messages"], (now_ms, bigints(ids))).fetchall()
        return [Claimed._make(columns) for columns in found]

    def run(self, name: str, *given: object) -> int:
        return run(self._connection, _SQL[name], given).rowcount

    def complete(self, rows: Sequence[tuple[int, bytes]]) -> None:
        complete(self._connection, rows)

    def take_time(self) -> None:
        # The transaction holds the fence, so no other process takes the store meanwhile.
        run(self._connection, _SQL["take_time"], (str(LONG_TIMEOUT_MS),))


def _packed(name: str, rows: Sequence[SqlRow]) -> SqlRow:
    return tuple(pack(column) for pack, column in zip(_COLUMNS[name], zip(*rows, strict=True), strict=True))
