"""Rows of metric filters and subscription filters, and the places up to which groups were read for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.payload import JsonMapping
from statewright.stores.entries import EntryKind


@dataclass(frozen=True, slots=True)
class MetricFilter:
    """A filter that counts events in a metric. `transformations` are as the API has them."""

    group: str
    name: str
    pattern: str
    transformations: Sequence[JsonMapping]
    created_ms: int
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Subscription:
    """A filter whose events go to a function."""

    group: str
    name: str
    pattern: str
    destination: str
    created_ms: int
    role: str | None = None
    distribution: str = "ByLogStream"
    stored: int = 0


@dataclass(frozen=True, slots=True)
class LogPlaces:
    """The places behind the last events of a group that its filters have seen, by lane: inode and offset."""

    group: str
    places: Mapping[str, Sequence[int]] = field(default_factory=dict)
    stored: int = 0


METRIC_FILTER: Final = EntryKind(
    "log-metric-filter",
    MetricFilter,
    # A group's name has no colon.
    lambda one: f"{one.group}:{one.name}",
    parent=lambda one: one.group,
    columns={"group": lambda record: record.parent},
)
SUBSCRIPTION: Final = EntryKind(
    "log-subscription",
    Subscription,
    lambda one: f"{one.group}:{one.name}",
    parent=lambda one: one.group,
    columns={"group": lambda record: record.parent},
)
LOG_PLACES: Final = EntryKind(
    "log-places", LogPlaces, lambda one: one.group, columns={"group": lambda record: record.key}
)
