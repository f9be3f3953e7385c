"""Query and Scan."""

from __future__ import annotations

from statewright.api.dynamodb.shown import capacity, shown_item, with_capacity
from statewright.api.operations import App, Call, operation
from statewright.payload import Json, JsonObject
from statewright.tables.reads import Page, refuse_empty_filter
from statewright.tables.table import Table


@operation("dynamodb", "Query")
async def query(app: App, call: Call, request: Json) -> Json:
    """Read items of one partition, in the order of their sort keys."""
    tables = app.services.tables
    refuse_empty_filter(request)
    table = tables.find(request["TableName"])
    return _answer(call, request, table, await tables.query(table, request))


@operation("dynamodb", "Scan")
async def scan(app: App, call: Call, request: Json) -> Json:
    """Read items of a table or index, or of a segment of one."""
    tables = app.services.tables
    table = tables.find(request["TableName"])
    return _answer(call, request, table, await tables.scan(table, request))


def _answer(call: Call, request: Json, table: Table, page: Page) -> Json:
    answer: JsonObject = {"Count": page.count, "ScannedCount": page.scanned}
    if request.get("Select") != "COUNT":
        answer["Items"] = [shown_item(call, item) for item in page.items]
    if page.last is not None:
        answer["LastEvaluatedKey"] = shown_item(call, page.last)
    of = page.index.name if page.index is not None else None
    units: dict[str | None, float] = {None: 0.0, of: page.units} if of is not None else {None: page.units}
    return with_capacity(answer, capacity(request.get("ReturnConsumedCapacity"), table, units))
