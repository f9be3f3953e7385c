"""A layout as one self-contained SVG: light, dark, or by the reader's system setting.

Paints a display list, and a run on top of it. Owns the order of painting, and escaping: the contents of a definition
are text, never markup. Needs no font of its own, no script, no link; holds no ids, so that several drawings may share a
page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from statewright.graph.display import (
    EdgeShape,
    LabelShape,
    MarkShape,
    RoundedRect,
    StateShape,
    Text,
    display_list,
    number,
)
from statewright.graph.layout import Layout, layout
from statewright.graph.lettering import printable
from statewright.graph.model import STATUS_WORDS, Graph, Node, Overlay, Status
from statewright.graph.palette import (
    RETRY_ICON,
    STATUS_ICONS,
    WAITING_ICONS,
    WAITING_WORDS,
    Theme,
    icon_of,
    style_sheet,
    tone_of,
)
from statewright.graph.routing import Point

LONGEST_TOOLTIP = 600


def render_svg(drawing: Graph | Layout, theme: Theme = "auto", title: str | None = None) -> str:
    """Draw a graph, or an existing layout. `auto` follows the reader's `prefers-color-scheme`.

    `title` names the drawing for screen readers; without one the definition's comment does.
    """
    placed = layout(drawing) if isinstance(drawing, Graph) else drawing
    graph = placed.graph
    shapes = display_list(placed)
    name = escape(title or graph.comment or "State machine")
    width, height = number(placed.width), number(placed.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sw-{theme}" role="img" aria-label="{name}" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<title>{name}</title>",
        f"<desc>{escape(_description(graph))}</desc>",
        f"<style>\n{style_sheet(theme)}\n</style>",
        f'<rect class="page" width="{width}" height="{height}" rx="10"/>',
    ]
    parts += [_box(box, graph.overlay) for box in shapes.boxes]
    parts += [_edge(edge) for edge in sorted(shapes.edges, key=_painted_first)]
    parts += [_taken(edge, graph.overlay) for edge in shapes.edges]
    parts += [_mark(mark) for mark in shapes.marks]
    parts += [_state(state, graph.overlay) for state in shapes.states]
    parts += [_label(label) for label in shapes.labels]
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
    if node.waiting:
        lines.append(WAITING_WORDS[node.waiting])
    lines += [f"Retry {words}" for words in node.retries]
    lines.append(node.comment)
    return "\n".join(escape(line[:LONGEST_TOOLTIP]) for line in lines if line)


def _status_words(node: Node, overlay: Overlay) -> str:
    count = overlay.counts.get(node.name, 0)
    return STATUS_WORDS[overlay.status_of(node.name)] + (f", {count}×" if count > 1 else "")


def _status(node: Node, overlay: Overlay | None) -> Status | None:
    return None if overlay is None or node.kind in ("Missing", "Folded") else overlay.status_of(node.name)


def _box(shape: StateShape, overlay: Overlay | None) -> str:
    status = _status(shape.node, overlay)
    frame = _frame_class(shape.node, status)
    shapes = [_rounded(sheet, "b") for sheet in shape.sheets]
    shapes.append(_outline(shape, frame if status in (None, "idle") else f"{frame} box"))
    shapes += [_rounded(panel, "panel") for panel in shape.panels]
    return _group(shape, overlay, [*shapes, _lettering(shape, status, overlay)])


def _state(shape: StateShape, overlay: Overlay | None) -> str:
    status = _status(shape.node, overlay)
    outline = _outline(shape, _frame_class(shape.node, status))
    return _group(shape, overlay, [outline, _lettering(shape, status, overlay)])


def _outline(shape: StateShape, look: str) -> str:
    if isinstance(shape.outline, RoundedRect):
        return _rounded(shape.outline, look)
    return f'<path class="{look}" stroke-linejoin="round" d="{shape.outline}"/>'


def _group(shape: StateShape, overlay: Overlay | None, shapes: Iterable[str]) -> str:
    node = shape.node
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


def _lettering(shape: StateShape, status: Status | None, overlay: Overlay | None) -> str:
    """Icon tile, name and second line of a state, and the marks of retriers and of the run."""
    node = shape.node
    tone = tone_of(node) if status is None else status
    tile = ""
    if status is None or status == "idle":
        rect = shape.tile.rect
        tile = f'<rect x="{number(rect.x)}" y="{number(rect.y)}" width="26" height="26" rx="{shape.tile.radius:.0f}"/>'
    icon = _icon(icon_of(node), shape.icon, "i dots" if node.kind == "Folded" else "i")
    parts = [f'<g class="t-{tone}">{tile}{icon}</g>']
    second, second_class = shape.second.words, "d"
    if node.kind in ("Missing", "Unknown"):
        second_class = "d t-fail"
    elif not node.reachable:
        second_class = "d t-wait"
    if overlay is not None and status is not None and status != "idle":
        second, second_class = _status_words(node, overlay), f"d t-{status}"
    lower = 0 if second else shape.alone
    parts += [_text("n", line, lower) for line in shape.names]
    if second:
        parts.append(_text(second_class, replace(shape.second, words=shape.second_line(second))))
    mark_tone = "idle" if status in (None, "idle") else tone
    if shape.waiting is not None:
        parts.append(_icon(WAITING_ICONS[node.waiting], shape.waiting, f"i t-{mark_tone}", 0.82))
    if shape.retry is not None:
        parts.append(_icon(RETRY_ICON, shape.retry, f"i t-{mark_tone}", 0.82))
    if status is not None and status != "idle":
        parts.append(_badge(shape.badge, status))
    return "".join(parts)


def _badge(centre: Point, status: Status) -> str:
    """The status as an icon on the corner."""
    x, y = centre
    place = f'cx="{number(x)}" cy="{number(y)}"'
    icon = _icon(STATUS_ICONS[status], (x - 5.6, y - 5.6), "i", 0.7)
    return f'<circle class="halo" {place} r="11"/><circle class="badge-{status}" {place} r="9"/>{icon}'


def _edge(shape: EdgeShape) -> str:
    kind = " catch" if shape.kind == "catch" else ""
    arrow = f'<path class="a{kind}" d="{shape.arrow}"/>' if shape.arrow is not None else ""
    return f'<path class="e{kind}" d="{shape.line}"/>{arrow}'


def _painted_first(shape: EdgeShape) -> bool:
    """Caught errors are painted first, so that ordinary lines lie over them."""
    return shape.kind != "catch"


def _taken(shape: EdgeShape, overlay: Overlay | None) -> str:
    """The whole line again for a transition that the run took."""
    if overlay is None or shape.source is None or shape.target is None:
        return ""
    if not overlay.taken.get((shape.source, shape.target)):
        return ""
    return f'<path class="e taken" d="{shape.whole}"/><path class="a taken" d="{shape.whole_arrow}"/>'


def _label(shape: LabelShape) -> str:
    look = f" {shape.look}" if shape.look else ""
    texts = [_text(f"l{look}", line, centred=True) for line in shape.lines]
    whole = "\n".join(escape(label) for label in shape.labels[:20])
    outline = _rounded(shape.outline, f"p{look}")
    return f"<g><title>{whole}</title>{outline}{''.join(texts)}</g>"


def _mark(mark: MarkShape) -> str:
    x, y = number(mark.x), number(mark.y)
    if mark.stub is None:
        return f'<circle class="start" cx="{x}" cy="{y}" r="6"/>'
    stub = f'<path class="e" d="{mark.stub}"/>'
    return f'{stub}<circle class="ring" cx="{x}" cy="{y}" r="5.2"/><circle class="start" cx="{x}" cy="{y}" r="2.6"/>'


def _text(look: str, line: Text, lower: float = 0, *, centred: bool = False) -> str:
    anchor = ' text-anchor="middle"' if centred else ""
    x, y = number(line.x), number(line.y + lower)
    return f'<text class="{look}"{anchor} x="{x}" y="{y}">{escape(line.words)}</text>'


def _rounded(shape: RoundedRect, look: str) -> str:
    rect = shape.rect
    return (
        f'<rect class="{look}" x="{number(rect.x)}" y="{number(rect.y)}" width="{number(rect.width)}" '
        f'height="{number(rect.height)}" rx="{number(shape.radius)}"/>'
    )


def _icon(path: str, place: Point, look: str, scale: float = 1.0) -> str:
    scaled = f" scale({number(scale)})" if scale != 1 else ""
    return f'<path class="{look}" transform="translate({number(place[0])} {number(place[1])}){scaled}" d="{path}"/>'
