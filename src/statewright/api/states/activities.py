"""Operations on activities: create, describe, list and delete them, and poll for tasks.

The rules for named activities are in `engine.machines.activities`, the polls in `engine.activities`.
"""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.arn import ACTIVITY, parse_arn
from statewright.engine.machines.records import Activity
from statewright.payload import Json, JsonObject


@operation("states", "GetActivityTask", waits=True)
async def get_activity_task(app: App, _call: Call, request: Json) -> Json:
    """Wait for a task of an activity; the answer has no token if none came."""
    arn = request["activityArn"]
    parse_arn(arn, ACTIVITY)
    task = await app.engine.activities.poll(arn, request.get("workerName"))
    if task is None:
        return {}
    token, input_text = task
    return {"taskToken": token, "input": input_text}


@operation("states", "CreateActivity")
async def create_activity(app: App, _call: Call, request: Json) -> Json:
    """Create an activity; for an existing one, answer as the first time."""
    activity = await app.engine.machines.activities.create(
        request["name"], request.get("tags", ()), request.get("encryptionConfiguration")
    )
    return {"activityArn": activity.arn, "creationDate": activity.created_ms}


@operation("states", "DescribeActivity")
async def describe_activity(app: App, _call: Call, request: Json) -> Json:
    """Show an activity."""
    activity = await app.engine.machines.activities.get(request["activityArn"])
    return {**_listed(activity), "encryptionConfiguration": activity.encryption}


@operation("states", "ListActivities")
async def list_activities(app: App, _call: Call, request: Json) -> Json:
    """List activities by name."""
    found, token = await app.engine.machines.activities.list_activities(
        request.get("nextToken"), request.get("maxResults")
    )
    return {"activities": [_listed(activity) for activity in found], "nextToken": token}


@operation("states", "DeleteActivity")
async def delete_activity(app: App, _call: Call, request: Json) -> None:
    """Delete an activity, if it exists."""
    await app.engine.machines.activities.delete(request["activityArn"])


def _listed(activity: Activity) -> JsonObject:
    return {"activityArn": activity.arn, "name": activity.name, "creationDate": activity.created_ms}
