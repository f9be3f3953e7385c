"""Rows of archives, their events and replays, and how an event is kept.

An archive is the target of a managed rule on its bus, so that events reach it as they reach other targets: by a durable
delivery. Keeping an event twice is harmless.

Source: EventBridge user guide, "Archiving and replaying events".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import orjson

from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.stores.entries import Entries, EntryKind, Name
from statewright.stores.protocol import CatalogueStore

MANAGED: Final = "Events-Archive-"
"""How the names of managed rules begin."""
DAY_MS: Final = 86_400_000
EXPIRED: Final = 20
"""Expired events that one that is kept removes at most."""


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive of the events of a bus; `retention_days` is 0 for events that are kept for good."""

    name: str
    bus: str
    created_ms: int
    pattern: str | None = None
    retention_days: int = 0
    description: str | None = None
    kms: str | None = None
    stored: int = 0

    @property
    def rule(self) -> str:
        """The name of its managed rule."""
        return f"{MANAGED}{self.name}"

    def oldest_ms(self, now_ms: int) -> int:
        """The instant before which events have expired."""
        return now_ms - self.retention_days * DAY_MS if self.retention_days else 0


@dataclass(frozen=True, slots=True)
class ArchivedEvent:
    """An event as targets see it, as JSON text."""

    archive: str
    id: str
    at_ms: int
    text: str
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay of events from `from_ms` to `to_ms`. `rules` are the names of the only rules that see them."""

    name: str
    archive: str
    bus: str
    from_ms: int
    to_ms: int
    started_ms: int
    rules: Sequence[str] = ()
    description: str | None = None
    state: str = "STARTING"
    reason: str | None = None
    ended_ms: int | None = None
    last_ms: int | None = None
    place_ms: int = 0
    place_key: str = ""
    """The sort and key of the last event that was replayed."""
    stored: int = 0


ARCHIVE: Final = EntryKind("eventArchive", Archive, lambda one: one.name)
ARCHIVED: Final = EntryKind(
    "archivedEvent",
    ArchivedEvent,
    lambda one: f"{one.archive}:{one.id}",
    parent=lambda one: one.archive,
    sort=lambda one: one.at_ms,
    columns={"archive": lambda record: record.parent, "at_ms": lambda record: record.sort},
)
REPLAY: Final = EntryKind("eventReplay", Replay, lambda one: one.name, sort=lambda one: one.started_ms)


class Keeper:
    """Keeps events in archives. Called by deliveries to the ARNs of archives."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._archives = Entries(catalogue, ARCHIVE)

    async def keep(self, arn: str, text: str) -> None:
        """Keep an event, and remove some that have expired. Raises: ApiError; StoreError."""
        archive = await self._archives.get(arn.rpartition("archive/")[2])
        if archive is None:
            raise ApiError("ResourceNotFoundException", f"Archive {arn} does not exist.", status=404)
        event = orjson.loads(text)
        at_ms = round(datetime.fromisoformat(event["time"]).timestamp() * 1000)
        gone: list[Name] = []
        if archive.retention_days:
            oldest = await self._catalogue.list_entries(
                ARCHIVED.name, archive.name, after=None, limit=EXPIRED, newest_first=False
            )
            gone = [(row.kind, row.key) for row in oldest if row.sort < archive.oldest_ms(self._clock.now_ms())]
        # A write that finds the event is a repetition.
        await self._catalogue.write([ARCHIVED.row(ArchivedEvent(archive.name, event["id"], at_ms, text))], gone)
