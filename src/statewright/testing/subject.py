"""A definition under test, before and after its state machine is made in the system: the leaf that machines share.

Owns what is known of it: text, program, mocks, settings. `machine.py` has what a test does with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from statewright.asl.findings import did_you_mean
from statewright.asl.program import Program
from statewright.payload import Json, JsonMapping
from statewright.testing.mocking import MockBook

Unmocked = Literal["fails", "runs"]
"""The treatment of a call without a mock."""


@dataclass(eq=False)
class Subject:
    """One definition. `origin` is its file as reports name it; `arn` is None until the system has the machine."""

    name: str
    text: str
    definition: Json
    program: Program
    book: MockBook
    kind: str = "STANDARD"
    unmocked: Unmocked = "fails"
    origin: str | None = None
    arn: str | None = None
    settings: JsonMapping = field(default_factory=dict)
    """Further members of CreateStateMachine."""
    started: int = 0
    """How many executions the test has started itself."""

    def check_state(self, state: str) -> None:
        """Raises: ValueError for a state that the machine does not have."""
        if state not in self._states:
            hint = did_you_mean(state, list(self._states))
            raise ValueError(f"{self.name} has no state '{state}'" + (f": {hint}" if hint else ""))

    @cached_property
    def _states(self) -> frozenset[str]:
        return frozenset(name for scope in self.program.scopes for name in scope.states)
