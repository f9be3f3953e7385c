"""The settings of an alarm: what PutMetricAlarm accepts, and what evaluation makes of them.

Source: API reference, PutMetricAlarm; texts of refusals are Statewright's own where the reference has none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Final

from statewright.alarms.evaluation import COMPARISONS, MISSING, TREATMENTS, Condition
from statewright.alarms.measuring import DAY, Measure, Measured
from statewright.config import Config
from statewright.errors import ApiError
from statewright.metrics.expressions import ExpressionError, Node, calls_of, names_of, parse
from statewright.metrics.points import is_statistic
from statewright.metrics.series import MetricId
from statewright.payload import Json, JsonMapping

FINE_PERIODS: Final = (10, 20, 30)
LONGEST_SECONDS: Final = 7 * DAY
MOST_METRICS: Final = 10
"""Metrics in the expression of an alarm. Source: CloudWatch quotas."""
ABSENT: Final = {
    "ThresholdMetricId": "anomaly detection",
    "EvaluationCriteria": "PromQL queries",
    "WarmUpConfiguration": "warm-up periods",
    "EvaluationInterval": "an evaluation interval",
}
"""Members that Statewright refuses, with what they mean."""
OF_ONE_METRIC: Final = (
    "MetricName", "Namespace", "Dimensions", "Period", "Unit", "Statistic", "ExtendedStatistic",
)  # fmt: skip
_ACTION: Final = re.compile(r"arn:aws[a-z-]*:(sns|lambda):([a-z0-9-]+):(\d{12}):(.+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rule:
    """An alarm's settings, ready for evaluation."""

    measure: Measure
    condition: Condition
    says_needed: bool
    ignores_few_samples: bool


def invalid(text: str) -> ApiError:
    """The error for settings that contradict each other or are not supported."""
    return ApiError("ValidationException", text)


def rule_of(settings: JsonMapping) -> Rule:
    """Compile the settings of an alarm. Raises: ApiError (`ValidationException`)."""
    for member, words in ABSENT.items():
        if settings.get(member) is not None:
            raise invalid(f"Statewright does not support alarms with {words}; leave {member} out.")
    if (settings.get("EvaluationWindow") or {}).get("WallClockWindow") is not None:
        raise invalid("Statewright does not support wall clock windows; leave EvaluationWindow out.")
    measure = _of_expression(settings) if settings.get("Metrics") else _of_metric(settings)
    condition = _condition(settings)
    span = measure.period * condition.periods
    if span > LONGEST_SECONDS or (measure.period < 3_600 and span > DAY):
        most = LONGEST_SECONDS if measure.period >= 3_600 else DAY
        length = "seven days" if most == LONGEST_SECONDS else "a day"
        raise invalid(
            f"Metrics cannot be checked across more than {length} (EvaluationPeriods * Period must be <= {most})."
        )
    few = settings.get("EvaluateLowSampleCountPercentile")
    if few not in (None, "", "evaluate", "ignore"):
        raise invalid(f"Option {few} for EvaluateLowSampleCountPercentile is invalid: it must be evaluate or ignore.")
    return Rule(measure, condition, settings.get("DatapointsToAlarm") is not None, few == "ignore")


def _condition(settings: JsonMapping) -> Condition:
    comparison, threshold = settings.get("ComparisonOperator"), settings.get("Threshold")
    if not isinstance(comparison, str) or comparison not in COMPARISONS:
        raise invalid(f"Statewright does not support alarms with anomaly detection: ComparisonOperator {comparison}.")
    if threshold is None:
        raise invalid("Threshold must be specified for an alarm with a static threshold.")
    periods = settings["EvaluationPeriods"]
    needed = settings.get("DatapointsToAlarm") or periods
    if needed > periods:
        raise invalid(f"DatapointsToAlarm {needed} must not be greater than EvaluationPeriods {periods}.")
    missing = settings.get("TreatMissingData") or default_treatment(settings)
    if missing not in TREATMENTS:
        raise invalid(f"Option {missing} for TreatMissingData is invalid: it must be one of {', '.join(TREATMENTS)}.")
    return Condition(comparison, threshold, periods, needed, missing)


def default_treatment(settings: JsonMapping) -> str:
    """How missing data is treated unless the settings say so. Source: user guide: tables ignore it."""
    return "ignore" if settings.get("Namespace") == "AWS/DynamoDB" else MISSING


def _of_metric(settings: JsonMapping) -> Measure:
    for member in ("MetricName", "Namespace"):
        if not settings.get(member):
            raise invalid(f"{member} must be specified, or Metrics for an alarm on an expression.")
    if settings.get("Period") is None:
        raise invalid("Period must be specified for an alarm on a metric.")
    plain, extended = settings.get("Statistic"), settings.get("ExtendedStatistic")
    if (plain is None) == (extended is None):
        raise invalid("Exactly one of Statistic and ExtendedStatistic must be specified.")
    statistic = _statistic(plain or extended)
    metric = metric_of(settings)
    return Measure(_period(settings["Period"]), {"m1": Measured(metric, statistic, settings.get("Unit"))}, "m1")


def metric_of(given: JsonMapping) -> MetricId:
    """The metric that a request names. Raises: ApiError."""
    dimensions = given.get("Dimensions") or ()
    found = {one["Name"]: one["Value"] for one in dimensions}
    if len(found) < len(dimensions):
        raise invalid("A dimension is given more than once.")
    return MetricId.of(given["Namespace"], given["MetricName"], found)


def _of_expression(settings: JsonMapping) -> Measure:
    for member in OF_ONE_METRIC:
        if settings.get(member):
            raise invalid(f"Metrics cannot be used together with {member}.")
    queries: Sequence[JsonMapping] = settings["Metrics"]
    inputs: dict[str, Measured] = {}
    trees: dict[str, Node] = {}
    periods = set()
    for query in queries:
        name = query["Id"]
        if name in inputs or name in trees:
            raise invalid(f"The id {name} is used more than once in Metrics.")
        if query.get("MetricStat"):
            stat = query["MetricStat"]
            periods.add(_period(stat["Period"]))
            inputs[name] = Measured(metric_of(stat["Metric"]), _statistic(stat["Stat"]), stat.get("Unit"))
        else:
            trees[name] = _tree(name, query)
    shown = [query["Id"] for query in queries if query.get("ReturnData", True)]
    if len(shown) != 1:
        raise invalid("Exactly one element of the metrics list should return data.")
    if not inputs or len(inputs) > MOST_METRICS:
        raise invalid(f"The expression of an alarm needs between 1 and {MOST_METRICS} metrics.")
    if len(periods) > 1:
        raise invalid("Statewright does not support alarms whose metrics have different periods.")
    return Measure(periods.pop(), inputs, shown[0], _ordered(trees))


def _tree(name: str, query: JsonMapping) -> Node:
    text = query.get("Expression") or ""
    if text.lstrip()[:7].upper() == "SELECT ":
        raise invalid("Statewright does not support alarms on Metrics Insights queries.")
    try:
        tree = parse(text)
    except ExpressionError as problem:
        raise invalid(f"Error in expression '{name}' [{problem}]") from None
    for function in ("SEARCH", "ANOMALY_DETECTION_BAND"):
        if any(calls_of(tree, function)):
            raise invalid(f"{function} is not supported in the expression of an alarm.")
    return tree


def _ordered(trees: Mapping[str, Node]) -> list[tuple[str, Node]]:
    needs = {name: {one for one in names_of(tree) if one in trees} for name, tree in trees.items()}
    try:
        return [(name, trees[name]) for name in TopologicalSorter(needs).static_order()]
    except CycleError as problem:
        raise invalid(f"Error in expression '{problem.args[1][0]}' [it depends on itself]") from None


def _period(period: int) -> int:
    if period not in FINE_PERIODS and (period < 60 or period % 60):
        raise invalid(f"Period {period} is invalid: it must be 10, 20, 30 or a multiple of 60.")
    return period


def _statistic(name: Json) -> str:
    if not isinstance(name, str) or not is_statistic(name):
        raise invalid(
            f"The statistic {name} is not supported: use SampleCount, Sum, Average, Minimum, Maximum, or p, tm, tc and "
            "ts with a percentage, such as p99."
        )
    return name


def check_actions(settings: JsonMapping, config: Config) -> None:
    """Check the ARNs of actions. Raises: ApiError (`ValidationException`)."""
    for member in ("OKActions", "AlarmActions", "InsufficientDataActions"):
        seen: set[str] = set()
        for arn in settings.get(member) or ():
            found = _ACTION.fullmatch(arn)
            if found is None or (found[1] == "lambda" and not found[4].startswith("function:")):
                raise invalid(
                    f"Statewright supports topics and functions as actions of alarms, not {arn}; an event rule reaches "
                    "other targets."
                )
            if found[2] != config.region:
                raise invalid(f"Invalid region {found[2]} specified. Only {config.region} is supported.")
            if config.is_of_other_account(arn):
                raise invalid(f"The action {arn} is in another account; alarms act in their own, {config.account}.")
            if arn in seen:
                raise invalid(f"The action {arn} is listed more than once in {member}.")
            seen.add(arn)
