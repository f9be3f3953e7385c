"""History events: the record of an execution that users read, in the service's shapes.

An event is stored small (`details` without derived members); `to_api` gives it the API's shape.
"""

from __future__ import annotations

from typing import Final

from statewright.payload import Json, JsonObject

Details = JsonObject


class HistoryEvent:
    """One history event. `previous_id` is the event that caused it in the same branch; 0 for none."""

    __slots__ = ("at_ms", "details", "id", "previous_id", "type")

    def __init__(self, id: int, previous_id: int, at_ms: int, type: str, details: Details | None) -> None:
        self.id = id
        self.previous_id = previous_id
        self.at_ms = at_ms
        self.type = type
        self.details = details

    def to_api(self, *, with_data: bool = True) -> dict[str, Json]:
        """The event as GetExecutionHistory shows it; `timestamp` in epoch milliseconds, texts as JSON text.

        `with_data=False` leaves out inputs, outputs and causes, as `includeExecutionData=false` does.
        """
        shown: dict[str, Json] = {
            "timestamp": self.at_ms,
            "type": self.type,
            "id": self.id,
            "previousEventId": self.previous_id,
        }
        member = DETAILS_MEMBER.get(self.type)
        if member is not None:
            shown[member] = _dressed(self.details or {}, with_data)
        return shown

    def __repr__(self) -> str:
        return f"{self.id}<{self.previous_id}:{self.type}"


def _dressed(details: Details, with_data: bool) -> dict[str, Json]:
    shown: dict[str, Json] = {}
    for name, value in details.items():
        hidden = name in _DATA and not with_data
        if not hidden:
            shown[name] = value
        if name in _TRUNCATABLE:
            shown[f"{name}Details"] = {"truncated": False}
    return shown


_DATA: Final = frozenset({"input", "output", "parameters", "cause", "assignedVariables"})
_TRUNCATABLE: Final = frozenset({"input", "output", "assignedVariables"})


def _member(event_type: str) -> str:
    return event_type[0].lower() + event_type[1:] + "EventDetails"


_STATES = ("Pass", "Task", "Choice", "Wait", "Map", "Parallel", "Succeed")

WITHOUT_DETAILS: Final = frozenset(
    {
        "TaskStateAborted",
        "WaitStateAborted",
        "MapStateAborted",
        "MapStateSucceeded",
        "MapStateFailed",
        "ParallelStateAborted",
        "ParallelStateStarted",
        "ParallelStateSucceeded",
        "ParallelStateFailed",
        "LambdaFunctionStarted",
        "MapRunAborted",
        "MapRunSucceeded",
    }
)

DETAILS_MEMBER: Final[dict[str, str]] = {
    **{f"{state}StateEntered": "stateEnteredEventDetails" for state in (*_STATES, "Fail")},
    **{f"{state}StateExited": "stateExitedEventDetails" for state in _STATES},
    **{
        name: _member(name)
        for name in (
            "ExecutionStarted", "ExecutionSucceeded", "ExecutionFailed", "ExecutionAborted", "ExecutionTimedOut",
            "ExecutionRedriven",
            "TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskSucceeded", "TaskFailed", "TaskTimedOut",
            "TaskStartFailed", "TaskSubmitFailed",
            "LambdaFunctionScheduled", "LambdaFunctionSucceeded", "LambdaFunctionFailed", "LambdaFunctionTimedOut",
            "LambdaFunctionScheduleFailed", "LambdaFunctionStartFailed",
            "ActivityScheduled", "ActivityStarted", "ActivitySucceeded", "ActivityFailed", "ActivityTimedOut",
            "ActivityScheduleFailed",
            "MapStateStarted", "MapIterationStarted", "MapIterationSucceeded", "MapIterationFailed",
            "MapIterationAborted", "MapRunStarted", "MapRunFailed", "MapRunRedriven", "EvaluationFailed",
        )
    },
}  # fmt: skip
"""The details member of every event type that has one."""

EVENT_TYPES: Final = frozenset(DETAILS_MEMBER) | WITHOUT_DETAILS
"""All event types. Source: API reference, `HistoryEvent.type`."""


def failure_details(error: str | None, cause: str | None) -> Details:
    """`error` and `cause`, each only where there is one."""
    details: Details = {}
    if cause is not None:
        details["cause"] = cause
    if error is not None:
        details["error"] = error
    return details
