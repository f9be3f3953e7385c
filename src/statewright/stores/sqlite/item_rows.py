"""Rows of items in SQLite, as the writer and the reads of `tables` see them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

import orjson

from statewright.stores.sqlite.completing import complete
from statewright.stores.statements import SqlRow, row_statements
from statewright.stores.table_protocol import ItemKey

_ROWS: Final = row_statements("tables")


class SqliteTableSql:
    """See `TableSql`."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def current(self, keys: Sequence[ItemKey]) -> list[tuple[int, int, str]]:
        return current_rows(self._connection, keys)

    def write(self, name: str, rows: Sequence[SqlRow]) -> None:
        if rows:
            for text, values in _ROWS[name].runs(rows):
                self._connection.execute(text, values)

    def complete(self, rows: Sequence[tuple[int, bytes]]) -> None:
        complete(self._connection, rows)


def current_rows(connection: sqlite3.Connection, keys: Sequence[ItemKey]) -> list[tuple[int, int, str]]:
    """Which of the keys have items: their places among the keys, with size and body."""
    found: list[tuple[int, int, str]] = []
    for text, values in _ROWS["current"].runs([(place, *key) for place, key in enumerate(keys)]):
        (rows,) = connection.execute(text, values).fetchone()
        found += orjson.loads(rows)
    return found
