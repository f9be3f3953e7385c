"""Metric math: evaluation of expressions.

A value is a number, a time series, or several. Between two series a missing point counts as 0; a division by 0 leaves
its point out. Source: CloudWatch user guide, "Math expressions with metrics".
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from statewright.metrics.expressions import ExpressionError, Function, Listed, Name, Node, Number, Operation, Text

Points = dict[int, float]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A time series: values by epoch second, oldest first. `id` is that of the metric's query, empty for others."""

    points: Points
    period: int
    label: str = ""
    id: str = ""


Value = float | str | Timeline | list[Timeline]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of an expression: ids, the metrics of the request, its range, and the results of searches."""

    values: Mapping[str, Value]
    metrics: Sequence[Timeline]
    start: int
    end: int
    period: int
    found: Mapping[tuple[Node, ...], list[Timeline]]

    def instants(self, period: int) -> range:
        """Every instant that a series without gaps has."""
        return range(self.start, self.end, period)


def evaluate(node: Node, around: Surroundings) -> Value:
    """The value of a tree. Raises: ExpressionError."""
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Text):
        return node.value
    if isinstance(node, Name):
        if node.name not in around.values:
            raise ExpressionError(f"{node.name} is not the id of a query")
        return around.values[node.name]
    if isinstance(node, Listed):
        return [line for element in node.elements for line in _lines(evaluate(element, around))]
    if isinstance(node, Operation):
        return _operated(node.operator, evaluate(node.left, around), evaluate(node.right, around))
    return _called(node, around)


def _lines(value: Value) -> list[Timeline]:
    if isinstance(value, list):
        return value
    if isinstance(value, Timeline):
        return [value]
    raise ExpressionError("a list holds time series only")


# ------------------------------------------------------------------ operators

_BINARY: Final[dict[str, Callable[[float, float], float]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a**b,
    "==": lambda a, b: float(a == b),
    "!=": lambda a, b: float(a != b),
    "<": lambda a, b: float(a < b),
    ">": lambda a, b: float(a > b),
    "<=": lambda a, b: float(a <= b),
    ">=": lambda a, b: float(a >= b),
    "&&": lambda a, b: float(bool(a) and bool(b)),
    "||": lambda a, b: float(bool(a) or bool(b)),
}


def _operated(sign: str, left: Value, right: Value) -> Value:
    if isinstance(left, str) or isinstance(right, str):
        raise ExpressionError(f"{sign} does not take texts")
    if isinstance(left, list) and isinstance(right, list):
        raise ExpressionError(f"{sign} does not take two arrays of time series")
    if isinstance(left, list):
        return [_pair(sign, one, right) for one in left]  # type: ignore[arg-type, misc]
    if isinstance(right, list):
        return [_pair(sign, left, one) for one in right]  # type: ignore[misc]
    return _pair(sign, left, right)


def _pair(sign: str, left: float | Timeline, right: float | Timeline) -> float | Timeline:
    work = _BINARY[sign]
    if isinstance(left, Timeline) and isinstance(right, Timeline):
        instants = sorted({*left.points, *right.points})
        pairs = {at: (left.points.get(at, 0.0), right.points.get(at, 0.0)) for at in instants}
        return Timeline(_worked(work, pairs), min(left.period, right.period), left.label)
    if isinstance(left, Timeline):
        other = _number(right)
        return Timeline(_worked(work, {at: (one, other) for at, one in left.points.items()}), left.period, left.label)
    if isinstance(right, Timeline):
        return Timeline(_worked(work, {at: (left, one) for at, one in right.points.items()}), right.period, right.label)
    found = _worked(work, {0: (left, right)})
    if not found:
        raise ExpressionError("a division by zero, or a number that is too large")
    return found[0]


def _worked(work: Callable[[float, float], float], pairs: Mapping[int, tuple[float, float]]) -> Points:
    found: Points = {}
    for at, (left, right) in pairs.items():
        try:
            value = work(left, right)
        except (ZeroDivisionError, OverflowError):
            continue
        if not isinstance(value, complex) and math.isfinite(value):
            found[at] = value
    return found


def _number(value: Value) -> float:
    if isinstance(value, float | int):
        return float(value)
    raise ExpressionError("a number is needed where there is a time series or a text")


# ------------------------------------------------------------------ functions


def _called(call: Function, around: Surroundings) -> Value:
    if call.name == "SEARCH":
        return around.found[call.arguments]
    if call.name in ("FILL", "SORT"):
        return (_filled if call.name == "FILL" else _sorted)(call, around)
    values = [evaluate(argument, around) for argument in call.arguments]
    if call.name == "METRICS":
        return _metrics(values, around)
    if call.name == "IF":
        return _chosen(values)
    if call.name == "TIME_SERIES":
        level = _number(_only(call.name, values))
        return Timeline(dict.fromkeys(around.instants(around.period), level), around.period)
    if call.name == "SLICE":
        lines, bounds = _lines(values[0]) if values else [], [int(_number(one)) for one in values[1:]]
        if len(bounds) not in (1, 2):
            raise ExpressionError("SLICE takes an array of time series and one or two numbers")
        return lines[bounds[0] : bounds[1] if len(bounds) == 2 else None]
    if call.name in _OF_MANY:
        return _OF_MANY[call.name](_lines(_only(call.name, values)))
    if call.name in _AGGREGATES:
        return _aggregated(call.name, _only(call.name, values))
    if call.name in _EACH:
        work, value = _EACH[call.name], _only(call.name, values)
        if isinstance(value, float):
            found = work(Timeline({0: value}, 1)).points
            return found.get(0, 0.0)
        lines = [work(line) for line in _lines(value)]
        return lines if isinstance(value, list) else lines[0]
    if call.name == "PERIOD":
        line = _only(call.name, values)
        if not isinstance(line, Timeline):
            raise ExpressionError("PERIOD takes a metric")
        return float(line.period)
    raise ExpressionError(f"there is no function {call.name} here")


def _only(name: str, values: Sequence[Value]) -> Value:
    if len(values) != 1:
        raise ExpressionError(f"{name} takes one argument")
    return values[0]


def _metrics(values: Sequence[Value], around: Surroundings) -> list[Timeline]:
    if not values:
        return list(around.metrics)
    wanted = _only("METRICS", values)
    if not isinstance(wanted, str):
        raise ExpressionError("METRICS takes a text, or nothing")
    return [line for line in around.metrics if wanted in line.id]


def _filled(call: Function, around: Surroundings) -> Value:
    if len(call.arguments) != 2:
        raise ExpressionError("FILL takes time series and what to fill them with")
    value = evaluate(call.arguments[0], around)
    filler = call.arguments[1]
    keyword = filler.name if isinstance(filler, Name) and filler.name in ("REPEAT", "LINEAR") else None
    with_value = None if keyword is not None else evaluate(filler, around)
    lines = []
    for line in _lines(value):
        points: Points = {}
        known = list(line.points)
        last: int | None = None
        place = 0
        for at in sorted({*around.instants(line.period), *known}):
            while place < len(known) and known[place] <= at:
                last = known[place]
                place += 1
            if at in line.points:
                points[at] = line.points[at]
            elif keyword == "REPEAT" and last is not None:
                points[at] = line.points[last]
            elif keyword == "LINEAR" and last is not None and place < len(known):
                after = known[place]
                share = (at - last) / (after - last)
                points[at] = line.points[last] + share * (line.points[after] - line.points[last])
            elif isinstance(with_value, Timeline):
                if at in with_value.points:
                    points[at] = with_value.points[at]
            elif with_value is not None:
                points[at] = _number(with_value)
        lines.append(Timeline(points, line.period, line.label, line.id))
    return lines if isinstance(value, list) else lines[0]


def _sorted(call: Function, around: Surroundings) -> list[Timeline]:
    keywords = [one.name if isinstance(one, Name) else "" for one in call.arguments[1:3]]
    if len(call.arguments) not in (3, 4) or keywords[0] not in _AGGREGATES or keywords[1] not in ("ASC", "DESC"):
        raise ExpressionError("SORT takes time series, one of AVG, MIN, MAX and SUM, and ASC or DESC")
    lines = _lines(evaluate(call.arguments[0], around))
    work = _AGGREGATES[keywords[0]]
    with_points = [line for line in lines if line.points]
    found = sorted(with_points, key=lambda line: work(list(line.points.values())), reverse=keywords[1] == "DESC")
    found += [line for line in lines if not line.points]
    return found[: int(_number(evaluate(call.arguments[3], around)))] if len(call.arguments) == 4 else found


def _chosen(values: Sequence[Value]) -> Value:
    """IF(condition, value if true, value if false). Source: user guide, "Using IF expressions"."""
    if len(values) not in (2, 3) or any(isinstance(one, list | str) for one in values):
        raise ExpressionError("IF takes a condition and one or two numbers or single time series")
    condition, so = values[0], values[1]
    otherwise = values[2] if len(values) == 3 else None
    if not isinstance(condition, Timeline):
        value = so if condition else otherwise
        return Timeline({}, 60) if value is None else value
    points: Points = {}
    for at, truth in condition.points.items():
        value = so if truth else otherwise
        if isinstance(value, Timeline):
            points[at] = value.points.get(at, 0.0)
        elif value is not None:
            points[at] = _number(value)
    return Timeline(points, condition.period, condition.label)


_AGGREGATES: Final[dict[str, Callable[[Sequence[float]], float]]] = {
    "SUM": math.fsum,
    "AVG": statistics.fmean,
    "MIN": min,
    "MAX": max,
    "STDDEV": statistics.pstdev,
    "DATAPOINT_COUNT": lambda values: float(len(values)),
}


def _aggregated(name: str, value: Value) -> Value:
    """One number of a series; of several, one series of the values at each instant."""
    work = _AGGREGATES[name]
    if isinstance(value, Timeline):
        return work(list(value.points.values())) if value.points or name == "DATAPOINT_COUNT" else 0.0
    lines = _lines(value)
    instants = sorted({at for line in lines for at in line.points})
    points: Points = {}
    for at in instants:
        values = [line.points[at] for line in lines if at in line.points]
        if name == "AVG":
            # Source: user guide, AVG: missing values are treated as 0.
            values += [0.0] * (len(lines) - len(values))
        points[at] = work(values)
    return Timeline(points, min((line.period for line in lines), default=60))


_OF_MANY: Final[dict[str, Callable[[list[Timeline]], Value]]] = {
    "FIRST": lambda lines: lines[0] if lines else Timeline({}, 60),
    "LAST": lambda lines: lines[-1] if lines else Timeline({}, 60),
    "METRIC_COUNT": lambda lines: float(len(lines)),
    "REMOVE_EMPTY": lambda lines: [line for line in lines if line.points],
}


def _mapped(work: Callable[[float], float | None]) -> Callable[[Timeline], Timeline]:
    def each(line: Timeline) -> Timeline:
        points = {at: found for at, one in line.points.items() if (found := work(one)) is not None}
        return Timeline(points, line.period, line.label)

    return each


def _by_time(work: Callable[[datetime], float]) -> Callable[[Timeline], Timeline]:
    def each(line: Timeline) -> Timeline:
        points = {at: work(datetime.fromtimestamp(at, UTC)) for at in line.points}
        return Timeline(points, line.period, line.label)

    return each


def _steps(work: Callable[[float, int], float]) -> Callable[[Timeline], Timeline]:
    """Computed from the difference to the previous point, and the seconds since."""

    def each(line: Timeline) -> Timeline:
        points: Points = {}
        before: tuple[int, float] | None = None
        for at, value in line.points.items():
            if before is not None:
                points[at] = work(value - before[1], at - before[0])
            before = (at, value)
        return Timeline(points, line.period, line.label)

    return each


def _running_sum(line: Timeline) -> Timeline:
    total = 0.0
    points: Points = {}
    for at, value in line.points.items():
        total += value
        points[at] = total
    return Timeline(points, line.period, line.label)


_EACH: Final[dict[str, Callable[[Timeline], Timeline]]] = {
    "ABS": _mapped(abs),
    "CEIL": _mapped(lambda value: float(math.ceil(value))),
    "FLOOR": _mapped(lambda value: float(math.floor(value))),
    "LOG": _mapped(lambda value: math.log(value) if value > 0 else None),
    "LOG10": _mapped(lambda value: math.log10(value) if value > 0 else None),
    "DIFF": _steps(lambda difference, _seconds: difference),
    "DIFF_TIME": _steps(lambda _difference, seconds: float(seconds)),
    "RATE": _steps(lambda difference, seconds: difference / seconds),
    "RUNNING_SUM": _running_sum,
    "MINUTE": _by_time(lambda at: float(at.minute)),
    "HOUR": _by_time(lambda at: float(at.hour)),
    "DAY": _by_time(lambda at: float(at.isoweekday())),
    "DATE": _by_time(lambda at: float(at.day)),
    "MONTH": _by_time(lambda at: float(at.month)),
    "YEAR": _by_time(lambda at: float(at.year)),
    "EPOCH": _by_time(lambda at: at.timestamp()),
}
