"""One metric with its dimensions, as code that counts uses it: adding costs one look-up in a dict.

A `Counter` gathers values until the recorder closes the second. A `Gauge` is a level that is read then, and only if a
caller has marked it as changed. Leaves the ends of seconds and minutes to the recorder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from statewright.metrics.columns import Column
from statewright.metrics.points import Point, Spread, merged, point_of


@dataclass(frozen=True, slots=True)
class MetricId:
    """The identity of a metric: namespace, name, and dimensions in the order of their names."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(namespace: str, name: str, dimensions: Mapping[str, str]) -> MetricId:
        """The metric of these dimensions."""
        return MetricId(namespace, name, tuple(sorted(dimensions.items())))


class Series:
    """The points of a metric; used itself for metrics of a former process that have no new points.

    `number` is its place in the archive, 0 before it has one.
    """

    __slots__ = (
        "all_samples", "all_total", "ended_at", "grows", "id", "is_gauge", "is_lasting", "last_at", "minutes", "number",
        "seconds", "unit",
    )  # fmt: skip

    def __init__(
        self, metric: MetricId, unit: str, *, is_gauge: bool = False, is_lasting: bool = False, grows: bool = False
    ) -> None:
        self.id = metric
        self.unit = unit
        self.is_gauge = is_gauge
        self.is_lasting = is_lasting
        """True if a gauge's level outlives the process, as the depth of a queue does."""
        self.grows = grows
        """True if a gauge's level, once above nothing, grows by one each second by itself, as an age does."""
        self.all_samples = 0.0
        """Since the process started, as `all_total`."""
        self.all_total = 0.0
        self.number = 0
        self.seconds = Column()
        self.minutes = Column()
        self.last_at = 0
        """Second of the newest point."""
        self.ended_at: int | None = None
        """The instant from which a gauge has no level."""

    def close_second(self, _at: int) -> Point | None:
        """The collected values; None if there are none."""
        return None

    def running_minute(self, _end: int) -> Point | None:
        """The present minute until an instant."""
        return None

    def close_minute(self, _end: int) -> Point | None:
        """The minute that ends at an instant."""
        return None

    def level_at(self, _at: int) -> float | None:
        """The level of a gauge at an instant after its last reading; None for one that was not read, and others."""
        return None


class Counter(Series):
    """A metric whose values are added: `add(1)` for an event, `add(milliseconds)` for a length of time."""

    __slots__ = ("_opened", "minute", "minute_at", "open")

    def __init__(self, metric: MetricId, unit: str, opened: Callable[[Series], None]) -> None:
        super().__init__(metric, unit)
        self._opened = opened
        self.open: Spread = {}
        self.minute: list[Point] = []
        """Points of the minute under way; merged when they are many."""
        self.minute_at = 0

    def add(self, value: float = 1, times: int = 1) -> None:
        """Count a value, or one that occurred several times."""
        found = self.open
        if not found:
            self._opened(self)
        found[value] = found.get(value, 0) + times

    def close_second(self, at: int) -> Point | None:
        """The values collected since the last call."""
        if not self.open:
            return None
        values, self.open = self.open, {}
        point = point_of(at, values)
        self.all_samples += point.samples
        self.all_total += point.total
        self.seconds.put(point)
        self.last_at = max(self.last_at, at)
        self.take(point)
        return point

    def take(self, point: Point) -> None:
        """Count a point in its minute, which is the one under way."""
        self.minute_at = point.at - point.at % 60
        if self.minute:
            last = self.minute[0]
            if last.spread is None and point.spread is None and last.low == point.low == last.high == point.high:
                self.minute[0] = Point(
                    self.minute_at,
                    last.samples + point.samples,
                    last.total + point.total,
                    last.low,
                    last.high,
                    point.last,
                )
                return
        self.minute.append(point)
        if len(self.minute) >= 8:
            both = merged(self.minute_at, self.minute)
            assert both is not None
            self.minute = [both]

    def running_minute(self, _end: int) -> Point | None:
        """The values of the current minute so far."""
        return merged(self.minute_at, self.minute)

    def close_minute(self, _end: int) -> Point | None:
        """The minute, which is over."""
        point = merged(self.minute_at, self.minute)
        self.minute = []
        return point


class Gauge(Series):
    """A level. `read` returns it, None while there is none; `touch` marks it as changed.

    A minute's point has the mean over time as its sum, with a count of one.
    """

    __slots__ = ("_area", "_high", "_level_at", "_low", "_opened", "_peak", "_since", "is_touched", "level", "read")

    def __init__(
        self,
        metric: MetricId,
        unit: str,
        opened: Callable[[Series], None],
        read: Callable[[], float | None],
        *,
        is_lasting: bool = False,
        grows: bool = False,
    ) -> None:
        super().__init__(metric, unit, is_gauge=True, is_lasting=is_lasting, grows=grows)
        self._opened = opened
        self.read = read
        self.is_touched = False
        self.level: float | None = None
        self._peak: float | None = None
        self._level_at = 0
        self._since = 0
        self._area = 0.0
        self._low = 0.0
        self._high = 0.0

    def touch(self) -> None:
        """Mark the level as changed."""
        if not self.is_touched:
            self.is_touched = True
            self._opened(self)

    def reached(self, value: float) -> None:
        """Set the level now: a peak that is over by the end of the second counts, too."""
        if self._peak is None or value > self._peak:
            self._peak = value
        if not self.is_touched:
            self.is_touched = True
            self._opened(self)

    def end(self, at: int) -> None:
        """Forget the measured level."""
        self.ended_at = at

    def close_second(self, at: int) -> Point | None:
        """The level at the end of a second, if it may have changed."""
        if not self.is_touched:
            return None
        self.is_touched = False
        value = self.read() if self.ended_at is None else None
        peak, self._peak = self._peak, None
        if value is None:
            return None
        high = value if peak is None or peak < value else peak
        point = Point(at, 1, value, value, high, value)
        self.seconds.put(point, replaces=True)
        self.last_at = max(self.last_at, at)
        self._move(at, value, high)
        return point

    def _move(self, at: int, value: float, high: float) -> None:
        begin = at - at % 60
        if self.level is None:
            self._since, self._area, self._low, self._high = at, 0.0, value, high
        else:
            if self._since < begin:
                self._begin(begin)
            if at == begin and self._level_at < begin:
                # The level before has not lasted into this minute.
                self._low = self._high = value
            self._spend(at)
        self.level, self._level_at = value, at
        self._low, self._high = min(self._low, value), max(self._high, high)

    def _begin(self, minute: int) -> None:
        level = self._level(minute)
        self._since, self._area, self._low, self._high = minute, 0.0, level, level

    def level_at(self, at: int) -> float | None:
        """See `Series.level_at`; None if the level was higher within the second, too."""
        return None if self.level is None or self._peak not in (None, self.level) else self._level(at)

    def _level(self, at: int) -> float:
        """The level at an instant after the last reading."""
        level = self.level or 0.0
        return level + at - self._level_at if self.grows and level else level

    def _spend(self, until: int) -> None:
        """Extend the level until an instant; a later reading is left unchanged."""
        if until <= self._since:
            return
        self._area += (self._level(self._since) + self._level(until)) / 2 * (until - self._since)
        self._high = max(self._high, self._level(until))
        self._since = until

    def running_minute(self, end: int) -> Point | None:
        """The minute under way, so far."""
        if self.level is None:
            return None
        begin = (end - 1) - (end - 1) % 60
        if self._since < begin:
            return None
        self._spend(end)
        first = self._first(begin)
        level = self._level(end)
        mean = self._area / (end - first) if end > first else level
        mean = min(max(mean, self._low), self._high)
        # A level that grows is carried on from the minute's first second.
        last = level - (end - begin) if self.grows and level else level
        return Point(begin, 1, mean, self._low, self._high, last)

    def _first(self, begin: int) -> int:
        before = self.seconds.last_before(begin)
        if before is not None or self.minutes:
            return begin
        seen = self.seconds.between(begin, begin + 60)
        return seen[0].at if seen else begin

    def close_minute(self, end: int) -> Point | None:
        """The minute, which is over."""
        point = self.running_minute(end)
        if point is not None:
            self._begin(end)
        return point
