"""SNS: topics, subscriptions and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.service import APART, QUERY, Service
from statewright.api.sqs.service import build_queues

if TYPE_CHECKING:
    from statewright.topics.topics import Topics

SERVICE: Final = Service(
    name="sns",
    title="SNS",
    document="topics.md",
    package=__package__,
    regions=APART,
    operations=(
        "topics",
        "subscriptions",
        "publishing",
    ),
    protocols=(QUERY,),
    wires=f"{__package__}.wires",
    version="2010-03-31",
    open_operations=frozenset({"ConfirmSubscription", "Unsubscribe"}),
    task_names=("sns",),
    sdk_names=("sns",),
)


def build_topics(make: Building) -> Topics:
    """Build the topics."""
    from statewright.topics.topics import Topics

    ground, queues = make.ground, make(build_queues)
    return Topics(ground.store, ground.clock, ground.config, queues, ground.posts, ground.endpoint, ground.metrics)
