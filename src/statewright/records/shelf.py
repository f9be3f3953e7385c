"""Entries of one kind in the catalogue, as plain objects: what every small service keeps its things in.

Owns the way from rows to objects and back, and lists by key. Nothing is held in memory: an answer is what the store
has. Who changes entries takes turns with a lock of its own.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from statewright.errors import Conflict
from statewright.stores.protocol import CatalogStore, Record

_PAGE: Final = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: `fields` are JSON values. `stored` is the version in the store, 0 for one that is not there yet."""

    key: str
    fields: Mapping[str, Any]
    parent: str = ""
    sort: int = 0
    stored: int = 0

    def having(self, **fields: Any) -> Entry:
        """The same entry with other values of some fields."""
        return Entry(self.key, {**self.fields, **fields}, self.parent, self.sort, self.stored)


Place = tuple[int, str]
"""Where a list goes on: after the entry of this sort and key."""


class Shelf:
    """The entries of one kind."""

    def __init__(self, catalog: CatalogStore, kind: str) -> None:
        self._catalog = catalog
        self.kind = kind

    async def get(self, key: str) -> Entry | None:
        """One entry."""
        record = await self._catalog.get(self.kind, key)
        return None if record is None else _entry(record)

    async def put(self, *entries: Entry, also: tuple[Record, ...] = (), gone: tuple[tuple[str, str], ...] = ()) -> None:
        """Write entries of this kind, with records of others, and delete: all or nothing. Raises: Conflict."""
        if not await self._catalog.write([*(self.record(one) for one in entries), *also], gone):
            raise Conflict(f"{self.kind} was changed by somebody else")

    def record(self, entry: Entry) -> Record:
        """What `put` of another kind takes along."""
        body = orjson.dumps(entry.fields)
        return Record(self.kind, entry.key, entry.parent, entry.sort, entry.stored + 1, body)

    async def delete(self, key: str) -> None:
        """Delete one entry; nothing happens when it is not there."""
        await self._catalog.write([], [(self.kind, key)])

    async def page(
        self, parent: str = "", after: Place | None = None, limit: int = 100, *,
        newest_first: bool = False, wanted: Callable[[Entry], bool] | None = None,
    ) -> tuple[list[Entry], Place | None]:  # fmt: skip
        """Entries by sort and key; also where to go on, None at the end. Those that are not wanted are left out."""
        found: list[Entry] = []
        async for entry in self.walk(parent, after, newest_first=newest_first):
            if wanted is None or wanted(entry):
                if len(found) == limit:
                    return found, (found[-1].sort, found[-1].key)
                found.append(entry)
        return found, None

    async def walk(
        self, parent: str = "", after: Place | None = None, *, newest_first: bool = False
    ) -> AsyncIterator[Entry]:
        """Every entry by sort and key, from behind a place on."""
        while True:
            records = await self._catalog.list_entries(
                self.kind, parent, after=after, limit=_PAGE, newest_first=newest_first
            )
            for record in records:
                yield _entry(record)
            if len(records) < _PAGE:
                return
            after = records[-1].sort, records[-1].key

    async def count(self, parent: str) -> int:
        """How many entries are below a parent: only for what is few by its nature."""
        return len([one async for one in self.walk(parent)])


def _entry(record: Record) -> Entry:
    return Entry(record.key, orjson.loads(record.body), record.parent, record.sort, record.version)


def letters(prefix: str, of: str, count: int) -> str:
    """A name like those that the service makes up: always the same for the same text."""
    drawn = base64.b32encode(hashlib.blake2b(of.encode(), digest_size=32).digest()).decode()
    return prefix + drawn[:count]
