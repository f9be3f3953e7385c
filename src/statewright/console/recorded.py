"""A history that grows: its events, their story, and visits, attempts and events as columns.

Columns are lists of equal length, one for each member of a visit, attempt or event: 24,000 events need a few kilobytes
in gzip. Visits are numbered in the order in which they began, so that a number means the same visit for ever, and what
came after an event can be sent alone. Pure: who reads the store, and when, is in `runs.py`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from statewright.asl.program import Program
from statewright.console.redaction import Redactor, RunRedaction
from statewright.cost.bill import bill
from statewright.cost.execution_usage import CallMeter, TransitionCounter
from statewright.cost.prices import PriceTable, load
from statewright.cost.usage import Usage, add_express
from statewright.engine.executions.views import ExecutionView
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import ExecutionState, Identity
from statewright.payload import JsonObject, Payload
from statewright.simulator.story import Attempt, Story, Visit

STATUSES: Final = ("running", "succeeded", "caught", "failed", "stopped")
ENDS: Final = {
    "ExecutionSucceeded": "SUCCEEDED", "ExecutionFailed": "FAILED", "ExecutionTimedOut": "TIMED_OUT",
    "ExecutionAborted": "ABORTED",
}  # fmt: skip


class Recorded:
    """One execution's history as far as it was noted. `characters` is the length of its payloads.

    `events` are what was recorded, for what computes with them. Only `shown` leaves the server, the same events as they
    may be shown, and the story is made of those.
    """

    def __init__(self, shown: ExecutionView, program: Program, redactor: Redactor | None = None) -> None:
        identity = Identity(shown.execution_arn, shown.name, shown.machine_arn, "", "", "")
        self.began_ms = shown.started_ms
        self.events: list[HistoryEvent] = []
        self.shown: list[HistoryEvent] = []
        self._redaction = RunRedaction(redactor or Redactor())
        self.visits: list[Visit] = []
        self.characters = 0
        self._state = ExecutionState(identity, Payload.from_text("{}"), b"")
        self._story = Story(program, on_change=self._visit_changed)
        self._place: dict[int, int] = {}
        self._attempts: list[int] = []
        self._changed: OrderedDict[int, int] = OrderedDict()
        """The last event that changed a visit, by its number; what changed last stands last."""
        self._visit_of: list[int] = []
        self._types: dict[str, int] = {}
        self._type_of: list[int] = []
        self._transitions = TransitionCounter()
        self._calls = CallMeter(Usage())
        self._retries = 0

    # ------------------------------------------------------------------ growing

    def note(self, events: Iterable[HistoryEvent]) -> None:
        """Take in the events that follow those noted before."""
        batch = list(events)
        visible = self._redaction.note(batch)
        if self._redaction.has_more:
            self.shown = self._redaction.again(self.shown)
        for event, seen in zip(batch, visible, strict=True):
            self.events.append(event)
            self.shown.append(seen)
            self._story.note(self._state, seen)
            owner = self._story.owner_of(event.id)
            visit = owner if isinstance(owner, Visit) else owner.owner
            self._visit_of.append(-1 if visit is None else self._place[id(visit)])
            self._type_of.append(self._types.setdefault(event.type, len(self._types)))
            self._transitions.note(event)
            self._calls.note(event)
            self.characters += sum(len(value) for value in (event.details or {}).values() if isinstance(value, str))

    @property
    def story(self) -> Story:
        """The tree of what is shown."""
        return self._story

    def _visit_changed(self, visit: Visit) -> None:
        place = self._place.get(id(visit))
        if place is None:
            place = self._place[id(visit)] = len(self.visits)
            self.visits.append(visit)
            self._attempts.append(0)
        attempts = len(visit.attempts)
        if attempts != self._attempts[place]:
            self._retries += max(0, attempts - 1) - max(0, self._attempts[place] - 1)
            self._attempts[place] = attempts
        self._changed[place] = self.events[-1].id
        self._changed.move_to_end(place)

    # ------------------------------------------------------------------ what is shown

    def head(self, shown: ExecutionView, machine: str) -> JsonObject:
        """The facts about the execution. How it ended comes from its last event alone: a second source could be ahead
        of the events that are shown.
        """
        last = self.shown[-1] if self.shown else None
        ended = ENDS.get(last.type) if last is not None else None
        usage = Usage()
        transitions = self._transitions.transitions
        if shown.type == "EXPRESS":
            add_express(usage, (last.at_ms if last is not None else shown.started_ms) - shown.started_ms)
        elif transitions:
            usage.add("states.transitions", transitions)
        usage.merge(self._calls.usage)
        details = (last.details or {}) if last is not None and ended is not None else {}
        return {
            "arn": shown.execution_arn,
            "name": shown.name,
            "machineArn": shown.machine_arn,
            "machine": machine,
            "versionArn": shown.version_arn,
            "aliasArn": shown.alias_arn,
            "mapRunArn": shown.map_run_arn,
            "type": shown.type,
            "status": ended or "RUNNING",
            "startedMs": shown.started_ms,
            "endedMs": last.at_ms if last is not None and ended is not None else None,
            "error": details.get("error"),
            "cause": details.get("cause"),
            "redriveCount": shown.redrive_count,
            "quarantine": shown.quarantine,
            "transitions": transitions,
            "retries": self._retries,
            "events": len(self.events),
            "usd": bill(usage, _prices()).usd,
        }

    def columns(self, state_index: dict[str, int]) -> JsonObject:
        """`{statuses, eventTypes, events, visits, attempts}` of the whole history."""
        numbered = [(number, attempt) for number, visit in enumerate(self.visits) for attempt in visit.attempts]
        return {
            "statuses": list(STATUSES),
            "eventTypes": list(self._types),
            "events": self._event_columns(0),
            "visits": self._visit_columns(range(len(self.visits)), state_index),
            "attempts": self._attempt_columns(numbered),
        }

    def since(self, event: int, state_index: dict[str, int]) -> JsonObject:
        """`{from, to, eventTypes, events, visits, attempts}`: what came after an event.

        `visits` are those that changed or began since, with `index`, their numbers, in steps; `attempts` replace those
        of the same `number` of their visits. The last attempt before the event is sent again: it may have ended since.
        """
        changed: list[int] = []
        for place in reversed(self._changed):
            if self._changed[place] <= event:
                break
            changed.append(place)
        changed.sort()
        numbered = [
            (place, attempt)
            for place in changed
            for attempt in self.visits[place].attempts[_first_unsent(self.visits[place].attempts, event) :]
        ]
        return {
            "from": event,
            "to": len(self.events),
            "eventTypes": list(self._types),
            "events": self._event_columns(event),
            "visits": {"index": _steps(changed), **self._visit_columns(changed, state_index)},
            "attempts": {
                "number": [attempt.number for _, attempt in numbered], **self._attempt_columns(numbered),
            },
        }  # fmt: skip

    def _event_columns(self, first: int) -> JsonObject:
        began_ms = self.began_ms
        return {
            "type": self._type_of[first:],
            "atMs": _steps(event.at_ms - began_ms for event in self.events[first:]),
            "visit": _steps(self._visit_of[first:]),
        }

    def _visit_columns(self, numbers: Sequence[int], state_index: dict[str, int]) -> JsonObject:
        """`begin` and `beginMs` are steps, instants count from the start of the execution; `end` and `endMs` count from
        `begin` and `beginMs`: 0 and -1 for a visit that goes on. -1 stands for no parent and no successor.
        """
        place, began_ms = self._place, self.began_ms
        visits = [self.visits[number] for number in numbers]
        return {
            "state": [state_index[visit.name] for visit in visits],
            "parent": [-1 if visit.strand.owner is None else place[id(visit.strand.owner)] for visit in visits],
            "strand": [visit.strand.index for visit in visits],
            "kind": ["ebi".index(visit.strand.kind[0]) for visit in visits],
            "begin": _steps(visit.entered_event for visit in visits),
            "end": [0 if visit.ended_event is None else visit.ended_event - visit.entered_event for visit in visits],
            "beginMs": _steps(visit.entered_ms - began_ms for visit in visits),
            "endMs": [-1 if visit.ended_ms is None else visit.ended_ms - visit.entered_ms for visit in visits],
            "status": [STATUSES.index(visit.status) for visit in visits],
            "next": [-1 if visit.next is None else state_index.get(visit.next, -1) for visit in visits],
        }

    def _attempt_columns(self, numbered: Sequence[tuple[int, Attempt]]) -> JsonObject:
        """As those of visits; `visit` is in steps, too. An attempt that failed at once ends with the event it began
        with, and so `failed` tells it from one that goes on."""
        errors = sorted({attempt.error for _, attempt in numbered if attempt.error is not None})
        error_index = {error: number for number, error in enumerate(errors)}
        attempts = [attempt for _, attempt in numbered]
        return {
            "errors": errors,
            "visit": _steps(number for number, _ in numbered),
            "begin": _steps(attempt.began_event for attempt in attempts),
            "end": [
                0 if attempt.ended_event is None else attempt.ended_event - attempt.began_event
                for attempt in attempts
            ],
            "beginMs": _steps(attempt.began_ms - self.began_ms for attempt in attempts),
            "endMs": [-1 if attempt.ended_ms is None else attempt.ended_ms - attempt.began_ms for attempt in attempts],
            "failed": [int(attempt.failed) for attempt in attempts],
            "error": [-1 if attempt.error is None else error_index[attempt.error] for attempt in attempts],
            "waitedMs": [-1 if attempt.retried_after_ms is None else attempt.retried_after_ms for attempt in attempts],
            "length": [-1 if attempt.length is None else attempt.length for attempt in attempts],
        }  # fmt: skip


def _first_unsent(attempts: Sequence[Attempt], event: int) -> int:
    """The place of the last attempt that had begun by an event; attempts before it do not change any more."""
    place = len(attempts) - 1
    while place > 0 and attempts[place].began_event > event:
        place -= 1
    return max(0, place)


@cache
def _prices() -> PriceTable:
    return load(None)


def _steps(values: Iterable[int]) -> list[int]:
    """Each number as its distance from the one before: small ones repeat, and so compress well."""
    steps, before = [], 0
    for value in values:
        steps.append(value - before)
        before = value
    return steps
