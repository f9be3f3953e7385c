"""UpdateTable: changes billing, throughput, protection, class, encryption, and one global index at a time.

Source: API reference, UpdateTable; texts observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.tables.creating import attribute_types, global_index, throughput_of, view_of, warm_of
from statewright.tables.definitions import ACTIVE, PAY_PER_REQUEST, PROVISIONED, Definition, Index, Throughput
from statewright.tables.table import Table
from statewright.tables.tables import Tables
from statewright.tables.values import invalid

_INVALID: Final = "One or more parameter values were invalid: "
_NOT_HERE: Final = ("ReplicaUpdates", "MultiRegionConsistency", "GlobalTableWitnessUpdates", "VectorIndexUpdates")
_CHANGES: Final = (
    "ProvisionedThroughput",
    "BillingMode",
    "StreamSpecification",
    "GlobalSecondaryIndexUpdates",
    "SSESpecification",
    "TableClass",
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "WarmThroughput",
)


async def alter(tables: Tables, table: Table, request: Mapping[str, Json]) -> None:
    """Change a table as UpdateTable asks. Raises: ApiError."""
    for name in _NOT_HERE:
        if request.get(name) is not None:
            raise invalid(f"{_INVALID}Statewright has one Region and does not support {name}")
    if all(request.get(name) is None for name in _CHANGES):
        raise invalid(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or "
            "SSESpecification or ReplicaUpdates is required"
        )
    view = view_of(request)
    specified = request.get("StreamSpecification")
    updates = request.get("GlobalSecondaryIndexUpdates") or []
    if any(len(update) != 1 for update in updates):
        raise invalid(f"{_INVALID}Each of GlobalSecondaryIndexUpdates must have one of Create, Update and Delete")
    kinds = [next(iter(update)) for update in updates]
    if sum(kind in ("Create", "Delete") for kind in kinds) > 1:
        raise ApiError(
            "LimitExceededException",
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        )
    # Checked before anything is changed.
    space = await tables.catalogue.next_space() if "Create" in kinds else 0
    now_ms = tables.clock.now_ms()

    def change(definition: Definition) -> Definition:
        changed = _with_settings(definition, request, now_ms)
        for update in updates:
            ((kind, members),) = update.items()
            changed = _UPDATES[kind](changed, members, request, space, now_ms)
        return changed

    gone = set(table.definition.spaces) - set(change(table.definition).spaces)
    if specified is not None:
        await (tables.catalogue.open_stream(table, view) if view else tables.catalogue.close_stream(table))
    await tables.catalogue.replace(table, change, sorted(gone))
    for kind, update in zip(kinds, updates, strict=True):
        if kind == "Create":
            tables.catalogue.begin_filling(table, update["Create"]["IndexName"])


def _with_settings(definition: Definition, request: Mapping[str, Json], now_ms: int) -> Definition:
    billing = request.get("BillingMode", definition.billing)
    given = request.get("ProvisionedThroughput")
    members: JsonObject = {"billing": billing}
    if billing == PAY_PER_REQUEST:
        throughput_of(given, billing)
        if definition.billing != billing:
            members |= {"on_demand_ms": now_ms, "throughput": Throughput()}
    elif given is not None or definition.billing != PROVISIONED:
        members["throughput"] = _changed(definition.throughput, throughput_of(given, billing), now_ms)
    if given is not None and definition.billing == billing and _is_same(definition.throughput, given):
        raise invalid(
            "The provisioned throughput for the table will not change. The requested value equals the current value. "
            f"Current ReadCapacityUnits provisioned for the table: {definition.throughput.read}. "
            f"Requested ReadCapacityUnits: {given['ReadCapacityUnits']}. "
            f"Current WriteCapacityUnits provisioned for the table: {definition.throughput.write}. "
            f"Requested WriteCapacityUnits: {given['WriteCapacityUnits']}. "
            "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
        )
    if request.get("WarmThroughput") is not None:
        members["warm"] = warm_of(request["WarmThroughput"], billing, members.get("throughput", definition.throughput))
    if request.get("DeletionProtectionEnabled") is not None:
        members["is_protected"] = request["DeletionProtectionEnabled"]
    if request.get("TableClass") is not None:
        members["storage_class"] = request["TableClass"]
    if request.get("SSESpecification") is not None:
        members["encryption"] = request["SSESpecification"]
    return replace(definition, **members)


def _is_same(throughput: Throughput, given: Json) -> bool:
    return (throughput.read, throughput.write) == (given["ReadCapacityUnits"], given["WriteCapacityUnits"])


def _changed(before: Throughput, after: Throughput, now_ms: int) -> Throughput:
    is_more = after.read > before.read or after.write > before.write
    is_less = after.read < before.read or after.write < before.write
    return replace(
        after,
        increased_ms=now_ms if is_more else before.increased_ms,
        decreased_ms=now_ms if is_less else before.decreased_ms,
        decreases_today=before.decreases_today + is_less,
    )


def _create(definition: Definition, given: Json, request: Mapping[str, Json], space: int, _now_ms: int) -> Definition:
    if definition.index(given["IndexName"]) is not None:
        raise invalid("Attempting to create an index which already exists")
    types = {**definition.types, **attribute_types(request.get("AttributeDefinitions") or ())}
    for name, kind in definition.types.items():
        if types[name] != kind:
            raise invalid(f"{_INVALID}Attempted to redefine attribute {name}")
    index = global_index(given, types, definition.billing, is_created_later=True)
    used = {*definition.keys, *index.keys, *(name for one in definition.indexes for name in one.keys)}
    kept = {name: kind for name, kind in types.items() if name in used}
    return replace(definition, types=kept, indexes=(*definition.indexes, replace(index, space=space)))


def _update(definition: Definition, given: Json, _request: Mapping[str, Json], _space: int, now_ms: int) -> Definition:
    index = _known(definition, given["IndexName"])
    wanted, changed = given.get("ProvisionedThroughput"), index
    if wanted is not None:
        throughput = throughput_of(wanted, definition.billing, index.name)
        changed = replace(changed, throughput=_changed(index.throughput, throughput, now_ms))
    if given.get("WarmThroughput") is not None:
        warm = warm_of(given["WarmThroughput"], definition.billing, changed.throughput, index.name)
        changed = replace(changed, warm=warm)
    return replace(definition, indexes=tuple(changed if one is index else one for one in definition.indexes))


def _delete(definition: Definition, given: Json, _request: Mapping[str, Json], _space: int, _now_ms: int) -> Definition:
    index = _known(definition, given["IndexName"])
    if index.status != ACTIVE:
        raise ApiError(
            "ResourceInUseException",
            f"Attempting to delete an index that is being created: {index.name}",
        )
    rest = tuple(one for one in definition.indexes if one is not index)
    used = {*definition.keys, *(name for one in rest for name in one.keys)}
    types = {name: kind for name, kind in definition.types.items() if name in used}
    return replace(definition, indexes=rest, types=types)


def _known(definition: Definition, name: str) -> Index:
    index = definition.index(name)
    if index is None or not index.is_global:
        raise ApiError("ResourceNotFoundException", f"Requested resource not found: Index: {name} not found")
    return index


_UPDATES: Final = {"Create": _create, "Update": _update, "Delete": _delete}
