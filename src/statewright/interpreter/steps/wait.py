"""Wait: a single timer."""

from __future__ import annotations

from statewright.asl.program import StateDef, WaitDef
from statewright.interpreter.dataflow import effective_input, exit_with_input, scope_of
from statewright.interpreter.phases import WAITING
from statewright.interpreter.state import Frame
from statewright.interpreter.turn import Turn


def begin_wait(turn: Turn, frame: Frame, definition: StateDef) -> bool:
    """Start the timer; an instant in the past ends the state immediately."""
    scope = scope_of(turn, frame, definition)
    payload = effective_input(turn, frame, definition, scope)
    body = definition.body
    assert isinstance(body, WaitDef)
    due_at_ms = body.due_ms(scope)
    if due_at_ms <= turn.now_ms or turn.inspection is not None:
        return exit_with_input(turn, frame, definition, scope, payload, definition.next)
    frame.phase = WAITING
    frame.timer = turn.start_timer(frame.id, due_at_ms, is_pause=True)
    return False


def wait_ended(turn: Turn, frame: Frame, definition: StateDef) -> bool:
    """The timer has fired: leave the state."""
    frame.timer = 0
    scope = scope_of(turn, frame, definition)
    payload = effective_input(turn, frame, definition, scope)
    return exit_with_input(turn, frame, definition, scope, payload, definition.next)
