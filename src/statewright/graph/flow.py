"""The dominator tree of a scope: the states that can be read as one block, and where branches meet again.

`graph.text` decides by it what to nest and what to defer. A state dominates
another one if every way to the other, loops aside, passes through it. Iterative: chains may be long.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from statewright.graph.model import Edge, Node, Scope
from statewright.graph.ranking import rank_scope


@dataclass(slots=True, eq=False)
class Step:
    """A node with its place in the flow. `jump` and `depth` make common dominators quick to find.

    `entries` counts the edges that lead here, loops aside; `calm` says that one of them is not a catcher's.
    """

    node: Node
    exits: list[Exit] = field(default_factory=list)
    children: list[Step] = field(default_factory=list)
    entries: int = 0
    calm: bool = False
    size: int = 1
    above: Step | None = None
    jump: Step | None = None
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Exit:
    """An edge out of a step; `back` if it closes a loop."""

    edge: Edge
    target: Step
    back: bool


@dataclass(frozen=True, slots=True)
class Flow:
    """The steps that a scope begins with: its start, then the nodes to which no edge leads."""

    roots: list[Step]


def read_flow(scope: Scope) -> Flow:
    """Arrange the nodes of a scope under their dominators, each before what it leads to."""
    ranking = rank_scope(scope)
    steps = {node.id: Step(node) for node in scope.nodes}
    sources: dict[str, list[Step]] = {}
    for index, edge in enumerate(scope.edges):
        source, target = steps[edge.source], steps[edge.target]
        back = index in ranking.back
        source.exits.append(Exit(edge, target, back))
        # An unreachable way changes nothing for the states that are reachable.
        if not back and (source.node.reachable or not target.node.reachable):
            target.entries += 1
            target.calm = target.calm or edge.kind != "catch"
            sources.setdefault(edge.target, []).append(source)
    roots = []
    ordered = [steps[name] for name in reversed(ranking.finished)]
    for step in ordered:
        above: Step | None = None
        # Other edges may lead to the start, but no step dominates it.
        for place, source in enumerate(sources.get(step.node.id, ()) if step.node.id != scope.start else ()):
            above = source if place == 0 else _common(above, source)
        _hang(step, above)
        if above is None:
            roots.append(step)
        else:
            above.children.append(step)
    for step in reversed(ordered):
        step.size += sum(child.size for child in step.children)
    start = steps.get(scope.start or "")
    roots.sort(key=lambda step: (step is not start, ranking.times[step.node.id]))
    return Flow(roots)


def _hang(step: Step, above: Step | None) -> None:
    """Put a step under another one; its jump pointer skips increasingly long stretches of its ancestors."""
    step.above = above
    if above is None:
        return
    step.depth = above.depth + 1
    over = above.jump
    if over is not None and over.jump is not None and above.depth - over.depth == over.depth - over.jump.depth:
        step.jump = over.jump
    else:
        step.jump = above


def _common(one: Step | None, other: Step | None) -> Step | None:
    """The nearest step that dominates both; `None` if they have different roots."""
    while one is not other:
        if one is None or other is None:
            return None
        if one.depth < other.depth:
            one, other = other, one
        if one.depth > other.depth:
            one = one.jump if one.jump is not None and one.jump.depth >= other.depth else one.above
        elif one.jump is not other.jump:
            one, other = one.jump, other.jump
        else:
            one, other = one.above, other.above
    return one
