"""The recorder in virtual time: seconds, minutes, gauges in between, restarts, bounds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from statewright.metrics import recorder as recording
from statewright.metrics.archive import MOST_BYTES, Archive
from statewright.metrics.blocks import Name, block_of
from statewright.metrics.minute_files import MinuteFiles
from statewright.metrics.points import Point, point_of, statistic
from statewright.metrics.reading import Range, is_period, matching, points_of, range_of
from statewright.metrics.recorder import Recorder
from statewright.metrics.series import MetricId
from statewright.virtual_clock import VirtualClock, run_virtual

SPACE = "AWS/Test"
DAY = 86_400


async def later(clock: VirtualClock, seconds: float) -> None:
    await clock.sleep_until(clock.now_ms() + round(seconds * 1000))


async def shown(
    recorder: Recorder, name: str, since_ms: int, period: int, stat: str = "Sum"
) -> list[tuple[int, float | None]]:
    """A statistic by seconds since the beginning."""
    asked = range_of(since_ms, recorder.clock.now_ms() + 1000, period, recorder.now())
    points = await points_of(recorder, MetricId.of(SPACE, name, {}), asked)
    return [(point.at - since_ms // 1000, statistic(point, stat)) for point in points]


def run(story: Callable[[VirtualClock], Awaitable[None]]) -> None:
    async def main(clock: VirtualClock) -> None:
        await story(clock)

    run_virtual(main)


def test_values_count_in_their_second_and_their_minute() -> None:
    async def story(clock: VirtualClock) -> None:
        recorder, start = Recorder(clock), clock.now_ms()
        counter = recorder.counter(SPACE, "Calls", {})
        for _ in range(90):
            counter.add(1)
            counter.add(3, times=2)
            await later(clock, 1)
        counter.add(5)
        assert await shown(recorder, "Calls", start, 60) == [(0, 420.0), (60, 215.0)]
        assert await shown(recorder, "Calls", start, 300) == [(0, 635.0)]
        assert (await shown(recorder, "Calls", start, 1))[-2:] == [(89, 7.0), (90, 5.0)]
        assert (await shown(recorder, "Calls", start, 30, "SampleCount"))[:2] == [(0, 90.0), (30, 90.0)]
        # Reading closes the second under way: what comes then is added to it.
        counter.add(2)
        assert (await shown(recorder, "Calls", start, 1))[-1] == (90, 7.0)
        assert await shown(recorder, "Calls", start, 60, "Maximum") == [(0, 3.0), (60, 5.0)]

    run(story)


def test_an_idle_recorder_sets_no_timer() -> None:
    async def story(clock: VirtualClock) -> None:
        recorder = Recorder(clock)
        counter = recorder.counter(SPACE, "Calls", {})
        counter.add()
        await later(clock, 200)
        assert recorder._second_timer is None
        assert recorder._minute_timer is None
        counter.add()
        assert recorder._second_timer is not None

    run(story)


def test_a_gauge_has_its_level_where_nothing_changes() -> None:
    async def story(clock: VirtualClock) -> None:
        recorder, start = Recorder(clock), clock.now_ms()
        level = 0.0
        gauge = recorder.gauge(SPACE, "Depth", {}, "Count", lambda: level)
        await later(clock, 10)
        level = 4.0
        gauge.touch()
        await later(clock, 170)
        level = 10.0
        gauge.touch()
        gauge.reached(50)
        await later(clock, 90)
        assert await shown(recorder, "Depth", start, 60, "Maximum") == [(0, 4), (60, 4), (120, 4), (180, 50), (240, 10)]
        assert await shown(recorder, "Depth", start, 60, "Minimum") == [(0, 4), (60, 4), (120, 4), (180, 10), (240, 10)]
        assert await shown(recorder, "Depth", start, 60, "Sum") == await shown(recorder, "Depth", start, 60, "Average")
        fine = dict(await shown(recorder, "Depth", start, 1, "Maximum"))
        assert [fine.get(at) for at in (9, 10, 11, 179, 180, 181, 269)] == [None, 4, 4, 4, 50, 10, 10]
        assert dict(await shown(recorder, "Depth", start, 30, "Average"))[150] == 4
        gauge.end(recorder.now())
        await later(clock, 300)
        assert (await shown(recorder, "Depth", start, 60))[-1][0] == 240

    run(story)


@pytest.mark.parametrize("offset", [0.0, 0.5, 58.5, 59.5, 59.9])
@pytest.mark.parametrize("gap", [0.2, 0.9, 1.3])
def test_a_peak_is_seen_wherever_in_a_minute_it_is_read(offset: float, gap: float) -> None:
    async def story(clock: VirtualClock) -> None:
        await later(clock, offset)
        recorder, start = Recorder(clock), clock.now_ms()
        level = 10.0
        gauge = recorder.gauge(SPACE, "Depth", {}, "Count", lambda: level)
        gauge.touch()
        await later(clock, 0.1)
        assert max(value or 0 for _, value in await shown(recorder, "Depth", start, 60, "Maximum")) == 10
        await later(clock, gap)
        level = 0.0
        gauge.touch()
        await later(clock, 0.05)
        assert max(value or 0 for _, value in await shown(recorder, "Depth", start, 60, "Maximum")) == 10
        assert (await shown(recorder, "Depth", start, 60, "Minimum"))[-1][1] == 0

    run(story)


def test_a_minutes_average_of_a_gauge_is_weighed_by_time() -> None:
    async def story(clock: VirtualClock) -> None:
        recorder, start = Recorder(clock), clock.now_ms()
        level = 0.0
        gauge = recorder.gauge(SPACE, "Depth", {}, "Count", lambda: level)
        gauge.touch()
        await later(clock, 45)
        level = 100.0
        gauge.touch()
        await later(clock, 60)
        assert await shown(recorder, "Depth", start, 60, "Average") == [(0, pytest.approx(25)), (60, 100)]

    run(story)


def test_minutes_survive_a_restart_and_a_kill_loses_the_last_one(tmp_path: Path) -> None:
    async def story(clock: VirtualClock) -> None:
        start = clock.now_ms()
        recorder = Recorder(clock, MinuteFiles(tmp_path))
        await recorder.start()
        depth = recorder.gauge(SPACE, "Depth", {}, "Count", lambda: 7.0, is_lasting=True)
        busy = recorder.gauge(SPACE, "Busy", {}, "Count", lambda: 7.0)
        counter = recorder.counter(SPACE, "Time", {}, "Milliseconds")
        depth.touch()
        busy.touch()
        for number in range(150):
            counter.add(number)
            await later(clock, 1)
        killed = Recorder(clock, MinuteFiles(tmp_path))
        await killed.start()
        assert await shown(killed, "Time", start, 60) == [(0, 1770.0), (60, 5370.0)]
        await recorder.stop()
        after = Recorder(clock, MinuteFiles(tmp_path))
        await after.start()
        assert await shown(after, "Time", start, 60) == [(0, 1770.0), (60, 5370.0), (120, 4035.0)]
        assert await shown(after, "Time", start, 60, "p50") == [(0, 29), (60, 89), (120, 134)]
        await later(clock, 10)
        # The second process goes on in the same minute, under the same number.
        after.counter(SPACE, "Time", {}, "Milliseconds").add(65)
        assert (await shown(after, "Time", start, 60))[-1] == (120, 4100.0)
        await later(clock, 200)
        assert [at for at, _ in await shown(after, "Depth", start, 60)] == [0, 60, 120, 180, 240, 300, 360]
        assert [at for at, _ in await shown(after, "Busy", start, 60)] == [0, 60, 120]
        await after.stop()
        last = Recorder(clock, MinuteFiles(tmp_path))
        await last.start()
        assert (await shown(last, "Time", start, 60))[-1] == (120, 4100.0)
        assert [series.id.name for series in matching(last, SPACE, "Time")] == ["Time"]

    run(story)


def test_what_is_older_than_three_hours_comes_from_disk_and_ends_after_fifteen_days(tmp_path: Path) -> None:
    async def story(clock: VirtualClock) -> None:
        start = clock.now_ms()
        recorder = Recorder(clock, MinuteFiles(tmp_path))
        await recorder.start()
        counter = recorder.counter(SPACE, "Calls", {})
        for _ in range(5):
            counter.add(2)
            await later(clock, 6 * 3600)
        assert await shown(recorder, "Calls", start, 3600) == [(21_600 * number, 2.0) for number in range(5)]
        series = recorder.find(MetricId.of(SPACE, "Calls", {}))
        assert series is not None
        assert len(series.minutes) == 1
        await later(clock, 14.5 * DAY)
        counter.add(1)
        await later(clock, 3600)
        assert [at for at, _ in await shown(recorder, "Calls", start, 3600)] == [
            64_800, 86_400, 21_600 * 5 + 14.5 * DAY
        ]  # fmt: skip

    run(story)


def test_a_block_that_was_cut_short_is_dropped_and_written_over(tmp_path: Path) -> None:
    archive = opened(tmp_path, 7_200)
    archive.write(7_200, {3: point_of(7_200, {1.0: 1, 2.0: 5}), 9: point_of(7_200, {4.0: 1})})
    file = tmp_path / "00000002.minutes"
    whole = file.read_bytes()
    for cut in (1, 20, len(whole) - 1):
        file.write_bytes(whole + whole[:cut])
        archive = opened(tmp_path, 7_260)
        assert file.read_bytes() == whole
        archive.write(7_260, {3: point_of(7_260, {8.0: 1})})
        assert [(one.at, one.total) for one in archive.read(3, 0, 9_000)] == [(7_200, 11.0), (7_260, 8.0)]
        assert archive.read_several([3, 9, 4], 0, 9_000).keys() == {3, 9}
        assert archive.read(4, 0, 9_000) == []


def opened(folder: Path, now: int, most_bytes: int = MOST_BYTES) -> Archive:
    files = MinuteFiles(folder, most_bytes=most_bytes)
    files.opened(now)
    return Archive(files)


def test_the_oldest_hours_go_when_there_are_too_many_bytes(tmp_path: Path) -> None:
    archive = opened(tmp_path, 0, most_bytes=400)
    for hour in range(20):
        archive.write(3_600 * hour, {1: Point(3_600 * hour, 1, 1, 1, 1, 1)})
    assert sum(path.stat().st_size for path in tmp_path.glob("*.minutes")) <= 500
    assert archive.read(1, 3_600 * 19, 3_600 * 20)


def test_names_without_any_point_are_dropped_when_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("statewright.metrics.minute_files.COMPACT_ABOVE", 3)
    archive = opened(tmp_path, 7_200)
    names = [Name(number, "A", f"m{number}", (("k", "v"),), "Count", False, False, False) for number in range(1, 9)]
    archive.write(7_200, {number: point_of(7_200, {1.0: 1}) for number in (2, 7)}, names)
    for _ in range(2):
        found = MinuteFiles(tmp_path).opened(7_300)
        assert [(name.number, name.name) for name in found] == [(2, "m2"), (7, "m7")]


def test_a_process_that_may_not_write_names_its_metrics_once_it_may(tmp_path: Path) -> None:
    allowed: list[int] = []
    files = MinuteFiles(tmp_path, lambda: bool(allowed))
    files.opened(7_200)
    name = Name(1, "A", "m", (), "Count", False, False, False)
    block = block_of(7_200, {1: point_of(7_200, {1.0: 1})})
    files.add(7_200, block, [name])
    assert not list(tmp_path.iterdir())
    assert not files.has_name(1, 7_200)
    allowed.append(1)
    files.add(7_200, block, [name])
    assert files.has_name(1, 7_200)
    assert MinuteFiles(tmp_path).opened(7_300) == [name]


def test_a_level_that_cannot_be_told_loses_no_other() -> None:
    async def story(clock: VirtualClock) -> None:
        recorder, start = Recorder(clock), clock.now_ms()

        def broken() -> float:
            raise ValueError("no")

        recorder.gauge(SPACE, "Broken", {}, "Count", broken).touch()
        recorder.counter(SPACE, "Calls", {}).add()
        await later(clock, 90)
        assert await shown(recorder, "Calls", start, 60) == [(0, 1)]
        assert await shown(recorder, "Broken", start, 60) == []

    run(story)


def test_points_may_come_from_outside_with_their_own_instants(tmp_path: Path) -> None:
    async def story(clock: VirtualClock) -> None:
        start = clock.now_ms()
        recorder = Recorder(clock, MinuteFiles(tmp_path))
        await recorder.start()
        await later(clock, 600)
        now, metric = recorder.now(), MetricId.of(SPACE, "Own", {})
        for at in (now, now - 300, now - 300, now + 100):
            recorder.put(metric, "Bytes", [point_of(at, {2.0: 1})])
        recorder.put(metric, "Bytes", [Point(now, 10, 50, 1, 9, 9)])
        assert await shown(recorder, "Own", start, 60) == [(300, 4.0), (600, 52.0)]
        await later(clock, 200)
        assert await shown(recorder, "Own", start, 60) == [(300, 4.0), (600, 52.0), (660, 2.0)]
        await recorder.stop()
        after = Recorder(clock, MinuteFiles(tmp_path))
        await after.start()
        assert await shown(after, "Own", start, 60) == [(300, 4.0), (600, 52.0), (660, 2.0)]

    run(story)


def test_there_are_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_SERIES", 2)
    monkeypatch.setattr(recording, "MOST_SECONDS_BYTES", 20_000)

    async def story(clock: VirtualClock) -> None:
        recorder, start = Recorder(clock), clock.now_ms()
        counters = [recorder.counter(SPACE, "Calls", {"N": str(number)}) for number in range(3)]
        extra = recorder.gauge(SPACE, "Depth", {}, "Count", lambda: 1.0)
        for _ in range(1_200):
            for counter in counters:
                counter.add()
            extra.touch()
            await later(clock, 1)
        assert recorder.refused == 2
        assert len(list(recorder.all())) == 2
        seconds = sum(series.seconds.size_bytes for series in recorder.all())
        assert seconds <= 20_000 + 2 * 60 * 48
        # Minutes are not touched by the bound on seconds.
        asked = Range(start // 1000, recorder.now(), 1_200)
        points = await points_of(recorder, MetricId.of(SPACE, "Calls", {"N": "0"}), asked)
        assert [point.total for point in points] == [1_200]

    run(story)


def test_seconds_are_kept_for_an_hour() -> None:
    async def story(clock: VirtualClock) -> None:
        recorder, start = Recorder(clock), clock.now_ms()
        counter = recorder.counter(SPACE, "Calls", {})
        for _ in range(130):
            counter.add()
            await later(clock, 60)
        seconds = await shown(recorder, "Calls", start, 1)
        assert 59 <= len(seconds) <= 61
        assert len(counter.seconds) <= 62
        assert len(await shown(recorder, "Calls", start, 60)) == 130

    run(story)


@pytest.mark.parametrize(("period", "start", "expected"), [
    (1, 1_000_123, 1_000_123), (10, 1_000_123, 1_000_120), (30, 1_000_123, 1_000_110), (60, 1_000_123, 1_000_080),
    (300, 1_000_123, 1_000_080), (3_600, 1_000_123, 1_000_080),
])  # fmt: skip
def test_a_start_is_rounded_down(period: int, start: int, expected: int) -> None:
    assert range_of(1000 * start, 2_000_000_000, period, 1_000_200).start == expected


def test_an_old_start_is_rounded_down_further() -> None:
    now = 100 * DAY
    assert range_of((now - 20 * DAY + 123) * 1000, now * 1000, 300, now).start == now - 20 * DAY
    assert range_of((now - 70 * DAY + 1_234) * 1000, now * 1000, 3_600, now).start == now - 70 * DAY
    assert [period for period in (0, 1, 2, 5, 30, 59, 60, 90, 120) if is_period(period)] == [1, 5, 30, 60, 120]


def test_minutes_of_several_counters_merge_into_one_point_each(tmp_path: Path) -> None:
    async def story(clock: VirtualClock) -> None:
        recorder = Recorder(clock, MinuteFiles(tmp_path))
        await recorder.start()
        begin = clock.now_ms() // 1000
        one, other, idle = (recorder.counter("N", name, {}) for name in ("one", "other", "idle"))
        # Four hours, so that the first of them are in files alone.
        for hour in range(4):
            one.add(10, times=hour + 1)
            if hour == 2:
                other.add(3)
            await later(clock, 3_600)
        one.add(1)
        end = clock.now_ms() // 1000 + 60
        found = await recorder.merged_between([one, other, idle], begin - 60, end)
        assert {metric.name: (point.samples, point.total) for metric, point in found.items()} == {
            "one": (11, 101), "other": (1, 3),
        }  # fmt: skip
        first = await recorder.merged_between([one, other, idle], begin - 60, begin + 1_800)
        assert {metric.name: point.total for metric, point in first.items()} == {"one": 10}

    run(story)
