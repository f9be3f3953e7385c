"""Entries of queues in the catalogue, and marks for the rows of queues that were purged or deleted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from statewright.stores.entries import EntryKind, MarkKind


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A queue as the catalogue keeps it.

    `number` never changes. Its messages are stored under `rows`, another number, which a purge replaces: messages
    under the old one are gone immediately, and deleted later. `attributes` are as `attributes.shown` writes them.
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
"""Rows to delete; the key is their number."""
