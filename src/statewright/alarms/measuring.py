"""The data points of an alarm's metric or expression, read from the recorder.

Owns what an alarm measures, and when its data points can change next without a new value. Expressions are those of
GetMetricData (`metrics/evaluation.py`).

Source: CloudWatch user guide, "Alarm evaluation"; API reference, PutMetricAlarm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from statewright.alarms.evaluation import Condition, Datapoint
from statewright.metrics.evaluation import Surroundings, Timeline, Value, evaluate
from statewright.metrics.expressions import ExpressionError, Node
from statewright.metrics.points import Point, statistic
from statewright.metrics.reading import ACTIVE_SECONDS, Range, points_of
from statewright.metrics.recorder import Recorder
from statewright.metrics.series import MetricId

HOUR: Final = 3_600
DAY: Final = 86_400
FINE_STEP: Final = 10
"""Seconds between evaluations of alarms with a period below a minute. Source: user guide, "High-resolution alarms"."""
MOST_SAMPLES_MISSING: Final = 10.0


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric and its statistic; `unit` is the only one whose values count, None for any."""

    metric: MetricId
    statistic: str
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """The measure of an alarm: one of `inputs`, or an expression over them, by id."""

    period: int
    inputs: Mapping[str, Measured]
    result: str
    expressions: Sequence[tuple[str, Node]] = ()
    """In the order of their dependencies."""

    @property
    def single(self) -> Measured | None:
        """The metric, if there is no expression."""
        return self.inputs[self.result] if not self.expressions else None


@dataclass(frozen=True, slots=True)
class Reading:
    """Data points of a range, oldest first; `wakes_at` is the second of the next evaluation, None if only a new value
    changes them. `is_vague` if a percentile has too few values to mean anything."""

    points: Sequence[Datapoint]
    wakes_at: int | None
    is_vague: bool = False


def step_of(measure: Measure, condition: Condition) -> int:
    """The seconds between evaluations."""
    if measure.period * condition.periods > DAY:
        return HOUR
    return FINE_STEP if measure.period < 60 else 60


async def read(recorder: Recorder, measure: Measure, condition: Condition, end: int) -> Reading:
    """The data points of the range that ends at a second. Raises: ExpressionError."""
    asked = Range(end - condition.range * measure.period, end, measure.period)
    found = {name: await _points(recorder, one, asked) for name, one in measure.inputs.items()}
    wakes_at = _next_change(recorder, measure, found, asked, step_of(measure, condition))
    if measure.single is not None:
        stat = measure.single.statistic
        points = found[measure.result]
        known = {one.at: (statistic(one, stat), one.samples) for one in points}
        return Reading(
            [Datapoint(at, *known.get(at, (None, 0.0))) for at in range(*asked)], wakes_at, _is_vague(stat, points)
        )
    series = _evaluated(measure, found, asked)
    return Reading([Datapoint(at, series.get(at)) for at in range(*asked)], wakes_at)


async def _points(recorder: Recorder, one: Measured, asked: Range) -> list[Point]:
    points = await points_of(recorder, one.metric, asked)
    series = recorder.find(one.metric)
    if one.unit is not None and series is not None and series.unit != one.unit:
        return []
    # A gauge has its level at the end of the range, too.
    return [point for point in points if point.at < asked.end]


def _evaluated(measure: Measure, found: Mapping[str, Sequence[Point]], asked: Range) -> Mapping[int, float]:
    """The values of an expression by second. Raises: ExpressionError."""
    lines: list[Timeline] = []
    values: dict[str, Value] = {}
    for name, points in found.items():
        known = {one.at: statistic(one, measure.inputs[name].statistic) for one in points}
        line = Timeline({at: value for at, value in known.items() if value is not None}, measure.period, name, name)
        values[name] = line
        lines.append(line)
    for name, tree in measure.expressions:
        values[name] = evaluate(tree, Surroundings(values, lines, asked.start, asked.end, measure.period, {}))
    result = values[measure.result]
    if isinstance(result, Timeline):
        return result.points
    if isinstance(result, list) and len(result) == 1:
        return result[0].points
    raise ExpressionError("the expression of an alarm must return a single time series")


def _next_change(
    recorder: Recorder, measure: Measure, found: Mapping[str, Sequence[Point]], asked: Range, step: int
) -> int | None:
    """When the data points can change next without a new value."""
    wakes = [
        at for name, points in found.items()
        if (at := _wake(recorder, measure.inputs[name].metric, points, asked, step)) is not None
    ]  # fmt: skip
    return min(wakes, default=None)


def _wake(recorder: Recorder, metric: MetricId, points: Sequence[Point], asked: Range, step: int) -> int | None:
    if not points:
        return None
    series = recorder.find(metric)
    levels = {(one.low, one.high) for one in points}
    whole = len(points) * asked.period == asked.end - asked.start
    if series is None or not series.is_gauge or not whole or len(levels) > 1:
        return asked.end + step
    # The level of a gauge was the same throughout: it stays as it is.
    if points[-1].high == 0:
        ends = series.last_at + ACTIVE_SECONDS
        return max(asked.end, ends - ends % step) + step
    return asked.end + step if series.grows else None


def _is_vague(stat: str, points: Sequence[Point]) -> bool:
    """True if a percentile has too few values. Source: user guide, "Percentile-based alarms and low data samples"."""
    if not stat.startswith("p") or not points:
        return False
    share = float(stat[1:]) / 100
    rest = 1 - share if share >= 0.5 else share
    return points[-1].samples < (MOST_SAMPLES_MISSING / rest if rest else float("inf"))
