"""States that never wait: Pass, Choice, Succeed, Fail."""

from __future__ import annotations

from statewright.asl.program import ChoiceDef, FailDef, PassDef, StateDef
from statewright.errors import RUNTIME, Failure, WordedFailure
from statewright.interpreter.dataflow import effective_input, exit_by_rule, exit_state, exit_with_input, scope_of
from statewright.interpreter.failing import state_failed
from statewright.interpreter.state import Frame
from statewright.interpreter.turn import Turn
from statewright.limits import CAUSE_CHARACTERS, ERROR_CHARACTERS
from statewright.payload import Payload

NO_CHOICE_MATCHED = "Failed to transition out of the state. The state does not point to a next state."
"""Observed. The specification's own error, States.NoChoiceMatched, is not what the service reports."""


def begin_pass(turn: Turn, frame: Frame, definition: StateDef) -> bool:
    """Output the input, or the literal Result."""
    if definition.plain and turn.inspection is None:
        return turn.leave(frame, definition, frame.input, None, definition.next)
    scope = scope_of(turn, frame, definition)
    payload = effective_input(turn, frame, definition, scope)
    body = definition.body
    assert isinstance(body, PassDef)
    if definition.jsonata:
        return exit_with_input(turn, frame, definition, scope, payload, definition.next)
    return exit_state(turn, frame, definition, scope, Payload(body.result) if body.has_result else payload)


def begin_choice(turn: Turn, frame: Frame, definition: StateDef) -> bool:
    """Go to the target of the first true rule, else to Default."""
    scope = scope_of(turn, frame, definition)
    payload = effective_input(turn, frame, definition, scope)
    body = definition.body
    assert isinstance(body, ChoiceDef)
    for index, rule in enumerate(body.rules):
        if rule.condition(scope):
            if turn.inspection is not None:
                turn.inspection.choice = index
            return exit_by_rule(turn, frame, definition, scope, payload, rule)
    if body.default is None:
        raise WordedFailure(RUNTIME, NO_CHOICE_MATCHED)
    return exit_with_input(turn, frame, definition, scope, payload, body.default)


def begin_succeed(turn: Turn, frame: Frame, definition: StateDef) -> bool:
    """End the scope successfully."""
    if definition.plain and turn.inspection is None:
        return turn.leave(frame, definition, frame.input, None, None)
    scope = scope_of(turn, frame, definition)
    payload = effective_input(turn, frame, definition, scope)
    return exit_with_input(turn, frame, definition, scope, payload, None)


def begin_fail(turn: Turn, frame: Frame, definition: StateDef) -> bool:
    """End the scope with the definition's own error and cause, either of which may be missing."""
    body = definition.body
    assert isinstance(body, FailDef)
    scope = scope_of(turn, frame, definition)
    if turn.inspection is not None:
        turn.inspection.note("input", frame.input.value)
        # A Fail has no InputPath; the service shows its result all the same (observed).
        turn.inspection.note("afterInputPath", frame.input.value)
    error = body.error(scope) if body.error is not None else None
    cause = body.cause(scope) if body.cause is not None else None
    failure = Failure(
        error[:ERROR_CHARACTERS] if error is not None else None,
        cause[:CAUSE_CHARACTERS] if cause is not None else None,
    )
    return state_failed(turn, frame, definition, failure)
