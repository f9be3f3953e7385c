"""Operations on schedules."""

from __future__ import annotations

from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.events.schedule_records import DEFAULT_GROUP, Schedule, shown
from statewright.pages import PageTokens
from statewright.payload import Json
from statewright.stores.completion import adapted

TOKENS: Final = PageTokens[str]("scheduler", lambda _: ApiError("ValidationException", "Invalid NextToken."))
MOST_LISTED: Final = 100


@operation("scheduler", "CreateSchedule")
async def create_schedule(app: App, call: Call, request: Json) -> Json:
    """Create a schedule."""

    def answer(made: Schedule) -> Json:
        return {"ScheduleArn": made.arn(app.config)}

    return answer(await app.services.scheduler.create(request["Name"], request, adapted(call.completion, answer)))


@operation("scheduler", "UpdateSchedule")
async def update_schedule(app: App, call: Call, request: Json) -> Json:
    """Replace every field of a schedule."""

    def answer(made: Schedule) -> Json:
        return {"ScheduleArn": made.arn(app.config)}

    return answer(await app.services.scheduler.update(request["Name"], request, adapted(call.completion, answer)))


@operation("scheduler", "GetSchedule")
async def get_schedule(app: App, _call: Call, request: Json) -> Json:
    """Describe a schedule."""
    return shown(await app.services.scheduler.get(request.get("GroupName", DEFAULT_GROUP), request["Name"]), app.config)


@operation("scheduler", "DeleteSchedule")
async def delete_schedule(app: App, call: Call, request: Json) -> None:
    """Delete a schedule."""
    group = request.get("GroupName", DEFAULT_GROUP)
    await app.services.scheduler.delete(group, request["Name"], adapted(call.completion, lambda _: {}))


@operation("scheduler", "ListSchedules")
async def list_schedules(app: App, _call: Call, request: Json) -> Json:
    """List schedules by group and name."""
    found, last = await app.services.scheduler.list_schedules(
        request.get("GroupName"), request.get("NamePrefix", ""), request.get("State"),
        TOKENS.read(request.get("NextToken")), request.get("MaxResults", MOST_LISTED),
    )  # fmt: skip
    listed = [
        {
            "Arn": one.arn(app.config), "Name": one.name, "GroupName": one.group, "State": one.state,
            "CreationDate": one.created_ms, "LastModificationDate": one.modified_ms,
            "Target": {"Arn": one.target["Arn"]},
        }
        for one in found
    ]  # fmt: skip
    return {"Schedules": listed, "NextToken": TOKENS.write(last)}
