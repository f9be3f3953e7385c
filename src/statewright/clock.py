"""Time, injected: what a clock is, the real one, and a queue of instants without a loop.

Only this module and `virtual_clock.py` start a timer or sleep for a duration; a test enforces it. Code that must wait
asks the `Clock` it was given, so the same engine runs in real time and in virtual time. Leases, socket timeouts, lock
files and drains do not use these modules but the real monotonic clock.

Instants are integer epoch milliseconds.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Generic, Protocol, TypeVar

T = TypeVar("T")

LONGEST_NAP_MS: Final = 1_000
"""The real clock looks at the wall at least this often while a timer waits.

The wall may be set forward, or the host suspended.
"""

JUMP_MS: Final = 2_000
"""A smaller jump of the wall is not worth a line: daemons that keep it right make such ones."""

_NS_PER_MS: Final = 1_000_000
_JUMP_NS: Final = JUMP_MS * _NS_PER_MS
_COMPACT_ABOVE: Final = 64

logger = logging.getLogger("statewright.clock")


class Pauses:
    """How long a running system really waits where a workflow says so: all of it, a part (`scale`), or nothing (0).

    Wait states, back-offs of Retry, delays of messages and repeats of Event invocations ask here. Timeouts,
    heartbeats and visibility keep their length: they bound work, which takes as long as it takes.
    """

    __slots__ = ("scale",)

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def due_ms(self, now_ms: int, due_ms: int) -> int:
        """When a pause that is asked for now and would be over at `due_ms` is over."""
        return due_ms if self.scale == 1.0 or due_ms <= now_ms else now_ms + round((due_ms - now_ms) * self.scale)


class Timer(Protocol):
    """A callback that waits for its instant."""

    def cancel(self) -> None:
        """Forget the callback; harmless when it has run or was cancelled before."""


class Clock(Protocol):
    """The time, and calls at given instants. Used from the thread of the running event loop."""

    pauses: Pauses

    def now_ms(self) -> int:
        """The present instant; never less than before."""

    def held_back_ms(self) -> int:
        """How much time `now_ms` has not counted, because the wall was set back and time went on slowly.

        `now_ms` and this together make a timeline that keeps its pace: differences on it are lengths of time.
        """

    def call_at(self, due_ms: int, callback: Callable[[], object]) -> Timer:
        """Call back from the event loop at `due_ms`, or on its next turn if that has passed.

        The time until then keeps its length (`held_back_ms`). Callbacks of one instant run in the order in which they
        were asked for.
        """

    async def sleep_until(self, due_ms: int) -> None:
        """Return at `due_ms`; let others run once even if that has passed."""

    def busy(self) -> BusyToken:
        """Hold time still while something real is in flight; may be released from any thread."""

    def at_rest(self, order: int, callback: Callable[[], object]) -> None:
        """Take what real work has brought: in real time now; in virtual time once all of this instant's is done.

        What came at one rest is taken by `order`, then by arrival, so that it does not matter who was faster.
        """


class BusyToken:
    """Held from its creation until `release`, or for the length of a `with` block."""

    __slots__ = ("_on_release",)

    def __init__(self, on_release: Callable[[BusyToken], None] | None = None) -> None:
        self._on_release = on_release

    def release(self) -> None:
        """Let time continue; harmless when repeated."""
        on_release, self._on_release = self._on_release, None
        if on_release is not None:
            on_release(self)

    def __enter__(self) -> BusyToken:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class TimerQueue(Generic[T]):
    """Items by due instant; items of one instant come out in the order in which they went in. No loop, no thread."""

    __slots__ = ("_heap", "_items", "_next_id")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int]] = []
        self._items: dict[int, T] = {}
        self._next_id = 0

    def push(self, due_ms: int, item: T) -> int:
        """Add an item; the answer is its id for `cancel`."""
        timer_id = self._next_id
        self._next_id = timer_id + 1
        self._items[timer_id] = item
        heapq.heappush(self._heap, (due_ms, timer_id))
        return timer_id

    def cancel(self, timer_id: int) -> bool:
        """Remove an item; false when it has come out or was cancelled before."""
        if self._items.pop(timer_id, self) is self:
            return False
        # Cancelled entries stay in the heap until they surface. Timeouts are nearly always cancelled, so rebuild
        # before such entries outnumber the live ones.
        if len(self._heap) > _COMPACT_ABOVE + 2 * len(self._items):
            self._heap = [entry for entry in self._heap if entry[1] in self._items]
            heapq.heapify(self._heap)
        return True

    def next_due_ms(self) -> int | None:
        """The earliest due instant, or None when the queue is empty."""
        heap = self._heap
        while heap:
            if heap[0][1] in self._items:
                return heap[0][0]
            heapq.heappop(heap)
        return None

    def pop_next(self) -> tuple[int, T]:
        """Take out the item that is due first, with its instant.

        Raises: IndexError when the queue is empty.
        """
        while True:
            due_ms, timer_id = heapq.heappop(self._heap)
            if timer_id in self._items:
                return due_ms, self._items.pop(timer_id)

    def __len__(self) -> int:
        return len(self._items)


class RealClock:
    """Wall time that never runs backwards, on the running asyncio loop (uvloop too).

    When the wall is set back, time continues at half its pace until the wall has caught up; when it is set forward, or
    the host was suspended, due timers run within `LONGEST_NAP_MS`. A jump of more than `JUMP_MS` is logged once. The
    two sources are parameters for tests.

    Timers keep the monotonic pace meanwhile: a timer that was set for ten seconds runs after ten seconds, although the
    clock shows only five more. So timers are kept on a second timeline, which differs from the first by the time that
    was held back. What is stored are instants of the first: a wait that is not in memory, because it is
    long or because the server was started again, is due by the wall, late by as much as the wall was wrong.
    """

    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns, monotonic_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self.pauses = Pauses()
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns
        self._last_monotonic_ns = monotonic_ns()
        self._last_ns = wall_ns()
        self._held_back_ns = 0
        """Time that has passed by the monotonic clock and not by this one, because the wall was set back."""
        self._ahead_ns = 0
        """How far this clock is ahead of a wall that was set back."""
        self._timers: TimerQueue[_RealTimer] = TimerQueue()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_due_ms = 0

    def now_ms(self) -> int:
        """The present instant; never less than before."""
        return self._now_ns() // _NS_PER_MS

    def call_at(self, due_ms: int, callback: Callable[[], object]) -> Timer:
        """See `Clock.call_at`. Never early; on an idle loop about a millisecond late at most."""
        timer = _RealTimer(callback, self._timers)
        steady_due_ms = due_ms + self.held_back_ms()
        timer.timer_id = self._timers.push(steady_due_ms, timer)
        if self._alarm is None or steady_due_ms < self._alarm_due_ms:
            self._set_alarm(steady_due_ms)
        return timer

    def held_back_ms(self) -> int:
        """See `Clock.held_back_ms`; rounded up."""
        return -(-self._held_back_ns // _NS_PER_MS)

    async def sleep_until(self, due_ms: int) -> None:
        """See `Clock.sleep_until`."""
        await sleep_until(self, due_ms)

    def busy(self) -> BusyToken:
        """A token without effect: real time does not wait."""
        return BusyToken()

    def at_rest(self, order: int, callback: Callable[[], object]) -> None:  # noqa: ARG002
        """Call immediately: real time does not wait."""
        callback()

    def _now_ns(self) -> int:
        monotonic_ns = self._monotonic_ns()
        elapsed_ns = monotonic_ns - self._last_monotonic_ns
        self._last_monotonic_ns = monotonic_ns
        # Rounded up: a caller who asks every nanosecond must not stop time.
        at_least_ns = self._last_ns + (elapsed_ns + 1) // 2
        wall_ns = self._wall_ns()
        now_ns = wall_ns if wall_ns > at_least_ns else at_least_ns
        jump_ns = wall_ns - self._last_ns - elapsed_ns
        if jump_ns > _JUMP_NS:
            logger.warning(
                "the system clock jumped ahead by %.1f s, or the machine was suspended: what is due by it runs now",
                jump_ns / 1e9,
            )
        # The two sources are read one after the other, so less than a millisecond means nothing.
        if self._ahead_ns or now_ns - wall_ns > _NS_PER_MS:
            self._hold_back(now_ns, now_ns - wall_ns, elapsed_ns)
        self._last_ns = now_ns
        return now_ns

    def _hold_back(self, now_ns: int, ahead_ns: int, elapsed_ns: int) -> None:
        """Count the time that passed and is not shown, while the wall is behind, or has just caught up."""
        self._held_back_ns += max(elapsed_ns - (now_ns - self._last_ns), 0)
        if ahead_ns > self._ahead_ns + _JUMP_NS:
            logger.warning(
                "the system clock was set back by %.1f s: it is wrong now, or was wrong before. Times shown here go on "
                "at half the pace until it has caught up; waits and timeouts keep their length",
                (ahead_ns - self._ahead_ns + elapsed_ns // 2) / 1e9,
            )
        self._ahead_ns = ahead_ns if ahead_ns > _NS_PER_MS else 0

    def _set_alarm(self, steady_due_ms: int) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        left_ns = steady_due_ms * _NS_PER_MS - self._now_ns() - self._held_back_ns
        wait_ns = min(max(left_ns, 0), LONGEST_NAP_MS * _NS_PER_MS)
        self._alarm = asyncio.get_running_loop().call_later(wait_ns / 1e9, self._ring)
        self._alarm_due_ms = steady_due_ms

    def _ring(self) -> None:
        self._alarm = None
        now_ms = (self._now_ns() + self._held_back_ns) // _NS_PER_MS
        loop = asyncio.get_running_loop()
        while (due_ms := self._timers.next_due_ms()) is not None:
            if due_ms > now_ms:
                self._set_alarm(due_ms)
                return
            # Through the loop, so that a callback that raises goes to the loop's exception handler and stops no other.
            timer = self._timers.pop_next()[1]
            loop.call_soon(timer.run, context=timer.context)


class _RealTimer:
    """A callback of `RealClock`, with the context variables of the code that asked for it."""

    __slots__ = ("_callback", "_timers", "context", "timer_id")

    def __init__(self, callback: Callable[[], object], timers: TimerQueue[_RealTimer]) -> None:
        self._callback: Callable[[], object] | None = callback
        self._timers = timers
        self.context = contextvars.copy_context()
        self.timer_id = -1

    def cancel(self) -> None:
        # The queue no longer knows a timer that is due in this very turn of the loop; the callback tells.
        self._callback = None
        self._timers.cancel(self.timer_id)

    def run(self) -> None:
        if self._callback is not None:
            self._callback()


async def sleep_until(clock: Clock, due_ms: int) -> None:
    """`Clock.sleep_until` by means of `call_at`, for the clocks themselves."""
    if due_ms <= clock.now_ms():
        await asyncio.sleep(0)
        return
    awake = asyncio.Event()
    timer = clock.call_at(due_ms, awake.set)
    try:
        await awake.wait()
    finally:
        timer.cancel()
