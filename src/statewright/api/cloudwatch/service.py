"""CloudWatch: metrics, alarms and dashboards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.events.service import build_buses
from statewright.api.service import APART, CBOR, JSON, QUERY, Service

if TYPE_CHECKING:
    from statewright.alarms.alarms import Alarms
    from statewright.metrics.recorder import Recorder
    from statewright.records.dashboards import Dashboards

SERVICE: Final = Service(
    name="monitoring",
    title="CloudWatch",
    document="metrics.md",
    package=__package__,
    regions=APART,
    operations=(
        "metrics",
        "statistics",
        "alarms",
        "alarm_history",
        "dashboards",
    ),
    protocols=(JSON, CBOR, QUERY),
    wires=f"{__package__}.wires",
    target="GraniteServiceVersion20100801",
    version="2010-08-01",
    client="cloudwatch",
    sdk_names=("cloudwatch",),
)


def build_metrics(make: Building) -> Recorder:
    """The recorder of metrics, which every other part uses."""
    return make.ground.metrics


def build_dashboards(make: Building) -> Dashboards:
    """Build the dashboards."""
    from statewright.records.dashboards import Dashboards

    return Dashboards(make.ground.store.catalogue, make.ground.clock)


def build_alarms(make: Building) -> Alarms:
    """Build the alarms, whose actions are deliveries."""
    from statewright.alarms.alarms import Alarms

    ground = make.ground
    return Alarms(
        ground.store.catalogue,
        ground.clock,
        ground.config,
        ground.deliveries,
        ground.metrics,
        make(build_buses).of_service,
    )
