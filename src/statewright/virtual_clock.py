"""Virtual time: a clock that jumps to the next timer when there is no work, and the event loop that it needs.

It jumps only when nothing real is in flight, so a result is delivered at the instant at which its work was dispatched.
Owns the loop and its selector; what a whole system in virtual time is, is in `virtual/system.py`.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import selectors
import sys
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, Final, TypeVar, TypeVarTuple

from statewright.clock import BusyToken, Pauses, Timer, sleep_until

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

VIRTUAL_START_MS: Final = 1_767_225_600_000
"""The default start of virtual time: 2026-01-01T00:00:00Z."""

_LONG_WAIT_SECONDS: Final = 1.0


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

    def held_back_ms(self) -> int:
        """See `Clock.held_back_ms`: virtual time is never wrong."""
        return 0

    def call_at(self, due_ms: int, callback: Callable[[], object]) -> Timer:
        """See `Clock.call_at`.

        Raises: RuntimeError when no `VirtualLoop` was made with this clock.
        """
        if self._loop is None:
            raise RuntimeError("this VirtualClock has no VirtualLoop yet")
        return self._loop.call_at((due_ms - self.start_ms) / 1000, callback)

    async def sleep_until(self, due_ms: int) -> None:
        """See `Clock.sleep_until`."""
        await sleep_until(self, due_ms)

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

    Raises: VirtualTimeStalled when `main` waits for what can never happen; else what `main` raises.
    """
    clock = VirtualClock(start_ms)
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock, stall_is_error=True)) as runner:
        return runner.run(main(clock))


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
            for report in clock.on_long_wait:
                report(time.monotonic() - began)


def _by_order(one: tuple[int, int, object, object]) -> tuple[int, int]:
    return one[:2]


def _do_nothing() -> None:
    """A callback of released busy tokens: its only purpose is to wake the loop."""
