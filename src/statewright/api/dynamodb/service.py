"""DynamoDB: tables and their items."""

from __future__ import annotations

from typing import Final

from statewright.api.service import JSON, Service

SERVICE: Final = Service(
    name="dynamodb",
    title="DynamoDB",
    document="tables.md",
    package=__package__,
    operations=(
        "catalogue",
        "items",
        "queries",
        "batches",
        "transactions",
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
    deployed_by=("statewright.projects.deploy.tables",),
)
