"""Operations on log groups and their tags and retention."""

from __future__ import annotations

import re
from typing import Final

from statewright.api import shapes
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject
from statewright.records.entries import LogGroup
from statewright.records.log_groups import DAYS

LISTED: Final = 50
_ARN: Final = re.compile(r"arn:[^:]*:logs:[^:]*:[^:]*:log-group:([^:]+)(:\*|:log-stream:.*)?")


def invalid(text: str) -> ApiError:
    """An `InvalidParameterException`."""
    return ApiError("InvalidParameterException", text)


def invalid_token(_: str) -> ApiError:
    """The answer to an unknown page token."""
    return invalid("The specified nextToken is invalid.")


TOKENS: Final = PageTokens[tuple[int, str]]("logs", invalid_token)


shapes.refuse_with("logs", lambda problems: invalid(shapes.problem_text(problems)))


def name_of(app: App, request: Json) -> str:
    """The group of a request, by its name or ARN. Raises: ApiError."""
    name, identifier = request.get("logGroupName"), request.get("logGroupIdentifier")
    if (name is None) == (identifier is None):
        raise invalid("Exactly one of logGroupName and logGroupIdentifier must be given.")
    found: str = name if identifier is None else _in_arn(app, identifier)
    return found


def _in_arn(app: App, text: str) -> str:
    found = None if app.config.is_elsewhere(text) else _ARN.fullmatch(text)
    return found[1] if found else text


@operation("logs", "CreateLogGroup")
async def create_log_group(app: App, _call: Call, request: Json) -> None:
    """Create a group."""
    fields = {"kms": request.get("kmsKeyId"), "storage_class": request.get("logGroupClass", "STANDARD")}
    await app.services.log_groups.create(request["logGroupName"], request.get("tags", {}), **fields)


@operation("logs", "DeleteLogGroup")
async def delete_log_group(app: App, _call: Call, request: Json) -> None:
    """Delete a group with everything in it."""
    name = request["logGroupName"]
    await app.services.log_groups.get(name)
    await app.services.log_filters.forget(name)
    await app.services.log_groups.delete(name)


@operation("logs", "DescribeLogGroups")
async def describe_log_groups(app: App, _call: Call, request: Json) -> Json:
    """List groups by name: those that were created, and those written by functions and machines."""
    prefix, part = request.get("logGroupNamePrefix"), request.get("logGroupNamePattern")
    if prefix is not None and part is not None:
        raise invalid("LogGroup name prefix and LogGroup name pattern are mutually exclusive parameters.")
    named = {_in_arn(app, one) for one in request.get("logGroupIdentifiers", ())}
    after, limit = TOKENS.read(request.get("nextToken")), request.get("limit", LISTED)
    found = [
        one for one in await app.services.log_groups.groups()
        if one.name.startswith(prefix or "") and (part or "").lower() in one.name.lower()
        and (not named or one.name in named) and (after is None or one.name > after[1])
    ]  # fmt: skip
    shown = found[:limit]
    place = (0, shown[-1].name) if len(found) > limit else None
    return {"logGroups": [await _shown(app, one) for one in shown], "nextToken": TOKENS.write(place)}


async def _shown(app: App, group: LogGroup) -> JsonObject:
    arn = app.services.log_groups.arn(group.name)
    size = 0
    for lane in await app.services.log_groups.lanes(group.name):
        size += sum(path.stat().st_size for path in lane.paths if path.is_file())
    return {
        "logGroupName": group.name, "creationTime": group.created_ms, "retentionInDays": group.retention_days,
        "metricFilterCount": len(app.services.log_filters.metric_filters(group.name)),
        "arn": f"{arn}:*", "storedBytes": size, "kmsKeyId": group.kms,
        "logGroupClass": group.storage_class, "logGroupArn": arn,
    }  # fmt: skip


@operation("logs", "PutRetentionPolicy")
async def put_retention_policy(app: App, _call: Call, request: Json) -> None:
    """Hide events that are older than the given days."""
    if request["retentionInDays"] not in DAYS:
        said = ", ".join(map(str, DAYS))
        raise invalid(
            f"1 validation error detected: Value '{request['retentionInDays']}' at 'retentionInDays' failed to satisfy "
            f"constraint: Member must satisfy enum value set: [{said}]"
        )
    await app.services.log_groups.change(request["logGroupName"], retention_days=request["retentionInDays"])


@operation("logs", "DeleteRetentionPolicy")
async def delete_retention_policy(app: App, _call: Call, request: Json) -> None:
    """Stop hiding old events."""
    await app.services.log_groups.change(request["logGroupName"], retention_days=None)


# ------------------------------------------------------------------ tags, by the newer and the older names


@operation("logs", "TagResource")
async def tag_resource(app: App, _call: Call, request: Json) -> None:
    """Add tags to a group."""
    await app.services.log_groups.tag(_in_arn(app, request["resourceArn"]), request["tags"])


@operation("logs", "UntagResource")
async def untag_resource(app: App, _call: Call, request: Json) -> None:
    """Remove tags from a group."""
    await app.services.log_groups.tag(_in_arn(app, request["resourceArn"]), {}, request["tagKeys"])


@operation("logs", "ListTagsForResource")
async def list_tags_for_resource(app: App, _call: Call, request: Json) -> Json:
    """List the tags of a group."""
    return {"tags": dict((await app.services.log_groups.get(_in_arn(app, request["resourceArn"]))).tags)}


@operation("logs", "TagLogGroup")
async def tag_log_group(app: App, _call: Call, request: Json) -> None:
    """Add tags to a group."""
    await app.services.log_groups.tag(request["logGroupName"], request["tags"])


@operation("logs", "UntagLogGroup")
async def untag_log_group(app: App, _call: Call, request: Json) -> None:
    """Remove tags from a group."""
    await app.services.log_groups.tag(request["logGroupName"], {}, request["tags"])


@operation("logs", "ListTagsLogGroup")
async def list_tags_log_group(app: App, _call: Call, request: Json) -> Json:
    """List the tags of a group."""
    return {"tags": dict((await app.services.log_groups.get(request["logGroupName"])).tags)}
