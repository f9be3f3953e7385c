"""The working context of one call of `advance`: state handlers use it to record, command, move on and finish.

Handlers change frames only through a `Turn`, which notes what changed. Failing is in `failing.py`, data flow in
`dataflow.py`, the states themselves in `steps/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.asl.program import Program, StateDef
from statewright.errors import DATA_LIMIT, ExecutionFailure, WordedFailure
from statewright.interpreter.commands import CancelTimer, Command, StartTimer
from statewright.interpreter.history import Details, HistoryEvent
from statewright.interpreter.inspection import Inspection
from statewright.interpreter.phases import JOINED, READY, SPAWNING
from statewright.interpreter.state import ROOT, ExecutionState, Finished, Frame, Status
from statewright.limits import Limits
from statewright.payload import Json, Payload, dump_json
from statewright.query.scope import NO_VARIABLES

_TOO_LARGE = "with a size exceeding the maximum number of bytes service limit."


NOTHING_GONE: Final[frozenset[str]] = frozenset()


class HistoryFull(Exception):
    """The execution may not record another event but its last."""


class Turn:
    """The working context of one call of `advance`."""

    __slots__ = (
        "changed",
        "commands",
        "first_text",
        "gone",
        "history",
        "inspection",
        "last_free_event",
        "limits",
        "now_ms",
        "payload_bytes",
        "program",
        "removed",
        "state",
        "transitions_left",
    )

    def __init__(
        self,
        program: Program,
        state: ExecutionState,
        now_ms: int,
        limits: Limits,
        budget: int,
        inspection: Inspection | None,
        gone: frozenset[str] = NOTHING_GONE,
    ) -> None:
        self.program = program
        self.state = state
        self.now_ms = now_ms
        self.limits = limits
        self.commands: list[Command] = []
        self.history: list[HistoryEvent] = []
        self.changed: set[int] = set()
        self.removed: set[int] = set()
        self.transitions_left = budget
        self.inspection = inspection
        self.gone = gone
        self.first_text: str | None = None
        """The input of the first state as its caller wrote it, until the state is entered."""
        # The last event of a full history is its ExecutionFailed, so every other event stays below it.
        self.last_free_event = limits.history_events - 1 if limits.history_events is not None else 1 << 62
        self.payload_bytes = limits.payload_bytes if limits.payload_bytes is not None else 1 << 62

    # ------------------------------------------------------------------ recording

    def record(self, frame: Frame, event_type: str, details: Details | None = None) -> int:
        """Append a history event to the frame's chain; returns its id. Raises: HistoryFull."""
        state = self.state
        event_id = state.last_event_id + 1
        if event_id > self.last_free_event:
            raise HistoryFull
        state.last_event_id = event_id
        self.history.append(HistoryEvent(event_id, frame.last_event, self.now_ms, event_type, details))
        frame.last_event = event_id
        return event_id

    def record_beside(self, previous_id: int, event_type: str, details: Details | None = None) -> int:
        """Append a history event that no chain goes through; returns its id. Raises: HistoryFull."""
        state = self.state
        event_id = state.last_event_id + 1
        if event_id > self.last_free_event:
            raise HistoryFull
        state.last_event_id = event_id
        self.history.append(HistoryEvent(event_id, previous_id, self.now_ms, event_type, details))
        return event_id

    def start_timer(self, frame_id: int, due_at_ms: int, *, is_pause: bool = False) -> int:
        """Ask for a timer; returns its id."""
        timer_id = self.state.new_id(frame_id)
        self.commands.append(StartTimer(timer_id, due_at_ms, is_pause))
        return timer_id

    def cancel_timer(self, timer_id: int) -> None:
        """Cancel a timer; 0 is none."""
        if timer_id:
            self.commands.append(CancelTimer(timer_id))

    # ------------------------------------------------------------------ looking up

    def definition_of(self, frame: Frame) -> StateDef:
        """The definition of the state that the frame is in."""
        return self.program.scopes[frame.scope].states[frame.state]

    def parent_of(self, frame: Frame) -> Frame:
        """The frame that holds this branch or iteration."""
        parent = self.state.frames[frame.parent]
        assert isinstance(parent, Frame)
        return parent

    def variables_of(self, frame: Frame) -> Mapping[str, Json]:
        """Own and outer variables. Outer ones do not change while a child runs, so the result is cached."""
        if frame.id == ROOT:
            return frame.variables
        visible = frame.visible
        if visible is None:
            outer = self.variables_of(self.parent_of(frame))
            if not outer:
                visible = frame.variables or NO_VARIABLES
            elif not frame.variables:
                visible = outer
            else:
                visible = {**outer, **frame.variables}
            frame.visible = visible
        return visible

    # ------------------------------------------------------------------ moving on

    def leave(
        self, frame: Frame, definition: StateDef, output: Payload, assigned: dict[str, Json] | None, target: str | None
    ) -> bool:
        """Exit the state with its output and go to `target` (`None`: the scope ends).

        Returns True if the frame continues immediately. Raises: ExecutionFailure for an output over the limit.
        """
        if output.size_bytes > self.payload_bytes:
            raise self.too_large(definition.name)
        details: Details = {"name": definition.name, "output": output.text}
        if assigned:
            details["assignedVariables"] = self.assign(frame, assigned)
        self.record(frame, definition.exited, details)
        frame.retry_count = 0
        frame.retries = None
        if target is None:
            self.finish(frame, output)
            return False
        frame.state = target
        frame.input = output
        frame.phase = READY
        return True

    def too_large(self, name: str, what: str = "returned a result") -> ExecutionFailure:
        """The failure for a result, output or input over the payload limit."""
        return WordedFailure(DATA_LIMIT, f"The state/task '{name}' {what} {_TOO_LARGE}")

    def assign(self, frame: Frame, assigned: dict[str, Json]) -> dict[str, str]:
        """Set variables of the frame's scope; returns their JSON texts, as history shows them."""
        texts = {name: dump_json(value) for name, value in assigned.items()}
        sizes = {name: len(text.encode()) for name, text in texts.items()}
        state = self.state
        if self.limits.variables_bytes is not None:
            block = sum(sizes.values())
            if block > self.payload_bytes:
                raise WordedFailure(DATA_LIMIT, f"The Assign field holds variables {_TOO_LARGE}")
            before = {name: frame.variables[name] for name in assigned if name in frame.variables}
            total = state.variables_bytes + block - variables_bytes(before)
            if total > self.limits.variables_bytes:
                raise WordedFailure(DATA_LIMIT, f"The execution holds variables {_TOO_LARGE}")
            state.variables_bytes = total
        frame.variables = {**frame.variables, **assigned}
        frame.visible = None
        return texts

    def forget_variables(self, frame: Frame) -> None:
        """Remove the frame; its variables no longer count."""
        if frame.variables and self.limits.variables_bytes is not None:
            self.state.variables_bytes -= variables_bytes(frame.variables)

    def finish(self, frame: Frame, output: Payload) -> None:
        """The frame's last state has succeeded: the execution succeeds, or the parent counts one more child."""
        if frame.id == ROOT:
            self.end("SUCCEEDED", frame.last_event, "ExecutionSucceeded", output=output)
            return
        parent = self.parent_of(frame)
        children = parent.children
        assert children is not None
        state = self.state
        self.forget_variables(frame)
        state.frames[frame.id] = Finished(frame.id, frame.parent, frame.index, output)
        self.changed.add(frame.id)
        self.changed.add(parent.id)
        children.open -= 1
        children.done += 1
        if children.items is None:
            parent.last_event = frame.last_event
        else:
            details = {"name": parent.state, "index": frame.index}
            parent.last_event = self.record_beside(frame.last_event, "MapIterationSucceeded", details)
            # With a limit, the next iteration follows the last inner event rather than this iteration's end.
            if children.next_index >= children.limit:
                children.after_event = frame.last_event
            if children.next_index < children.length and parent.phase != SPAWNING:
                parent.phase = SPAWNING
                state.ready.appendleft(parent.id)
        if children.done == children.length:
            parent.phase = JOINED
            state.ready.appendleft(parent.id)

    def end(
        self,
        status: Status,
        previous_id: int,
        event_type: str,
        *,
        output: Payload | None = None,
        error: str | None = None,
        cause: str | None = None,
        details: Details | None = None,
    ) -> None:
        """Close the execution with its one terminal history event, which a full history always has room for."""
        state = self.state
        state.status = status
        state.stopped_ms = self.now_ms
        state.output = output
        state.error = error
        state.cause = cause
        state.ready.clear()
        self.cancel_timer(state.timeout_timer)
        state.timeout_timer = 0
        state.last_event_id += 1
        if output is not None:
            details = {"output": output.text}
        self.history.append(HistoryEvent(state.last_event_id, previous_id, self.now_ms, event_type, details))
        if status == "SUCCEEDED":
            self.removed.update(state.frames)
            state.frames.clear()


def variables_bytes(variables: Mapping[str, Json]) -> int:
    """The size of variables as the limit counts it: that of their JSON texts."""
    return sum(len(dump_json(value).encode()) for value in variables.values())
