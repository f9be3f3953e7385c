"""DescribeAlarmHistory: what happened to alarms, also to those that are deleted."""

from __future__ import annotations

from typing import Final

from statewright.alarms.records import HISTORY_MS, HistoryItem
from statewright.api.cloudwatch.wires import SERVICE
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject

TOKENS: Final = PageTokens[int](
    "cloudwatch alarm history", lambda _: ApiError("InvalidNextToken", "The next token specified is invalid.")
)
MOST: Final = 100
"""Source: API reference."""


@operation(SERVICE, "DescribeAlarmHistory")
async def describe_alarm_history(app: App, _call: Call, request: Json) -> Json:
    """List items by time, newest first unless the request says otherwise."""
    newest_first = request.get("ScanBy", "TimestampDescending") == "TimestampDescending"
    skipped, limit = TOKENS.read(request.get("NextToken")) or 0, request.get("MaxRecords", MOST)
    oldest_ms = app.clock.now_ms() - HISTORY_MS
    found: list[Json] = []
    seen = 0
    async for item in app.services.alarms.history.walk(newest_first=newest_first):
        if item.at_ms < oldest_ms or not _is_wanted(item, request):
            continue
        seen += 1
        if seen <= skipped:
            continue
        if len(found) == limit:
            return {"AlarmHistoryItems": found, "NextToken": TOKENS.write(skipped + limit)}
        found.append(_shown(item))
    return {"AlarmHistoryItems": found}


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
