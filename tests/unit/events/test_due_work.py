"""What falls due is done once; again where the store does not answer; and a mistake of ours stops nothing."""

from __future__ import annotations

import pytest

from statewright.engine.catalogue_timers import timer_row
from statewright.errors import Unavailable
from statewright.events.due_work import STORE_PAUSE_MS, DueWork
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock, run_virtual


class Work:
    """Notes when each number is done; `failing` is raised first."""

    def __init__(self, clock: VirtualClock, *failing: Exception) -> None:
        self.clock = clock
        self.failing = list(failing)
        self.done: list[tuple[int, int]] = []

    async def __call__(self, number: int) -> None:
        self.done.append((number, self.clock.now_ms()))
        if self.failing:
            raise self.failing.pop(0)


@pytest.mark.parametrize(
    ("failing", "after"),
    [
        ((), [0]),
        ((Unavailable("full"), Unavailable("full")), [0, STORE_PAUSE_MS, 2 * STORE_PAUSE_MS]),
        ((KeyError("x"),), [0]),
    ],
)
def test_what_is_due(failing: tuple[Exception, ...], after: list[int]):
    async def main(clock: VirtualClock) -> None:
        store = MemoryStore()
        await store.open("tests")
        begun_ms = clock.now_ms()
        await store.catalogue.write([timer_row("x", 7, begun_ms + 5_000, 1, b"")])
        work = Work(clock, *failing)
        due = DueWork(store.catalogue, "x", clock, "thing", work)
        await due.start()
        due.arm(8, begun_ms + 60_000)
        await clock.sleep_until(begun_ms + 30_000)
        assert work.done == [(7, begun_ms + 5_000 + pause) for pause in after]
        due.disarm(8)
        due.arm(9, begun_ms + 90_000)
        await clock.sleep_until(begun_ms + 120_000)
        assert work.done[len(after) :] == [(9, begun_ms + 90_000)]
        due.arm(10, begun_ms + 150_000)
        await due.stop()
        await clock.sleep_until(begun_ms + 180_000)
        assert len(work.done) == len(after) + 1

    run_virtual(main)
