"""Task tokens: from a token to the execution and task it speaks of, and whether that task still waits.

A token is no row anywhere: it names the execution and the task, and carries a code that only the execution's seed can
make.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from statewright.asl.program import TaskDef
from statewright.engine.executions.live import LiveExecution
from statewright.errors import ApiError
from statewright.interpreter.context import is_task_token, task_of_token, task_token
from statewright.interpreter.phases import TASK
from statewright.interpreter.state import Frame
from statewright.payload import JsonTextError, Payload


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """A task that only an answer with its token ends, but for its limits of time.

    `entered_event` is the history event with which its state was entered. `timeout_ms` and `heartbeat_ms` are when
    these limits are over, 0 for none. `is_started` is true once a worker has an activity's task.
    """

    state: str
    entered_event: int
    token: str
    resource: str
    is_activity: bool
    is_started: bool
    timeout_ms: int
    heartbeat_ms: int


def waiting_tasks(live: LiveExecution) -> list[WaitingTask]:
    """The tasks of an execution that wait for an answer with their token, in the order in which states were entered."""
    state, program = live.state, live.program
    if state is None or program is None or state.status != "RUNNING":
        return []
    found = []
    for frame in state.frames.values():
        if not isinstance(frame, Frame) or frame.phase != TASK or frame.task is None:
            continue
        body = program.state(frame.state).body
        if not isinstance(body, TaskDef) or not body.resource.waits_for_token:
            continue
        task = frame.task
        found.append(
            WaitingTask(
                frame.state,
                frame.entered_event,
                task_token(state, task.id),
                body.resource.short_name,
                body.resource.kind == "activity",
                task.started,
                live.timers.get(task.timeout_timer, 0),
                live.timers.get(task.heartbeat_timer, 0),
            )
        )
    return sorted(found, key=lambda one: one.entered_event)


def read_task_token(token: str) -> tuple[str, int]:
    """The execution ARN and task id of a token. Raises: ApiError (`InvalidToken`)."""
    named = task_of_token(token)
    if named is None:
        raise invalid_token()
    return named


def still_open(token: str, task_id: int) -> Callable[[LiveExecution], bool]:
    """Make the check of an answer by task token. Raises (the check): ApiError (`InvalidToken`, `TaskTimedOut`)."""

    def accept(live: LiveExecution) -> bool:
        state = live.state
        if state is None:
            raise timed_out()
        if not is_task_token(token, state, task_id):
            raise invalid_token()
        frame = state.frame_of(task_id)
        waits = frame is not None and frame.phase == TASK and frame.task is not None and frame.task.id == task_id
        if state.status != "RUNNING" or not waits:
            raise timed_out()
        return True

    return accept


def read_output(text: str) -> Payload:
    """A worker's output. Raises: ApiError (`InvalidOutput`)."""
    try:
        return Payload.from_text(text)
    except JsonTextError as problem:
        raise ApiError("InvalidOutput", f"Invalid Output: '{problem.message}'") from None


def invalid_token() -> ApiError:
    """The service's answer to a text that is no token of its own (observed)."""
    return ApiError("InvalidToken", "Invalid Token: 'Invalid token'")


def timed_out() -> ApiError:
    """The service's answer to a token whose task is over (quoted)."""
    return ApiError("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")


def no_such_task() -> ApiError:
    """The answer to a token of an unknown execution."""
    return ApiError("TaskDoesNotExist", "Task Does Not Exist: 'Provided task does not exist'")
