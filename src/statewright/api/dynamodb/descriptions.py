"""Descriptions of tables and their indexes, as in the answer of DescribeTable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from statewright import chance
from statewright.payload import Json, JsonMapping, JsonObject
from statewright.stores.table_protocol import Counted
from statewright.tables.creating import ON_DEMAND_WARM
from statewright.tables.definitions import ACTIVE, PAY_PER_REQUEST, Definition, Index, Throughput, Warm
from statewright.tables.table import Table

_NOTHING = Counted(0, 0)
_DEFAULT_KEY: Final = "alias/aws/dynamodb"
"""The key that encrypts if a request names none."""


def table_description(table: Table, counts: Mapping[int, Counted], status: str = ACTIVE) -> JsonObject:
    """The description of a table; `counts` are items and bytes by space."""
    definition = table.definition
    counted = counts.get(definition.space, _NOTHING)
    found: JsonObject = {
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in definition.types.items()
        ],
        "TableName": definition.name,
        "KeySchema": key_schema(definition.hashes, definition.ranges),
        "TableStatus": status,
        "CreationDateTime": definition.created_ms,
        "ProvisionedThroughput": _throughput(definition.throughput),
        "TableSizeBytes": counted.bytes,
        "ItemCount": counted.items,
        "TableArn": table.arn,
        "TableId": definition.id,
        "DeletionProtectionEnabled": definition.is_protected,
    }
    if definition.billing == PAY_PER_REQUEST or definition.on_demand_ms is not None:
        found["BillingModeSummary"] = {"BillingMode": definition.billing}
        if definition.on_demand_ms is not None:
            found["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] = definition.on_demand_ms
    local = [_index(table, index, counts, status) for index in definition.indexes if not index.is_global]
    shared = [_index(table, index, counts, status) for index in definition.indexes if index.is_global]
    if local:
        found["LocalSecondaryIndexes"] = local
    if shared:
        found["GlobalSecondaryIndexes"] = shared
    if table.stream is not None:
        found["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": table.stream.entry.view}
    if table.latest_stream is not None:
        found["LatestStreamLabel"] = table.latest_stream.entry.label
        found["LatestStreamArn"] = table.latest_stream.arn
    if definition.storage_class is not None:
        found["TableClassSummary"] = {"TableClass": definition.storage_class}
    if status not in ("CREATING", "UPDATING"):
        found["WarmThroughput"] = _warm(definition.warm, definition, definition.throughput, status)
    elif status == "CREATING" and definition.warm is not None:
        found["WarmThroughput"] = _warm(definition.warm, definition, definition.throughput, "UPDATING")
    if definition.encryption is not None and definition.encryption.get("Enabled"):
        found["SSEDescription"] = encryption_description(table, definition.encryption, "ENABLED")
    return found


def _warm(warm: Warm | None, definition: Definition, throughput: Throughput, status: str) -> JsonObject:
    """The throughput that a table or index serves at once: the requested one, or that of a new one."""
    if warm is None:
        by_request = definition.billing == PAY_PER_REQUEST
        warm = ON_DEMAND_WARM if by_request else Warm(throughput.read, throughput.write)
    return {"ReadUnitsPerSecond": warm.read, "WriteUnitsPerSecond": warm.write, "Status": status}


def encryption_description(table: Table, given: JsonMapping, status: str) -> JsonObject:
    """The description of encryption by a key of KMS; `given` is the request for it."""
    key: str = given.get("KMSMasterKeyId") or _DEFAULT_KEY
    if not key.startswith("arn:"):
        _, partition, _, region, account, _ = table.arn.split(":", 5)
        scope = f"arn:{partition}:kms:{region}:{account}:"
        if key == _DEFAULT_KEY:
            # The key of an account has an id that it keeps.
            key = f"key/{chance.uuid_of_name(scope + key)}"
        key = scope + (key if "/" in key else f"key/{key}")
    return {"Status": status, "SSEType": given.get("SSEType", "KMS"), "KMSMasterKeyArn": key}


def key_schema(hashes: Iterable[str], ranges: Iterable[str]) -> list[Json]:
    """The description of a key."""
    found = [{"AttributeName": name, "KeyType": "HASH"} for name in hashes]
    return found + [{"AttributeName": name, "KeyType": "RANGE"} for name in ranges]


def _index(table: Table, index: Index, counts: Mapping[int, Counted], status: str) -> JsonObject:
    counted = counts.get(index.space, _NOTHING)
    projection: JsonObject = {"ProjectionType": index.projection}
    if index.included:
        projection["NonKeyAttributes"] = list(index.included)
    found: JsonObject = {
        "IndexName": index.name,
        "KeySchema": key_schema(index.hashes, index.ranges),
        "Projection": projection,
        "IndexSizeBytes": counted.bytes,
        "ItemCount": counted.items,
        "IndexArn": f"{table.arn}/index/{index.name}",
    }
    if index.is_global:
        found["IndexStatus"] = status if status in ("CREATING", "DELETING") else index.status
        found["ProvisionedThroughput"] = _throughput(index.throughput)
        if index.is_backfilling:
            found["Backfilling"] = True
        if status not in ("CREATING", "UPDATING"):
            found["WarmThroughput"] = _warm(index.warm, table.definition, index.throughput, index.status)
        elif status == "CREATING" and index.warm is not None:
            found["WarmThroughput"] = _warm(index.warm, table.definition, index.throughput, "UPDATING")
    return found


def _throughput(throughput: Throughput) -> JsonObject:
    found: JsonObject = {
        "NumberOfDecreasesToday": throughput.decreases_today,
        "ReadCapacityUnits": throughput.read,
        "WriteCapacityUnits": throughput.write,
    }
    if throughput.increased_ms is not None:
        found["LastIncreaseDateTime"] = throughput.increased_ms
    if throughput.decreased_ms is not None:
        found["LastDecreaseDateTime"] = throughput.decreased_ms
    return found
