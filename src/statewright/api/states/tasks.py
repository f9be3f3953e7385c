"""Operations of workers that answer a task by its token."""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.api.states.texts import worded
from statewright.errors import ApiError
from statewright.payload import Json
from statewright.stores.completion import known


@operation("states", "SendTaskSuccess")
async def send_task_success(app: App, call: Call, request: Json) -> None:
    """Complete a task with its result."""
    output = request["output"]
    try:
        await app.engine.task_succeeded(request["taskToken"], output, known(call.completion, {}))
    except ApiError as refused:
        raise worded(refused, output) from None


@operation("states", "SendTaskFailure")
async def send_task_failure(app: App, call: Call, request: Json) -> None:
    """Fail a task."""
    error, cause = request.get("error"), request.get("cause")
    await app.engine.task_failed(request["taskToken"], error, cause, known(call.completion, {}))


@operation("states", "SendTaskHeartbeat")
async def send_task_heartbeat(app: App, _call: Call, request: Json) -> None:
    """Report that a worker is still working on a task."""
    await app.engine.task_heartbeat(request["taskToken"])
