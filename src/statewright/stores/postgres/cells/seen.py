"""The cluster as one look at the database sees it: its nodes, their cells, and its home. Takes no lock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from statewright.stores.ids import SHARD
from statewright.stores.statements import SqlRow


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node. `left_ms`: how long its lease still runs by the database's time; zero or less: it is dead.

    `home_epoch` is the epoch of shard 0 under which the node says that it is the home, 0 if it does not. `format` is
    the newest that its program knows.
    """

    name: str
    incarnation: str
    address: str
    left_ms: int
    home_epoch: int
    format: int

    @property
    def is_live(self) -> bool:
        """True while the lease runs."""
        return self.left_ms > 0


@dataclass(frozen=True, slots=True)
class CellRow:
    """A cell but the first one. `node` is the name of the one that has it, None for none; `left_ms` as in `NodeRow`."""

    shard: int
    node: str | None
    epoch: int
    left_ms: int
    wanted_by: str | None


@dataclass(frozen=True, slots=True)
class Seen:
    """The nodes by name, dead ones among them, the cells by shard without that of the home, and the home."""

    nodes: list[NodeRow]
    cells: list[CellRow]
    home: NodeRow | None


def seen(rows: Iterable[SqlRow]) -> Seen:
    """Read the rows of the statement `look`."""
    nodes: list[NodeRow] = []
    cells: list[CellRow] = []
    home_epoch = 0
    for is_cell, name, text, address, left_ms, number, other in rows:
        if not is_cell:
            nodes.append(NodeRow(name, text, address, left_ms, number, other))
        elif number != SHARD:
            cells.append(CellRow(number, name, other, left_ms, text))
        elif left_ms > 0:
            home_epoch = other
    homes = [node for node in nodes if node.is_live and node.home_epoch == home_epoch > 0]
    return Seen(
        sorted(nodes, key=lambda node: node.name),
        sorted(cells, key=lambda cell: cell.shard),
        homes[0] if homes else None,
    )
