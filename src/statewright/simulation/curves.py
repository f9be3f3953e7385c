"""The curves of a simulation, from the metrics that the system publishes itself.

Owns which metrics make which chart, and their resolution. Drawing is `charts.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from statewright.metrics.reading import Range, points_of
from statewright.metrics.recorder import Recorder
from statewright.metrics.series import MetricId, Series
from statewright.payload import Json, JsonObject
from statewright.simulation.scenario import Scenario
from statewright.simulation.usage_meter import LISTS, NAMESPACE
from statewright.virtual import VirtualSystem

PERIODS: Final = (1, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 86_400)
MOST_POINTS: Final = 200
SECONDS_SPAN: Final = 3_500
"""How long a simulation may be for curves finer than a minute; seconds are kept for an hour."""
_ENDS: Final = (
    ("succeeded", "ExecutionsSucceeded", "ok"),
    ("failed", "ExecutionsFailed", "fail"),
    ("timed out", "ExecutionsTimedOut", "caught"),
    ("stopped", "ExecutionsAborted", "idle"),
)
Curve = JsonObject


async def _settled(recorder: Recorder) -> None:
    """Close the second under way; levels are read on the system's loop."""
    recorder.settle()


class Curves:
    """Reads curves of one simulation; instants are seconds since its start."""

    def __init__(self, system: VirtualSystem, scenario: Scenario, began_ms: int, ended_ms: int) -> None:
        self._system = system
        self._scenario = scenario
        self._recorder: Recorder = system.parts.app.services.metrics
        # The second under way counts, too.
        system.run(_settled(self._recorder))
        self.start = began_ms // 1000
        self.end = -(-ended_ms // 1000)
        span = max(1, self.end - self.start)
        self.period = next(
            (one for one in PERIODS if span / one <= MOST_POINTS and (one >= 60 or span <= SECONDS_SPAN)), PERIODS[-1]
        )

    # ------------------------------------------------------------------ single metrics

    def total(self, namespace: str, name: str, **dimensions: str) -> float:
        """The sum of all values of a counter."""
        found = self._find(namespace, name, dimensions)
        return found.all_total if found is not None else 0.0

    def statistic(self, namespace: str, name: str, wanted: str, **dimensions: str) -> float | None:
        """A statistic over the whole time."""
        from statewright.metrics.points import merged, statistic

        found = self._find(namespace, name, dimensions)
        if found is None:
            return None
        asked = Range(self.start - self.start % 60, self.end + 60, 60)
        points = self._system.run(points_of(self._recorder, found.id, asked))
        both = merged(asked.start, points)
        return statistic(both, wanted) if both is not None else None

    def peak(self, namespace: str, name: str, **dimensions: str) -> float:
        """The most that a level ever was."""
        return max((high for _, high in self._levels(namespace, name, dimensions)), default=0.0)

    def reached(self, least: float, namespace: str, name: str, **dimensions: str) -> float | None:
        """When a level was first that high, in seconds since the start."""
        return next((at for at, high in self._levels(namespace, name, dimensions) if high >= least), None)

    def last_above(self, namespace: str, name: str, **dimensions: str) -> float | None:
        """When a level was last above nothing, in seconds since the start."""
        found = [at for at, high in self._levels(namespace, name, dimensions) if high > 0]
        return found[-1] if found else None

    def _find(self, namespace: str, name: str, dimensions: dict[str, str]) -> Series | None:
        return self._recorder.find(MetricId.of(namespace, name, dimensions))

    def _levels(self, namespace: str, name: str, dimensions: dict[str, str]) -> list[tuple[float, float]]:
        """A level as fine as it is known: by seconds if that is all of the time, else by minutes."""
        found = self._find(namespace, name, dimensions)
        if found is None:
            return []
        fine = self.end - self.start <= SECONDS_SPAN
        asked = Range(self.start, self.end + 1, 1) if fine else Range(self.start - self.start % 60, self.end + 60, 60)
        points = self._system.run(points_of(self._recorder, found.id, asked))
        return [(max(0, point.at - self.start), point.high) for point in points]

    # ------------------------------------------------------------------ charts

    def charts(self, costs: Sequence[tuple[int, float]]) -> list[JsonObject]:
        """Every chart that has something to show."""
        made = [
            self._queues(),
            self._in_flight(),
            *self._concurrency(),
            self._throttles(),
            self._dead(),
            self._executions(),
            _chart("ListExecutions calls", "calls", [self._counted("calls", "run", NAMESPACE, LISTS, {})]),
            _chart("Cost", "USD", [_curve("cost", "accent", [(at / 1000, usd) for at, usd in costs])], steps=False),
        ]
        return [chart for chart in made if chart is not None]

    def _queues(self) -> JsonObject | None:
        dead = self._dead_letters()
        names = [one for one in self._queue_names() if one not in dead]
        tones = ("wait", "accent", "run", "caught", "ok", "idle")
        return _chart(
            "Queue depth", "messages",
            [self._visible(name, tones[number % len(tones)]) for number, name in enumerate(names)],
        )  # fmt: skip

    def _in_flight(self) -> JsonObject | None:
        dead = self._dead_letters()
        curves = [
            self._level(name, "run", "AWS/SQS", "ApproximateNumberOfMessagesNotVisible", {"QueueName": name})
            for name in self._queue_names() if name not in dead
        ]  # fmt: skip
        return _chart("In flight", "messages", curves)

    def _concurrency(self) -> list[JsonObject | None]:
        reserved = {one.name: one.reserved for one in self._scenario.functions if one.reserved is not None}
        names = self._function_names()
        tones = ("run", "accent", "ok", "caught", "wait", "idle")
        shared = [
            self._level(name, tones[number % len(tones)], "AWS/Lambda", "ConcurrentExecutions", {"FunctionName": name})
            for number, name in enumerate(name for name in names if name not in reserved)
        ]
        charts = [
            _chart("Concurrency against the account's limit", "invocations", shared, limit=self._scenario.concurrency)
        ]
        for name, limit in reserved.items():
            curve = self._level(name, "run", "AWS/Lambda", "ConcurrentExecutions", {"FunctionName": name})
            charts.append(_chart(f"Concurrency of {name} against its reservation", "invocations", [curve], limit=limit))
        return charts

    def _throttles(self) -> JsonObject | None:
        curves = [
            self._counted(name, "fail", "AWS/Lambda", "Throttles", {"FunctionName": name})
            for name in self._function_names()
        ]
        return _chart("Throttles", "invocations", curves)

    def _dead(self) -> JsonObject | None:
        return _chart(
            "Dead letters", "messages", [self._visible(name, "fail") for name in sorted(self._dead_letters())]
        )

    def _executions(self) -> JsonObject | None:
        curves = [self._level("running", "run", "AWS/States", "OpenExecutionCount", {})]
        arns = sorted(
            {
                series.id.dimensions[0][1]
                for series in self._recorder.all()
                if series.id.name == "ExecutionsStarted" and len(series.id.dimensions) == 1
            }
        )
        for words, metric, tone in _ENDS:
            total: dict[float, float] = {}
            for arn in arns:
                for at, value in self._counted("", "", "AWS/States", metric, {"StateMachineArn": arn})["points"]:
                    total[at] = total.get(at, 0) + value
            points, so_far = [], 0.0
            for at in sorted(total):
                so_far += total[at]
                points.append((at, so_far))
            curves.append(_curve(words, tone, points))
        return _chart("Executions by status", "executions", curves)

    def _visible(self, name: str, tone: str) -> Curve:
        return self._level(name, tone, "AWS/SQS", "ApproximateNumberOfMessagesVisible", {"QueueName": name})

    def _level(self, words: str, tone: str, namespace: str, name: str, dimensions: dict[str, str]) -> Curve:
        points = [(at, float(point.high)) for at, point in self._points(namespace, name, dimensions)]
        if points and points[0][0] > 0:
            # Before its first reading there was nothing.
            points.insert(0, (0.0, 0.0))
        return _curve(words, tone, points)

    def _counted(self, words: str, tone: str, namespace: str, name: str, dimensions: dict[str, str]) -> Curve:
        found = {at: point.total for at, point in self._points(namespace, name, dimensions)}
        every = range(0, max(1, self.end - self.start), self.period) if any(found.values()) else ()
        return _curve(words, tone, [(at, found.get(at, 0.0)) for at in every])

    def _points(self, namespace: str, name: str, dimensions: dict[str, str]) -> list[tuple[float, Json]]:
        start = self.start - (self.start % 60 if self.period >= 60 else 0)
        asked = Range(start, self.end + 1, self.period)
        found = self._system.run(points_of(self._recorder, MetricId.of(namespace, name, dimensions), asked))
        return [(float(max(0, point.at - self.start)), point) for point in found]

    def _names(self, namespace: str, metric: str, dimension: str) -> list[str]:
        return sorted(
            {
                series.id.dimensions[0][1]
                for series in self._recorder.all()
                if series.id.namespace == namespace
                and series.id.name == metric
                and len(series.id.dimensions) == 1
                and series.id.dimensions[0][0] == dimension
            }
        )

    def _queue_names(self) -> list[str]:
        return self._names("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName")

    def _function_names(self) -> list[str]:
        return self._names("AWS/Lambda", "ConcurrentExecutions", "FunctionName")

    def _dead_letters(self) -> set[str]:
        return {one.dead_letter for one in self._scenario.queues if one.dead_letter}


def _curve(words: str, tone: str, points: Iterable[tuple[float, float]]) -> Curve:
    return {"name": words, "tone": tone, "points": [[_short(at), _short(value)] for at, value in points]}


def _short(value: float) -> float | int:
    rounded = round(value, 6)
    return int(rounded) if rounded == int(rounded) else rounded


def _chart(
    title: str, unit: str, curves: Sequence[Curve], *, limit: int | None = None, steps: bool = True
) -> JsonObject | None:
    shown = [curve for curve in curves if any(value for _, value in curve["points"])]
    if not shown:
        return None
    made: JsonObject = {"title": title, "unit": unit, "steps": steps, "lines": shown}
    return {**made, "limit": limit} if limit is not None else made
