from __future__ import annotations

from typing import Any

import pytest

from statewright.errors import Unavailable
from statewright.functions.event_sources import filtering, pollers
from statewright.functions.event_sources.pollers import Poller
from statewright.functions.event_sources.records import MappingRecord
from statewright.functions.event_sources.scaling import PROFILES
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.functions.queue_bench import FUNCTION_ARN, QUEUE_ARN, FakeFunctions, FakeQueues

SECOND = 1_000
MINUTE = 60_000


class Bench:
    """A poller between a queue and a function."""

    def __init__(self, clock: VirtualClock, handler: Any, *, profile: str = "lambda-2023", slots: int = 1_000,
                 visibility_seconds: int = 30, most_receives: int = 1_000, **mapping: Any) -> None:  # fmt: skip
        self.clock = clock
        self.queues = FakeQueues(clock, visibility_seconds=visibility_seconds, most_receives=most_receives)
        self.functions = FakeFunctions(clock, handler, slots)
        record = MappingRecord("uuid", QUEUE_ARN, FUNCTION_ARN, 0, **mapping)
        self.poller = Poller(record, PROFILES[profile], self.functions, self.queues)  # type: ignore[arg-type]
        self.began_ms = clock.now_ms()

    @property
    def sizes(self) -> list[int]:
        return [len(event["Records"]) for event in self.functions.events]

    async def until(self, seconds: float) -> None:
        await self.clock.sleep_until(self.began_ms + round(seconds * 1000))


async def nothing(_event: Any) -> None:
    return None


def taking(clock: VirtualClock, seconds: float):
    async def handler(_event: Any) -> None:
        await clock.sleep_until(clock.now_ms() + round(seconds * 1000))

    return handler


def test_processed_messages_are_deleted() -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, nothing)
        bench.queues.send(*map(str, range(25)))
        bench.poller.start()
        await bench.until(1)
        assert sorted(bench.sizes) == [5, 10, 10]
        assert (bench.queues.deleted, bench.poller.counts.done) == (25, 25)
        bench.queues.send("late")
        await bench.until(2)
        assert bench.queues.deleted == 26
        await bench.poller.stop()

    run_virtual(main)


def test_failed_messages_return_with_their_visibility_timeout() -> None:
    async def main(clock: VirtualClock) -> None:
        async def handler(event: Any) -> None:
            if event["Records"][0]["attributes"]["ApproximateReceiveCount"] == "1":
                raise RuntimeError("not yet")

        bench = Bench(clock, handler)
        bench.queues.send("a", "b")
        bench.poller.start()
        await bench.until(29)
        assert (bench.sizes, bench.queues.deleted, bench.poller.counts.failed) == ([2], 0, 2)
        await bench.until(31)
        assert (bench.sizes, bench.queues.deleted) == ([2, 2], 2)
        await bench.poller.stop()

    run_virtual(main)


def test_only_the_reported_messages_of_a_batch_return() -> None:
    async def main(clock: VirtualClock) -> None:
        async def handler(event: Any) -> Any:
            bad = [one["messageId"] for one in event["Records"] if one["body"] == "poison"]
            return {"batchItemFailures": [{"itemIdentifier": name} for name in bad]}

        bench = Bench(clock, handler, reports_failures=True, most_receives=3)
        bench.queues.send(*["fine"] * 9, "poison")
        bench.poller.start()
        await bench.until(200)
        assert (bench.queues.deleted, len(bench.queues.dead)) == (9, 1)
        assert bench.sizes == [10, 1, 1]
        await bench.poller.stop()

    run_virtual(main)


def test_without_reports_the_fine_ones_die_with_the_poison() -> None:
    async def main(clock: VirtualClock) -> None:
        async def handler(event: Any) -> None:
            if any(one["body"] == "poison" for one in event["Records"]):
                raise RuntimeError("poison")

        bench = Bench(clock, handler, most_receives=3)
        bench.queues.send(*["fine"] * 9, "poison")
        bench.poller.start()
        await bench.until(200)
        assert (bench.queues.deleted, len(bench.queues.dead)) == (0, 10)
        await bench.poller.stop()

    run_virtual(main)


def test_a_window_gathers_messages() -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, nothing, batch_size=100, window_seconds=5)
        bench.poller.start()
        for second in range(4):
            await bench.until(second)
            bench.queues.send("a", "b")
        await bench.until(4.9)
        assert bench.sizes == []
        await bench.until(5.1)
        assert bench.sizes == [8]
        bench.queues.send(*["c"] * 100)
        await bench.until(5.2)
        assert bench.sizes == [8, 100]
        await bench.poller.stop()

    run_virtual(main)


@pytest.mark.parametrize("window", [30, 25, 300])
def test_a_message_is_once_in_a_batch_and_deleted_however_long_the_window(window: int) -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, taking(clock, 4), batch_size=100, window_seconds=window, visibility_seconds=30)
        bench.queues.send("a", "b")
        bench.poller.start()
        await bench.until(10)
        bench.queues.send("c")
        await bench.until(24.9)
        assert bench.sizes == []
        await bench.until(25.1)
        assert bench.sizes == [3], "the window closes while the first messages are still hidden"
        await bench.until(200)
        assert (bench.sizes, bench.queues.deleted, bench.poller.counts.done) == ([3], 3, 3)
        assert set(bench.functions.seen.values()) == {1}
        await bench.poller.stop()

    run_virtual(main)


def test_a_message_that_is_received_again_replaces_its_older_receive() -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, nothing, batch_size=100, window_seconds=20)
        bench.queues.send("a", "b")
        bench.poller.start()
        await bench.until(1)
        [handle, _] = list(bench.queues.hidden)
        await bench.queues.change_visibility(None, [(handle, 0)])
        await bench.until(21)
        assert (bench.sizes, bench.queues.deleted) == ([2], 2)
        await bench.poller.stop()

    run_virtual(main)


def test_messages_that_become_visible_again_while_no_batch_can_start_are_not_run_twice() -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, nothing, slots=1, batch_size=100, window_seconds=10, profile="ideal")
        bench.queues.send("a", "b")
        bench.poller.start()
        await bench.until(1)
        bench.functions.invoker.concurrency.enter("other")
        await bench.until(45)
        bench.functions.invoker.concurrency.leave("other")
        await bench.until(90)
        assert (bench.sizes, bench.queues.deleted) == ([2], 2)
        assert bench.poller.counts.never_run == 2
        await bench.poller.stop()

    run_virtual(main)


def test_no_event_is_longer_than_a_function_takes() -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, nothing, batch_size=20, window_seconds=1)
        bench.queues.send(*["x" * 1_000_000] * 10)
        bench.poller.start()
        await bench.until(30)
        assert sum(bench.sizes) == 10
        assert max(bench.sizes) == 6
        await bench.poller.stop()

    run_virtual(main)


def test_filtered_messages_are_deleted_unseen() -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, nothing, filters=['{"body": {"kind": ["a"]}}'])
        bench.queues.send('{"kind": "a"}', '{"kind": "b"}', "plain")
        bench.poller.start()
        await bench.until(1)
        assert (bench.sizes, bench.queues.deleted) == ([1], 3)
        assert (bench.poller.counts.done, bench.poller.counts.filtered) == (1, 2)
        await bench.poller.stop()

    run_virtual(main)


def test_a_filter_that_fails_leaves_the_message_in_its_queue_and_the_poller_running(caplog) -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, nothing, filters=['{"body": {"kind": ["a"]}}'])
        passes = bench.poller._passes
        assert passes is not None

        def failing(record: dict[str, Any], matching: Any) -> bool:
            if "poison" in record["body"]:
                raise OverflowError("too large")
            return passes(record, matching)

        bench.poller._passes = failing
        bench.queues.send('{"kind": "a"}', '{"kind": "poison"}', '{"kind": "a"}')
        bench.poller.start()
        await bench.until(1)
        assert (bench.poller.counts.done, bench.queues.deleted, bench.poller.problem) == (2, 2, None)
        assert "stays in its queue because of a bug in Statewright" in caplog.text
        await bench.poller.stop()

    run_virtual(main)


def test_a_number_of_many_digits_ends_no_poller() -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, nothing, filters=['{"body": {"n": [{"numeric": ["<", 5]}]}}'])
        bench.queues.send('{"n": 1' + "0" * 400 + "}", '{"n": 1}')
        bench.poller.start()
        await bench.until(1)
        assert (bench.poller.counts.done, bench.poller.counts.filtered) == (1, 1)
        await bench.poller.stop()

    run_virtual(main)


@pytest.mark.parametrize("most", [1_000, 0])
def test_messages_that_are_dear_to_filter_are_filtered_in_a_thread_or_stay_in_the_queue(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, most: int
) -> None:
    monkeypatch.setattr(pollers, "LOOP_WORK", 0)
    monkeypatch.setattr(filtering, "MOST_WORK", most)

    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, nothing, filters=['{"body": {"kind": ["a"]}}'])
        bench.queues.send('{"kind": ["a"]}', '{"kind": ["b"]}', "x")
        bench.poller.start()
        await bench.until(1)
        assert (bench.sizes, bench.queues.deleted) == (([1], 3) if most else ([], 1))
        await bench.poller.stop()

    run_virtual(main)
    assert caplog.text.count("stays in its queue") == (0 if most else 2)


def test_a_maximum_is_never_exceeded_and_nothing_is_pulled_beyond_it() -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, taking(clock, 10), maximum=3, batch_size=1, most_receives=1)
        bench.queues.send(*map(str, range(30)))
        bench.poller.start()
        await bench.until(5)
        assert (bench.functions.peak, len(bench.queues.hidden)) == (3, 3)
        await bench.until(101)
        assert (bench.functions.peak, bench.queues.deleted, bench.poller.counts.throttles) == (3, 30, 0)
        await bench.poller.stop()

    run_virtual(main)


def test_ideal_takes_every_slot_and_no_more() -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, taking(clock, 3), profile="ideal", slots=50, batch_size=1)
        bench.queues.send(*map(str, range(500)))
        bench.poller.start()
        await bench.until(60)
        assert (bench.functions.peak, bench.queues.deleted, bench.poller.counts.throttles) == (50, 500, 0)
        assert bench.functions.last_start_ms - bench.began_ms == pytest.approx(27 * SECOND, abs=9 * SECOND)
        await bench.poller.stop()

    run_virtual(main)


def test_a_throttled_batch_is_tried_again_while_its_messages_are_hidden() -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, nothing, slots=1)
        bench.functions.invoker.concurrency.enter("other")
        bench.queues.send("a")
        bench.poller.start()
        await bench.until(2)
        assert bench.poller.counts.throttles >= 1
        bench.functions.invoker.concurrency.leave("other")
        await bench.until(10)
        assert (bench.queues.deleted, bench.poller.counts.never_run) == (1, 0)
        await bench.poller.stop()

    run_virtual(main)


def test_a_throttled_batch_is_released_in_the_end() -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, nothing, slots=1, most_receives=1)
        bench.functions.invoker.concurrency.enter("other")
        bench.queues.send("a")
        bench.poller.start()
        await bench.until(100)
        assert (bench.poller.counts.never_run, len(bench.queues.dead)) == (1, 1)
        await bench.poller.stop()

    run_virtual(main)


def test_a_retired_poller_finishes_its_batches() -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, taking(clock, 5))
        told: list[int] = []
        bench.queues.send("a")
        bench.poller.start()
        await bench.until(1)
        bench.poller.retire(lambda: told.append(clock.now_ms()))
        bench.queues.send("b")
        await bench.until(20)
        assert told == [bench.began_ms + 5 * SECOND]
        assert (bench.queues.deleted, len(bench.queues.visible)) == (1, 1)

    run_virtual(main)


def test_messages_of_an_open_window_become_visible_when_the_poller_stops() -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, nothing, batch_size=100, window_seconds=300)
        bench.queues.send("a", "b")
        bench.poller.start()
        await bench.until(10)
        assert len(bench.queues.hidden) == 2
        await bench.poller.stop()
        assert (len(bench.queues.hidden), len(bench.queues.visible)) == (0, 2)

    run_virtual(main)


def test_a_poller_retries_while_its_queue_is_unavailable() -> None:
    async def main(clock: VirtualClock) -> None:
        bench = Bench(clock, nothing)
        bench.queues.down = Unavailable("the store does not answer")
        bench.poller.start()
        await bench.until(5)
        bench.queues.down = None
        bench.queues.send("a")
        await bench.until(60)
        assert bench.queues.deleted == 1
        await bench.poller.stop()

    run_virtual(main)


def burst(profile: str = "lambda-2022", **more: Any) -> Bench:
    """15,000 messages in 68 seconds, two minutes of work each, hidden for ten minutes."""
    kept: list[Bench] = []

    async def main(clock: VirtualClock) -> None:
        options = {"batch_size": 1, "visibility_seconds": 600, "most_receives": 1, **more}
        bench = Bench(clock, taking(clock, 120), profile=profile, **options)
        kept.append(bench)
        bench.poller.start()
        for second in range(68):
            bench.queues.send(*map(str, range(15_000 * second // 68, 15_000 * (second + 1) // 68)))
            await bench.until(second + 1)
        await bench.until(80 * 60)
        await bench.poller.stop()

    run_virtual(main)
    return kept[0]


def test_the_burst_of_2022() -> None:
    bench = burst()
    functions = bench.functions
    assert functions.full_at_ms is not None
    assert (functions.full_at_ms - bench.began_ms) / MINUTE == pytest.approx(16.6, abs=0.1)
    assert (functions.last_start_ms - bench.began_ms) / MINUTE == pytest.approx(37, abs=1)
    counts = bench.poller.counts
    assert counts.done + len(bench.queues.dead) == 15_000
    assert counts.never_run == counts.throttles == len(bench.queues.dead) == pytest.approx(105, abs=5)
    assert counts.failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("more", [{"most_receives": 2}, {"maximum": 1_000}])
def test_what_would_have_saved_the_burst(more) -> None:
    bench = burst(**more)
    assert (bench.poller.counts.done, bench.queues.dead) == (15_000, [])
