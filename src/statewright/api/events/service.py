"""EventBridge: event buses and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.service import JSON, Service

if TYPE_CHECKING:
    from statewright.events.buses import Buses

SERVICE: Final = Service(
    name="events",
    title="EventBridge",
    document="events.md",
    package=__package__,
    operations=(
        "buses",
        "rules",
        "connections",
    ),
    protocols=(JSON,),
    json_version="1.1",
    target="AWSEvents",
    task_names=("events",),
    sdk_names=("cloudwatchevents", "eventbridge"),
    deployed_by=("statewright.projects.deploy.schedules",),
)


def build_buses(make: Building) -> Buses:
    """Build the event buses, which receive the status changes of executions."""
    from statewright.events.buses import Buses

    ground = make.ground
    buses = Buses(ground.store, ground.clock, ground.config, ground.deliveries, ground.metrics)
    ground.engine.subscribe(buses.status_changed)
    return buses
