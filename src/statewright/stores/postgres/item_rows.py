"""Rows of items in PostgreSQL, as the writer and the reads of `tables` see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from statewright.stores.postgres.arrays import bigints, byteas, texts
from statewright.stores.postgres.completing import complete
from statewright.stores.postgres.connection import Connection, run
from statewright.stores.statements import SqlRow, statements
from statewright.stores.table_protocol import ItemKey

_SQL: Final = statements("postgres_tables")
_COLUMNS: Final = {
    "current": (bigints, bigints, byteas, byteas),
    "put_items": (bigints, byteas, byteas, bigints, texts),
    "drop_items": (bigints, byteas, byteas),
    "count_items": (bigints, bigints, bigints),
}
"""How the columns of rows are packed."""


class PostgresTableSql:
    """See `TableSql`."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def current(self, keys: Sequence[ItemKey]) -> list[tuple[int, int, str]]:
        return current_rows(self._connection, keys)

    def write(self, name: str, rows: Sequence[SqlRow]) -> None:
        if rows:
            run(self._connection, _SQL[name], _packed(name, rows))

    def complete(self, rows: Sequence[tuple[int, bytes]]) -> None:
        complete(self._connection, rows)


def current_rows(connection: Connection, keys: Sequence[ItemKey]) -> list[tuple[int, int, str]]:
    """Which of the keys have items: their places among the keys, with size and body."""
    rows = [(place, *key) for place, key in enumerate(keys)]
    found = run(connection, _SQL["current"], _packed("current", rows)).fetchall()
    return [(place, size, body) for place, size, body in found]


def _packed(name: str, rows: Sequence[SqlRow]) -> SqlRow:
    return tuple(pack(column) for pack, column in zip(_COLUMNS[name], zip(*rows, strict=True), strict=True))
