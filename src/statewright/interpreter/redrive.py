"""Redrive: run the unsuccessful parts of a closed execution again, from the frames that it kept."""

from __future__ import annotations

from typing import Final

from statewright.asl.program import MapDef, ParallelDef
from statewright.errors import DATA_LIMIT, RUNTIME
from statewright.interpreter.dataflow import scope_of
from statewright.interpreter.failing import drop_children
from statewright.interpreter.phases import ABORTED, AGAIN, CHILDREN, FAILED, JOINED, READY, SPAWNING
from statewright.interpreter.state import ROOT, Frame
from statewright.interpreter.steps.map_run_start import redrive_map_run
from statewright.interpreter.turn import Turn

REDRIVABLE: Final = frozenset({"FAILED", "TIMED_OUT", "ABORTED"})


def redrive(turn: Turn) -> bool:
    """Reopen the execution; returns True if it was redrivable.

    A state that was entered and not exited is tried again without a second Entered event, but a Fail state is
    entered anew. Parallel and inline Map run only their failed, aborted and unstarted children again, unless the
    failure was `States.DataLimitExceeded`. A Map Run continues with its unsuccessful children, unless the failure was
    that or `States.Runtime`: then a new one starts. Retry counters start from 0. A history without room for more than
    the redrive and the end cannot be redriven.
    """
    state = turn.state
    root = state.frames.get(ROOT)
    if state.status not in REDRIVABLE or not state.started_ms:
        return False
    most = turn.limits.history_events
    if most is not None and state.last_event_id >= most - 1:
        return False
    error = state.error
    previous = state.last_event_id
    state.status = "RUNNING"
    state.error = state.cause = None
    state.stopped_ms = None
    state.redrive_count += 1
    state.redriven_ms = turn.now_ms
    state.clock_ms = None
    redriven = turn.record_beside(previous, "ExecutionRedriven", {"redriveCount": state.redrive_count})
    if root is None:
        # It was stopped before it was admitted.
        scope = turn.program.scopes[0]
        state.frames[ROOT] = Frame(ROOT, -1, 0, 0, scope.start_at, state.input)
        state.ready.append(ROOT)
        turn.changed.add(ROOT)
        return True
    stack = [root] if isinstance(root, Frame) else []
    while stack:
        frame = stack.pop()
        stack.extend(reversed(_reopen(turn, frame, redriven, error)))
    return True


def _reopen(turn: Turn, frame: Frame, redriven: int, error: str | None) -> list[Frame]:
    """Make one frame ready again; returns the children that must be reopened, too."""
    turn.changed.add(frame.id)
    frame.retry_count = 0
    frame.retries = None
    frame.turns = None
    frame.last_event = redriven
    definition = turn.definition_of(frame)
    children = frame.children
    if children is not None and error == DATA_LIMIT:
        drop_children(turn, frame)
        children = None
    if frame.map_run is not None and error not in (DATA_LIMIT, RUNTIME):
        redrive_map_run(turn, frame)
        return []
    if children is None:
        never_entered = frame.entered_event == 0 or definition.type == "Fail"
        frame.phase = READY if never_entered else AGAIN
        turn.state.ready.append(frame.id)
        return []
    again = []
    for child_id in range(children.base, children.base + children.next_index):
        child = turn.state.frames.get(child_id)
        if isinstance(child, Frame) and child.phase in (FAILED, ABORTED):
            again.append(child)
    children.open = len(again)
    frame.phase = CHILDREN
    body = definition.body
    if isinstance(body, ParallelDef) and body.timeout_seconds is not None:
        # Its clock restarts, like that of the machine.
        seconds = body.timeout_seconds(scope_of(turn, frame, definition))
        frame.timer = turn.start_timer(frame.id, turn.now_ms + seconds * 1000)
    if children.done == children.length:
        # Every child has finished; leaving the state failed.
        frame.phase = JOINED
        turn.state.ready.append(frame.id)
    elif isinstance(definition.body, MapDef) and children.next_index < children.length:
        frame.phase = SPAWNING
        children.after_event = redriven
        turn.state.ready.append(frame.id)
    return again
