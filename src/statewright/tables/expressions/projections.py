"""Projections: the parts of an item at some paths, in their original structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from statewright.payload import JsonObject
from statewright.tables.expressions.bindings import Bindings
from statewright.tables.expressions.conditions import shown_path
from statewright.tables.expressions.parser import fault
from statewright.tables.expressions.tree import Path, Step
from statewright.tables.values import Item, Value

Project = Callable[[Item], Item]
Tree = dict[Step, "Tree | None"]

PARAMETER = "ProjectionExpression"


def projector(paths: Sequence[Path], bindings: Bindings) -> Project:
    """Compile a projection. Raises: ApiError."""
    return cutter([bindings.path(PARAMETER, path) for path in paths])


def cutter(paths: Sequence[tuple[Step, ...]]) -> Project:
    """Compile a projection of resolved paths. Raises: ApiError for paths that overlap."""
    tree: Tree = {}
    for number, steps in enumerate(paths):
        for other in paths[:number]:
            shorter = min(len(steps), len(other))
            if steps[:shorter] == other[:shorter]:
                raise fault(
                    PARAMETER,
                    "Two document paths overlap with each other; must remove or rewrite one of these paths; "
                    f"path one: {shown_path(other)}, path two: {shown_path(steps)}",
                )
        node = tree
        for step in steps[:-1]:
            inner = node.setdefault(step, {})
            assert inner is not None
            node = inner
        node[steps[-1]] = None
    if all(inner is None for inner in tree.values()):
        names = [str(step) for step in tree]
        return lambda item: {name: item[name] for name in names if name in item}
    return lambda item: _members(item, tree)


def _members(members: JsonObject, tree: Tree) -> JsonObject:
    found = {}
    for step, node in tree.items():
        name = str(step)
        value = members.get(name)
        cut = _cut(value, node) if value is not None else None
        if cut is not None:
            found[name] = cut
    return found


def _cut(value: Value, node: Tree | None) -> Value | None:
    if node is None:
        return value
    names: Tree = {step: inner for step, inner in node.items() if isinstance(step, str)}
    indexes = sorted(step for step in node if isinstance(step, int))
    if names and "M" in value:
        members = _members(value["M"], names)
        return {"M": members} if members else None
    if indexes and "L" in value:
        elements = value["L"]
        chosen = [_cut(elements[index], node[index]) for index in indexes if index < len(elements)]
        found = [element for element in chosen if element is not None]
        return {"L": found} if found else None
    return None
