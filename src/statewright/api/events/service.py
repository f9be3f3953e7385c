"""EventBridge: event buses and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.service import APART, JSON, Service

if TYPE_CHECKING:
    from statewright.events.archives.archives import Archives
    from statewright.events.buses import Buses

SERVICE: Final = Service(
    name="events",
    title="EventBridge",
    document="events.md",
    package=__package__,
    regions=APART,
    operations=(
        "buses",
        "rules",
        "connections",
        "archives",
    ),
    protocols=(JSON,),
    json_version="1.1",
    target="AWSEvents",
    task_names=("events",),
    sdk_names=("cloudwatchevents", "eventbridge"),
)


def build_buses(make: Building) -> Buses:
    """Build the event buses, which receive the status changes of executions."""
    from statewright.events.buses import Buses

    ground = make.ground
    buses = Buses(ground.store, ground.clock, ground.config, ground.deliveries, ground.metrics)
    ground.engine.subscribe(buses.status_changed)
    return buses


def build_archives(make: Building) -> Archives:
    """Build the archives, whose events are those of the buses."""
    from statewright.events.archives.archives import Archives

    ground = make.ground
    return Archives(ground.store.catalogue, ground.clock, ground.config, make(build_buses), ground.deliveries)
