"""Time, injected: the real clock, the virtual one with its event loop, and a queue of instants without a loop.

Nothing outside this module starts a timer or sleeps for a duration; a test enforces it. Code that must wait asks the
`Clock` it was given, so the same engine runs in real time and in virtual time. Leases, socket timeouts, lock files and
drains do not use this module but the real monotonic clock.

Instants are integer epoch milliseconds.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import re
import selectors
import sys
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from types import TracebackType
from typing import Any, Final, Generic, Protocol, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

VIRTUAL_START_MS: Final = 1_767_225_600_000
"""The default start of virtual time: 2026-01-01T00:00:00Z."""

LONGEST_NAP_MS: Final = 1_000
"""The real clock looks at the wall at least this often while a timer waits.

The wall may be set forward, or the host suspended.
"""

_NS_PER_MS: Final = 1_000_000
_COMPACT_ABOVE: Final = 64
_LONG_WAIT_SECONDS: Final = 1.0


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

    def call_at(self, due_ms: int, callback: Callable[[], object]) -> Timer:
        """Call back from the event loop at `due_ms`, or on its next turn if that has passed.

        Callbacks of one instant run in the order in which they were asked for.
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
    the host was suspended, due timers run within `LONGEST_NAP_MS`. The two sources are parameters for tests.
    """

    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns, monotonic_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self.pauses = Pauses()
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns
        self._last_monotonic_ns = monotonic_ns()
        self._last_ns = wall_ns()
        self._timers: TimerQueue[_RealTimer] = TimerQueue()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_due_ms = 0

    def now_ms(self) -> int:
        """The present instant; never less than before."""
        return self._now_ns() // _NS_PER_MS

    def call_at(self, due_ms: int, callback: Callable[[], object]) -> Timer:
        """See `Clock.call_at`. Never early; on an idle loop about a millisecond late at most."""
        timer = _RealTimer(callback, self._timers)
        timer.timer_id = self._timers.push(due_ms, timer)
        if self._alarm is None or due_ms < self._alarm_due_ms:
            self._set_alarm(due_ms)
        return timer

    async def sleep_until(self, due_ms: int) -> None:
        """See `Clock.sleep_until`."""
        await _sleep_until(self, due_ms)

    def busy(self) -> BusyToken:
        """A token without effect: real time does not wait."""
        return BusyToken()

    def at_rest(self, order: int, callback: Callable[[], object]) -> None:  # noqa: ARG002
        """Call immediately: real time does not wait."""
        callback()

    def _now_ns(self) -> int:
        monotonic_ns = self._monotonic_ns()
        # Rounded up: a caller who asks every nanosecond must not stop time.
        at_least_ns = self._last_ns + (monotonic_ns - self._last_monotonic_ns + 1) // 2
        self._last_monotonic_ns = monotonic_ns
        self._last_ns = max(self._wall_ns(), at_least_ns)
        return self._last_ns

    def _set_alarm(self, due_ms: int) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        wait_ns = min(max(due_ms * _NS_PER_MS - self._now_ns(), 0), LONGEST_NAP_MS * _NS_PER_MS)
        self._alarm = asyncio.get_running_loop().call_later(wait_ns / 1e9, self._ring)
        self._alarm_due_ms = due_ms

    def _ring(self) -> None:
        self._alarm = None
        now_ms = self.now_ms()
        loop = asyncio.get_running_loop()
        while (due_ms := self._timers.next_due_ms()) is not None:
            if due_ms > now_ms:
                self._set_alarm(due_ms)
                return
            # Through the loop, so that a callback that raises goes to the loop's exception handler and stops no other.
            timer = self._timers.pop_next()[1]
            loop.call_soon(timer.run, context=timer.context)


class VirtualClock:
    """Time that stands still while there is work and jumps to the next timer when there is none.

    A clock serves the one `VirtualLoop` made with it.
    """

    def __init__(self, start_ms: int = VIRTUAL_START_MS) -> None:
        self.start_ms = start_ms
        self.pauses = Pauses()
        self.elapsed_seconds = 0.0
        """Virtual seconds since the start; moved by the loop alone."""
        self._loop: VirtualLoop | None = None
        # A set, because adding and discarding are atomic: tokens are released from executor threads too.
        self._held: set[BusyToken] = set()
        self._resting: list[tuple[int, int, Callable[[], object], contextvars.Context]] = []
        self.on_long_wait: list[Callable[[float], None]] = []
        """Called once for each real second for which the loop has waited for real work, with the seconds so far."""

    def now_ms(self) -> int:
        """The present instant; it changes only between two turns of the loop."""
        return self.start_ms + int(self.elapsed_seconds * 1000 + 1e-3)

    def call_at(self, due_ms: int, callback: Callable[[], object]) -> Timer:
        """See `Clock.call_at`.

        Raises: RuntimeError when no `VirtualLoop` was made with this clock.
        """
        if self._loop is None:
            raise RuntimeError("this VirtualClock has no VirtualLoop yet")
        return self._loop.call_at((due_ms - self.start_ms) / 1000, callback)

    async def sleep_until(self, due_ms: int) -> None:
        """See `Clock.sleep_until`."""
        await _sleep_until(self, due_ms)

    def busy(self) -> BusyToken:
        """Time stands still until the token is released; the loop really waits meanwhile."""
        token = BusyToken(self._on_release)
        self._held.add(token)
        return token

    @property
    def is_busy(self) -> bool:
        """True if a token is held."""
        return bool(self._held)

    def at_rest(self, order: int, callback: Callable[[], object]) -> None:
        """See `Clock.at_rest`. Time stands still until it has been taken."""
        self._resting.append((order, len(self._resting), callback, contextvars.copy_context()))

    def take_rest(self) -> bool:
        """Have the loop take what waits for this rest; false when nothing does. For the loop alone."""
        if not self._resting or self._loop is None:
            return False
        resting, self._resting = self._resting, []
        resting.sort(key=_by_order)
        for _, _, callback, context in resting:
            self._loop.call_soon(callback, context=context)
        return True

    def serve(self, loop: VirtualLoop) -> None:
        """Bind the clock to its loop, which calls this itself.

        Raises: RuntimeError when the clock has a loop already.
        """
        if self._loop is not None:
            raise RuntimeError("this VirtualClock serves another loop")
        self._loop = loop

    def _on_release(self, token: BusyToken) -> None:
        self._held.discard(token)
        # The loop may sit in a wait without end, which only a call from outside interrupts.
        if not self._held and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_do_nothing)


class VirtualTimeStalled(RuntimeError):
    """Every task waits, no timer is set and nothing real is in flight: nothing can happen any more."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """The standard selector loop on virtual time, so that `asyncio.sleep` and timeouts inside libraries jump too.

    With no callback ready, no input or output ready and no busy token, it jumps to the next timer. When there is no
    timer either, it waits for input and output; with `stall_is_error` it raises `VirtualTimeStalled` if nothing is
    watched for these. `run_to` drives it by hand, from one instant to the next.
    """

    _clock_resolution: float
    _scheduled: list[Any]
    _timer_cancelled_count: int

    def __init__(self, clock: VirtualClock, *, stall_is_error: bool = False) -> None:
        self.clock = clock
        self.stall_is_error = stall_is_error
        self._timers_made = 0
        selector = _JumpingSelector(self)
        super().__init__(selector)
        try:
            clock.serve(self)
        except RuntimeError:
            self.close()
            raise
        self.watched_at_rest = len(selector.get_map())
        """File descriptors that the loop watches for itself."""
        # A timer counts as due within this many seconds. The standard nanosecond is less than what a float can tell
        # apart after a month of virtual time: such a timer would never run.
        self._clock_resolution = 1e-6
        self.works_inline = False
        """True if work for threads is done on the spot, so that no thread's pace decides what comes first."""
        self.horizon: float | None = None
        """Up to where `run_to` lets time jump, in seconds as `time` counts them."""

    def nothing_comes_from_outside(self) -> None:
        """Ignore watched descriptors: code that may still write to one holds a busy token meanwhile."""
        self.watched_at_rest = sys.maxsize

    def run_to(self, due_ms: int) -> None:
        """Run until an instant, everything that is due then included, and return when only later timers are left.

        An instant that is not later than now lets what is due now come to rest.
        """
        horizon = max((due_ms - self.clock.start_ms) / 1000, self.clock.elapsed_seconds)
        self.horizon = horizon
        try:
            self.run_forever()
        finally:
            self.horizon = None

    def next_due_ms(self) -> int | None:
        """When the first timer is due, in epoch milliseconds; `None` when there is none."""
        while self._scheduled and self._scheduled[0].cancelled():
            # As the standard loop drops them.
            timer = heapq.heappop(self._scheduled)
            timer._scheduled = False
            self._timer_cancelled_count -= 1
        return self.clock.start_ms + round(self._scheduled[0].when() * 1000) if self._scheduled else None

    def time(self) -> float:
        """Virtual seconds since the clock's start."""
        return self.clock.elapsed_seconds

    def next_timer_at(self) -> float:
        """When the first timer is due, in seconds as `time` counts them; there must be one."""
        when: float = self._scheduled[0].when()
        return when

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """As the standard loop's, but timers of one instant run in the order in which they were set."""
        if self.is_closed():
            raise RuntimeError("Event loop is closed")
        timer = _OrderedTimer(when, callback, args, self, context)
        timer.order = self._timers_made
        self._timers_made += 1
        heapq.heappush(self._scheduled, timer)
        timer._scheduled = True
        return timer

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """As the standard loop's; done at once where the loop works inline."""
        if not self.works_inline:
            return super().run_in_executor(executor, func, *args)
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as problem:
            done.set_exception(problem)
        return done

    async def shutdown_default_executor(self, *args: Any, **kwargs: Any) -> None:
        """As the standard loop's. Joining threads is real work, whose time limit must not be jumped to."""
        with self.clock.busy():
            await super().shutdown_default_executor(*args, **kwargs)


def run_virtual(main: Callable[[VirtualClock], Coroutine[object, None, T]], start_ms: int = VIRTUAL_START_MS) -> T:
    """Run `main(clock)` to its end on a virtual loop of its own, as `asyncio.run` does on the standard one.

    Raises: VirtualTimeStalled when `main` waits for what can never happen; else whatever `main` raises.
    """
    clock = VirtualClock(start_ms)
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock, stall_is_error=True)) as runner:
        return runner.run(main(clock))


_DURATION_PART = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)(ms|s|m|h|d)")
_UNIT_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONGEST_DURATION_MS: Final = 100 * 366 * 86_400_000


def parse_duration_ms(value: str | float) -> int:
    """Read a duration as users write it: `250ms`, `1.5s`, `2m`, `1h30m`, `7d`; a number counts seconds.

    Raises: ValueError, with a sentence for the author of the setting.
    """
    if isinstance(value, str):
        text = value.strip()
        parts = _DURATION_PART.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            raise ValueError(f"'{value}' is not a length of time: write it like 250ms, 1.5s, 2m, 1h30m or 7d")
        milliseconds = sum(float(number) * _UNIT_MS[unit] for number, unit in parts)
    else:
        milliseconds = -1 if isinstance(value, bool) else value * 1000
    if not 0 <= milliseconds <= _LONGEST_DURATION_MS:
        raise ValueError(f"{value} is not a length of time between 0 and 100 years")
    return round(milliseconds)


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


class _OrderedTimer(asyncio.TimerHandle):
    """A timer of the virtual loop. The standard ones of one instant come off the heap in any order."""

    __slots__ = ("order",)
    _scheduled: bool
    order: int

    def __lt__(self, other: Any) -> bool:
        return (self.when(), self.order) < (other.when(), other.order)


class _JumpingSelector(selectors.DefaultSelector):
    """Let time jump to the next timer where the loop would block until then."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        clock = self._loop.clock
        if clock.is_busy:
            return self._wait_for_real_work()
        if clock.take_rest():
            return ready
        horizon = self._loop.horizon
        if horizon is not None and (timeout is None or self._loop.next_timer_at() > horizon + 1e-6):
            clock.elapsed_seconds = horizon
            self._loop.stop()
            return ready
        if timeout is not None:
            clock.elapsed_seconds = self._loop.next_timer_at()
            return ready
        if self._loop.stall_is_error and len(self.get_map()) <= self._loop.watched_at_rest:
            raise VirtualTimeStalled(
                "every task waits, no timer is set and nothing real is in flight; hold `clock.busy()` around work "
                "in threads and other processes"
            )
        return super().select(None)

    def _wait_for_real_work(self) -> list[tuple[selectors.SelectorKey, int]]:
        clock = self._loop.clock
        began = time.monotonic()
        while True:
            ready = super().select(_LONG_WAIT_SECONDS if clock.on_long_wait else None)
            # A watcher that asks for something has the loop turn once more.
            if ready or not clock.is_busy:
                return ready
            for told in clock.on_long_wait:
                told(time.monotonic() - began)


def _by_order(one: tuple[int, int, object, object]) -> tuple[int, int]:
    return one[:2]


async def _sleep_until(clock: Clock, due_ms: int) -> None:
    if due_ms <= clock.now_ms():
        await asyncio.sleep(0)
        return
    awake = asyncio.Event()
    timer = clock.call_at(due_ms, awake.set)
    try:
        await awake.wait()
    finally:
        timer.cancel()


def _do_nothing() -> None:
    """A callback of released busy tokens: its only purpose is to wake the loop."""
