"""Recorded executions as their histories tell them: input, calls with their answers, path and end.

Owns reading a history, and mocks that answer as its tasks did. What a replay is for is up to its callers. Children of
distributed Maps have histories of their own, which the history of their parent does not hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from statewright.payload import Json, JsonMapping, parse_json
from statewright.simulator.mocks import Outcome, Result, Returned, Rule, Spans, Threw

STATUS_OF_END: Final = {
    "ExecutionSucceeded": "SUCCEEDED",
    "ExecutionFailed": "FAILED",
    "ExecutionTimedOut": "TIMED_OUT",
    "ExecutionAborted": "ABORTED",
}
_FAMILIES: Final = ("Task", "LambdaFunction", "Activity")
_SCHEDULED: Final = tuple(f"{family}Scheduled" for family in _FAMILIES)
_SUCCEEDED: Final = tuple(f"{family}Succeeded" for family in _FAMILIES)
_FAILED: Final = tuple(
    f"{family}{how}" for family in _FAMILIES for how in ("Failed", "ScheduleFailed", "StartFailed", "SubmitFailed")
)
_TIMED_OUT: Final = tuple(f"{family}TimedOut" for family in _FAMILIES)
_LATEST_SECONDS: Final = 1e11
"""Larger numbers are milliseconds."""

Iteration = tuple[int, ...]


@dataclass(slots=True)
class RecordedCall:
    """One call of a task. `outcome` is None if the call had no end; `took_ms` counts from its start."""

    state: str
    iteration: Iteration
    at_ms: int
    submitted: Json = None
    outcome: Outcome | None = None
    took_ms: int = 0


@dataclass(slots=True)
class RecordedExecution:
    """The content of a history."""

    input: Json = None
    started_ms: int = 0
    status: str = "RUNNING"
    output: Json = None
    error: str | None = None
    cause: str | None = None
    path: list[str] = field(default_factory=list)
    calls: list[RecordedCall] = field(default_factory=list)

    def rules(self) -> list[Rule]:
        """Mocks that answer as the tasks did; a call beyond them has no answer."""
        by_place: dict[tuple[str, Iteration], list[Result]] = {}
        for call in self.calls:
            if call.outcome is not None:
                result = Result(call.outcome, 1, call.took_ms, call.submitted)
                by_place.setdefault((call.state, call.iteration), []).append(result)
        return [
            Rule(
                tuple(results),
                state,
                iterations=tuple(Spans(((i, i),), str(i)) for i in iteration) or None,
                ending="stop",
            )
            for (state, iteration), results in by_place.items()
        ]


def read_history(history: Path | Any) -> RecordedExecution:
    """Read a history: a file's path, or its value. Raises: ValueError, OSError."""
    value = json.loads(history.read_text("utf-8")) if isinstance(history, Path) else history
    events = value.get("events") if isinstance(value, Mapping) else value
    if not isinstance(events, list) or not events or not all(isinstance(one, Mapping) for one in events):
        raise ValueError("this is no history: it is to be what `aws stepfunctions get-execution-history` prints")
    reading = _Reading()
    for event in sorted(events, key=lambda one: one["id"]):
        reading.note(event)
    return reading.recorded


class _Reading:
    """One pass over the events: where each of them happened, and which call it is about."""

    def __init__(self) -> None:
        self.recorded = RecordedExecution()
        self.where: dict[int, tuple[str, Iteration]] = {}
        self.entered: dict[str, list[Iteration]] = {}
        self.open: dict[int, RecordedCall] = {}

    def note(self, event: JsonMapping) -> None:
        kind, at_ms = event["type"], _instant_ms(event["timestamp"])
        details = next((value for name, value in event.items() if name.endswith("EventDetails")), None) or {}
        before = event.get("previousEventId", 0)
        state, iteration = self.where.get(before, ("", ()))
        recorded = self.recorded
        if kind == "ExecutionStarted":
            recorded.input, recorded.started_ms = _json(details.get("input"), {}), at_ms
        elif kind.endswith("StateEntered"):
            state = details["name"]
            recorded.path.append(state)
            self.entered.setdefault(state, []).append(iteration)
        elif kind.endswith("StateExited"):
            state = details["name"]
            # A Map's exit follows one of its iterations, and is no part of it.
            around = [one for one in self.entered.get(state, ()) if iteration[: len(one)] == one]
            iteration = around[-1] if around else iteration
        elif kind == "MapIterationStarted":
            iteration = (*self.map_around(details.get("name", state), iteration), details["index"])
        elif kind in STATUS_OF_END:
            recorded.status = STATUS_OF_END[kind]
            recorded.output = _json(details.get("output"), None)
            recorded.error, recorded.cause = details.get("error"), details.get("cause")
        else:
            self.task(kind, event, details, state, iteration, at_ms)
        self.where[event["id"]] = state, iteration
        if before in self.open and event["id"] not in self.open:
            self.open[event["id"]] = self.open[before]

    def map_around(self, name: str, iteration: Iteration) -> Iteration:
        """The items around a Map that begins an iteration."""
        around = [one for one in self.entered.get(name, ()) if iteration[: len(one)] == one]
        return around[-1] if around else iteration

    def task(
        self,
        kind: str,
        event: JsonMapping,
        details: JsonMapping,
        state: str,
        iteration: Iteration,
        at_ms: int,
    ) -> None:
        if kind in _SCHEDULED:
            call = RecordedCall(state, iteration, at_ms)
            self.open[event["id"]] = call
            self.recorded.calls.append(call)
            return
        known = self.open.get(event.get("previousEventId", 0))
        if known is None:
            return
        if kind == "TaskSubmitted":
            known.submitted = _json(details.get("output"), None)
            return
        if kind in _SUCCEEDED:
            known.outcome = Returned(_json(details.get("output"), None))
        elif kind in _FAILED:
            known.outcome = Threw(details.get("error"), details.get("cause"))
        elif kind in _TIMED_OUT:
            known.outcome = Threw(details.get("error", "States.Timeout"), details.get("cause"))
        else:
            return
        known.took_ms = at_ms - known.at_ms


def _json(text: Json, default: Json) -> Json:
    return parse_json(text) if isinstance(text, str) else default


def _instant_ms(value: Json) -> int:
    if isinstance(value, str):
        return round(datetime.fromisoformat(value).timestamp() * 1000)
    return round(float(value) if value > _LATEST_SECONDS else float(value) * 1000)
