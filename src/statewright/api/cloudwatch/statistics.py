"""GetMetricStatistics, and GetMetricData with metric math."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Final

from statewright.api.cloudwatch.metrics import TOKENS, dimensions_of
from statewright.api.cloudwatch.wires import SERVICE, invalid, missing, not_together
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.metrics.evaluation import Surroundings, Timeline, Value, evaluate
from statewright.metrics.expressions import ExpressionError, Node, Number, Text, calls_of, names_of, parse
from statewright.metrics.points import is_statistic, statistic
from statewright.metrics.reading import Range, is_period, points_of, range_of, values_of
from statewright.metrics.recorder import Recorder
from statewright.metrics.search import read_search
from statewright.metrics.series import MetricId
from statewright.payload import Json, JsonMapping, JsonObject

MOST_POINTS: Final = 1_440
"""Most points of one answer of GetMetricStatistics. Source: API reference."""
MOST_QUERIES: Final = 500
MOST_DATA: Final = 100_800
"""Most points of one answer of GetMetricData. Source: API reference."""
DAY: Final = 86_400


@operation(SERVICE, "GetMetricStatistics")
async def get_metric_statistics(app: App, _call: Call, request: Json) -> Json:
    """Return statistics of one metric, by period."""
    recorder = app.services.metrics
    plain, extended = request.get("Statistics", []), request.get("ExtendedStatistics", [])
    if plain and extended:
        raise not_together("The parameters Statistics and ExtendedStatistics are mutually exclusive.")
    if not plain and not extended:
        raise missing("At least one of the parameters Statistics and ExtendedStatistics must be specified.")
    for name in extended:
        _check_statistic(name)
    asked = _range(request, request["Period"], recorder.now())
    points = -(-(asked.end - asked.start) // asked.period)
    if points > MOST_POINTS:
        raise not_together(
            f"You have requested up to {points:,} datapoints, which exceeds the limit of {MOST_POINTS:,}. You may "
            "reduce the datapoints requested by increasing Period, or decreasing the time range."
        )
    metric = MetricId.of(
        request["Namespace"], request["MetricName"], dimensions_of(request.get("Dimensions", ()), "the request")
    )
    found = await points_of(recorder, metric, asked) if _has_unit(recorder, metric, request) else []
    unit = _unit(recorder, metric)
    shown = []
    for point in found:
        one: JsonObject = {"Timestamp": point.at * 1000, "Unit": unit}
        one.update({name: statistic(point, name) for name in plain})
        values = {name: value for name in extended if (value := statistic(point, name)) is not None}
        if extended:
            one["ExtendedStatistics"] = values
        shown.append(one)
    return {"Label": metric.name, "Datapoints": shown}


@operation(SERVICE, "GetMetricData")
async def get_metric_data(app: App, _call: Call, request: Json) -> Json:
    """Return statistics of many metrics, and results of expressions over them."""
    queries = request["MetricDataQueries"]
    if len(queries) > MOST_QUERIES:
        raise invalid(f"The collection MetricDataQueries must not have a size greater than {MOST_QUERIES}.")
    _check_times(request)
    work = _Request(app.services.metrics, request, {query["Id"]: query for query in queries})
    if len(work.queries) < len(queries):
        raise invalid("The values for parameter Id in MetricDataQueries must be unique.")
    lines = [line async for line in work.results()]
    if request.get("ScanBy", "TimestampDescending") == "TimestampDescending":
        lines = [replace(line, values=line.values[::-1]) for line in lines]
    first = TOKENS.read(request.get("NextToken")) or 0
    return _page(lines, first, min(request.get("MaxDatapoints") or MOST_DATA, MOST_DATA))


@dataclass(frozen=True, slots=True)
class _Line:
    """One time series of an answer."""

    id: str
    label: str
    values: list[tuple[int, float]]


class _Request:
    """A GetMetricData request in progress: first metrics, then expressions in the order of their dependencies."""

    def __init__(self, recorder: Recorder, request: JsonMapping, queries: dict[str, JsonObject]) -> None:
        self._recorder = recorder
        self._request = request
        self.queries = queries
        self._trees: dict[str, Node] = {}
        self._values: dict[str, Value] = {}

    async def results(self) -> Json:
        """The series to show, in the order of the queries."""
        for query in self.queries.values():
            self._check(query)
        metrics = []
        for name, query in self.queries.items():
            if "MetricStat" in query:
                self._values[name] = metric = await self._metric(name, query)
                metrics.append(metric)
        period = min((line.period for line in metrics), default=self._period(self.queries.values()))
        for name in self._order():
            self._values[name] = await self._expression(name, metrics, period)
        for name, query in self.queries.items():
            if query.get("ReturnData", True):
                for line in self._shown(name, query):
                    yield line

    def _check(self, query: JsonMapping) -> None:
        name = query["Id"]
        if ("MetricStat" in query) == ("Expression" in query):
            raise invalid(f"The query {name} must have either a MetricStat or an Expression.")
        if "Expression" in query:
            if query["Expression"].lstrip()[:7].upper() == "SELECT ":
                raise _wrong(name, "Metrics Insights queries are not supported yet; use SEARCH")
            try:
                self._trees[name] = parse(query["Expression"])
            except ExpressionError as problem:
                raise _wrong(name, str(problem)) from None
            return
        stat = query["MetricStat"]
        _check_statistic(stat["Stat"])
        _check_period(stat["Period"])

    async def _metric(self, name: str, query: JsonMapping) -> Timeline:
        stat = query["MetricStat"]
        given = stat["Metric"]
        if "Namespace" not in given or "MetricName" not in given:
            raise missing(f"The metric of {name} must have a Namespace and a MetricName.")
        metric = MetricId.of(given["Namespace"], given["MetricName"], dimensions_of(given.get("Dimensions", ()), name))
        if not _has_unit(self._recorder, metric, stat):
            return Timeline({}, stat["Period"], query.get("Label", metric.name), name)
        return await self._read(metric, stat["Stat"], stat["Period"], query.get("Label", metric.name), name)

    async def _read(self, metric: MetricId, stat: str, period: int, label: str, name: str) -> Timeline:
        points = await points_of(self._recorder, metric, _range(self._request, period, self._recorder.now()))
        return Timeline(dict(values_of(points, stat)), period, label, name)

    def _order(self) -> list[str]:
        needs = {name: {one for one in names_of(tree) if one in self._trees} for name, tree in self._trees.items()}
        try:
            return list(TopologicalSorter(needs).static_order())
        except CycleError as problem:
            raise _wrong(problem.args[1][0], "it depends on itself") from None

    def _period(self, queries: Json) -> int:
        return min((query["Period"] for query in queries if query.get("Period")), default=300)

    async def _expression(self, name: str, metrics: Sequence[Timeline], period: int) -> Value:
        tree, query = self._trees[name], self.queries[name]
        period = query.get("Period") or period
        _check_period(period)
        asked = _range(self._request, period, self._recorder.now())
        end = min(asked.end, self._recorder.now() + 1)
        try:
            found = {call.arguments: await self._search(call.arguments, period) for call in calls_of(tree, "SEARCH")}
            return evaluate(tree, Surroundings(self._values, metrics, asked.start, end, period, found))
        except ExpressionError as problem:
            raise _wrong(name, str(problem)) from None

    async def _search(self, arguments: tuple[Node, ...], period: int) -> list[Timeline]:
        text = arguments[0] if arguments else None
        stat = arguments[1] if len(arguments) > 1 else Text("Average")
        length = arguments[2] if len(arguments) > 2 else Number(period)
        if not (isinstance(text, Text) and isinstance(stat, Text) and isinstance(length, Number)):
            raise ExpressionError("SEARCH takes a search in quotes, a statistic in quotes, and a period")
        _check_statistic(stat.value)
        _check_period(int(length.value))
        found = read_search(text.value).find(self._recorder)
        return [await self._read(series.id, stat.value, int(length.value), _label(series.id), "") for series in found]

    def _shown(self, name: str, query: JsonMapping) -> Iterator[_Line]:
        value = self._values[name]
        if isinstance(value, float | str):
            raise _wrong(name, "its result is neither a time series nor a list of them")
        if isinstance(value, Timeline):
            label = query.get("Label", value.label if "MetricStat" in query else name)
            yield _Line(name, label, sorted(value.points.items()))
            return
        prefix = query.get("Label", "" if "SEARCH" in query["Expression"] else name)
        for line in value:
            yield _Line(name, f"{prefix} {line.label}".strip(), sorted(line.points.items()))


def _page(lines: Sequence[_Line], first: int, most: int) -> Json:
    """Results from the point number `first` on, counted through all series."""
    shown: list[Json] = []
    before = 0
    for line in lines:
        count = len(line.values)
        begin = min(max(first - before, 0), count)
        end = min(max(first + most - before, 0), count)
        is_here = end > begin or (count == 0 and first == 0)
        if is_here:
            values = line.values[begin:end]
            shown.append(
                {
                    "Id": line.id,
                    "Label": line.label,
                    "Timestamps": [at * 1000 for at, _ in values],
                    "Values": [value for _, value in values],
                    "StatusCode": "Complete" if end == count else "PartialData",
                }
            )
        before += count
    answer: JsonObject = {"MetricDataResults": shown, "Messages": []}
    if before > first + most:
        answer["NextToken"] = TOKENS.write(first + most)
    return answer


def _label(metric: MetricId) -> str:
    return " ".join((metric.name, *(value for _, value in metric.dimensions)))


# ------------------------------------------------------------------ checks


def _range(request: JsonMapping, period: int, now: int) -> Range:
    _check_times(request)
    _check_period(period)
    return range_of(request["StartTime"], request["EndTime"], period, now)


def _check_times(request: JsonMapping) -> None:
    if request["StartTime"] >= request["EndTime"]:
        raise invalid("The parameter StartTime must be less than the parameter EndTime.")


def _check_period(period: int) -> None:
    if not is_period(period):
        raise invalid(
            f"The value {period} for parameter Period is invalid: it must be 1, 5, 10, 20, 30 or a multiple of 60."
        )
    if period > DAY * 365:
        raise invalid(f"The value {period} for parameter Period is invalid: it is too long.")


def _check_statistic(name: str) -> None:
    if not is_statistic(name):
        raise invalid(
            f"The value {name} for parameter Stat is invalid. Valid are SampleCount, Sum, Average, Minimum, Maximum, "
            "and p, tm, tc and ts with a percentage, such as p99."
        )


def _has_unit(recorder: Recorder, metric: MetricId, wanted: JsonMapping) -> bool:
    return "Unit" not in wanted or wanted["Unit"] == _unit(recorder, metric)


def _unit(recorder: Recorder, metric: MetricId) -> str:
    series = recorder.find(metric)
    return series.unit if series is not None else "None"


def _wrong(name: str, reason: str) -> ApiError:
    return ApiError("ValidationException", f"Error in expression '{name}' [{reason}]")
