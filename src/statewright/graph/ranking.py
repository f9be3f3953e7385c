"""Finds the edges that turn back, the depth of each node, and the main path.

Works on one scope. Owns the depth-first order that all later steps keep: document order from `StartAt`, so that
small changes of a definition make small changes of its drawing. Every walk is iterative: chains may be long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from statewright.graph.model import Edge, Node, Scope

MOST_ANCESTORS: Final = 200


@dataclass(slots=True)
class Ranking:
    """Facts about a scope before its layout.

    `times` orders nodes as the walk met them and `edge_times` the edges as it took them (by index in
    `Scope.edges`): siblings compare as in the document. `ranks` count from 1; rank 0 holds the start mark.
    `parents` and `children` are the tree of the walk, without the edges of catchers.
    """

    times: dict[str, int] = field(default_factory=dict)
    edge_times: dict[int, int] = field(default_factory=dict)
    back: set[int] = field(default_factory=set)
    parents: dict[str, str] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    finished: list[str] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)
    main: tuple[str, ...] = ()


def rank_scope(scope: Scope) -> Ranking:
    """Walk a scope and rank its nodes by their longest path from the start, loops left out."""
    ranking = Ranking()
    exits: dict[str, list[int]] = {node.id: [] for node in scope.nodes}
    # Catch edges come last, so that handlers are visited after, and drawn right of, the states that they guard.
    for index in sorted(range(len(scope.edges)), key=lambda i: scope.edges[i].kind == "catch"):
        exits[scope.edges[index].source].append(index)
    _walk(scope, exits, ranking)
    for name in reversed(ranking.finished):
        rank = ranking.ranks.setdefault(name, 1)
        for index in exits[name]:
            if index not in ranking.back:
                edge = scope.edges[index]
                ranking.ranks[edge.target] = max(ranking.ranks.get(edge.target, 1), rank + edge_length(edge))
    ranking.main = _main_path(scope, exits, ranking)
    return ranking


def edge_length(edge: Edge) -> int:
    """Ranks between the ends of a forward edge at least; a label on the way takes one of its own."""
    return 2 if edge.labels and edge.kind != "catch" else 1


def turns_right(ranking: Ranking, source: str, target: str) -> bool:
    """True if a loop returns on the right side of its body, because fewer branches lie there."""
    left = right = 0
    name = source
    for _ in range(MOST_ANCESTORS):
        parent = ranking.parents.get(name)
        if parent is None or name == target:
            break
        siblings = ranking.children[parent]
        place = siblings.index(name) if len(siblings) < MOST_ANCESTORS else 0
        left += place
        right += len(siblings) - 1 - place
        name = parent
    return left > right


def _walk(scope: Scope, exits: dict[str, list[int]], ranking: Ranking) -> None:
    """Depth first; an edge to a node that is still open turns back."""
    roots = [scope.start] if scope.start in exits else []
    clock = 0
    open_nodes: set[str] = set()
    for root in (*roots, *exits):
        if root is None or root in ranking.times:
            continue
        clock += 1
        ranking.times[root] = clock
        open_nodes.add(root)
        stack: list[tuple[str, Iterator[int]]] = [(root, iter(exits[root]))]
        while stack:
            name, remaining = stack[-1]
            index = next(remaining, None)
            if index is None:
                stack.pop()
                open_nodes.discard(name)
                ranking.finished.append(name)
                continue
            clock += 1
            ranking.edge_times[index] = clock
            target = scope.edges[index].target
            if target in open_nodes:
                ranking.back.add(index)
            elif target not in ranking.times:
                clock += 1
                ranking.times[target] = clock
                open_nodes.add(target)
                if scope.edges[index].kind != "catch":
                    ranking.parents[target] = name
                    ranking.children.setdefault(name, []).append(target)
                stack.append((target, iter(exits[target])))


def _main_path(scope: Scope, exits: dict[str, list[int]], ranking: Ranking) -> tuple[str, ...]:
    """The path that looks like the normal one: preferably without failure, then long, then in the middle."""
    if scope.start is None:
        return ()
    nodes: dict[str, Node] = {node.id: node for node in scope.nodes}
    score: dict[str, tuple[int, int]] = {}
    following: dict[str, str] = {}
    for name in ranking.finished:
        forward: list[str] = []
        turns_back = False
        for index in exits[name]:
            edge = scope.edges[index]
            if edge.kind == "catch":
                continue
            if index in ranking.back:
                turns_back = True
            else:
                forward.append(edge.target)
        if forward:
            best = max(score[target] for target in forward)
            equals = [target for target in forward if score[target] == best]
            following[name] = equals[(len(equals) - 1) // 2]
        else:
            best = (0 if nodes[name].kind in ("Fail", "Missing") else 1 if turns_back else 2, 0)
        score[name] = (best[0], best[1] + 1)
    path = [scope.start]
    while path[-1] in following:
        path.append(following[path[-1]])
    return tuple(path)
