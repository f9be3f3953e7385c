"""The history of alarms: its rows, and how they are read and trimmed.

Source: API reference, DescribeAlarmHistory; the data of changes of state recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from statewright.alarms.notices import configuration
from statewright.alarms.records import (
    ACTION,
    ALARM_HISTORY,
    CONFIGURATION,
    HISTORY_MS,
    STATE,
    Alarm,
    HistoryItem,
)
from statewright.payload import JsonObject, dump_json, parse_json
from statewright.stores.entries import Entries, Name, Place
from statewright.stores.protocol import CatalogueStore

DATA_CHARACTERS: Final = 4_095
"""Source: service model, `HistoryData`."""
SUMMARY_CHARACTERS: Final = 255
TRIMMED: Final = 20
"""Old items that one change removes at most: more than it adds."""


class History:
    """The history of all alarms of a store, by time."""

    def __init__(self, catalogue: CatalogueStore) -> None:
        self._catalogue = catalogue
        self._entries = Entries(catalogue, ALARM_HISTORY)

    async def old(self, now_ms: int) -> list[Name]:
        """Names of items that are too old, to be deleted with the next change."""
        rows = await self._catalogue.list_entries(ALARM_HISTORY.name, "", after=None, limit=TRIMMED, newest_first=False)
        return [(row.kind, row.key) for row in rows if row.sort < now_ms - HISTORY_MS]

    async def chosen(
        self, wanted: Callable[[HistoryItem], bool], after: Place | None, limit: int, *, newest_first: bool
    ) -> tuple[list[HistoryItem], Place | None]:
        """Items that are wanted by time, and the place from which the list continues, if it does."""
        return await self._entries.chosen(wanted, after, limit, newest_first=newest_first)


def changed_state(number: int, now_ms: int, before: Alarm, alarm: Alarm) -> HistoryItem:
    """The item of a change of state."""
    data = {"version": "1.0", "oldState": _state(before), "newState": _state(alarm)}
    summary = f"Alarm updated from {before.state} to {alarm.state}"
    return _item(number, now_ms, alarm.name, STATE, summary, data)


def _state(alarm: Alarm) -> JsonObject:
    shown: JsonObject = {"stateValue": alarm.state, "stateReason": alarm.reason}
    if alarm.reason_data is not None:
        shown["stateReasonData"] = parse_json(alarm.reason_data)
    return shown


def changed_settings(number: int, now_ms: int, alarm: Alarm, type_: str) -> HistoryItem:
    """The item of a change of settings: `Create`, `Update` or `Delete`."""
    word = {"Create": "created", "Update": "updated", "Delete": "deleted"}[type_]
    data: JsonObject = {"version": "1.0", "type": type_, f"{word}Alarm": _configured(alarm)}
    return _item(number, now_ms, alarm.name, CONFIGURATION, f'Alarm "{alarm.name}" {word}', data)


def _configured(alarm: Alarm) -> JsonObject:
    settings = alarm.settings
    shown: JsonObject = {"alarmName": alarm.name, "actionsEnabled": alarm.actions_enabled, **configuration(alarm)}
    for member in ("OKActions", "AlarmActions", "InsufficientDataActions"):
        shown[f"{member[:1].lower()}{member[1:]}" if member != "OKActions" else "okActions"] = list(
            settings.get(member) or ()
        )
    for member in ("EvaluationPeriods", "DatapointsToAlarm", "Threshold", "ComparisonOperator", "TreatMissingData"):
        if settings.get(member) is not None:
            shown[f"{member[:1].lower()}{member[1:]}"] = settings[member]
    return shown


def executed_action(number: int, now_ms: int, name: str, arn: str, *, succeeded: bool) -> HistoryItem:
    """The item of an action that was executed, or given up."""
    summary = f"Successfully executed action {arn}" if succeeded else f"Failed to execute action {arn}"
    data: JsonObject = {
        "actionState": "Succeeded" if succeeded else "Failed", "notificationResource": arn, "error": None,
    }  # fmt: skip
    return _item(number, now_ms, name, ACTION, summary, data)


def _item(number: int, now_ms: int, name: str, type_: str, summary: str, data: JsonObject) -> HistoryItem:
    text = dump_json(data)
    if len(text) > DATA_CHARACTERS:
        text = dump_json({"version": "1.0", "type": data.get("type", type_)})
    return HistoryItem(number, now_ms, name, type_, summary[:SUMMARY_CHARACTERS], text)
