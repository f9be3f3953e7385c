"""Entries of queues in the catalogue, and marks for the rows of queues that were purged or deleted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from statewright.payload import JsonObject
from statewright.stores.entries import EntryKind, Form, MarkKind


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A queue as the catalogue keeps it.

    `number` never changes. Its messages are stored under `rows`, another number, which a purge replaces: messages
    under the old one are gone immediately, and deleted later. `attributes` are as `attributes.shown` writes them.
    `deduplication_scope` is the attribute's value at creation. It decides for good which messages are duplicates; a
    later value is only shown (observed).
    """

    name: str
    number: int
    rows: int
    created_ms: int
    modified_ms: int
    purged_ms: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    deduplication_scope: str = "queue"
    stored: int = 0


def _with_scope(members: JsonObject) -> JsonObject:
    # Programs that wrote format 1 judged by the attribute of the moment.
    return {**members, "deduplication_scope": members.get("attributes", {}).get("DeduplicationScope", "queue")}


QUEUE: Final = EntryKind("queue", QueueEntry, lambda queue: queue.name, form=Form(2, upgrades={1: _with_scope}))
REMAINS: Final = MarkKind("queue-remains")
"""Rows to delete; the key is their number."""
