"""Writes docs/phases.md from the tables of phases: `python -m tests.phases_drawing`, or `make tables`.

A test fails while the document is not what this would write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from statewright.interpreter.phases import FRAME_PHASES, MAP_RUN_PHASES, PHASES, RUN_PHASES, RUNNABLE

DOCUMENT = Path(__file__).parents[1] / "docs" / "phases.md"
COMMAND = "make tables"


def drawing(names: Sequence[str], table: Mapping[int, Mapping[int, str]]) -> list[str]:
    """A Mermaid state diagram. Causes stand in the table below it: on arrows they would hide the shape."""
    ids = [name.replace(" ", "_") for name in names]
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {ids[0]}"]
    lines += [f"    {ids[before]} --> {ids[after]}" for before, follows in table.items() for after in follows]
    return [*lines, "```"]


def causes(names: Sequence[str], table: Mapping[int, Mapping[int, str]]) -> list[str]:
    """The same as a table, with the cause of each change."""
    rows = [
        f"| {names[before]} | {names[after]} | {cause} |"
        for before, follows in table.items()
        for after, cause in follows.items()
    ]
    return ["| phase | becomes | when |", "|---|---|---|", *rows]


def written() -> str:
    """The document."""
    runnable = ", ".join(f"*{PHASES[phase]}*" for phase in sorted(RUNNABLE))
    lines = [
        "# Phases",
        "",
        f"Written by `{COMMAND}` from the tables in `interpreter/phases.py`; do not edit. The tests compare every",
        "change of phase that they cause with these tables.",
        "",
        "## Frames",
        "",
        "A frame is the machine, a branch or an iteration. Its phase says what it does next, or what it waits for;",
        f"{runnable} run without waiting for anything.",
        "",
        *drawing(PHASES, FRAME_PHASES),
        "",
        *causes(PHASES, FRAME_PHASES),
        "",
        "## Map Runs",
        "",
        *drawing(RUN_PHASES, MAP_RUN_PHASES),
        "",
        *causes(RUN_PHASES, MAP_RUN_PHASES),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(written())
    print(f"wrote {DOCUMENT.name}")
