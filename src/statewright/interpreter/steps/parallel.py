"""Parallel: one child frame for each branch, and the array of their outputs."""

from __future__ import annotations

from statewright.asl.extensions import MAX_TURNS
from statewright.asl.program import ParallelDef, StateDef
from statewright.errors import TIMEOUT, Failure
from statewright.interpreter.dataflow import effective_input, exit_state, scope_of
from statewright.interpreter.failing import abort_children, drop_children, state_failed
from statewright.interpreter.phases import ABORTED, CHILDREN
from statewright.interpreter.state import Children, Finished, Frame
from statewright.interpreter.turn import Turn
from statewright.payload import MOST_CHARACTERS, Payload, too_large


def begin_parallel(turn: Turn, frame: Frame, definition: StateDef) -> bool:
    """Start every branch on the effective input."""
    scope = scope_of(turn, frame, definition)
    payload = effective_input(turn, frame, definition, scope)
    body = definition.body
    assert isinstance(body, ParallelDef)
    if definition.arguments is not None and payload.size_bytes > turn.payload_bytes:
        raise turn.too_large(definition.name, "provided parameters")
    seconds = body.timeout_seconds(scope) if body.timeout_seconds is not None else None
    started = turn.record(frame, "ParallelStateStarted")
    if seconds is not None:
        frame.timer = turn.start_timer(frame.id, turn.now_ms + seconds * 1000)
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


def parallel_timed_out(turn: Turn, frame: Frame, definition: StateDef) -> bool:
    """The deadline of a loop (an extension) has passed: abort its branch and fail the state."""
    abort_children(turn, frame, frame.last_event)
    return state_failed(turn, frame, definition, Failure(TIMEOUT, None))


def turns_exceeded(turn: Turn, frame: Frame, state: str, most: int) -> bool:
    """A branch would enter one of its states too often (an extension): fail the Parallel. Always waits.

    Retry and Catch inside the branch do not apply: they would only add a turn.
    """
    parent = turn.parent_of(frame)
    assert parent.children is not None
    frame.phase = ABORTED
    # A redrive enters the state that it was about to enter.
    frame.entered_event = 0
    turn.changed.add(frame.id)
    parent.children.open = 0
    parent.phase = CHILDREN
    parent.last_event = frame.last_event
    turn.cancel_timer(parent.timer)
    parent.timer = 0
    failure = Failure(MAX_TURNS, f"The state '{state}' was to be entered more than {most} times.")
    state_failed(turn, parent, turn.definition_of(parent), failure)
    return False


def is_spent(frame: Frame, most: int) -> bool:
    """Count one more entry of the state that a frame is about to enter; True if that exceeds the limit."""
    turns = frame.turns
    if turns is None:
        turns = frame.turns = {}
    count = turns.get(frame.state, 0) + 1
    turns[frame.state] = count
    return count > most


def join(turn: Turn, frame: Frame, definition: StateDef) -> bool:
    """All children have finished: gather their outputs in order and leave the state. Serves Map as well."""
    children = frame.children
    assert children is not None
    frames = turn.state.frames
    results = []
    size = 0
    for child_id in range(children.base, children.base + children.length):
        finished = frames[child_id]
        assert isinstance(finished, Finished)
        results.append(finished.output.value)
        size += finished.output.size_bytes
    turn.cancel_timer(frame.timer)
    frame.timer = 0
    if size > MOST_CHARACTERS:
        # Thousands of children may all have answered with the same large value.
        raise too_large()
    turn.record_beside(frame.last_event, f"{definition.type}StateSucceeded")
    went_on = exit_state(turn, frame, definition, scope_of(turn, frame, definition), Payload(results))
    if turn.state.frames:
        drop_children(turn, frame)
    return went_on
