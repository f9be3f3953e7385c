"""Items and consumed capacity as answers show them.

The text of a stored item goes into an answer unparsed. Calls from inside the process have no wire that would write the
text, so they receive values, and bytes instead of base64.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Final

from statewright.api import shapes
from statewright.api.operations import Call
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject, embedded
from statewright.stores.table_protocol import StoredItem
from statewright.tables.table import Table, parse
from statewright.tables.values import Item
from statewright.tables.writes import ConditionFailed

# Checked by `tables.values`, with the service's own texts and order.
shapes.keep_as_is("dynamodb", frozenset({"AttributeValue"}))

_HAS_BINARY: Final = ('"B":', '"BS":')


def shown_item(call: Call, item: StoredItem | Item) -> Json:
    """An item in an answer."""
    if isinstance(item, StoredItem):
        if call.headers:
            return embedded(item.body)
        if not any(mark in item.body for mark in _HAS_BINARY):
            return parse(item)
        item = parse(item)
    return item if call.headers else {name: _with_bytes(value) for name, value in item.items()}


def condition_failure(call: Call, request: Json, failed: ConditionFailed) -> ApiError:
    """The error for a condition that failed, with the item if the request asks for it."""
    if failed.found is None or request.get("ReturnValuesOnConditionCheckFailure") != "ALL_OLD":
        return failed
    return ApiError(failed.code, failed.message, details={"Item": shown_item(call, failed.found)})


def _with_bytes(value: JsonObject) -> JsonObject:
    ((kind, content),) = value.items()
    if kind == "B":
        return {"B": b64decode(content)}
    if kind == "BS":
        return {"BS": [b64decode(text) for text in content]}
    if kind == "L":
        return {"L": [_with_bytes(element) for element in content]}
    if kind == "M":
        return {"M": {name: _with_bytes(member) for name, member in content.items()}}
    return value


def capacity(
    wanted: str | None, table: Table, units: Mapping[str | None, float], *, kind: str | None = None
) -> JsonObject | None:
    """`ConsumedCapacity`, if requested: units of the table and of its indexes by name.

    With `kind` (`Read` or `Write`) the units appear under a second name, as in transactions.
    """
    if wanted in (None, "NONE"):
        return None
    total = float(sum(units.values()))
    found: JsonObject = {"TableName": table.definition.name, "CapacityUnits": total}
    if kind is not None:
        found[f"{kind}CapacityUnits"] = total
    if wanted != "INDEXES":
        return found

    def one(amount: float) -> JsonObject:
        extra = {f"{kind}CapacityUnits": float(amount)} if kind is not None else {}
        return {"CapacityUnits": float(amount), **extra}

    found["Table"] = one(units.get(None, 0))
    for index in table.definition.indexes:
        if index.name in units:
            member = "GlobalSecondaryIndexes" if index.is_global else "LocalSecondaryIndexes"
            found.setdefault(member, {})[index.name] = one(units[index.name])
    return found


def with_capacity(answer: JsonObject, consumed: Json) -> JsonObject:
    """Add `ConsumedCapacity` to an answer, if there is any."""
    if consumed:
        answer["ConsumedCapacity"] = consumed
    return answer
