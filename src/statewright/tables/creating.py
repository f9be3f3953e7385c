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
)
from statewright.tables.values import invalid
from statewright.tags import tags_by_key

MOST_GLOBAL: Final = 20
MOST_LOCAL: Final = 5
MOST_INCLUDED: Final = 100
"""Source of all: service quotas, "Secondary indexes per table"."""

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
    types = attribute_types(request["AttributeDefinitions"])
    key = key_schema(request["KeySchema"])
    billing = request.get("BillingMode", PROVISIONED)
    throughput = throughput_of(request.get("ProvisionedThroughput"), billing)
    _check_defined([key], types)
    local = request.get("LocalSecondaryIndexes") or []
    shared = request.get("GlobalSecondaryIndexes") or []
    _check_lists(request)
    indexes = [
        *(_local_index(given, key, types) for given in local),
        *(global_index(given, types, billing) for given in shared),
    ]
    _check_names(indexes)
    used = {name for one in [key, *((index.hash, index.range) for index in indexes)] for name in one if name}
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
    _check_defined([(first, second)], types)
    if second is None:
        raise invalid(f"{_INVALID}Index KeySchema does not have a range key for index: {name}")
    if first != key[0]:
        raise invalid(
            f"{_INVALID}Index KeySchema does not have the same leading hash key as table KeySchema for index: {name}. "
            f"index hash key: {first}, table hash key: {key[0]}"
        )
    return Index(name, 0, first, second, False, *_projection(given))


def global_index(given: Json, types: Mapping[str, str], billing: str, *, is_created_later: bool = False) -> Index:
    """The requested global secondary index, without its space. Raises: ApiError."""
    name = given["IndexName"]
    check_name(name)
    first, second = key_schema(given["KeySchema"])
    _check_defined([(first, second)], types)
    return Index(
        name,
        0,
        first,
        second,
        True,
        *_projection(given),
        throughput_of(given.get("ProvisionedThroughput"), billing, name),
        CREATING if is_created_later else ACTIVE,
        is_created_later,
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


def _check_defined(keys: Iterable[tuple[str, str | None]], types: Mapping[str, str]) -> None:
    for first, second in keys:
        names = [first] if second is None else [first, second]
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
