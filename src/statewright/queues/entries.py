"""A queue's entry in the catalogue, and what is left of queues that were purged or deleted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from statewright.stores.entries import EntryKind, MarkKind


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A queue as the catalogue keeps it.

    `number` names it for good. Its messages stand under `rows`, another number, which a purge replaces: what stood
    under the old one is gone at once and cleared away later. `attributes` are as `attributes.shown` writes them.
    """

    name: str
    number: int
    rows: int
    created_ms: int
    modified_ms: int
    purged_ms: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    stored: int = 0


QUEUE: Final = EntryKind("queue", QueueEntry, lambda queue: queue.name)
REMAINS: Final = MarkKind("queue-remains")
"""Rows that are to be cleared away: the key is their number."""
