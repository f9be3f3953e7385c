"""The moves by which a node gets and gives its share of the cells, from one look at the cluster: a pure function.

Each living node is to have a fair share of the cells. A node takes cells that are free, up to its share. If it has
less than the others it asks for cells of those with the most, which hand them over one after the other; so a node that
joins, or comes back, gets its share without a pause for anything that does not move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from statewright.stores.ids import SHARD
from statewright.stores.postgres.cells.seen import CellRow, NodeRow


@dataclass(frozen=True, slots=True)
class Moves:
    """`take` these free cells; `want` these of others; `hand_over` these of one's own."""

    take: list[int] = field(default_factory=list)
    want: list[int] = field(default_factory=list)
    hand_over: list[int] = field(default_factory=list)


def moves_of(name: str, held: Collection[int], nodes: Sequence[NodeRow], cells: Sequence[CellRow]) -> Moves:
    """The moves of a node that holds these shards. The home is no part of this: its lease is one of its own."""
    living = {node.name for node in nodes if node.left_ms > 0}
    if name not in living:
        return Moves()
    spread = [cell for cell in cells if cell.shard != SHARD]
    least, rest = divmod(len(spread), len(living))
    most = least + (1 if rest else 0)
    counts = Counter(cell.node for cell in spread if cell.left_ms > 0)
    # Nodes that have their share by now do not count, though cells still have their names.
    asking = {node for node in living if counts[node] < least}
    wanted = [cell.shard for cell in spread if cell.shard in held and cell.wanted_by in asking - {name}]
    hand_over = sorted(wanted)[: max(0, len(held) - least)]
    # More than any node is to have: for those that have less, without being asked.
    excess = len(held) - len(hand_over) - most
    hand_over += [shard for shard in sorted(held) if shard not in hand_over][: max(0, excess)]
    free = [
        cell.shard
        for cell in spread
        if cell.left_ms <= 0 and cell.shard not in held and cell.wanted_by not in asking - {name}
    ]
    take = free[: max(0, most - len(held))]
    of_others = {
        cell.shard: cell.node
        for cell in spread
        if cell.left_ms > 0 and cell.shard not in held and cell.node is not None and cell.wanted_by not in asking
    }
    coming = sum(
        1
        for cell in spread
        if cell.wanted_by == name and cell.shard not in held and cell.left_ms > 0 and counts[cell.node] > least
    )
    lacking = least - len(held) - len(take) - coming
    return Moves(take, _of_the_richest(of_others, lacking, least), hand_over)


def _of_the_richest(owners: Mapping[int, str], lacking: int, least: int) -> list[int]:
    """As many cells as are lacking, of the nodes that have the most and more than `least`."""
    has = Counter(owners.values())
    chosen: list[int] = []
    while lacking > len(chosen) and has:
        richest, many = max(has.items(), key=lambda one: (one[1], one[0]))
        if many <= least:
            break
        chosen.append(next(shard for shard, node in owners.items() if node == richest and shard not in chosen))
        has[richest] -= 1
    return chosen
