"""Parallel: one child frame a branch, and the array of their outputs."""

from __future__ import annotations

from statewright.asl.program import ParallelDef, StateDef
from statewright.interpreter.dataflow import effective_input, exit_state, scope_of
from statewright.interpreter.failing import drop_children
from statewright.interpreter.state import CHILDREN, Children, Finished, Frame
from statewright.interpreter.turn import Turn
from statewright.payload import Payload


def begin_parallel(turn: Turn, frame: Frame, definition: StateDef) -> bool:
    """Start every branch on the effective input."""
    scope = scope_of(turn, frame, definition)
    payload = effective_input(turn, frame, definition, scope)
    body = definition.body
    assert isinstance(body, ParallelDef)
    if definition.arguments is not None and payload.size_bytes > turn.payload_bytes:
        raise turn.too_large(definition.name, "provided parameters")
    started = turn.record(frame, "ParallelStateStarted")
    length = len(body.scopes)
    base = turn.state.next_frame_id
    turn.state.next_frame_id = base + length
    frame.children = Children(base, length, length, payload, None, started)
    frame.children.next_index = frame.children.open = length
    for index in range(length):
        start_branch(turn, frame, index, started)
    frame.phase = CHILDREN
    return False


def start_branch(turn: Turn, frame: Frame, index: int, after_event: int) -> None:
    """Put one branch at its start, ready to run."""
    children = frame.children
    assert children is not None
    body = turn.definition_of(frame).body
    assert isinstance(body, ParallelDef)
    scope = body.scopes[index]
    start_at = turn.program.scopes[scope].start_at
    child = Frame(children.base + index, frame.id, scope, index, start_at, children.input)
    child.last_event = after_event
    turn.state.frames[child.id] = child
    turn.changed.add(child.id)
    turn.state.ready.append(child.id)


def join(turn: Turn, frame: Frame, definition: StateDef) -> bool:
    """All children have finished: gather their outputs in order and leave the state. Serves Map as well."""
    children = frame.children
    assert children is not None
    frames = turn.state.frames
    results = []
    for child_id in range(children.base, children.base + children.length):
        finished = frames[child_id]
        assert isinstance(finished, Finished)
        results.append(finished.output.value)
    turn.record_beside(frame.last_event, f"{definition.type}StateSucceeded")
    went_on = exit_state(turn, frame, definition, scope_of(turn, frame, definition), Payload(results))
    if turn.state.frames:
        drop_children(turn, frame)
    return went_on
