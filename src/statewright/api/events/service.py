"""EventBridge: event buses and rules."""

from __future__ import annotations

from typing import Final

from statewright.api.service import JSON, Service

SERVICE: Final = Service(
    name="events",
    title="EventBridge",
    document="events.md",
    package=__package__,
    operations=(
        "buses",
        "rules",
    ),
    protocols=(JSON,),
    json_version="1.1",
    target="AWSEvents",
    task_names=("events",),
    sdk_names=("cloudwatchevents", "eventbridge"),
    deployed_by=("statewright.projects.deploy.schedules",),
)
