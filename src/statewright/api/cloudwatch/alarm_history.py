"""DescribeAlarmHistory: what happened to alarms, also to those that are deleted."""

from __future__ import annotations

from typing import Final

from statewright.alarms.records import HISTORY_MS, HistoryItem
from statewright.api.cloudwatch.wires import SERVICE
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject
from statewright.stores.entries import Place

TOKENS: Final = PageTokens[Place](
    "cloudwatch alarm history", lambda _: ApiError("InvalidNextToken", "The next token specified is invalid.")
)
MOST: Final = 100
"""Source: API reference."""


@operation(SERVICE, "DescribeAlarmHistory")
async def describe_alarm_history(app: App, _call: Call, request: Json) -> Json:
    """List items by time, newest first unless the request says otherwise."""
    newest_first = request.get("ScanBy", "TimestampDescending") == "TimestampDescending"
    oldest_ms = app.clock.now_ms() - HISTORY_MS
    found, place = await app.services.alarms.history.chosen(
        lambda item: item.at_ms >= oldest_ms and _is_wanted(item, request),
        TOKENS.read(request.get("NextToken")),
        request.get("MaxRecords", MOST),
        newest_first=newest_first,
    )
    return {"AlarmHistoryItems": [_shown(item) for item in found], "NextToken": TOKENS.write(place)}


def _is_wanted(item: HistoryItem, request: Json) -> bool:
    name, kind = request.get("AlarmName"), request.get("HistoryItemType")
    start_ms, end_ms = request.get("StartDate"), request.get("EndDate")
    return (
        name in (None, item.alarm)
        and kind in (None, item.type)
        and (start_ms is None or item.at_ms >= start_ms)
        and (end_ms is None or item.at_ms <= end_ms)
        and "MetricAlarm" in (request.get("AlarmTypes") or ["MetricAlarm"])
    )


def _shown(item: HistoryItem) -> JsonObject:
    return {
        "AlarmName": item.alarm, "AlarmType": "MetricAlarm", "Timestamp": item.at_ms, "HistoryItemType": item.type,
        "HistorySummary": item.summary, "HistoryData": item.data,
    }  # fmt: skip
