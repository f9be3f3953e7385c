"""Descriptions of tables and their indexes, as in the answer of DescribeTable."""

from __future__ import annotations

from collections.abc import Mapping

from statewright.payload import Json, JsonObject
from statewright.stores.table_protocol import Counted
from statewright.tables.definitions import ACTIVE, PAY_PER_REQUEST, Index, Throughput
from statewright.tables.table import Table

_NOTHING = Counted(0, 0)


def table_description(table: Table, counts: Mapping[int, Counted], status: str = ACTIVE) -> JsonObject:
    """The description of a table; `counts` are items and bytes by space."""
    definition = table.definition
    counted = counts.get(definition.space, _NOTHING)
    found: JsonObject = {
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in definition.types.items()
        ],
        "TableName": definition.name,
        "KeySchema": key_schema(definition.hash, definition.range),
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
    if definition.encryption is not None and definition.encryption.get("Enabled"):
        found["SSEDescription"] = {"Status": "ENABLED", "SSEType": definition.encryption.get("SSEType", "KMS")}
    return found


def key_schema(hash_name: str, range_name: str | None) -> list[Json]:
    """The description of a key."""
    found = [{"AttributeName": hash_name, "KeyType": "HASH"}]
    return [*found, {"AttributeName": range_name, "KeyType": "RANGE"}] if range_name is not None else found


def _index(table: Table, index: Index, counts: Mapping[int, Counted], status: str) -> JsonObject:
    counted = counts.get(index.space, _NOTHING)
    projection: JsonObject = {"ProjectionType": index.projection}
    if index.included:
        projection["NonKeyAttributes"] = list(index.included)
    found: JsonObject = {
        "IndexName": index.name,
        "KeySchema": key_schema(index.hash, index.range),
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
