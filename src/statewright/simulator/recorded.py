"""A recorded execution: what its history says about its start, its calls and their answers, and its end.

Owns the place of a call, by which a replay finds its answer: the state, the Map items around it, the visit of the state
there, and the call's number within the visit. Reads the engine's history events, and what `aws stepfunctions
get-execution-history` prints.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from statewright.interpreter.history import HistoryEvent
from statewright.payload import Json, JsonObject, parse_json
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
_INTEGRATIONS: Final = {"LambdaFunction": "a Lambda function", "Activity": "an activity"}
_TIMED_OUT: Final = tuple(f"{family}TimedOut" for family in _FAMILIES)
_LATEST_SECONDS: Final = 1e11
"""Larger numbers are milliseconds."""

Iteration = tuple[int, ...]


class Place(NamedTuple):
    """The place of a call. `visit` and `number` count from 0."""

    state: str
    iteration: Iteration
    visit: int
    number: int

    @property
    def words(self) -> str:
        """The place in a sentence: `Charge (item 3, visit 2, attempt 2)`."""
        more = [f"item {'/'.join(map(str, self.iteration))}"] if self.iteration else []
        more += [f"visit {self.visit + 1}"] if self.visit else []
        more += [f"attempt {self.number + 1}"] if self.number else []
        return f"{self.state} ({', '.join(more)})" if more else self.state


@dataclass(slots=True)
class Call:
    """One call of a task. `outcome` is None for one that was not answered: it timed out, or its execution ended first.

    `ended_by` is the type of the event that ended it. Times are milliseconds; those of the definition are 0 where it
    sets none.
    """

    place: Place
    event: int
    at_ms: int
    family: str
    resource: str
    parameters: Json = None
    timeout_ms: int = 0
    heartbeat_ms: int = 0
    started_after_ms: int | None = None
    submitted: Json = None
    is_submitted: bool = False
    outcome: Outcome | None = None
    ended_by: str | None = None
    took_ms: int = 0
    role_arn: str | None = None

    @property
    def integration(self) -> str:
        """The kind of thing that is called, in words: calls of the same integration have answers of the same shape."""
        return self.resource if self.family == "Task" else _INTEGRATIONS.get(self.family, self.family)

    @property
    def timed_out(self) -> bool:
        """True if the definition's own timeout or heartbeat ended it."""
        return self.ended_by in _TIMED_OUT


@dataclass(slots=True)
class MapRun:
    """A distributed Map: how its run ended. The executions of its items are not part of the history."""

    place: Place
    event: int
    at_ms: int
    input: Json = None
    ended_by: str | None = None
    output: Json = None
    error: str | None = None
    cause: str | None = None
    took_ms: int = 0


@dataclass(slots=True)
class RecordedExecution:
    """The content of a history. `first` is the state that it began at."""

    input: Json = None
    started_ms: int = 0
    ended_ms: int = 0
    status: str = "RUNNING"
    output: Json = None
    error: str | None = None
    cause: str | None = None
    first: str | None = None
    is_redriven: bool = False
    is_truncated: bool = False
    path: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    map_runs: list[MapRun] = field(default_factory=list)

    def rules(self) -> list[Rule]:
        """Mocks that answer as the tasks did, in the order of the calls; a call beyond them has no answer."""
        by_place: dict[tuple[str, Iteration], list[Result]] = {}
        for call in self.calls:
            outcome = Threw("States.Timeout", None) if call.timed_out else call.outcome
            if outcome is not None:
                result = Result(outcome, 1, call.took_ms, call.submitted)
                by_place.setdefault((call.place.state, call.place.iteration), []).append(result)
        return [
            Rule(
                tuple(results),
                state,
                iterations=tuple(Spans(((i, i),), str(i)) for i in iteration) or None,
                ending="stop",
            )
            for (state, iteration), results in by_place.items()
        ]


def read_history(history: Path | Json) -> RecordedExecution:
    """Read a history: a file's path, or its value. Raises: ValueError, OSError."""
    return recorded_of(events_of(json.loads(history.read_text("utf-8")) if isinstance(history, Path) else history))


def events_of(value: Json) -> list[HistoryEvent]:
    """The events of a history as the API gives it: by id, without what the API derives. Raises: ValueError."""
    events = value.get("events") if isinstance(value, Mapping) else value
    if not isinstance(events, list) or not events or not all(isinstance(one, Mapping) for one in events):
        raise ValueError("this is no history: it is to be what `aws stepfunctions get-execution-history` prints")
    return [_event_of(event) for event in sorted(events, key=lambda one: one["id"])]


def recorded_of(events: Iterable[HistoryEvent]) -> RecordedExecution:
    """The content of a history."""
    reading = Reading()
    for event in events:
        reading.note(event)
    return reading.recorded


class Reading:
    """One pass over the events as they come: where each of them happened, and which call it is about."""

    def __init__(self) -> None:
        self.recorded = RecordedExecution()
        self._where: dict[int, tuple[str, Iteration]] = {}
        self._depths: dict[str, int] = {}
        """In how many items a state is: always in as many, since its name is its own in the definition."""
        self._inputs: dict[tuple[str, Iteration], Json] = {}
        self._visits: dict[tuple[str, Iteration], int] = {}
        self._numbers: dict[tuple[str, Iteration], int] = {}
        self._open: dict[int, Call] = {}
        self._runs: dict[int, MapRun] = {}

    def note(self, event: HistoryEvent) -> None:
        """Take in the next event."""
        kind, details, before = event.type, event.details or {}, event.previous_id
        state, iteration = self._where.get(before, ("", ()))
        recorded = self.recorded
        recorded.ended_ms = event.at_ms
        if details.get(_TRUNCATED):
            recorded.is_truncated = True
        if kind == "ExecutionStarted":
            recorded.input, recorded.started_ms = _json(details.get("input"), {}), event.at_ms
        elif kind.endswith("StateEntered"):
            state = self._enter(details["name"], iteration, details)
        elif kind.endswith("StateExited"):
            state = details["name"]
            # A Map's exit follows one of its iterations, and is no part of it.
            iteration = self._around(state, iteration)
            self._leave_map_run(state, iteration, details)
        elif kind == "MapIterationStarted":
            iteration = (*self._around(details.get("name", state), iteration), details["index"])
        elif kind in STATUS_OF_END:
            recorded.status = STATUS_OF_END[kind]
            recorded.output = _json(details.get("output"), None)
            recorded.error, recorded.cause = details.get("error"), details.get("cause")
        elif kind == "ExecutionRedriven":
            recorded.is_redriven = True
        else:
            self._task(event, details, state, iteration)
        self._where[event.id] = state, iteration
        for held in (self._open, self._runs):
            if before in held and event.id not in held:
                held[event.id] = held[before]  # type: ignore[assignment]

    def _enter(self, state: str, iteration: Iteration, details: JsonObject) -> str:
        key = (state, iteration)
        self.recorded.path.append(state)
        if self.recorded.first is None:
            self.recorded.first = state
        self._depths.setdefault(state, len(iteration))
        self._visits[key] = self._visits.get(key, -1) + 1
        self._numbers[key] = 0
        self._inputs[key] = details.get("input")
        return state

    def _around(self, name: str, iteration: Iteration) -> Iteration:
        """The items around a Map that begins or ends."""
        depth = self._depths.get(name)
        return iteration if depth is None else iteration[:depth]

    def _place(self, state: str, iteration: Iteration) -> Place:
        key = (state, iteration)
        number = self._numbers.get(key, 0)
        self._numbers[key] = number + 1
        return Place(state, iteration, max(0, self._visits.get(key, 0)), number)

    def _task(self, event: HistoryEvent, details: JsonObject, state: str, iteration: Iteration) -> None:
        kind = event.type
        if kind in _SCHEDULED:
            call = self._open[event.id] = _call_of(event, details, self._place(state, iteration))
            self.recorded.calls.append(call)
            return
        if kind.startswith("MapRun"):
            self._map_run(event, details, state, iteration)
            return
        known = self._open.get(event.previous_id)
        if known is None or known.ended_by is not None:
            return
        if kind.endswith("Submitted"):
            known.submitted, known.is_submitted = _json(details.get("output"), None), True
            return
        if kind.endswith("Started"):
            known.started_after_ms = event.at_ms - known.at_ms
            return
        if kind in _SUCCEEDED:
            known.outcome = Returned(_json(details.get("output"), None))
        elif kind in _FAILED:
            known.outcome = Threw(details.get("error"), details.get("cause"))
        elif kind not in _TIMED_OUT:
            return
        known.ended_by, known.took_ms = kind, event.at_ms - known.at_ms

    def _map_run(self, event: HistoryEvent, details: JsonObject, state: str, iteration: Iteration) -> None:
        if event.type == "MapRunStarted":
            given = _json(self._inputs.get((state, iteration)), None)
            run = self._runs[event.id] = MapRun(self._place(state, iteration), event.id, event.at_ms, given)
            self.recorded.map_runs.append(run)
            return
        run = self._runs.get(event.previous_id) or next(
            (one for one in reversed(self.recorded.map_runs) if one.place.state == state and one.ended_by is None),
            None,  # type: ignore[assignment]
        )
        if run is not None:
            run.ended_by, run.took_ms = event.type, event.at_ms - run.at_ms
            run.error, run.cause = details.get("error"), details.get("cause")

    def _leave_map_run(self, state: str, iteration: Iteration, details: JsonObject) -> None:
        for run in reversed(self.recorded.map_runs):
            if (run.place.state, run.place.iteration) == (state, iteration):
                run.output = _json(details.get("output"), None)
                return


_TRUNCATED: Final = " truncated"
"""A member of details that no event of the API has: part of its data was left out."""


def _event_of(event: Json) -> HistoryEvent:
    details = next((value for name, value in event.items() if name.endswith("EventDetails")), None)
    kept: JsonObject | None = None
    if isinstance(details, Mapping):
        kept = {}
        for name, value in details.items():
            derived = name.endswith("Details") and isinstance(value, Mapping) and "truncated" in value
            if not derived:
                kept[name] = value
            elif value["truncated"]:
                kept[_TRUNCATED] = True
    before = event.get("previousEventId", 0)
    return HistoryEvent(event["id"], before, _instant_ms(event["timestamp"]), event["type"], kept)


def _call_of(event: HistoryEvent, details: JsonObject, place: Place) -> Call:
    family = event.type.removesuffix("Scheduled")
    resource = details.get("resource", "")
    if family == "Task":
        resource = f"{details.get('resourceType', '')}:{resource}"
    return Call(
        place,
        event.id,
        event.at_ms,
        family,
        resource,
        _json(details.get("parameters", details.get("input")), None),
        round(float(details.get("timeoutInSeconds", 0)) * 1000),
        round(float(details.get("heartbeatInSeconds", 0)) * 1000),
        role_arn=(details.get("taskCredentials") or {}).get("roleArn"),
    )


def _json(text: Json, default: Json) -> Json:
    return parse_json(text) if isinstance(text, str) else default


def _instant_ms(value: Json) -> int:
    if isinstance(value, str):
        return round(datetime.fromisoformat(value).timestamp() * 1000)
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    return round(float(value) if value > _LATEST_SECONDS else float(value) * 1000)
