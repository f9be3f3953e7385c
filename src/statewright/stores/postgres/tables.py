"""Items of tables in the PostgreSQL store. What a group of changes becomes is in `table_plan`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from statewright.stores.postgres.arrays import bigints, byteas, texts
from statewright.stores.postgres.connection import Connection, run
from statewright.stores.statements import statements
from statewright.stores.table_protocol import Change, Counted, ItemKey, Span, StoredItem

if TYPE_CHECKING:
    from statewright.stores.postgres.store import PostgresStore

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
        """See `TableSql.current`."""
        return _current(self._connection, keys)

    def write(self, name: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """See `TableSql.write`."""
        if rows:
            run(self._connection, _SQL[name], _packed(name, rows))


class PostgresTables:
    """See `TableStore`."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    async def change(self, change: Change) -> Any:
        """See `TableStore.change`."""
        return await self._store.opened.writers.submit(change)

    async def get(self, keys: Sequence[ItemKey]) -> list[StoredItem | None]:
        """See `TableStore.get`."""
        found: list[StoredItem | None] = [None] * len(keys)
        for place, size, body in await self._store.opened.work(lambda on: _current(on, keys)) if keys else ():
            found[place] = StoredItem(size, body)
        return found

    async def span(self, span: Span, *, limit: int, backward: bool = False) -> list[StoredItem]:
        """See `TableStore.span`."""
        rows = await self._store.opened.read("span_back" if backward else "span", *span, limit, of=_SQL)
        return [StoredItem._make(row) for row in rows]

    async def scan(self, space: int, *, after: tuple[bytes, bytes], below: bytes, limit: int) -> list[StoredItem]:
        """See `TableStore.scan`."""
        rows = await self._store.opened.read("scan", space, *after, below, limit, of=_SQL)
        return [StoredItem._make(row) for row in rows]

    async def counts(self, spaces: Sequence[int]) -> dict[int, Counted]:
        """See `TableStore.counts`."""
        rows = await self._store.opened.read("counts", bigints(list(spaces)), of=_SQL)
        return {**dict.fromkeys(spaces, Counted(0, 0)), **{space: Counted(*counted) for space, *counted in rows}}

    async def clear(self, space: int, limit: int) -> int:
        """See `TableStore.clear`."""

        def work(connection: Connection) -> int:
            run(connection, _SQL["clear_count"], (space,))
            return run(connection, _SQL["clear"], (space, limit)).rowcount

        return await self._store.write_owned(work)


def _current(connection: Connection, keys: Sequence[ItemKey]) -> list[tuple[int, int, str]]:
    rows = [(place, *key) for place, key in enumerate(keys)]
    found: list[tuple[int, int, str]] = run(connection, _SQL["current"], _packed("current", rows)).fetchall()
    return found


def _packed(name: str, rows: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(pack(column) for pack, column in zip(_COLUMNS[name], zip(*rows, strict=True), strict=True))
