"""Notices that an alarm sends when its state changes: the message to a topic, the event for functions, the bus event.

Source: recorded; CloudWatch user guide, "Invoke a Lambda function from an alarm", "Alarm events and EventBridge".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from statewright.alarms.records import Alarm
from statewright.alarms.region_names import long_name
from statewright.alarms.settings import default_treatment
from statewright.alarms.wording import instant_text
from statewright.config import Config
from statewright.events.delivery_records import call_id_of
from statewright.payload import Json, JsonMapping, JsonObject, dump_json

SOURCE: Final = "aws.cloudwatch"
STATE_CHANGE: Final = "CloudWatch Alarm State Change"
CONFIGURATION_CHANGE: Final = "CloudWatch Alarm Configuration Change"
SUBJECT_CHARACTERS: Final = 100
"""Source: SNS API reference, Publish."""


def alarm_arn(config: Config, name: str) -> str:
    """The ARN of an alarm."""
    return config.arn("cloudwatch", f"alarm:{name}")


def subject(config: Config, alarm: Alarm) -> str:
    """The subject of a message about a state. A name that is too long is cut."""
    region = long_name(config.region)
    room = SUBJECT_CHARACTERS - len(f'{alarm.state}: "" in {region}')
    name = alarm.name if len(alarm.name) <= room else f"{alarm.name[: room - 3]}..."
    return f'{alarm.state}: "{name}" in {region}'


def message(config: Config, alarm: Alarm, before: Alarm) -> str:
    """The message to a topic, as JSON text."""
    settings = alarm.settings
    return dump_json(
        {
            "AlarmName": alarm.name,
            "AlarmDescription": settings.get("AlarmDescription"),
            "AWSAccountId": config.account,
            "AlarmConfigurationUpdatedTimestamp": instant_text(alarm.updated_ms),
            "NewStateValue": alarm.state,
            "NewStateReason": alarm.reason,
            "StateChangeTime": instant_text(alarm.transition_ms),
            "Region": long_name(config.region),
            "AlarmArn": alarm_arn(config, alarm.name),
            "OldStateValue": before.state,
            "ActionExecutedAfterMuteWindow": False,
            "OKActions": list(settings.get("OKActions") or ()),
            "AlarmActions": list(settings.get("AlarmActions") or ()),
            "InsufficientDataActions": list(settings.get("InsufficientDataActions") or ()),
            "Trigger": _trigger(settings),
        }
    )


def _trigger(settings: JsonMapping) -> JsonObject:
    trigger: JsonObject = {}
    if not settings.get("Metrics"):
        trigger["MetricName"] = settings["MetricName"]
        trigger["Namespace"] = settings["Namespace"]
        if settings.get("Statistic"):
            trigger |= {"StatisticType": "Statistic", "Statistic": settings["Statistic"].upper()}
        else:
            trigger |= {"StatisticType": "ExtendedStatistic", "ExtendedStatistic": settings["ExtendedStatistic"]}
        trigger["Unit"] = settings.get("Unit")
        trigger["Dimensions"] = _turned(settings.get("Dimensions") or ())
        trigger["Period"] = settings["Period"]
    trigger["EvaluationPeriods"] = settings["EvaluationPeriods"]
    if settings.get("DatapointsToAlarm"):
        trigger["DatapointsToAlarm"] = settings["DatapointsToAlarm"]
    trigger["ComparisonOperator"] = settings["ComparisonOperator"]
    trigger["Threshold"] = float(settings["Threshold"])
    trigger["TreatMissingData"] = settings.get("TreatMissingData") or default_treatment(settings)
    trigger["EvaluateLowSampleCountPercentile"] = settings.get("EvaluateLowSampleCountPercentile") or ""
    if settings.get("Metrics"):
        trigger["Metrics"] = [_query(query) for query in settings["Metrics"]]
    return trigger


def _query(query: JsonMapping) -> JsonObject:
    shown: JsonObject = {"Id": query["Id"], "ReturnData": query.get("ReturnData", True)}
    shown |= {name: query[name] for name in ("Expression", "Label") if query.get(name)}
    if query.get("MetricStat"):
        stat = query["MetricStat"]
        metric = {**stat["Metric"], "Dimensions": _turned(stat["Metric"].get("Dimensions") or ())}
        shown["MetricStat"] = {**stat, "Metric": metric}
    return shown


def _turned(dimensions: Iterable[JsonMapping]) -> list[Json]:
    return [{"value": one["Value"], "name": one["Name"]} for one in dimensions]


def function_event(config: Config, alarm: Alarm, before: Alarm) -> str:
    """The event that a function gets, as JSON text."""
    return dump_json(
        {
            "source": SOURCE,
            "alarmArn": alarm_arn(config, alarm.name),
            "accountId": config.account,
            "time": instant_text(alarm.state_ms),
            "region": config.region,
            "alarmData": state_detail(alarm, before),
        }
    )


def state_detail(alarm: Alarm, before: Alarm) -> JsonObject:
    """The detail of a change of state."""
    return {
        "alarmName": alarm.name,
        "state": _state(alarm),
        "previousState": _state(before),
        "configuration": configuration(alarm),
    }


def _state(alarm: Alarm) -> JsonObject:
    shown: JsonObject = {"value": alarm.state, "reason": alarm.reason}
    if alarm.reason_data is not None:
        shown["reasonData"] = alarm.reason_data
    shown["timestamp"] = instant_text(alarm.state_ms)
    return shown


def configuration(alarm: Alarm) -> JsonObject:
    """The description and metrics of an alarm, as events have them."""
    settings = alarm.settings
    shown: JsonObject = {}
    if settings.get("AlarmDescription") is not None:
        shown["description"] = settings["AlarmDescription"]
    if settings.get("Metrics"):
        shown["metrics"] = [_configured(query) for query in settings["Metrics"]]
        return shown
    stat = _stat(settings, settings["Period"], settings.get("Statistic") or settings.get("ExtendedStatistic"))
    shown["metrics"] = [{"id": call_id_of(alarm.number), "metricStat": stat, "returnData": True}]
    return shown


def _configured(query: JsonMapping) -> JsonObject:
    shown: JsonObject = {"id": query["Id"], "returnData": query.get("ReturnData", True)}
    shown |= {name.lower(): query[name] for name in ("Expression", "Label") if query.get(name)}
    if query.get("MetricStat"):
        given = query["MetricStat"]
        shown["metricStat"] = _stat({**given["Metric"], "Unit": given.get("Unit")}, given["Period"], given["Stat"])
    return shown


def _stat(metric: JsonMapping, period: int, stat: Json) -> JsonObject:
    dimensions = {one["Name"]: one["Value"] for one in metric.get("Dimensions") or ()}
    named = {"namespace": metric["Namespace"], "name": metric["MetricName"], "dimensions": dimensions}
    shown: JsonObject = {"metric": named, "period": period, "stat": stat}
    if metric.get("Unit"):
        shown["unit"] = metric["Unit"]
    return shown
