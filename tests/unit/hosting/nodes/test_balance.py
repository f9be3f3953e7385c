"""The moves of nodes: after any joins, leaves and deaths, each node has its fair share within a few looks."""

from __future__ import annotations

import random

import pytest

from statewright.hosting.nodes.balance import moves_of
from statewright.stores.ids import SHARD, cell_shard
from statewright.stores.postgres.cells.seen import CellRow, NodeRow


class World:
    """A cluster whose nodes look in turn, and whose leases end when a node dies."""

    def __init__(self, cells: int) -> None:
        self.owners: dict[int, str | None] = {cell_shard(number): None for number in range(1, cells)}
        self.wanted: dict[int, str | None] = dict.fromkeys(self.owners)
        self.living: list[str] = []
        self.moved = 0

    def held(self, name: str) -> set[int]:
        return {shard for shard, owner in self.owners.items() if owner == name}

    def look(self, name: str) -> None:
        """One node looks, and makes its moves."""
        nodes = [NodeRow(one, f"{one} 1", f"http://{one}:1", 3_000, 0, 1) for one in self.living]
        cells = [CellRow(SHARD, self.living[0], 1, 3_000, None)]
        for shard, owner in self.owners.items():
            is_held = owner in self.living
            cells.append(CellRow(shard, owner, 1, 3_000 if is_held else 0, self.wanted[shard]))
        moves = moves_of(name, self.held(name), nodes, cells)
        for shard in moves.want:
            assert self.owners[shard] in self.living
            assert self.owners[shard] != name
            self.wanted[shard] = name
        for shard in moves.hand_over:
            assert self.owners[shard] == name
            self.owners[shard] = None
            self.moved += 1
        for shard in moves.take:
            assert self.owners[shard] not in self.living
            self.owners[shard], self.wanted[shard] = name, None

    def die(self, name: str) -> None:
        self.living.remove(name)

    def is_fair(self) -> bool:
        counts = [len(self.held(one)) for one in self.living]
        return sum(counts) == len(self.owners) and max(counts) - min(counts) <= 1


def settle(world: World, chance: random.Random, rounds: int = 8) -> None:
    for _ in range(rounds):
        for name in chance.sample(world.living, len(world.living)):
            world.look(name)


def test_one_node_takes_all() -> None:
    world = World(32)
    world.living = ["a"]
    world.look("a")
    assert len(world.held("a")) == 31


def test_a_node_that_joins_is_handed_its_share_and_no_more() -> None:
    world = World(32)
    world.living = ["a"]
    world.look("a")
    world.living = ["a", "b"]
    settle(world, random.Random(1))
    assert sorted(len(world.held(one)) for one in "ab") == [15, 16]
    assert world.moved == 15


def test_nothing_moves_while_all_have_their_share() -> None:
    world = World(32)
    world.living = ["a", "b", "c"]
    settle(world, random.Random(1))
    assert world.is_fair()
    before, owners = world.moved, dict(world.owners)
    settle(world, random.Random(2))
    assert (world.moved, world.owners) == (before, owners)


def test_a_node_without_a_row_of_its_own_does_nothing() -> None:
    nodes = [NodeRow("a", "a 1", "http://a:1", 0, 0, 1)]
    assert moves_of("a", (), nodes, [CellRow(cell_shard(1), None, 0, 0, None)]).take == []


@pytest.mark.parametrize("seed", range(60))
def test_shares_are_fair_after_any_joins_and_deaths(seed: int) -> None:
    chance = random.Random(seed)
    world = World(chance.choice((2, 8, 32, 64)))
    names = [f"n{number}" for number in range(9)]
    for _ in range(20):
        absent = [one for one in names if one not in world.living]
        if absent and (not world.living or chance.random() < 0.6):
            world.living.append(chance.choice(absent))
        elif len(world.living) > 1:
            world.die(chance.choice(world.living))
        for name in chance.sample(world.living, chance.randint(0, len(world.living))):
            world.look(name)
    settle(world, chance)
    assert world.is_fair(), {one: len(world.held(one)) for one in world.living}
