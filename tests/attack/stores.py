"""A store on SQLite that a test opens in its own process, and an entry to write to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from statewright.stores.protocol import EntryRow
from statewright.stores.sqlite.store import SqliteStore


def entry(key: str, size: int = 2) -> EntryRow:
    """An entry of the catalogue with a value of so many bytes."""
    return EntryRow("note", key, "", 0, 1, b"x" * size)


def opened(folder: Path, run: Callable[[SqliteStore], Awaitable[None]]) -> None:
    """Open the store, run a coroutine with it, close it."""

    async def main() -> None:
        store = SqliteStore(folder, durability="process")
        await store.open("a server")
        await run(store)
        await store.close()

    asyncio.run(main())
