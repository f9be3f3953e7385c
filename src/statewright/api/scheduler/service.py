"""EventBridge Scheduler: schedules and their groups."""

from __future__ import annotations

from typing import Final

from statewright.api.service import REST, Service

SERVICE: Final = Service(
    name="scheduler",
    title="EventBridge Scheduler",
    document="schedules.md",
    package=__package__,
    operations=(
        "schedules",
        "groups",
    ),
    protocols=(REST,),
    sdk_names=("scheduler",),
    deployed_by=("statewright.projects.deploy.schedules",),
)
