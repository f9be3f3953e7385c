"""Blocks that a template renders by their name: the bodies of macros and of `#define`, with their static costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from statewright.apis.templates.failures import RenderingFailed
from statewright.apis.templates.rendering import Rendering
from statewright.payload import Json

Evaluate = Callable[[Rendering], Json]
Execute = Callable[[Rendering, list[str]], None]

MOST_NESTED: Final = 20
"""Macros and definitions that may use one another. Source: Velocity's own default of macros."""


class Break(Exception):
    """`#break`: ends the innermost loop."""


class Stop(Exception):
    """`#stop`: ends the template."""


@dataclass(slots=True)
class Cost:
    """The static cost of a block: statements and operations, and characters of text."""

    nodes: int = 0
    characters: int = 0


@dataclass(slots=True)
class CompiledMacro:
    """A macro; its body is compiled after all macros are known."""

    parameters: tuple[tuple[str, Evaluate | None], ...]
    body: Execute
    cost: Cost


@dataclass(frozen=True, slots=True)
class Defined:
    """The value of a variable of `#define`: each reference to it renders the block with the variables of then."""

    body: Execute
    cost: Cost

    def text(self, run: Rendering) -> str:
        """The block as it is now. Raises: RenderingFailed, LeavesTheLoop."""
        out: list[str] = []
        enter(self.cost, run)
        try:
            self.body(run, out)
        finally:
            run.depth -= 1
        text = "".join(out)
        run.spend_text(len(text))
        return text


def enter(cost: Cost, run: Rendering) -> None:
    """Count a block before it is rendered; `run.depth` is one more until it is left. Raises: as `Defined.text`."""
    run.spend(2 + cost.nodes)
    run.spend_text(cost.characters)
    run.depth += 1
    if run.depth > MOST_NESTED:
        raise RenderingFailed(f"macros and definitions use one another more than {MOST_NESTED} deep")
