"""Stored Event invocations, and the reports still to deliver about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from statewright.payload import JsonObject
from statewright.stores.entries import EntryKind, Form


@dataclass(frozen=True, slots=True)
class Delivery:
    """A report to deliver: target, body, and attributes as (type, value)."""

    arn: str
    body: bytes
    attributes: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """An Event invocation. `deliveries` are the reports still to deliver once the function has finished."""

    id: str
    function: str
    qualifier: str | None
    accepted_ms: int
    due_ms: int
    attempts: int = 0
    context: JsonObject | None = None
    trace: str | None = None
    deliveries: tuple[Delivery, ...] | None = None
    delivery_attempts: int = 0
    stored: int = 0
    payload: bytes = field(default=b"", repr=False)


EVENT: Final = EntryKind(
    "functionEvent",
    Event,
    lambda event: event.id,
    sort=lambda event: event.due_ms,
    columns={"id": lambda record: record.key, "due_ms": lambda record: record.sort},
    form=Form(tail="payload"),
)
"""Sorted by due time; the payload follows the JSON unchanged."""
