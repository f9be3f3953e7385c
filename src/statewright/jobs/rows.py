"""Rows of jobs in the catalogue: read all at the start, written as they change, each with its version.

Owns versions and patience: what has happened to a process must be written down, whatever the store does meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Any, Final
from weakref import WeakValueDictionary

import orjson

from statewright.clock import Clock
from statewright.errors import Conflict, Unavailable
from statewright.stores.protocol import CatalogStore, Record

PAGE: Final = 1_000
AGAIN_MS: Final = 1_000

log = logging.getLogger("statewright.jobs")

Entry = tuple[str, str, Any]
"""Kind, key, and a value that is JSON or a dataclass."""


class Rows:
    """Rows by kind and key. One writer: this process."""

    def __init__(self, catalog: CatalogStore, clock: Clock) -> None:
        self._catalog = catalog
        self._clock = clock
        self._versions: dict[tuple[str, str], int] = {}
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def load(self, kind: str) -> list[dict[str, Any]]:
        """The values of a kind, oldest first."""
        found: list[dict[str, Any]] = []
        after: tuple[int, str] | None = None
        while True:
            page = await self._catalog.list_entries(kind, "", after=after, limit=PAGE, newest_first=False)
            for record in page:
                self._versions[kind, record.key] = record.version
                found.append(orjson.loads(record.body))
            if len(page) < PAGE:
                return found
            after = (page[-1].sort, page[-1].key)

    async def put(self, *entries: Entry) -> None:
        """Write rows, all or none; those of one name one after the other. Raises: StoreError."""
        if len(entries) > 1:
            await self._put(*entries)
            return
        lock = self._locks.setdefault(entries[0][:2], asyncio.Lock())
        async with lock:
            # Encoded only now: what has changed meanwhile is written with it.
            await self._put(*entries)

    async def _put(self, *entries: Entry) -> None:
        records = [self._record(*entry) for entry in entries]
        if not await self._catalog.write(records):
            raise Conflict("somebody else has changed a job")
        for record in records:
            self._versions[record.kind, record.key] = record.version

    async def put_surely(self, *entries: Entry) -> None:
        """Write rows as soon as the store can. Raises: StoreError where it never will."""
        while True:
            try:
                await self.put(*entries)
                return
            except Unavailable as problem:
                log.warning("a job's state is written again in a second: %s", problem)
                await self._clock.sleep_until(self._clock.now_ms() + AGAIN_MS)

    async def delete(self, kind: str, keys: Iterable[str]) -> None:
        """Delete rows. Raises: StoreError."""
        gone: Sequence[tuple[str, str]] = [(kind, key) for key in keys]
        await self._catalog.write([], gone)
        for name in gone:
            self._versions.pop(name, None)

    def _record(self, kind: str, key: str, value: Any) -> Record:
        return Record(kind, key, "", 0, self._versions.get((kind, key), 0) + 1, orjson.dumps(value))
