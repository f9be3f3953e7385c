"""The story of an execution as a tree: states visited, their attempts, and the branches and items inside them.

Made from history events as they come, so that a run can be shown while it goes on. Owns who belongs to whom and how
each visit ended; how a tree is drawn is for others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from statewright.asl.program import ParallelDef, Program, StateDef
from statewright.interpreter.history import Details, HistoryEvent
from statewright.interpreter.state import ExecutionState
from statewright.payload import JsonTextError, parse_json

VisitStatus = Literal["running", "succeeded", "caught", "failed", "stopped"]
"""`stopped`: it still ran when a sibling's failure or the end of the execution ended it."""


@dataclass(eq=False, slots=True)
class Attempt:
    """One try of a Task, or one pass through a Parallel or Map. Instants are epoch milliseconds, events are by id."""

    number: int
    began_ms: int
    began_event: int
    ended_ms: int | None = None
    ended_event: int | None = None
    failed: bool = False
    error: str | None = None
    cause: str | None = None
    retried_after_ms: int | None = None
    """How long the retrier waited afterwards; None when there was no further attempt."""
    length: int | None = None
    """How many items a Map goes through."""
    strands: list[Strand] = field(default_factory=list)

    def end(self, event: HistoryEvent) -> None:
        """Note the event that ended it."""
        self.ended_ms, self.ended_event = event.at_ms, event.id


@dataclass(eq=False, slots=True)
class Visit:
    """One stay in a state. `next` is the state entered afterwards; events are by id."""

    definition: StateDef
    strand: Strand
    entered_ms: int
    entered_event: int
    ended_ms: int | None = None
    ended_event: int | None = None
    status: VisitStatus = "running"
    attempts: list[Attempt] = field(default_factory=list)
    next: str | None = None

    @property
    def name(self) -> str:
        """The state's name."""
        return self.definition.name

    @property
    def strands(self) -> list[Strand]:
        """The branches or items of the last attempt."""
        return self.attempts[-1].strands if self.attempts else []

    @property
    def failure(self) -> Attempt | None:
        """The last attempt, if it failed."""
        return self.attempts[-1] if self.attempts and self.attempts[-1].failed else None


@dataclass(eq=False, slots=True)
class Strand:
    """One thread of control: the execution itself, a branch, or a Map's item. `owner` is the state that holds it."""

    kind: Literal["execution", "branch", "item"]
    index: int
    owner: Visit | None
    began_ms: int
    visits: list[Visit] = field(default_factory=list)
    status: VisitStatus = "running"
    ended_ms: int | None = None


Listener = Callable[[Visit, Attempt | None], None]
"""Called with every attempt that failed, and, without an attempt, with every visit that has ended."""
OnChange = Callable[[Visit], None]
"""Called with a visit that begins, and whenever it or its last attempt has changed."""


class Story:
    """The tree of one execution and of the child executions of its distributed Maps."""

    def __init__(
        self, program: Program, listener: Listener | None = None, on_change: OnChange = lambda _visit: None
    ) -> None:
        self.program = program
        self.listener = listener
        self.on_change = on_change
        self.root = Strand("execution", 0, None, 0)
        self.failed_visit: Visit | None = None
        """The visit in which the execution failed, once it has."""
        self.now_ms = 0
        self._chains: dict[str, _Chain] = {}
        self._map_runs: dict[str, Visit] = {}
        self._branches = _branch_numbers(program)

    def note(self, state: ExecutionState, event: HistoryEvent) -> None:
        """Take in the next history event of an execution."""
        self.now_ms = event.at_ms
        arn = state.identity.execution_arn
        chain = self._chains.get(arn)
        if chain is None:
            chain = self._chains[arn] = _Chain(self, self._strand_of(state, event.at_ms))
        chain.note(event)
        if event.type in _ENDS and chain.root is not self.root:
            # A child execution is over: only its strand is still needed.
            del self._chains[arn]

    def visits(self) -> Iterator[Visit]:
        """Every visit of every strand, outer before inner, in the order of entry within a strand."""
        pending = [self.root]
        while pending:
            strand = pending.pop()
            for visit in strand.visits:
                yield visit
                for attempt in visit.attempts:
                    pending.extend(reversed(attempt.strands))

    def owner_of(self, event_id: int) -> Visit | Strand:
        """The visit or strand of an event of the execution itself, not of a child execution."""
        for chain in self._chains.values():
            if chain.root is self.root:
                return chain.owners.get(event_id, self.root)
        return self.root

    def branch_of(self, name: str) -> int:
        """The number of the branch, from 0, that a state belongs to."""
        return self._branches.get(name, 0)

    def _strand_of(self, state: ExecutionState, at_ms: int) -> Strand:
        owner = self._map_runs.get(state.identity.map_run_arn or "")
        if owner is None:
            self.root.began_ms = at_ms
            return self.root
        strand = Strand("item", len(owner.strands), owner, at_ms)
        owner.attempts[-1].strands.append(strand)
        return strand

    def began_map_run(self, arn: str, visit: Visit) -> None:
        """Remember whose children the executions of a Map Run are."""
        self._map_runs[arn] = visit


class _Chain:
    """One execution's events: who each of them belongs to. `owners` is by event id."""

    def __init__(self, story: Story, root: Strand) -> None:
        self.story = story
        self.root = root
        self.owners: dict[int, Visit | Strand] = {}
        self.entered: dict[tuple[int, str], Visit] = {}
        self.running: dict[int, Visit] = {}
        """Visits that have not ended, by `id`."""
        self.reopened: list[Visit] = []
        """Visits that a redrive goes on with, and of which nothing has been heard since."""

    def note(self, event: HistoryEvent) -> None:
        handler = _HANDLERS.get(event.type)
        owner = handler(self, event, event.details or {}) if handler is not None else None
        self.owners[event.id] = owner if owner is not None else self.owner_of(event)

    def owner_of(self, event: HistoryEvent) -> Visit | Strand:
        return self.owners.get(event.previous_id, self.root)

    def visit_of(self, event: HistoryEvent, wanted: Callable[[Visit], bool]) -> Visit | None:
        """The nearest visit around an event's predecessor that is wanted."""
        one: Visit | Strand | None = self.owner_of(event)
        while one is not None:
            if isinstance(one, Strand):
                one = one.owner
            elif wanted(one):
                return one
            else:
                one = one.strand
        # What a redrive goes on with follows its event, not the state's own.
        found = next((visit for visit in self.reopened if wanted(visit) and not visit.strands), None)
        if found is not None:
            self.reopened.remove(found)
        return found

    # ------------------------------------------------------------------ states

    def state_entered(self, event: HistoryEvent, details: Details) -> Visit:
        name = details["name"]
        definition = self.story.program.state(name)
        before = self.owner_of(event)
        if isinstance(before, Strand):
            strand = before
        elif before.status == "running" and before.definition.type == "Parallel":
            strand = Strand("branch", self.story.branch_of(name), before, event.at_ms)
            before.attempts[-1].strands.append(strand)
        else:
            strand = before.strand
            self.went_on(before, name)
        visit = Visit(definition, strand, event.at_ms, event.id)
        strand.visits.append(visit)
        self.entered[event.previous_id, name] = visit
        self.running[id(visit)] = visit
        self.story.on_change(visit)
        return visit

    def went_on(self, visit: Visit, name: str) -> None:
        """A visit's successor is known. A target other than Next reveals a catcher that left no other trace."""
        visit.next = name
        definition = visit.definition
        if visit.status == "succeeded" and definition.type in ("Task", "Parallel", "Map") and definition.next != name:
            visit.status = "caught"
        self.story.on_change(visit)

    def state_exited(self, event: HistoryEvent, details: Details) -> Visit | None:
        visit = self.visit_of(event, lambda one: one.name == details["name"] and one.status == "running")
        if visit is None:
            return None
        inner = self.owner_of(event)
        is_open = visit.definition.type == "Parallel" and visit.attempts and visit.attempts[-1].ended_ms is None
        if is_open and isinstance(inner, Visit):
            # A Parallel that has not succeeded: a failure that is caught has no event of its own.
            self.inner_failed(visit, inner, event)
        failure = visit.failure
        if failure is not None and failure.error is None:
            failure.error, failure.cause = _caught_error(details.get("output", ""))
        self.end(visit, "succeeded" if failure is None else "caught", event)
        strand = visit.strand
        if visit.definition.next is None and strand.kind == "branch" and visit.status == "succeeded":
            strand.status, strand.ended_ms = "succeeded", event.at_ms
        return visit

    def end(self, visit: Visit, status: VisitStatus, event: HistoryEvent) -> None:
        visit.status = status
        visit.ended_ms, visit.ended_event = event.at_ms, event.id
        self.running.pop(id(visit), None)
        if visit.attempts and visit.attempts[-1].ended_ms is None:
            visit.attempts[-1].end(event)
        self.story.on_change(visit)
        if self.story.listener is not None:
            self.story.listener(visit, None)

    # ------------------------------------------------------------------ tasks

    def attempt_began(self, event: HistoryEvent, _details: Details) -> Visit | None:
        visit = self.visit_of(event, lambda one: one.status == "running")
        if visit is not None:
            self.new_attempt(visit, event)
        return visit

    def new_attempt(self, visit: Visit, event: HistoryEvent, length: int | None = None) -> None:
        if visit.attempts:
            last = visit.attempts[-1]
            if last.ended_ms is None:
                last.end(event)
                last.retried_after_ms = 0
            else:
                last.retried_after_ms = event.at_ms - last.ended_ms
        visit.attempts.append(Attempt(len(visit.attempts) + 1, event.at_ms, event.id, length=length))
        self.story.on_change(visit)

    def attempt_failed(self, event: HistoryEvent, details: Details) -> Visit | None:
        visit = self.visit_of(event, lambda one: one.status == "running")
        if visit is not None:
            self.fail(visit, event, details.get("error"), details.get("cause"))
        return visit

    def fail(self, visit: Visit, event: HistoryEvent, error: str | None, cause: str | None) -> None:
        if not visit.attempts or visit.attempts[-1].failed:
            self.new_attempt(visit, event)
        attempt = visit.attempts[-1]
        attempt.end(event)
        attempt.failed, attempt.error, attempt.cause = True, error, cause
        self.story.on_change(visit)
        if self.story.listener is not None:
            self.story.listener(visit, attempt)

    def attempt_succeeded(self, event: HistoryEvent, _details: Details) -> Visit | None:
        visit = self.visit_of(event, lambda one: one.status == "running")
        if visit is not None and visit.attempts:
            visit.attempts[-1].end(event)
            self.story.on_change(visit)
        return visit

    def evaluation_failed(self, event: HistoryEvent, details: Details) -> Visit | None:
        visit = self.entered.get((event.previous_id, details["state"]))
        if visit is not None and visit.status == "running":
            self.fail(visit, event, details.get("error"), details.get("cause"))
        return visit

    # ------------------------------------------------------------------ Parallel and Map

    def children_began(self, event: HistoryEvent, details: Details) -> Visit | None:
        visit = self.container(event)
        if visit is None:
            return None
        inner = self.owner_of(event)
        if visit.attempts and isinstance(inner, Visit) and inner is not visit:
            # Started anew by a retrier, after what an inner state failed with.
            self.inner_failed(visit, inner, event)
        self.new_attempt(visit, event, details.get("length"))
        return visit

    def inner_failed(self, visit: Visit, inner: Visit, event: HistoryEvent) -> None:
        """A failure inside has ended an attempt of a Parallel or Map."""
        self.fail_upwards(inner, visit, event)
        failure = inner.failure
        attempt = visit.attempts[-1]
        if not attempt.failed:
            error, cause = (failure.error, failure.cause) if failure is not None else (None, None)
            self.fail(visit, event, error, cause)
        self.stop_below(visit, event)

    def fail_upwards(self, inner: Visit | Strand | None, outermost: Visit, event: HistoryEvent) -> None:
        while inner is not None and inner is not outermost:
            if isinstance(inner, Strand):
                if inner.status == "running":
                    inner.status, inner.ended_ms = "failed", event.at_ms
                inner = inner.owner
            else:
                if inner.status == "running":
                    self.end(inner, "failed", event)
                inner = inner.strand

    def stop_below(self, visit: Visit, event: HistoryEvent) -> None:
        pending = list(visit.strands)
        while pending:
            strand = pending.pop()
            if strand.status == "running":
                strand.status, strand.ended_ms = "stopped", event.at_ms
            for inner in strand.visits:
                pending.extend(inner.strands)
                if inner.status == "running":
                    self.end(inner, "stopped", event)

    def container(self, event: HistoryEvent) -> Visit | None:
        """The Parallel or Map that an event of its own kind is about."""
        kind = "Map" if event.type.startswith("Map") else "Parallel"
        return self.visit_of(event, lambda one: one.status == "running" and one.definition.type == kind)

    def children_failed(self, event: HistoryEvent, _details: Details) -> Visit | None:
        visit = self.container(event)
        inner = self.owner_of(event)
        if visit is not None and isinstance(inner, Visit) and inner is not visit:
            self.inner_failed(visit, inner, event)
        return visit

    def children_succeeded(self, event: HistoryEvent, _details: Details) -> Visit | None:
        visit = self.container(event)
        if visit is not None and visit.attempts:
            visit.attempts[-1].end(event)
            self.story.on_change(visit)
        return visit

    def item_began(self, event: HistoryEvent, details: Details) -> Strand | None:
        visit = self.map_of(event, details)
        if visit is None:
            return None
        strand = Strand("item", details["index"], visit, event.at_ms)
        visit.attempts[-1].strands.append(strand)
        return strand

    def item_succeeded(self, event: HistoryEvent, details: Details) -> Visit | None:
        return self.item_ended(event, details, "succeeded")

    def item_failed(self, event: HistoryEvent, details: Details) -> Visit | None:
        visit = self.map_of(event, details)
        if visit is not None:
            self.fail_upwards(self.owner_of(event), visit, event)
        return self.item_ended(event, details, "failed")

    def item_aborted(self, event: HistoryEvent, details: Details) -> Visit | None:
        return self.item_ended(event, details, "stopped")

    def item_ended(self, event: HistoryEvent, details: Details, status: VisitStatus) -> Visit | None:
        visit = self.map_of(event, details)
        # Items begin in the order of their indexes.
        if visit is not None and details["index"] < len(visit.strands):
            strand = visit.strands[details["index"]]
            strand.status, strand.ended_ms = status, event.at_ms
        return visit

    def map_of(self, event: HistoryEvent, details: Details) -> Visit | None:
        return self.visit_of(event, lambda one: one.name == details["name"] and one.definition.type == "Map")

    def map_run_began(self, event: HistoryEvent, details: Details) -> Visit | None:
        visit = self.container(event)
        if visit is not None:
            self.story.began_map_run(details["mapRunArn"], visit)
        return visit

    # ------------------------------------------------------------------ ends

    def execution_redriven(self, _event: HistoryEvent, _details: Details) -> Strand:
        """The states that were entered and not left go on."""
        if self.root is self.story.root:
            self.story.failed_visit = None
        self.reopened = []
        pending = [self.root]
        while pending:
            strand = pending.pop()
            strand.status, strand.ended_ms = "running", None
            visit = strand.visits[-1] if strand.visits else None
            if visit is not None and visit.status in ("failed", "stopped"):
                visit.status, visit.ended_ms, visit.ended_event = "running", None, None
                self.running[id(visit)] = visit
                self.reopened.append(visit)
                if visit.strands:
                    # The same attempt goes on, with the branches or items that did not succeed.
                    attempt = visit.attempts[-1]
                    attempt.failed, attempt.error, attempt.cause = False, None, None
                    attempt.ended_ms, attempt.ended_event = None, None
                self.story.on_change(visit)
                pending.extend(inner for inner in reversed(visit.strands) if inner.status != "succeeded")
        return self.root

    def execution_ended(self, event: HistoryEvent, details: Details) -> Visit | None:
        status: VisitStatus = {"ExecutionSucceeded": "succeeded", "ExecutionFailed": "failed"}.get(
            event.type,
            "stopped",  # type: ignore[assignment]
        )
        failing = self.owner_of(event)
        if status == "failed" and isinstance(failing, Visit):
            if failing.definition.type != "Fail" and failing.failure is None:
                self.fail(failing, event, details.get("error"), details.get("cause"))
            one: Visit | None = failing
            while one is not None:
                if one.status == "running":
                    self.end(one, "failed", event)
                one.strand.status, one.strand.ended_ms = "failed", event.at_ms
                one = one.strand.owner if one.strand is not self.root else None
            if self.root is self.story.root:
                self.story.failed_visit = failing
        for visit in list(self.running.values()):
            if visit.strand.status == "running":
                visit.strand.status, visit.strand.ended_ms = status, event.at_ms
            self.end(visit, "stopped", event)
        self.root.status, self.root.ended_ms = status, event.at_ms
        return None


def _caught_error(output: str) -> tuple[str | None, str | None]:
    """The error output that a catcher has handed on, if it is still what it was."""
    try:
        value = parse_json(output)
    except JsonTextError:
        return None, None
    if not isinstance(value, dict):
        return None, None
    error, cause = value.get("Error"), value.get("Cause")
    return error if isinstance(error, str) else None, cause if isinstance(cause, str) else None


def _branch_numbers(program: Program) -> dict[str, int]:
    """State name to the number of its branch, for the states of all Parallels. Names are unique in a definition."""
    found = {}
    for scope in program.scopes:
        for state in scope.states.values():
            if isinstance(state.body, ParallelDef):
                for number, index in enumerate(state.body.scopes):
                    found.update(dict.fromkeys(program.scopes[index].states, number))
    return found


_ENDS: Final = frozenset({"ExecutionSucceeded", "ExecutionFailed", "ExecutionTimedOut", "ExecutionAborted"})
_KINDS: Final = ("Pass", "Task", "Choice", "Wait", "Map", "Parallel", "Succeed", "Fail")
_Handler = Callable[[_Chain, HistoryEvent, Details], Visit | Strand | None]

_HANDLERS: Final[dict[str, _Handler]] = {
    **{f"{kind}StateEntered": _Chain.state_entered for kind in _KINDS},
    **{f"{kind}StateExited": _Chain.state_exited for kind in _KINDS},
    **{f"{family}Scheduled": _Chain.attempt_began for family in ("Task", "LambdaFunction", "Activity")},
    **{f"{family}Succeeded": _Chain.attempt_succeeded for family in ("Task", "LambdaFunction", "Activity", "MapRun")},
    **{
        f"{family}{how}": _Chain.attempt_failed
        for family in ("Task", "LambdaFunction", "Activity")
        for how in ("Failed", "TimedOut", "ScheduleFailed", "StartFailed", "SubmitFailed")
    },
    **dict.fromkeys(("MapStateStarted", "ParallelStateStarted"), _Chain.children_began),
    **dict.fromkeys(("MapStateFailed", "ParallelStateFailed"), _Chain.children_failed),
    **dict.fromkeys(("MapStateSucceeded", "ParallelStateSucceeded"), _Chain.children_succeeded),
    **dict.fromkeys(_ENDS, _Chain.execution_ended),
    "ExecutionRedriven": _Chain.execution_redriven,
    "EvaluationFailed": _Chain.evaluation_failed,
    "MapIterationStarted": _Chain.item_began,
    "MapIterationSucceeded": _Chain.item_succeeded,
    "MapIterationFailed": _Chain.item_failed,
    "MapIterationAborted": _Chain.item_aborted,
    "MapRunStarted": _Chain.map_run_began,
    "MapRunFailed": _Chain.attempt_failed,
}
