"""EventBridge Pipes: from queues to state machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.dynamodb.service import build_tables
from statewright.api.service import APART, REST, Service
from statewright.api.sqs.service import build_queues

if TYPE_CHECKING:
    from statewright.events.pipes.pipes import Pipes

SERVICE: Final = Service(
    name="pipes",
    title="EventBridge Pipes",
    document="events.md",
    package=__package__,
    regions=APART,
    operations=("pipes",),
    protocols=(REST,),
    sdk_names=("pipes",),
)


def build_pipes(make: Building) -> Pipes:
    """Build the pipes."""
    from statewright.events.pipes.pipes import Pipes

    ground = make.ground
    streams = make(build_tables).streams
    return Pipes(ground.store, make(build_queues), streams, ground.deliveries.calls, ground.clock, ground.config)
