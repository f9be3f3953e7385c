"""Operations on groups of schedules and their tags."""

from __future__ import annotations

from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.api.scheduler.schedules import MOST_LISTED, TOKENS
from statewright.errors import ApiError
from statewright.events.schedule_records import Group
from statewright.payload import Json, JsonObject
from statewright.stores.completion import adapted
from statewright.tags import MOST_TAGS, TagRule, tag_list, tags_by_key

TAGS: Final = TagRule(lambda _: ApiError("ValidationException", f"A schedule group may have {MOST_TAGS} tags at most."))
"""Source: API reference, TagResource; the error texts are Statewright's own."""


def _shown(app: App, group: Group) -> JsonObject:
    return {
        "Arn": group.arn(app.config), "Name": group.name, "State": group.state,
        "CreationDate": group.created_ms, "LastModificationDate": group.modified_ms,
    }  # fmt: skip


@operation("scheduler", "CreateScheduleGroup")
async def create_schedule_group(app: App, call: Call, request: Json) -> Json:
    """Create a group."""
    tags = tags_by_key(request.get("Tags"))

    def answer(made: Group) -> Json:
        return {"ScheduleGroupArn": made.arn(app.config)}

    token = request.get("ClientToken")
    completion = adapted(call.completion, answer)
    return answer(await app.services.scheduler.create_group(request["Name"], tags, token, completion))


@operation("scheduler", "GetScheduleGroup")
async def get_schedule_group(app: App, _call: Call, request: Json) -> Json:
    """Describe a group."""
    return _shown(app, await app.services.scheduler.group(request["Name"]))


@operation("scheduler", "DeleteScheduleGroup")
async def delete_schedule_group(app: App, call: Call, request: Json) -> None:
    """Delete a group with its schedules."""
    await app.services.scheduler.delete_group(request["Name"], adapted(call.completion, lambda _: {}))


@operation("scheduler", "ListScheduleGroups")
async def list_schedule_groups(app: App, _call: Call, request: Json) -> Json:
    """List groups by name."""
    found, last = await app.services.scheduler.list_groups(
        request.get("NamePrefix", ""), TOKENS.read(request.get("NextToken")), request.get("MaxResults", MOST_LISTED)
    )
    return {"ScheduleGroups": [_shown(app, one) for one in found], "NextToken": TOKENS.write(last)}


@operation("scheduler", "TagResource")
async def tag_resource(app: App, _call: Call, request: Json) -> None:
    """Add tags to a group."""
    group = await app.services.scheduler.group(_name(app, request))
    await app.services.scheduler.tag_group(group.name, TAGS.put(group.tags, tags_by_key(request["Tags"])))


@operation("scheduler", "UntagResource")
async def untag_resource(app: App, _call: Call, request: Json) -> None:
    """Remove tags from a group."""
    await app.services.scheduler.tag_group(_name(app, request), {}, tuple(request["TagKeys"]))


@operation("scheduler", "ListTagsForResource")
async def list_tags_for_resource(app: App, _call: Call, request: Json) -> Json:
    """List the tags of a group."""
    group = await app.services.scheduler.group(_name(app, request))
    return {"Tags": tag_list(group.tags)}


def _name(app: App, request: Json) -> str:
    arn = str(request["ResourceArn"])
    return arn if app.config.is_elsewhere(arn) else arn.rpartition("/")[2]
