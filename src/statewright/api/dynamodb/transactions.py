"""TransactWriteItems and TransactGetItems.

Source: API reference, both pages; texts observed.
"""

from __future__ import annotations

from statewright.api.dynamodb.shown import capacity, shown_item, with_capacity
from statewright.api.operations import App, Call, operation
from statewright.api.protocols.bounds import apart
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.stores.completion import adapted
from statewright.tables.reads import get_of, read_units
from statewright.tables.table import Table, parse
from statewright.tables.tables import Transacted
from statewright.tables.transactions import Cancelled, Reason
from statewright.tables.values import invalid


@operation("dynamodb", "TransactWriteItems")
async def transact_write_items(app: App, call: Call, request: Json) -> Json:
    """Execute several writes, all or none."""

    def answer(done: Transacted) -> Json:
        units: dict[Table, dict[str | None, float]] = {}
        for write, written in done:
            of_table = units.setdefault(write.table, {})
            for name, amount in written.units.items():
                # A transaction prepares each write, then executes it.
                of_table[name] = of_table.get(name, 0.0) + 2 * amount
        wanted = request.get("ReturnConsumedCapacity")
        consumed = [capacity(wanted, table, amounts, kind="Write") for table, amounts in units.items()]
        return with_capacity({}, [one for one in consumed if one is not None])

    tables = app.services.tables
    try:
        prepared = await apart(call.size, tables.prepared, request)
        return answer(await tables.transact_prepared(prepared, adapted(call.completion, answer)))
    except Cancelled as cancelled:
        raise cancellation(call, cancelled) from None


def cancellation(call: Call, cancelled: Cancelled) -> ApiError:
    """The answer to a transaction that was cancelled."""
    reasons = [_shown_reason(call, reason) for reason in cancelled.reasons]
    return ApiError(cancelled.code, cancelled.message, details={"CancellationReasons": reasons})


def _shown_reason(call: Call, reason: Reason) -> Json:
    found: JsonObject = {"Code": reason.code}
    if reason.message is not None:
        found["Message"] = reason.message
    if reason.item is not None:
        found["Item"] = shown_item(call, reason.item)
    return found


@operation("dynamodb", "TransactGetItems")
async def transact_get_items(app: App, call: Call, request: Json) -> Json:
    """Read items by their keys, all as of one moment."""
    tables = app.services.tables
    asked = []
    for action in request["TransactItems"]:
        members = action["Get"]
        table = tables.find(members["TableName"])
        asked.append((table, *get_of(table, members)))
    places = [place for _, place, _ in asked]
    if len(set(places)) < len(places):
        raise invalid("Transaction request cannot include multiple operations on one item")
    responses: list[Json] = []
    units: dict[str, float] = {}
    for (table, _, project), found in zip(asked, await tables.get(places), strict=True):
        name = table.definition.name
        size = found.size if found is not None else 0
        units[name] = units.get(name, 0.0) + 2 * read_units(size, is_consistent=True)
        if found is None:
            responses.append({})
        else:
            responses.append({"Item": shown_item(call, found if project is None else project(parse(found)))})
    wanted = request.get("ReturnConsumedCapacity")
    consumed = [capacity(wanted, tables.find(name), {None: amount}, kind="Read") for name, amount in units.items()]
    return with_capacity({"Responses": responses}, [one for one in consumed if one is not None])
