"""The cells of a node, over a membership and an engine that do as a test says."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.peers import Peer
from statewright.clock import RealClock
from statewright.errors import Unavailable
from statewright.hosting.nodes.cells import NodeCells
from statewright.stores.ids import cell_shard
from statewright.stores.postgres.cells.membership import Membership
from statewright.stores.postgres.cells.seen import CellRow, NodeRow, Seen

OWN = Peer("a", "http://127.0.0.1:1", 0)
SHARDS = [cell_shard(number) for number in (1, 2, 3)]


class Rows:
    """A membership of one node in a cluster of three cells besides the home."""

    def __init__(self) -> None:
        self.on_lost: Any = None
        self.leases: dict[int, int] = {}
        self.released: list[int] = []
        self.problem: Exception | None = None
        self.looks = 0

    def look(self) -> Seen:
        self.looks += 1
        if self.problem is not None:
            raise self.problem
        cells = [
            CellRow(shard, "a" if shard in self.leases else None, 1, 3_000 if shard in self.leases else 0, None)
            for shard in SHARDS
        ]
        return Seen([NodeRow("a", "a 1", OWN.address, 3_000, 0, 1)], cells, None)

    def take(self, shards: list[int]) -> list[int]:
        self.leases |= dict.fromkeys(shards, 1)
        return shards

    def release(self, shards: list[int]) -> None:
        self.released += shards
        for shard in shards:
            self.leases.pop(shard, None)

    def held(self) -> dict[int, int]:
        return dict(self.leases)


class Engine:
    """An engine that notes its cells. `problems` has the error of each that does not open at the first try."""

    def __init__(self) -> None:
        self.cells: set[int] = set()
        self.problems: dict[int, Exception] = {}

    async def add_cell(self, shard: int) -> None:
        problem = self.problems.pop(shard, None)
        if problem is not None:
            raise problem
        self.cells.add(shard)

    async def hand_over(self, shard: int) -> bool:
        self.cells.remove(shard)
        return True

    def drop_cell(self, shard: int) -> bool:
        self.cells.discard(shard)
        return True


class Node:
    """The cells of a node that looks, with what is below them."""

    def __init__(self) -> None:
        clock = RealClock()
        self.rows, self.engine = Rows(), Engine()
        self.cells = NodeCells(cast("Membership", self.rows), clock, OWN, NodeClient(b"secret", "a", clock))
        self.cells.connect(self.engine, lambda: None)
        self.running = self.cells.start()

    async def all_open(self) -> None:
        while self.cells.count() < len(SHARDS):
            await self.cells.refresh()


def test_a_node_takes_and_hands_over_its_cells() -> None:
    async def test() -> None:
        node = Node()
        await node.cells.refresh()
        assert not node.cells.has_any(), "it takes none before `take_cells`"
        node.cells.take_cells()
        await node.all_open()
        assert node.engine.cells == set(SHARDS)
        assert all(node.cells.has(shard) for shard in SHARDS)
        await node.cells.leave()
        assert (node.engine.cells, node.cells.count(), sorted(node.rows.released)) == (set(), 0, sorted(SHARDS))

    asyncio.run(test())


def test_a_cell_that_does_not_open_is_released_and_taken_again() -> None:
    """Also because of a bug: otherwise its lease would be renewed, and its executions would stand still."""

    async def test() -> None:
        node = Node()
        node.engine.problems = {SHARDS[0]: Unavailable("not now"), SHARDS[1]: KeyError("a bug")}
        node.cells.take_cells()
        await node.all_open()
        assert sorted(node.rows.released) == sorted(SHARDS[:2])
        await node.cells.leave()

    asyncio.run(test())


def test_a_look_that_fails_ends_the_wait_for_it() -> None:
    async def test() -> None:
        node = Node()
        node.cells.take_cells()
        await node.all_open()
        node.rows.problem = Unavailable("no database")
        before = node.rows.looks
        await node.cells.refresh()
        assert node.rows.looks > before
        assert node.cells.count() == len(SHARDS)
        node.rows.problem = None
        await node.cells.leave()
        await node.cells.refresh()

    asyncio.run(test())


def test_cells_that_others_have_are_dropped() -> None:
    async def test() -> None:
        node = Node()
        node.cells.take_cells()
        await node.all_open()
        del node.rows.leases[SHARDS[2]]
        await asyncio.to_thread(node.rows.on_lost, [SHARDS[2]])
        while SHARDS[2] in node.engine.cells:
            await asyncio.sleep(0)
        node.cells.lost_cell(SHARDS[0], "its engine gives it up")
        assert SHARDS[0] not in node.engine.cells
        await node.all_open()
        assert SHARDS[0] in node.rows.released
        await node.cells.leave()

    asyncio.run(test())
