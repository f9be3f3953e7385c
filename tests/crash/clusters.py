"""Nodes of a cluster on one database, each with a data folder of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.crash.pairs import Node, answer_of
from tests.deadlines import until


class Cluster:
    """The nodes of a cluster, which are started one after the other."""

    def __init__(self, folder: Path, address: str, cells: int = 8) -> None:
        self._folder = folder
        self._address = address
        self._cells = cells
        self.nodes: dict[str, Node] = {}

    def add(self, name: str, *options: str, fail_point: str = "") -> Node:
        """Start a node, or start it again, without waiting until it serves."""
        role = ("--node", name, "--cells", str(self._cells))
        self.nodes[name] = Node(
            self._folder, name, self._address, *options, data=self._folder / name, role=role, fail_point=fail_point
        )
        return self.nodes[name]

    def begin(self, *names: str) -> list[Node]:
        """Start nodes, and wait until they serve and have their cells."""
        found = []
        for name in names:
            node = self.add(name)
            node.wait("ready")
            found.append(node)
        self.settle()
        return found

    def shown(self, node: Node) -> list[dict[str, Any]]:
        """The nodes and what each has, as one of them sees them; none if it does not answer."""
        found = answer_of(node, "Statewright.ListNodes", {})
        wanted = ("name", "address", "isHome", "cells")
        return [{name: one[name] for name in wanted} for one in found["nodes"]] if found is not None else []

    def settle(self) -> list[dict[str, Any]]:
        """Wait until every living node has its share of the cells, and one has the home; what they see then."""
        living = {name: node for name, node in self.nodes.items() if node.process.poll() is None}

        def settled() -> Any:
            seen = [self.shown(node) for node in living.values()]
            first = seen[0]
            counts = [one["cells"] for one in first]
            fair = bool(counts) and sum(counts) == self._cells - 1 and max(counts) - min(counts) <= 1
            agreed = all(one == first for one in seen) and {one["name"] for one in first} == set(living)
            return first if fair and agreed and sum(one["isHome"] for one in first) == 1 else None

        found: list[dict[str, Any]] = until(settled, "a fair share of the cells for each node")
        return found

    def home(self) -> Node:
        """The node that has the home."""
        return next(self.nodes[one["name"]] for one in self.settle() if one["isHome"])

    def others(self) -> list[Node]:
        """The living nodes that do not have it."""
        return [self.nodes[one["name"]] for one in self.settle() if not one["isHome"]]

    def stop(self) -> list[int]:
        """Stop all that live, one after the other; their exit codes."""
        return [node.stop() for node in self.nodes.values() if node.process.poll() is None]
