"""The graph of a definition as the page receives it: the display list as JSON, with the paths of all icons.

The page draws what stands here and computes no geometry.
"""

from __future__ import annotations

from statewright.graph.display import LabelShape, RoundedRect, StateShape, Text, display_list
from statewright.graph.layout import layout
from statewright.graph.model import build_graph
from statewright.graph.palette import (
    ICONS,
    RETRY_ICON,
    STATUS_ICONS,
    WAITING_ICONS,
    WAITING_WORDS,
    tone_of,
)
from statewright.graph.services import SERVICE_ICONS
from statewright.payload import Json, JsonObject


def drawing(definition: Json) -> JsonObject:
    """The drawing of a definition: `{width, height, boxes, edges, marks, states, labels}`, each a list of objects.

    Lengths are CSS pixels, rounded to a tenth.
    """
    shapes = display_list(layout(build_graph(definition)))
    return {
        "width": _rounded(shapes.width),
        "height": _rounded(shapes.height),
        "boxes": [_state(shape) for shape in shapes.boxes],
        "edges": [
            {
                "source": edge.source, "target": edge.target, "kind": edge.kind, "line": edge.line, "arrow": edge.arrow,
                "whole": edge.whole, "wholeArrow": edge.whole_arrow,
            }
            for edge in shapes.edges
        ],
        "marks": [
            {"kind": mark.kind, "x": _rounded(mark.x), "y": _rounded(mark.y), "stub": mark.stub}
            for mark in shapes.marks
        ],
        "states": [_state(shape) for shape in shapes.states],
        "labels": [_label(label) for label in shapes.labels],
    }  # fmt: skip


def icons() -> JsonObject:
    """The paths of icons in a box of 16 by 16: of state types, services, statuses, and the marks of retriers and of
    waiting for an answer."""
    return {
        "kinds": dict(ICONS),
        "services": dict(SERVICE_ICONS),
        "statuses": dict(STATUS_ICONS),
        "retry": RETRY_ICON,
        "waiting": dict(WAITING_ICONS),
        "waitingWords": dict(WAITING_WORDS),
    }


def _state(shape: StateShape) -> JsonObject:
    node = shape.node
    outline = shape.outline
    return {
        "name": node.name,
        "kind": node.kind,
        "tone": tone_of(node),
        "service": node.service,
        "waits": node.waiting,
        "detail": node.detail,
        "comment": node.comment,
        "retries": list(node.retries),
        "reachable": node.reachable,
        "outline": outline if isinstance(outline, str) else _rect(outline),
        "names": [_text(line) for line in shape.names],
        "second": _text(Text(shape.second_line(shape.second.words), shape.second.x, shape.second.y)),
        "room": _rounded(shape.room),
        "alone": shape.alone,
        "tile": _rect(shape.tile),
        "icon": [_rounded(shape.icon[0]), _rounded(shape.icon[1])],
        "badge": [_rounded(shape.badge[0]), _rounded(shape.badge[1])],
        "retry": _point(shape.retry),
        "waiting": _point(shape.waiting),
        "sheets": [_rect(sheet) for sheet in shape.sheets],
        "panels": [_rect(panel) for panel in shape.panels],
    }


def _label(label: LabelShape) -> JsonObject:
    return {
        "source": label.source,
        "target": label.target,
        "look": label.look,
        "outline": _rect(label.outline),
        "lines": [_text(line) for line in label.lines],
        "labels": list(label.labels[:20]),
    }


def _rect(shape: RoundedRect) -> Json:
    rect = shape.rect
    return [_rounded(number) for number in (rect.x, rect.y, rect.width, rect.height, shape.radius)]


def _point(point: tuple[float, float] | None) -> Json:
    return None if point is None else [_rounded(point[0]), _rounded(point[1])]


def _text(line: Text) -> Json:
    return [line.words, _rounded(line.x), _rounded(line.y)]


def _rounded(value: float) -> float:
    return round(value, 1)
