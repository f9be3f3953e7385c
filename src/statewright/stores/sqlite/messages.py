"""The statements on messages as SQLite runs them. What they are asked for is in `queue_plan`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

import orjson

from statewright.stores.queue_protocol import Claimed
from statewright.stores.sqlite.completing import complete
from statewright.stores.statements import SqlRow, row_statements, statements

_ROWS: Final = row_statements("queues")
_SQL: Final = statements("queues")


class SqliteQueueSql:
    """See `QueueSql`."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def write(self, name: str, rows: Sequence[SqlRow]) -> None:
        if rows:
            for text, values in _ROWS[name].runs(rows):
                self._connection.execute(text, values)

    def write_ids(self, name: str, ids: Iterable[int], *before: object) -> None:
        self._connection.execute(_SQL[name], (*before, _array(ids)))

    def match(self, name: str, rows: Sequence[SqlRow]) -> list[SqlRow]:
        found: list[SqlRow] = []
        for text, values in _ROWS[name].runs(rows):
            found += self._connection.execute(text, values).fetchall()
        return found

    def fetch(self, name: str, *given: object) -> list[SqlRow]:
        return self._connection.execute(_SQL[name], given).fetchall()

    def fetch_ids(self, name: str, ids: Iterable[int]) -> list[SqlRow]:
        return self._connection.execute(_SQL[name], (_array(ids),)).fetchall()

    def claim(self, queue: int, until_ms: int, limit: int, now_ms: int) -> list[Claimed]:
        return _claimed(self._connection.execute(_SQL["claim"], (now_ms, queue, until_ms, limit)).fetchone())

    def read(self, ids: Sequence[int], now_ms: int) -> list[Claimed]:
        return _claimed(self._connection.execute(_SQL["read_messages"], (now_ms, _array(ids))).fetchone())

    def run(self, name: str, *given: object) -> int:
        return self._connection.execute(_SQL[name], given).rowcount

    def complete(self, rows: Sequence[tuple[int, bytes]]) -> None:
        complete(self._connection, rows)

    def take_time(self) -> None:
        """See `QueueSql`: statements have no limit of time here."""


def _array(ids: Iterable[int]) -> str:
    return f"[{','.join(map(str, ids))}]"


def _claimed(row: tuple[str]) -> list[Claimed]:
    return [Claimed._make(columns) for columns in orjson.loads(row[0])]
