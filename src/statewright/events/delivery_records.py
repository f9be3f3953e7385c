"""Records of deliveries, and the ids of invocations."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright import chance
from statewright.engine.catalogue_timers import timer_key
from statewright.payload import JsonMapping
from statewright.stores.entries import EntryKind


@dataclass(frozen=True, slots=True)
class Delivery:
    """One invocation of a target. `target` has the members that a schedule or rule gives it.

    Topics add others: `Http` has the headers of a POST to `Arn`, `Phases` a policy of `retry_phases`, and
    `IsSubscription` says that dead letters have no attributes. Rules add `InvalidInput`, the reason why an event makes
    no input.

    `event_ms` is the instant from which its age counts. `origin` has attributes of a dead letter, `dead_body` is its
    body, `None` for the parameters of the call. `counts_attempts` says that the payload has the keyword of the
    attempt's number.
    """

    number: int
    target: JsonMapping
    payload: str
    event_ms: int
    due_ms: int
    origin: Mapping[str, str] = field(default_factory=dict)
    dead_body: str | None = None
    counts_attempts: bool = False
    attempts: int = 0
    dead: Mapping[str, str] | None = None
    """The other attributes of the dead letter, once the delivery is given up."""
    stored: int = 0

    @property
    def call_id(self) -> str:
        """The id of the invocation."""
        return call_id_of(self.number)


def _kind(name: str) -> EntryKind[Delivery]:
    return EntryKind(
        name,
        Delivery,
        lambda delivery: timer_key(delivery.number),
        sort=lambda delivery: delivery.due_ms,
        columns={"number": lambda record: int(record.key), "due_ms": lambda record: record.sort},
    )


DELIVERY: Final = _kind("delivery")
POST: Final = _kind("delivery-post")
"""Deliveries to HTTP endpoints, which may be slow."""


def call_id_of(number: int) -> str:
    """The id of an invocation, in the form of a UUID."""
    return chance.uuid_of(hashlib.blake2b(f"delivery {number}".encode(), digest_size=16).digest())


def execution_id(number: int) -> str:
    """Sixteen hexadecimal digits that name an invocation."""
    return hashlib.blake2b(f"execution {number}".encode(), digest_size=8).hexdigest()
