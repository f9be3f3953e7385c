"""The catalogue in the PostgreSQL store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import psycopg

from statewright.stores.completion import Completion, completed
from statewright.stores.postgres.completing import complete
from statewright.stores.postgres.connection import Connection, run, transaction
from statewright.stores.postgres.opened import PostgresDatabase
from statewright.stores.protocol import EntryRow
from statewright.stores.statements import statements

_CATALOGUE: Final = statements("postgres_catalogue")


class PostgresCatalogue:
    """See `CatalogueStore`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def get(self, kind: str, key: str) -> EntryRow | None:
        found = await self._database.opened.read("get", kind, key, of=_CATALOGUE)
        return EntryRow(*found[0]) if found else None

    async def write(
        self,
        put: Sequence[EntryRow],
        delete: Sequence[tuple[str, str]] = (),
        completion: Completion[bool] | None = None,
    ) -> bool:
        fits: bool = await self._database.opened.writers.submit(lambda on: _write_entries(on, put, delete, completion))
        return fits

    async def list_entries(
        self, kind: str, parent: str, *, after: tuple[int, str] | None, limit: int, newest_first: bool
    ) -> list[EntryRow]:
        name = "list" + ("_newest" if newest_first else "") + ("_after" if after is not None else "")
        found = await self._database.opened.read(name, kind, parent, *(after or ()), limit, of=_CATALOGUE)
        return [EntryRow(*columns) for columns in found]

    async def next_number(self, name: str) -> int:
        found = await self._database.opened.writers.submit(
            lambda on: run(on, _CATALOGUE["next_number"], (name,)).fetchone()
        )
        return int(found[0])


def _write_entries(
    connection: Connection,
    put: Sequence[EntryRow],
    delete: Sequence[tuple[str, str]],
    completion: Completion[bool] | None,
) -> bool:
    # Not fenced: rows have versions of their own, and any process may write them.
    kept = {(row.kind, row.key) for row in put}
    with transaction(connection) as begun:
        for row in put:
            given = row.kind, row.key, row.parent, row.sort, row.version, row.body
            statement = _CATALOGUE["insert" if row.version == 1 else "update"]
            if run(connection, statement, given).rowcount != 1:
                raise psycopg.Rollback(begun)
        for key in delete:
            if key not in kept:
                run(connection, _CATALOGUE["delete"], key)
        complete(connection, completed([(completion, True)]))
        return True
    return False
