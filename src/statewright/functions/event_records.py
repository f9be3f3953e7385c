"""Event invocations as the catalogue keeps them, with what is left to deliver about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from statewright.stores.entries import EntryKind, Form


@dataclass(frozen=True, slots=True)
class Delivery:
    """One thing to deliver: to whom, what, and with which attributes, as (type, value)."""

    arn: str
    body: bytes
    attributes: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """An event on its way. `deliveries` are what is left to hand out once the function is through."""

    id: str
    function: str
    qualifier: str | None
    accepted_ms: int
    due_ms: int
    attempts: int = 0
    context: dict[str, Any] | None = None
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
"""Stand in the order in which they are due; the payload follows the JSON as it is."""
