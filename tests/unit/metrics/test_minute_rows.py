"""Minutes of metrics that wait for a store: in virtual time, on a store that answers or does not."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence

import pytest

from statewright.errors import OwnershipLost, StoreError, Unavailable
from statewright.metrics import minute_rows
from statewright.metrics.minute_rows import MinuteRows
from statewright.metrics.points import statistic
from statewright.metrics.reading import points_of, range_of
from statewright.metrics.recorder import Recorder
from statewright.metrics.series import MetricId
from statewright.stores.minutes.protocol import MinuteBlock
from statewright.virtual_clock import VirtualClock, run_virtual


class Rows:
    """A store in memory."""

    def __init__(self) -> None:
        self.blocks: dict[tuple[int, int], bytes] = {}
        self.metrics: dict[int, tuple[int, bytes]] = {}
        self.problem: StoreError | None = None
        self.loses_answers = False
        self.writes = 0

    def of(self, _place: str) -> Rows:
        return self

    def names(self, most: int) -> list[tuple[int, bytes]]:
        self._answer()
        return [(number, body) for number, (_, body) in list(self.metrics.items())[:most]]

    def newest(self) -> int:
        return max(self.metrics, default=0)

    def write(
        self, blocks: Sequence[MinuteBlock], names: Sequence[tuple[int, bytes]], now: int, *, imported: bool = False
    ) -> None:
        self._answer()
        assert not imported
        self.writes += 1
        self.blocks |= {(block.at, block.n): block.body for block in blocks}
        self.metrics |= {number: (now, body) for number, body in names}
        if self.loses_answers:
            self.loses_answers = False
            raise Unavailable("the answer was lost")

    def read(self, start: int, end: int) -> Iterator[bytes]:
        self._answer()
        return iter([body for (at, _), body in sorted(self.blocks.items()) if start <= at < end])

    def sizes(self) -> Iterator[tuple[int, int]]:
        return iter([(at, len(body)) for (at, _), body in sorted(self.blocks.items(), reverse=True)])

    def drop(self, before: int, names_before: int) -> None:
        self.blocks = {key: body for key, body in self.blocks.items() if key[0] >= before}
        self.metrics = {number: one for number, one in self.metrics.items() if one[0] >= names_before}

    def _answer(self) -> None:
        if self.problem is not None:
            raise self.problem


def run(story: Callable[[VirtualClock, Rows], Awaitable[None]]) -> None:
    async def main(clock: VirtualClock) -> None:
        await story(clock, Rows())

    run_virtual(main)


async def later(clock: VirtualClock, seconds: float) -> None:
    await clock.sleep_until(clock.now_ms() + round(seconds * 1000))


async def begun(clock: VirtualClock, rows: Rows) -> Recorder:
    recorder = Recorder(clock, MinuteRows(rows, clock))
    await recorder.start()
    return recorder


async def sums(recorder: Recorder, since_ms: int) -> list[tuple[int, float | None]]:
    asked = range_of(since_ms, recorder.clock.now_ms() + 1000, 60, recorder.now())
    points = await points_of(recorder, MetricId.of("Space", "Calls", {}), asked)
    return [(point.at - since_ms // 1000, statistic(point, "Sum")) for point in points]


def test_a_recorder_has_the_minutes_of_the_one_before() -> None:
    async def story(clock: VirtualClock, rows: Rows) -> None:
        start = clock.now_ms()
        first = await begun(clock, rows)
        for _ in range(3):
            first.counter("Space", "Calls", {}).add(2)
            await later(clock, 60)
        first.counter("Space", "Calls", {}).add(5)
        # It is killed here: the minute under way is lost.
        killed_after = await begun(clock, rows)
        assert await sums(killed_after, start) == [(0, 2.0), (60, 2.0), (120, 2.0)]
        killed_after.counter("Space", "Calls", {}).add(7)
        await killed_after.stop()
        third = await begun(clock, rows)
        third.counter("Space", "Calls", {}).add(1)
        assert await sums(third, start) == [(0, 2.0), (60, 2.0), (120, 2.0), (180, 8.0)]
        assert len(rows.metrics) == 1

    run(story)


def test_points_from_outside_are_read_at_once() -> None:
    async def story(clock: VirtualClock, rows: Rows) -> None:
        start = clock.now_ms()
        await later(clock, 3_600 * 5)
        recorder = await begun(clock, rows)
        metric = MetricId.of("Space", "Calls", {})
        for _ in range(3):
            counter = recorder.counter("Space", "Other", {})
            counter.add()
            point = counter.close_second(start // 1000 + 60)
            assert point is not None
            recorder.put(metric, "Count", [point])
            before = (await sums(recorder, start))[0]
        assert before == (60, 3.0)
        assert rows.writes == 3

    run(story)


def test_minutes_wait_while_the_store_does_not_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def story(clock: VirtualClock, rows: Rows) -> None:
        start = clock.now_ms()
        recorder = await begun(clock, rows)
        rows.problem = Unavailable("the store does not answer")
        for _ in range(5):
            recorder.counter("Space", "Calls", {}).add(2)
            await later(clock, 60)
        assert rows.blocks == {}
        assert [record.message for record in caplog.records] == [
            "minutes of metrics wait in memory: the store does not answer"
        ]
        rows.problem = None
        await later(clock, minute_rows.SPACING_MS / 1000)
        after = await begun(clock, rows)
        assert await sums(after, start) == [(60 * number, 2.0) for number in range(5)]
        assert recorder.size_bytes() > 0

    with caplog.at_level(logging.INFO, "statewright.metrics"):
        run(story)


def test_what_waits_is_bounded_and_said_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minute_rows, "MOST_WAITING_BYTES", 250)

    async def story(clock: VirtualClock, rows: Rows) -> None:
        minutes = MinuteRows(rows, clock)
        await minutes.open(0)
        for _ in range(2):
            rows.problem = Unavailable("no")
            for number in range(6):
                minutes.add(60 * number, b"x" * 100, ())
                await later(clock, 60)
            rows.problem = None
            await later(clock, 60)
        assert [(at, n) for at, n in rows.blocks] == [(240, 5), (300, 6), (240, 11), (300, 12)]
        messages = [record.message for record in caplog.records]
        dropped = "minutes of metrics are dropped, the oldest first: the store does not take them"
        assert messages == ["minutes of metrics wait in memory: no", dropped] * 2
        await minutes.close()

    monkeypatch.setattr(minute_rows, "KEPT_SECONDS", 1 << 40)
    run(story)


def test_a_write_whose_answer_was_lost_counts_once() -> None:
    async def story(clock: VirtualClock, rows: Rows) -> None:
        start = clock.now_ms()
        recorder = await begun(clock, rows)
        rows.loses_answers = True
        recorder.counter("Space", "Calls", {}).add(2)
        await later(clock, 120)
        assert rows.writes == 2
        assert await sums(await begun(clock, rows), start) == [(0, 2.0)]

    run(story)


def test_a_process_that_lost_the_store_writes_nothing_more() -> None:
    async def story(clock: VirtualClock, rows: Rows) -> None:
        recorder = await begun(clock, rows)
        rows.problem = OwnershipLost("another process has the store")
        recorder.counter("Space", "Calls", {}).add(2)
        await later(clock, 120)
        rows.problem = None
        recorder.counter("Space", "Calls", {}).add(2)
        await later(clock, 120)
        await recorder.stop()
        assert (rows.writes, rows.blocks, rows.metrics) == (0, {}, {})

    run(story)


def test_a_store_that_never_answers_delays_no_end(caplog: pytest.LogCaptureFixture) -> None:
    async def story(clock: VirtualClock, rows: Rows) -> None:
        recorder = await begun(clock, rows)
        recorder.counter("Space", "Calls", {}).add(2)
        rows.problem = Unavailable("no")
        await later(clock, 5)
        await recorder.stop()
        assert "the last minutes of metrics are not kept: the store does not answer" in caplog.messages

    run(story)


def test_a_metric_is_named_once_a_day_and_again_after_a_long_rest() -> None:
    async def story(clock: VirtualClock, rows: Rows) -> None:
        start = clock.now_ms() // 1000
        recorder = await begun(clock, rows)
        counter = recorder.counter("Space", "Calls", {})
        counter.add()
        await later(clock, 3_600)
        named, _ = rows.metrics[1]
        assert named == start + 60
        counter.add()
        await later(clock, 86_400)
        assert rows.metrics[1][0] == named
        counter.add()
        recorder.counter("Space", "Other", {}).add()
        await later(clock, 20 * 86_400)
        assert rows.metrics[1][0] > named
        recorder.counter("Space", "Other", {}).add()
        await later(clock, 120)
        assert list(rows.metrics) == [2]
        counter.add()
        await later(clock, 120)
        after = await begun(clock, rows)
        assert {series.id.name: series.number for series in after.all()} == {"Calls": 1, "Other": 2}

    run(story)


def test_an_idle_recorder_has_no_timer() -> None:
    async def story(clock: VirtualClock, rows: Rows) -> None:
        minutes = MinuteRows(rows, clock)
        recorder = Recorder(clock, minutes)
        await recorder.start()
        recorder.counter("Space", "Calls", {}).add()
        await later(clock, 200)
        assert (minutes._timer, minutes._sending) == (None, None)

    run(story)
