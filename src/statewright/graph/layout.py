"""The layout of a graph: positions of all its parts, in SVG user units from the top left corner.

Recursive, since edges never cross the border of a Parallel or Map: the innermost scopes are laid out first and become
boxes. Per scope: `graph.ranking`, then `graph.layers`, `graph.columns`, `graph.routing`. Equal graphs give equal
layouts; an overlay changes nothing. Drawing is `graph.svg`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil
from typing import Final, Literal

from statewright.graph import sizing
from statewright.graph.columns import place_columns
from statewright.graph.layers import Item, Rows, SideExit, make_rows, side_height
from statewright.graph.model import Edge, Graph, Node, Overlay, Scope
from statewright.graph.ranking import Ranking, rank_scope
from statewright.graph.routing import Line, Point, route_rows
from statewright.graph.sizing import Lettering, Pill

MARGIN: Final = 24.0
SCOPE_EDGE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Rect:
    """An upright rectangle by its top left corner."""

    x: float
    y: float
    width: float
    height: float

    def moved(self, dx: float, dy: float) -> Rect:
        """The same rectangle, moved."""
        return Rect(self.x + dx, self.y + dy, self.width, self.height)


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A node with its text cut to fit. A box has `panels`, one for each of its scopes."""

    node: Node
    rect: Rect
    lines: tuple[str, ...]
    detail: str
    panels: tuple[Rect, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacedEdge:
    """An edge as a line of right angles; `edge` is `None` from the start mark.

    The first `drawn` points are its own. The rest it shares with an edge to the same target, which draws them and the
    arrowhead; to show this edge alone, draw all.
    """

    edge: Edge | None
    points: tuple[Point, ...]
    drawn: int

    @property
    def arrives(self) -> bool:
        """True if the line is drawn up to its target."""
        return self.drawn == len(self.points)


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """The label of an edge, cut to fit."""

    edge: Edge
    rect: Rect
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """The start of a scope, or the end of the state with that id. `y` is the centre of the mark."""

    kind: Literal["start", "end"]
    x: float
    y: float
    node: str | None


@dataclass(frozen=True, slots=True)
class Layout:
    """A complete layout, not yet drawn. Nodes are in reading order, each box before its contents."""

    graph: Graph
    width: float
    height: float
    nodes: tuple[PlacedNode, ...]
    edges: tuple[PlacedEdge, ...]
    labels: tuple[PlacedLabel, ...]
    marks: tuple[Mark, ...]

    def with_overlay(self, overlay: Overlay | None) -> Layout:
        """The same layout with another run as its overlay."""
        return replace(self, graph=self.graph.with_overlay(overlay))


@dataclass(slots=True)
class _Sketch:
    """The contents of one scope, from its own top left corner."""

    width: float = 0.0
    height: float = 0.0
    nodes: list[PlacedNode] = field(default_factory=list)
    edges: list[PlacedEdge] = field(default_factory=list)
    labels: list[PlacedLabel] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def put(self, inner: _Sketch, dx: float, dy: float) -> None:
        """Copy another sketch into this one at a place."""
        self.nodes += [
            replace(node, rect=node.rect.moved(dx, dy), panels=tuple(panel.moved(dx, dy) for panel in node.panels))
            for node in inner.nodes
        ]
        self.edges += [
            replace(edge, points=tuple((round(x + dx, 1), round(y + dy, 1)) for x, y in edge.points))
            for edge in inner.edges
        ]
        self.labels += [replace(label, rect=label.rect.moved(dx, dy)) for label in inner.labels]
        self.marks += [replace(mark, x=mark.x + dx, y=mark.y + dy) for mark in inner.marks]


@dataclass(slots=True)
class _Block:
    """A node without a position: its text, and for a box its scopes and their panels."""

    lettering: Lettering
    width: float
    height: float
    panels: list[Rect] = field(default_factory=list)
    sketches: list[_Sketch] = field(default_factory=list)


def layout(graph: Graph) -> Layout:
    """Compute the layout of a graph."""
    inner = _sketch(graph.root)
    page = _Sketch()
    page.put(inner, MARGIN, MARGIN)
    return Layout(
        graph,
        round(inner.width + 2 * MARGIN),
        round(inner.height + 2 * MARGIN),
        tuple(page.nodes),
        tuple(page.edges),
        tuple(page.labels),
        tuple(page.marks),
    )


def _sketch(scope: Scope) -> _Sketch:
    """Lay out one scope, its inner scopes first. The recursion ends where the graph folds its scopes."""
    ranking = rank_scope(scope)
    pills = {index: sizing.letter_pill(edge) for index, edge in enumerate(scope.edges)}
    blocks = {node.id: _block(node) for node in scope.nodes}
    _make_room_for_sides(scope, ranking, pills, blocks)
    sizes = {node_id: (block.width, block.height) for node_id, block in blocks.items()}
    rows = make_rows(scope, ranking, sizes, pills)
    place_columns(rows)
    routed = route_rows(rows)
    return _assemble(scope, rows, routed.lines, routed.height, blocks)


def _make_room_for_sides(
    scope: Scope, ranking: Ranking, pills: dict[int, Pill | None], blocks: dict[str, _Block]
) -> None:
    """A node with many side exits grows tall enough for them."""
    sides: dict[str, list[tuple[Literal["bottom", "left", "right"], Pill | None]]] = {}
    for index, edge in enumerate(scope.edges):
        if edge.kind == "catch":
            sides.setdefault(edge.source, []).append(("right", pills[index]))
        elif index in ranking.back:
            sides.setdefault(edge.source, []).append(("left", pills[index]))
    for node_id, exits in sides.items():
        block = blocks[node_id]
        block.height = max(block.height, side_height(exits))


def _block(node: Node) -> _Block:
    lettering = sizing.letter_node(node)
    if not node.is_box:
        return _Block(lettering, lettering.width, lettering.height)
    sketches = [_sketch(scope) for scope in node.scopes]
    panels: list[Rect] = []
    y = sizing.BOX_HEADER + sizing.NAME_LINE * (len(lettering.lines) - 1)
    widest = 0.0
    for first in range(0, len(sketches), sizing.PANELS_IN_A_ROW):
        row = sketches[first : first + sizing.PANELS_IN_A_ROW]
        height = max(sketch.height for sketch in row) + 2 * sizing.PANEL_PADDING
        x = sizing.BOX_PADDING
        for sketch in row:
            width = sketch.width + 2 * sizing.PANEL_PADDING
            panels.append(Rect(x, y, width, height))
            x += width + sizing.PANEL_GAP
        widest = max(widest, x - sizing.PANEL_GAP + sizing.BOX_PADDING)
        y += height + sizing.PANEL_GAP
    # Even, so that the middle is a whole number.
    width = 2.0 * ceil(max(widest, lettering.width) / 2)
    if len(panels) <= sizing.PANELS_IN_A_ROW:
        spare = (width - widest) // len(panels)
        panels = [
            replace(panel, x=panel.x + spare * place, width=panel.width + spare) for place, panel in enumerate(panels)
        ]
    height = y - sizing.PANEL_GAP + sizing.BOX_PADDING
    sheets = 2 * sizing.SHEET if node.kind == "Map" else 0.0
    return _Block(lettering, width + sheets, height + sheets, panels, sketches)


def _assemble(scope: Scope, rows: Rows, lines: list[Line], height: float, blocks: dict[str, _Block]) -> _Sketch:
    """Collect the placed parts, moved so that no coordinate is negative."""
    everything = [item for row in rows.rows for item in row]
    left = min(item.x - item.left for item in everything) - SCOPE_EDGE
    right = max(item.x + item.right for item in everything) + SCOPE_EDGE
    sketch = _Sketch(right - left, height)
    for item in sorted((item for item in everything if item.node is not None), key=lambda item: item.key):
        assert item.node is not None
        block = blocks[item.node.id]
        rect = Rect(round(item.x - item.half - left, 1), round(item.y, 1), block.width, block.height)
        panels = tuple(panel.moved(rect.x, rect.y) for panel in block.panels)
        sketch.nodes.append(PlacedNode(item.node, rect, block.lettering.lines, block.lettering.detail, panels))
        for panel, inner in zip(panels, block.sketches, strict=True):
            spare = (panel.width - inner.width) / 2
            sketch.put(inner, panel.x + spare, panel.y + sizing.PANEL_PADDING)
        if item.node.ends:
            centre = item.y + item.height + sizing.END_STUB + sizing.MARK_RADIUS
            sketch.marks.append(Mark("end", round(item.x - left, 1), round(centre, 1), item.node.id))
    for route, line in zip(rows.routes, lines, strict=True):
        points = tuple((round(x - left, 1), round(y, 1)) for x, y in line.points)
        sketch.edges.append(PlacedEdge(route.edge, points, line.drawn))
        if route.edge is None:
            continue
        if route.side and route.side.pill:
            sketch.labels.append(_side_label(route.source, route.side, route.edge, left))
        elif route.label is not None and route.label.pill is not None:
            label = route.label
            rect = Rect(round(label.x - label.half - left, 1), round(label.y, 1), 2 * label.half, label.height)
            sketch.labels.append(PlacedLabel(route.edge, rect, route.label.pill.lines))
    start = rows.start
    sketch.marks.append(Mark("start", round(start.x - left, 1), round(start.y + sizing.MARK_RADIUS, 1), scope.start))
    return sketch


def _side_label(item: Item, side: SideExit, edge: Edge, left: float) -> PlacedLabel:
    assert side.pill is not None
    x = item.x + side.pill_x - side.pill.width / 2 - left
    y = item.y + side.offset_y - side.pill.height / 2
    return PlacedLabel(edge, Rect(round(x, 1), round(y, 1), side.pill.width, side.pill.height), side.pill.lines)
