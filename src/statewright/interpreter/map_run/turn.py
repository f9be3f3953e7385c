"""The working context of one call of `advance_map_run`: the run, the limits, and the changes so far. A leaf."""

from __future__ import annotations

from statewright.asl.program import MapDef
from statewright.interpreter.map_run.messages import MapRunCommand
from statewright.interpreter.map_run.state import MapRunState
from statewright.limits import Limits


class Turn:
    """The working context of one call."""

    __slots__ = ("budget", "changed", "cleared", "commands", "definition", "express", "limits", "now_ms", "state")

    def __init__(self, definition: MapDef, state: MapRunState, now_ms: int, limits: Limits, budget: int) -> None:
        distributed = definition.distributed
        assert distributed is not None
        self.definition = definition
        self.state = state
        self.now_ms = now_ms
        self.limits = limits
        self.budget = budget
        self.commands: list[MapRunCommand] = []
        self.changed: set[int] = set()
        self.cleared = False
        self.express = distributed.execution_type == "EXPRESS"
