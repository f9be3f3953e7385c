"""Figures of the metrics that the server keeps, for rows of lists: sums, percentiles and short lines.

A page that shows one thing calls GetMetricData instead; this is for many at once, and remembers them for a while.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from weakref import WeakKeyDictionary

from statewright.api.operations import App
from statewright.metrics.reading import points_of, range_of, values_of
from statewright.metrics.recorder import Recorder
from statewright.metrics.series import MetricId

DAY_MS: Final = 86_400_000
_MOST_KEPT: Final = 2_000
_kept: Final[WeakKeyDictionary[Recorder, dict[tuple[object, ...], tuple[int, list[float]]]]] = WeakKeyDictionary()


async def values(
    app: App, metric: MetricId, statistic: str, *, length_ms: int, period: int, fresh_ms: int = 60_000
) -> list[float]:
    """A statistic of each period up to now, 0 where there is nothing; as of at most `fresh_ms` ago."""
    recorder = app.services.metrics
    kept = _kept.setdefault(recorder, {})
    now_ms = app.clock.now_ms()
    key = (metric, statistic, length_ms, period)
    found = kept.get(key)
    if found is not None and now_ms - found[0] < fresh_ms:
        return found[1]
    asked = range_of(now_ms - length_ms, now_ms, period, recorder.now())
    line = [0.0] * max(1, -(-(asked.end - asked.start) // period))
    for at, value in values_of(await points_of(recorder, metric, asked), statistic):
        place = (at - asked.start) // period
        if 0 <= place < len(line):
            line[place] = value
    if len(kept) >= _MOST_KEPT:
        kept.clear()
    kept[key] = (now_ms, line)
    return line


async def day(app: App, namespace: str, name: str, dimensions: Mapping[str, str], statistic: str) -> float:
    """A statistic of the last 24 hours as a whole; 0 without data."""
    metric = MetricId.of(namespace, name, dimensions)
    # The start is rounded down to a minute, so that a minute less is one period.
    return (await values(app, metric, statistic, length_ms=DAY_MS - 60_000, period=86_400))[0]
