"""The context object (`$$`, `$states.context`), built only when a state reads it."""

from __future__ import annotations

import base64
import hashlib
import hmac

from statewright.asl.program import StateDef
from statewright.asl.timestamps import format_timestamp
from statewright.interpreter.state import NO_REDRIVES, SERIAL_BITS, ExecutionState, Frame
from statewright.interpreter.turn import Turn
from statewright.payload import Json, JsonObject


def build_context(
    turn: Turn, frame: Frame, definition: StateDef, token: str | None = None, item: Json = None
) -> dict[str, Json]:
    """The context object of a state. `item` is what `Map.Item` shows while an ItemSelector runs."""
    inspection = turn.inspection
    if inspection is not None and inspection.context is not None:
        given: dict[str, Json] = inspection.context
        return given if item is None else {**given, "Map": {"Item": item}}
    state = turn.state
    identity = state.identity
    execution: JsonObject = {
        "Id": identity.execution_arn,
        "Input": state.input.value,
        "Name": identity.name,
        "RoleArn": identity.role_arn,
        "StartTime": format_timestamp(state.started_ms),
    }
    if inspection is None and state.redrive_count != NO_REDRIVES:
        # A trial shows none (observed).
        execution["RedriveCount"] = state.redrive_count
    if state.redriven_ms is not None:
        execution["RedriveTime"] = format_timestamp(state.redriven_ms)
    here: JsonObject = {"EnteredTime": format_timestamp(frame.entered_ms), "Name": definition.name}
    if definition.type in ("Task", "Parallel", "Map"):
        here["RetryCount"] = frame.retry_count
    context: dict[str, Json] = {
        "Execution": execution,
        "State": here,
        "StateMachine": {"Id": identity.state_machine_arn, "Name": identity.state_machine_name},
    }
    shown = item if item is not None else enclosing_item(turn, frame)
    if shown is None and inspection is not None:
        shown = inspection.item
    if shown is not None:
        context["Map"] = {"Item": shown}
    if token is not None:
        context["Task"] = {"Token": token}
    return context


def enclosing_item(turn: Turn, frame: Frame) -> Json:
    """`Map.Item` of the nearest inline iteration around a frame, or `None`."""
    while frame.parent >= 0:
        parent = turn.parent_of(frame)
        children = parent.children
        if children is not None and children.items is not None:
            return {"Index": frame.index, "Value": children.items.value[frame.index], "Source": "STATE_DATA"}
        frame = parent
    return None


def iterations_of(turn: Turn, frame: Frame) -> tuple[int, ...]:
    """Indexes of the inline Map iterations around a frame, outermost first."""
    indexes: list[int] = []
    while frame.parent >= 0:
        parent = turn.parent_of(frame)
        children = parent.children
        if children is not None and children.items is not None:
            indexes.append(frame.index)
        frame = parent
    return tuple(reversed(indexes))


def task_token(state: ExecutionState, task_id: int) -> str:
    """The opaque token of a task: execution and task, with a code that only the execution's seed can make.

    It begins with a letter: command lines take an argument that begins with `-` for an option.
    """
    named = f"{state.identity.execution_arn}|{task_id >> SERIAL_BITS}|{task_id}"
    code = hashlib.blake2b(named.encode(), key=state.entropy.seed[:64], digest_size=16).digest()
    return base64.urlsafe_b64encode(_with_a_letter_first(code + named.encode())).decode()


def is_task_token(token: str, state: ExecutionState, task_id: int) -> bool:
    """True if the token is that of the task, also as earlier versions made it, with any first character."""
    expected = task_token(state, task_id)
    try:
        body = base64.urlsafe_b64decode(token.encode())
    except ValueError:
        return False
    if base64.urlsafe_b64encode(body) != token.encode():
        # The decoder skips what is not base64, and bits that are not used.
        return False
    given = base64.urlsafe_b64encode(_with_a_letter_first(body))
    return hmac.compare_digest(given, expected.encode())


def _with_a_letter_first(body: bytes) -> bytes:
    """Clear the first bit: the first half of the base64 alphabet has letters only."""
    return bytes([body[0] & 0x7F]) + body[1:] if body else body


def task_of_token(token: str) -> tuple[str, int] | None:
    """The execution ARN and task id in a token, or `None` for a text that is not a token.

    The owner of the execution checks that the token is genuine, with `is_task_token`.
    """
    try:
        arn, _, task_id = base64.urlsafe_b64decode(token.encode())[16:].decode().split("|")
        return arn, int(task_id)
    except ValueError:
        return None
