"""Recordings of executions, as the engine reports them: every history event, durable, in the order of time.

Owns who belongs to whom: a child execution of a distributed Map tells its story to the execution at the root.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from statewright.asl.program import Program
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import ExecutionState, Identity
from statewright.payload import Json, Payload
from statewright.simulator.recorded import STATUS_OF_END
from statewright.simulator.story import Story

if TYPE_CHECKING:
    from statewright.engine.executions.views import Head

_SEED: Final = bytes(16)


@dataclass(eq=False, slots=True)
class Recording:
    """One execution. `around` are the indexes of the distributed Maps' items that it is in, outermost first."""

    head: Head
    events: list[HistoryEvent] = field(default_factory=list)
    root: Recording | None = None
    around: tuple[int, ...] = ()
    children: list[Recording] = field(default_factory=list)
    timeline: list[tuple[Recording, HistoryEvent]] = field(default_factory=list)
    """At the root: its events and its children's, as they came."""

    @property
    def arn(self) -> str:
        """The execution's ARN."""
        return self.head.execution_arn

    @property
    def status(self) -> str:
        """RUNNING until its history ends."""
        return STATUS_OF_END.get(self.events[-1].type, "RUNNING") if self.events else "RUNNING"

    def story(self, program: Program) -> Story:
        """The tree of what has happened so far."""
        story = Story(program)
        states: dict[str, ExecutionState] = {}
        for one, event in self.timeline:
            state = states.get(one.arn)
            if state is None:
                state = states[one.arn] = _state_of(one.head)
            story.note(state, event)
        return story


class Recorder:
    """Every execution of a system, by ARN; it survives a restart of the system."""

    def __init__(self) -> None:
        self.recordings: dict[str, Recording] = {}
        self._map_runs: dict[str, Recording] = {}

    def note(self, head: Head, history: list[HistoryEvent]) -> None:
        """Take in what an execution's history has gained."""
        recording = self.recordings.get(head.execution_arn)
        if recording is None:
            recording = self.recordings[head.execution_arn] = self._begun(head)
        root = recording.root or recording
        for event in history:
            recording.events.append(event)
            root.timeline.append((recording, event))
            if event.type in ("MapRunStarted", "MapRunRedriven") and event.details is not None:
                self._map_runs[event.details["mapRunArn"]] = recording

    def _begun(self, head: Head) -> Recording:
        parent = self._map_runs.get(head.map_run_arn or "")
        if parent is None:
            return Recording(head)
        root = parent.root or parent
        made = Recording(head, root=root, around=(*parent.around, head.index))
        root.children.append(made)
        return made

    def root_of(self, arn: str) -> tuple[Recording | None, tuple[int, ...]]:
        """The execution at the root of a call's execution, and the items around it."""
        found = self.recordings.get(arn)
        if found is None:
            return None, ()
        return found.root or found, found.around

    def of_machine(self, name: str) -> list[Recording]:
        """The executions of a machine, in the order of their starts, without children of Maps."""
        return [one for one in self.recordings.values() if one.root is None and one.head.machine_name == name]


def _state_of(head: Head) -> ExecutionState:
    """An execution's identity for a `Story`: its own, and its parent's."""
    from statewright.interpreter.advance import new_execution

    identity = Identity(
        head.execution_arn, head.execution_arn.rpartition(":")[2], head.machine_arn, head.machine_name, head.role_arn,
        map_run_arn=head.map_run_arn,
    )  # fmt: skip
    nothing: Json = {}
    return new_execution(identity, Payload(nothing), _SEED)
