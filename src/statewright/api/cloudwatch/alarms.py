"""Operations on alarms. Composite alarms, log alarms and mute rules are not there."""

from __future__ import annotations

import re
from typing import Final

from statewright.alarms.notices import alarm_arn
from statewright.alarms.records import ALARM, INSUFFICIENT, OK, Alarm
from statewright.alarms.settings import metric_of
from statewright.api.cloudwatch.wires import SERVICE, invalid
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject, JsonTextError, parse_json
from statewright.tags import tag_list, tags_by_key

TOKENS: Final = PageTokens[str](
    "cloudwatch alarms", lambda _: ApiError("InvalidNextToken", "The next token specified is invalid.")
)
MOST: Final = 50
"""Alarms of one answer unless the request says otherwise. Source: API reference, DescribeAlarms."""

_APART: Final = ("AlarmName", "Tags", "ActionsEnabled")
_ARN: Final = re.compile(r"arn:aws[a-z-]*:cloudwatch:[^:]*:[^:]*:alarm:(.+)", re.DOTALL)
_STATES: Final = (OK, ALARM, INSUFFICIENT)


@operation(SERVICE, "PutMetricAlarm")
async def put_metric_alarm(app: App, _call: Call, request: Json) -> None:
    """Create an alarm, or replace its settings."""
    settings = {name: value for name, value in request.items() if name not in _APART and value is not None}
    await app.services.alarms.put(
        request["AlarmName"],
        settings,
        actions_enabled=request.get("ActionsEnabled", True),
        tags=tags_by_key(request.get("Tags")),
    )


@operation(SERVICE, "PutCompositeAlarm")
async def put_composite_alarm(_app: App, _call: Call, _request: Json) -> None:
    """Refuse composite alarms."""
    raise ApiError(
        "ValidationException",
        "Statewright does not support composite alarms; use a metric alarm with an expression in Metrics, or a "
        "rule for CloudWatch Alarm State Change events.",
    )


@operation(SERVICE, "DeleteAlarms")
async def delete_alarms(app: App, _call: Call, request: Json) -> None:
    """Delete alarms; one that does not exist is refused if it is the only one."""
    names = request["AlarmNames"]
    if len(names) == 1 and app.services.alarms.get(names[0]) is None:
        raise ApiError("ResourceNotFound", f"Alarm {names[0]} does not exist", status=404)
    await app.services.alarms.delete(names)


@operation(SERVICE, "EnableAlarmActions")
async def enable_alarm_actions(app: App, _call: Call, request: Json) -> None:
    """Have the actions of alarms executed."""
    await app.services.alarms.enable(request["AlarmNames"], actions_enabled=True)


@operation(SERVICE, "DisableAlarmActions")
async def disable_alarm_actions(app: App, _call: Call, request: Json) -> None:
    """Have the actions of alarms left out."""
    await app.services.alarms.enable(request["AlarmNames"], actions_enabled=False)


@operation(SERVICE, "SetAlarmState")
async def set_alarm_state(app: App, _call: Call, request: Json) -> None:
    """Set the state of an alarm until its next evaluation."""
    data = request.get("StateReasonData")
    if data is not None:
        try:
            parse_json(data)
        except JsonTextError:
            raise ApiError("InvalidFormatFault", "StateReasonData must be the text of a JSON object.") from None
    await app.services.alarms.set_state(request["AlarmName"], request["StateValue"], request["StateReason"], data)


@operation(SERVICE, "DescribeAlarms")
async def describe_alarms(app: App, _call: Call, request: Json) -> Json:
    """List alarms by name."""
    names, prefix = request.get("AlarmNames"), request.get("AlarmNamePrefix")
    if names and prefix:
        raise ApiError("ValidationException", "AlarmNamePrefix and AlarmNames cannot be specified at the same time.")
    types = request.get("AlarmTypes") or ["MetricAlarm"]
    relatives = request.get("ChildrenOfAlarmName") or request.get("ParentsOfAlarmName")
    state, action = request.get("StateValue"), request.get("ActionPrefix")
    after, limit = TOKENS.read(request.get("NextToken")), request.get("MaxRecords", MOST)
    found = [
        alarm for alarm in app.services.alarms.all()
        if "MetricAlarm" in types and not relatives and (not names or alarm.name in names)
        and alarm.name.startswith(prefix or "") and state in (None, alarm.state)
        and (action is None or any(arn.startswith(action) for arn in _all_actions(alarm)))
        and (after is None or alarm.name > after)
    ]  # fmt: skip
    answer: JsonObject = {
        "MetricAlarms": [shown(app, alarm) for alarm in found[:limit]], "CompositeAlarms": [],
    }  # fmt: skip
    if len(found) > limit:
        answer["NextToken"] = TOKENS.write(found[limit - 1].name)
    return answer


@operation(SERVICE, "DescribeAlarmsForMetric")
async def describe_alarms_for_metric(app: App, _call: Call, request: Json) -> Json:
    """List the alarms of one metric; those with an expression are left out."""
    metric = metric_of(request)
    wanted = [name for name in ("Statistic", "ExtendedStatistic", "Period", "Unit") if request.get(name) is not None]
    alarms = app.services.alarms
    return {
        "MetricAlarms": [
            shown(app, alarm) for alarm in alarms.all()
            if (single := alarms.rule(alarm.name).measure.single) is not None and single.metric == metric
            and all(alarm.get(name) == request[name] for name in wanted)
        ]
    }  # fmt: skip


def _all_actions(alarm: Alarm) -> list[str]:
    return [arn for state in _STATES for arn in alarm.actions(state)]


def shown(app: App, alarm: Alarm) -> JsonObject:
    """An alarm as answers show it."""
    view: JsonObject = {
        "OKActions": [], "AlarmActions": [], "InsufficientDataActions": [],
        **({"Dimensions": []} if not alarm.get("Metrics") else {}),
        **alarm.settings,
        "AlarmName": alarm.name, "AlarmArn": alarm_arn(app.config, alarm.name),
        "ActionsEnabled": alarm.actions_enabled, "AlarmConfigurationUpdatedTimestamp": alarm.updated_ms,
        "StateValue": alarm.state, "StateReason": alarm.reason, "StateUpdatedTimestamp": alarm.state_ms,
        "StateTransitionedTimestamp": alarm.transition_ms,
    }  # fmt: skip
    if alarm.reason_data is not None:
        view["StateReasonData"] = alarm.reason_data
    return view


# ------------------------------------------------------------------ tags


@operation(SERVICE, "TagResource")
async def tag_resource(app: App, _call: Call, request: Json) -> None:
    """Add tags to an alarm."""
    await app.services.alarms.tag(_name_in(app, request["ResourceARN"]), tags_by_key(request["Tags"]))


@operation(SERVICE, "UntagResource")
async def untag_resource(app: App, _call: Call, request: Json) -> None:
    """Remove tags from an alarm."""
    await app.services.alarms.tag(_name_in(app, request["ResourceARN"]), {}, request["TagKeys"])


@operation(SERVICE, "ListTagsForResource")
async def list_tags_for_resource(app: App, _call: Call, request: Json) -> Json:
    """List the tags of an alarm; a dashboard has none."""
    alarm = app.services.alarms.get(_name_in(app, request["ResourceARN"]))
    if alarm is None:
        raise ApiError("ResourceNotFoundException", "", status=404)
    return {"Tags": tag_list(alarm.tags)}


def _name_in(app: App, arn: str) -> str:
    found = None if app.config.is_elsewhere(arn) else _ARN.fullmatch(arn)
    if found is None:
        raise invalid(f"Statewright has tags of alarms only; {arn} is not the ARN of an alarm.")
    return found[1]
