"""What must hold for every layout, whatever was laid out."""

from itertools import combinations, pairwise

from statewright.graph.layout import Layout, PlacedNode, Rect
from statewright.graph.model import Node, Scope

HAIR = 0.75


def check_layout(layout: Layout) -> None:
    """Assert that nothing overlaps, nothing sticks out, and no line runs through what it does not belong to."""
    inside = {placed.node.id: frozenset(_descendants(placed.node)) for placed in layout.nodes}
    for placed in layout.nodes:
        assert _contains(Rect(0, 0, layout.width, layout.height), placed.rect), placed
        for panel in placed.panels:
            assert _contains(placed.rect, panel)
    _check_nodes(layout, inside)
    _check_labels(layout, inside)
    _check_lines(layout, inside)


def _check_nodes(layout: Layout, inside: dict[str, frozenset[str]]) -> None:
    for one, other in combinations(layout.nodes, 2):
        if other.node.id in inside[one.node.id]:
            assert any(_contains(panel, other.rect) for panel in one.panels), (one, other)
        elif one.node.id in inside[other.node.id]:
            raise AssertionError("a box must stand before what it holds")
        else:
            assert not _overlap(one.rect, other.rect), (one, other)


def _check_labels(layout: Layout, inside: dict[str, frozenset[str]]) -> None:
    for one, other in combinations(layout.labels, 2):
        assert not _overlap(one.rect, other.rect), (one, other)
    for label in layout.labels:
        assert _contains(Rect(0, 0, layout.width, layout.height), label.rect)
        for placed in layout.nodes:
            if label.edge.source not in inside[placed.node.id]:
                assert not _overlap(label.rect, placed.rect), (label, placed)


def _check_lines(layout: Layout, inside: dict[str, frozenset[str]]) -> None:
    by_id = {placed.node.id: placed for placed in layout.nodes}
    arrived = set()
    for line in layout.edges:
        assert 2 <= line.drawn <= len(line.points)
        if line.edge is None:
            # From the start mark: where it arrives tells its target.
            arrived |= {i for i, placed in by_id.items() if line.arrives and _is_on_top(placed, line.points[-1])}
            continue
        source, target = by_id[line.edge.source], by_id[line.edge.target]
        assert _touches(source, line.points[0])
        assert _is_on_top(target, line.points[-1]), "a line arrives at the top"
        if line.arrives:
            arrived.add(line.edge.target)
        for start, end in pairwise(line.points):
            assert abs(start[0] - end[0]) < HAIR or abs(start[1] - end[1]) < HAIR, "lines have right angles"
            segment = Rect(min(start[0], end[0]), min(start[1], end[1]), abs(start[0] - end[0]), abs(start[1] - end[1]))
            for placed in layout.nodes:
                if line.edge.source not in inside[placed.node.id] and not (
                    placed is source and start == line.points[0]
                ):
                    assert not _overlap(segment, placed.rect), (line, placed)
            for label in layout.labels:
                if label.edge != line.edge:
                    assert not _overlap(segment, label.rect), (line, label)
    wanted = {line.edge.target for line in layout.edges if line.edge is not None}
    assert wanted <= arrived, "every target has at least one arrowhead"


def _descendants(node: Node) -> list[str]:
    found = []
    pending: list[Scope] = list(node.scopes)
    while pending:
        scope = pending.pop()
        for inner in scope.nodes:
            found.append(inner.id)
            pending.extend(inner.scopes)
    return found


def _contains(outer: Rect, inner: Rect) -> bool:
    return (
        outer.x - HAIR <= inner.x
        and outer.y - HAIR <= inner.y
        and inner.x + inner.width <= outer.x + outer.width + HAIR
        and inner.y + inner.height <= outer.y + outer.height + HAIR
    )


def _overlap(one: Rect, other: Rect) -> bool:
    return (
        one.x + HAIR < other.x + other.width
        and other.x + HAIR < one.x + one.width
        and one.y + HAIR < other.y + other.height
        and other.y + HAIR < one.y + one.height
    )


def _is_on_top(placed: PlacedNode, point: tuple[float, float]) -> bool:
    rect = placed.rect
    return point[1] == rect.y and rect.x <= point[0] <= rect.x + rect.width


def _touches(placed: PlacedNode, point: tuple[float, float]) -> bool:
    rect = placed.rect
    return rect.x - HAIR <= point[0] <= rect.x + rect.width + HAIR and rect.y <= point[1] <= rect.y + rect.height + HAIR
