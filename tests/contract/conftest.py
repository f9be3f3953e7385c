from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from statewright.stores.store import Store
from tests.contract.stores import MAKERS

Body = Callable[[Store], Awaitable[None]]


@pytest.fixture(params=sorted(MAKERS))
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Makes the store under test; each call a new object over the same data folder."""
    return lambda: MAKERS[request.param](tmp_path)


@pytest.fixture
def with_store(make_store: Callable[[], Store]) -> Callable[[Body], None]:
    """Runs a body with an open store."""

    def run(body: Body) -> None:
        async def inner() -> None:
            store = make_store()
            await store.open("test")
            try:
                await body(store)
            finally:
                await store.close()

        asyncio.run(inner())

    return run
