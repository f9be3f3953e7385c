"""Metrics of queues: messages sent, received and deleted, and how many are visible, in flight and delayed.

Levels are read at the end of a second in which a queue changed, and when time alone changes them (a delay or a
visibility timeout ends). Between two readings a meter does nothing.

Source: SQS developer guide, "Available CloudWatch metrics for Amazon SQS".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol

from statewright.background import Spawn
from statewright.clock import Clock, Timer
from statewright.errors import ApiError, StoreError
from statewright.metrics.recorder import Recorder
from statewright.metrics.series import Counter, Gauge
from statewright.queues.attributes import QueueSettings
from statewright.queues.visibility import Visibility

NAMESPACE: Final = "AWS/SQS"
OLDEST_EVERY_MS: Final = 10_000
"""Interval between readings of the oldest message of a busy queue."""
YOUNGEST: Final = 0.001
"""The age in seconds of a message that was sent just now: an age of 0 means an empty queue."""
SOONEST_MS: Final = 1_000
MOST_LOOKED_AT: Final = 1_000


class Measured(Protocol):
    """The part of a queue that its meter reads; implemented by `state.QueueState`."""

    @property
    def name(self) -> str:
        """The queue's name."""

    @property
    def settings(self) -> QueueSettings:
        """The queue's settings."""

    @property
    def is_deleted(self) -> bool:
        """True once the queue is deleted."""

    @property
    def visibility(self) -> Visibility | None:
        """The queue's messages by where they stand; `None` before they are read."""

    async def known(self) -> Visibility:
        """The same, read from the store if necessary."""

    def advance(self, visibility: Visibility) -> int:
        """Bring `visibility` up to date; return the current instant."""

    async def oldest_visible_ms(self) -> int | None:
        """Send time of the first visible message; `None` without one."""


class QueueMeter:
    """The metrics of one queue."""

    def __init__(self, recorder: Recorder, queue: Measured, clock: Clock, spawn: Spawn) -> None:
        self._queue = queue
        self._clock = clock
        self._spawn = spawn
        self._recorder = recorder
        dimensions = {"QueueName": queue.name}

        def counter(name: str, unit: str = "Count") -> Counter:
            return recorder.counter(NAMESPACE, name, dimensions, unit)

        def gauge(name: str, read: Callable[[], float | None], unit: str = "Count", *, grows: bool = False) -> Gauge:
            return recorder.gauge(NAMESPACE, name, dimensions, unit, read, is_lasting=True, grows=grows)

        self._sent = counter("NumberOfMessagesSent")
        self._received = counter("NumberOfMessagesReceived")
        self._empty = counter("NumberOfEmptyReceives")
        self._deleted = counter("NumberOfMessagesDeleted")
        self._size = counter("SentMessageSize", "Bytes")
        self._levels = [
            gauge("ApproximateNumberOfMessagesVisible", self._visible),
            gauge("ApproximateNumberOfMessagesNotVisible", lambda: self._level(lambda known: len(known.in_flight))),
            gauge("ApproximateNumberOfMessagesDelayed", lambda: self._level(lambda known: known.delayed)),
            gauge("ApproximateAgeOfOldestMessage", self._age, "Seconds", grows=True),
        ]
        self._repeated: Counter | None = None
        if queue.settings.fifo:
            self._repeated = counter("NumberOfDeduplicatedSentMessages")
            self._levels.append(
                gauge(
                    "ApproximateNumberOfGroupsWithInflightMessages",
                    lambda: self._level(lambda known: len(known.by_group)),
                )
            )
        self._first = self._levels[0]
        self._oldest_ms: int | None = None
        self._oldest_read_ms = 0
        self._timer: Timer | None = None

    def touch(self) -> None:
        """Mark the levels for reading: messages may have become visible, in flight or delayed."""
        if not self._first.is_touched:
            for level in self._levels:
                level.touch()

    def sent(self, bodies: Iterable[str], sent_ms: int, *, alone: bool) -> None:
        """Count sent messages; `alone` if the queue holds no others."""
        count = 0
        for body in bodies:
            count += 1
            self._size.add(len(body) if body.isascii() else len(body.encode("utf-8", "surrogatepass")))
        if count:
            self._sent.add(count)
        if alone:
            self._oldest_ms = sent_ms

    def repeated(self, count: int) -> None:
        """Count deduplicated messages."""
        if self._repeated is not None:
            self._repeated.add(count)

    def received(self, count: int) -> None:
        """Count a receive with so many messages."""
        if count:
            self._received.add(count)
        else:
            self._empty.add()
        self.touch()

    def deleted(self, count: int) -> None:
        """Count deleted messages."""
        if count:
            self._deleted.add(count)
        self.touch()

    def end(self) -> None:
        """End the levels of a deleted queue."""
        if self._timer is not None:
            self._timer.cancel()
        now = self._recorder.now()
        for level in self._levels:
            level.end(now)

    async def refresh(self) -> None:
        """Bring levels up to date."""
        await self._queue.known()
        await self._read_oldest()
        self.touch()

    # ------------------------------------------------------------------ levels

    def _visible(self) -> float | None:
        """Number of visible messages; schedules the next reading for when time changes it."""
        queue = self._queue
        known = queue.visibility
        if known is None:
            # Only the store knows yet; the next call to the queue would have to read it, too.
            if not queue.is_deleted:
                self._spawn(self._try_refresh())
            return None
        now_ms = queue.advance(known)
        due_ms = known.next_ms()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due_ms is not None:
            self._timer = self._clock.call_at(max(due_ms, now_ms + SOONEST_MS), self._due)
        if known.total and now_ms - self._oldest_read_ms >= OLDEST_EVERY_MS:
            self._oldest_read_ms = now_ms
            self._spawn(self._try_refresh())
        return known.visible()

    def _due(self) -> None:
        self._timer = None
        self.touch()

    def _level(self, read: Callable[[Visibility], float]) -> float | None:
        known = self._queue.visibility
        return read(known) if known is not None else None

    def _age(self) -> float | None:
        known = self._queue.visibility
        if known is None:
            return None
        if not known.total:
            self._oldest_ms = None
            return 0
        if self._oldest_ms is None:
            return None
        return max((self._clock.now_ms() - self._oldest_ms) / 1000, YOUNGEST)

    async def _try_refresh(self) -> None:
        try:
            await self.refresh()
        except (ApiError, StoreError):
            # Deleted meanwhile, or the store does not answer: the next call to the queue reports it.
            return

    async def _read_oldest(self) -> None:
        """Read the send time of the oldest message: the first visible one, or one in flight."""
        queue = self._queue
        self._oldest_read_ms = self._clock.now_ms()
        first_ms = await queue.oldest_visible_ms()
        known = queue.visibility
        found = [first_ms] if first_ms is not None else []
        if known is not None and len(known.in_flight) <= MOST_LOOKED_AT:
            found += [message.sent_ms for message in known.in_flight.values()]
        self._oldest_ms = min(found, default=None)
