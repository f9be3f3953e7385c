"""A home and two workers on one store in memory and on virtual time, each writing its own cells alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from statewright.engine.engine import Engine, EngineSettings
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.machines import Target
from statewright.engine.machines.views import NewMachine
from statewright.metrics.recorder import Recorder
from statewright.stores.ids import SHARD, cell_shard
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock
from tests.simulation.nodes import Leases, NodeStore
from tests.unit.engine.running import ROLE, Scripted

ONE, TWO = cell_shard(1), cell_shard(2)


class Nodes:
    """The engines `home`, `a` and `b`; `a` has cell `ONE` and `b` has cell `TWO`."""

    def __init__(self, clock: VirtualClock, ids_ms: Callable[[], int] | None = None) -> None:
        self.clock = clock
        self.ids_ms = ids_ms
        self.store = MemoryStore()
        self.leases = Leases()
        self.integrations = Scripted(clock)
        self.lost: list[tuple[str, int, str]] = []

    async def up(self) -> Nodes:
        await self.store.open("nodes")
        self.leases.give(SHARD, "home")
        self.home = self._engine("home", others=True)
        self.a = self._engine("a", is_worker=True, note=self.home.note, ids_ms=self.ids_ms)
        self.b = self._engine("b", is_worker=True, note=self.home.note, ids_ms=self.ids_ms)
        for engine in (self.home, self.a, self.b):
            await engine.start()
        await self.give("a", ONE)
        await self.give("b", TWO)
        return self

    def _engine(self, name: str, **settings: Any) -> Engine:
        real: Any = NodeStore(self.store, self.leases, name, is_home=name == "home")
        return Engine(
            real,
            self.clock,
            MachineCatalogue(real, self.clock, is_worker=name != "home"),
            self.integrations,
            settings=EngineSettings(cells=1, **settings),
            recorder=Recorder(self.clock, None),
            on_lost_cell=lambda shard, reason: self.lost.append((name, shard, reason)),
        )

    def engine(self, name: str) -> Engine:
        found: Engine = getattr(self, name)
        return found

    async def give(self, name: str, shard: int) -> None:
        """Let a worker have a cell."""
        self.leases.give(shard, name)
        await self.engine(name).add_cell(shard)

    async def move(self, shard: int, source: str, target: str) -> None:
        """Hand a cell over from one worker to another."""
        assert await self.engine(source).hand_over(shard)
        self.leases.handed_over.add((shard, source))
        await self.give(target, shard)

    async def target(self, definition: dict[str, Any], name: str = "m", type: Any = "STANDARD", **more: Any) -> Target:
        """Create a state machine at the home, and find it as a worker does."""
        made = await self.home.machines.create(NewMachine(name, json.dumps(definition), ROLE, type, **more))
        return await self.a.machines.resolve(made.machine.arn)

    async def settle(self) -> None:
        """Let everything of this instant happen."""
        for _ in range(80):
            await self.clock.sleep_until(self.clock.now_ms())

    async def until(self, after_ms: int) -> None:
        """Let time pass."""
        await self.clock.sleep_until(self.clock.now_ms() + after_ms)
        await self.settle()
