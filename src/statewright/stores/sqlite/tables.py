"""Items of tables in the SQLite store. What a group of changes becomes is in `table_plan`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

import orjson

from statewright.stores.sqlite.item_rows import current_rows
from statewright.stores.sqlite.opened import SqliteFile
from statewright.stores.statements import statements
from statewright.stores.table_protocol import Change, Counted, ItemKey, Span, StoredItem

_SQL: Final = statements("tables")


class SqliteTables:
    """See `TableStore`. Reads run on the event loop, which costs less than a hop; each is one row of JSON."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def change(self, change: Change) -> Any:
        return await self._file.opened.writer.submit(change)

    async def get(self, keys: Sequence[ItemKey]) -> list[StoredItem | None]:
        if len(keys) == 1:
            row = self._file.opened.read(lambda on: on.execute(_SQL["item"], keys[0]).fetchone())
            return [StoredItem._make(row) if row is not None else None]
        found: list[StoredItem | None] = [None] * len(keys)
        for place, size, body in self._file.opened.read(lambda on: current_rows(on, keys)):
            found[place] = StoredItem(size, body)
        return found

    async def span(self, span: Span, *, limit: int, backward: bool = False) -> list[StoredItem]:
        return self._read("span_back" if backward else "span", *span, limit)

    async def scan(self, space: int, *, after: tuple[bytes, bytes], below: bytes, limit: int) -> list[StoredItem]:
        return self._read("scan", space, *after, below, limit)

    async def counts(self, spaces: Sequence[int]) -> dict[int, Counted]:
        def work(connection: sqlite3.Connection) -> dict[int, Counted]:
            rows = {space: connection.execute(_SQL["count"], (space,)).fetchone() for space in spaces}
            return {space: Counted._make(row or (0, 0)) for space, row in rows.items()}

        return self._file.opened.read(work)

    async def clear(self, space: int, limit: int) -> int:
        def work(connection: sqlite3.Connection) -> int:
            connection.execute(_SQL["clear_count"], (space,))
            return connection.execute(_SQL["clear"], (space, limit)).rowcount

        gone: int = await self._file.opened.writer.submit(work)
        return gone

    def _read(self, name: str, *given: object) -> list[StoredItem]:
        (text,) = self._file.opened.read(lambda on: on.execute(_SQL[name], given).fetchone())
        return [StoredItem._make(columns) for columns in orjson.loads(text)]
