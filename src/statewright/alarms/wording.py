"""The reasons of an alarm's state, as text and as data.

Source: recorded; CloudWatch user guide, "Alarm actions", "Alarm events and EventBridge".
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from statewright.alarms.evaluation import BREACHING, COMPARISONS, NOT_BREACHING, Condition, Datapoint, Verdict
from statewright.alarms.records import ALARM, INSUFFICIENT, OK
from statewright.instants import iso_ms
from statewright.payload import JsonObject

ZONE: Final = "+0000"
_TREATED: Final = {True: "Breaching", False: "NonBreaching"}


def instant_text(at_ms: int) -> str:
    """An instant as alarms write it: `2030-01-01T00:00:00.000+0000`."""
    return iso_ms(at_ms, ZONE)


def reason_of(condition: Condition, verdict: Verdict, *, says_needed: bool) -> str:
    """Why an alarm has its state. `says_needed` if its settings name the data points to alarm."""
    if verdict.state == INSUFFICIENT:
        unknown = condition.periods
        return f"Insufficient Data: {unknown} {_plural(unknown, 'datapoint was', 'datapoints were')} unknown."
    treated = ""
    if verdict.filled:
        missing = f"{verdict.filled} missing {_plural(verdict.filled, 'datapoint was', 'datapoints were')}"
        treated = f"{missing} treated as [{_TREATED[condition.missing == BREACHING]}]"
    in_alarm = verdict.state == ALARM
    chosen = [one for one in verdict.evaluated if one.value is not None and condition.breaches(one.value) == in_alarm]
    if not chosen:
        if any(one.value is not None for one in verdict.evaluated):
            return f"Threshold Crossed: {treated}."
        periods = f"{verdict.filled} {_plural(verdict.filled, 'period', 'periods')}"
        return f"Threshold Crossed: no datapoints were received for {periods} and {treated}."
    text = f"Threshold Crossed: {_listed(chosen, len(verdict.evaluated) if says_needed else None)}"
    words = COMPARISONS[condition.comparison][1]
    were = _plural(len(chosen), "was", "were")
    text += f" {were} {'' if in_alarm else 'not '}{words} the threshold ({double_text(condition.threshold)})"
    if treated and condition.missing in (BREACHING, NOT_BREACHING):
        text += f" and {treated}"
    if says_needed:
        least = condition.needed if in_alarm else condition.periods - condition.needed + 1
        datapoints = _plural(least, "datapoint", "datapoints")
        # The service writes the transition of the two states between which thresholds decide.
        change = f"{OK} -> {ALARM}" if in_alarm else f"{ALARM} -> {OK}"
        text += f" (minimum {least} {datapoints} for {change} transition)"
    return f"{text}."


def _listed(chosen: Sequence[Datapoint], of: int | None) -> str:
    points = ", ".join(f"{double_text(one.value or 0.0)} ({_day_text(one.at)})" for one in chosen)
    count = len(chosen)
    if of is not None:
        return f"{count} out of the last {of} datapoints [{points}]"
    return f"{count} {_plural(count, 'datapoint', 'datapoints')} [{points}]"


def _day_text(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%d/%m/%y %H:%M:%S")


def _plural(count: int, one: str, several: str) -> str:
    return one if count == 1 else several


def double_text(value: float) -> str:
    """A number as the service writes it: `21.0`, `1.5E7`."""
    value = float(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits, _, exponent = f"{value:e}".partition("e")
    for places in range(1, 18):
        digits, _, exponent = f"{value:.{places}e}".partition("e")
        if float(f"{digits}e{exponent}") == value:
            break
    return f"{digits}E{int(exponent)}"


def reason_data(
    condition: Condition, verdict: Verdict, now_ms: int, *, period: int, statistic: str | None, unit: str | None
) -> JsonObject:
    """The data points behind a state."""
    known = [one for one in verdict.evaluated if one.value is not None]
    data: JsonObject = {"version": "1.0", "queryDate": instant_text(now_ms)}
    if known:
        data["startDate"] = instant_text(known[-1].at * 1000)
    if unit is not None:
        data["unit"] = unit
    if statistic is not None:
        data["statistic"] = statistic
    data["period"] = period
    data["recentDatapoints"] = [one.value for one in reversed(known)]
    data["threshold"] = float(condition.threshold)
    data["evaluatedDatapoints"] = [_shown(one) for one in verdict.evaluated]
    return data


def _shown(point: Datapoint) -> JsonObject:
    shown: JsonObject = {"timestamp": instant_text(point.at * 1000)}
    if point.value is not None:
        if point.samples:
            shown["sampleCount"] = float(point.samples)
        shown["value"] = point.value
    return shown
