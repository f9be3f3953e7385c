"""The catalogue in the SQLite store."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from statewright.stores.completion import Completion
from statewright.stores.protocol import EntryRow
from statewright.stores.sqlite.completing import completing
from statewright.stores.sqlite.opened import SqliteFile
from statewright.stores.sqlite.writer import Work
from statewright.stores.statements import statements

_CATALOGUE: Final = statements("catalogue")


class SqliteCatalogue:
    """See `CatalogueStore`."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def get(self, kind: str, key: str) -> EntryRow | None:
        columns = self._file.opened.read(lambda on: on.execute(_CATALOGUE["get"], (kind, key)).fetchone())
        return EntryRow(*columns) if columns is not None else None

    async def write(
        self,
        put: Sequence[EntryRow],
        delete: Sequence[tuple[str, str]] = (),
        completion: Completion[bool] | None = None,
    ) -> bool:
        work = completing(lambda on: _write_entries(on, put, delete), completion)
        fits: bool = await self._file.opened.writer.submit(work)
        return fits

    async def list_entries(
        self, kind: str, parent: str, *, after: tuple[int, str] | None, limit: int, newest_first: bool
    ) -> list[EntryRow]:
        text = _CATALOGUE["list" + ("_newest" if newest_first else "") + ("_after" if after is not None else "")]
        given = (kind, parent, *(after or ()), limit)
        found = await self._file.opened.scan(lambda on: on.execute(text, given).fetchall())
        return [EntryRow(*columns) for columns in found]

    async def next_number(self, name: str) -> int:
        work: Work = lambda on: on.execute(_CATALOGUE["next_number"], (name,)).fetchone()[0]  # noqa: E731
        number: int = await self._file.opened.writer.submit(work)
        return number


def _write_entries(connection: sqlite3.Connection, put: Sequence[EntryRow], delete: Sequence[tuple[str, str]]) -> bool:
    for row in put:
        found = connection.execute(_CATALOGUE["version"], (row.kind, row.key)).fetchone()
        if row.version != (found[0] if found is not None else 0) + 1:
            return False
    for key in delete:
        connection.execute(_CATALOGUE["delete"], key)
    for row in put:
        columns = row.kind, row.key, row.parent, row.sort, row.version, row.body
        connection.execute(_CATALOGUE["put"], columns)
    return True
