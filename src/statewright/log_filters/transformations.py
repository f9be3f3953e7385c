"""Metric filters at work: the metric that an event adds to, its value and its dimensions.

Source: CloudWatch Logs user guide, "Filter pattern syntax for metric filters"; refusals observed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from statewright.errors import ApiError
from statewright.log_filters.records import MetricFilter
from statewright.metrics.points import Point
from statewright.metrics.series import MetricId
from statewright.payload import JsonMapping
from statewright.records.log_files import LogEvent
from statewright.records.log_patterns import TEXT, LogPattern, read_pattern

MOST_DIMENSIONS: Final = 3

Observation = tuple[MetricId, str, Point]
"""A metric, its unit, and the value that an event adds."""


def invalid(text: str) -> ApiError:
    """The error for a filter that cannot be put."""
    return ApiError("InvalidParameterException", text)


def check(transformation: JsonMapping, pattern: LogPattern) -> None:
    """Check a transformation against its pattern. Raises: ApiError."""
    if transformation["metricNamespace"].startswith("AWS/"):
        raise invalid("Invalid metric transformation: the namespace of a metric must not begin with AWS/.")
    value, dimensions = transformation["metricValue"], transformation.get("dimensions") or {}
    if value.startswith("$"):
        _check_selector(value, pattern)
    elif _number(value) is None:
        raise invalid(f"Invalid metric transformation: metricValue {value} is neither a number nor a field.")
    if not dimensions:
        return
    if transformation.get("defaultValue") is not None:
        raise invalid("Invalid metric transformation: dimensions and default value are mutually exclusive properties.")
    if pattern.kind == TEXT:
        raise invalid("The specified filter pattern does not support dimensions.")
    if len(dimensions) > MOST_DIMENSIONS:
        raise invalid(f"Invalid metric transformation: a metric has {MOST_DIMENSIONS} dimensions at most.")
    for selector in dimensions.values():
        _check_selector(selector, pattern)


def _check_selector(selector: str, pattern: LogPattern) -> None:
    if not pattern.knows(selector):
        raise invalid(f"Invalid metric transformation: the filter pattern has no field {selector}.")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


@dataclass(slots=True)
class Counting:
    """A metric filter with its pattern, and the last minutes for which it has counted or given its default value."""

    filter: MetricFilter
    pattern: LogPattern
    matched: int = 0
    given: int = 0

    @staticmethod
    def of(one: MetricFilter) -> Counting:
        """The filter, compiled. Raises: ApiError."""
        return Counting(one, read_pattern(one.pattern))

    def observations(self, events: Sequence[LogEvent]) -> list[Observation]:
        """The values of events, and the default value of each minute without any."""
        found: list[Observation] = []
        minutes = set()
        for event in events:
            minute = event.at_ms // 60_000
            minutes.add(minute)
            if self.pattern.test(event.message):
                self.matched = max(self.matched, minute)
                found += self._observed(event)
        for minute in sorted(minutes):
            if minute > max(self.matched, self.given):
                self.given = minute
                found += self._default(minute * 60)
        return found

    def _observed(self, event: LogEvent) -> list[Observation]:
        found = []
        for one in self.filter.transformations:
            text = one["metricValue"]
            value = _number(self.pattern.value(text, event.message) or "" if text.startswith("$") else text)
            if value is None:
                continue
            dimensions = {
                name: text for name, selector in (one.get("dimensions") or {}).items()
                if (text := self.pattern.value(selector, event.message))
            }  # fmt: skip
            found.append(_observation(one, event.at_ms // 1000, value, dimensions))
        return found

    def _default(self, at: int) -> list[Observation]:
        return [
            _observation(one, at, float(one["defaultValue"]), {})
            for one in self.filter.transformations if one.get("defaultValue") is not None
        ]  # fmt: skip


def _observation(one: JsonMapping, at: int, value: float, dimensions: dict[str, str]) -> Observation:
    metric = MetricId.of(one["metricNamespace"], one["metricName"], dimensions)
    return metric, one.get("unit") or "None", Point(at, 1, value, value, value, value)
