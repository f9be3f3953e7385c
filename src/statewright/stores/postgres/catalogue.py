"""The catalogue in the PostgreSQL store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from statewright.stores.completion import Completion
from statewright.stores.postgres.entry_group import EntryWrite, NumberRequest
from statewright.stores.postgres.opened import Database
from statewright.stores.protocol import EntryRow
from statewright.stores.statements import statements

_CATALOGUE: Final = statements("postgres_catalogue")


class PostgresCatalogue:
    """See `CatalogueStore`."""

    def __init__(self, database: Database) -> None:
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
        fits: bool = await self._database.opened.writers.submit(EntryWrite(put, delete, completion))
        return fits

    async def list_entries(
        self, kind: str, parent: str, *, after: tuple[int, str] | None, limit: int, newest_first: bool
    ) -> list[EntryRow]:
        name = "list" + ("_newest" if newest_first else "") + ("_after" if after is not None else "")
        found = await self._database.opened.read(name, kind, parent, *(after or ()), limit, of=_CATALOGUE)
        return [EntryRow(*columns) for columns in found]

    async def next_number(self, name: str) -> int:
        number: int = await self._database.opened.writers.submit(NumberRequest(name))
        return number
