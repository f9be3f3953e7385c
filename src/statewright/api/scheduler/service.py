"""EventBridge Scheduler: schedules and their groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.service import APART, REST, Service

if TYPE_CHECKING:
    from statewright.events.scheduler import Scheduler

SERVICE: Final = Service(
    name="scheduler",
    title="EventBridge Scheduler",
    document="schedules.md",
    package=__package__,
    regions=APART,
    operations=(
        "schedules",
        "groups",
    ),
    protocols=(REST,),
    sdk_names=("scheduler",),
)


def build_scheduler(make: Building) -> Scheduler:
    """Build the schedules."""
    from statewright.events.scheduler import Scheduler

    ground = make.ground
    return Scheduler(ground.store, ground.clock, ground.config, ground.deliveries)
