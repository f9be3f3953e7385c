"""The colours and icons of the drawings, light and dark.

Owns the style sheet of an SVG. Text has a contrast of 4.5:1 with its background. Colours are written out for each theme
rather than as CSS variables, which several SVG renderers do not know; icons are strokes in a box of 16 by 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from statewright.graph.model import Kind, Node, Status
from statewright.graph.services import SERVICE_ICONS, SERVICE_TONES, Waiting

Theme = Literal["auto", "light", "dark"]

_LIGHT: Final = {
    "page": "#f6f7f9",
    "surface": "#ffffff",
    "text": "#14202e",
    "muted": "#566273",
    "border": "#c9d1da",
    "line": "#7c8896",
    "ok": "#137a43",
    "ok-fill": "#e3f5ea",
    "fail": "#c2261d",
    "fail-fill": "#fdeae8",
    "run": "#1b5fd0",
    "run-fill": "#e6effd",
    "wait": "#8a5a00",
    "wait-fill": "#fdf1d8",
    "caught": "#a2480b",
    "caught-fill": "#fdecdf",
    "idle": "#566273",
    "idle-fill": "#eef1f4",
    "accent": "#0b7285",
    "accent-fill": "#e3f4f6",
    "compute": "#9c4a00",
    "compute-fill": "#fcefdc",
    "messages": "#a8215e",
    "messages-fill": "#fce8f1",
    "data": "#5b46c4",
    "data-fill": "#ecebfd",
    "storage": "#3f6f12",
    "storage-fill": "#ebf4de",
    "outside": "#1b5fd0",
    "outside-fill": "#e6effd",
    "workers": "#7a3d9e",
    "workers-fill": "#f5eafb",
}
_DARK: Final = {
    "page": "#0e141b",
    "surface": "#151d27",
    "text": "#e6edf4",
    "muted": "#9aa9ba",
    "border": "#33404f",
    "line": "#66758a",
    "ok": "#4ccf86",
    "ok-fill": "#0f2e1f",
    "fail": "#ff8077",
    "fail-fill": "#3a1513",
    "run": "#7db1ff",
    "run-fill": "#12264a",
    "wait": "#f0b94a",
    "wait-fill": "#33260a",
    "caught": "#f5a15e",
    "caught-fill": "#362010",
    "idle": "#9aa9ba",
    "idle-fill": "#1d2733",
    "accent": "#4cc3d6",
    "accent-fill": "#0f2f36",
    "compute": "#f2a65a",
    "compute-fill": "#35230f",
    "messages": "#f58bb8",
    "messages-fill": "#3a1528",
    "data": "#a9a0ff",
    "data-fill": "#221f4a",
    "storage": "#a3cf6b",
    "storage-fill": "#1f2d10",
    "outside": "#7db1ff",
    "outside-fill": "#12264a",
    "workers": "#d09af0",
    "workers-fill": "#2f1b3d",
}
PALETTES: Final[Mapping[str, Mapping[str, str]]] = {"light": _LIGHT, "dark": _DARK}

TONES: Final[Mapping[Kind, str]] = {
    "Task": "accent",
    "Pass": "idle",
    "Choice": "run",
    "Wait": "wait",
    "Succeed": "ok",
    "Fail": "fail",
    "Parallel": "accent",
    "Map": "accent",
    "Unknown": "fail",
    "Missing": "fail",
    "Folded": "idle",
}
"""The colour of a state type's icon, while no run is shown."""
_GROUPS: Final = tuple(dict.fromkeys(tone for tone in SERVICE_TONES.values() if tone != "accent"))

_CHECK: Final = "M3 8.5 6.5 12 13 4.5"
_CROSS: Final = "M4 4l8 8M12 4l-8 8"
_CLOCK: Final = "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M8 4.8V8l2.3 1.5"
ICONS: Final[Mapping[Kind, str]] = {
    "Task": SERVICE_ICONS["other"],
    "Pass": "M2 8h11.5M9.5 4l4 4-4 4",
    "Choice": "M8 1.8v4.4L3.5 9.5V14M8 6.2l4.5 3.3V14",
    "Wait": _CLOCK,
    "Succeed": _CHECK,
    "Fail": _CROSS,
    "Parallel": "M3 2.5v11M8 2.5v11M13 2.5v11",
    "Map": "M8 2l6 3-6 3-6-3zM2 8l6 3 6-3M2 11l6 3 6-3",
    "Unknown": "M5.6 5.6a2.4 2.4 0 1 1 3.5 2.2c-.8.4-1.1.9-1.1 1.8M8 12.6v.1",
    "Missing": "M8 2.2 14.4 13.4H1.6zM8 6.4v3.2M8 11.6v.1",
    "Folded": "M3 8h.1M8 8h.1M13 8h.1",
}
HAND_ICON: Final = (
    "M5 8.6V3.9a1 1 0 0 1 2 0v3.4M7 7.3V2.7a1 1 0 0 1 2 0v4.6M9 7.3V3.5a1 1 0 0 1 2 0v4.3M11 7.8V5.4a1 1 0 0 1 2 0"
    "v4.4c0 2.8-1.7 4.6-4.4 4.6-1.9 0-3-.8-4-2.3L2.6 9.3c-.6-1 .6-1.9 1.4-1.1l1 1"
)
JOB_ICON: Final = "M4.2 2h7.6M4.2 14h7.6M5.2 2v2.6L8 8l2.8-3.4V2M5.2 14v-2.6L8 8l2.8 3.4V14"
WAITING_ICONS: Final[Mapping[Waiting, str]] = {"token": HAND_ICON, "sync": JOB_ICON}
"""Marks of Tasks that wait for an answer by token (a raised hand) or for the end of a job (an hourglass)."""
WAITING_WORDS: Final[Mapping[Waiting, str]] = {
    "token": "Waits for an answer by its task token",
    "sync": "Waits until the job is over",
}
RETRY_ICON: Final = "M13.5 8A5.5 5.5 0 1 1 11.6 3.9M13.6 1.2V5.2H9.6"
STATUS_ICONS: Final[Mapping[Status, str]] = {
    "ok": _CHECK,
    "fail": _CROSS,
    "run": "M13.5 8A5.5 5.5 0 1 1 8 2.5",
    "wait": _CLOCK,
    "caught": "M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z",
    "idle": "M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3",
}

_FONT: Final = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif'

# Without colours; {s} is the selector of the drawing, so that several may share a page.
_SHAPES: Final = """
{s} text{{font-family:{font};dominant-baseline:auto}}
{s} .n{{font-size:13px;font-weight:600}}
{s} .d,{s} .l{{font-size:11px}}
{s} .b{{stroke-width:1}}
{s} .i{{fill:none;stroke-width:1.5;stroke-linecap:round;stroke-linejoin:round}}
{s} .dots{{stroke-width:2.6}}
{s} .e{{fill:none;stroke-width:1.5}}
{s} .catch{{stroke-dasharray:5 3.5}}
{s} .taken{{stroke-width:2.5;stroke-dasharray:none}}
{s} .dash{{stroke-dasharray:4 3}}
{s} .on{{stroke-width:1.75}}
{s} .faint .n{{font-weight:500}}
""".strip()

_COLOURS: Final = """
{s} .page{{fill:{page}}}
{s} .n{{fill:{text}}}
{s} .d,{s} .l.other{{fill:{muted}}}
{s} .l{{fill:{text}}}
{s} .l.caught{{fill:{caught}}}
{s} .b{{fill:{surface};stroke:{border}}}
{s} .panel{{fill:{page};stroke:none}}
{s} .p{{fill:{surface};stroke:{border}}}
{s} .p.caught{{fill:{caught-fill};stroke:none}}
{s} .e{{stroke:{line}}}
{s} .a{{fill:{line}}}
{s} .e.catch{{stroke:{caught}}}
{s} .a.catch{{fill:{caught}}}
{s} .e.taken{{stroke:{accent}}}
{s} .a.taken{{fill:{accent}}}
{s} .faint .n{{fill:{muted}}}
{s} .faint .b{{fill:{page}}}
{s} .start{{fill:{text}}}
{s} .ring{{fill:none;stroke:{text};stroke-width:1.5}}
{s} .halo{{fill:{page}}}
""".strip()

# {t} is a tone: a status, or the colour of a state type or of a group of services.
_TILE: Final = """
{s} .t-{t}{{fill:{fill}}}
{s} .t-{t} .i,{s} .i.t-{t}{{stroke:{colour};fill:none}}
""".strip()
_TONE: Final = """
{s} .t-{t}{{fill:{fill}}}
{s} .t-{t} .i,{s} .i.t-{t}{{stroke:{colour};fill:none}}
{s} .d.t-{t}{{fill:{colour}}}
{s} .b.on-{t}{{fill:{fill};stroke:{colour}}}
{s} .b.box{{fill:{surface}}}
{s} .edge-{t}{{stroke:{colour}}}
{s} .badge-{t}{{fill:{colour}}}
{s} .badge-{t}+.i{{stroke:{surface}}}
""".strip()


def tone_of(node: Node) -> str:
    """The colour of a state's icon, while no run is shown."""
    return TONES[node.kind] if node.service is None else SERVICE_TONES[node.service]


def icon_of(node: Node) -> str:
    """The path of a state's icon."""
    return ICONS[node.kind] if node.service is None else SERVICE_ICONS[node.service]


def style_sheet(theme: Theme) -> str:
    """The style of one drawing whose root has the class `sw-<theme>`."""
    selector = f".sw-{theme}"
    shapes = _SHAPES.format(s=selector, font=_FONT)
    if theme != "auto":
        return shapes + "\n" + _coloured(selector, PALETTES[theme])
    dark = _coloured(selector, _DARK)
    return f"{shapes}\n{_coloured(selector, _LIGHT)}\n@media (prefers-color-scheme:dark){{\n{dark}\n}}"


def _coloured(selector: str, palette: Mapping[str, str]) -> str:
    rules = [_COLOURS.format(s=selector, **palette)]
    rules += [
        _TONE.format(s=selector, t=tone, fill=palette[f"{tone}-fill"], colour=palette[tone], surface=palette["surface"])
        for tone in ("ok", "fail", "run", "wait", "caught", "idle", "accent")
    ]
    rules += [_TILE.format(s=selector, t=tone, fill=palette[f"{tone}-fill"], colour=palette[tone]) for tone in _GROUPS]
    return "\n".join(rules)
