"""SNS: topics, subscriptions and what is published to them."""

from __future__ import annotations

from typing import Final

from statewright.api.service import QUERY, Service

SERVICE: Final = Service(
    name="sns",
    title="SNS",
    document="topics.md",
    package=__package__,
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
    deployed_by=("statewright.projects.deploy.topics",),
)
