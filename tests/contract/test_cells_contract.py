"""The contract of executions on the store of a worker, beside a store that has all else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from statewright.stores.postgres.cells import groups
from statewright.stores.postgres.cells.membership import Membership
from statewright.stores.postgres.cells.store import CellStore
from statewright.stores.postgres.connection import place_of
from statewright.stores.postgres.store import PostgresStore
from statewright.stores.store import Store
from tests.contract import test_completion_contract, test_lists_of_machines, test_store_contract
from tests.emptied_databases import emptied_database

pytestmark = pytest.mark.slow

CELL = 1023
"""The only cell but the home's: all executions of these tests are in it, as `make_store` arranges, not by their ids."""

for _module in (test_store_contract, test_lists_of_machines, test_completion_contract):
    for _name, _test in vars(_module).items():
        if _name.startswith("test_"):
            assert _name not in globals()
            globals()[_name] = _test


class _Executions:
    """The executions of a worker; those of the home do what is not one cell's."""

    def __init__(self, cells: CellStore, home: PostgresStore) -> None:
        self._cells = cells
        self.forget = home.executions.forget

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cells.executions, name)


class _Both:
    """A store whose executions are those of a worker."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._home = PostgresStore(address, of_node=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._home, name)

    async def open(self, owner: str) -> int:
        epoch = await self._home.open(owner)
        self._membership = Membership(self._address, place_of(self._address), name="a", url="http://a", cells=2)
        self._cells = CellStore(self._address, self._membership)
        await asyncio.to_thread(self._membership.join)
        assert await asyncio.to_thread(self._membership.take, [CELL]) == [CELL]
        await self._cells.open(owner)
        self.executions = _Executions(self._cells, self._home)
        return epoch

    async def close(self) -> None:
        await self._cells.close()
        await asyncio.to_thread(self._membership.leave)
        await self._home.close()


@pytest.fixture
def make_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Store]:
    """Makes the store under test; each call a new object over the same database."""
    monkeypatch.setattr(groups, "shard_of_id", lambda _: CELL)
    address = emptied_database()
    return lambda: _Both(address)
