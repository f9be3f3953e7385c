"""DynamoDB: tables and their items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.s3.service import build_objects
from statewright.api.service import APART, JSON, Service

if TYPE_CHECKING:
    from statewright.tables.tables import Tables

SERVICE: Final = Service(
    name="dynamodb",
    title="DynamoDB",
    document="tables.md",
    package=__package__,
    regions=APART,
    operations=(
        "tables",
        "items",
        "queries",
        "batches",
        "transactions",
        "statements",
        "settings",
        "exports",
        "absent",
    ),
    protocols=(JSON,),
    wires=f"{__package__}.wires",
    target="DynamoDB_20120810",
    body_bytes=20 << 20,
    task_names=("dynamodb",),
    sdk_names=("dynamodb",),
)


def build_tables(make: Building) -> Tables:
    """Build the tables, which export into buckets."""
    from statewright.tables.tables import Tables

    ground, objects = make.ground, make(build_objects)

    async def put(bucket: str, key: str, content: bytes) -> str:
        return (await objects.put(bucket, key, content)).etag

    return Tables(ground.store, ground.clock, ground.config, put)
