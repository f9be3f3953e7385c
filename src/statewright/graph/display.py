"""The display list of a layout: outlines, lines, icons and texts at their places, without a run and without colours.

Owns every number of a drawing, so that the SVG of the command line, of reports and of the documentation and the graph
of the console are one drawing. What a run changes (tones, second lines, badges, lines that were taken) is put on top
by the painter: `graph.svg`, or a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import hypot
from typing import Final, Literal

from statewright.graph import sizing
from statewright.graph.layout import Layout, Mark, PlacedEdge, PlacedLabel, PlacedNode, Rect
from statewright.graph.lettering import fit, printable
from statewright.graph.model import DEFAULT, EdgeKind, Node
from statewright.graph.routing import Point

CORNER: Final = 9.0
ARROW: Final = 7.0
ICON_TILE: Final = 26.0

LabelLook = Literal["", "caught", "other"]
"""`caught`: of an error; `other`: the exit of a Choice when no rule matches."""


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text by the left end of its baseline; labels are centred on `x`."""

    words: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class RoundedRect:
    """An upright rectangle and the radius of its corners."""

    rect: Rect
    radius: float


@dataclass(frozen=True, slots=True)
class StateShape:
    """A state. `outline` is a rectangle, or the path of a Choice.

    `names` stand above a second line; without one they are `alone` lower. `second` is the second
    line while no run is shown, with empty words if there is none; `room` is the width for another one. `tile` lies
    behind the icon. `retry` and `waiting` are the places of the marks of retriers and of waiting for an answer, by
    their top left corners, `badge` that of a status by its centre.
    """

    node: Node
    outline: RoundedRect | str
    names: tuple[Text, ...]
    second: Text
    room: float
    tile: RoundedRect
    icon: Point
    badge: Point
    retry: Point | None = None
    waiting: Point | None = None
    sheets: tuple[RoundedRect, ...] = ()
    panels: tuple[RoundedRect, ...] = ()
    alone: float = sizing.DETAIL_LINE / 2

    def second_line(self, words: str) -> str:
        """Words cut to fit the second line."""
        return fit(printable(words), self.room, sizing.DETAIL_SIZE)


@dataclass(frozen=True, slots=True)
class EdgeShape:
    """A transition, as paths; `kind` is `None` from a start mark.

    `line` is its own part, `arrow` the head at its end; an edge that joins another one has none. `whole` and
    `whole_arrow` show the transition alone.
    """

    source: str | None
    target: str | None
    kind: EdgeKind | None
    line: str
    arrow: str | None
    whole: str
    whole_arrow: str


@dataclass(frozen=True, slots=True)
class LabelShape:
    """The label of a transition; `labels` are its whole words."""

    source: str
    target: str
    look: LabelLook
    outline: RoundedRect
    lines: tuple[Text, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MarkShape:
    """A start mark, or an end with the line that leads to it, by its centre."""

    kind: Literal["start", "end"]
    x: float
    y: float
    stub: str | None


@dataclass(frozen=True, slots=True)
class DisplayList:
    """A whole drawing, in the order of painting within each list: boxes, edges, marks, states, labels.

    `source` and `target` of edges and labels are names of states.
    """

    width: float
    height: float
    boxes: tuple[StateShape, ...]
    edges: tuple[EdgeShape, ...]
    marks: tuple[MarkShape, ...]
    states: tuple[StateShape, ...]
    labels: tuple[LabelShape, ...]


def display_list(placed: Layout) -> DisplayList:
    """The display list of a layout."""
    names = {node.id: node.name for node in placed.graph.nodes()}
    return DisplayList(
        placed.width,
        placed.height,
        tuple(_box(node) for node in placed.nodes if node.panels),
        tuple(_edge(edge, names) for edge in placed.edges),
        tuple(_mark(mark) for mark in placed.marks),
        tuple(_state(node) for node in placed.nodes if not node.panels),
        tuple(_label(label, names) for label in placed.labels),
    )


def number(value: float) -> str:
    """A length as the drawings write it, to a tenth."""
    return f"{value:.1f}".removesuffix(".0")


def _box(placed: PlacedNode) -> StateShape:
    """A Parallel or Map: header and panels. The sheets behind a Map stand for its iterations."""
    rect = placed.rect
    sheets: tuple[RoundedRect, ...] = ()
    if placed.node.kind == "Map":
        rect = Rect(rect.x, rect.y, rect.width - 2 * sizing.SHEET, rect.height - 2 * sizing.SHEET)
        sheets = tuple(RoundedRect(rect.moved(step, step), 10) for step in (2 * sizing.SHEET, sizing.SHEET))
    header = Rect(rect.x, rect.y, rect.width, placed.panels[0].y - placed.rect.y)
    panels = tuple(RoundedRect(panel, 8) for panel in placed.panels)
    return _lettered(placed, header, RoundedRect(rect, 10), sheets, panels)


def _state(placed: PlacedNode) -> StateShape:
    node, rect = placed.node, placed.rect
    if node.kind != "Choice":
        return _lettered(placed, rect, RoundedRect(rect, rect.height / 2 if node.kind in ("Succeed", "Fail") else 8))
    x, y, right, bottom = rect.x, rect.y, rect.x + rect.width, rect.y + rect.height
    middle, point = y + rect.height / 2, sizing.POINT
    corners = [(x, middle), (x + point, y), (right - point, y), (right, middle), (right - point, bottom)]
    path = "M" + "L".join(_point(corner) for corner in [*corners, (x + point, bottom)]) + "z"
    return _lettered(placed, Rect(x + point, y, rect.width - 2 * point, rect.height), path)


def _lettered(
    placed: PlacedNode,
    inner: Rect,
    outline: RoundedRect | str,
    sheets: tuple[RoundedRect, ...] = (),
    panels: tuple[RoundedRect, ...] = (),
) -> StateShape:
    """A shape whose icon, names and marks lie within `inner`."""
    node = placed.node
    tile = Rect(inner.x + 9, inner.y + (inner.height - ICON_TILE) / 2, ICON_TILE, ICON_TILE)
    text_x = inner.x + sizing.ICON_ROOM
    baseline = inner.y + (inner.height - sizing.NAME_LINE * len(placed.lines) - sizing.DETAIL_LINE) / 2 + 13
    names = []
    for line in placed.lines:
        names.append(Text(line, text_x, baseline))
        baseline += sizing.NAME_LINE
    second = placed.detail if node.reachable or node.kind in ("Missing", "Unknown") else "unreachable"
    mark = (inner.x + inner.width - sizing.BADGE_ROOM - 3, inner.y + inner.height / 2 - 6.5)
    retry = mark if node.retries else None
    waiting = None
    if node.waiting:
        waiting = (mark[0] - (sizing.BADGE_ROOM if node.retries else 0), mark[1])
    return StateShape(
        node,
        outline,
        tuple(names),
        Text(second, text_x, baseline - 1),
        inner.width - sizing.ICON_ROOM - 8 - sizing.marks_room(node),
        RoundedRect(tile, 13 if node.kind in ("Succeed", "Fail") else 6),
        (tile.x + 5, tile.y + 5),
        (placed.rect.x + placed.rect.width - 10, placed.rect.y),
        retry,
        waiting,
        sheets,
        panels,
    )


def _edge(placed: PlacedEdge, names: dict[str, str]) -> EdgeShape:
    edge = placed.edge
    arrow = _arrowhead(placed.points)
    return EdgeShape(
        None if edge is None else names[edge.source],
        None if edge is None else names[edge.target],
        None if edge is None else edge.kind,
        line_path(placed.points[: placed.drawn], shortened=placed.arrives),
        arrow if placed.arrives else None,
        line_path(placed.points, shortened=True),
        arrow,
    )


def _label(placed: PlacedLabel, names: dict[str, str]) -> LabelShape:
    rect, edge = placed.rect, placed.edge
    look: LabelLook = "caught" if edge.kind == "catch" else "other" if edge.labels == (DEFAULT,) else ""
    x, y = rect.x + rect.width / 2, rect.y + 3 + 10.5
    lines = tuple(Text(words, x, y + step * sizing.LABEL_LINE) for step, words in enumerate(placed.lines))
    outline = RoundedRect(rect, min(10, rect.height / 2))
    return LabelShape(names[edge.source], names[edge.target], look, outline, lines, edge.labels)


def _mark(mark: Mark) -> MarkShape:
    if mark.kind == "start":
        return MarkShape("start", mark.x, mark.y, None)
    top = mark.y - sizing.MARK_RADIUS - sizing.END_STUB
    stub = f"M{number(mark.x)} {number(top)}V{number(mark.y - sizing.MARK_RADIUS)}"
    return MarkShape("end", mark.x, mark.y, stub)


def line_path(points: Iterable[Point], *, shortened: bool) -> str:
    """The line with rounded corners; shortened if an arrowhead follows."""
    corners = _corners(points)
    if shortened and len(corners) > 1:
        (x1, y1), (x2, y2) = corners[-2:]
        length = hypot(x2 - x1, y2 - y1)
        cut = min(ARROW - 1, length) / length
        corners[-1] = (x2 - (x2 - x1) * cut, y2 - (y2 - y1) * cut)
    parts = ["M" + _point(corners[0])]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        into, out = (
            hypot(corner[0] - before[0], corner[1] - before[1]),
            hypot(after[0] - corner[0], after[1] - corner[1]),
        )
        radius = min(CORNER, into / 2, out / 2)
        enter = _towards(corner, before, radius / into)
        leave = _towards(corner, after, radius / out)
        parts.append(f"L{_point(enter)}Q{_point(corner)} {_point(leave)}")
    if len(corners) > 1:
        parts.append("L" + _point(corners[-1]))
    return "".join(parts)


def _corners(points: Iterable[Point]) -> list[Point]:
    """The points without repetitions and without those on a straight way."""
    corners: list[Point] = []
    for point in points:
        if corners and hypot(point[0] - corners[-1][0], point[1] - corners[-1][1]) < 0.5:
            continue
        corners.append(point)
    straight = {
        place
        for place, ((x1, y1), (x2, y2), (x3, y3)) in enumerate(zip(corners, corners[1:], corners[2:], strict=False), 1)
        if abs((x2 - x1) * (y3 - y2) - (y2 - y1) * (x3 - x2)) < 0.5
    }
    return [corner for place, corner in enumerate(corners) if place not in straight]


def _towards(start: Point, end: Point, share: float) -> Point:
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def _arrowhead(points: tuple[Point, ...]) -> str:
    """A triangle at the end of the line, which always comes from above."""
    x, y = points[-1]
    base, tip = y - ARROW - 0.5, y - 0.5
    return f"M{_point((x - 4.2, base))}L{_point((x + 4.2, base))}L{_point((x, tip))}z"


def _point(point: Point) -> str:
    return f"{number(point[0])} {number(point[1])}"
