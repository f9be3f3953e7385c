"""Requests of CreateTable and the index updates of UpdateTable, checked and turned into definitions. No I/O.

Source: API reference, CreateTable, UpdateTable; texts observed.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from statewright.errors import ApiError
from statewright.payload import Json
from statewright.tables.definitions import (
    ACTIVE,
    CREATING,
    PAY_PER_REQUEST,
    PROVISIONED,
    Definition,
    Index,
    Throughput,
    Warm,
)
from statewright.tables.values import invalid
from statewright.tags import tags_by_key

MOST_GLOBAL: Final = 20
MOST_LOCAL: Final = 5
MOST_INCLUDED: Final = 100
"""Source of all: service quotas, "Secondary indexes per table"."""
MOST_ELEMENTS: Final = 2
"""Elements of the key of a table or local index."""
MOST_OF_KIND: Final = 4
"""HASH elements of the key of a global index, and RANGE elements. Source: developer guide, "Multi-attribute keys"."""
ON_DEMAND_WARM: Final = Warm(12_000, 4_000)
"""The warm throughput of a new table or index that is billed by request. Source: observed."""

NextSpace = Callable[[], Awaitable[int]]

_NAME: Final = re.compile(r"[a-zA-Z0-9_.\-]{3,255}")
_INVALID: Final = "One or more parameter values were invalid: "


def check_name(name: str) -> None:
    """Refuse a name that no table or index may have. Raises: ApiError."""
    if _NAME.fullmatch(name) is None:
        raise invalid(
            "Invalid table/index name.  Table/index names must be between 3 and 255 characters long, and may contain "
            "only the characters a-z, A-Z, 0-9, '_', '-', and '.'"
        )


def view_of(request: Mapping[str, Json]) -> str | None:
    """The view type of the stream that a request enables; `None` if it enables none. Raises: ApiError."""
    given = request.get("StreamSpecification") or {}
    view: str | None = given.get("StreamViewType")
    if given.get("StreamEnabled") and not view:
        raise invalid(f"{_INVALID}StreamSpecification with StreamEnabled true must have a StreamViewType")
    if view and not given.get("StreamEnabled"):
        raise invalid(f"{_INVALID}StreamSpecification with StreamEnabled false must not have a StreamViewType")
    return view


async def definition_of_new(
    request: Mapping[str, Json], table_id: str, now_ms: int, next_space: NextSpace
) -> Definition:
    """The table that CreateTable asks for. Raises: ApiError."""
    view_of(request)
    name = request["TableName"]
    check_name(name)
    for member in ("AttributeDefinitions", "KeySchema"):
        # Optional in the model, for tables that replicate one of another Region.
        if request.get(member) is None:
            place = member[0].lower() + member[1:]
            raise invalid(
                f"1 validation error detected: Value null at '{place}' failed to satisfy constraint: "
                "Member must not be null"
            )
    _check_elements(request["KeySchema"], "keySchema")
    for number, given in enumerate(request.get("LocalSecondaryIndexes") or (), start=1):
        _check_elements(given["KeySchema"], f"localSecondaryIndexes.{number}.member.keySchema")
    types = attribute_types(request["AttributeDefinitions"])
    key = key_schema(request["KeySchema"])
    billing = request.get("BillingMode", PROVISIONED)
    throughput = throughput_of(request.get("ProvisionedThroughput"), billing)
    warm = warm_of(request.get("WarmThroughput"), billing, throughput)
    _check_defined(_names(key), types)
    local = request.get("LocalSecondaryIndexes") or []
    shared = request.get("GlobalSecondaryIndexes") or []
    _check_lists(request)
    indexes = [
        *(_local_index(given, key, types) for given in local),
        *(global_index(given, types, billing) for given in shared),
    ]
    _check_names(indexes)
    used = {*_names(key), *(name for index in indexes for name in index.keys)}
    if used != set(types):
        raise invalid(
            f"{_INVALID}Number of attributes in KeySchema does not exactly match number of attributes defined in "
            "AttributeDefinitions"
        )
    return Definition(
        name,
        table_id,
        await next_space(),
        now_ms,
        key[0],
        key[1],
        types,
        tuple([replace(index, space=await next_space()) for index in indexes]),
        billing,
        now_ms if billing == PAY_PER_REQUEST else None,
        throughput,
        is_protected=bool(request.get("DeletionProtectionEnabled")),
        storage_class=request.get("TableClass"),
        encryption=request.get("SSESpecification"),
        warm=warm,
        tags=tags_by_key(request.get("Tags")),
    )


def attribute_types(given: Iterable[Json]) -> dict[str, str]:
    """Types of attributes by name. Raises: ApiError for one that is defined twice."""
    types: dict[str, str] = {}
    for one in given:
        if one["AttributeName"] in types:
            raise invalid(f"{_INVALID}Duplicate AttributeName in AttributeDefinitions: {one['AttributeName']}")
        types[one["AttributeName"]] = one["AttributeType"]
    return types


def key_schema(given: Sequence[Json]) -> tuple[str, str | None]:
    """The hash and range attribute. Raises: ApiError."""
    if not given or given[0]["KeyType"] != "HASH":
        raise invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if len(given) > 1 and given[1]["KeyType"] != "RANGE":
        raise invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
    if len(given) > 1 and given[0]["AttributeName"] == given[1]["AttributeName"]:
        raise invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
    return given[0]["AttributeName"], given[1]["AttributeName"] if len(given) > 1 else None


def _names(key: tuple[str, str | None]) -> tuple[str, ...]:
    return (key[0],) if key[1] is None else (key[0], key[1])


def _check_elements(given: Sequence[Json], place: str) -> None:
    if len(given) > MOST_ELEMENTS:
        shown = ", ".join(
            f"KeySchemaElement(attributeName={one['AttributeName']}, keyType={one['KeyType']})" for one in given
        )
        raise invalid(
            f"1 validation error detected: Value '[{shown}]' at '{place}' failed to satisfy constraint: "
            f"Member must have length less than or equal to {MOST_ELEMENTS}"
        )


def _global_key(given: Sequence[Json], index: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The attributes of the partition key and of the sort key of a global index. Raises: ApiError."""
    if len(given) <= MOST_ELEMENTS and [one["KeyType"] for one in given] != ["HASH", "HASH"]:
        first, second = key_schema(given)
        return (first,), () if second is None else (second,)
    if given[0]["KeyType"] != "HASH":
        raise invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    kinds = [one["KeyType"] for one in given]
    if kinds != sorted(kinds):
        raise invalid(
            f"{_INVALID}Index KeySchema must have its HASH elements before its RANGE elements for index: {index}"
        )
    names = [one["AttributeName"] for one in given]
    if len(set(names)) < len(names):
        raise invalid(f"{_INVALID}Index KeySchema must not have an attribute twice for index: {index}")
    many = kinds.count("HASH")
    if max(many, len(kinds) - many) > MOST_OF_KIND:
        raise invalid(
            f"{_INVALID}Index KeySchema must have at most {MOST_OF_KIND} HASH and {MOST_OF_KIND} RANGE elements "
            f"for index: {index}"
        )
    return tuple(names[:many]), tuple(names[many:])


def warm_of(given: Json, billing: str, throughput: Throughput, index: str | None = None) -> Warm | None:
    """The requested warm throughput, `None` if there is none. Raises: ApiError if it is below what a new table has."""
    if given is None:
        return None
    by_request = billing == PAY_PER_REQUEST
    least = ON_DEMAND_WARM if by_request else Warm(throughput.read, throughput.write)
    wanted = Warm(given.get("ReadUnitsPerSecond", least.read), given.get("WriteUnitsPerSecond", least.write))
    where = "table" if index is None else f"index {index}"
    for name, more, less in (("Read", wanted.read, least.read), ("Write", wanted.write, least.write)):
        if more < less:
            raise invalid(
                f"{_INVALID}Requested {name}UnitsPerSecond for WarmThroughput for {where} is lower than initial "
                f"throughput for {'OnDemand' if by_request else 'Provisioned'}"
            )
    return wanted


def throughput_of(given: Json, billing: str, index: str | None = None) -> Throughput:
    """The requested capacity. Raises: ApiError if it contradicts the billing mode."""
    where = f" for index: {index}" if index is not None else ""
    if billing == PAY_PER_REQUEST:
        if given is not None:
            raise invalid(
                f"{_INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
                "PAY_PER_REQUEST"
            )
        return Throughput()
    if given is None:
        if index is not None:
            raise invalid(f"{_INVALID}ProvisionedThroughput must be specified{where}")
        raise invalid(
            f"{_INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
        )
    return Throughput(given["ReadCapacityUnits"], given["WriteCapacityUnits"])


def _check_lists(request: Mapping[str, Json]) -> None:
    for member, words, most in (
        ("LocalSecondaryIndexes", "LocalSecondaryIndex", MOST_LOCAL),
        ("GlobalSecondaryIndexes", "GlobalSecondaryIndex", MOST_GLOBAL),
    ):
        given = request.get(member)
        if given is not None and not given:
            raise invalid(f"{_INVALID}List of {member} is empty")
        if given and len(given) > most:
            raise invalid(f"{_INVALID}{words} count exceeds the per-table limit of {most}")


def _local_index(given: Json, key: tuple[str, str | None], types: Mapping[str, str]) -> Index:
    name = given["IndexName"]
    check_name(name)
    if key[1] is None:
        raise invalid(
            f"{_INVALID}Table KeySchema does not have a range key, which is required when specifying a "
            "LocalSecondaryIndex"
        )
    first, second = key_schema(given["KeySchema"])
    _check_defined(_names((first, second)), types)
    if second is None:
        raise invalid(f"{_INVALID}Index KeySchema does not have a range key for index: {name}")
    if first != key[0]:
        raise invalid(
            f"{_INVALID}Index KeySchema does not have the same leading hash key as table KeySchema for index: {name}. "
            f"index hash key: {first}, table hash key: {key[0]}"
        )
    return Index(name, 0, (first,), (second,), False, *_projection(given))


def global_index(given: Json, types: Mapping[str, str], billing: str, *, is_created_later: bool = False) -> Index:
    """The requested global secondary index, without its space. Raises: ApiError."""
    name = given["IndexName"]
    check_name(name)
    hashes, ranges = _global_key(given["KeySchema"], name)
    _check_defined(hashes + ranges, types)
    throughput = throughput_of(given.get("ProvisionedThroughput"), billing, name)
    return Index(
        name,
        0,
        hashes,
        ranges,
        True,
        *_projection(given),
        throughput,
        CREATING if is_created_later else ACTIVE,
        is_created_later,
        warm_of(given.get("WarmThroughput"), billing, throughput, name),
    )


def _projection(given: Json) -> tuple[str, tuple[str, ...]]:
    projection = given.get("Projection") or {}
    kind, included = projection.get("ProjectionType"), projection.get("NonKeyAttributes")
    if kind is None:
        raise invalid(f"{_INVALID}Unknown ProjectionType: null")
    if kind == "INCLUDE" and not included:
        raise invalid(f"{_INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    if kind != "INCLUDE" and included is not None:
        raise invalid(f"{_INVALID}ProjectionType is {kind}, but NonKeyAttributes is specified")
    if included and len(included) > MOST_INCLUDED:
        raise invalid(f"{_INVALID}Number of NonKeyAttributes exceeds the limit of {MOST_INCLUDED}")
    return kind, tuple(included or ())


def _check_defined(names: Sequence[str], types: Mapping[str, str]) -> None:
    if not set(names) <= set(types):
        raise invalid(
            f"{_INVALID}Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: [{', '.join(names)}], AttributeDefinitions: [{', '.join(types)}]"
        )


def _check_names(indexes: Sequence[Index]) -> None:
    names = [index.name for index in indexes]
    for name in names:
        if names.count(name) > 1:
            raise invalid(f"{_INVALID}Duplicate index name: {name}")


def in_use(name: str) -> ApiError:
    """The error for a table that exists already."""
    return ApiError("ResourceInUseException", f"Table already exists: {name}")
