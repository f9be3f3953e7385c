"""Task: schedule, start, submit, succeed, fail, time out; for functions, activities and service integrations.

`EVENTS` is the table of history event names by the kind of resource; everything else is the same for all three.
"""

from __future__ import annotations

from typing import Final

from statewright.asl.program import StateDef, TaskDef
from statewright.asl.resources import Kind, Resource
from statewright.errors import DATA_LIMIT, RUNTIME, TIMEOUT, ExecutionFailure, Failure
from statewright.interpreter.commands import CancelTask, ScheduleTask
from statewright.interpreter.context import iterations_of, task_token
from statewright.interpreter.dataflow import effective_input, exit_state, scope_of
from statewright.interpreter.failing import close_task, state_failed
from statewright.interpreter.history import Details, failure_details
from statewright.interpreter.phases import TASK
from statewright.interpreter.state import Frame, OpenTask
from statewright.interpreter.turn import Turn
from statewright.limits import CAUSE_CHARACTERS, ERROR_CHARACTERS
from statewright.payload import Payload

EVENTS: Final[dict[Kind, dict[str, str]]] = {
    "lambda": {
        "scheduled": "LambdaFunctionScheduled",
        "started": "LambdaFunctionStarted",
        "succeeded": "LambdaFunctionSucceeded",
        "failed": "LambdaFunctionFailed",
        "timed out": "LambdaFunctionTimedOut",
        "schedule failed": "LambdaFunctionScheduleFailed",
        "start failed": "LambdaFunctionStartFailed",
        "submit failed": "LambdaFunctionFailed",
    },
    "activity": {
        "scheduled": "ActivityScheduled",
        "started": "ActivityStarted",
        "succeeded": "ActivitySucceeded",
        "failed": "ActivityFailed",
        "timed out": "ActivityTimedOut",
        "schedule failed": "ActivityScheduleFailed",
        "start failed": "ActivityFailed",
        "submit failed": "ActivityFailed",
    },
    "task": {
        "scheduled": "TaskScheduled",
        "started": "TaskStarted",
        "succeeded": "TaskSucceeded",
        "failed": "TaskFailed",
        "timed out": "TaskTimedOut",
        "schedule failed": "TaskStartFailed",
        "start failed": "TaskStartFailed",
        "submit failed": "TaskSubmitFailed",
    },
}


def begin_task(turn: Turn, frame: Frame, definition: StateDef) -> bool:
    """Evaluate the parameters and timeouts, record the scheduling, and command the call. Always waits."""
    body = definition.body
    assert isinstance(body, TaskDef)
    resource = body.resource
    state = turn.state
    if resource.arn in turn.gone:
        # Nothing is recorded of a task that cannot be scheduled (observed).
        raise ExecutionFailure(RUNTIME, f"The activity {resource.arn} does not exist.")
    task_id = state.new_id(frame.id)
    token = task_token(state, task_id) if resource.pattern != "request" else None
    scope = scope_of(turn, frame, definition, token)
    parameters = effective_input(turn, frame, definition, scope)
    timeout = body.timeout_seconds(scope) if body.timeout_seconds is not None else None
    heartbeat = body.heartbeat_seconds(scope) if body.heartbeat_seconds is not None else None
    role_arn = body.role_arn(scope) if body.role_arn is not None else None
    if parameters.size_bytes > turn.payload_bytes:
        raise turn.too_large(result_name(resource), "provided parameters")
    turn.record(
        frame,
        EVENTS[resource.kind]["scheduled"],
        _scheduled(turn, resource, parameters, timeout, heartbeat, role_arn),
    )
    task = frame.task = OpenTask(task_id, (timeout or 0) * 1000, (heartbeat or 0) * 1000)
    frame.phase = TASK
    if resource.kind != "activity":
        start_clocks(turn, frame, task, resource)
        turn.record(frame, EVENTS[resource.kind]["started"], event_details(resource))
    turn.commands.append(
        ScheduleTask(
            task_id,
            definition.name,
            resource,
            parameters,
            token,
            frame.retry_count,
            iterations_of(turn, frame) if frame.parent >= 0 else (),
            role_arn,
            task.timeout_ms,
            task.heartbeat_ms,
        )
    )
    return False


def _scheduled(
    turn: Turn,
    resource: Resource,
    parameters: Payload,
    timeout: int | None,
    heartbeat: int | None,
    role_arn: str | None,
) -> Details:
    details: Details
    if resource.kind == "task":
        details = {
            "resourceType": resource.resource_type,
            "resource": resource.action,
            "region": turn.state.identity.region,
            "parameters": parameters.text,
        }
    else:
        details = {"resource": resource.arn, "input": parameters.text}
    if timeout is not None:
        details["timeoutInSeconds"] = timeout
    if heartbeat is not None and resource.kind != "lambda":
        details["heartbeatInSeconds"] = heartbeat
    if role_arn is not None and resource.kind != "activity":
        details["taskCredentials"] = {"roleArn": role_arn}
    return details


def event_details(resource: Resource) -> Details | None:
    """The details that every history event of a service integration has; none for functions and activities."""
    if resource.kind == "task":
        return {"resourceType": resource.resource_type, "resource": resource.action}
    return None


def result_name(resource: Resource) -> str:
    """The name of the task in a size failure: the resource type, or a function's ARN."""
    return resource.resource_type if resource.kind == "task" else resource.arn


def start_clocks(turn: Turn, frame: Frame, task: OpenTask, resource: Resource) -> None:
    """The task has started: its timeout runs from now.

    So does its heartbeat clock, except for a service integration that answers later: that one's runs from the moment
    when the service has accepted the request. Source: developer guide, "Wait for a Callback with Task Token".
    """
    task.started = True
    if task.timeout_ms:
        task.timeout_timer = turn.start_timer(frame.id, turn.now_ms + task.timeout_ms)
    if resource.kind != "task" or resource.pattern == "request":
        start_heartbeat(turn, frame, task)


def start_heartbeat(turn: Turn, frame: Frame, task: OpenTask) -> None:
    """Start or restart the heartbeat clock."""
    if task.heartbeat_ms:
        turn.cancel_timer(task.heartbeat_timer)
        task.heartbeat_timer = turn.start_timer(frame.id, turn.now_ms + task.heartbeat_ms)


def heartbeat_received(turn: Turn, frame: Frame, task: OpenTask) -> None:
    """Restart the heartbeat clock, if it runs."""
    if task.heartbeat_timer:
        start_heartbeat(turn, frame, task)


def task_started(turn: Turn, frame: Frame, definition: StateDef, worker_name: str | None) -> None:
    """A worker has taken the task."""
    task = frame.task
    assert task is not None
    if task.started:
        return
    body = definition.body
    assert isinstance(body, TaskDef)
    start_clocks(turn, frame, task, body.resource)
    details = event_details(body.resource)
    if body.resource.kind == "activity":
        details = {"workerName": worker_name} if worker_name is not None else {}
    turn.record(frame, EVENTS[body.resource.kind]["started"], details)


def task_submitted(turn: Turn, frame: Frame, definition: StateDef, output: Payload) -> None:
    """The service took the request of a `.sync` or `.waitForTaskToken` task."""
    task = frame.task
    body = definition.body
    assert task is not None
    assert isinstance(body, TaskDef)
    resource = body.resource
    if task.submitted or resource.kind != "task" or resource.pattern == "request":
        return
    task.submitted = True
    start_heartbeat(turn, frame, task)
    turn.record(frame, "TaskSubmitted", {**(event_details(resource) or {}), "output": output.text})


def task_succeeded(turn: Turn, frame: Frame, definition: StateDef, output: Payload) -> bool:
    """The task succeeded: leave the state with the result."""
    body = definition.body
    assert isinstance(body, TaskDef)
    resource = body.resource
    close_task(turn, frame, definition, cancel=False)
    if output.size_bytes > turn.payload_bytes:
        failure = Failure(DATA_LIMIT, turn.too_large(result_name(resource)).cause)
        details = {**(event_details(resource) or {}), **failure_details(failure.error, failure.cause)}
        turn.record(frame, EVENTS[resource.kind]["failed"], details)
        return state_failed(turn, frame, definition, failure)
    details = event_details(resource) or {}
    details["output"] = output.text
    turn.record(frame, EVENTS[resource.kind]["succeeded"], details)
    # The task is over: its token is no longer in the context object of the exit.
    return exit_state(turn, frame, definition, scope_of(turn, frame, definition), output)


def task_failed(turn: Turn, frame: Frame, definition: StateDef, how: str, failure: Failure) -> bool:
    """The task failed; `how` is a key of `EVENTS`."""
    body = definition.body
    assert isinstance(body, TaskDef)
    failure = Failure(
        failure.error[:ERROR_CHARACTERS] if failure.error is not None else None,
        failure.cause[:CAUSE_CHARACTERS] if failure.cause is not None else None,
    )
    details = {**(event_details(body.resource) or {}), **failure_details(failure.error, failure.cause)}
    turn.record(frame, EVENTS[body.resource.kind][how], details)
    return state_failed(turn, frame, definition, failure)


def task_timed_out(turn: Turn, frame: Frame, definition: StateDef, *, heartbeat: bool) -> bool:
    """Timeout or heartbeat ran out. Both show as `States.Timeout`; the call is cancelled."""
    task = frame.task
    body = definition.body
    assert task is not None
    assert isinstance(body, TaskDef)
    turn.commands.append(CancelTask(task.id, definition.name, body.resource))
    failure = Failure(TIMEOUT, None)
    details = {**(event_details(body.resource) or {}), "error": TIMEOUT}
    turn.record(frame, EVENTS[body.resource.kind]["timed out"], details)
    return state_failed(turn, frame, definition, failure, heartbeat=heartbeat)
