"""Reading metrics: points of a period, a statistic of each, and the list of metrics.

Gauges have a level between two points, so a period without a point has the last level. Instants are epoch
seconds, periods seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from statewright.metrics.points import Point, merged, statistic
from statewright.metrics.recorder import SECONDS_KEPT, Recorder
from statewright.metrics.series import MetricId, Series

FINE_PERIODS: Final = (1, 5, 10, 20, 30)
"""Source: API reference, GetMetricStatistics, Period; multiples of 60 are the others."""
LISTED_SECONDS: Final = 14 * 86_400
"""Source: API reference, ListMetrics: metrics without data for two weeks are not listed."""
RECENT_SECONDS: Final = 3 * 3_600
ACTIVE_SECONDS: Final = 6 * 3_600
"""How long a gauge at 0 continues to have points. Source: SQS developer guide, monitoring: queues are inactive
after six hours."""


class Range(NamedTuple):
    """A range of time and its steps; `start` is already aligned to the period."""

    start: int
    end: int
    period: int


def is_period(period: int) -> bool:
    """True if this is a valid length of a period."""
    return period in FINE_PERIODS or (period > 0 and period % 60 == 0)


def range_of(start_ms: int, end_ms: int, period: int, now: int) -> Range:
    """Round a start down as the service does: to the period below a minute, else to a minute, five, or an hour.

    Source: API reference, GetMetricStatistics, StartTime.
    """
    start, end = start_ms // 1000, -(-end_ms // 1000)
    age = now - start
    if period in FINE_PERIODS:
        step = period
    else:
        step = 60 if age <= 15 * 86_400 else 300 if age <= 63 * 86_400 else 3_600
    return Range(start - start % step, end, period)


async def points_of(recorder: Recorder, metric: MetricId, asked: Range) -> list[Point]:
    """The points of a metric, one for each period that has any, oldest first."""
    look = recorder.looks.get(metric.namespace)
    if look is not None and asked.end > recorder.now() - 60:
        await look(dict(metric.dimensions))
    series = recorder.find(metric)
    if series is None:
        return []
    fine = asked.period in FINE_PERIODS
    end = min(asked.end, recorder.now() + 2 * SECONDS_KEPT)
    if fine:
        recorder.settle()
        found = series.seconds.between(max(asked.start, recorder.now() - SECONDS_KEPT), end)
    else:
        # A period that begins before the end is shown whole.
        found = await recorder.minutes(series, asked.start, end)
    if series.is_gauge:
        found = _carried(recorder, series, found, asked, 1 if fine else 60)
    return in_periods(found, asked)


def in_periods(points: Iterable[Point], asked: Range) -> list[Point]:
    """Points merged by period."""
    found: list[Point] = []
    group: list[Point] = []
    begin = asked.start
    for point in points:
        at = point.at - (point.at - asked.start) % asked.period
        if group and at != begin:
            found += _one(begin, group)
            group = []
        begin = at
        group.append(point)
    return found + _one(begin, group)


def _one(begin: int, group: Sequence[Point]) -> list[Point]:
    point = merged(begin, group)
    return [point] if point is not None else []


def _carried(recorder: Recorder, series: Series, found: list[Point], asked: Range, step: int) -> list[Point]:
    """A gauge's points with its level in between: from the last point before the range, until now or its end."""
    first = asked.start
    if step == 1:
        first = max(first, recorder.now() - SECONDS_KEPT)
    before = (series.seconds if step == 1 else series.minutes).last_before(first)
    if before is None and step == 1:
        before = series.minutes.last_before(first - first % 60)
    end = min(asked.end, recorder.now() + 1)
    if series.ended_at is not None:
        end = min(end, series.ended_at)
    filled: list[Point] = []
    level = before
    due = first
    for point in [*found, None]:
        until = point.at if point is not None else end
        if level is not None:
            filled += _level(recorder, series, level, range(due, until, step))
        if point is not None:
            filled.append(point)
            level = point
            due = point.at + step
    return filled


def _level(recorder: Recorder, series: Series, level: Point, instants: range) -> Iterable[Point]:
    """The level of a point at later instants, for as long as it is assumed to last."""
    last = instants.stop
    if not series.is_lasting and level.at < recorder.started:
        # The level ended with its process.
        last = min(last, recorder.started)
    value = level.last
    if value == 0:
        last = min(last, level.at + ACTIVE_SECONDS)
    for at in range(instants.start, last, instants.step):
        now = value + at - level.at if series.grows and value else value
        yield Point(at, 1, now, now, now, now)


def values_of(points: Iterable[Point], name: str) -> list[tuple[int, float]]:
    """A statistic of each point that has it, with its instant."""
    found = []
    for point in points:
        value = statistic(point, name)
        if value is not None:
            found.append((point.at, value))
    return found


def matching(
    recorder: Recorder,
    namespace: str | None,
    name: str | None,
    dimensions: Sequence[tuple[str, str | None]] = (),
    *,
    recent: bool = False,
) -> list[Series]:
    """Metrics of a namespace and a name that have these dimensions, with these values if given."""
    recorder.settle()
    oldest = recorder.now() - (RECENT_SECONDS if recent else LISTED_SECONDS)
    found = []
    for series in recorder.all():
        metric = series.id
        if (namespace is not None and metric.namespace != namespace) or (name is not None and metric.name != name):
            continue
        has = dict(metric.dimensions)
        if not all(key in has and (value is None or has[key] == value) for key, value in dimensions):
            continue
        # The age of minutes that are on disk alone is not known.
        if series.last_at >= oldest or (series.last_at == 0 and series.number and not recent):
            found.append(series)
    return found
