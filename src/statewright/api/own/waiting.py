"""The operation that lists the tasks of an execution that wait for an answer."""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.payload import Json


@operation("statewright", "ListWaitingTasks")
async def list_waiting_tasks(app: App, _call: Call, request: Json) -> Json:
    """List the tasks of an execution that wait for an answer by token; instants are epoch milliseconds, 0 for none."""
    found = await app.engine.waiting_tasks(request["executionArn"])
    return {
        "tasks": [
            {
                "state": one.state,
                "event": one.entered_event,
                "resource": one.resource,
                "isActivity": one.is_activity,
                "isStarted": one.is_started,
                "timeoutMs": one.timeout_ms,
                "heartbeatMs": one.heartbeat_ms,
                "token": one.token,
            }
            for one in found
        ]
    }
