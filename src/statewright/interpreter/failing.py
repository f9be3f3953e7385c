"""Failure of a state: Retry, then Catch, then the frame, then its parent, up to the execution.

`States.Runtime` skips all of that and ends the execution where it happened.
"""

from __future__ import annotations

from statewright.asl.program import StateDef, TaskDef
from statewright.errors import RUNTIME, EvaluationFailure, ExecutionFailure, Failure, WordedFailure
from statewright.interpreter.commands import CancelTask, StopMapRun
from statewright.interpreter.dataflow import exit_by_catcher
from statewright.interpreter.history import failure_details
from statewright.interpreter.phases import (
    ABORTED,
    BACKING_OFF,
    CHILDREN,
    FAILED,
    JOINED,
    MAP_RUN,
    READY,
    SPAWNING,
    TASK,
    WAITING,
)
from statewright.interpreter.retry import catcher_of, delay_ms, first_match
from statewright.interpreter.state import ROOT, Frame
from statewright.interpreter.turn import Turn
from statewright.limits import CAUSE_CHARACTERS

_HOLDS_CHILDREN = frozenset({CHILDREN, SPAWNING, JOINED})


def evaluation_failed(turn: Turn, frame: Frame, definition: StateDef, problem: ExecutionFailure) -> bool:
    """A path, template or expression of the state failed; returns True if the frame continues immediately."""
    return state_failed(turn, frame, definition, _worded(turn, frame, definition, problem))


def state_failed(turn: Turn, frame: Frame, definition: StateDef, failure: Failure, *, heartbeat: bool = False) -> bool:
    """Apply Retry, Catch and the parents to a failure; returns True if `frame` itself continues immediately."""
    turn.changed.add(frame.id)
    close_task(turn, frame, definition, cancel=False)
    if failure.error != RUNTIME and frame.phase == SPAWNING:
        # An ItemSelector failed while earlier iterations run.
        abort_children(turn, frame, frame.last_event)
    while True:
        if failure.error == RUNTIME:
            execution_failed(turn, frame, failure)
            return False
        try:
            if _retried(turn, frame, definition, failure, heartbeat):
                return False
            if _has_failed_event(definition, failure, heartbeat):
                turn.record(frame, f"{definition.type}StateFailed")
            if _caught(turn, frame, definition, failure, heartbeat):
                if turn.state.frames.get(frame.id) is frame:
                    turn.state.ready.appendleft(frame.id)
                return False
        except ExecutionFailure as problem:
            # A catcher's own Output failed. No retrier or catcher of this state handles that failure.
            failure = _worded(turn, frame, definition, problem)
            if failure.error == RUNTIME:
                continue
        frame.phase = FAILED
        if frame.id == ROOT:
            execution_failed(turn, frame, failure)
            return False
        frame = fail_parent(turn, frame)
        definition = turn.definition_of(frame)
        heartbeat = False


def _worded(turn: Turn, frame: Frame, definition: StateDef, problem: ExecutionFailure) -> Failure:
    cause = problem.cause
    # A trial has no history, so its causes name no event (observed).
    if not isinstance(problem, WordedFailure) and turn.inspection is None:
        where = f"the state '{definition.name}' (entered at the event id #{frame.entered_event})"
        cause = f"An error occurred while executing {where}. {cause}"
    cause = cause[:CAUSE_CHARACTERS]
    if isinstance(problem, EvaluationFailure):
        details = {"cause": cause, "error": problem.error, "state": definition.name}
        if problem.location:
            details["location"] = problem.location
        follows = frame.entered_event if problem.from_entry else frame.entered_previous
        frame.last_event = turn.record_beside(follows, "EvaluationFailed", details)
    return Failure(problem.error, cause)


def _retried(turn: Turn, frame: Frame, definition: StateDef, failure: Failure, heartbeat: bool) -> bool:
    match = first_match(definition.retry, failure.error, heartbeat=heartbeat)
    if match is None:
        return False
    index, retrier = match
    counts = frame.retries
    if counts is None:
        counts = frame.retries = [0] * len(definition.retry)
    if counts[index] >= retrier.max_attempts:
        if turn.inspection is not None:
            turn.inspection.note_exhausted(index)
        return False
    chance = turn.state.entropy.uniform() if retrier.full_jitter else 1.0
    delay = delay_ms(retrier, counts[index], chance)
    if turn.inspection is not None:
        turn.inspection.note_retry(index, delay, failure)
    counts[index] += 1
    frame.retry_count += 1
    drop_children(turn, frame)
    frame.phase = BACKING_OFF
    frame.timer = turn.start_timer(frame.id, turn.now_ms + delay, is_pause=True)
    return True


def _has_failed_event(definition: StateDef, failure: Failure, heartbeat: bool) -> bool:
    """True if a history event tells that a state with children has failed, after its retries.

    A Parallel whose failure is caught has none, unless the failure has no error name (observed).
    """
    if definition.type == "Parallel":
        return failure.error is None or catcher_of(definition, failure.error, heartbeat=heartbeat) is None
    return definition.type == "Map"


def _caught(turn: Turn, frame: Frame, definition: StateDef, failure: Failure, heartbeat: bool) -> bool:
    match = catcher_of(definition, failure.error, heartbeat=heartbeat)
    if match is None:
        return False
    index, catcher = match
    went_on = exit_by_catcher(turn, frame, definition, failure, catcher)
    if turn.inspection is not None:
        turn.inspection.note_catch(index, failure)
    drop_children(turn, frame)
    frame.map_run = None
    turn.transitions_left -= 1
    return went_on


def fail_parent(turn: Turn, frame: Frame) -> Frame:
    """A branch or iteration has failed finally: abort its siblings; returns the parent, whose state has failed."""
    parent = turn.parent_of(frame)
    children = parent.children
    assert children is not None
    failing_event = frame.last_event
    if children.items is not None:
        turn.record_beside(failing_event, "MapIterationFailed", {"name": parent.state, "index": frame.index})
    abort_children(turn, parent, failing_event, failed=frame)
    turn.cancel_timer(parent.timer)
    parent.timer = 0
    parent.last_event = failing_event
    turn.changed.add(parent.id)
    return parent


def abort_children(turn: Turn, parent: Frame, cause_event: int, *, failed: Frame | None = None) -> None:
    """Abort every child that still runs, with its history events; the failed one comes last."""
    children = parent.children
    assert children is not None
    frames = turn.state.frames
    for child_id in range(children.base, children.base + children.next_index):
        child = frames.get(child_id)
        if not isinstance(child, Frame) or child is failed or child.phase in (FAILED, ABORTED):
            continue
        abort_frame(turn, child, cause_event)
        _note_iteration_abort(turn, child, cause_event)
    if failed is not None and turn.definition_of(failed).type == "Task":
        turn.record_beside(cause_event, "TaskStateAborted")
    children.open = 0
    parent.phase = CHILDREN


def abort_frame(turn: Turn, frame: Frame, cause_event: int, *, quiet: bool = False) -> None:
    """End a frame from outside. `quiet` leaves out the history events, as a stop of the execution does."""
    stack = [frame]
    aborted: list[Frame] = []
    while stack:
        one = stack.pop()
        aborted.append(one)
        if one.children is not None and one.phase in _HOLDS_CHILDREN:
            children = one.children
            for child_id in range(children.base, children.base + children.next_index):
                child = turn.state.frames.get(child_id)
                if isinstance(child, Frame) and child.phase not in (FAILED, ABORTED):
                    stack.append(child)
    for one in reversed(aborted):
        definition = turn.definition_of(one)
        phase = one.phase
        turn.cancel_timer(one.timer)
        one.timer = 0
        close_task(turn, one, definition, cancel=True)
        if phase == READY:
            # The frame has not entered its state yet: a redrive must enter it.
            one.entered_event = 0
        one.phase = ABORTED
        turn.changed.add(one.id)
        if not quiet:
            _note_state_abort(turn, definition, phase, cause_event)
            if one is not frame:
                _note_iteration_abort(turn, one, cause_event)


def _note_state_abort(turn: Turn, definition: StateDef, phase: int, cause_event: int) -> None:
    if phase == MAP_RUN:
        turn.record_beside(cause_event, "MapRunAborted")
    entered = phase in (WAITING, BACKING_OFF, TASK, MAP_RUN) or phase in _HOLDS_CHILDREN
    if entered and definition.type in ("Task", "Wait", "Map", "Parallel"):
        turn.record_beside(cause_event, f"{definition.type}StateAborted")


def _note_iteration_abort(turn: Turn, frame: Frame, cause_event: int) -> None:
    parent = turn.parent_of(frame)
    if parent.children is not None and parent.children.items is not None:
        turn.record_beside(cause_event, "MapIterationAborted", {"name": parent.state, "index": frame.index})


def close_task(turn: Turn, frame: Frame, definition: StateDef, *, cancel: bool) -> None:
    """Forget the frame's open task and its timers; `cancel` also asks the driver to abort it."""
    task = frame.task
    if task is None:
        return
    turn.cancel_timer(task.timeout_timer)
    turn.cancel_timer(task.heartbeat_timer)
    if cancel:
        body = definition.body
        if isinstance(body, TaskDef):
            turn.commands.append(CancelTask(task.id, definition.name, body.resource))
        else:
            turn.commands.append(StopMapRun(task.id))
    frame.task = None


def drop_children(turn: Turn, frame: Frame) -> None:
    """Delete everything below a frame; the frame itself stays."""
    children = frame.children
    if children is None:
        return
    frames = turn.state.frames
    stack = [children]
    while stack:
        group = stack.pop()
        for child_id in range(group.base, group.base + group.next_index):
            child = frames.pop(child_id, None)
            if child is None:
                continue
            turn.removed.add(child_id)
            turn.changed.discard(child_id)
            if isinstance(child, Frame):
                turn.forget_variables(child)
                if child.children is not None:
                    stack.append(child.children)
    frame.children = None


def execution_failed(turn: Turn, frame: Frame, failure: Failure) -> None:
    """End the execution with an unhandled failure. Its frames stay, for redrive."""
    previous = frame.last_event
    frames = turn.state.frames
    one: Frame | None = frame
    while one is not None:
        one.phase = FAILED
        # A Parallel above may have a deadline.
        turn.cancel_timer(one.timer)
        one.timer = 0
        turn.changed.add(one.id)
        if one.children is not None:
            for child_id in range(one.children.base, one.children.base + one.children.next_index):
                child = frames.get(child_id)
                if isinstance(child, Frame) and child.phase not in (FAILED, ABORTED):
                    abort_frame(turn, child, previous, quiet=True)
        one = turn.parent_of(one) if one.parent >= 0 else None
    turn.end(
        "FAILED",
        previous,
        "ExecutionFailed",
        error=failure.error,
        cause=failure.cause,
        details=failure_details(failure.error, failure.cause),
    )
