"""Rows of alarms and of their history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.payload import Json, JsonMapping
from statewright.stores.entries import EntryKind

OK: Final = "OK"
ALARM: Final = "ALARM"
INSUFFICIENT: Final = "INSUFFICIENT_DATA"
CREATED: Final = "Unchecked: Initial alarm creation"
"""The reason of a new alarm's state. Source: recorded."""

CONFIGURATION: Final = "ConfigurationUpdate"
STATE: Final = "StateUpdate"
ACTION: Final = "Action"
HISTORY_MS: Final = 30 * 86_400_000
"""How long history is kept. Source: CloudWatch user guide, "Common features of alarms"."""

_ACTIONS: Final = {OK: "OKActions", ALARM: "AlarmActions", INSUFFICIENT: "InsufficientDataActions"}


@dataclass(frozen=True, slots=True)
class Alarm:
    """A metric alarm. `settings` are the members of PutMetricAlarm without name, tags and `ActionsEnabled`."""

    name: str
    number: int
    settings: JsonMapping
    updated_ms: int
    """When the settings were last put."""
    state_ms: int
    """When the state was last evaluated or set to what it is."""
    transition_ms: int
    """When the state last changed."""
    actions_enabled: bool = True
    state: str = INSUFFICIENT
    reason: str = CREATED
    reason_data: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    stored: int = 0

    def actions(self, state: str) -> Sequence[str]:
        """The ARNs of the actions of a state."""
        found: Sequence[str] = self.settings.get(_ACTIONS[state]) or ()
        return found

    def get(self, member: str, default: Json = None) -> Json:
        """A member of the settings."""
        return self.settings.get(member, default)


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """An entry in the history of an alarm, which outlives it. `data` is JSON text."""

    number: int
    at_ms: int
    alarm: str
    type: str
    summary: str
    data: str
    stored: int = 0


METRIC_ALARM: Final = EntryKind("alarm", Alarm, lambda alarm: alarm.name, columns={"name": lambda record: record.key})
ALARM_HISTORY: Final = EntryKind(
    "alarm-history",
    HistoryItem,
    lambda item: f"{item.number:020}",
    sort=lambda item: item.at_ms,
    columns={"number": lambda record: int(record.key), "at_ms": lambda record: record.sort},
)
