"""`statewright alarm ...`: the alarms of a server, their states and history, and states set by hand."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import click

from statewright.cli.client import Answer, Server, command_words, server_options
from statewright.cli.output import NOT_FOUND, Span, Stop, Tone, stderr, stdout
from statewright.cli.table import print_answer, print_rows

STATES: Final = ("OK", "ALARM", "INSUFFICIENT_DATA")
_TONES: Final[Mapping[str, Tone]] = {"OK": "ok", "ALARM": "fail"}
_SIGNS: Final = {
    "GreaterThanOrEqualToThreshold": ">=", "GreaterThanThreshold": ">", "LessThanThreshold": "<",
    "LessThanOrEqualToThreshold": "<=",
}  # fmt: skip


@click.group(short_help="List alarms, show one, and set a state.")
def alarm() -> None:
    """Work with the CloudWatch alarms of a server.

    \b
    Examples:
      statewright alarm list
      statewright alarm show orders-failed
      statewright alarm set orders-failed ALARM
    """


@alarm.command("list", short_help="List alarms with their states.")
@click.option("--state", type=click.Choice(STATES, case_sensitive=False), help="Only alarms in this state.")
@server_options
def list_alarms(state: str | None, form: str, endpoint: str | None) -> None:
    """List alarms by name.

    \b
    Examples:
      statewright alarm list
      statewright alarm list --state ALARM -o json
    """
    chosen: dict[str, Any] = {"StateValue": state} if state else {}
    with _cloudwatch(endpoint) as server:
        found = list(server.pages("describe_alarms", "MetricAlarms", **chosen))
    words = command_words("aws cloudwatch put-metric-alarm", endpoint)
    if_none = f"No alarm is in the state {state}." if state else f"There are no alarms. To create one: {words}"
    print_rows(form, "alarms", found, ("NAME", "STATE", "SINCE", "CONDITION", "ACTIONS"), _cells, if_none=if_none)


def _cells(one: Answer) -> list[Span]:
    state = one["StateValue"]
    actions = str(len(one["AlarmActions"])) if one["ActionsEnabled"] else "disabled"
    return [one["AlarmName"], (state, _TONES.get(state, "idle")), _since(one), condition_of(one), actions]


def _since(one: Answer) -> str:
    return _time_text(one["StateTransitionedTimestamp"])


def _time_text(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def condition_of(one: Answer) -> str:
    """The condition of an alarm in short: `Sum ExecutionsFailed >= 1, 2 of 3 x 60s`."""
    if one.get("Metrics"):
        shown = next(query for query in one["Metrics"] if query.get("ReturnData", True))
        periods = [query["MetricStat"]["Period"] for query in one["Metrics"] if query.get("MetricStat")]
        subject, period = str(shown.get("Expression") or shown["MetricStat"]["Metric"]["MetricName"]), periods[0]
    else:
        subject = f"{one.get('Statistic') or one.get('ExtendedStatistic')} {one['MetricName']}"
        period = one["Period"]
    needed = one.get("DatapointsToAlarm") or one["EvaluationPeriods"]
    sign = _SIGNS.get(one["ComparisonOperator"], one["ComparisonOperator"])
    return f"{subject} {sign} {one['Threshold']:g}, {needed} of {one['EvaluationPeriods']} x {period}s"


@alarm.command(short_help="Show an alarm, its reason and its history.")
@click.argument("name", metavar="ALARM")
@click.option("-n", "--count", type=click.IntRange(0, 100), default=10, show_default=True, help="Items of its history.")
@server_options
def show(name: str, count: int, form: str, endpoint: str | None) -> None:
    """Show the settings of an alarm, the reason of its state, and its newest history.

    \b
    Examples:
      statewright alarm show orders-failed
      statewright alarm show orders-failed -o json
    """
    with _cloudwatch(endpoint) as server:
        found = _found(server, name, endpoint)
        items: list[Any] = []
        if count:
            answer = server.call("describe_alarm_history", AlarmName=name, MaxRecords=count)
            items = answer["AlarmHistoryItems"]
    if form != "table":
        print_answer(form, {"alarm": found, "history": items})
        return
    out = stdout()
    out.line(found["AlarmName"], "  ", (found["StateValue"], _TONES.get(found["StateValue"], "idle")))
    lines = [("condition", condition_of(found)), ("since", _since(found)), ("reason", found["StateReason"])]
    dimensions = ", ".join(f"{one['Name']}={one['Value']}" for one in found.get("Dimensions") or ())
    if dimensions:
        lines.insert(1, ("dimensions", dimensions))
    for member, word in (("AlarmActions", "in alarm"), ("OKActions", "ok"), ("InsufficientDataActions", "no data")):
        lines += [(word, arn) for arn in found[member]]
    if not found["ActionsEnabled"]:
        lines.append(("actions", "disabled"))
    for word, text in lines:
        out.line((f"  {word:<11}", "idle"), text)
    for item in items:
        out.line((f"  {_time_text(item['Timestamp'])}  ", "idle"), item["HistorySummary"])


@alarm.command("set", short_help="Set the state of an alarm.")
@click.argument("name", metavar="ALARM")
@click.argument("state", type=click.Choice(STATES, case_sensitive=False))
@click.option("--reason", default="Set by hand.", show_default=True, help="The reason that actions carry.")
@server_options
def set_(name: str, state: str, reason: str, form: str, endpoint: str | None) -> None:
    """Set a state and execute its actions, to try them. The next evaluation may set another state.

    \b
    Examples:
      statewright alarm set orders-failed ALARM --reason "fire drill"
    """
    with _cloudwatch(endpoint) as server:
        before = _found(server, name, endpoint)["StateValue"]
        server.call("set_alarm_state", AlarmName=name, StateValue=state, StateReason=reason)
    print_answer(form, {"alarm": name, "state": state, "before": before})
    stderr().line(("✓ ", "ok"), f"{name} is {state}; it was {before}")


def _found(server: Server, name: str, endpoint: str | None) -> Answer:
    """The alarm of a name. Raises: Stop."""
    listed: list[Answer] = server.call("describe_alarms", AlarmNames=[name])["MetricAlarms"]
    if not listed:
        raise Stop(NOT_FOUND, f"There is no alarm {name}. To list them: {command_words('alarm list', endpoint)}")
    return listed[0]


def _cloudwatch(endpoint: str | None) -> Server:
    return Server(endpoint, service="cloudwatch")
