"""Operations on tables: create, describe, list, update, delete; limits and endpoints."""

from __future__ import annotations

from statewright.api.dynamodb.descriptions import encryption_description, table_description
from statewright.api.operations import App, Call, operation
from statewright.payload import Json, JsonObject
from statewright.tables.altering import alter

MOST_LISTED = 100


@operation("dynamodb", "CreateTable")
async def create_table(app: App, _call: Call, request: Json) -> Json:
    """Create a table. It can be used immediately, although the answer says `CREATING`, as with the service."""
    table = await app.services.tables.create(request)
    return {"TableDescription": table_description(table, {}, status="CREATING")}


@operation("dynamodb", "DescribeTable")
async def describe_table(app: App, _call: Call, request: Json) -> Json:
    """Describe a table with its indexes and counts."""
    tables = app.services.tables
    table = tables.describe(request["TableName"])
    return {"Table": table_description(table, await tables.counts(table))}


@operation("dynamodb", "ListTables")
async def list_tables(app: App, _call: Call, request: Json) -> Json:
    """List names of tables."""
    tables = app.services.tables
    names, last = tables.catalogue.page(request.get("ExclusiveStartTableName"), request.get("Limit", MOST_LISTED))
    answer: JsonObject = {"TableNames": names}
    return {**answer, "LastEvaluatedTableName": last} if last is not None else answer


@operation("dynamodb", "UpdateTable")
async def update_table(app: App, _call: Call, request: Json) -> Json:
    """Change a table's settings, or one of its global indexes."""
    tables = app.services.tables
    table = tables.describe(request["TableName"])
    before = table.definition.encryption
    await alter(tables, table, request)
    description = table_description(table, await tables.counts(table), status="UPDATING")
    if before is not None and before.get("Enabled") and "SSEDescription" not in description:
        description["SSEDescription"] = encryption_description(table, before, "UPDATING")
    return {"TableDescription": description}


@operation("dynamodb", "DeleteTable")
async def delete_table(app: App, _call: Call, request: Json) -> Json:
    """Delete a table with its items."""
    tables = app.services.tables
    table = tables.describe(request["TableName"])
    counts = await tables.counts(table)
    await tables.delete(table)
    return {"TableDescription": table_description(table, counts, status="DELETING")}


@operation("dynamodb", "DescribeLimits")
async def describe_limits(_app: App, _call: Call, _request: Json) -> Json:
    """Return the service's initial limits of an account, which are not enforced here."""
    return {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }


@operation("dynamodb", "DescribeEndpoints")
async def describe_endpoints(app: App, call: Call, _request: Json) -> Json:
    """Return the address of this server."""
    address = call.headers.get("host") or f"dynamodb.{app.config.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": 1440}]}
