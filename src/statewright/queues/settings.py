"""A queue's attributes as the rules need them, and its entry in the catalogue.

Attributes arrive checked, as the texts the API speaks (`attributes.py` checks them); here they become numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from statewright.stores.protocol import Record

QUEUE: Final = "queue"
"""Kind of a queue's entry."""

DEFAULT_MAX_RECEIVES: Final = 10
"""Source: API reference, RedrivePolicy."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What governs a queue. Lengths of time are milliseconds."""

    is_fifo: bool
    visibility_ms: int
    delay_ms: int
    wait_ms: int
    retention_ms: int
    max_bytes: int
    content_dedup: bool
    dedup_by_group: bool
    dead_letters_to: str | None
    """ARN of the dead-letter queue."""
    max_receives: int
    redrive_permission: str
    """allowAll, denyAll or byQueue."""
    redrive_sources: tuple[str, ...]


def settings_of(name: str, attributes: Mapping[str, str]) -> Settings:
    """Read attributes; what is not given has the service's default. Source: API reference, SetQueueAttributes."""

    def number(key: str, default: int) -> int:
        return int(attributes.get(key) or default)

    redrive: dict[str, Any] = orjson.loads(attributes.get("RedrivePolicy") or b"{}")
    allow: dict[str, Any] = orjson.loads(attributes.get("RedriveAllowPolicy") or b"{}")
    sources = allow.get("sourceQueueArns") or ()
    return Settings(
        is_fifo=name.endswith(".fifo"),
        visibility_ms=1_000 * int(attributes.get("VisibilityTimeout") or 30),
        delay_ms=1_000 * number("DelaySeconds", 0),
        wait_ms=1_000 * number("ReceiveMessageWaitTimeSeconds", 0),
        retention_ms=1_000 * number("MessageRetentionPeriod", 345_600),
        max_bytes=number("MaximumMessageSize", 1_048_576),
        content_dedup=attributes.get("ContentBasedDeduplication") == "true",
        dedup_by_group=attributes.get("DeduplicationScope") == "messageGroup",
        dead_letters_to=redrive.get("deadLetterTargetArn"),
        max_receives=int(redrive.get("maxReceiveCount") or DEFAULT_MAX_RECEIVES),
        redrive_permission=allow.get("redrivePermission") or "allowAll",
        redrive_sources=tuple(sources),
    )


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A queue as the catalogue keeps it.

    `number` names it for good. Its messages stand under `rows`, another number, which a purge replaces: what stood
    under the old one is gone at once and cleared away later.
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
