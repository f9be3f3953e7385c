"""Counts of executions by the hour, from the metrics of `AWS/States`, for charts of a day.

An hour that is over never changes, so it is read once and kept; each look reads the running hour alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from statewright.metrics.points import Point, merged, statistic
from statewright.metrics.recorder import Recorder
from statewright.metrics.series import MetricId, Series
from statewright.payload import Json, JsonObject

HOURS: Final = 24
_HOUR: Final = 3_600
_STATES: Final = "AWS/States"
_STARTED: Final = "ExecutionsStarted"
_TIME: Final = "ExecutionTime"
_FAILED: Final = ("ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted")
_THROTTLES: Final = ("AWS/Lambda", "Throttles")
_NAMES: Final = frozenset({_STARTED, *_FAILED, _TIME})


Hours = dict[int, dict[MetricId, Point]]
"""A point for each metric, by the first second of an hour."""


@dataclass(slots=True)
class Curves:
    """The metrics of one recorder by the hour; `over` keeps the hours that are over."""

    recorder: Recorder
    over: Hours = field(default_factory=dict)

    async def day(self) -> Hours:
        """The last `HOURS` hours, the running one last, by their first seconds."""
        now = self.recorder.now()
        running = now - now % _HOUR
        begins = [running - _HOUR * place for place in range(HOURS - 1, -1, -1)]
        for begin in [begin for begin in self.over if begin < begins[0]]:
            del self.over[begin]
        series = [one for one in self.recorder.all() if _is_wanted(one)]
        found: Hours = {}
        for begin in begins:
            points = self.over.get(begin)
            if points is None:
                points = await self.recorder.merged_between(series, begin, begin + _HOUR)
                # Points of the last minute may still come.
                if begin + _HOUR + 120 < now:
                    self.over[begin] = points
            found[begin] = points
        return found

    async def of_machines(self, arns: Sequence[str]) -> JsonObject:
        """`{arn: {started, failed, p50Ms, p95Ms}}`: numbers by the hour, and times of executions of the whole day."""
        day = await self.day()
        return {arn: _machine(arn, list(day.values())) for arn in arns}

    async def of_all(self) -> JsonObject:
        """`{fromMs, stepMs, started, failed}` of all machines: numbers by the hour."""
        day = await self.day()
        started, failed = [0] * HOURS, [0] * HOURS
        for place, points in enumerate(day.values()):
            for metric, point in points.items():
                if metric.namespace == _STATES and metric.name != _TIME:
                    of = started if metric.name == _STARTED else failed
                    of[place] += round(point.total)
        return {"fromMs": min(day) * 1000, "stepMs": _HOUR * 1000, "started": started, "failed": failed}

    async def throttled(self, most: int) -> list[Json]:
        """`[{name, throttles}]`: the functions that were throttled most in the last day."""
        totals: dict[str, int] = {}
        for points in (await self.day()).values():
            for metric, point in points.items():
                if (metric.namespace, metric.name) == _THROTTLES and point.total:
                    name = metric.dimensions[0][1]
                    totals[name] = totals.get(name, 0) + round(point.total)
        worst = sorted(totals.items(), key=lambda one: (-one[1], one[0]))[:most]
        return [{"name": name, "throttles": count} for name, count in worst]


def _is_wanted(series: Series) -> bool:
    metric = series.id
    if metric.namespace == _STATES:
        return metric.name in _NAMES and [name for name, _ in metric.dimensions] == ["StateMachineArn"]
    return (metric.namespace, metric.name) == _THROTTLES and [name for name, _ in metric.dimensions] == ["FunctionName"]


def _machine(arn: str, hours: Sequence[Mapping[MetricId, Point]]) -> JsonObject:
    def totals(names: Iterable[str]) -> list[Json]:
        metrics = [MetricId.of(_STATES, name, {"StateMachineArn": arn}) for name in names]
        return [round(sum(hour[metric].total for metric in metrics if metric in hour)) for hour in hours]

    times = MetricId.of(_STATES, _TIME, {"StateMachineArn": arn})
    both = merged(0, [hour[times] for hour in hours if times in hour])
    return {
        "started": totals([_STARTED]),
        "failed": totals(_FAILED),
        "p50Ms": statistic(both, "p50") if both is not None else None,
        "p95Ms": statistic(both, "p95") if both is not None else None,
    }


_OVER: Final[WeakKeyDictionary[Recorder, Hours]] = WeakKeyDictionary()


def curves_of(recorder: Recorder) -> Curves:
    """The curves of a recorder."""
    return Curves(recorder, _OVER.setdefault(recorder, {}))


def deepest_queues(recorder: Recorder, most: int) -> list[Json]:
    """`[{name, visible}]`: the queues with the most messages that can be received, as they were last metered."""
    found: list[tuple[int, str]] = []
    now = recorder.now()
    for series in recorder.all():
        metric = series.id
        if (metric.namespace, metric.name) != ("AWS/SQS", "ApproximateNumberOfMessagesVisible") or series.ended_at:
            continue
        last = series.seconds.last_before(now + 1) or series.minutes.last_before(now + 1)
        if last is not None and last.last:
            found.append((-round(last.last), dict(metric.dimensions).get("QueueName", "")))
    return [{"name": name, "visible": -depth} for depth, name in sorted(found)[:most]]
