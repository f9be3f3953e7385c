"""Task tokens: from a token to the execution and task it speaks of, and whether that task still waits.

A token is no row anywhere: it names the execution and the task, and carries a code that only the execution's seed can
make.
"""

from __future__ import annotations

from collections.abc import Callable

from statewright.engine.executions.live import LiveExecution
from statewright.errors import ApiError
from statewright.interpreter.context import is_task_token, task_of_token
from statewright.interpreter.phases import TASK
from statewright.payload import JsonTextError, Payload


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
