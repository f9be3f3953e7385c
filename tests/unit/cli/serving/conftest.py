"""A data folder for commands that copy or move one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from statewright.stores.sqlite.store import SqliteStore


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder of a store that is empty and closed."""
    folder = tmp_path / "data"

    async def make() -> None:
        store = SqliteStore(folder)
        await store.open("test")
        await store.close()

    asyncio.run(make())
    return folder
