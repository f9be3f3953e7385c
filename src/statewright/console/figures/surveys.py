"""A survey of a machine: its last executions read once, and what each of their states did, added up.

Owns reading the histories, a slice of events at a time in a thread, and the figures by state. Heat, costs and scenarios
are made of them. Nothing is counted while executions run: a survey is made when a page asks for one.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from typing import Final

from statewright.arn import MACHINE, parse_arn
from statewright.asl.program import Program
from statewright.console.redaction import Redactor
from statewright.cost.execution_usage import execution_usage
from statewright.cost.hints import WaitLoop, hints, wait_loops
from statewright.cost.usage import Usage, add_express
from statewright.engine.engine import Engine
from statewright.engine.executions.history_pages import decode_page
from statewright.engine.executions.views import ExecutionView
from statewright.errors import ApiError
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import ExecutionState, Identity
from statewright.payload import Payload
from statewright.simulator.story import Story, Visit
from statewright.stores.protocol import HistoryPage, Row

MOST_RUNS: Final = 200
MOST_EVENTS: Final = 200_000
"""Events of all histories together; the survey ends before the execution that would exceed it."""
SLICE_EVENTS: Final = 2_000
MOST_SLOWEST: Final = 10
MOST_SAMPLES: Final = 20
KEPT_SURVEYS: Final = 4
_SUCCEEDED: Final = frozenset({"TaskSucceeded", "LambdaFunctionSucceeded", "ActivitySucceeded"})


@dataclass(order=True, slots=True)
class Slow:
    """A visit that took long; `visit` is its number in the document of its run."""

    took_ms: int
    arn: str
    visit: int
    began_ms: int


@dataclass(slots=True)
class StateFigures:
    """Figures of one state in all executions of a survey. `took_ms` has the durations of visits that ended."""

    name: str
    type: str
    took_ms: list[int] = field(default_factory=list)
    attempts_ms: list[int] = field(default_factory=list)
    visits: int = 0
    failed: int = 0
    caught: int = 0
    attempts: int = 0
    retries: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    slowest: list[Slow] = field(default_factory=list)
    answer: str | None = None
    """The result of one of its tasks, as it may be shown."""

    def note(self, visit: Visit, number: int, arn: str) -> None:
        """Count one visit."""
        self.visits += 1
        self.failed += visit.status == "failed"
        self.caught += visit.status == "caught"
        self.attempts += len(visit.attempts)
        self.retries += max(0, len(visit.attempts) - 1)
        for attempt in visit.attempts:
            if attempt.failed:
                self.errors[attempt.error or "an error without a name"] += 1
            if attempt.ended_ms is not None:
                self.attempts_ms.append(attempt.ended_ms - attempt.began_ms)
        if visit.ended_ms is None:
            return
        took_ms = visit.ended_ms - visit.entered_ms
        self.took_ms.append(took_ms)
        slow = Slow(took_ms, arn, number, visit.entered_ms)
        if len(self.slowest) < MOST_SLOWEST:
            heappush(self.slowest, slow)
        else:
            heappushpop(self.slowest, slow)


@dataclass(slots=True)
class LoopFigures:
    """A Wait that polled, over all executions: how often it was entered, and what a calmer loop would have needed."""

    state: str
    runs: int = 0
    turns: int = 0
    waited_seconds: float = 0.0
    transitions: int = 0
    calm_transitions: int = 0

    def note(self, loop: WaitLoop) -> None:
        """Count the loop of one execution."""
        self.runs += 1
        self.turns += loop.turns
        self.waited_seconds += loop.turns * loop.seconds
        self.transitions += loop.transitions
        self.calm_transitions += min(loop.calm_transitions, loop.transitions)


@dataclass(slots=True)
class Survey:
    """Figures of executions. `taken` counts transitions by source and target; `is_cut`: `MOST_EVENTS` ended it."""

    now_ms: int = 0
    """Until when executions that run have lasted."""
    states: dict[str, StateFigures] = field(default_factory=dict)
    taken: Counter[tuple[str, str]] = field(default_factory=Counter)
    loops: dict[str, LoopFigures] = field(default_factory=dict)
    hints: dict[str, None] = field(default_factory=dict)
    express: Usage = field(default_factory=Usage)
    runs: int = 0
    running: int = 0
    events: int = 0
    is_cut: bool = False
    since_ms: int | None = None
    until_ms: int | None = None
    lasted_ms: list[int] = field(default_factory=list)
    longest_ms: int = 0
    inputs: list[str] = field(default_factory=list)
    is_express: bool = False

    def note(self, view: ExecutionView, events: Sequence[HistoryEvent], program: Program, redactor: Redactor) -> None:
        """Add one execution. Names of errors may hold data, too, and so all is taken from what may be shown."""
        events = redactor.events(events)
        story = story_of(view.execution_arn, events, program)
        self.runs += 1
        self.running += view.stopped_ms is None
        self.events += len(events)
        self.since_ms = min(self.since_ms or view.started_ms, view.started_ms)
        self.until_ms = max(self.until_ms or 0, view.started_ms)
        lasted_ms = (view.stopped_ms or max(self.now_ms, view.started_ms)) - view.started_ms
        self.longest_ms = max(self.longest_ms, lasted_ms)
        if view.stopped_ms is not None:
            self.lasted_ms.append(view.stopped_ms - view.started_ms)
        # Of the history, where what it hides elsewhere is hidden in the input, too.
        given = (events[0].details or {}).get("input") if events else None
        if len(self.inputs) < MOST_SAMPLES and isinstance(given, str):
            self.inputs.append(given)
        path, stays = [], dict[str, list[int]]()
        for number, visit in enumerate(sorted(story.visits(), key=lambda one: one.entered_event)):
            figures = self.states.get(visit.name)
            if figures is None:
                figures = self.states[visit.name] = StateFigures(visit.name, visit.definition.type)
            figures.note(visit, number, view.execution_arn)
            if visit.next is not None:
                self.taken[visit.name, visit.next] += 1
            path.append(visit.name)
            if visit.definition.type == "Wait" and visit.ended_ms is not None:
                stays.setdefault(visit.name, []).append(visit.ended_ms - visit.entered_ms)
        waits = {name: sum(times) / len(times) / 1000 for name, times in stays.items()}
        for loop in wait_loops(path, waits):
            self.loops.setdefault(loop.state, LoopFigures(loop.state)).note(loop)
        if len(self.hints) < MOST_SAMPLES:
            self.hints.update(dict.fromkeys(hints(path, waits)))
        self.is_express = view.type == "EXPRESS"
        self._note_usage(story, events)

    def _note_usage(self, story: Story, events: Sequence[HistoryEvent]) -> None:
        by_state: dict[str, list[HistoryEvent]] = {}
        transitions: Counter[str] = Counter()
        for visit in story.visits():
            transitions[visit.name] += 1 + max(0, len(visit.attempts) - 1) * (visit.definition.type == "Task")
        for event in events:
            owner = story.owner_of(event.id)
            around = owner if isinstance(owner, Visit) else owner.owner
            if around is None:
                continue
            by_state.setdefault(around.name, []).append(event)
            if event.type in _SUCCEEDED and self.states[around.name].answer is None:
                self.states[around.name].answer = str((event.details or {}).get("output", "null"))
        for name, times in transitions.items():
            # Express executions are charged for their duration, not for their states.
            usage = execution_usage(by_state.get(name, ()), 0 if self.is_express else times, duration_ms=0)
            self.states[name].usage.merge(usage)
        if events:
            add_express(self.express, events[-1].at_ms - events[0].at_ms)


def story_of(arn: str, events: Sequence[HistoryEvent], program: Program) -> Story:
    """The story of a history."""
    parsed = parse_arn(arn)
    state = ExecutionState(Identity(arn, parsed.name, parsed.machine, "", "", ""), Payload.from_text("{}"), b"")
    story = Story(program)
    for event in events:
        story.note(state, event)
    return story


@dataclass(slots=True)
class Surveys:
    """Makes surveys in one region; keeps the last ones while their machine has no newer execution and none ended."""

    engine: Engine
    redactor: Redactor
    _kept: OrderedDict[tuple[int, int], tuple[tuple[object, ...], Survey]] = field(default_factory=OrderedDict)

    async def of(self, machine_arn: str, runs: int = MOST_RUNS) -> Survey:
        """The survey of a machine's last executions.

        Raises: ApiError (`StateMachineDoesNotExist`, `NoHistory` for an Express machine).
        """
        engine = self.engine
        machine = await engine.catalogue.existing(parse_arn(machine_arn, MACHINE).machine, shown=machine_arn)
        if machine.type == "EXPRESS":
            raise no_history()
        runs = max(1, min(runs, MOST_RUNS))
        rows = await engine.listing.newest(machine.id, runs)
        counts = await engine.store.executions.count_by_status(machine.id)
        mark = (rows[0].id if rows else 0, tuple(sorted(counts.items())))
        kept = self._kept.get((machine.id, runs))
        if kept is not None and kept[0] == mark:
            self._kept.move_to_end((machine.id, runs))
            return kept[1]
        survey = await self._made(rows)
        if not survey.running:
            self._kept[machine.id, runs] = (mark, survey)
            while len(self._kept) > KEPT_SURVEYS:
                self._kept.popitem(last=False)
        return survey

    async def _made(self, rows: Sequence[Row]) -> Survey:
        survey = Survey(self.engine.clock.now_ms())
        slice_: list[tuple[ExecutionView, list[HistoryPage], Program]] = []
        gathered = total = 0
        for row in rows:
            view = self.engine.listing.view(row)
            pages = await self.engine.listing.history_pages(row.id)
            events = sum(page.count for page in pages)
            if survey.runs + len(slice_) and total + events > MOST_EVENTS:
                survey.is_cut = True
                break
            _, program = await self.engine.machines.programs.prepared(view.machine_id, view.revision_id)
            slice_.append((view, pages, program))
            gathered += events
            total += events
            if gathered >= SLICE_EVENTS:
                await asyncio.to_thread(self._note, survey, slice_)
                slice_, gathered = [], 0
        if slice_:
            await asyncio.to_thread(self._note, survey, slice_)
        return survey

    def _note(self, survey: Survey, runs: Sequence[tuple[ExecutionView, list[HistoryPage], Program]]) -> None:
        for view, pages, program in runs:
            events = [event for page in pages for event in decode_page(page)]
            survey.note(view, events, program, self.redactor)


def no_history() -> ApiError:
    """The refusal of what needs histories of an Express machine."""
    text = "Express executions keep no history. The console can record them while it watches: open the page Express."
    return ApiError("NoHistory", text)
