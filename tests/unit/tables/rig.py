"""Tables in virtual time, over a store in memory that outlives them; and a table with a stream."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from statewright.config import Config
from statewright.stores.memory.store import MemoryStore
from statewright.tables.table import Table
from statewright.tables.tables import Tables
from statewright.virtual_clock import VirtualClock, run_virtual


def new_table(name: str, view: str | None = None) -> dict[str, Any]:
    """The request for a table with the key `id`, and with a stream if there is a view."""
    request: dict[str, Any] = {
        "TableName": name,
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    return (
        request if view is None else request | {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": view}}
    )


class Rig:
    """The tables, which can be restarted, and one of them."""

    def __init__(self, clock: VirtualClock, name: str) -> None:
        self.clock = clock
        self.store = MemoryStore()
        self.tables = Tables(self.store, clock, Config())
        self._name = name

    @property
    def table(self) -> Table:
        return self.tables.find(self._name)

    async def pass_time(self, ms: int) -> None:
        await self.clock.sleep_until(self.clock.now_ms() + ms)
        await self.tables.at_rest()

    async def restart(self) -> None:
        await self.tables.stop()
        self.tables = Tables(self.store, self.clock, Config())
        await self.tables.start()


R = TypeVar("R", bound=Rig)


def play_on(
    kind: Callable[[VirtualClock, str], R], request: dict[str, Any], body: Callable[[R], Awaitable[None]]
) -> None:
    """Run a test with a rig whose table has been created."""

    async def main(clock: VirtualClock) -> None:
        rig = kind(clock, request["TableName"])
        await rig.store.open("test")
        await rig.tables.start()
        await rig.tables.create(request)
        await body(rig)
        await rig.tables.stop()

    run_virtual(main)
