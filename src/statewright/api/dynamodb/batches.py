"""BatchGetItem and BatchWriteItem.

Source: API reference, both pages; texts observed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from statewright.api.dynamodb.shown import capacity, shown_item, with_capacity
from statewright.api.operations import App, Call, operation
from statewright.api.protocols.bounds import apart
from statewright.payload import Json, JsonObject
from statewright.stores.completion import adapted
from statewright.stores.table_protocol import ItemKey
from statewright.tables.expressions.projections import Project
from statewright.tables.reads import projection_of, read_units
from statewright.tables.table import MISMATCH, Table, parse
from statewright.tables.values import Item, checked_item, invalid
from statewright.tables.writes import Write, Written, delete_key, put_item, refuse_legacy

MOST_READ: Final = 100
MOST_WRITTEN: Final = 25
MOST_BYTES: Final = 16 * 1024 * 1024
_DUPLICATES: Final = "Provided list of item keys contains duplicates"


@operation("dynamodb", "BatchGetItem")
async def batch_get_item(app: App, call: Call, request: Json) -> Json:
    """Read items by their keys, from several tables; keys beyond 16 MB are returned as unprocessed."""
    tables = app.services.tables
    wanted = request["RequestItems"]
    if not wanted:
        raise invalid("The requestItems parameter is required for BatchGetItem")
    if sum(len(of_table["Keys"]) for of_table in wanted.values()) > MOST_READ:
        raise invalid("Too many items requested for the BatchGetItem call")
    projects: dict[str, Project | None] = {}
    for reference, members in wanted.items():
        refuse_legacy(members)
        projects[reference] = projection_of(members)
    asked: list[tuple[str, Table, Item, ItemKey, Project | None]] = []
    for (reference, members), project in zip(wanted.items(), projects.values(), strict=True):
        table = tables.find(reference)
        for given in members["Keys"]:
            key, place = table.key(given)
            asked.append((reference, table, key, place, project))
    places = [place for _, _, _, place, _ in asked]
    if len(set(places)) < len(places):
        raise invalid(_DUPLICATES)
    responses: dict[str, list[Json]] = {reference: [] for reference in wanted}
    unprocessed: JsonObject = {}
    units: dict[str, float] = dict.fromkeys(wanted, 0.0)
    size = 0
    for (reference, _, key, _, project), found in zip(asked, await tables.get(places), strict=True):
        size += found.size if found is not None else 0
        if size > MOST_BYTES:
            rest = unprocessed.setdefault(reference, {**wanted[reference], "Keys": []})
            rest["Keys"].append(shown_item(call, key))
            continue
        is_consistent = bool(wanted[reference].get("ConsistentRead"))
        units[reference] += read_units(found.size if found is not None else 0, is_consistent=is_consistent)
        if found is not None:
            shown = found if project is None else project(parse(found))
            responses[reference].append(shown_item(call, shown))
    consumed = [
        capacity(request.get("ReturnConsumedCapacity"), tables.find(reference), {None: amount})
        for reference, amount in units.items()
    ]
    answer: JsonObject = {"Responses": responses, "UnprocessedKeys": unprocessed}
    return with_capacity(answer, [one for one in consumed if one is not None])


@operation("dynamodb", "BatchWriteItem")
async def batch_write_item(app: App, call: Call, request: Json) -> Json:
    """Put and delete items of several tables. They are written in one transaction, which the API does not promise."""
    tables = app.services.tables
    wanted = request["RequestItems"]
    if not wanted:
        raise invalid("The batch write request list for a table cannot be null or empty")
    if sum(len(requests) for requests in wanted.values()) > MOST_WRITTEN:
        raise invalid("Too many items requested for the BatchWriteItem call")
    writes = await apart(call.size, _writes_of, tables.find, wanted)
    if len({write.place for write in writes}) < len(writes):
        raise invalid(_DUPLICATES)

    def answer(written: Sequence[Written]) -> Json:
        units: dict[Table, dict[str | None, float]] = {}
        for write, done in zip(writes, written, strict=True):
            of_table = units.setdefault(write.table, {})
            for name, amount in done.units.items():
                of_table[name] = of_table.get(name, 0.0) + amount
        wanted = request.get("ReturnConsumedCapacity")
        consumed = [capacity(wanted, table, amounts) for table, amounts in units.items()]
        return with_capacity({"UnprocessedItems": {}}, [one for one in consumed if one is not None])

    return answer(await tables.write_all(writes, adapted(call.completion, answer)))


def _writes_of(find: Callable[[str], Table], wanted: Json) -> list[Write]:
    writes: list[Write] = []
    for reference, requests in wanted.items():
        table = find(reference)
        writes += [_write_of(table, one) for one in requests]
    return writes


def _write_of(table: Table, given: Json) -> Write:
    put, delete = given.get("PutRequest"), given.get("DeleteRequest")
    if (put is None) == (delete is None):
        raise invalid("A write request must have either a PutRequest or a DeleteRequest")
    if put is not None:
        item, size = checked_item(put["Item"])
        if not item.keys() >= set(table.definition.keys):
            raise invalid(MISMATCH)
        return put_item(table, item, size)
    return delete_key(table, delete["Key"])
