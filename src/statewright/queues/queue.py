"""One queue at work: sending, deleting, hiding and expiring messages.

Owns what is asked of the store for it, and that `visibility.py` counts it. Who receives what is in `consumers.py`, what
becomes of a message that was received too often in `dead_letters.py`; names, attributes and purges are in
`catalogue.py`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from statewright.background import Spawn
from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.limits import Limits
from statewright.metrics.recorder import Recorder
from statewright.queues.attributes import INVALID_PARAMETER, QueueSettings, restored
from statewright.queues.consumers import Consumers
from statewright.queues.entries import QueueEntry
from statewright.queues.fair import ALONE, Tenants
from statewright.queues.messages import (
    Counts,
    Handle,
    Outgoing,
    Sent,
    encode_extra,
    message_id_of,
    read_handle,
    sequence_number_of,
)
from statewright.queues.metering import QueueMeter
from statewright.queues.visibility import GIVEN_BACK, InFlight, Visibility
from statewright.stores.ids import IdSource
from statewright.stores.queue_protocol import Gone, GroupChange, MessageRow, Note, QueueStore

if TYPE_CHECKING:
    pass

DEDUPLICATION_MS: Final = 5 * 60_000
"""Source: developer guide, exactly-once processing."""
LONGEST_HIDDEN_MS: Final = 12 * 3_600_000
"""From a receive on. Source: SQS quotas, visibility timeout."""
EXPIRY_EVERY_MS: Final = 60_000
"""How often a queue is looked through for messages past their time; no consumer gets one meanwhile."""
EXPIRY_STEP: Final = 500


@dataclass(slots=True)
class Site:
    """What all queues of a server share. `spawn` runs a coroutine in the background, and logs a failing store."""

    store: QueueStore
    clock: Clock
    limits: Limits
    ids: IdSource
    spawn: Spawn
    find_arn: Callable[[str], Queue | None]
    of_rows: dict[int, Queue] = field(default_factory=dict)
    recorder: Recorder | None = None


class Queue:
    """A queue. `attributes` and `settings` are what it is set to; only `catalogue.py` changes them."""

    def __init__(self, entry: QueueEntry, arn: str, site: Site) -> None:
        self.arn = arn
        self.site = site
        self.is_deleted = False
        self.visibility: Visibility | None = None
        self.generation = 0
        """Grows when what is known here is given up: what was under way then is not counted."""
        self.expired_ms = 0
        """When this queue was last looked through for messages past their time."""
        self.tenants = Tenants()
        self._loading: asyncio.Task[Visibility] | None = None
        self.news = 0
        """Grows when there may be something to receive that was not there before."""
        self.consumers = Consumers(self)
        self.entry = entry
        self.settings = QueueSettings()
        self._meter: QueueMeter | None = None
        self.set_entry(entry)

    @property
    def name(self) -> str:
        """The queue's name."""
        return self.entry.name

    @property
    def attributes(self) -> Mapping[str, str]:
        """What the queue is set to, as the API shows it; what is computed is not among it."""
        return self.entry.attributes

    @property
    def tags(self) -> Mapping[str, str]:
        """The queue's tags."""
        return self.entry.tags

    @property
    def created_ms(self) -> int:
        """When it was created."""
        return self.entry.created_ms

    @property
    def modified_ms(self) -> int:
        """When its attributes were last set."""
        return self.entry.modified_ms

    def set_entry(self, entry: QueueEntry) -> None:
        """Go on under a new entry of the catalogue."""
        if entry.rows != self.entry.rows or entry.rows not in self.site.of_rows:
            self.site.of_rows.pop(self.entry.rows, None)
            self.site.of_rows[entry.rows] = self
        self.entry = entry
        self.settings = restored(entry.attributes)

    @property
    def meter(self) -> QueueMeter | None:
        """Who counts what happens here, if anybody; made at the first use of the queue."""
        if self._meter is None and self.site.recorder is not None and not self.is_deleted:
            self._meter = QueueMeter(self.site.recorder, self)
        return self._meter

    def touched(self) -> None:
        """Messages may stand elsewhere now."""
        if (meter := self.meter) is not None:
            meter.touch()

    # What is known

    async def known(self) -> Visibility:
        """What is known of the messages, read from the store where need be.

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
        """Nobody knows what the store has now: read it anew before anything else."""
        self.generation += 1
        self.visibility = None
        self.consumers.forget_replays()

    def close(self) -> None:
        """The queue is deleted: whoever waits at it is told."""
        self.is_deleted = True
        if self._meter is not None:
            self._meter.end()
        self.lose_track()
        self.consumers.dismiss(ApiError("QueueDoesNotExist", "The specified queue does not exist."))
        self.consumers.stop()

    def advance(self, visibility: Visibility) -> int:
        """Let time pass; what time it is."""
        now_ms = self.site.clock.now_ms()
        before = visibility.next_ms()
        if before is not None and before <= now_ms:
            visibility.advance(now_ms)
            self.news += 1
        return now_ms

    def counts(self, visibility: Visibility) -> Counts:
        """How many messages stand where, now."""
        self.advance(visibility)
        return visibility.counts()

    # Sending

    async def send(self, entries: Sequence[Outgoing]) -> list[Sent]:
        """See `Queues.send`."""
        await self.known()
        now_ms = self.site.clock.now_ms()
        numbers = self.site.ids.several(len(entries)) if entries else ()
        rows = [self.row(message, number, now_ms) for message, number in zip(entries, numbers, strict=True)]
        generation = self.generation
        try:
            ids = await self.site.store.send(rows)
        except BaseException:
            self.lose_track()
            raise
        new = [row for row, number in zip(rows, ids, strict=True) if row.id == number]
        self.took(new, generation, now_ms)
        if len(new) < len(rows) and (meter := self.meter) is not None:
            meter.repeated(len(rows) - len(new))
        fifo = self.settings.fifo
        return [Sent(message_id_of(number), sequence_number_of(number) if fifo else None) for number in ids]

    def took(self, rows: Sequence[MessageRow], generation: int, now_ms: int) -> None:
        """Count messages that were inserted at an instant, if what is known here is still of that `generation`."""
        if generation != self.generation or self.visibility is None:
            return
        self.visibility.total += len(rows)
        later = [row.visible_ms for row in rows if row.visible_ms > now_ms]
        if later:
            self.visibility.delay(later)
        if (meter := self.meter) is not None:
            meter.sent([row.body for row in rows], now_ms, alone=self.visibility.total == len(rows))
        self.arrived()

    def row(self, message: Outgoing, number: int, now_ms: int) -> MessageRow:
        """A message as the store has it. Raises: ApiError where a FIFO message lacks its deduplication id."""
        settings = self.settings
        if settings.fifo:
            dedup = self._deduplication_id(message)
            key = f"{message.group}\n{dedup}" if settings.deduplicates_by_group else dedup
            visible_ms = self.site.clock.pauses.due_ms(now_ms, now_ms + 1_000 * settings.delay_seconds)
            extra = encode_extra(message, dedup)
            until_ms = now_ms + DEDUPLICATION_MS
            of = self.entry.number
            group = message.group or ""
            return MessageRow(
                number, self.entry.rows, visible_ms, now_ms, group, None, message.body, extra, of, key, until_ms
            )
        delay_ms = 1_000 * settings.delay_seconds if message.delay_ms is None else message.delay_ms
        tenant = message.group
        if tenant is not None:
            self.tenants.sent(tenant, now_ms)
        elif self.tenants.is_used:
            tenant = ALONE
        extra = encode_extra(message, message.dedup)
        visible_ms = self.site.clock.pauses.due_ms(now_ms, now_ms + delay_ms)
        return MessageRow(number, self.entry.rows, visible_ms, now_ms, None, tenant, message.body, extra)

    def _deduplication_id(self, message: Outgoing) -> str:
        if message.dedup is not None:
            return message.dedup
        if self.settings.content_deduplication:
            return sha256(message.body.encode("utf-8", "surrogatepass")).hexdigest()
        raise ApiError(
            INVALID_PARAMETER,
            "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided "
            "explicitly",
        )

    def arrived(self) -> None:
        """Something may be there to receive."""
        self.news += 1
        self.touched()
        self.look_for_expired()
        self.consumers.serve()

    # Deleting and hiding

    async def delete(self, handles: Sequence[str]) -> list[ApiError | None]:
        """See `Queues.delete`."""
        visibility = await self.known()
        now_ms = self.advance(visibility)
        answers: list[ApiError | None] = [None] * len(handles)
        ids: list[int] = []
        groups: Counter[str] = Counter()
        doubtful: list[tuple[int, Handle]] = []
        for place, text in enumerate(handles):
            handle = read_handle(text)
            if handle is None or (handle.queue != self.entry.rows and handle.queue in self.site.of_rows):
                answers[place] = _not_a_handle(text)
                continue
            message = visibility.in_flight.get(handle.message)
            if message is None or message.receipt != handle.receipt:
                doubtful.append((place, handle))
                continue
            visibility.release(message)
            ids.append(message.id)
            if message.group is not None:
                groups[message.group] += 1
            elif message.tenant is not None:
                self.tenants.spent(message.tenant, now_ms - message.received_ms, now_ms)
        visibility.total -= len(ids)
        if ids:
            await self._drop(visibility, ids, self.group_changes(visibility, groups, now_ms))
        if doubtful:
            await self._delete_doubtful(visibility, handles, doubtful, answers)
        if (meter := self.meter) is not None:
            meter.deleted(answers.count(None))
        return answers

    async def _drop(self, visibility: Visibility, ids: list[int], groups: list[GroupChange]) -> None:
        try:
            await self.site.store.drop(ids, groups)
        except BaseException:
            self.lose_track()
            raise
        cap = self.site.limits.queue_in_flight
        if groups or (cap is not None and len(visibility.in_flight) + len(ids) >= cap):
            # A group or the queue has room again.
            self.arrived()

    async def _delete_doubtful(
        self,
        visibility: Visibility,
        handles: Sequence[str],
        doubtful: list[tuple[int, Handle]],
        answers: list[ApiError | None],
    ) -> None:
        """Delete by handles of messages that are not in flight under them. A message that is gone is no mistake."""
        if self.settings.fifo:
            present = {held.id for held in await self.site.store.look([handle.message for _, handle in doubtful])}
            for place, handle in doubtful:
                if handle.message in present:
                    answers[place] = _expired_handle(handles[place])
            return
        # A message whose visibility timeout ran out may still be deleted until somebody else receives it.
        proofs = [(handle.message, handle.receipt) for _, handle in doubtful]
        await self.drop_proven(visibility, proofs)

    async def drop_proven(self, visibility: Visibility, proofs: Sequence[tuple[int, int]]) -> list[Gone]:
        """Delete messages by their last receipts; those that are gone."""
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

    def group_changes(self, visibility: Visibility, groups: Counter[str], now_ms: int) -> list[GroupChange]:
        """What becomes of FIFO groups that lose messages, or whose messages are hidden for another time."""
        rows = self.entry.rows
        return [GroupChange(rows, group, gone, visibility.group_end(group) or now_ms) for group, gone in groups.items()]

    async def change_visibility(self, changes: Sequence[tuple[str, int]]) -> list[ApiError | None]:
        """See `Queues.change_visibility`."""
        visibility = await self.known()
        now_ms = self.advance(visibility)
        answers: list[ApiError | None] = [None] * len(changes)
        rows: list[tuple[int, int]] = []
        groups: Counter[str] = Counter()
        doubtful: list[tuple[int, Handle]] = []
        for place, (text, hidden_ms) in enumerate(changes):
            handle = read_handle(text)
            if handle is None or (handle.queue != self.entry.rows and handle.queue in self.site.of_rows):
                answers[place] = _not_a_handle(text)
                continue
            message = visibility.in_flight.get(handle.message)
            if message is None or message.receipt != handle.receipt:
                doubtful.append((place, handle))
                continue
            problem = _too_long(message, now_ms, hidden_ms)
            if problem is not None:
                answers[place] = problem
                continue
            if hidden_ms == 0:
                visibility.give_back(message, GIVEN_BACK)
            else:
                visibility.extend(message, now_ms + hidden_ms)
            rows.append((message.id, now_ms + hidden_ms))
            if message.group is not None:
                groups[message.group] += 0
        if rows:
            changed = self.group_changes(visibility, groups, now_ms)
            try:
                await self.site.store.hide(list(dict(rows).items()), changed)
            except BaseException:
                self.lose_track()
                raise
            self.arrived()
        if doubtful:
            await self._explain(changes, doubtful, answers)
        return answers

    async def _explain(
        self, changes: Sequence[tuple[str, int]], doubtful: list[tuple[int, Handle]], answers: list[ApiError | None]
    ) -> None:
        """Say why handles are good for nothing any more."""
        found = {held.id: held for held in await self.site.store.look([handle.message for _, handle in doubtful])}
        for place, handle in doubtful:
            held = found.get(handle.message)
            if held is not None and held.receipt == handle.receipt:
                answers[place] = ApiError("MessageNotInflight", "The specified message isn't in flight.")
            elif self.settings.fifo and held is not None:
                answers[place] = _expired_handle(changes[place][0])
            else:
                answers[place] = ApiError(
                    INVALID_PARAMETER,
                    f"Value {changes[place][0]} for parameter ReceiptHandle is invalid. Reason: Message does not exist "
                    "or is not available for visibility timeout change.",
                )

    # Expiring

    def look_for_expired(self) -> None:
        """Delete what is past its time, in the background, unless somebody looked lately."""
        if self.is_to_be_looked_through():
            self.expired_ms = self.site.clock.now_ms()
            self.site.spawn(self.expire())

    def is_to_be_looked_through(self) -> bool:
        """Whether nobody looked lately."""
        return self.site.clock.now_ms() - self.expired_ms >= EXPIRY_EVERY_MS

    async def expire(self) -> None:
        """Delete every visible message that was sent too long ago, some hundred at a time."""
        while True:
            visibility = await self.known()
            now_ms = self.advance(visibility)
            self.expired_ms = now_ms
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
        """Keep that messages which somebody once received were never deleted."""
        notes = [Note(one.id, now_ms, "expired", "it was not deleted in time") for one in gone if one.receives > 0]
        if notes:
            self.site.spawn(self.site.store.note(notes))


def _not_a_handle(text: str) -> ApiError:
    return ApiError("ReceiptHandleIsInvalid", f'The input receipt handle "{text}" is not a valid receipt handle.')


def _expired_handle(text: str) -> ApiError:
    return ApiError(
        INVALID_PARAMETER,
        f"Value {text} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.",
    )


def _too_long(message: InFlight, now_ms: int, hidden_ms: int) -> ApiError | None:
    if now_ms - message.received_ms + hidden_ms <= LONGEST_HIDDEN_MS:
        return None
    return ApiError(
        INVALID_PARAMETER,
        f"Value {hidden_ms // 1000} for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for "
        "the message is beyond the limit [43200 seconds]",
    )
