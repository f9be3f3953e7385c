"""A layout as one self-contained SVG: light, dark, or by the reader's system setting.

Owns shapes, their order of painting, and escaping: the contents of a definition are text, never markup. Needs no font
of its own, no script, no link; holds no ids, so that several drawings may share a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import hypot

from statewright.graph import sizing
from statewright.graph.layout import Layout, Mark, PlacedEdge, PlacedLabel, PlacedNode, Rect, layout
from statewright.graph.lettering import fit, printable
from statewright.graph.model import DEFAULT, STATUS_WORDS, Edge, Graph, Node, Overlay, Status
from statewright.graph.palette import ICONS, RETRY_ICON, STATUS_ICONS, TONES, Theme, style_sheet
from statewright.graph.routing import Point

CORNER = 9.0
ARROW = 7.0
ICON_TILE = 26.0
LONGEST_TOOLTIP = 600


def render_svg(drawing: Graph | Layout, theme: Theme = "auto", title: str | None = None) -> str:
    """Draw a graph, or an existing layout. `auto` follows the reader's `prefers-color-scheme`.

    `title` names the drawing for screen readers; without one the definition's comment does.
    """
    placed = layout(drawing) if isinstance(drawing, Graph) else drawing
    graph = placed.graph
    name = escape(title or graph.comment or "State machine")
    width, height = _number(placed.width), _number(placed.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sw-{theme}" role="img" aria-label="{name}" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<title>{name}</title>",
        f"<desc>{escape(_description(graph))}</desc>",
        f"<style>\n{style_sheet(theme)}\n</style>",
        f'<rect class="page" width="{width}" height="{height}" rx="10"/>',
    ]
    names = {node.id: node.name for node in graph.nodes()}
    parts += [_box(node, graph.overlay) for node in placed.nodes if node.panels]
    parts += [_edge(edge) for edge in sorted(placed.edges, key=_painted_first)]
    parts += [_taken(edge, graph.overlay, names) for edge in placed.edges]
    parts += [_mark(mark) for mark in placed.marks]
    parts += [_state(node, graph.overlay) for node in placed.nodes if not node.panels]
    parts += [_label(label) for label in placed.labels]
    parts.append("</svg>")
    return "\n".join(part for part in parts if part) + "\n"


def escape(text: str) -> str:
    """Any string as XML text or attribute value."""
    clean = printable(text)
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        clean = clean.replace(char, entity)
    return clean


def _description(graph: Graph) -> str:
    nodes = list(graph.nodes())
    states = ", ".join(node.name for node in nodes[:40])
    return f"{len(nodes)} states: {states}{', and more' if len(nodes) > 40 else ''}."


def _tooltip(node: Node, overlay: Overlay | None) -> str:
    kind = {"Missing": "not there", "Folded": "not drawn"}.get(node.kind, node.kind)
    lines = [f"{node.name} ({kind})"]
    if overlay is not None and node.kind not in ("Missing", "Folded"):
        lines.append(_status_words(node, overlay))
    lines += [node.detail, "" if node.reachable else "Unreachable: nothing leads here"]
    lines += [f"Retry {words}" for words in node.retries]
    lines.append(node.comment)
    return "\n".join(escape(line[:LONGEST_TOOLTIP]) for line in lines if line)


def _status_words(node: Node, overlay: Overlay) -> str:
    count = overlay.counts.get(node.name, 0)
    return STATUS_WORDS[overlay.status_of(node.name)] + (f", {count}×" if count > 1 else "")


def _status(node: Node, overlay: Overlay | None) -> Status | None:
    return None if overlay is None or node.kind in ("Missing", "Folded") else overlay.status_of(node.name)


def _box(placed: PlacedNode, overlay: Overlay | None) -> str:
    """A Parallel or Map: header and panels. The sheets behind a Map stand for its iterations."""
    node, rect = placed.node, placed.rect
    status = _status(node, overlay)
    frame = _frame_class(node, status)
    shapes = []
    if node.kind == "Map":
        rect = Rect(rect.x, rect.y, rect.width - 2 * sizing.SHEET, rect.height - 2 * sizing.SHEET)
        shapes += [_rounded(rect.moved(step, step), 10, "b") for step in (2 * sizing.SHEET, sizing.SHEET)]
    shapes.append(_rounded(rect, 10, frame if status in (None, "idle") else f"{frame} box"))
    shapes += [_rounded(panel, 8, "panel") for panel in placed.panels]
    header = Rect(rect.x, rect.y, rect.width, placed.panels[0].y - placed.rect.y)
    shapes.append(_lettering(placed, header, status, overlay))
    return _group(placed, overlay, shapes)


def _state(placed: PlacedNode, overlay: Overlay | None) -> str:
    node, rect = placed.node, placed.rect
    status = _status(node, overlay)
    frame = _frame_class(node, status)
    if node.kind == "Choice":
        x, y, right, bottom = rect.x, rect.y, rect.x + rect.width, rect.y + rect.height
        middle, point = y + rect.height / 2, sizing.POINT
        corners = [(x, middle), (x + point, y), (right - point, y), (right, middle), (right - point, bottom)]
        path = "M" + "L".join(_point(corner) for corner in [*corners, (x + point, bottom)]) + "z"
        outline = f'<path class="{frame}" stroke-linejoin="round" d="{path}"/>'
        inner = Rect(x + point, y, rect.width - 2 * point, rect.height)
    else:
        outline = _rounded(rect, rect.height / 2 if node.kind in ("Succeed", "Fail") else 8, frame)
        inner = rect
    return _group(placed, overlay, [outline, _lettering(placed, inner, status, overlay)])


def _group(placed: PlacedNode, overlay: Overlay | None, shapes: Iterable[str]) -> str:
    node = placed.node
    faint = ' class="faint"' if _status(node, overlay) == "idle" and not node.is_box else ""
    return f'<g data-state="{escape(node.name)}"{faint}><title>{_tooltip(node, overlay)}</title>{"".join(shapes)}</g>'


def _frame_class(node: Node, status: Status | None) -> str:
    if node.kind in ("Missing", "Unknown"):
        return "b dash on on-fail"
    if node.kind == "Folded":
        return "b dash on-idle"
    if status is not None and status != "idle":
        return f"b on on-{status}" + (" dash" if status == "run" else "")
    return "b" if node.reachable else "b dash on edge-wait"


def _lettering(placed: PlacedNode, rect: Rect, status: Status | None, overlay: Overlay | None) -> str:
    """Icon tile, name and second line of a node within `rect`; at the right the marks of retriers and of the run."""
    node = placed.node
    tone = TONES[node.kind] if status is None else status
    round_ends = node.kind in ("Succeed", "Fail")
    tile_x = rect.x + 9
    tile_y = rect.y + (rect.height - ICON_TILE) / 2
    if status is None or status == "idle":
        tile = (
            f'<rect x="{_number(tile_x)}" y="{_number(tile_y)}" width="26" height="26" rx="{13 if round_ends else 6}"/>'
        )
    else:
        tile = ""
    icon = _icon(ICONS[node.kind], tile_x + 5, tile_y + 5, "i dots" if node.kind == "Folded" else "i")
    parts = [f'<g class="t-{tone}">{tile}{icon}</g>']
    second, second_class = placed.detail, "d"
    if node.kind in ("Missing", "Unknown"):
        second_class = "d t-fail"
    elif not node.reachable:
        second, second_class = "unreachable", "d t-wait"
    if overlay is not None and status is not None and status != "idle":
        second, second_class = _status_words(node, overlay), f"d t-{status}"
    text_x = _number(rect.x + sizing.ICON_ROOM)
    count = len(placed.lines)
    baseline = rect.y + (rect.height - sizing.NAME_LINE * count - (sizing.DETAIL_LINE if second else 0)) / 2 + 13
    for line in placed.lines:
        parts.append(f'<text class="n" x="{text_x}" y="{_number(baseline)}">{escape(line)}</text>')
        baseline += sizing.NAME_LINE
    if second:
        room = rect.width - sizing.ICON_ROOM - 8 - (sizing.BADGE_ROOM if node.retries else 0)
        said = fit(printable(second), room, sizing.DETAIL_SIZE)
        parts.append(f'<text class="{second_class}" x="{text_x}" y="{_number(baseline - 1)}">{escape(said)}</text>')
    if node.retries:
        parts.append(_retry_mark(rect, "idle" if status in (None, "idle") else tone))
    if status is not None and status != "idle":
        parts.append(_badge(placed.rect, status))
    return "".join(parts)


def _retry_mark(rect: Rect, tone: str) -> str:
    x, y = rect.x + rect.width - sizing.BADGE_ROOM - 3, rect.y + rect.height / 2 - 6.5
    return _icon(RETRY_ICON, x, y, f"i t-{tone}", 0.82)


def _badge(rect: Rect, status: Status) -> str:
    """The status as an icon on the corner."""
    x, y = rect.x + rect.width - 10, rect.y
    centre = f'cx="{_number(x)}" cy="{_number(y)}"'
    icon = _icon(STATUS_ICONS[status], x - 5.6, y - 5.6, "i", 0.7)
    return f'<circle class="halo" {centre} r="11"/><circle class="badge-{status}" {centre} r="9"/>{icon}'


def _edge(placed: PlacedEdge) -> str:
    kind = " catch" if placed.edge is not None and placed.edge.kind == "catch" else ""
    line = f'<path class="e{kind}" d="{_path(placed.points[: placed.drawn], shortened=placed.arrives)}"/>'
    return line + (_arrowhead(placed.points, f"a{kind}") if placed.arrives else "")


def _painted_first(placed: PlacedEdge) -> bool:
    """Caught errors are painted first, so that ordinary lines lie over them."""
    return placed.edge is None or placed.edge.kind != "catch"


def _taken(placed: PlacedEdge, overlay: Overlay | None, names: dict[str, str]) -> str:
    """The whole line again for a transition that the run took."""
    if overlay is None or placed.edge is None or not _count(placed.edge, overlay, names):
        return ""
    return f'<path class="e taken" d="{_path(placed.points, shortened=True)}"/>{_arrowhead(placed.points, "a taken")}'


def _count(edge: Edge, overlay: Overlay, names: dict[str, str]) -> int:
    return overlay.taken.get((names[edge.source], names[edge.target]), 0)


def _label(placed: PlacedLabel) -> str:
    rect = placed.rect
    look = " caught" if placed.edge.kind == "catch" else " other" if placed.edge.labels == (DEFAULT,) else ""
    middle = _number(rect.x + rect.width / 2)
    y = rect.y + 3 + 10.5
    texts = []
    for line in placed.lines:
        texts.append(f'<text class="l{look}" text-anchor="middle" x="{middle}" y="{_number(y)}">{escape(line)}</text>')
        y += sizing.LABEL_LINE
    whole = "\n".join(escape(label) for label in placed.edge.labels[:20])
    outline = _rounded(rect, min(10, rect.height / 2), f"p{look}")
    return f"<g><title>{whole}</title>{outline}{''.join(texts)}</g>"


def _mark(mark: Mark) -> str:
    x, y = _number(mark.x), _number(mark.y)
    if mark.kind == "start":
        return f'<circle class="start" cx="{x}" cy="{y}" r="6"/>'
    top = _number(mark.y - sizing.MARK_RADIUS - sizing.END_STUB)
    stub = f'<path class="e" d="M{x} {top}V{_number(mark.y - sizing.MARK_RADIUS)}"/>'
    return f'{stub}<circle class="ring" cx="{x}" cy="{y}" r="5.2"/><circle class="start" cx="{x}" cy="{y}" r="2.6"/>'


def _path(points: Iterable[Point], *, shortened: bool) -> str:
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


def _arrowhead(points: tuple[Point, ...], look: str) -> str:
    """A triangle at the end of the line, which always comes from above."""
    x, y = points[-1]
    base, tip = y - ARROW - 0.5, y - 0.5
    return f'<path class="{look}" d="M{_point((x - 4.2, base))}L{_point((x + 4.2, base))}L{_point((x, tip))}z"/>'


def _rounded(rect: Rect, radius: float, look: str) -> str:
    return (
        f'<rect class="{look}" x="{_number(rect.x)}" y="{_number(rect.y)}" width="{_number(rect.width)}" '
        f'height="{_number(rect.height)}" rx="{_number(radius)}"/>'
    )


def _icon(path: str, x: float, y: float, look: str, scale: float = 1.0) -> str:
    scaled = f" scale({_number(scale)})" if scale != 1 else ""
    return f'<path class="{look}" transform="translate({_number(x)} {_number(y)}){scaled}" d="{path}"/>'


def _point(point: Point) -> str:
    return f"{_number(point[0])} {_number(point[1])}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
