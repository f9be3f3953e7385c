"""`advance`: one event in, commands and history out. Pure: no clock, no randomness, no I/O.

A burst runs until every frame waits or its transition budget is spent. The state itself lists the ready frames, so a
burst that was cut short continues from the stored state alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from statewright.asl.program import Program, StateDef
from statewright.errors import RUNTIME, TIMEOUT, ExecutionFailure, Failure
from statewright.interpreter import events
from statewright.interpreter.commands import Command, ContinueBurst
from statewright.interpreter.events import Event
from statewright.interpreter.failing import abort_frame, evaluation_failed, execution_failed
from statewright.interpreter.history import Details, HistoryEvent, failure_details
from statewright.interpreter.inspection import Inspection
from statewright.interpreter.phases import AGAIN, BACKING_OFF, CHILDREN, JOINED, MAP_RUN, READY, SPAWNING, TASK, WAITING
from statewright.interpreter.redrive import redrive
from statewright.interpreter.state import ROOT, ExecutionState, Frame, Identity, Status
from statewright.interpreter.steps.map import begin_map, spawn
from statewright.interpreter.steps.map_run_start import map_run_failed, map_run_succeeded
from statewright.interpreter.steps.parallel import begin_parallel, is_spent, join, parallel_timed_out, turns_exceeded
from statewright.interpreter.steps.simple import begin_choice, begin_fail, begin_pass, begin_succeed
from statewright.interpreter.steps.task import (
    begin_task,
    heartbeat_received,
    task_failed,
    task_started,
    task_submitted,
    task_succeeded,
    task_timed_out,
)
from statewright.interpreter.steps.wait import begin_wait, wait_ended
from statewright.interpreter.turn import NOTHING_GONE, HistoryFull, Turn, variables_bytes
from statewright.limits import AWS, BURST_TRANSITIONS, Limits
from statewright.payload import Payload

BEGIN: Final[dict[str, Callable[[Turn, Frame, StateDef], bool]]] = {
    "Pass": begin_pass,
    "Task": begin_task,
    "Choice": begin_choice,
    "Wait": begin_wait,
    "Succeed": begin_succeed,
    "Fail": begin_fail,
    "Parallel": begin_parallel,
    "Map": begin_map,
}
"""The handler of each type of state once entered; it returns True if its frame continues immediately."""


@dataclass(slots=True)
class Step:
    """The output of one call of `advance`. Commit all of it, then dispatch the commands.

    `changed` are the ids of frames to write, `removed` those to delete.
    """

    commands: list[Command]
    history: list[HistoryEvent]
    changed: set[int]
    removed: set[int]


def new_execution(identity: Identity, input: Payload, seed: bytes) -> ExecutionState:
    """An execution that has not run yet; `advance` with `ExecutionStarted` starts it. `seed`: 16 bytes or more."""
    return ExecutionState(identity, input, seed)


def advance(
    program: Program,
    state: ExecutionState,
    event: Event,
    now_ms: int,
    *,
    limits: Limits = AWS,
    budget: int = BURST_TRANSITIONS,
    inspection: Inspection | None = None,
    gone: frozenset[str] = NOTHING_GONE,
) -> Step:
    """Apply one event to the state, in place, and run until every frame waits or `budget` transitions are made.

    `gone` are activities of the program that do not exist: a state that uses one ends the execution.

    A late or repeated event, or one for a closed execution, changes nothing.
    """
    turn = Turn(program, state, now_ms, limits, budget, inspection, gone)
    handler = _ON[type(event)]
    if state.status == "RUNNING" or isinstance(event, events.ExecutionRedriven):
        try:
            handler(turn, event)
            run(turn)
        except HistoryFull:
            cause = f"The execution reached the maximum number of history events ({limits.history_events})."
            fail_all(turn, Failure(RUNTIME, cause))
    turn.changed.difference_update(turn.removed)
    return Step(turn.commands, turn.history, turn.changed, turn.removed)


# ------------------------------------------------------------------ the loop


def run(turn: Turn) -> None:
    """Run ready frames until none is left or the budget is spent."""
    state = turn.state
    ready = state.ready
    frames = state.frames
    while ready:
        if turn.transitions_left <= 0:
            turn.commands.append(ContinueBurst())
            return
        frame = frames.get(ready.popleft())
        # A frame may have been aborted, or run already, since it was queued.
        if isinstance(frame, Frame) and frame.phase <= JOINED:
            run_frame(turn, frame)


def run_frame(turn: Turn, frame: Frame) -> None:
    """Run one frame from state to state until it waits, ends or has spent the budget."""
    state = turn.state
    scope = turn.program.scopes[frame.scope]
    states, most_turns = scope.states, scope.max_turns
    turn.changed.add(frame.id)
    while True:
        definition = states[frame.state]
        phase = frame.phase
        try:
            if phase == READY and most_turns is not None and is_spent(frame, most_turns):
                went_on = turns_exceeded(turn, frame, frame.state, most_turns)
            elif phase == READY:
                shown = frame.input.text
                # A large input is read and written again by most states: few of those make a burst.
                turn.transitions_left -= 1 + (len(shown) >> 14)
                state.transitions += 1
                frame.entered_previous = frame.last_event
                frame.entered_ms = turn.now_ms
                if turn.first_text is not None:
                    shown, turn.first_text = turn.first_text, None
                frame.entered_event = turn.record(frame, definition.entered, {"name": definition.name, "input": shown})
                went_on = BEGIN[definition.type](turn, frame, definition)
            elif phase == AGAIN:
                turn.transitions_left -= 1
                state.transitions += 1
                went_on = BEGIN[definition.type](turn, frame, definition)
            elif phase == SPAWNING:
                went_on = spawn(turn, frame, definition)
            else:
                went_on = join(turn, frame, definition)
        except ExecutionFailure as problem:
            went_on = evaluation_failed(turn, frame, definition, problem)
        if not went_on:
            return
        if turn.transitions_left <= 0:
            state.ready.appendleft(frame.id)
            return


def resume(turn: Turn, frame: Frame, handler: Callable[[], bool]) -> None:
    """Run a handler for a frame that waited; queue the frame if it continues."""
    turn.changed.add(frame.id)
    try:
        went_on = handler()
    except ExecutionFailure as problem:
        went_on = evaluation_failed(turn, frame, turn.definition_of(frame), problem)
    if went_on:
        turn.state.ready.append(frame.id)


# ------------------------------------------------------------------ one handler for each event


def on_started(turn: Turn, event: events.ExecutionStarted) -> None:
    """Record the start, start the machine's own clock, and queue the first state."""
    if not turn.state.last_event_id:
        record_start(turn, event.text)
        begin_running(turn)
        turn.first_text = event.text


def on_forked(turn: Turn, event: events.ExecutionForked) -> None:
    """As `ExecutionStarted`, at another state than the first."""
    state = turn.state
    if state.last_event_id:
        return
    record_start(turn)
    begin_running(turn)
    root = state.root
    root.state, root.input = event.state, event.input
    root.variables = dict(event.variables)
    if turn.limits.variables_bytes is not None:
        state.variables_bytes = variables_bytes(root.variables)


def on_queued(turn: Turn, event: events.ExecutionQueued) -> None:
    """Record the start and nothing else: until the execution is admitted, no clock runs and it has no frame."""
    if not turn.state.last_event_id:
        record_start(turn, event.text)


def on_admitted(turn: Turn, _event: events.ExecutionAdmitted) -> None:
    """Start the clock of a queued execution, and queue its first state."""
    state = turn.state
    if state.is_queued:
        state.clock_ms = turn.now_ms
        begin_running(turn)


def record_start(turn: Turn, text: str | None = None) -> None:
    """The first event of every execution; `text` is its input as it was given."""
    state = turn.state
    state.started_ms = turn.now_ms
    identity = state.identity
    details = {"input": state.input.text if text is None else text, "roleArn": identity.role_arn}
    if identity.alias_arn is not None:
        details["stateMachineAliasArn"] = identity.alias_arn
    if identity.version_arn is not None:
        details["stateMachineVersionArn"] = identity.version_arn
    turn.record_beside(0, "ExecutionStarted", details)


def begin_running(turn: Turn) -> None:
    """Start the machine's own clock, and queue the first state."""
    state = turn.state
    start_execution_clock(turn)
    scope = turn.program.scopes[0]
    state.frames[ROOT] = Frame(ROOT, -1, 0, 0, scope.start_at, state.input)
    state.ready.append(ROOT)


def start_execution_clock(turn: Turn) -> None:
    """Start the timer of the machine's TimeoutSeconds, or of the longest execution allowed."""
    due_ms = execution_due_ms(turn)
    if due_ms is not None:
        turn.state.timeout_timer = turn.start_timer(ROOT, due_ms)


def execution_due_ms(turn: Turn) -> int | None:
    """When the whole execution times out; `None` for never. A redrive sets its clock back to 0."""
    seconds = turn.program.timeout_seconds
    due_in = [seconds * 1000] if seconds is not None else []
    if turn.limits.execution_ms is not None:
        due_in.append(turn.limits.execution_ms)
    return turn.state.clock_from_ms + min(due_in) if due_in else None


def on_continued(_turn: Turn, _event: events.BurstContinued) -> None:
    """Nothing to do: the loop continues by itself."""


def on_timer(turn: Turn, event: events.TimerFired) -> None:
    """A wait, a back-off, a timeout, a heartbeat, or the whole execution's time is over."""
    state = turn.state
    timer_id = event.timer_id
    if timer_id == 0:
        return
    if timer_id == state.timeout_timer:
        state.timeout_timer = 0
        stop_all(turn, "TIMED_OUT", "ExecutionTimedOut", None, None, {"error": TIMEOUT})
        # However late the timer fires, the execution lasted for its timeout. Observed.
        state.stopped_ms = execution_due_ms(turn)
        return
    frame = state.frame_of(timer_id)
    if frame is None:
        return
    definition = turn.definition_of(frame)
    task = frame.task
    if timer_id == frame.timer:
        frame.timer = 0
        if frame.phase == WAITING:
            resume(turn, frame, lambda: wait_ended(turn, frame, definition))
        elif frame.phase == BACKING_OFF:
            frame.phase = AGAIN
            turn.changed.add(frame.id)
            state.ready.append(frame.id)
        elif frame.phase in (CHILDREN, JOINED):
            resume(turn, frame, lambda: parallel_timed_out(turn, frame, definition))
    elif task is not None and timer_id in (task.timeout_timer, task.heartbeat_timer):
        missed_heartbeat = timer_id == task.heartbeat_timer
        if missed_heartbeat:
            task.heartbeat_timer = 0
        else:
            task.timeout_timer = 0
        resume(turn, frame, lambda: task_timed_out(turn, frame, definition, heartbeat=missed_heartbeat))


def open_task(turn: Turn, task_id: int, phase: int) -> Frame | None:
    """The frame that waits for this very task, or `None` for a stale id."""
    frame = turn.state.frame_of(task_id)
    if frame is None or frame.task is None or frame.task.id != task_id or frame.phase != phase:
        return None
    return frame


def on_task_started(turn: Turn, event: events.TaskStarted) -> None:
    """A worker has taken an activity's task."""
    frame = open_task(turn, event.task_id, TASK)
    if frame is not None:
        turn.changed.add(frame.id)
        task_started(turn, frame, turn.definition_of(frame), event.worker_name)


def on_task_submitted(turn: Turn, event: events.TaskSubmitted) -> None:
    """The service has taken the request."""
    frame = open_task(turn, event.task_id, TASK)
    if frame is not None:
        turn.changed.add(frame.id)
        task_submitted(turn, frame, turn.definition_of(frame), event.output)


def on_task_succeeded(turn: Turn, event: events.TaskSucceeded) -> None:
    """The result has come."""
    frame = open_task(turn, event.task_id, TASK)
    if frame is not None:
        resume(turn, frame, lambda: task_succeeded(turn, frame, turn.definition_of(frame), event.output))


def on_task_failed(turn: Turn, event: events.TaskEnd) -> None:
    """The task has failed, in one of the four ways."""
    frame = open_task(turn, event.task_id, TASK)
    if frame is not None:
        how = _HOW[type(event)]
        failure = Failure(event.error, event.cause)
        resume(turn, frame, lambda: task_failed(turn, frame, turn.definition_of(frame), how, failure))


def on_task_refused(turn: Turn, event: events.TaskRefused) -> None:
    """The task could never run: the execution ends."""
    frame = open_task(turn, event.task_id, TASK)
    if frame is not None:
        definition = turn.definition_of(frame)
        problem = ExecutionFailure(RUNTIME, event.cause)
        resume(turn, frame, lambda: evaluation_failed(turn, frame, definition, problem))


def on_heartbeat(turn: Turn, event: events.HeartbeatReceived) -> None:
    """A worker is alive; no history event."""
    frame = open_task(turn, event.task_id, TASK)
    if frame is not None and frame.task is not None:
        turn.changed.add(frame.id)
        heartbeat_received(turn, frame, frame.task)


def on_map_run_succeeded(turn: Turn, event: events.MapRunSucceeded) -> None:
    """A Map Run has ended well."""
    frame = open_task(turn, event.task_id, MAP_RUN)
    if frame is not None:
        resume(turn, frame, lambda: map_run_succeeded(turn, frame, turn.definition_of(frame), event.output))


def on_map_run_failed(turn: Turn, event: events.MapRunFailed) -> None:
    """A Map Run has failed."""
    frame = open_task(turn, event.task_id, MAP_RUN)
    if frame is not None:
        failure = Failure(event.error, event.cause)
        resume(turn, frame, lambda: map_run_failed(turn, frame, turn.definition_of(frame), failure))


def on_map_run_missing(turn: Turn, event: events.MapRunMissing) -> None:
    """A redriven Map Run had never begun, because its parent ended first: it begins now."""
    frame = open_task(turn, event.task_id, MAP_RUN)
    if frame is not None:
        resume(turn, frame, lambda: begin_map(turn, frame, turn.definition_of(frame), unheard_of=True))


def on_stopped(turn: Turn, event: events.ExecutionStopped) -> None:
    """The execution is stopped by a caller."""
    details = failure_details(event.error, event.cause)
    stop_all(turn, "ABORTED", "ExecutionAborted", event.error, event.cause, details)


def on_redriven(turn: Turn, _event: events.ExecutionRedriven) -> None:
    """Continue from where the execution failed, stopped or timed out."""
    if redrive(turn):
        start_execution_clock(turn)


# ------------------------------------------------------------------ ends from outside


def stop_all(
    turn: Turn, status: Status, event_type: str, error: str | None, cause: str | None, details: Details
) -> None:
    """End the execution from outside. The terminal event follows no other (observed: previous id 0)."""
    root = turn.state.frames.get(ROOT)
    if isinstance(root, Frame):
        abort_frame(turn, root, 0, quiet=True)
    turn.end(status, 0, event_type, error=error, cause=cause, details=details)


def fail_all(turn: Turn, failure: Failure) -> None:
    """End the execution as FAILED wherever it is."""
    root = turn.state.root
    last = turn.state.last_event_id
    abort_frame(turn, root, 0, quiet=True)
    root.last_event = last
    execution_failed(turn, root, failure)


_HOW: Final = {
    events.TaskFailed: "failed",
    events.TaskScheduleFailed: "schedule failed",
    events.TaskStartFailed: "start failed",
    events.TaskSubmitFailed: "submit failed",
}

_ON: Final[dict[type, Callable[..., None]]] = {
    events.ExecutionStarted: on_started,
    events.ExecutionForked: on_forked,
    events.ExecutionQueued: on_queued,
    events.ExecutionAdmitted: on_admitted,
    events.BurstContinued: on_continued,
    events.TimerFired: on_timer,
    events.TaskStarted: on_task_started,
    events.TaskSubmitted: on_task_submitted,
    events.TaskSucceeded: on_task_succeeded,
    events.TaskFailed: on_task_failed,
    events.TaskScheduleFailed: on_task_failed,
    events.TaskStartFailed: on_task_failed,
    events.TaskSubmitFailed: on_task_failed,
    events.TaskRefused: on_task_refused,
    events.HeartbeatReceived: on_heartbeat,
    events.MapRunSucceeded: on_map_run_succeeded,
    events.MapRunFailed: on_map_run_failed,
    events.MapRunMissing: on_map_run_missing,
    events.ExecutionStopped: on_stopped,
    events.ExecutionRedriven: on_redriven,
}
