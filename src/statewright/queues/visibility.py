"""Messages of one queue by where they stand, in memory: how many exist, which are in flight and until when.

Owns counters, receipts and the instants at which messages become visible. It holds a small entry for each message that
was received and is not deleted, and one for each instant at which delayed messages become visible; other messages of
a queue take no memory. Rebuilt from the store when a queue is first used and after a store's failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

from statewright.queues.messages import Counts
from statewright.stores.queue_protocol import Held, LoadedQueue

_COMPACT_ABOVE: Final = 64
MADE_VISIBLE: Final = "its consumer made it visible"
TIMED_OUT: Final = "its visibility timeout ran out"


@dataclass(slots=True)
class InFlight:
    """A message that a consumer has. `received_ms` is when this receive began."""

    id: int
    receipt: int
    visible_ms: int
    received_ms: int
    receives: int
    sent_ms: int
    group: str | None
    tenant: str | None
    consumer: str = ""


class Returned(NamedTuple):
    """A message that became visible again: its last receipt, the reason, and the instant; 0 if that is not known."""

    sent_ms: int
    receipt: int
    reason: str
    at_ms: int = 0


class Instants:
    """Distinct instants, each with the numbers that are due then; yields the earliest first."""

    __slots__ = ("_heap", "at")

    def __init__(self) -> None:
        self.at: dict[int, set[int]] = {}
        self._heap: list[int] = []

    def add(self, instant_ms: int, number: int) -> None:
        """Add a number that is due at an instant."""
        there = self.at.get(instant_ms)
        if there is None:
            self.at[instant_ms] = {number}
            heappush(self._heap, instant_ms)
            if len(self._heap) > _COMPACT_ABOVE + 2 * len(self.at):
                self._heap = list(self.at)
                heapify(self._heap)
        else:
            there.add(number)

    def remove(self, instant_ms: int, number: int) -> None:
        """Remove a number from an instant."""
        there = self.at[instant_ms]
        there.discard(number)
        if not there:
            # `first` skips its place in the heap.
            del self.at[instant_ms]

    def first(self) -> int | None:
        """The earliest instant."""
        heap = self._heap
        while heap and heap[0] not in self.at:
            heappop(heap)
        return heap[0] if heap else None

    def pop_due(self, now_ms: int) -> list[int]:
        """Remove and return the numbers that are due, earliest first."""
        due: list[int] = []
        while (first := self.first()) is not None and first <= now_ms:
            due.extend(sorted(self.at.pop(first)))
        return due


class Visibility:
    """The messages of one queue by where they stand."""

    def __init__(self) -> None:
        self.total = 0
        self.in_flight: dict[int, InFlight] = {}
        self.by_group: dict[str, set[int]] = {}
        self.by_tenant: Counter[str] = Counter()
        self.delayed = 0
        self.returned: dict[int, Returned] = {}
        """Visible messages that were received before or come from another queue. The store orders by visibility, so
        only these can be older than their place in it; their expiry is checked one by one."""
        self._oldest: list[tuple[int, int]] = []
        self._ends = Instants()
        self._delays: dict[int, int] = {}
        self._delay_heap: list[int] = []

    def load(self, loaded: LoadedQueue, now_ms: int) -> None:
        """Begin with the messages that the store has."""
        self.total = loaded.total
        for held in loaded.held:
            if held.visible_ms > now_ms:
                self.hold(in_flight(held, now_ms))
            else:
                self.note_returned(held.id, Returned(held.sent_ms, held.receipt, ""))
        self.delay(loaded.delayed)

    def hold(self, message: InFlight) -> None:
        """Count a received message as in flight."""
        self.in_flight[message.id] = message
        if self.returned:
            self.returned.pop(message.id, None)
        self._ends.add(message.visible_ms, message.id)
        if message.group is not None:
            self.by_group.setdefault(message.group, set()).add(message.id)
        elif message.tenant is not None:
            self.by_tenant[message.tenant] += 1

    def release(self, message: InFlight) -> None:
        """Count a message as no longer in flight."""
        del self.in_flight[message.id]
        self._ends.remove(message.visible_ms, message.id)
        self._leave(message)

    def _leave(self, message: InFlight) -> None:
        if message.group is not None:
            others = self.by_group[message.group]
            others.discard(message.id)
            if not others:
                del self.by_group[message.group]
        elif message.tenant is not None:
            self.by_tenant[message.tenant] -= 1
            if not self.by_tenant[message.tenant]:
                del self.by_tenant[message.tenant]

    def make_visible(self, message: InFlight, reason: str, now_ms: int) -> None:
        """Count a message in flight as visible again."""
        self.release(message)
        self.note_returned(message.id, Returned(message.sent_ms, message.receipt, reason, now_ms))

    def note_returned(self, number: int, returned: Returned) -> None:
        """Note that a visible message was received before or comes from another queue."""
        self.returned[number] = returned
        heappush(self._oldest, (returned.sent_ms, number))
        if len(self._oldest) > _COMPACT_ABOVE + 2 * len(self.returned):
            self._oldest = [(kept.sent_ms, key) for key, kept in self.returned.items()]
            heapify(self._oldest)

    def extend(self, message: InFlight, visible_ms: int) -> None:
        """Keep a message in flight until another instant."""
        self._ends.remove(message.visible_ms, message.id)
        message.visible_ms = visible_ms
        self._ends.add(visible_ms, message.id)

    def delay(self, instants: Iterable[int]) -> None:
        """Count messages that become visible for the first time at these instants."""
        for instant in instants:
            self.delayed += 1
            if instant in self._delays:
                self._delays[instant] += 1
            else:
                self._delays[instant] = 1
                heappush(self._delay_heap, instant)

    def advance(self, now_ms: int) -> list[InFlight]:
        """Bring the counts up to `now_ms`; return the messages whose visibility timeout has ended."""
        ended: list[InFlight] = []
        first = self._ends.first()
        if first is not None and first <= now_ms:
            for number in self._ends.pop_due(now_ms):
                message = self.in_flight.pop(number)
                self._leave(message)
                self.note_returned(number, Returned(message.sent_ms, message.receipt, TIMED_OUT, message.visible_ms))
                ended.append(message)
        while self._delay_heap and self._delay_heap[0] <= now_ms:
            self.delayed -= self._delays.pop(heappop(self._delay_heap))
        return ended

    def next_ms(self) -> int | None:
        """Next instant at which a message becomes visible by time; `None` if there is none."""
        first = self._ends.first()
        if self._delay_heap and (first is None or self._delay_heap[0] < first):
            return self._delay_heap[0]
        return first

    def visible(self) -> int:
        """Number of messages that can be received, as of the last `advance`."""
        return self.total - len(self.in_flight) - self.delayed

    def counts(self) -> Counts:
        """Numbers of messages visible, in flight and delayed, as of the last `advance`."""
        return Counts(self.visible(), len(self.in_flight), self.delayed)

    def pop_outdated(self, sent_before_ms: int) -> list[tuple[int, int]]:
        """Remove and return messages in `returned` sent before an instant, as (id, receipt); some may be claimed."""
        found: list[tuple[int, int]] = []
        while self._oldest and self._oldest[0][0] < sent_before_ms:
            sent_ms, number = heappop(self._oldest)
            kept = self.returned.get(number)
            if kept is not None and kept.sent_ms == sent_ms:
                del self.returned[number]
                found.append((number, kept.receipt))
        return found


def in_flight(held: Held, now_ms: int) -> InFlight:
    """A message that the store has as received, as it is counted; the twelve hours of its receive begin at `now_ms`."""
    return InFlight(
        held.id, held.receipt, held.visible_ms, now_ms, held.receives, held.sent_ms, held.group, held.tenant
    )
