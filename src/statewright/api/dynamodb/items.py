"""Operations on single items: put, get, update, delete."""

from __future__ import annotations

from statewright.api.dynamodb.shown import capacity, condition_failure, shown_item, with_capacity
from statewright.api.operations import App, Call, operation
from statewright.api.protocols.bounds import apart
from statewright.payload import Json, JsonObject
from statewright.stores.completion import adapted
from statewright.tables.reads import get_of, read_units
from statewright.tables.table import parse
from statewright.tables.tables import Tables
from statewright.tables.values import invalid
from statewright.tables.writes import (
    ConditionFailed,
    Write,
    Written,
    delete_of,
    put_of,
    update_of,
    updated_parts,
)


@operation("dynamodb", "PutItem")
async def put_item(app: App, call: Call, request: Json) -> Json:
    """Write an item, replacing the one with the same key."""
    tables = app.services.tables
    _refuse_values(request)
    table = tables.find(request["TableName"])
    return await _write(tables, call, request, await apart(call.size, put_of, table, request))


@operation("dynamodb", "DeleteItem")
async def delete_item(app: App, call: Call, request: Json) -> Json:
    """Delete an item, if it exists."""
    tables = app.services.tables
    _refuse_values(request)
    table = tables.find(request["TableName"])
    return await _write(tables, call, request, await apart(call.size, delete_of, table, request))


@operation("dynamodb", "UpdateItem")
async def update_item(app: App, call: Call, request: Json) -> Json:
    """Change attributes of an item, or create it."""
    tables = app.services.tables
    table = tables.find(request["TableName"])
    return await _write(tables, call, request, await apart(call.size, update_of, table, request))


@operation("dynamodb", "GetItem")
async def get_item(app: App, call: Call, request: Json) -> Json:
    """Read an item by its key."""
    tables = app.services.tables
    table = tables.find(request["TableName"])
    place, project = get_of(table, request)
    (found,) = await tables.get((place,))
    answer: JsonObject = {}
    if found is not None:
        answer["Item"] = shown_item(call, found if project is None else project(parse(found)))
    units = read_units(found.size if found is not None else 0, is_consistent=bool(request.get("ConsistentRead")))
    return with_capacity(answer, capacity(request.get("ReturnConsumedCapacity"), table, {None: units}))


async def _write(tables: Tables, call: Call, request: Json, write: Write) -> Json:
    def answer(written: Written) -> Json:
        return _answer(call, request, write, written)

    try:
        return answer(await tables.write(write, adapted(call.completion, answer)))
    except ConditionFailed as failed:
        raise condition_failure(call, request, failed) from None


def _answer(call: Call, request: Json, write: Write, written: Written) -> Json:
    wanted = request.get("ReturnValues", "NONE")
    answer: JsonObject = {}
    if wanted.startswith("UPDATED_"):
        parts = updated_parts(write, written.before if wanted == "UPDATED_OLD" else written.after)
        if parts:
            answer["Attributes"] = shown_item(call, parts)
    else:
        shown = written.before if wanted == "ALL_OLD" else written.after if wanted == "ALL_NEW" else None
        if shown is not None:
            answer["Attributes"] = shown_item(call, shown)
    return with_capacity(answer, capacity(request.get("ReturnConsumedCapacity"), write.table, written.units))


def _refuse_values(request: Json) -> None:
    """Refuse new values in the answer to a put or delete, which has none. Raises: ApiError."""
    if request.get("ReturnValues", "NONE") not in ("NONE", "ALL_OLD"):
        raise invalid("Return values set to invalid value")
