"""Topics and subscriptions as the catalogue keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from statewright.stores.protocol import Record

TOPIC: Final = "topic"
SUBSCRIPTION: Final = "topic-subscription"
FIFO_SUFFIX: Final = ".fifo"


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic. `attributes` are those that somebody set; `number` names it for good, also after its name is reused."""

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
        """Whether it keeps the order of its messages."""
        return self.name.endswith(FIFO_SUFFIX)

    def record(self) -> Record:
        """The entry to write."""
        return Record(TOPIC, self.name, "", 0, self.stored + 1, orjson.dumps(_without(self)))


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription of a topic, by the topic's name. `token` confirms it; `is_pending` until somebody has.

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

    def record(self) -> Record:
        """The entry to write."""
        return Record(SUBSCRIPTION, self.key, "", self.number, self.stored + 1, orjson.dumps(_without(self)))


def topic_of(record: Record) -> Topic:
    """Read a topic back."""
    return Topic(**orjson.loads(record.body), stored=record.version)


def subscription_of(record: Record) -> Subscription:
    """Read a subscription back."""
    return Subscription(**orjson.loads(record.body), stored=record.version)


def _without(entry: Topic | Subscription) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in entry.__dataclass_fields__ if name != "stored"}
