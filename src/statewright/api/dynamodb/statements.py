"""ExecuteStatement, BatchExecuteStatement and ExecuteTransaction: PartiQL statements on one table each.

Source: API reference, the three pages; developer guide, "PartiQL for DynamoDB"; texts observed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from statewright.api.dynamodb.shown import capacity, condition_failure, shown_item, with_capacity
from statewright.api.dynamodb.transactions import cancellation
from statewright.api.operations import App, Call, operation
from statewright.api.protocols.bounds import apart
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.stores.completion import adapted
from statewright.stores.table_protocol import StoredItem
from statewright.tables.partiql.changes import write_of
from statewright.tables.partiql.parser import statement
from statewright.tables.partiql.selects import Single, selection, single
from statewright.tables.partiql.tree import Delete, Select, Statement, Update, is_read
from statewright.tables.reads import read_units
from statewright.tables.table import Table
from statewright.tables.tables import Tables, Transacted
from statewright.tables.transactions import REASONS, Cancelled, Reason, client_token_of
from statewright.tables.values import invalid
from statewright.tables.writes import ConditionFailed, Write, Written, updated_parts

_CODES: Final = {
    **REASONS,
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "ResourceNotFoundException": "ResourceNotFound",
}
"""Codes of errors in the answers of batches."""
_MIXED: Final = "must consist of either read statements or write statements; you cannot mix both in one"


def _parsed(request: Json) -> Statement:
    return statement(request["Statement"], request.get("Parameters"))


@operation("dynamodb", "ExecuteStatement")
async def execute_statement(app: App, call: Call, request: Json) -> Json:
    """Execute a statement: a page of a SELECT, or one write."""
    tables = app.services.tables
    found = await apart(call.size, _parsed, request)
    if not isinstance(found, Select) or found.only_exists:
        return await _write(tables, call, request, found)
    table = tables.find(found.table)
    page, token = await tables.select(selection(table, found, request), request.get("NextToken"))
    answer: JsonObject = {"Items": [shown_item(call, item) for item in page.items]}
    if page.last is not None:
        answer |= {"NextToken": token, "LastEvaluatedKey": shown_item(call, page.last)}
    of = page.index.name if page.index is not None else None
    units: dict[str | None, float] = {None: 0.0, of: page.units} if of is not None else {None: page.units}
    return with_capacity(answer, capacity(request.get("ReturnConsumedCapacity"), table, units))


async def _write(tables: Tables, call: Call, request: Json, found: Statement) -> Json:
    write = write_of(found, tables.find)

    def answer(written: Written) -> Json:
        shown = _returned(call, found, write, written)
        items: JsonObject = {"Items": [] if shown is None else [shown]}
        return with_capacity(items, capacity(request.get("ReturnConsumedCapacity"), write.table, written.units))

    try:
        return answer(await tables.write(write, adapted(call.completion, answer)))
    except ConditionFailed as failed:
        raise condition_failure(call, request, failed) from None


def _returned(call: Call, found: Statement, write: Write, written: Written) -> Json:
    """The attributes that RETURNING asks for; `None` for none."""
    wanted = found.returning if isinstance(found, Update | Delete) else "NONE"
    if wanted.startswith("UPDATED_"):
        parts = updated_parts(write, written.before if wanted == "UPDATED_OLD" else written.after)
        return shown_item(call, parts) if parts else None
    shown = written.before if wanted == "ALL_OLD" else written.after if wanted == "ALL_NEW" else None
    return shown_item(call, shown) if shown is not None else None


# ------------------------------------------------------------------ batches


@operation("dynamodb", "BatchExecuteStatement")
async def batch_execute_statement(app: App, call: Call, request: Json) -> Json:
    """Execute statements, each by itself: all of them reads of single items, or all writes."""
    tables = app.services.tables
    given: Sequence[Json] = request["Statements"]
    found = await apart(call.size, _parsed_each, given)
    kinds = {is_read(one) for one in found if not isinstance(one, ApiError)}
    if len(kinds) > 1:
        raise invalid(f"The entire batch {_MIXED} batch")
    if kinds == {True}:
        return await _read_each(tables, call, request, found)
    return await _write_each(tables, call, request, found)


def _parsed_each(given: Sequence[Json]) -> list[Statement | ApiError]:
    found: list[Statement | ApiError] = []
    for one in given:
        try:
            found.append(_parsed(one))
        except ApiError as problem:
            found.append(problem)
    return found


async def _read_each(tables: Tables, call: Call, request: Json, found: Sequence[Statement | ApiError]) -> Json:
    chosen: list[Single | ApiError] = []
    for one in found:
        try:
            chosen.append(_single(tables, one, "BatchExecuteStatement"))
        except ApiError as problem:
            chosen.append(problem)
    items = iter(await tables.get([one.place for one in chosen if not isinstance(one, ApiError)]))
    responses: list[Json] = []
    units: dict[Table, dict[str | None, float]] = {}
    for select, given in zip(chosen, request["Statements"], strict=True):
        if isinstance(select, ApiError):
            responses.append({"Error": _error(call, given, select)})
            continue
        item = next(items)
        size = item.size if item is not None else 0
        _add(units, select.table, {None: read_units(size, is_consistent=bool(given.get("ConsistentRead")))})
        responses.append({"TableName": select.table.definition.name, **_shown(call, select, item)})
    return with_capacity({"Responses": responses}, _consumed(request, units))


def _single(tables: Tables, found: Statement | ApiError, operation_name: str) -> Single:
    if isinstance(found, ApiError):
        raise found
    assert isinstance(found, Select)
    return single(tables.find(found.table), found, operation_name)


def _shown(call: Call, chosen: Single, item: StoredItem | None) -> JsonObject:
    selected = chosen.shown(item)
    return {"Item": shown_item(call, selected)} if selected is not None else {}


async def _write_each(tables: Tables, call: Call, request: Json, found: Sequence[Statement | ApiError]) -> Json:
    made: list[Write | ApiError] = []
    for one in found:
        try:
            if isinstance(one, ApiError):
                raise one
            made.append(write_of(one, tables.find))
        except ApiError as problem:
            made.append(problem)
    writes = [one for one in made if not isinstance(one, ApiError)]

    def answer(done: Sequence[Written | ApiError]) -> Json:
        results = iter(done)
        responses: list[Json] = []
        units: dict[Table, dict[str | None, float]] = {}
        for one, write, given in zip(found, made, request["Statements"], strict=True):
            if isinstance(write, ApiError) or isinstance(one, ApiError):
                assert isinstance(write, ApiError)
                responses.append({"Error": _error(call, given, write)})
                continue
            response: JsonObject = {"TableName": write.table.definition.name}
            result = next(results)
            if isinstance(result, ApiError):
                response["Error"] = _error(call, given, result)
            else:
                _add(units, write.table, result.units)
                shown = _returned(call, one, write, result)
                if shown is not None:
                    response["Item"] = shown
            responses.append(response)
        return with_capacity({"Responses": responses}, _consumed(request, units))

    return answer(await tables.write_each(writes, adapted(call.completion, answer)))


def _error(call: Call, given: Json, problem: ApiError) -> JsonObject:
    error: JsonObject = {"Code": _CODES.get(problem.code, problem.code), "Message": problem.message}
    shows = given.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
    if shows and isinstance(problem, ConditionFailed) and problem.found is not None:
        error["Item"] = shown_item(call, problem.found)
    return error


def _add(units: dict[Table, dict[str | None, float]], table: Table, more: Mapping[str | None, float]) -> None:
    of_table = units.setdefault(table, {})
    for name, amount in more.items():
        of_table[name] = of_table.get(name, 0.0) + amount


def _consumed(request: Json, units: Mapping[Table, Mapping[str | None, float]], kind: str | None = None) -> list[Json]:
    wanted = request.get("ReturnConsumedCapacity")
    found = [capacity(wanted, table, amounts, kind=kind) for table, amounts in units.items()]
    return [one for one in found if one is not None]


# ------------------------------------------------------------------ transactions


@operation("dynamodb", "ExecuteTransaction")
async def execute_transaction(app: App, call: Call, request: Json) -> Json:
    """Execute statements together or not at all: all of them reads of single items, or all writes and conditions."""
    tables = app.services.tables
    given: Sequence[Json] = request["TransactStatements"]
    found = await apart(call.size, lambda: [_parsed(one) for one in given])
    kinds = {is_read(one) for one in found}
    if len(kinds) > 1:
        raise invalid(f"The entire transaction {_MIXED} transaction")
    if kinds == {True}:
        return await _read_together(tables, call, request, found)
    return await _write_together(tables, call, request, found)


async def _read_together(tables: Tables, call: Call, request: Json, found: Sequence[Statement]) -> Json:
    chosen = [_single(tables, one, "ExecuteTransaction") for one in found]
    places = [one.place for one in chosen]
    if len(set(places)) < len(places):
        raise invalid("Transaction request cannot include multiple operations on one item")
    responses: list[Json] = []
    units: dict[Table, dict[str | None, float]] = {}
    for one, item in zip(chosen, await tables.get(places), strict=True):
        size = item.size if item is not None else 0
        _add(units, one.table, {None: 2 * read_units(size, is_consistent=True)})
        responses.append(_shown(call, one, item))
    return with_capacity({"Responses": responses}, _consumed(request, units, "Read"))


async def _write_together(tables: Tables, call: Call, request: Json, found: Sequence[Statement]) -> Json:
    writes: list[Write] = []
    reasons: list[Reason] = []
    for one in found:
        try:
            writes.append(write_of(one, tables.find, in_transaction=True))
            reasons.append(Reason())
        except ApiError as problem:
            if problem.code not in REASONS:
                raise
            reasons.append(Reason(REASONS[problem.code], problem.message))
    if len(writes) < len(reasons):
        raise cancellation(call, Cancelled(reasons))
    if len({write.place for write in writes}) < len(writes):
        raise invalid("Transaction request cannot include multiple operations on one item")
    shows = [one.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD" for one in request["TransactStatements"]]

    def answer(done: Transacted) -> Json:
        units: dict[Table, dict[str | None, float]] = {}
        for write, written in done:
            # A transaction prepares each write, then executes it.
            _add(units, write.table, {name: 2.0 * amount for name, amount in written.units.items()})
        return with_capacity({"Responses": []}, _consumed(request, units, "Write"))

    token = client_token_of(request, tables.clock.now_ms(), "TransactStatements")
    try:
        return answer(await tables.transact_prepared((writes, shows, token), adapted(call.completion, answer)))
    except Cancelled as cancelled:
        raise cancellation(call, cancelled) from None
