"""One execution as a page shows it: facts, the drawing of its definition, and its visits as columns.

Columns are lists of equal length, one for each member of a visit, attempt or event: 24,000 events need a few kilobytes
in gzip. Payloads are not in here; the page asks for them one by one. Histories are decoded in a thread, because long
ones take a fraction of a second.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from statewright.arn import parse_arn
from statewright.asl.program import Program, TaskDef
from statewright.console.drawings import drawing
from statewright.cost.bill import bill
from statewright.cost.execution_usage import execution_usage, transitions_of
from statewright.cost.prices import PriceTable, load
from statewright.engine.engine import Engine
from statewright.engine.executions.history_pages import decode_page
from statewright.engine.executions.views import ExecutionView
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import ExecutionState, Identity
from statewright.payload import JsonObject, Payload, parse_json
from statewright.simulator.story import Attempt, Story, Strand, Visit
from statewright.stores.protocol import HistoryPage

KEPT_RUNS: Final = 8
KEPT_CHARACTERS: Final = 64 * 1024 * 1024
"""Of payloads in all histories that are kept; the one read last is kept at any length."""
STATUSES: Final = ("running", "succeeded", "caught", "failed", "stopped")
_ENDS: Final = {
    "ExecutionSucceeded": "SUCCEEDED", "ExecutionFailed": "FAILED", "ExecutionTimedOut": "TIMED_OUT",
    "ExecutionAborted": "ABORTED",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recorded:
    """A history: its events, their story, and the length of the payloads in characters."""

    events: list[HistoryEvent]
    story: Story
    characters: int


@dataclass(slots=True)
class Runs:
    """Reads executions. Those read last are kept by id: a closed one is decoded once."""

    engine: Engine
    _kept: OrderedDict[int, Recorded] = field(default_factory=OrderedDict)

    async def view(self, arn: str) -> JsonObject:
        """`{head, drawing, definition, nowMs, states, statuses, eventTypes, events, visits, attempts}`.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`).
        """
        engine = self.engine
        row = await engine.names.row_of(arn)
        shown = engine.listing.view(row)
        label = parse_arn(shown.map_run_arn).label if shown.map_run_arn else None
        revision = await engine.machines.describe_revision(shown.machine_id, shown.revision_id, label)
        _, program = await engine.machines.programs.prepared(shown.machine_id, shown.revision_id)
        recorded = await self._recorded(shown, program)
        now_ms = engine.clock.now_ms()
        return await asyncio.to_thread(_document, shown, recorded, revision.definition, now_ms)

    async def events(self, arn: str) -> list[HistoryEvent]:
        """The history of an execution. Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`)."""
        shown = self.engine.listing.view(await self.engine.names.row_of(arn))
        _, program = await self.engine.machines.programs.prepared(shown.machine_id, shown.revision_id)
        return (await self._recorded(shown, program)).events

    async def _recorded(self, shown: ExecutionView, program: Program) -> Recorded:
        listing = self.engine.listing
        found = self._kept.get(shown.id)
        if found is not None:
            # Only its end is read, to see if events have come since.
            pages = await listing.history_pages(shown.id, first=max(1, len(found.events)))
            if not pages or pages[-1].first + pages[-1].count - 1 != len(found.events):
                found = None
        if found is None:
            found = await asyncio.to_thread(_decoded, await listing.history_pages(shown.id), shown, program)
        self._kept[shown.id] = found
        self._kept.move_to_end(shown.id)
        while len(self._kept) > 1 and self._is_full():
            self._kept.popitem(last=False)
        return found

    def _is_full(self) -> bool:
        return len(self._kept) > KEPT_RUNS or sum(one.characters for one in self._kept.values()) > KEPT_CHARACTERS


def _decoded(pages: Sequence[HistoryPage], shown: ExecutionView, program: Program) -> Recorded:
    events = [event for page in pages for event in decode_page(page)]
    identity = Identity(shown.execution_arn, shown.name, shown.machine_arn, "", "", "")
    state = ExecutionState(identity, Payload.from_text("{}"), b"")
    story = Story(program)
    characters = 0
    for event in events:
        story.note(state, event)
        characters += sum(len(value) for value in (event.details or {}).values() if isinstance(value, str))
    return Recorded(events, story, characters)


def _document(shown: ExecutionView, recorded: Recorded, text: str, now_ms: int) -> JsonObject:
    definition = parse_json(text)
    events, story = recorded.events, recorded.story
    first = story.root.visits[0].name if story.root.visits else definition["StartAt"]
    states, state_index = _states(story.program, first)
    visits = list(story.visits())
    place = {id(visit): number for number, visit in enumerate(visits)}
    types = sorted({event.type for event in events})
    type_index = {name: number for number, name in enumerate(types)}
    return {
        "head": _head(shown, events, visits),
        "drawing": drawing(definition),
        "definition": definition,
        "nowMs": now_ms,
        "states": states,
        "statuses": list(STATUSES),
        "eventTypes": types,
        "events": {
            "type": [type_index[event.type] for event in events],
            "atMs": _steps(event.at_ms - shown.started_ms for event in events),
            "visit": _steps(_visit_of(story.owner_of(event.id), place) for event in events),
        },
        "visits": _visit_columns(visits, place, state_index, shown.started_ms),
        "attempts": _attempt_columns(visits, shown.started_ms),
    }


def _head(shown: ExecutionView, events: Sequence[HistoryEvent], visits: Iterable[Visit]) -> JsonObject:
    last = events[-1] if events else None
    ended = _ENDS.get(last.type) if last is not None else None
    transitions = transitions_of(events)
    now_or_end = last.at_ms if last is not None else shown.started_ms
    usage = execution_usage(events, transitions, duration_ms=now_or_end - shown.started_ms)
    details = (last.details or {}) if last is not None and ended is not None else {}
    return {
        "arn": shown.execution_arn,
        "name": shown.name,
        "machineArn": shown.machine_arn,
        "machine": parse_arn(shown.machine_arn).name,
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
        "retries": sum(max(0, len(visit.attempts) - 1) for visit in visits),
        "events": len(events),
        "usd": bill(usage, _prices()).usd,
    }


@cache
def _prices() -> PriceTable:
    return load(None)


def _states(program: Program, first: str) -> tuple[list[JsonObject], dict[str, int]]:
    """The states of what begins with one: the whole program, or the child machine of a distributed Map; and the number
    of each by its name.

    `owner` is the number of the state that holds theirs, or -1; `waits` marks tasks with a token, `apart` what runs in
    child executions.
    """
    found: list[JsonObject] = []
    numbers: dict[str, int] = {}
    top = next(scope for scope in program.scopes if first in scope.states)
    is_apart = {top.index: False}
    for scope in program.scopes:
        owner = -1
        if scope is not top:
            if scope.parent not in is_apart or scope.owner is None:
                continue
            is_apart[scope.index] = scope.distributed or is_apart[scope.parent]
            owner = numbers[scope.owner]
        for state in scope.states.values():
            numbers[state.name] = len(found)
            found.append(
                {
                    "name": state.name,
                    "type": state.type,
                    "owner": owner,
                    "waits": isinstance(state.body, TaskDef) and state.body.resource.pattern == "waitForTaskToken",
                    "apart": is_apart[scope.index],
                }
            )
    return found, numbers


def _steps(values: Iterable[int]) -> list[int]:
    """Each number as its distance from the one before: small ones repeat, and so compress well."""
    steps, before = [], 0
    for value in values:
        steps.append(value - before)
        before = value
    return steps


def _visit_of(owner: Visit | Strand, place: dict[int, int]) -> int:
    visit = owner if isinstance(owner, Visit) else owner.owner
    return -1 if visit is None else place[id(visit)]


def _visit_columns(
    visits: Sequence[Visit], place: dict[int, int], state_index: dict[str, int], began_ms: int
) -> JsonObject:
    """`begin` and `beginMs` are steps, instants count from the start of the execution; `end` and `endMs` count from
    `begin` and `beginMs`: 0 and -1 for a visit that goes on. -1 stands for no parent and no successor.
    """
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


def _attempt_columns(visits: Sequence[Visit], began_ms: int) -> JsonObject:
    """As those of visits; `visit` is in steps, too. An attempt that failed at once ends with the event it began with,
    and so `failed` tells it from one that goes on."""
    numbered: list[tuple[int, Attempt]] = [
        (number, attempt) for number, visit in enumerate(visits) for attempt in visit.attempts
    ]
    errors = sorted({attempt.error for _, attempt in numbered if attempt.error is not None})
    error_index = {error: number for number, error in enumerate(errors)}
    attempts = [attempt for _, attempt in numbered]
    return {
        "errors": errors,
        "visit": _steps(number for number, _ in numbered),
        "begin": _steps(attempt.began_event for attempt in attempts),
        "end": [
            0 if attempt.ended_event is None else attempt.ended_event - attempt.began_event for attempt in attempts
        ],
        "beginMs": _steps(attempt.began_ms - began_ms for attempt in attempts),
        "endMs": [-1 if attempt.ended_ms is None else attempt.ended_ms - attempt.began_ms for attempt in attempts],
        "failed": [int(attempt.failed) for attempt in attempts],
        "error": [-1 if attempt.error is None else error_index[attempt.error] for attempt in attempts],
        "waitedMs": [-1 if attempt.retried_after_ms is None else attempt.retried_after_ms for attempt in attempts],
        "length": [-1 if attempt.length is None else attempt.length for attempt in attempts],
    }
