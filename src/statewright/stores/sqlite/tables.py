"""Items of tables in the SQLite store. What a group of changes becomes is in `table_plan`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from statewright.stores.statements import row_statements, statements
from statewright.stores.table_protocol import Change, Counted, ItemKey, Span, StoredItem

if TYPE_CHECKING:
    from statewright.stores.sqlite.store import SqliteStore

_ROWS: Final = row_statements("tables")
_SQL: Final = statements("tables")


class SqliteTableSql:
    """See `TableSql`."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def current(self, keys: Sequence[ItemKey]) -> list[tuple[int, int, str]]:
        """See `TableSql.current`."""
        return _current(self._connection, keys)

    def write(self, name: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """See `TableSql.write`."""
        if rows:
            for text, values in _ROWS[name].runs(rows):
                self._connection.execute(text, values)


class SqliteTables:
    """See `TableStore`. Reads run on the event loop, which costs less than a hop; each is one row of JSON."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    async def change(self, change: Change) -> Any:
        """See `TableStore.change`."""
        return await self._store.opened.writer.submit(change)

    async def get(self, keys: Sequence[ItemKey]) -> list[StoredItem | None]:
        """See `TableStore.get`."""
        if len(keys) == 1:
            row = self._store.opened.read(lambda on: on.execute(_SQL["item"], keys[0]).fetchone())
            return [StoredItem._make(row) if row is not None else None]
        found: list[StoredItem | None] = [None] * len(keys)
        for place, size, body in self._store.opened.read(lambda on: _current(on, keys)):
            found[place] = StoredItem(size, body)
        return found

    async def span(self, span: Span, *, limit: int, backward: bool = False) -> list[StoredItem]:
        """See `TableStore.span`."""
        return self._read("span_back" if backward else "span", *span, limit)

    async def scan(self, space: int, *, after: tuple[bytes, bytes], below: bytes, limit: int) -> list[StoredItem]:
        """See `TableStore.scan`."""
        return self._read("scan", space, *after, below, limit)

    async def counts(self, spaces: Sequence[int]) -> dict[int, Counted]:
        """See `TableStore.counts`."""

        def work(connection: sqlite3.Connection) -> dict[int, Counted]:
            rows = {space: connection.execute(_SQL["count"], (space,)).fetchone() for space in spaces}
            return {space: Counted._make(row or (0, 0)) for space, row in rows.items()}

        return self._store.opened.read(work)

    async def clear(self, space: int, limit: int) -> int:
        """See `TableStore.clear`."""

        def work(connection: sqlite3.Connection) -> int:
            connection.execute(_SQL["clear_count"], (space,))
            return connection.execute(_SQL["clear"], (space, limit)).rowcount

        gone: int = await self._store.opened.writer.submit(work)
        return gone

    def _read(self, name: str, *given: Any) -> list[StoredItem]:
        (text,) = self._store.opened.read(lambda on: on.execute(_SQL[name], given).fetchone())
        return [StoredItem._make(columns) for columns in orjson.loads(text)]


def _current(connection: sqlite3.Connection, keys: Sequence[ItemKey]) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    for text, values in _ROWS["current"].runs([(place, *key) for place, key in enumerate(keys)]):
        (rows,) = connection.execute(text, values).fetchone()
        found += orjson.loads(rows)
    return found
