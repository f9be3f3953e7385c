"""Operations on tasks that move messages out of dead-letter queues."""

from __future__ import annotations

from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.api.sqs.errors import invalid_value
from statewright.payload import Json, JsonObject
from statewright.queues.queues import MoveTask

MOST_PER_SECOND: Final = 500
MOST_LISTED: Final = 10
"""Source: API reference, StartMessageMoveTask and ListMessageMoveTasks."""


@operation("sqs", "StartMessageMoveTask")
async def start_message_move_task(app: App, _call: Call, request: Json) -> Json:
    """Start to move the messages of a dead-letter queue."""
    rate = _within(request, "MaxNumberOfMessagesPerSecond", MOST_PER_SECOND)
    handle = await app.services.queues.start_move(request["SourceArn"], request.get("DestinationArn"), rate)
    return {"TaskHandle": handle}


@operation("sqs", "ListMessageMoveTasks")
async def list_message_move_tasks(app: App, _call: Call, request: Json) -> Json:
    """List the tasks of a source queue, newest first."""
    most = _within(request, "MaxResults", MOST_LISTED)
    found = await app.services.queues.list_moves(request["SourceArn"], 1 if most is None else most)
    return {"Results": [_listed(task) for task in found]} if found else {}


@operation("sqs", "CancelMessageMoveTask")
async def cancel_message_move_task(app: App, _call: Call, request: Json) -> Json:
    """Stop a task; messages that it has moved stay moved."""
    return {"ApproximateNumberOfMessagesMoved": await app.services.queues.cancel_move(request["TaskHandle"])}


def _within(request: Json, name: str, most: int) -> int | None:
    value: int | None = request.get(name)
    if value is not None and not 1 <= value <= most:
        raise invalid_value(value, name, f"Must be between 1 and {most}, if provided.")
    return value


def _listed(task: MoveTask) -> JsonObject:
    found: JsonObject = {
        "TaskHandle": task.handle,
        "Status": task.status,
        "SourceArn": task.source_arn,
        "DestinationArn": task.destination_arn,
        "MaxNumberOfMessagesPerSecond": task.per_second,
        "ApproximateNumberOfMessagesMoved": task.moved,
        "ApproximateNumberOfMessagesToMove": task.to_move,
        "FailureReason": task.failure_reason,
        "StartedTimestamp": task.started_ms,
    }
    return {name: value for name, value in found.items() if value is not None}
