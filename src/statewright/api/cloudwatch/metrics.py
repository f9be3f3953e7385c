"""PutMetricData and ListMetrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from statewright.api.cloudwatch.wires import SERVICE, invalid, missing, not_together
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.metrics.points import Point, point_of
from statewright.metrics.reading import matching
from statewright.metrics.series import MetricId
from statewright.pages import PageTokens
from statewright.payload import Json, JsonMapping, JsonObject

MOST_METRICS: Final = 1_000
MOST_VALUES: Final = 150
MOST_DIMENSIONS: Final = 30
GREATEST: Final = 2.0**360
OLDEST_SECONDS: Final = 14 * 86_400
LATEST_SECONDS: Final = 2 * 3_600
"""Source, as the four above: API reference, PutMetricData."""
TOKENS: Final = PageTokens[int](
    "cloudwatch", lambda _: ApiError("InvalidNextToken", "The next token specified is invalid.")
)
LISTED: Final = 500
"""Source: API reference, ListMetrics."""


@operation(SERVICE, "PutMetricData")
async def put_metric_data(app: App, _call: Call, request: Json) -> None:
    """Record the caller's own metrics, all of them or none."""
    recorder = app.services.metrics
    namespace = request["Namespace"]
    if namespace.startswith("AWS/"):
        raise invalid("The value AWS/ for parameter Namespace is invalid.")
    every = list(request.get("MetricData", ()))
    for entity in request.get("EntityMetricData", ()):
        every += entity.get("MetricData", ())
    if not every:
        raise missing("The parameter MetricData is required.")
    if len(every) > MOST_METRICS:
        raise invalid(f"The collection MetricData must not have a size greater than {MOST_METRICS}.")
    now = recorder.now()
    taken = [_datum(namespace, datum, f"MetricData.member.{number}", now) for number, datum in enumerate(every, 1)]
    for metric, unit, point in taken:
        recorder.put(metric, unit, [point])


def _datum(namespace: str, datum: JsonMapping, where: str, now: int) -> tuple[MetricId, str, Point]:
    metric = MetricId.of(namespace, datum["MetricName"], dimensions_of(datum.get("Dimensions", ()), where))
    at_ms = datum.get("Timestamp")
    at = now if at_ms is None else at_ms // 1000
    if at < now - OLDEST_SECONDS:
        raise invalid(f"The parameter {where}.Timestamp must specify a time within the past two weeks.")
    if at > now + LATEST_SECONDS:
        raise invalid(f"The parameter {where}.Timestamp must specify a time no more than two hours in the future.")
    given = [name for name in ("Value", "Values", "StatisticValues") if name in datum]
    if not given:
        raise missing(f"At least one of the parameters must be specified: {where}.Value, {where}.StatisticValues")
    if len(given) > 1:
        raise not_together(
            f"The parameters {where}.{given[0]} and {where}.{given[1]} are mutually exclusive and you have specified "
            "both."
        )
    return metric, datum.get("Unit", "None"), _point(at, datum, where)


def _point(at: int, datum: JsonMapping, where: str) -> Point:
    if "StatisticValues" in datum:
        found = datum["StatisticValues"]
        count, low, high = found["SampleCount"], found["Minimum"], found["Maximum"]
        for value in found.values():
            _check(value, f"{where}.StatisticValues")
        if low > high or count <= 0:
            raise invalid(f"The value of {where}.StatisticValues is invalid: its minimum is above its maximum.")
        return Point(at, count, found["Sum"], low, high, high)
    values = datum.get("Values", [datum.get("Value")])
    counts = datum.get("Counts", [1] * len(values)) if "Values" in datum else [1]
    if len(counts) != len(values):
        raise invalid(f"The parameters {where}.Values and {where}.Counts must have the same length.")
    if not values or len(values) > MOST_VALUES:
        raise invalid(f"The collection {where}.Values must have between 1 and {MOST_VALUES} elements.")
    spread: dict[float, float] = {}
    for value, count in zip(values, counts, strict=True):
        _check(value, f"{where}.Value")
        _check(count, f"{where}.Counts")
        if count < 0:
            raise invalid(f"The value {count} for parameter {where}.Counts is invalid.")
        spread[float(value)] = spread.get(float(value), 0) + count
    spread = {value: count for value, count in spread.items() if count}
    return point_of(at, spread or {float(values[0]): 0})


def _check(value: float, where: str) -> None:
    if not -GREATEST <= value <= GREATEST:
        raise invalid(f"The value {value} for parameter {where} is invalid.")


def dimensions_of(given: Sequence[Mapping[str, str]], where: str) -> dict[str, str]:
    """Dimensions by name. Raises: ApiError."""
    if len(given) > MOST_DIMENSIONS:
        raise invalid(f"The collection {where}.Dimensions must not have a size greater than {MOST_DIMENSIONS}.")
    found: dict[str, str] = {}
    for one in given:
        if one["Name"] in found:
            raise invalid(f"The dimension {one['Name']} of {where} is given more than once.")
        found[one["Name"]] = one["Value"]
    return found


@operation(SERVICE, "ListMetrics")
async def list_metrics(app: App, _call: Call, request: Json) -> Json:
    """List metrics; new ones are listed immediately."""
    recorder = app.services.metrics
    wanted = [(one["Name"], one.get("Value")) for one in request.get("Dimensions", ())]
    found = matching(
        recorder, request.get("Namespace"), request.get("MetricName"), wanted, recent="RecentlyActive" in request
    )
    first = TOKENS.read(request.get("NextToken")) or 0
    page = found[first : first + LISTED]
    answer: JsonObject = {"Metrics": [shown(series.id) for series in page]}
    if first + LISTED < len(found):
        answer["NextToken"] = TOKENS.write(first + LISTED)
    return answer


def shown(metric: MetricId) -> JsonObject:
    """A metric as the API shows it."""
    return {
        "Namespace": metric.namespace,
        "MetricName": metric.name,
        "Dimensions": [{"Name": name, "Value": value} for name, value in metric.dimensions],
    }
