"""A queue's entry in the catalogue, and what is left of queues that were purged or deleted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from statewright.stores.protocol import Record

QUEUE: Final = "queue"
"""Kind of a queue's entry."""

REMAINS: Final = "queue-remains"
"""Kind of an entry whose key is the number of rows that are to be cleared away."""


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

    def record(self) -> Record:
        """The entry to write."""
        return Record(QUEUE, self.name, "", 0, self.stored + 1, orjson.dumps(self))


def entry_of(record: Record) -> QueueEntry:
    """Read an entry back."""
    fields: dict[str, Any] = orjson.loads(record.body)
    fields["stored"] = record.version
    return QueueEntry(**fields)


def remains_of(rows: int) -> Record:
    """Says that rows are nobody's any more."""
    return Record(REMAINS, str(rows), "", rows, 1, b"")
