"""Operations on settings of tables: time to live, point-in-time recovery, tags."""

from __future__ import annotations

from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.pages import page_behind
from statewright.payload import Json, JsonObject
from statewright.tables.exports import earliest_ms
from statewright.tables.table import Table
from statewright.tables.tables import Tables
from statewright.tables.values import invalid
from statewright.tags import KEY_CHARACTERS, MOST_TAGS, VALUE_CHARACTERS, TagRule, retagged, tag_list, tags_by_key

RECOVERY_DAYS: Final = 35
TAGS_A_PAGE: Final = 10


def _invalid_tag(reason: str) -> ApiError:
    return invalid(f"One or more parameter values were invalid: {reason}")


def _too_long(_: str) -> ApiError:
    return _invalid_tag(f"Tag keys have up to {KEY_CHARACTERS} characters, values {VALUE_CHARACTERS}")


TAGS: Final = TagRule(
    lambda count: _invalid_tag(f"Too many tags: {count}; {MOST_TAGS} are allowed"),
    bad_key=_too_long,
    bad_value=_too_long,
    reserved=lambda _: _invalid_tag("Tag keys must not start with aws:"),
)


@operation("dynamodb", "UpdateTimeToLive")
async def update_time_to_live(app: App, _call: Call, request: Json) -> Json:
    """Enable or disable the expiry of items by an attribute."""
    tables = app.services.tables
    table = tables.describe(request["TableName"])
    wanted = request["TimeToLiveSpecification"]
    await tables.expiry.switch(table, wanted["AttributeName"], enabled=wanted["Enabled"])
    return {"TimeToLiveSpecification": wanted}


@operation("dynamodb", "DescribeTimeToLive")
async def describe_time_to_live(app: App, _call: Call, request: Json) -> Json:
    """Show whether items expire, and by which attribute."""
    ttl = app.services.tables.describe(request["TableName"]).definition.time_to_live
    if ttl is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": ttl.attribute}}


# ------------------------------------------------------------------ backups


@operation("dynamodb", "DescribeContinuousBackups")
async def describe_continuous_backups(app: App, _call: Call, request: Json) -> Json:
    """Show whether point-in-time recovery is on."""
    tables = app.services.tables
    return _backups(tables, _with_backups(tables, request["TableName"]))


@operation("dynamodb", "UpdateContinuousBackups")
async def update_continuous_backups(app: App, _call: Call, request: Json) -> Json:
    """Switch point-in-time recovery, which exports require. No former state of a table is kept."""
    tables = app.services.tables
    table = _with_backups(tables, request["TableName"])
    is_wanted = request["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"]
    if is_wanted != (table.definition.recovery_ms is not None):
        await tables.change(table, recovery_ms=tables.clock.now_ms() if is_wanted else None)
    return _backups(tables, table)


def _with_backups(tables: Tables, reference: str) -> Table:
    table = tables.catalogue.find(reference)
    if table is None:
        raise ApiError("TableNotFoundException", f"Table not found: {reference}")
    return table


def _backups(tables: Tables, table: Table) -> Json:
    since = table.definition.recovery_ms
    recovery: JsonObject = {"PointInTimeRecoveryStatus": "DISABLED" if since is None else "ENABLED"}
    if since is not None:
        recovery["RecoveryPeriodInDays"] = RECOVERY_DAYS
        now_ms = tables.clock.now_ms()
        recovery["EarliestRestorableDateTime"] = earliest_ms(since, now_ms)
        recovery["LatestRestorableDateTime"] = now_ms
    shown = {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": recovery}
    return {"ContinuousBackupsDescription": shown}


# ------------------------------------------------------------------ tags


@operation("dynamodb", "TagResource")
async def tag_resource(app: App, _call: Call, request: Json) -> None:
    """Add tags to a table."""
    tables = app.services.tables
    table = _tagged(tables, request["ResourceArn"])
    await tables.set_tags(table, TAGS.put(table.definition.tags, tags_by_key(request["Tags"])))


@operation("dynamodb", "UntagResource")
async def untag_resource(app: App, _call: Call, request: Json) -> None:
    """Remove tags from a table."""
    tables = app.services.tables
    table = _tagged(tables, request["ResourceArn"])
    await tables.set_tags(table, retagged(table.definition.tags, {}, request["TagKeys"]))


@operation("dynamodb", "ListTagsOfResource")
async def list_tags_of_resource(app: App, _call: Call, request: Json) -> Json:
    """List the tags of a table, ten at a time."""
    tags = tag_list(_tagged(app.services.tables, request["ResourceArn"]).definition.tags)
    try:
        page, token = page_behind(tags, lambda tag: tag["Key"], request.get("NextToken"), TAGS_A_PAGE)
    except ValueError:
        raise _invalid_tag("Invalid NextToken") from None
    return {"Tags": page, "NextToken": token} if token is not None else {"Tags": page}


def _tagged(tables: Tables, arn: str) -> Table:
    if not arn.startswith("arn:"):
        raise invalid(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    table = tables.catalogue.find(arn)
    if table is None:
        raise ApiError("ResourceNotFoundException", f"Requested resource not found: ResourcArn: {arn} not found")
    return table
