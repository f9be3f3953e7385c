"""The clocks: nothing here really sleeps; the real clock runs on the virtual loop with walls of our own."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import logging
import selectors
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from statewright import virtual_clock as virtual_clock_module
from statewright.clock import LONGEST_NAP_MS, BusyToken, Clock, RealClock, TimerQueue
from statewright.virtual_clock import VIRTUAL_START_MS, VirtualClock, VirtualLoop, VirtualTimeStalled, run_virtual
from tests.deadlines import PATIENCE_SECONDS

YEAR_MS = 366 * 86_400_000


# --- virtual time ---------------------------------------------------------------------------------------------------


def test_virtual_time_begins_in_2026_and_stands_still_while_there_is_work():
    async def main(clock: VirtualClock) -> list[int]:
        seen = [clock.now_ms()]
        for _ in range(1000):
            await asyncio.sleep(0)
        seen.append(clock.now_ms())
        return seen

    assert run_virtual(main) == [VIRTUAL_START_MS, VIRTUAL_START_MS]


def test_a_year_passes_at_once_and_to_the_millisecond():
    async def main(clock: VirtualClock) -> int:
        await clock.sleep_until(7 + YEAR_MS)
        return clock.now_ms()

    assert run_virtual(main, start_ms=7) == 7 + YEAR_MS


@pytest.mark.parametrize("years", [1, 30, 90])
def test_every_millisecond_far_from_the_start_is_reached(years):
    async def main(clock: VirtualClock) -> list[int]:
        seen = []
        for step in range(200):
            await clock.sleep_until(years * YEAR_MS + step)
            seen.append(clock.now_ms())
        return seen

    assert run_virtual(main, start_ms=0) == [years * YEAR_MS + step for step in range(200)]


def test_sleeps_and_timeouts_of_libraries_jump_as_well():
    async def main(clock: VirtualClock) -> tuple[int, int]:
        await asyncio.sleep(3600.5)
        after_sleep = clock.now_ms()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), timeout=86_400 * 40)
        return after_sleep, clock.now_ms()

    assert run_virtual(main, start_ms=0) == (3_600_500, 3_600_500 + 86_400_000 * 40)


def test_timers_of_one_instant_run_in_the_order_of_their_scheduling():
    async def main(clock: VirtualClock) -> list[int]:
        ran: list[int] = []
        # Enough of them that an unstable heap would show, with other instants in between.
        for number in range(300):
            clock.call_at(1000 + (number % 3), lambda number=number: ran.append(number))  # type: ignore[misc]
        await clock.sleep_until(2000)
        return ran

    assert run_virtual(main, start_ms=0) == sorted(range(300), key=lambda number: number % 3)


def test_a_due_callback_waits_for_the_next_turn_of_the_loop():
    async def main(clock: VirtualClock) -> list[str]:
        ran: list[str] = []
        clock.call_at(clock.now_ms() - 5000, lambda: ran.append("past"))
        ran.append("asked")
        await clock.sleep_until(clock.now_ms() + 1)
        return ran

    assert run_virtual(main) == ["asked", "past"]


def test_a_cancelled_timer_neither_runs_nor_holds_time_up():
    async def main(clock: VirtualClock) -> tuple[list[str], int]:
        ran: list[str] = []
        late = clock.call_at(500, lambda: ran.append("late"))
        clock.call_at(100, lambda: ran.append("early"))
        clock.call_at(100, late.cancel)
        await clock.sleep_until(1000)
        late.cancel()
        return ran, clock.now_ms()

    assert run_virtual(main, start_ms=0) == (["early"], 1000)


def test_a_cancelled_sleeper_leaves_no_timer_behind():
    async def main(clock: VirtualClock) -> int:
        sleeper = asyncio.create_task(clock.sleep_until(YEAR_MS))
        await asyncio.sleep(0)
        sleeper.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sleeper
        await clock.sleep_until(10)
        return clock.now_ms()

    assert run_virtual(main, start_ms=0) == 10


def test_sleeping_until_the_past_lets_others_run():
    async def main(clock: VirtualClock) -> list[str]:
        order: list[str] = []
        asyncio.get_running_loop().call_soon(order.append, "other")
        await clock.sleep_until(0)
        order.append("me")
        return order

    assert run_virtual(main) == ["other", "me"]


def test_time_stands_still_while_a_thread_works():
    started, finish = threading.Event(), threading.Event()

    def work() -> str:
        started.set()
        assert finish.wait(PATIENCE_SECONDS)
        return "done"

    async def main(clock: VirtualClock) -> tuple[int, str, int]:
        loop = asyncio.get_running_loop()
        clock.call_at(1000, finish.set)  # would run early if time jumped while the thread works
        with clock.busy() as token:
            future = loop.run_in_executor(None, work)
            assert started.wait(PATIENCE_SECONDS)
            assert clock.is_busy
            loop.call_soon(loop.call_soon, finish.set)
            result = await future
        during = clock.now_ms()
        assert not clock.is_busy
        token.release()
        await clock.sleep_until(5000)
        return during, result, clock.now_ms()

    assert run_virtual(main, start_ms=0) == (0, "done", 5000)


def test_a_token_released_from_another_thread_wakes_the_loop(monkeypatch):
    blocked = threading.Event()
    woken: list[bool] = []
    select = selectors.DefaultSelector.select

    def watched(self: selectors.DefaultSelector, timeout: float | None = None) -> list[Any]:
        if timeout is not None:
            return select(self, timeout)
        blocked.set()
        ready = select(self, PATIENCE_SECONDS)  # instead of for ever, so that a loop that is not woken fails the test
        woken.append(bool(ready))
        return ready

    monkeypatch.setattr(selectors.DefaultSelector, "select", watched)

    async def main(clock: VirtualClock) -> int:
        token = clock.busy()

        def release() -> None:
            assert blocked.wait(PATIENCE_SECONDS)
            token.release()

        threading.Thread(target=release).start()
        await clock.sleep_until(60_000)
        return clock.now_ms()

    assert run_virtual(main, start_ms=0) == 60_000
    assert woken == [True]


def test_joining_threads_at_the_end_is_real_work():
    finish = threading.Event()

    async def main(clock: VirtualClock) -> bool:
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, finish.wait, 10)
        closing = asyncio.create_task(loop.shutdown_default_executor())
        await asyncio.sleep(0)
        busy = clock.is_busy
        finish.set()
        await closing
        return busy

    assert run_virtual(main)


def test_time_goes_on_when_the_last_of_several_tokens_is_released():
    async def main(clock: VirtualClock) -> list[bool]:
        one, two = clock.busy(), clock.busy()
        seen = [clock.is_busy]
        one.release()
        one.release()
        seen.append(clock.is_busy)
        two.release()
        seen.append(clock.is_busy)
        await clock.sleep_until(clock.now_ms() + 1000)
        return seen

    assert run_virtual(main) == [True, True, False]


def test_input_that_is_there_is_served_before_time_jumps():
    async def main(clock: VirtualClock) -> list[tuple[bytes, int]]:
        loop = asyncio.get_running_loop()
        left, right = socket.socketpair()
        received: list[tuple[bytes, int]] = []
        with left, right:
            left.setblocking(False)
            clock.call_at(1000, lambda: right.sendall(b"later"))
            for _ in range(2):
                # The first is sent once the loop watches the socket; for the second, time must jump.
                loop.call_soon(lambda: None if received else right.sendall(b"now"))
                received.append((await loop.sock_recv(left, 100), clock.now_ms()))
        return received

    assert run_virtual(main, start_ms=0) == [(b"now", 0), (b"later", 1000)]


def test_waiting_for_what_can_never_happen_is_an_error_and_cleans_up():
    cleaned: list[bool] = []

    async def main(clock: VirtualClock) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    with pytest.raises(VirtualTimeStalled, match="no timer is set"):
        run_virtual(main)
    assert cleaned == [True]


def test_a_loop_with_a_watched_descriptor_waits_for_it():
    left, right = socket.socketpair()

    async def main(clock: VirtualClock) -> bytes:
        left.setblocking(False)
        threading.Thread(target=right.sendall, args=(b"x",)).start()
        return await asyncio.get_running_loop().sock_recv(left, 1)

    with left, right:
        assert run_virtual(main) == b"x"


def test_a_server_loop_waits_for_others_instead_of_stalling():
    loop = VirtualLoop(VirtualClock())

    async def main() -> str:
        future = loop.create_future()
        threading.Thread(target=loop.call_soon_threadsafe, args=(future.set_result, "called")).start()
        return str(await future)

    try:
        assert loop.run_until_complete(main()) == "called"
    finally:
        loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_at(1.0, print)


def test_what_main_raises_comes_out():
    async def main(clock: VirtualClock) -> None:
        await clock.sleep_until(clock.now_ms() + 5)
        raise LookupError("as told")

    with pytest.raises(LookupError, match="as told"):
        run_virtual(main)


def test_a_callback_that_raises_stops_no_other():
    async def main(clock: VirtualClock) -> list[str]:
        seen: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: seen.append(str(context["exception"])))

        def fail() -> None:
            raise LookupError("oops")

        clock.call_at(5, fail)
        clock.call_at(5, lambda: seen.append("second"))
        await clock.sleep_until(6)
        return seen

    assert run_virtual(main, start_ms=0) == ["oops", "second"]


def test_a_clock_serves_one_loop():
    clock = VirtualClock()
    with pytest.raises(RuntimeError, match="no VirtualLoop"):
        clock.call_at(0, print)
    loop = VirtualLoop(clock)
    with pytest.raises(RuntimeError, match="another loop"):
        VirtualLoop(clock)
    token = clock.busy()
    loop.close()
    token.release()
    assert not clock.is_busy


# --- the real clock -------------------------------------------------------------------------------------------------


class Wall:
    """A wall clock that can be set, beside a monotonic clock that cannot; both move with the virtual loop."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.offset_ms = 0

    def monotonic_ns(self) -> int:
        return round(self._clock.elapsed_seconds * 1e9)

    def wall_ns(self) -> int:
        return self.monotonic_ns() + (VIRTUAL_START_MS + self.offset_ms) * 1_000_000


def on_a_wall(body: Callable[[RealClock, Wall], Coroutine[Any, Any, Any]]) -> Any:
    async def main(clock: VirtualClock) -> Any:
        wall = Wall(clock)
        return await body(RealClock(wall.wall_ns, wall.monotonic_ns), wall)

    return run_virtual(main)


def test_the_real_clock_tells_the_time_of_the_host():
    import time

    before = time.time_ns() // 1_000_000
    clock: Clock = RealClock()
    assert before <= clock.now_ms() <= time.time_ns() // 1_000_000 + 1
    with clock.busy() as token:
        assert isinstance(token, BusyToken)
    token.release()


def test_the_real_clock_calls_back_in_order_and_never_early():
    async def body(clock: RealClock, wall: Wall) -> list[tuple[str, int]]:
        start = clock.now_ms()
        ran: list[tuple[str, int]] = []
        for name, after_ms in (("c", 3000), ("a", 1000), ("b", 1000), ("past", -1)):
            clock.call_at(start + after_ms, lambda name=name: ran.append((name, clock.now_ms() - start)))  # type: ignore[misc]
        assert ran == []
        await clock.sleep_until(start + 4000)
        return ran

    assert on_a_wall(body) == [("past", 0), ("a", 1000), ("b", 1000), ("c", 3000)]


def test_the_real_clock_forgets_cancelled_timers_even_in_their_own_turn():
    async def body(clock: RealClock, wall: Wall) -> list[str]:
        start = clock.now_ms()
        ran: list[str] = []
        clock.call_at(start + 10, lambda: ran.append("first"))
        clock.call_at(start + 10, lambda: second.cancel())
        second = clock.call_at(start + 10, lambda: ran.append("second"))
        never = clock.call_at(start + 5, lambda: ran.append("never"))
        never.cancel()
        await clock.sleep_until(start + 20)
        return ran

    assert on_a_wall(body) == ["first"]


def test_the_real_clock_never_runs_backwards():
    async def body(clock: RealClock, wall: Wall) -> list[int]:
        start = clock.now_ms()
        wall.offset_ms = -3_600_000
        seen = []
        for _ in range(4):
            seen.append(clock.now_ms() - start)
            await asyncio.sleep(1800)
        wall.offset_ms = 0
        seen.append(clock.now_ms() - start)
        return seen

    # Half pace for two hours, by which time the wall has caught up; then the wall is set right again.
    assert on_a_wall(body) == [0, 900_000, 1_800_000, 2_700_000, 7_200_000]


def test_asking_ever_so_often_does_not_stop_time():
    monotonic_ns = itertools.count()
    clock = RealClock(lambda: 0, lambda: next(monotonic_ns))
    clock._last_ns = 10**9  # the wall was set back by a second
    seen = [clock._now_ns() for _ in range(10)]
    assert seen == [10**9 + step for step in range(1, 11)]


def test_timers_keep_running_when_the_wall_is_set_back():
    async def body(clock: RealClock, wall: Wall) -> tuple[int, float]:
        start = clock.now_ms()
        wall.offset_ms = -3_600_000
        await clock.sleep_until(start + 10_000)
        return clock.now_ms() - start, wall.monotonic_ns() / 1e9

    now_ms, waited_seconds = on_a_wall(body)
    assert now_ms == 5_000, "the clock goes on at half its pace, and the timer keeps its length"
    assert waited_seconds == pytest.approx(10, abs=0.01)


def test_a_timer_that_was_set_before_the_wall_was_set_back_keeps_its_length():
    async def body(clock: RealClock, wall: Wall) -> list[float]:
        wall.offset_ms = 60_000  # the wall is wrong for a while
        start = clock.now_ms()
        began = wall.monotonic_ns()
        sleepers = [asyncio.create_task(clock.sleep_until(start + 1000 * seconds)) for seconds in (5, 40, 400)]
        await asyncio.sleep(3)
        wall.offset_ms = 0
        found = []
        for sleeper in sleepers:
            await sleeper
            found.append((wall.monotonic_ns() - began) / 1e9)
        later = clock.now_ms()
        await clock.sleep_until(later + 7_000)
        return [*found, (clock.now_ms() - later) / 1000]

    # By 400 s the wall has caught up, and the clock is right again.
    assert on_a_wall(body) == pytest.approx([5, 40, 400, 7], abs=0.01)


def test_jumps_of_the_wall_are_said_once_with_their_size(caplog: pytest.LogCaptureFixture):
    async def body(clock: RealClock, wall: Wall) -> None:
        for offset_ms in (0, 1_500, 0, 90_000, 0, -3_600_000):
            wall.offset_ms = offset_ms
            for _ in range(30):
                clock.now_ms()
                await asyncio.sleep(1)

    with caplog.at_level(logging.WARNING):
        on_a_wall(body)
    said = [one.partition(":")[0].partition(",")[0] for one in caplog.messages]
    assert [words.rpartition(" by ")[0] for words in said] == [
        "the system clock jumped ahead", "the system clock was set back", "the system clock was set back",
    ]  # fmt: skip
    sizes = [float(words.rpartition(" by ")[2].split()[0]) for words in said]
    assert sizes == pytest.approx([90, 90, 3600], abs=1.5)


def test_a_suspended_host_finds_its_timers_within_a_nap():
    async def body(clock: RealClock, wall: Wall) -> float:
        start = clock.now_ms()
        sleeper = asyncio.create_task(clock.sleep_until(start + 8 * 3_600_000))
        await asyncio.sleep(1)
        wall.offset_ms = 9 * 3_600_000  # the lid was closed for nine hours; the monotonic clock did not count them
        await sleeper
        return wall.monotonic_ns() / 1e6

    assert on_a_wall(body) <= 1000 + LONGEST_NAP_MS + 1


def test_callbacks_of_the_real_clock_run_in_the_context_that_asked():
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")

    async def body(clock: RealClock, wall: Wall) -> list[str]:
        seen: list[str] = []
        for value in ("one", "two"):
            variable.set(value)
            clock.call_at(clock.now_ms() + 5, lambda: seen.append(variable.get()))
        variable.set("three")
        await clock.sleep_until(clock.now_ms() + 6)
        return seen

    assert on_a_wall(body) == ["one", "two"]


# --- the queue without a loop ---------------------------------------------------------------------------------------


def test_the_queue_hands_out_by_instant_then_by_arrival():
    queue: TimerQueue[str] = TimerQueue()
    for due_ms, item in ((5, "e"), (1, "a"), (3, "c"), (1, "b"), (3, "d")):
        queue.push(due_ms, item)
    assert len(queue) == 5
    assert queue.next_due_ms() == 1
    assert [queue.pop_next() for _ in range(5)] == [(1, "a"), (1, "b"), (3, "c"), (3, "d"), (5, "e")]
    assert not queue
    assert queue.next_due_ms() is None
    with pytest.raises(IndexError):
        queue.pop_next()


def test_the_queue_cancels_once():
    queue: TimerQueue[None] = TimerQueue()
    first, second = queue.push(1, None), queue.push(2, None)
    assert queue.cancel(first)
    assert not queue.cancel(first)
    assert queue.next_due_ms() == 2
    assert queue.pop_next() == (2, None)
    assert not queue.cancel(second)
    assert not queue.cancel(12345)


def test_the_queue_does_not_keep_what_was_cancelled():
    queue: TimerQueue[int] = TimerQueue()
    kept = [queue.push(10**9 + number, number) for number in range(10)]
    for number in range(10_000):
        queue.cancel(queue.push(10**6 + number, number))
    assert len(queue._heap) < 200
    assert len(queue) == len(kept)
    assert [queue.pop_next()[1] for _ in kept] == list(range(10))


def test_the_queue_is_in_order_after_many_were_cancelled():
    queue: TimerQueue[int] = TimerQueue()
    due_ms = [number * 7919 % 10_007 for number in range(2000)]
    ids = [queue.push(due, due) for due in due_ms]
    for number in range(2000):
        if number % 10:
            queue.cancel(ids[number])
    assert [queue.pop_next()[1] for _ in range(len(queue))] == sorted(due_ms[::10])


# ---------------------------------------------------------------------- virtual time, driven by hand


def driven() -> tuple[VirtualClock, VirtualLoop]:
    clock = VirtualClock()
    return clock, VirtualLoop(clock, stall_is_error=True)


def test_a_loop_runs_to_an_instant_and_does_all_that_is_due_by_then():
    clock, loop = driven()
    seen: list[tuple[str, int]] = []

    def note(name: str) -> None:
        seen.append((name, clock.now_ms() - clock.start_ms))

    def chain() -> None:
        note("first")
        clock.call_at(clock.now_ms(), lambda: note("of the same instant"))

    clock.call_at(clock.start_ms + 1_000, chain)
    clock.call_at(clock.start_ms + 1_001, lambda: note("later"))
    loop.run_to(clock.start_ms + 500)
    assert (seen, clock.now_ms() - clock.start_ms) == ([], 500)
    assert loop.next_due_ms() == clock.start_ms + 1_000
    loop.run_to(clock.start_ms + 1_000)
    assert seen == [("first", 1_000), ("of the same instant", 1_000)]
    loop.run_to(clock.start_ms)
    assert clock.now_ms() - clock.start_ms == 1_000
    loop.run_to(clock.start_ms + 5_000)
    assert (seen[-1], clock.now_ms() - clock.start_ms, loop.next_due_ms()) == (("later", 1_001), 5_000, None)
    loop.close()


def test_what_is_cancelled_is_not_due():
    clock, loop = driven()
    clock.call_at(clock.start_ms + 10, lambda: None).cancel()
    clock.call_at(clock.start_ms + 20, lambda: None)
    assert loop.next_due_ms() == clock.start_ms + 20
    loop.run_to(clock.start_ms + 30)
    assert loop.next_due_ms() is None
    loop.close()


def test_what_real_work_brings_is_taken_in_order_when_all_of_it_has_come():
    """Whoever is faster, the order is that of the numbers, at the instant at which the work began."""

    async def main(clock: VirtualClock) -> list[tuple[int, int]]:
        loop = asyncio.get_running_loop()
        seen: list[tuple[int, int]] = []
        done = asyncio.Event()

        def take(number: int) -> None:
            seen.append((number, clock.now_ms() - clock.start_ms))
            if len(seen) == 3:
                done.set()

        def brought(number: int, token: BusyToken) -> None:
            clock.at_rest(number, lambda: take(number))
            token.release()

        clock.call_at(clock.start_ms + 1, lambda: seen.append((0, 1)) if len(seen) < 3 else None)
        for number, seconds in ((1, 0.03), (2, 0.0), (3, 0.015)):
            token = clock.busy()
            threading.Timer(seconds, loop.call_soon_threadsafe, (brought, number, token)).start()
        await done.wait()
        return seen

    assert run_virtual(main) == [(1, 0), (2, 0), (3, 0)]


def test_real_time_takes_what_comes_at_once():
    seen: list[int] = []
    RealClock().at_rest(5, lambda: seen.append(1))
    assert seen == [1]


def test_somebody_is_told_of_long_real_work(monkeypatch):
    monkeypatch.setattr(virtual_clock_module, "_LONG_WAIT_SECONDS", 0.01)

    async def main(clock: VirtualClock) -> bool:
        token = clock.busy()
        told: list[float] = []

        def listen(seconds: float) -> None:
            told.append(seconds)
            if len(told) == 3:
                token.release()

        clock.on_long_wait.append(listen)
        await clock.sleep_until(clock.now_ms() + 1_000)
        return told == sorted(told) and len(told) == 3

    assert run_virtual(main)


def test_work_for_threads_may_be_done_on_the_spot():
    clock, loop = driven()
    loop.works_inline = True

    async def main() -> list[Any]:
        here = threading.get_ident()
        assert await asyncio.to_thread(threading.get_ident) == here
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 / 0)
        return [clock.now_ms() - clock.start_ms]

    assert loop.run_until_complete(main()) == [0]
    loop.close()
