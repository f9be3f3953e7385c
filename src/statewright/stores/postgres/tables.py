"""Items of tables in the PostgreSQL store. What a group of changes becomes is in `table_plan`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from statewright.stores.postgres.arrays import bigints
from statewright.stores.postgres.connection import Connection, run
from statewright.stores.postgres.item_rows import current_rows
from statewright.stores.postgres.opened import Database
from statewright.stores.statements import statements
from statewright.stores.table_protocol import Change, Counted, ItemKey, Span, StoredItem

_SQL: Final = statements("postgres_tables")


class PostgresTables:
    """See `TableStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def change(self, change: Change) -> Any:
        return await self._database.opened.writers.submit(change)

    async def get(self, keys: Sequence[ItemKey]) -> list[StoredItem | None]:
        found: list[StoredItem | None] = [None] * len(keys)
        for place, size, body in await self._database.opened.work(lambda on: current_rows(on, keys)) if keys else ():
            found[place] = StoredItem(size, body)
        return found

    async def span(self, span: Span, *, limit: int, backward: bool = False) -> list[StoredItem]:
        rows = await self._database.opened.read("span_back" if backward else "span", *span, limit, of=_SQL)
        return [StoredItem._make(row) for row in rows]

    async def scan(self, space: int, *, after: tuple[bytes, bytes], below: bytes, limit: int) -> list[StoredItem]:
        rows = await self._database.opened.read("scan", space, *after, below, limit, of=_SQL)
        return [StoredItem._make(row) for row in rows]

    async def counts(self, spaces: Sequence[int]) -> dict[int, Counted]:
        rows = await self._database.opened.read("counts", bigints(list(spaces)), of=_SQL)
        return {**dict.fromkeys(spaces, Counted(0, 0)), **{space: Counted(*counted) for space, *counted in rows}}

    async def clear(self, space: int, limit: int) -> int:
        def work(connection: Connection) -> int:
            run(connection, _SQL["clear_count"], (space,))
            return run(connection, _SQL["clear"], (space, limit)).rowcount

        return await self._database.write_owned(work)
