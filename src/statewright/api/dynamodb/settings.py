"""Settings of tables that stand apart: time to live, point-in-time recovery, tags."""

from __future__ import annotations

from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.payload import Json
from statewright.tables.exports import earliest_ms
from statewright.tables.table import Table
from statewright.tables.tables import Tables
from statewright.tables.values import invalid

MOST_TAGS: Final = 50
KEY_CHARACTERS: Final = 128
VALUE_CHARACTERS: Final = 256
"""Source of all: developer guide, "Tagging restrictions"."""
RECOVERY_DAYS: Final = 35


@operation("dynamodb", "UpdateTimeToLive")
async def update_time_to_live(app: App, _call: Call, request: Json) -> Json:
    """Have items expire by an attribute, or no more."""
    tables: Tables = app.tables
    table = tables.describe(request["TableName"])
    wanted = request["TimeToLiveSpecification"]
    await tables.expiry.switch(table, wanted["AttributeName"], enabled=wanted["Enabled"])
    return {"TimeToLiveSpecification": wanted}


@operation("dynamodb", "DescribeTimeToLive")
async def describe_time_to_live(app: App, _call: Call, request: Json) -> Json:
    """Whether items expire, and by which attribute."""
    tables: Tables = app.tables
    ttl = tables.describe(request["TableName"]).definition.time_to_live
    if ttl is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": ttl.attribute}}


# ------------------------------------------------------------------ backups


@operation("dynamodb", "DescribeContinuousBackups")
async def describe_continuous_backups(app: App, _call: Call, request: Json) -> Json:
    """Whether a table can be exported as it was."""
    tables: Tables = app.tables
    return _backups(tables, _with_backups(tables, request["TableName"]))


@operation("dynamodb", "UpdateContinuousBackups")
async def update_continuous_backups(app: App, _call: Call, request: Json) -> Json:
    """Switch point-in-time recovery, which exports ask for. No former state of a table is kept."""
    tables: Tables = app.tables
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
    recovery: dict[str, Json] = {"PointInTimeRecoveryStatus": "DISABLED" if since is None else "ENABLED"}
    if since is not None:
        recovery["RecoveryPeriodInDays"] = RECOVERY_DAYS
        now_ms = tables.clock.now_ms()
        recovery["EarliestRestorableDateTime"] = earliest_ms(since, now_ms)
        recovery["LatestRestorableDateTime"] = now_ms
    shown = {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": recovery}
    return {"ContinuousBackupsDescription": shown}


# ------------------------------------------------------------------ tags


@operation("dynamodb", "TagResource")
async def tag_resource(app: App, _call: Call, request: Json) -> Json:
    """Put tags on a table."""
    tables: Tables = app.tables
    table = _tagged(tables, request["ResourceArn"])
    given = {tag["Key"]: tag["Value"] for tag in request["Tags"]}
    for key, value in given.items():
        if key.lower().startswith("aws:"):
            raise invalid("One or more parameter values were invalid: Tag keys must not start with aws:")
        if not 1 <= len(key) <= KEY_CHARACTERS or len(value) > VALUE_CHARACTERS:
            raise invalid("One or more parameter values were invalid: Tag keys have up to 128 characters, values 256")
    tags = {**table.definition.tags, **given}
    if len(tags) > MOST_TAGS:
        raise invalid(f"One or more parameter values were invalid: Too many tags: {len(tags)}; {MOST_TAGS} are allowed")
    await tables.set_tags(table, tags)
    return {}


@operation("dynamodb", "UntagResource")
async def untag_resource(app: App, _call: Call, request: Json) -> Json:
    """Take tags away from a table."""
    tables: Tables = app.tables
    table = _tagged(tables, request["ResourceArn"])
    gone = set(request["TagKeys"])
    await tables.set_tags(table, {key: value for key, value in table.definition.tags.items() if key not in gone})
    return {}


@operation("dynamodb", "ListTagsOfResource")
async def list_tags_of_resource(app: App, _call: Call, request: Json) -> Json:
    """The tags of a table."""
    tags = _tagged(app.tables, request["ResourceArn"]).definition.tags
    return {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}


def _tagged(tables: Tables, arn: str) -> Table:
    if not arn.startswith("arn:"):
        raise invalid(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    table = tables.catalogue.find(arn)
    if table is None:
        raise ApiError("ResourceNotFoundException", f"Requested resource not found: ResourcArn: {arn} not found")
    return table
