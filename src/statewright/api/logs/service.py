"""CloudWatch Logs: log groups, streams and their events."""

from __future__ import annotations

from typing import Final

from statewright.api.service import JSON, Service

SERVICE: Final = Service(
    name="logs",
    title="CloudWatch Logs",
    document="small-services.md",
    package=__package__,
    operations=(
        "groups",
        "streams",
    ),
    protocols=(JSON,),
    json_version="1.1",
    target="Logs_20140328",
    body_bytes=8 << 20,
    task_names=("logs",),
    sdk_names=("cloudwatchlogs",),
    deployed_by=("statewright.projects.deploy.small",),
)
