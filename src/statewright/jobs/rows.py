"""Entries of jobs: values that change in place and are stored with each change and their version.

Owns versions and retries: what has happened to a process must be stored, even if the store is unavailable for a while.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from typing import Final, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

from statewright.clock import Clock
from statewright.errors import Conflict, Unavailable
from statewright.stores.entries import Entries, EntryKind, Stored
from statewright.stores.protocol import CatalogueStore

AGAIN_MS: Final = 1_000

log = logging.getLogger("statewright.jobs")


class Changing(Stored, Protocol):
    """A dataclass whose values change in place; `stored` is the version in the store, 0 before the first write."""

    stored: int


T = TypeVar("T", bound=Changing)


class JobEntries(Generic[T]):
    """The entries of one kind. One writer: this process."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, kind: EntryKind[T]) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._kind = kind
        self._entries = Entries(catalogue, kind)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def walk(self) -> AsyncIterator[T]:
        """Every value by sort and key. Raises: Unreadable."""
        return self._entries.walk()

    async def put(self, *values: T) -> None:
        """Write values in one transaction; writes of one key are serialised. Raises: StoreError."""
        if len(values) > 1:
            await self._put(*values)
            return
        lock = self._locks.setdefault(self._kind.key_of(values[0]), asyncio.Lock())
        async with lock:
            # Encoded only after waiting, so that the write includes changes made meanwhile.
            await self._put(*values)

    async def _put(self, *values: T) -> None:
        if not await self._catalogue.write([self._kind.row(value) for value in values]):
            raise Conflict(f"{self._kind.name} {self._kind.key_of(values[0])} was changed by another writer")
        for value in values:
            value.stored += 1

    async def put_surely(self, value: T) -> None:
        """Write a value, retrying while the store is unavailable. Raises: StoreError for any other failure."""
        while True:
            try:
                await self.put(value)
                return
            except Unavailable as problem:
                log.warning("a job's state is written again in a second: %s", problem)
                await self._clock.sleep_until(self._clock.now_ms() + AGAIN_MS)

    async def delete(self, values: Iterable[T]) -> None:
        """Delete values. Raises: StoreError."""
        await self._entries.delete(*values)
