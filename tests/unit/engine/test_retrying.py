"""A store that is asked until it answers."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from statewright.engine.counters import Counters
from statewright.engine.retrying import PATIENCE, RetryingStore
from statewright.errors import OwnershipLost, Unavailable
from statewright.stores.memory.store import MemoryStore
from statewright.stores.protocol import Commit, Committed, EntryRow, Existing, Row, Stale
from statewright.virtual_clock import VirtualClock, run_virtual


def row(number: int = 1, name: str = "run") -> Row:
    return Row(number, 0, 7, name, "RUNNING", 1, None, b"head", b"")


class Failing:
    """Has a method of a store fail before or after it has done its work, a number of times."""

    def __init__(self, work: Any, times: int, *, after: bool = False) -> None:
        self.work, self.times, self.after = work, times, after
        self.calls = 0

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        fails = self.calls <= self.times
        if fails and not self.after:
            raise Unavailable("no answer")
        answer = await self.work(*args, **kwargs)
        if fails:
            raise Unavailable("no answer")
        return answer


async def opened(clock: VirtualClock) -> tuple[Any, RetryingStore, Counters]:
    store: Any = MemoryStore()
    await store.open("test")
    counters = Counters()
    return store, RetryingStore(store, clock, counters), counters


def test_an_operation_is_asked_again_after_pauses_that_grow_to_a_second() -> None:
    async def main(clock: VirtualClock) -> None:
        store, retrying, _ = await opened(clock)
        await store.executions.commit(Commit(row(), 0, b"state"))
        store.executions.row = Failing(store.executions.row, 9)
        began_ms = clock.now_ms()
        assert await retrying.executions.row(1) == row()
        assert clock.now_ms() - began_ms == 20 + 40 + 80 + 160 + 320 + 640 + 3 * 1_000

    run_virtual(main)


def test_what_is_no_lack_of_an_answer_is_raised_at_once() -> None:
    async def main(clock: VirtualClock) -> None:
        store, retrying, _ = await opened(clock)

        async def gone(*_: Any) -> bool:
            raise OwnershipLost("gone")

        store.catalogue.write = gone
        with pytest.raises(OwnershipLost):
            await retrying.catalogue.write([EntryRow("kind", "key", "", 0, 1, b"")])

    run_virtual(main)


@pytest.mark.parametrize("expected", [0, 1])
def test_a_commit_without_an_answer_that_was_written_counts_as_written(expected: int) -> None:
    async def main(clock: VirtualClock) -> None:
        store, retrying, counters = await opened(clock)
        if expected:
            await store.executions.commit(Commit(row(), 0, b"state"))
        store.executions.commit = Failing(store.executions.commit, 1, after=True)
        assert await retrying.executions.commit(Commit(row(), expected, b"next")) == Committed(expected + 1)
        assert counters.retried_commits == 1

    run_virtual(main)


def test_a_commit_that_another_writer_was_before_stays_refused() -> None:
    async def main(clock: VirtualClock) -> None:
        store, retrying, _ = await opened(clock)
        await store.executions.commit(Commit(row(), 0, b"state"))
        await store.executions.commit(Commit(row(), 1, b"other"))
        await store.executions.commit(Commit(row(), 2, b"other"))
        store.executions.commit = Failing(store.executions.commit, 1)
        assert isinstance(await retrying.executions.commit(Commit(row(), 1, b"late")), Stale)
        assert isinstance(await retrying.executions.commit(Commit(row(2), 0, b"late")), Existing)

    run_virtual(main)


def test_a_late_commit_is_announced_once_and_counted_while_it_lasts() -> None:
    async def main(clock: VirtualClock) -> None:
        store, retrying, _ = await opened(clock)
        late: list[int] = []
        store.executions.commit = failing = Failing(store.executions.commit, PATIENCE + 2)

        def when_late(_problem: Unavailable) -> None:
            late.append(failing.calls)
            assert retrying.executions.unwritten == 1

        await retrying.executions.commit(Commit(row(), 0, b"state"), when_late)
        assert late == [PATIENCE]
        assert retrying.executions.unwritten == 0

    run_virtual(main)


def test_an_outage_has_one_line_at_its_beginning_and_one_at_its_end(caplog: pytest.LogCaptureFixture) -> None:
    async def main(clock: VirtualClock) -> None:
        store, retrying, _ = await opened(clock)
        store.executions.commit = Failing(store.executions.commit, 40)
        store.executions.row = Failing(store.executions.row, 12)
        await asyncio.gather(
            *(retrying.executions.commit(Commit(row(number, f"run-{number}"), 0, b"state")) for number in range(1, 6)),
            *(retrying.executions.row(9) for _ in range(2)),
        )

    with caplog.at_level(logging.INFO, "statewright.engine.retrying"):
        run_virtual(main)
    assert caplog.messages == [
        "the store does not answer (no answer); work waits for it",
        "no work waits for the store any more",
    ]
