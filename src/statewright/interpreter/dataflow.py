"""Data through a state: InputPath to OutputPath in JSONPath, Arguments and Output in JSONata, Assign in both.

Payloads that pass unchanged stay the same objects, so that they are encoded once.
"""

from __future__ import annotations

from statewright.asl.program import Catcher, ChoiceRule, Evaluate, StateDef
from statewright.errors import TIMEOUT, Failure
from statewright.interpreter.context import build_context
from statewright.interpreter.state import Frame
from statewright.interpreter.turn import Turn
from statewright.payload import Json, JsonObject, Payload
from statewright.query.scope import Scope


def scope_of(turn: Turn, frame: Frame, definition: StateDef, token: str | None = None) -> Scope:
    """The scope of the state's expressions on entry: the raw input."""
    return Scope(
        frame.input.value,
        turn.variables_of(frame),
        lambda: build_context(turn, frame, definition, token),
        entropy=turn.state.entropy,
        now_ms=turn.now_ms,
    )


def item_scope(turn: Turn, frame: Frame, definition: StateDef, data: Json, item: Json) -> Scope:
    """The scope of an ItemSelector: the Map's effective input, and one item in the context object."""
    return Scope(
        data,
        turn.variables_of(frame),
        lambda: build_context(turn, frame, definition, None, item),
        entropy=turn.state.entropy,
        now_ms=turn.now_ms,
        input=frame.input.value,
    )


def effective_input(turn: Turn, frame: Frame, definition: StateDef, scope: Scope) -> Payload:
    """The input after InputPath and Parameters, or after Arguments; `scope.data` is the input after InputPath."""
    inspection = turn.inspection
    payload = frame.input
    if inspection is not None:
        inspection.note("input", payload.value)
    if definition.jsonata:
        if definition.arguments is not None:
            payload = Payload(definition.arguments(scope))
        if inspection is not None:
            inspection.note("afterArguments", payload.value)
        return payload
    if definition.input_path is not None:
        payload = Payload(definition.input_path(scope))
        scope.data = payload.value
    if inspection is not None:
        inspection.note("afterInputPath", payload.value)
    if definition.arguments is not None:
        payload = Payload(definition.arguments(scope))
    if inspection is not None:
        inspection.note("afterParameters", payload.value)
    return payload


def exit_state(turn: Turn, frame: Frame, definition: StateDef, scope: Scope, result: Payload) -> bool:
    """Leave with the state's own result; returns True if the frame continues immediately."""
    inspection = turn.inspection
    if inspection is not None:
        inspection.note("result", result.value)
    if definition.jsonata:
        scope.result = result.value
        scope.handle = None
        output = Payload(definition.output(scope)) if definition.output is not None else result
        return turn.leave(frame, definition, output, _assigned(definition.assign, scope), definition.next)
    scope.data = result.value
    assigned = _assigned(definition.assign, scope)
    if definition.selector is not None:
        scope.data = result.value
        result = Payload(definition.selector(scope))
    if inspection is not None:
        inspection.note("afterResultSelector", result.value)
    if definition.place is not None:
        result = Payload(definition.place(frame.input.value, result.value))
    if inspection is not None:
        inspection.note("afterResultPath", result.value)
    output = _through_output_path(definition, scope, result)
    return turn.leave(frame, definition, output, assigned, definition.next)


def exit_with_input(
    turn: Turn, frame: Frame, definition: StateDef, scope: Scope, payload: Payload, target: str | None
) -> bool:
    """Leave a state that has no result of its own: Wait, Succeed, a Choice's default."""
    if definition.jsonata:
        output = Payload(definition.output(scope)) if definition.output is not None else frame.input
        return turn.leave(frame, definition, output, _assigned(definition.assign, scope), target)
    assigned = _assigned(definition.assign, scope)
    return turn.leave(frame, definition, _through_output_path(definition, scope, payload), assigned, target)


def exit_by_rule(
    turn: Turn, frame: Frame, definition: StateDef, scope: Scope, payload: Payload, rule: ChoiceRule
) -> bool:
    """Leave a Choice by one of its rules, with the rule's Output and Assign."""
    assigned = _assigned(rule.assign, scope)
    if definition.jsonata:
        output = Payload(rule.output(scope)) if rule.output is not None else frame.input
    else:
        output = _through_output_path(definition, scope, payload)
    return turn.leave(frame, definition, output, assigned, rule.next)


def exit_by_catcher(turn: Turn, frame: Frame, definition: StateDef, failure: Failure, catcher: Catcher) -> bool:
    """Leave a failed state by a catcher, with the error output. Returns True: there is always a next state."""
    # A timeout has no cause in the history, and an empty one here.
    cause = "" if failure.cause is None and failure.error == TIMEOUT else failure.cause
    error_output: JsonObject = {"Error": failure.error, "Cause": cause}
    scope = scope_of(turn, frame, definition)
    if definition.jsonata:
        scope.error_output = error_output
        output = Payload(catcher.output(scope)) if catcher.output is not None else Payload(error_output)
    else:
        scope.data = error_output
        if catcher.place is None:
            output = Payload(error_output)
        else:
            output = Payload(catcher.place(frame.input.value, error_output))
    assigned = _assigned(catcher.assign, scope)
    return turn.leave(frame, definition, output, assigned, catcher.next)


def _assigned(assign: Evaluate | None, scope: Scope) -> dict[str, Json] | None:
    return assign(scope) if assign is not None else None


def _through_output_path(definition: StateDef, scope: Scope, payload: Payload) -> Payload:
    if definition.output_path is None:
        return payload
    scope.data = payload.value
    return Payload(definition.output_path(scope))
