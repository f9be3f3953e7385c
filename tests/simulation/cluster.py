"""The world of `chaos` on a home and two workers: cells are handed over, dropped, stolen, and their nodes die."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from statewright.engine.dispatch import ScheduledCall, TaskResult, event_of
from statewright.engine.engine import Engine, EngineSettings
from statewright.engine.inputs import Input
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.errors import ElsewhereError, OwnershipLost, StoreError, Unavailable
from statewright.stores.ids import SHARD, cell_shard, shard_of_id
from tests.simulation.chaos import Chaos
from tests.simulation.faults import HeldStore, LateClock
from tests.simulation.kinds import FAST, KINDS, LIMITS
from tests.simulation.nodes import Leases, NodeStore

HOME: Final = "home"
WORKERS: Final = ("a", "b")
CELLS: Final = 5
MOVES: Final = 8


class Node:
    """A process: its engine, its hold on the store, and the calls that it was asked to answer."""

    def __init__(self, name: str, engine: Engine, hold: HeldStore) -> None:
        self.name = name
        self.engine = engine
        self.hold = hold
        self.calls: set[asyncio.Future[Any]] = set()
        self.lost: list[int] = []

    async def asked(self, call: Callable[[Engine], Awaitable[Any]]) -> Any:
        """The answer. Raises: what the call raises; Unavailable if the process dies."""
        task = asyncio.ensure_future(call(self.engine))
        self.calls.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self.calls.discard(task)
            task.cancel()
        if task.cancelled():
            raise Unavailable(f"{self.name} has died")
        return task.result()


class ClusterChaos(Chaos):
    """One seed's world of several nodes. The home does not die: `Chaos` sees to that."""

    kinds = {name: kind for name, kind in KINDS.items() if name != "activity"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.leases = Leases()
        self.nodes: dict[str, Node] = {}
        self._moving: set[int] = set()

    # ------------------------------------------------------------------ life and death

    async def up(self) -> None:
        await self.memory.open("cluster")
        self.leases.give(SHARD, HOME)
        home = self._node(HOME)
        self.engine = home.engine
        await home.engine.start()
        for name in WORKERS:
            await self._rise_node(name)
        for number in range(1, CELLS):
            await self._give(cell_shard(number))

    def _node(self, name: str) -> Node:
        is_home = name == HOME
        real: Any = NodeStore(self.memory, self.leases, name, is_home=is_home)
        hold = HeldStore(self, real)
        held: Any = hold
        clock: Any = LateClock(self.clock, self)
        catalogue = MachineCatalogue(held, clock, is_worker=not is_home)
        catalogue.programs._kept = self.prepared.programs
        settings = EngineSettings(
            limits=LIMITS,
            cells=1,
            hot_executions=self._hot,
            make_seed=self._make_seed,
            others=is_home,
            is_worker=not is_home,
            note=None if is_home else self.nodes[HOME].engine.note,
        )
        lost: list[int] = []
        engine = Engine(
            held, clock, catalogue, self, settings=settings, on_lost_cell=lambda shard, _: lost.append(shard)
        )
        node = self.nodes[name] = Node(name, engine, hold)
        node.lost = lost
        return node

    async def _rise_node(self, name: str) -> None:
        node = self._node(name)
        while True:
            try:
                await node.asked(Engine.start)
            except Unavailable:
                await self.nap(100)
            else:
                return

    def die(self, how: str) -> None:
        """Something happens to a cell or to a worker."""
        if self._deaths_left > 0:
            self._deaths_left -= 1
            self._steps_to_death = self.random.randint(1, 150)
            self.disturb(how)

    def disturb(self, how: str) -> None:
        shard = cell_shard(self.random.randint(1, CELLS - 1))
        node = self.nodes.get(self.leases.owners[shard])
        if shard in self._moving or node is None:
            return
        act = self.random.choice([self._hand_over, self._hand_over, self._drop, self._steal, self._kill])
        self.tell(f"{act.__name__} of shard {shard} at {node.name}, {how}")
        act(shard, node)

    def _hand_over(self, shard: int, node: Node) -> None:
        async def move() -> None:
            try:
                in_order = await node.asked(lambda engine: engine.hand_over(shard))
            except StoreError as problem:
                self.tell(f"{shard} is not handed over: {problem}")
                in_order = False
                node.engine.drop_cell(shard)
            if in_order and self.leases.owners[shard] == node.name:
                self.leases.handed_over.add((shard, node.name))
            self.leases.owners[shard] = ""
            await self._give(shard)

        self._moves(shard, move())

    def _drop(self, shard: int, node: Node) -> None:
        self.leases.owners[shard] = ""
        node.engine.drop_cell(shard)

        async def move() -> None:
            await self.nap(3_000)
            await self._give(shard)

        self._moves(shard, move())

    def _steal(self, shard: int, node: Node) -> None:
        """Another node has it before this one hears of that."""
        self.leases.owners[shard] = ""

        async def move() -> None:
            await self._give(shard)
            await self.nap(4_000)
            if self.leases.owners[shard] != node.name:
                node.engine.drop_cell(shard)

        self._moves(shard, move())

    def _kill(self, _shard: int, node: Node) -> None:
        del self.nodes[node.name]
        node.hold.alive = False
        node.engine.kill()
        for call in list(node.calls):
            call.cancel()

        async def rise() -> None:
            await self.nap(3_000)
            await self._rise_node(node.name)

        self.aside(rise())
        for shard, owner in self.leases.owners.items():
            if owner == node.name:
                self.leases.owners[shard] = ""
                if shard not in self._moving:
                    self._moves(shard, self._give(shard))

    def _moves(self, shard: int, move: Any) -> None:
        self._moving.add(shard)

        async def moved() -> None:
            try:
                await move
                while not self.leases.owners[shard]:
                    # Its new owner has died.
                    await self._give(shard)
            finally:
                self._moving.discard(shard)

        self.aside(moved())

    async def _give(self, shard: int) -> None:
        """Have a worker take a cell, sooner or later."""
        while True:
            node = self.nodes.get(self.random.choice(WORKERS))
            if node is not None:
                self.leases.give(shard, node.name)
                node.engine.drop_cell(shard)
                try:
                    await node.asked(lambda engine: engine.add_cell(shard))
                except (Unavailable, OwnershipLost) as problem:
                    self.tell(f"{node.name} does not take {shard}: {problem}")
                else:
                    self.tell(f"{node.name} has {shard}")
                    return
                self.leases.owners[shard] = ""
            await self.nap(500)

    # ------------------------------------------------------------------ callers

    async def ask(self, call: Callable[[Engine], Awaitable[Any]]) -> Any:
        """Ask any node, and then the one that has the cell, until one answers. Raises: ApiError."""
        node = self.random.choice(list(self.nodes.values()))
        while True:
            try:
                return await node.asked(call)
            except ElsewhereError as elsewhere:
                there = self.nodes.get(self.leases.owners[elsewhere.shard])
                if there is not None and there is not node:
                    node = there
                    continue
            except Unavailable:
                pass
            await self.nap(500)
            node = self.random.choice(list(self.nodes.values()))

    async def again(self, call: ScheduledCall, result: TaskResult) -> None:
        await self.nap(15_000)
        for one in list(self.memory.executions.by_id.values()):
            for node in self.nodes.values():
                if call.execution_arn.endswith(f":{one.row.name}") and node.engine.cells.has(one.row.id):
                    node.engine.cells.tell(one.row.id, Input(event_of(call, result)))

    async def work_on_activities(self) -> None:
        """They are the home's."""

    def others(self) -> list[asyncio.Task[None]]:
        work = [self.run_express(), self.run_express(), self.run_express(), self._move_cells()]
        return [asyncio.create_task(one) for one in (*work, self._run_sync(), self._run_sync())]

    async def _move_cells(self) -> None:
        for _ in range(self.random.randint(0, MOVES)):
            await self.nap(4_000)
            self.disturb("in between")

    async def _run_sync(self) -> None:
        """A caller who is answered, or knows that nothing came of it, and tries again."""
        await self.nap(5_000)
        target = self.prepared.targets[FAST]
        done = await self.ask(lambda engine: engine.start_sync_execution(target, None, "{}"))
        assert (done.status, done.output) == ("SUCCEEDED", '"called"')

    # ------------------------------------------------------------------ what must hold

    async def check(self) -> None:
        engines = [node.engine for node in self.nodes.values()]
        assert sorted(self.nodes) == sorted([HOME, *WORKERS])
        assert sorted(shard for engine in engines for shard in engine.cells.shards()) == sorted(
            cell_shard(number) for number in range(CELLS)
        )
        assert not self.leases.late
        for engine in engines:
            assert not engine.cells.quarantined
            assert engine.map_runs.open == 0
        for kept in self.memory.executions.by_id.values():
            row = kept.row
            assert row.shard == shard_of_id(row.id)
            if abs(row.machine) > 1 << 40:
                assert shard_of_id(abs(row.machine)) == row.shard, "a Map Run or a child left the cell of its parent"
        await super().check()
        for name in WORKERS:
            await self.nodes[name].engine.stop()
