"""The recorder: the list of metrics, and the ends of their seconds and minutes.

Code that counts holds a `Counter` or a `Gauge` and never reads the clock. The first value of a second sets one timer
for its end; the first of a minute another. An idle process has none. Reading is `reading.py`, and `archive.py` keeps
minutes.

Bounds: `MOST_SERIES` metrics; seconds for an hour and `MOST_SECONDS_BYTES`, minutes in memory for three hours (where no
archive keeps them, fifteen days) and `MOST_MINUTES_BYTES`. Beyond a bound on bytes the oldest points are dropped first.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

from statewright.background import in_thread
from statewright.clock import Clock, Timer
from statewright.metrics.archive import KEPT_SECONDS, Archive, Minutes
from statewright.metrics.blocks import Name
from statewright.metrics.columns import Column
from statewright.metrics.points import Point, merged
from statewright.metrics.series import Counter, Gauge, MetricId, Series

MOST_SERIES: Final = 20_000
MOST_SECONDS_BYTES: Final = 64 << 20
MOST_MINUTES_BYTES: Final = 64 << 20
SECONDS_KEPT: Final = 3_600
MINUTES_IN_MEMORY: Final = 3 * 3_600
"""Source: CloudWatch API reference, GetMetricStatistics: what dashboards ask for is mostly the last three hours."""

log = logging.getLogger("statewright.metrics")

Look = Callable[[Mapping[str, str]], Awaitable[None]]
"""Brings gauges of some dimensions up to date before they are read."""
OnValue = Callable[[int], None]
"""Called with the second of a new point of a metric, once it can be read."""


class Recorder:
    """All metrics of a process. `minutes` keeps them, None for memory alone."""

    def __init__(self, clock: Clock, minutes: Minutes | None = None) -> None:
        self.clock = clock
        self.refused = 0
        """Metrics that are not recorded because there are too many."""
        self.looks: dict[str, Look] = {}
        """By namespace."""
        self.started = self.now()
        self._series: dict[MetricId, Series] = {}
        self._dirty: list[Series] = []
        self._second = 0
        self._minutes: dict[int, set[Series]] = {}
        """Metrics with points in minutes that are not closed, by the minute's first second."""
        self._second_timer: Timer | None = None
        self._minute_timer: Timer | None = None
        self._archive = Archive(minutes) if minutes is not None else None
        self._numbers = 0
        self._overflow = _Sink(MetricId("", ""), "None", _nowhere)
        self._watched: dict[MetricId, list[OnValue]] = {}

    def now(self) -> int:
        """The present second."""
        return self.clock.now_ms() // 1000

    async def start(self) -> None:
        """Read the names of metrics that a former process has kept; their points are read on request."""
        if self._archive is None:
            return
        self.started = self.now()
        known = await self._archive.minutes.open(self.started)
        for name in known.names:
            self._remember(name)
        self._numbers = max(self._numbers, known.newest)

    async def stop(self) -> None:
        """Write the points that are not written yet."""
        self.settle()
        for minute in sorted(self._minutes):
            self._close(minute, min(minute + 60, self.now() + 1))
        for timer in (self._second_timer, self._minute_timer):
            if timer is not None:
                timer.cancel()
        self._second_timer = self._minute_timer = None
        if self._archive is not None:
            await self._archive.minutes.close()

    # ------------------------------------------------------------------ metrics

    def counter(self, namespace: str, name: str, dimensions: Mapping[str, str], unit: str = "Count") -> Counter:
        """The metric of that name and dimensions, made at the first request."""
        metric = MetricId.of(namespace, name, dimensions)
        found = self._series.get(metric)
        if isinstance(found, Counter):
            return found
        made = Counter(metric, unit, self._opened)
        return made if self._enter(made, found) else self._overflow

    def gauge(
        self,
        namespace: str,
        name: str,
        dimensions: Mapping[str, str],
        unit: str,
        read: Callable[[], float | None],
        *,
        is_lasting: bool = False,
        grows: bool = False,
    ) -> Gauge:
        """The gauge of that name and dimensions; `read` replaces its former reader. See `Series`."""
        metric = MetricId.of(namespace, name, dimensions)
        found = self._series.get(metric)
        if isinstance(found, Gauge):
            found.read = read
            found.ended_at = None
            return found
        made = Gauge(metric, unit, self._opened, read, is_lasting=is_lasting, grows=grows)
        if not self._enter(made, found):
            made = Gauge(metric, unit, _nowhere, _nothing)
            # It stays marked as touched, so its level is never read.
            made.is_touched = True
        return made

    def find(self, metric: MetricId) -> Series | None:
        """A metric that exists."""
        return self._series.get(metric)

    def all(self) -> Iterable[Series]:
        """Every metric, in order of creation."""
        return self._series.values()

    def watch(self, metric: MetricId, on_value: OnValue) -> Callable[[], None]:
        """Announce each new point of a metric, which need not exist yet; call the result to end it.

        A gauge is announced only if its level has changed.
        """
        self._watched.setdefault(metric, []).append(on_value)

        def unwatch() -> None:
            left = [one for one in self._watched.get(metric, ()) if one is not on_value]
            if left:
                self._watched[metric] = left
            else:
                self._watched.pop(metric, None)

        return unwatch

    def _announce(self, metric: MetricId, second: int) -> None:
        for on_value in self._watched.get(metric, ()):
            on_value(second)

    def _enter(self, made: Series, former: Series | None) -> bool:
        if former is not None:
            made.seconds, made.minutes = former.seconds, former.minutes
            made.number, made.last_at = former.number, former.last_at
        elif len(self._series) >= MOST_SERIES:
            if not self.refused:
                log.warning("there are %d metrics: further ones are not recorded", MOST_SERIES)
            self.refused += 1
            return False
        self._series[made.id] = made
        return True

    def _remember(self, name: Name) -> Series | None:
        metric = MetricId(name.namespace, name.name, name.dimensions)
        if metric in self._series or len(self._series) >= MOST_SERIES:
            return self._series.get(metric)
        made = Series(metric, name.unit, is_gauge=name.is_gauge, is_lasting=name.is_lasting, grows=name.grows)
        made.number = name.number
        self._series[metric] = made
        return made

    # ------------------------------------------------------------------ seconds and minutes

    def _opened(self, series: Series) -> None:
        if self._second_timer is None:
            self._second = self.now()
            self._second_timer = self.clock.call_at((self._second + 1) * 1000, self._second_over)
        self._dirty.append(series)

    def _second_over(self) -> None:
        self._second_timer = None
        self.settle()

    def settle(self) -> None:
        """Close the second under way, and minutes that are over, so that all counts can be read."""
        if self._dirty:
            self._close_second()
        if self._minutes:
            now = self.now()
            self._close_before(now - now % 60)

    def _close_second(self) -> None:
        dirty, self._dirty = self._dirty, []
        second = self._second
        minute = second - second % 60
        active = self._minute(minute)
        watched: list[tuple[Series, float | None]] = []
        if self._watched:
            watched = [(series, series.level_at(second)) for series in dirty if series.id in self._watched]
        for series in dirty:
            try:
                if series.close_second(second) is not None:
                    active.add(series)
            except Exception:
                # A level that cannot be read must not lose the others.
                log.exception("the metric %s could not be read", series.id.name)
        for series, level in watched:
            if level is None or level != series.level_at(second):
                self._announce(series.id, second)
        if self._second_timer is not None:
            # Values before the second's end form a new point, which is added to it.
            self._second_timer.cancel()
            self._second_timer = None

    def _minute(self, minute: int) -> set[Series]:
        found = self._minutes.get(minute)
        if found is None:
            # Values of a new minute may come before the timer of the last one has run.
            self._close_before(minute)
            found = self._minutes[minute] = set()
            if self._minute_timer is None:
                self._minute_timer = self.clock.call_at((minute + 60) * 1000, self._minute_over)
        return found

    def _minute_over(self) -> None:
        self._minute_timer = None
        self.settle()
        if self._minutes and self._minute_timer is None:
            self._minute_timer = self.clock.call_at((min(self._minutes) + 60) * 1000, self._minute_over)

    def _close_before(self, minute: int) -> None:
        closed = sorted(one for one in self._minutes if one < minute)
        for one in closed:
            self._close(one, one + 60)
        if closed:
            self._forget()

    def _close(self, minute: int, end: int) -> None:
        points: dict[Series, Point] = {}
        for series in self._minutes.pop(minute, ()):
            point = series.close_minute(end)
            if point is not None:
                series.minutes.put(point, replaces=series.is_gauge)
                points[series] = point
        self._write(minute, points)

    def _write(self, minute: int, points: dict[Series, Point]) -> None:
        for series in points:
            if not series.number:
                self._numbers += 1
                series.number = self._numbers
        if self._archive is not None:
            minutes, now = self._archive.minutes, self.now()
            new = [_name_of(series) for series in points if not minutes.has_name(series.number, now)]
            self._archive.write(minute, {series.number: point for series, point in points.items()}, new)

    def _forget(self) -> None:
        """Drop points that are too old, and the oldest ones above the bound on bytes."""
        now = self.now()
        _trim(self._series.values(), _seconds_of, now, SECONDS_KEPT, MOST_SECONDS_BYTES)
        kept = MINUTES_IN_MEMORY if self._archive is not None else KEPT_SECONDS
        _trim(self._series.values(), _minutes_of, now, kept, MOST_MINUTES_BYTES)

    # ------------------------------------------------------------------ points from outside

    def put(self, metric: MetricId, unit: str, points: Iterable[Point]) -> None:
        """Add points of given instants, in the past or slightly ahead."""
        series = self._series.get(metric)
        if series is None or type(series) is Series:
            series = self.counter(metric.namespace, metric.name, dict(metric.dimensions), unit)
        if series is self._overflow or not isinstance(series, Counter):
            return
        self.settle()
        now = self.now()
        present = now - now % 60
        for point in points:
            minute = point.at - point.at % 60
            series.last_at = max(series.last_at, point.at)
            self._announce(metric, point.at)
            if point.at > now - SECONDS_KEPT:
                series.seconds.put(point)
            if minute == present:
                self._minute(minute).add(series)
                series.take(point)
                continue
            # The minute is written already, or will be written once more: reading adds the two.
            whole = point._replace(at=minute)
            series.minutes.put(whole)
            self._write(minute, {series: whole})

    # ------------------------------------------------------------------ reading

    async def minutes(self, series: Series, start: int, end: int) -> list[Point]:
        """Minutes from `start` on, before `end`; the one under way, too. Raises: Unavailable."""
        self.settle()
        now = self.now()
        first = start
        older: list[Point] = []
        if self._archive is not None and series.number:
            # The minute in which this process began has points of the one before, so it comes from the files as well.
            first = max(start, now - MINUTES_IN_MEMORY, self.started - self.started % 60 + 60)
            if first > start:
                archive, number, until = self._archive, series.number, min(first, end)
                await archive.minutes.settle()
                older = await in_thread(self.clock, lambda: archive.read(number, start, until))
        column = Column()
        for point in (*older, *series.minutes.between(first, end)):
            column.put(point, replaces=series.is_gauge)
        running = series.running_minute(now + 1)
        if running is not None and start <= running.at < end:
            column.put(running, replaces=series.is_gauge)
        return column.between(start, end)

    async def merged_between(self, several: Sequence[Series], start: int, end: int) -> dict[MetricId, Point]:
        """All minutes of counters from `start` on, before `end`, as one point for each that has any.

        Raises: Unavailable.
        """
        self.settle()
        now = self.now()
        wanted = {series.number: series for series in several if series.number}
        first = start
        older: dict[int, list[Point]] = {}
        if self._archive is not None:
            first = max(start, now - MINUTES_IN_MEMORY, self.started - self.started % 60 + 60)
            if first > start:
                archive, until = self._archive, min(first, end)
                await archive.minutes.settle()
                older = await in_thread(self.clock, lambda: archive.read_several(list(wanted), start, until))
        found: dict[MetricId, Point] = {}
        for series in several:
            points = [*older.get(series.number, ()), *series.minutes.between(first, end)]
            running = series.running_minute(now + 1)
            if running is not None and start <= running.at < end:
                points.append(running)
            both = merged(start, points)
            if both is not None:
                found[series.id] = both
        return found

    def size_bytes(self) -> int:
        """The approximate size of the points in memory."""
        return sum(series.seconds.size_bytes + series.minutes.size_bytes for series in self._series.values())


def _trim(every: Iterable[Series], column_of: Callable[[Series], Column], now: int, kept: int, most: int) -> None:
    while True:
        total = 0
        for series in every:
            column = column_of(series)
            if column.size_bytes:
                column.drop_before(now - kept, but_last=series.is_gauge)
                total += column.size_bytes
        if total <= most or kept < 60:
            return
        kept //= 2


def _seconds_of(series: Series) -> Column:
    return series.seconds


def _minutes_of(series: Series) -> Column:
    return series.minutes


def _name_of(series: Series) -> Name:
    metric = series.id
    return Name(
        series.number, metric.namespace, metric.name, metric.dimensions, series.unit, series.is_gauge,
        series.is_lasting, series.grows,
    )  # fmt: skip


class _Sink(Counter):
    """Discards the values of metrics beyond the bound."""

    __slots__ = ()

    def add(self, value: float = 1, times: int = 1) -> None:
        """Nothing."""


def _nowhere(_series: Series) -> None:
    """The sink of metrics beyond the bound."""


def _nothing() -> None:
    """The level of a gauge beyond the bound."""
