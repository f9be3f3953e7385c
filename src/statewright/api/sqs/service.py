"""SQS: queues and their messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.service import APART, JSON, QUERY, Service

if TYPE_CHECKING:
    from statewright.queues.queues import Queues

SERVICE: Final = Service(
    name="sqs",
    title="SQS",
    document="queues.md",
    package=__package__,
    regions=APART,
    operations=(
        "requests",
        "queues",
        "tags",
        "permissions",
        "sending",
        "receiving",
        "move_tasks",
    ),
    protocols=(JSON, QUERY),
    wires=f"{__package__}.wires",
    target="AmazonSQS",
    body_bytes=8 << 20,
    # Source: service models in the newer modelling language.
    statuses={
        "InvalidSecurity": 403,
        "OverLimit": 403,
        "PurgeQueueInProgress": 403,
        "ReceiptHandleIsInvalid": 404,
        "RequestThrottled": 403,
        "ResourceNotFoundException": 404,
    },
    task_names=("sqs",),
    sdk_names=("sqs",),
)


def build_queues(make: Building) -> Queues:
    """Build the queues."""
    from statewright.queues.queues import Queues

    ground = make.ground
    return Queues(ground.store, ground.clock, ground.config, ground.metrics)
