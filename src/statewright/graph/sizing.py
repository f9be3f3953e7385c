"""Sizes of the parts of a drawing: nodes by their text, pills by their labels.

Owns the measures that layout and drawing must agree on. All lengths are SVG user units, which are CSS pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from statewright.graph.lettering import fit, printable, text_width, wrap
from statewright.graph.model import Edge, Node

NAME_SIZE: Final = 13.0
DETAIL_SIZE: Final = 11.0
LABEL_SIZE: Final = 11.0
NAME_LINE: Final = 17.0
DETAIL_LINE: Final = 15.0
LABEL_LINE: Final = 14.0
BOLD: Final = 1.06
"""Widening of the weight of names, and of labels of transitions that were taken."""

NODE_HEIGHT: Final = 44.0
ICON_ROOM: Final = 44.0
"""From the left border to the text: padding, the icon tile, a gap."""
NODE_PADDING: Final = 14.0
NARROWEST: Final = 128.0
WIDEST_TEXT: Final = 208.0
POINT: Final = 12.0
"""The extent of the sides of a Choice."""
BADGE_ROOM: Final = 20.0
"""Space at the right of a node for each of its marks: of retriers, and of waiting for an answer."""

PILL_PADDING: Final = 8.0
WIDEST_PILL: Final = 200.0
LINES_OF_LABEL: Final = 2
LINES_OF_PILL: Final = 4

BOX_HEADER: Final = 46.0
BOX_PADDING: Final = 10.0
PANEL_PADDING: Final = 14.0
PANEL_GAP: Final = 10.0
PANELS_IN_A_ROW: Final = 6
SHEET: Final = 5.0
"""Offset of each of the two sheets drawn behind a Map."""

MARK_RADIUS: Final = 6.0
END_STUB: Final = 12.0
END_ROOM: Final = END_STUB + 2 * MARK_RADIUS


@dataclass(frozen=True, slots=True)
class Lettering:
    """The text of a node, cut to fit, with the size that it needs."""

    lines: tuple[str, ...]
    detail: str
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Pill:
    """The label of an edge as the lines that fit."""

    lines: tuple[str, ...]
    width: float
    height: float


def letter_node(node: Node) -> Lettering:
    """Fit the name and detail of a node into at most two lines and one."""
    lines = wrap(printable(node.name) or "(blank)", WIDEST_TEXT / BOLD, NAME_SIZE, 2)
    detail = fit(printable(node.detail), WIDEST_TEXT, DETAIL_SIZE)
    text = max([text_width(line, NAME_SIZE) * BOLD for line in lines] + [text_width(detail, DETAIL_SIZE)])
    badge = marks_room(node)
    points = 2 * POINT if node.kind == "Choice" else 0.0
    width = max(NARROWEST, ICON_ROOM + text + NODE_PADDING + badge) + points
    height = NODE_HEIGHT + NAME_LINE * (len(lines) - 1)
    return Lettering(lines, detail, round(width / 2) * 2.0, height)


def marks_room(node: Node) -> float:
    """Space at the right of a node for its marks."""
    return BADGE_ROOM * (bool(node.retries) + bool(node.waiting))


def letter_pill(edge: Edge) -> Pill | None:
    """Fit the labels of an edge, each on lines of its own; `None` for an edge without a label."""
    if not edge.labels:
        return None
    lines: list[str] = []
    shown = 0
    for label in edge.labels:
        wrapped = wrap(printable(label), (WIDEST_PILL - 2 * PILL_PADDING) / BOLD, LABEL_SIZE, LINES_OF_LABEL)
        rest = len(edge.labels) - shown
        if lines and len(lines) + len(wrapped) + (rest > 1) > LINES_OF_PILL:
            break
        lines.extend(wrapped)
        shown += 1
    if shown < len(edge.labels):
        lines.append(f"or {len(edge.labels) - shown} more")
    # A transition that was taken has its label in bold.
    width = max(text_width(line, LABEL_SIZE) for line in lines) * BOLD + 2 * PILL_PADDING
    return Pill(tuple(lines), round(width / 2) * 2.0, LABEL_LINE * len(lines) + 6)
