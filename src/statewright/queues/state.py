"""State of one queue, shared by its parts: its entry, its messages by where they stand, its meter. A leaf.

Owns reading a queue from the store, counting with `visibility.py`, and deleting messages past their retention period.
Sending is in `sending.py`, operations by receipt handle in `handles.py`, receiving in `consumers.py`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.background import Spawn
from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.limits import Limits
from statewright.metrics.recorder import Recorder
from statewright.queues.attributes import QueueSettings, restored
from statewright.queues.entries import QueueEntry
from statewright.queues.fair import Tenants
from statewright.queues.messages import Counts
from statewright.queues.meter import QueueMeter
from statewright.queues.visibility import Visibility
from statewright.stores.ids import IdSource
from statewright.stores.queue_protocol import Gone, GroupChange, Note, QueueStore

EXPIRY_EVERY_MS: Final = 60_000
"""Interval between deletions of a queue's expired messages; consumers never receive one meanwhile."""
EXPIRY_STEP: Final = 500


@dataclass(slots=True)
class Site:
    """Resources that all queues of a server share. `spawn` runs a coroutine in the background; it logs store errors."""

    store: QueueStore
    clock: Clock
    limits: Limits
    ids: IdSource
    spawn: Spawn
    find_arn: Callable[[str], QueueState | None]
    recorder: Recorder | None
    of_rows: set[int] = field(default_factory=set)
    """The rows of every queue."""


class QueueState:
    """The shared state of one queue. Only `catalogue.py` changes its `settings`."""

    def __init__(self, entry: QueueEntry, arn: str, site: Site) -> None:
        self.arn = arn
        self.site = site
        self.is_deleted = False
        self.visibility: Visibility | None = None
        self.generation = 0
        """Grows when `visibility` is discarded: calls that were under way then are not counted."""
        self.news = 0
        """Grows when further messages may have become visible."""
        self.tenants = Tenants()
        self.overdue: list[tuple[int, int]] = []
        """Messages of a standard queue that timed out, and when they were received, which is the place that the next
        claim gives them."""
        self._expired_ms = 0
        """Instant at which expired messages of this queue were last deleted."""
        self._loading: asyncio.Task[Visibility] | None = None
        self._serve: Callable[[], None] = _nothing
        self._meter: QueueMeter | None = None
        self.entry = entry
        self.settings = QueueSettings()
        self.set_entry(entry)

    @property
    def name(self) -> str:
        """The queue's name."""
        return self.entry.name

    def call_on_arrival(self, serve: Callable[[], None]) -> None:
        """Set the function to call whenever messages may have become visible; the queue's consumers do."""
        self._serve = serve

    def set_entry(self, entry: QueueEntry) -> None:
        """Replace the queue's entry of the catalogue."""
        if entry.rows != self.entry.rows or entry.rows not in self.site.of_rows:
            self.site.of_rows.discard(self.entry.rows)
            self.site.of_rows.add(entry.rows)
        self.entry = entry
        self.settings = restored(entry.attributes)

    @property
    def meter(self) -> QueueMeter | None:
        """The queue's metrics, if the server records any; made at the first use of the queue."""
        if self._meter is None and self.site.recorder is not None and not self.is_deleted:
            self._meter = QueueMeter(self.site.recorder, self, self.site.clock, self.site.spawn)
        return self._meter

    def touched(self) -> None:
        """Mark the meter's levels for reading."""
        if (meter := self.meter) is not None:
            meter.touch()

    # Visibility

    async def known(self) -> Visibility:
        """The queue's messages by where they stand, read from the store if necessary.

        Raises: ApiError (`QueueDoesNotExist`) once the queue is deleted; StoreError.
        """
        while self.visibility is None:
            self.check()
            if self._loading is None or self._loading.done():
                self._loading = asyncio.create_task(self._load())
            await asyncio.shield(self._loading)
        self.check()
        return self.visibility

    async def _load(self) -> Visibility:
        while True:
            rows, now_ms = self.entry.rows, self.site.clock.now_ms()
            loaded = await self.site.store.load(rows, now_ms)
            if rows == self.entry.rows:
                break
        visibility = Visibility()
        visibility.load(loaded, now_ms)
        self.tenants.is_used = self.tenants.is_used or any(held.tenant for held in loaded.held)
        self.visibility = visibility
        self.news += 1
        if visibility.total:
            self.touched()
        return visibility

    def check(self) -> None:
        """Raises: ApiError (`QueueDoesNotExist`)."""
        if self.is_deleted:
            raise ApiError("QueueDoesNotExist", "The specified queue does not exist.")

    def lose_track(self) -> None:
        """Discard the visibility; the next call reads it from the store."""
        self.generation += 1
        self.visibility = None
        self.overdue = []

    def close(self) -> None:
        """Close the state once the queue is deleted."""
        self.is_deleted = True
        if self._meter is not None:
            self._meter.end()
        self.lose_track()

    def advance(self, visibility: Visibility) -> int:
        """Bring `visibility` up to date; return the current instant."""
        now_ms = self.site.clock.now_ms()
        before = visibility.next_ms()
        if before is not None and before <= now_ms:
            ended = visibility.advance(now_ms)
            if ended and not self.settings.fifo:
                self.overdue += [(message.id, message.received_ms) for message in ended]
            self.news += 1
        return now_ms

    def counts(self, visibility: Visibility) -> Counts:
        """Numbers of messages visible, in flight and delayed, now."""
        self.advance(visibility)
        return visibility.counts()

    async def oldest_visible_ms(self) -> int | None:
        """Send time of the first visible message; `None` without one."""
        first = await self.site.store.peek(self.entry.rows, 1)
        return first[0].sent_ms if first else None

    def arrived(self) -> None:
        """Note that messages may have become visible, and serve the consumers."""
        self.news += 1
        self.touched()
        self.expire_soon()
        self._serve()

    # Deleting

    async def drop_proven(self, visibility: Visibility, proofs: Sequence[tuple[int, int]]) -> list[Gone]:
        """Delete messages by their last receipts; return those that were deleted."""
        generation = self.generation
        try:
            gone = await self.site.store.drop((), proofs=proofs)
        except BaseException:
            self.lose_track()
            raise
        if generation == self.generation:
            visibility.total -= len(gone)
            for one in gone:
                visibility.returned.pop(one.id, None)
                if one.id in visibility.in_flight:
                    visibility.release(visibility.in_flight[one.id])
        return gone

    def group_changes(self, groups: Counter[str], now_ms: int) -> list[GroupChange]:
        """Changes of FIFO groups that lose messages, or whose messages are hidden until another instant."""
        return [GroupChange(self.entry.rows, group, gone, now_ms) for group, gone in groups.items()]

    # Expiring

    def expire_soon(self) -> None:
        """Delete expired messages in the background, at most once in `EXPIRY_EVERY_MS`."""
        if self.is_expiry_due():
            self._expired_ms = self.site.clock.now_ms()
            self.site.spawn(self.expire())

    def is_expiry_due(self) -> bool:
        """True if expired messages have not been deleted for `EXPIRY_EVERY_MS`."""
        return self.site.clock.now_ms() - self._expired_ms >= EXPIRY_EVERY_MS

    async def expire(self) -> None:
        """Delete every visible message past its retention period, `EXPIRY_STEP` at a time."""
        while True:
            visibility = await self.known()
            now_ms = self.advance(visibility)
            self._expired_ms = now_ms
            before_ms = now_ms - 1_000 * self.settings.retention_seconds
            generation = self.generation
            # Nothing is visible before it is sent.
            gone = await self.site.store.expire(self.entry.rows, before_ms, EXPIRY_STEP)
            if generation != self.generation:
                continue
            visibility.total -= len(gone)
            for one in gone:
                visibility.returned.pop(one.id, None)
            outdated = visibility.pop_outdated(before_ms)
            old = await self.drop_proven(visibility, outdated) if outdated else []
            self.note_expired((*gone, *old), now_ms)
            if gone or old:
                self.touched()
            if len(gone) < EXPIRY_STEP:
                return

    def note_expired(self, gone: Sequence[Gone], now_ms: int) -> None:
        """Note the expiry in the histories of messages that had been received."""
        notes = [Note(one.id, now_ms, "expired", "it was not deleted in time") for one in gone if one.receives > 0]
        if notes:
            self.site.spawn(self.site.store.note(notes))


def _nothing() -> None:
    """Do nothing, for a queue that has no consumers yet."""
