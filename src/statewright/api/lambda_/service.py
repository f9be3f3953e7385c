"""Lambda: functions, layers and event source mappings."""

from __future__ import annotations

from typing import Final

from statewright.api.service import REST, Service

SERVICE: Final = Service(
    name="lambda",
    title="Lambda",
    document="functions.md",
    package=__package__,
    operations=(
        "functions",
        "versions",
        "settings",
        "invocations",
        "event_sources",
        "absent",
    ),
    protocols=(REST,),
    body_bytes=72 << 20,
    task_names=("lambda",),
    sdk_names=("lambda",),
    deployed_by=("statewright.projects.deploy.functions", "statewright.projects.deploy.function_parts"),
)
