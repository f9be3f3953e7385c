"""Messages in memory, exactly as in `queue_protocol`: the model of the other stores."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush, nsmallest
from itertools import islice

from statewright.errors import StoreError, Unavailable
from statewright.stores.completion import Complete, Completion
from statewright.stores.ids import first_id, shard_of_id
from statewright.stores.queue_protocol import (
    Claim,
    Claimed,
    Gone,
    GroupChange,
    Held,
    LoadedQueue,
    MessageRow,
    Move,
    Note,
    Once,
)


@dataclass(slots=True)
class _Message:
    id: int
    queue: int
    visible_ms: int
    sent_ms: int
    group: str | None
    tenant: str | None
    body: str
    extra: str | None
    receives: int = 0
    base: int = 0
    receipt: int = 0
    first_received_ms: int = 0
    source: str | None = None


@dataclass(slots=True)
class _Group:
    free_ms: int
    ids: list[int] = field(default_factory=list)


class MemoryQueues:
    """See `QueueStore`. A heap of each queue has every place a message ever had; stale ones are skipped."""

    def __init__(self, complete: Complete) -> None:
        self.is_open = False
        self._complete = complete
        self.messages: dict[int, _Message] = {}
        self.notes: dict[int, list[Note]] = defaultdict(list)
        self._of_queue: dict[int, set[int]] = defaultdict(set)
        self._places: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        self._groups: dict[int, dict[str, _Group]] = defaultdict(dict)
        self._dedup: dict[tuple[int, str], tuple[int, int]] = {}

    async def send(
        self, rows: Sequence[MessageRow], onces: Sequence[Once] = (), completion: Completion[list[int]] | None = None
    ) -> list[int]:
        self._check()
        happened = [self._first(once) for once in onces]
        repeated = {once.id for once, first in zip(onces, happened, strict=True) if first != once.id}
        ids = [0 if row.once in repeated else self._insert(row) for row in rows] + happened
        self._complete(completion, ids)
        await asyncio.sleep(0)
        return ids

    def _first(self, once: Once) -> int:
        """The id of the first under a key; this one's, if it is that."""
        first, until_ms = self._dedup.get((once.queue, once.key), (0, 0))
        if until_ms > once.now_ms:
            return first
        self._dedup[once.queue, once.key] = once.id, once.until_ms
        return once.id

    def _insert(self, row: MessageRow) -> int:
        if row.dedup is not None:
            first = self._first(Once(row.id, row.dedup_queue, row.dedup, row.sent_ms, row.dedup_until_ms))
            if first != row.id:
                return first
        if row.id in self.messages:
            raise StoreError(f"message {row.id} is there already")
        self._add(_Message(*row[:8]))
        return row.id

    def _add(self, message: _Message) -> None:
        self.messages[message.id] = message
        self._of_queue[message.queue].add(message.id)
        if message.group is None:
            self._place(message)
        else:
            group = self._groups[message.queue].setdefault(message.group, _Group(message.visible_ms))
            insort(group.ids, message.id)

    def _place(self, message: _Message) -> None:
        heappush(self._places[message.queue], (message.visible_ms, message.receives, message.id))

    async def claim(self, claim: Claim) -> list[list[Claimed]]:
        self._check()
        if claim.is_fifo:
            found = [self._take_groups(claim, want.most, want.visible_ms) for want in claim.wants]
        else:
            self._give_places(claim)
            ready = self._choose(claim, sum(want.most for want in claim.wants))
            found = []
            for want in claim.wants:
                taken, ready = ready[: want.most], ready[want.most :]
                found.append([self._take(message, claim, want.visible_ms) for message in taken])
        await asyncio.sleep(0)
        return found

    def _give_places(self, claim: Claim) -> None:
        for number, at_ms in claim.overdue:
            message = self.messages.get(number)
            if message is not None and message.visible_ms <= claim.now_ms:
                message.visible_ms = at_ms
                self._place(message)

    def _choose(self, claim: Claim, most: int) -> list[_Message]:
        """Choose visible messages, oldest first, those of noisy tenants last; the chosen ones lose their places."""
        places = self._places[claim.queue]
        chosen: list[_Message] = []
        passed_over: dict[str, list[_Message]] = {tenant: [] for tenant in claim.noisy}
        seen: set[int] = set()
        while places and places[0][0] <= claim.now_ms and len(chosen) < most:
            visible_ms, receives, number = heappop(places)
            message = self.messages.get(number)
            if message is None or number in seen or message.queue != claim.queue:
                continue
            if (message.visible_ms, message.receives) != (visible_ms, receives):
                continue
            seen.add(number)
            (passed_over.get(message.tenant or "", chosen) if message.tenant else chosen).append(message)
        late = [message for of_one in passed_over.values() for message in of_one]
        missing = most - len(chosen)
        for message in late[missing:]:
            self._place(message)
        return chosen + late[:missing]

    def _take_groups(self, claim: Claim, most: int, until_ms: int) -> list[Claimed]:
        taken: list[Claimed] = []
        groups = self._groups[claim.queue]
        free = sorted((group.free_ms, name) for name, group in groups.items() if group.free_ms <= claim.now_ms)
        for _, name in free:
            group = groups[name]
            before = len(taken)
            for number in group.ids:
                message = self.messages[number]
                if message.visible_ms > claim.now_ms:
                    break
                if len(taken) == most:
                    return taken
                taken.append(self._take(message, claim, until_ms))
                group.free_ms = until_ms
            if len(taken) == before:
                group.free_ms = self.messages[group.ids[0]].visible_ms
        return taken

    def _take(self, message: _Message, claim: Claim, until_ms: int) -> Claimed:
        was_visible_ms = message.visible_ms
        message.receives += 1
        message.receipt = claim.receipt
        message.first_received_ms = message.first_received_ms or claim.now_ms
        message.visible_ms = until_ms
        if message.group is None:
            self._place(message)
        return _claimed(message, was_visible_ms)

    async def drop(
        self, ids: Sequence[int], groups: Sequence[GroupChange] = (), *, proofs: Sequence[tuple[int, int]] = ()
    ) -> list[Gone]:
        self._check()
        for number in ids:
            if number in self.messages:
                self._remove(self.messages[number])
        self._change_groups(groups)
        proven = [
            self.messages[number]
            for number, receipt in proofs
            if number in self.messages and self.messages[number].receipt == receipt
        ]
        gone = [self._remove(message) for message in {message.id: message for message in proven}.values()]
        await asyncio.sleep(0)
        return gone

    def _remove(self, message: _Message) -> Gone:
        del self.messages[message.id]
        self._of_queue[message.queue].discard(message.id)
        if message.group is not None:
            group = self._groups[message.queue][message.group]
            del group.ids[bisect_left(group.ids, message.id)]
            if not group.ids:
                del self._groups[message.queue][message.group]
        return Gone(message.id, message.receives, message.visible_ms, message.group)

    def _change_groups(self, changes: Sequence[GroupChange]) -> None:
        for change in changes:
            group = self._groups[change.queue].get(change.group)
            if group is not None and change.free_ms is not None:
                group.free_ms = max(change.free_ms, self.messages[group.ids[0]].visible_ms)

    async def hide(
        self,
        changes: Sequence[tuple[int, int]],
        groups: Sequence[GroupChange] = (),
        completion: Completion[None] | None = None,
    ) -> None:
        self._check()
        for number, visible_ms in changes:
            message = self.messages.get(number)
            if message is not None:
                message.visible_ms = visible_ms
                if message.group is None:
                    self._place(message)
        self._change_groups(groups)
        self._complete(completion, None)
        await asyncio.sleep(0)

    async def hide_again(self, proofs: Sequence[tuple[int, int, int]]) -> list[int]:
        self._check()
        hidden = []
        for number, receipt, visible_ms in proofs:
            message = self.messages.get(number)
            if message is not None and message.receipt == receipt:
                message.visible_ms = visible_ms
                hidden.append(number)
                if message.group is None:
                    self._place(message)
        await asyncio.sleep(0)
        return hidden

    async def move(self, moves: Sequence[Move], groups: Sequence[GroupChange] = ()) -> None:
        self._check()
        for move in moves:
            message = self.messages.get(move.id)
            if message is None or message.queue != move.from_queue:
                continue
            self._remove(message)
            message.id, message.queue, message.group = move.new_id, move.queue, move.group
            message.visible_ms, message.sent_ms, message.source = move.visible_ms, move.sent_ms, move.source
            message.receives -= 1
            message.base, message.receipt = message.receives, 0
            if move.is_fresh:
                message.receives = message.base = message.first_received_ms = 0
            if move.extra is not None:
                message.extra = move.extra
            self._add(message)
        self._change_groups(groups)
        await asyncio.sleep(0)

    async def expire(self, queue: int, before_ms: int, limit: int) -> list[Gone]:
        self._check()
        old = sorted((m.visible_ms, m.id) for m in self._rows(queue) if m.visible_ms < before_ms)
        gone = [self._remove(self.messages[number]) for _, number in old[:limit]]
        await asyncio.sleep(0)
        return gone

    def _rows(self, queue: int) -> Iterator[_Message]:
        return (self.messages[number] for number in self._of_queue[queue])

    async def load(self, queue: int, now_ms: int) -> LoadedQueue:
        self._check()
        rows = sorted(self._rows(queue), key=lambda message: message.id)
        loaded = LoadedQueue(
            len(rows),
            [_held(message) for message in rows if message.receives > 0],
            [message.visible_ms for message in rows if message.receives == 0 and message.visible_ms > now_ms],
        )
        await asyncio.sleep(0)
        return loaded

    async def get(self, ids: Sequence[int]) -> list[Held]:
        self._check()
        found = [_held(self.messages[number]) for number in sorted(set(ids)) if number in self.messages]
        await asyncio.sleep(0)
        return found

    async def peek(self, queue: int, limit: int) -> list[Claimed]:
        self._check()
        if self._groups.get(queue):
            rows = nsmallest(limit, self._rows(queue), key=lambda one: (one.visible_ms, one.receives, one.id))
        else:
            rows = list(islice(self._in_order(queue), limit))
        return [_claimed(message, message.visible_ms) for message in rows]

    def _in_order(self, queue: int) -> Iterator[_Message]:
        """The messages without groups by their places: the heap is walked from its top, and stays as it is."""
        places = self._places.get(queue, ())
        next_ones = [(places[0], 0)] if places else []
        seen = set[int]()
        while next_ones:
            (visible_ms, receives, number), at = heappop(next_ones)
            for below in range(2 * at + 1, min(2 * at + 3, len(places))):
                heappush(next_ones, (places[below], below))
            message = self.messages.get(number)
            if message is None or number in seen or message.queue != queue:
                continue
            if (message.visible_ms, message.receives) == (visible_ms, receives):
                seen.add(number)
                yield message

    async def forget(self, now_ms: int, notes_before: int) -> None:
        self._check()
        for key in [key for key, (_, until_ms) in self._dedup.items() if until_ms <= now_ms]:
            del self._dedup[key]
        first = first_id(shard_of_id(notes_before))
        for number in [number for number in self.notes if first <= number < notes_before]:
            del self.notes[number]
        await asyncio.sleep(0)

    async def note(self, notes: Sequence[Note]) -> None:
        self._check()
        for note in notes:
            self.notes[note.id].append(note)
        await asyncio.sleep(0)

    async def trail(self, message: int) -> list[Note]:
        self._check()
        return list(self.notes.get(message, ()))

    def _check(self) -> None:
        if not self.is_open:
            raise Unavailable("this store in memory is closed")


def _claimed(message: _Message, was_visible_ms: int) -> Claimed:
    return Claimed(
        message.id,
        message.receives,
        message.base,
        message.first_received_ms,
        message.sent_ms,
        was_visible_ms,
        message.group,
        message.tenant,
        message.source,
        message.body,
        message.extra,
    )


def _held(message: _Message) -> Held:
    return Held(
        message.id,
        message.visible_ms,
        message.receipt,
        message.receives,
        message.sent_ms,
        message.group,
        message.tenant,
    )
