"""Records of topics and subscriptions in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.stores.entries import EntryKind

FIFO_SUFFIX: Final = ".fifo"


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic. `attributes` has those set by a request; `number` identifies it even after its name is reused."""

    name: str
    number: int
    created_ms: int
    attributes: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    deleted: int = 0
    """How many of its subscriptions were deleted."""
    stored: int = 0

    @property
    def fifo(self) -> bool:
        """True if it is a FIFO topic, which keeps the order of its messages."""
        return self.name.endswith(FIFO_SUFFIX)


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription of a topic, by the topic's name. `token` confirms it, and it `is_pending` until then.

    `needs_signature` says that only a signed call may end it, `was_signed` that a signed one confirmed it.
    """

    id: str
    topic: str
    number: int
    protocol: str
    endpoint: str
    created_ms: int
    attributes: Mapping[str, str] = field(default_factory=dict)
    token: str | None = None
    is_pending: bool = False
    was_signed: bool = False
    needs_signature: bool = False
    stored: int = 0

    @property
    def key(self) -> str:
        """Its key in the catalogue."""
        return f"{self.topic}:{self.id}"


TOPIC: Final = EntryKind("topic", Topic, lambda topic: topic.name)
SUBSCRIPTION: Final = EntryKind(
    "topic-subscription", Subscription, lambda subscription: subscription.key, sort=lambda one: one.number
)
