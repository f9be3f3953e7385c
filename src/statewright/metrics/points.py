"""Points: count, sum, minimum, maximum and the spread of a metric's values in one stretch of time.

Owns merging and statistics. A spread is a dict of value to how often it occurred: exact while
there are at most `EXACT` different values, then values share buckets whose middle is at most `ERROR` away from them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

EXACT: Final = 64
"""Different values that a spread holds exactly."""
ERROR: Final = 0.01
"""Relative error of a percentile once there are more."""
MOST_BUCKETS: Final = 2_048
"""Buckets of one spread; beyond it the smallest values share one bucket."""

_GROWTH: Final = (1 + ERROR) / (1 - ERROR)
_LOG_GROWTH: Final = math.log(_GROWTH)
_SMALLEST: Final = 1e-300

Spread = dict[float, float]


class Point(NamedTuple):
    """A metric from second `at` on, for a second, a minute or a period.

    `samples` says how many values there were; `last` is the latest, used only by gauges. `spread` is None where
    all values are the same, or where they are not known.
    """

    at: int
    samples: float
    total: float
    low: float
    high: float
    last: float
    spread: Spread | None = None

    @property
    def known(self) -> Mapping[float, float] | None:
        """The spread of the values; None where it is not known."""
        if self.spread is not None:
            return self.spread
        return {self.low: self.samples} if self.low == self.high else None


def point_of(at: int, values: Mapping[float, float]) -> Point:
    """The point of values and how often each occurred; there is at least one."""
    if len(values) == 1:
        for value, count in values.items():
            return Point(at, count, value * count, value, value, value)
    count = sum(values.values())
    total = math.fsum(value * times for value, times in values.items())
    return Point(at, count, total, min(values), max(values), next(reversed(values)), compacted(values))


def merged(at: int, points: Iterable[Point]) -> Point | None:
    """Several points merged into one; None for none. The last of them is the latest."""
    found = list(points)
    if not found:
        return None
    if len(found) == 1:
        return found[0]._replace(at=at)
    low, high = min(one.low for one in found), max(one.high for one in found)
    spread: Spread | None = None
    if low != high:
        spread = {}
        for one in found:
            known = one.known
            if known is None:
                spread = None
                break
            for value, times in known.items():
                spread[value] = spread.get(value, 0) + times
        spread = compacted(spread) if spread is not None else None
    count, total = sum(one.samples for one in found), math.fsum(one.total for one in found)
    return Point(at, count, total, low, high, found[-1].last, spread)


def compacted(values: Mapping[float, float]) -> Spread:
    """A spread that is small enough: as it is, or with values that are near each other in one bucket."""
    if len(values) <= EXACT:
        return dict(values)
    spread: Spread = {}
    for value, times in values.items():
        middle = bucket_of(value)
        spread[middle] = spread.get(middle, 0) + times
    if len(spread) > MOST_BUCKETS:
        kept = sorted(spread)
        least = kept[-MOST_BUCKETS]
        for value in kept[:-MOST_BUCKETS]:
            spread[least] += spread.pop(value)
    return spread


def bucket_of(value: float) -> float:
    """The middle of the bucket that a value falls into; the same for a middle itself."""
    size = abs(value)
    if size < _SMALLEST:
        return 0.0
    # A middle lies half a bucket below its upper bound, so rounding brings it back to itself.
    number = round(math.log(size) / _LOG_GROWTH)
    return math.copysign(math.exp(number * _LOG_GROWTH), value)


# ------------------------------------------------------------------ statistics

_PLAIN: Final[dict[str, Callable[[Point], float | None]]] = {
    "SampleCount": lambda point: point.samples,
    "Sum": lambda point: point.total,
    "Average": lambda point: point.total / point.samples if point.samples else None,
    "Minimum": lambda point: point.low,
    "Maximum": lambda point: point.high,
}
_EXTENDED: Final = re.compile(r"(p|tm|tc|ts)(\d{1,3}(?:\.\d{1,10})?)", re.IGNORECASE)


def is_statistic(name: str) -> bool:
    """True if a statistic can be asked for: the five plain ones, and p, tm, tc, ts with a percentage, as in p99.9."""
    found = _EXTENDED.fullmatch(name)
    return name in _PLAIN or (found is not None and float(found[2]) <= 100)


def statistic(point: Point, name: str) -> float | None:
    """A statistic of a point; None if too little is known of its values.

    Source: CloudWatch user guide, "Statistics definitions".
    """
    plain = _PLAIN.get(name)
    if plain is not None:
        return plain(point)
    found = _EXTENDED.fullmatch(name)
    known = point.known
    # Source: API reference, GetMetricStatistics: no percentiles where a value is negative.
    if found is None or known is None or point.low < 0 or not point.samples:
        return None
    kind, share = found[1].lower(), float(found[2]) / 100
    if kind == "p":
        return min(max(_percentile(known, point.samples, share), point.low), point.high)
    kept = _lowest(known, point.samples * share)
    count = sum(times for _, times in kept)
    total = math.fsum(value * times for value, times in kept)
    if kind == "tm":
        return total / count if count else None
    return count if kind == "tc" else total


def _percentile(known: Mapping[float, float], count: float, share: float) -> float:
    """The smallest value that so many of the values do not exceed."""
    rank = max(share * count, 1e-9)
    seen = 0.0
    value = 0.0
    for value in sorted(known):
        seen += known[value]
        if seen >= rank - 1e-9:
            break
    return value


def _lowest(known: Mapping[float, float], most: float) -> list[tuple[float, float]]:
    kept = []
    for value in sorted(known):
        times = min(known[value], most)
        if times <= 0:
            break
        kept.append((value, times))
        most -= times
    return kept
