"""Curves as SVG, drawn by us: axes with round numbers, steps or lines, a limit, a legend. No script, no dependency.

Owns geometry. Colours are CSS classes, so that a page suits light and dark; what the curves are is `curves.py`'s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any, Final

from statewright.payload import JsonObject

WIDTH: Final = 560
HEIGHT: Final = 220
LEFT: Final = 56
RIGHT: Final = 14
TOP: Final = 12
BOTTOM: Final = 28
_STEPS: Final = (1, 2, 2.5, 5, 10)
_TIMES: Final = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
)  # fmt: skip
Points = Sequence[Sequence[float]]


def chart_svg(chart: JsonObject, end_seconds: float) -> str:
    """A chart as an SVG element; its title is read out."""
    most = max(value for line in chart["lines"] for _, value in line["points"])
    limit = chart.get("limit")
    # A limit that is far away would flatten the curves: then only the words say it.
    shows_limit = limit is not None and limit <= 4 * most
    top = _round_up(max(most, limit or 0) if shows_limit else most)
    end = max(end_seconds, 1.0)

    def x(at: float) -> float:
        return LEFT + min(at, end) / end * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(chart["title"])}">',
        *_axes(top, end, x, y),
    ]
    for line in chart["lines"]:
        path = _path(line["points"], x, y, end, steps=chart["steps"])
        if len(chart["lines"]) == 1:
            base = y(0)
            parts.append(f'<path class="area {line["tone"]}" d="{path}V{base:.1f}H{x(line["points"][0][0]):.1f}Z"/>')
        parts.append(f'<path class="line {line["tone"]}" d="{path}"/>')
    if shows_limit and limit is not None:
        parts.append(f'<path class="limit" d="M{LEFT} {y(limit):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text class="limit-text" x="{LEFT + 6}" y="{y(limit) - 4 if y(limit) > TOP + 8 else y(limit) + 12:.1f}">'
            f"limit {number_words(limit)}</text>"
        )
    parts.append("</svg>")
    return "".join(parts)


def legend(chart: JsonObject) -> str:
    """The names of the curves, each with a stroke in its colour."""
    return "".join(
        '<span><svg class="key" viewBox="0 0 16 4" aria-hidden="true">'
        f'<path class="line {line["tone"]}" d="M0 2H16"/></svg>{escape(line["name"])}</span>'
        for line in chart["lines"]
    )


def number_words(value: float) -> str:
    """A number as a reader wants it: `1,000`, `0.25`, `1.5e-07`."""
    if value == round(value):
        return f"{value:,.0f}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def time_words(seconds: float) -> str:
    """An instant on an axis: `40 s`, `12 min`, `3 h`, `1.5 d`."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _axes(top: float, end: float, x: Any, y: Any) -> list[str]:
    parts = []
    for step in range(5):
        value = top * step / 4
        parts.append(f'<path class="grid" d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{number_words(value)}</text>'
        )
    gap = next((one for one in _TIMES if end / one <= 7), _TIMES[-1])
    unit, size = (
        ("d", 86_400) if gap >= 86_400 else ("h", 3_600) if gap >= 3_600 else ("min", 60) if gap >= 60 else ("s", 1)
    )
    for number in range(int(end // gap) + 1):
        at = number * gap
        words = f"{at / size:g}" if at and x(at) < WIDTH - 50 else f"{at / size:g} {unit}"
        anchor = "end" if x(at) > WIDTH - 24 else "middle"
        parts.append(f'<text class="tick" x="{x(at):.1f}" y="{HEIGHT - 10}" text-anchor="{anchor}">{words}</text>')
    return parts


def _path(points: Points, x: Any, y: Any, end: float, *, steps: bool) -> str:
    made = []
    last = None
    for at, value in points:
        if last is None:
            made.append(f"M{x(at):.1f} {y(value):.1f}")
        elif not steps:
            made.append(f"L{x(at):.1f} {y(value):.1f}")
        elif value != last:
            made.append(f"H{x(at):.1f}V{y(value):.1f}")
        last = value
    return "".join(made) + (f"H{x(end):.1f}" if steps else "")


def _round_up(value: float) -> float:
    if value <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(value / 4))
    return 4 * next(step * size for step in _STEPS if 4 * step * size >= value * (1 - 1e-9))
