"""The due-soon heap against a store of its own: everything fires once and on time, and little is held."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest

from statewright.clock import Timer
from statewright.engine.timers import MOST_ON_THEIR_WAY, REACH_MS, DueSoon
from statewright.errors import Unavailable
from statewright.stores.protocol import TimerRow
from statewright.virtual_clock import VIRTUAL_START_MS, VirtualClock, VirtualLoop, run_virtual


class Timers:
    """A store of timers alone; an answer takes a millisecond."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.rows: set[tuple[int, int, int]] = set()
        self.looks = 0
        self.fails = 0

    async def due(self, shard: int, until_ms: int, limit: int, after: TimerRow | None = None) -> list[TimerRow]:
        self.looks += 1
        if self.fails:
            self.fails -= 1
            raise Unavailable("gone fishing")
        place = (after.due_ms, after.execution, after.timer) if after is not None else (-1, 0, 0)
        found = sorted(row for row in self.rows if row > place and row[0] <= until_ms)[:limit]
        await self.clock.sleep_until(self.clock.now_ms() + 1)
        return [TimerRow(execution, timer, due_ms) for due_ms, execution, timer in found]


class Scene:
    """A heap of at most 100 timers, and executions that take a timer a moment after it has fired."""

    def __init__(self, clock: VirtualClock, takes_ms: int = 2) -> None:
        self.clock = clock
        self.store = Timers(clock)
        self.takes_ms = takes_ms
        self.fired: dict[tuple[int, int], int] = {}
        self.dues: dict[tuple[int, int], int] = {}
        self.on_their_way = 0
        self.most_on_their_way = 0
        self.most_held = 0
        self.heap = DueSoon(self.store, clock, 0, self.fire, 100)

    def put(self, execution: int, due_ms: int) -> None:
        self.dues[execution, 1] = due_ms
        self.store.rows.add((due_ms, execution, 1))

    def arm(self, execution: int, due_ms: int) -> None:
        self.put(execution, due_ms)
        self.heap.arm(execution, 1, due_ms)
        self.most_held = max(self.most_held, len(self.heap))

    def drop(self, execution: int) -> None:
        self.store.rows.discard((self.dues.pop((execution, 1)), execution, 1))
        self.heap.disarm(execution, 1)

    def fire(self, execution: int, timer: int, settled: Callable[[], None]) -> None:
        due_ms = self.dues[execution, timer]
        if (due_ms, execution, timer) not in self.store.rows:
            # What was called off, or has fired before, is nothing to an execution.
            settled()
            return
        assert self.clock.now_ms() >= due_ms
        self.fired.setdefault((execution, timer), self.clock.now_ms() - due_ms)
        self.on_their_way += 1
        self.most_on_their_way = max(self.most_on_their_way, self.on_their_way)
        self.most_held = max(self.most_held, len(self.heap))

        def taken() -> None:
            self.on_their_way -= 1
            self.store.rows.discard((due_ms, execution, timer))
            settled()

        self.clock.call_at(self.clock.now_ms() + self.takes_ms, taken)

    async def until(self, at_ms: int) -> None:
        await self.clock.sleep_until(VIRTUAL_START_MS + at_ms)


def test_a_store_full_of_due_timers_is_fired_a_few_at_a_time():
    async def body(clock: VirtualClock) -> None:
        scene = Scene(clock)
        for number in range(3_000):
            scene.put(number, VIRTUAL_START_MS - 1000)
        await scene.heap.recover()
        await scene.until(5_000)
        assert len(scene.fired) == 3_000
        assert scene.most_held <= 100
        assert scene.most_on_their_way <= MOST_ON_THEIR_WAY
        assert scene.store.looks < 100
        assert len(scene.heap) == 0

    run_virtual(body)


def test_a_month_of_waiting_is_looked_at_when_it_comes_near():
    async def body(clock: VirtualClock) -> None:
        scene = Scene(clock)
        month_ms = 30 * 86_400_000
        scene.put(1, VIRTUAL_START_MS + month_ms)
        await scene.heap.recover()
        scene.arm(2, VIRTUAL_START_MS + 2 * month_ms)
        await scene.until(month_ms - REACH_MS - 1)
        assert len(scene.heap) == 0
        await scene.until(2 * month_ms + 1)
        assert scene.fired == {(1, 1): 0, (2, 1): 0}
        assert scene.store.looks < 12

    run_virtual(body)


@pytest.mark.parametrize("seed", range(40))
def test_everything_fires_once_and_on_time_whatever_is_armed_and_called_off(seed: int):
    chance = random.Random(seed)

    async def body(clock: VirtualClock) -> None:
        scene = Scene(clock, takes_ms=chance.choice((0, 1, 5)))
        span_ms = chance.choice((50, 5_000, 400_000))
        for number in range(chance.choice((0, 50, 400))):
            scene.put(number, VIRTUAL_START_MS + chance.randrange(span_ms))
        await scene.heap.recover()
        fails = scene.store.fails = chance.choice((0, 0, 2))
        at_ms = 0
        for number in range(1_000, 1_000 + chance.choice((10, 300))):
            at_ms += chance.choice((0, 0, 1, 3, 100))
            await scene.until(at_ms)
            scene.arm(number, clock.now_ms() + chance.randrange(1, span_ms))
            if chance.random() < 0.2:
                open_ones = [one for one in sorted(scene.dues) if one not in scene.fired]
                if open_ones:
                    scene.drop(chance.choice(open_ones)[0])
        await scene.until(at_ms + span_ms + 10_000)
        assert set(scene.fired) == set(scene.dues)
        assert scene.most_held <= 101
        # A look takes a millisecond, one that fails half a second; whoever waits for room waits that long.
        assert max(scene.fired.values(), default=0) <= (1_100 if fails else 5)

    run_virtual(body)


class HeldBack(VirtualClock):
    """A clock that shows half of the time that passes, as the real one does while the wall is behind."""

    slow = False
    _held_ms = 0.0
    _seen = 0.0

    def now_ms(self) -> int:
        shown = super().now_ms()
        if self.slow:
            self._held_ms += (shown - self._seen) / 2
        self._seen = shown
        return shown - int(self._held_ms)

    def held_back_ms(self) -> int:
        self.now_ms()
        return int(self._held_ms)

    def call_at(self, due_ms: int, callback: Callable[[], object]) -> Timer:
        return super().call_at(due_ms + self.held_back_ms(), callback)


@pytest.mark.parametrize("has_lengths", [True, False])
def test_timers_that_were_armed_for_a_length_keep_it_while_time_is_held_back(has_lengths: bool) -> None:
    clock = HeldBack()

    async def main() -> list[float]:
        found: dict[int, float] = {}

        def fire(execution: int, _timer: int, settled: Callable[[], None]) -> None:
            found[execution] = round(clock.elapsed_seconds, 1)
            settled()

        heap = DueSoon(Timers(clock), clock, 0, fire, has_lengths=has_lengths)
        clock.now_ms()
        clock.slow = True
        for execution, seconds in ((1, 2), (2, 10), (3, 30)):
            heap.arm(execution, 1, clock.now_ms() + 1000 * seconds)
        await asyncio.sleep(100)
        heap.stop()
        return [found[execution] for execution in (1, 2, 3)]

    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock, stall_is_error=True)) as runner:
        found = runner.run(main())
    assert found == pytest.approx([2, 10, 30] if has_lengths else [4, 20, 60], abs=0.2)
