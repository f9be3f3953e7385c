"""CloudWatch alarms.

Owns that actions which no alarm of this server can execute are left out with a warning, and the alarm is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonMapping
from statewright.projects.deploy.kinds import Kind, Known, LeftOut, Site, Wanted, holds, never_made, text_of

MONITORING: Final = "cloudwatch"
_SETTINGS: Final = (
    "AlarmDescription", "ActionsEnabled", "MetricName", "Namespace", "Statistic", "ExtendedStatistic", "Dimensions",
    "Period", "Unit", "EvaluationPeriods", "DatapointsToAlarm", "Threshold", "ComparisonOperator", "TreatMissingData",
    "EvaluateLowSampleCountPercentile", "Metrics",
)  # fmt: skip
_ACTIONS: Final = ("OKActions", "AlarmActions", "InsufficientDataActions")
_EXECUTED: Final = re.compile(r"arn:aws[a-z-]*:(sns:[^:]*:[^:]*:.+|lambda:[^:]*:[^:]*:function:.+)", re.DOTALL)


def alarm(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Put an alarm where anything differs."""
    if wanted.properties.get("ThresholdMetricId"):
        raise LeftOut("alarms with anomaly detection are not supported")
    request = wanted.given(*_SETTINGS)
    if "Metrics" in request:
        request["Metrics"] = [_query(one) for one in wanted.items("Metrics")]
    for member in _ACTIONS:
        arns = [text_of(one) for one in wanted.items(member)]
        request[member] = [one for one in arns if _EXECUTED.fullmatch(one)]
        for one in arns:
            if one not in request[member]:
                site.note(f"{member} leaves out {one}: alarms execute topics and functions here")
    answer = site.found(MONITORING, "DescribeAlarms", AlarmNames=[wanted.name]) or {}
    shown = answer.get("MetricAlarms") or []
    if not shown:
        site.create(MONITORING, "PutMetricAlarm", AlarmName=wanted.name, Tags=wanted.tag_list(), **request)
    elif not holds(shown[0], {"ActionsEnabled": True, **request}) or _has_more(shown[0], request):
        site.change(MONITORING, "PutMetricAlarm", AlarmName=wanted.name, **request)
    return {}


def _query(query: Json) -> Json:
    return {key: value for key, value in query.items() if key != "AccountId"} if isinstance(query, dict) else query


def _has_more(shown: JsonMapping, request: JsonMapping) -> bool:
    """True if an alarm has settings that are not wanted any more: a put replaces all of them."""
    kept = [member for member in _SETTINGS if member != "ActionsEnabled" and shown.get(member)]
    return any(member not in request for member in kept) or any(
        len(shown.get(member) or ()) != len(request[member]) for member in _ACTIONS
    )


def _delete_alarm(site: Site, known: Known) -> None:
    site.change(MONITORING, "DeleteAlarms", AlarmNames=[known.ref])


KINDS: Final = {
    "AWS::CloudWatch::Alarm": Kind(
        "alarm", alarm, _delete_alarm, "AlarmName", 255, "cloudwatch:{region}:{account}:alarm:{name}"
    ),
    "AWS::CloudWatch::CompositeAlarm": never_made(
        "composite alarm", "composite alarms are not supported; metric alarms are",
        arn="cloudwatch:{region}:{account}:alarm:{name}", name="AlarmName",
    ),
}  # fmt: skip
