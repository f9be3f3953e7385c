"""The report of a run in a failed test: the way it took as a tree, values where they part, the drawing in a file.

Loaded when something has failed. Trees are drawn as the command line draws them.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from statewright.files.whole import write_text
from statewright.payload import Json, JsonMapping, JsonObject, dump_json
from statewright.simulator.differences import ABSENT, Absent, Difference, sequence_changes

if TYPE_CHECKING:
    from statewright.simulator.story import Story

LONGEST_VALUE: Final = 200


def tree_text(story: Story, definition: Json, now_ms: int) -> str:
    """The run as a tree of lines."""
    from statewright.cli.live_tree import TreeView
    from statewright.cli.output import Printer

    printer = Printer(io.TextIOWrapper(io.BytesIO(), "utf-8"))
    lines = TreeView(story, _states(definition)).lines(now_ms)
    return "\n".join(printer.flat(line).rstrip() for line in lines)


def differences_text(found: Sequence[Difference]) -> str:
    """The places at which two values differ, one a line."""
    lines = []
    for one in found:
        lines.append(f"  at {one.where}")
        lines.append(f"    - wanted  {_value(one.wanted)}")
        lines.append(f"    + got     {_value(one.got)}")
    return "\n".join(lines)


def path_text(wanted: Sequence[str], got: Sequence[str]) -> str:
    """Two paths as one: `-` is missing, `+` came instead."""
    marks = {"same": " ", "missing": "-", "extra": "+"}
    return "\n".join(f"  {marks[kind]} {name}" for kind, name in sequence_changes(wanted, got))


def drawing(story: Story, definition: Json, title: str) -> str:
    """The run on the machine's graph, as SVG."""
    from statewright.graph.model import build_graph
    from statewright.graph.svg import render_svg
    from statewright.simulator.overlays import overlay_of

    return render_svg(build_graph(definition, overlay_of(story)), title=title)


def save(text: str, folder: Path, name: str) -> Path:
    """Write a drawing, under a name that is safe for files."""
    folder.mkdir(parents=True, exist_ok=True)
    safe = "".join(char if char.isalnum() or char in "-_." else "-" for char in name)[:150]
    path = folder / f"{safe}.svg"
    write_text(path, text)
    return path


def _value(value: Json | Absent) -> str:
    if value is ABSENT:
        return "nothing"
    text = dump_json(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def _states(definition: Json) -> JsonObject:
    """Every state of a definition by name, those inside others too."""
    found: JsonObject = {}
    pending: list[Json] = [definition]
    while pending:
        scope = pending.pop()
        for name, state in scope.get("States", {}).items():
            found[name] = state
            pending += inner_scopes(state)
    return found


def inner_scopes(state: JsonMapping) -> Iterable[Json]:
    """The scopes that a state of a valid definition holds."""
    if state.get("Type") == "Parallel":
        return list(state["Branches"])
    if state.get("Type") == "Map":
        return [state.get("ItemProcessor") or state["Iterator"]]
    return ()
