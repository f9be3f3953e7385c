"""How a state came to its output: the steps between that no history has, computed again by a trial of the state.

The trial gets what was recorded: input, variables, result. Where a step reads the clock or draws a number, the value is
another than it was, and the document says so. Trials go to a worker process when they are heavy, as TestState does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar, TypeVarTuple

from statewright.asl.outline import nodes_by_name
from statewright.asl.program import MapDef, StateDef, TaskDef
from statewright.console.analysis.replays import Shown
from statewright.console.analysis.visited import TOKEN, History, as_text, item_around
from statewright.console.asked import Asked, needed, number
from statewright.console.context import Console
from statewright.console.runs import Runs
from statewright.engine.executions.views import Head
from statewright.engine.machines.long_definitions import worked_on
from statewright.engine.trials import Attempt as Trial
from statewright.engine.trials import Called, begin, program_of
from statewright.errors import HEARTBEAT_TIMEOUT, ApiError, Failure
from statewright.interpreter.state import Identity
from statewright.interpreter.trial import Mock, StateTrial, TrialSetup, map_items
from statewright.payload import Json, JsonObject, Payload, dump_json, parse_json
from statewright.simulator.differences import differences
from statewright.simulator.story import Attempt, Visit

MOST_ATTEMPTS: Final = 20
_SEED: Final = b"statewright-explain"
_UNKNOWN: Final = Failure("Statewright.NotRecorded", None)
"""Stands for a result that the history does not hold, so that the steps before it can be computed."""
_CHANCE: Final = {
    r"\$uuid\b": "$uuid", r"\$random\b": "$random", r"\$now\b": "$now", r"\$millis\b": "$millis",
    r"States\.UUID": "States.UUID", r"States\.MathRandom": "States.MathRandom", r"Task\.Token": "Task.Token",
}  # fmt: skip
_PLACE: Final = re.compile(
    r"An error occurred while executing the state '(?:[^'\\\\]|\\\\.)*' \(entered at the event id #\d+\)\. "
)
_STEPS: Final[tuple[tuple[str, str, str | None], ...]] = (
    ("input", "State input", None),
    ("afterInputPath", "After InputPath", "input"),
    ("afterItemsPath", "After ItemsPath", "afterInputPath"),
    ("afterItemsPointer", "After ItemsPointer", None),
    ("afterItemSelector", "After ItemSelector", None),
    ("afterItemBatcher", "After ItemBatcher", None),
    ("afterParameters", "After Parameters", "afterInputPath"),
    ("afterArguments", "After Arguments", None),
    ("result", "Result", None),
    ("afterResultSelector", "After ResultSelector", "result"),
    ("afterResultPath", "After ResultPath", "input"),
    ("output", "Output", None),
)
"""Members of an inspection in their order: name, title, and the step that a difference is shown from."""
_FIELDS: Final = {
    "afterInputPath": "InputPath", "afterItemsPath": "ItemsPath", "afterItemSelector": "ItemSelector",
    "afterItemBatcher": "ItemBatcher", "afterParameters": "Parameters", "afterArguments": "Arguments",
    "afterResultSelector": "ResultSelector", "afterResultPath": "ResultPath", "result": "Result",
}  # fmt: skip


T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Errands(Protocol):
    """Calls functions, where they are too heavy for the loop in another process: `HeavySteps`."""

    async def run(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """The result of a function."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """One visit, with all that its trials need."""

    visit: Visit
    history: History
    text: str
    node: JsonObject
    identity: Identity
    item: Json

    @property
    def definition(self) -> StateDef:
        return self.visit.definition


async def explain(console: Console, asked: Asked) -> JsonObject:
    """The steps of the visit that an event began.

    `{state, type, language, next, steps, attempts, choice, catch, variables, assigned, chance, notes}`; values are JSON
    texts. Raises: ApiError (`ExecutionDoesNotExist`, `BadRequest`, `NotReached`).
    """
    arn = needed(asked.given, "arn")
    event = number(asked.given, "event", 0)
    found = await looked_up(console, arn)
    async with found.runs.reading(arn) as one:
        visit = visit_at(one.recorded.visits, event)
        shown = Shown(console.app.config.console, one.recorded.events)
        history = History(one.recorded.events)
        return await explained(found.runs.engine.heavy, visit, history, found.text, found.identity, shown)


@dataclass(frozen=True, slots=True)
class LookedUp:
    """An execution: where it is read, the definition that it ran on, and its identity."""

    runs: Runs
    text: str
    identity: Identity


async def looked_up(console: Console, arn: str) -> LookedUp:
    """Look up all that trials of an execution's states need. Raises: ApiError (`ExecutionDoesNotExist`)."""
    runs = console.runs_of(arn)
    engine = runs.engine
    row = await engine.names.row_of(arn)
    head = Head.decode(row.head)
    view = engine.listing.view(row)
    identity = head.identity(view.name, console.app_of_arn(arn).config.region)
    text = (await engine.machines.describe_revision(view.machine_id, view.revision_id, view.map_label)).definition
    await worked_on(engine.clock, text, program_of, text, True)
    return LookedUp(runs, text, identity)


def visit_at(visits: Sequence[Visit], event: int) -> Visit:
    """The visit that an event began. Raises: ApiError (`NotReached`)."""
    visit = next((visit for visit in visits if visit.entered_event == event), None)
    if visit is None:
        raise ApiError("NotReached", f"No state was entered at event {event}.", status=404)
    return visit


async def explained(
    heavy: Errands, visit: Visit, history: History, text: str, identity: Identity, shown: Shown
) -> JsonObject:
    """The document of one visit; `text` is the definition that it ran on. Raises: ApiError."""
    subject = await _subject(heavy, visit, history, text, identity)
    return _document(subject, await _tried(heavy, subject), shown)


async def way_taken(
    heavy: Errands, visit: Visit, history: History, text: str, identity: Identity
) -> tuple[int | None, int | None]:
    """The rule of a Choice that was true, and the Catch that took an error, by a trial. Raises: ApiError."""
    tried = await _tried(heavy, await _subject(heavy, visit, history, text, identity))
    if tried.last is None or not tried.is_known:
        return None, None
    return tried.last.choice, tried.last.inspection.get("errorDetails", {}).get("catchIndex")


async def _subject(heavy: Errands, visit: Visit, history: History, text: str, identity: Identity) -> _Subject:
    node = nodes_by_name(parse_json(text)).get(visit.name, {})
    item = await _item(heavy, history, visit, text, identity)
    return _Subject(visit, history, text, node, identity, item)


@dataclass(slots=True)
class _Tried:
    """The trials of the attempts that are explained, and of the visit as a whole."""

    attempts: list[tuple[Attempt, StateTrial]]
    last: StateTrial | None
    is_known: bool


async def _tried(heavy: Errands, subject: _Subject) -> _Tried:
    """Try each attempt with what it was answered, and so often as its retrier had retried before."""
    visit, history = subject.visit, subject.history
    attempts = visit.attempts[-MOST_ATTEMPTS:] if visit.definition.type in ("Task", "Parallel", "Map") else []
    retried: dict[int, int] = {}
    found = _Tried([], None, True)
    for attempt in attempts:
        mock = history.result(visit, attempt)
        if isinstance(mock, Failure) and mock.error is None:
            mock = await _failure(heavy, subject, attempt) or mock
        found.is_known = mock is not None
        tried = await _try(heavy, subject, mock or _UNKNOWN, attempt.number - 1, 0)
        if history.fell_silent(attempt) and not _went_on(visit, attempt, tried):
            # A missing heartbeat is a States.Timeout that this name matches, too.
            mock = Failure(HEARTBEAT_TIMEOUT, None)
            tried = await _try(heavy, subject, mock, attempt.number - 1, 0)
        index = tried.inspection.get("errorDetails", {}).get("retryIndex") if attempt.failed else None
        if index is not None and retried.get(index):
            tried = await _try(heavy, subject, mock or _UNKNOWN, attempt.number - 1, retried[index])
        if index is not None:
            retried[index] = retried.get(index, 0) + 1
        found.attempts.append((attempt, tried))
        found.last = tried
    if not attempts:
        needs_mock = visit.definition.type in ("Task", "Parallel", "Map")
        found.is_known = not needs_mock
        found.last = await _try(heavy, subject, _UNKNOWN if needs_mock else None, 0, 0)
    return found


def _went_on(visit: Visit, attempt: Attempt, tried: StateTrial) -> bool:
    """True if a trial of an attempt that failed was retried, or caught, as the attempt was."""
    if attempt is not visit.attempts[-1]:
        return tried.status == "RETRIABLE"
    return visit.status != "caught" or tried.next_state == visit.next


async def _failure(heavy: Errands, subject: _Subject, attempt: Attempt) -> Failure | None:
    """The failure of an attempt of a Parallel or Map: that of a Fail state inside has no event of its own."""
    pending = list(attempt.strands)
    while pending:
        strand = pending.pop()
        for inner in strand.visits:
            pending.extend(one for each in inner.attempts for one in each.strands)
            if inner.definition.type == "Fail" and inner.status == "failed":
                item = await _item(heavy, subject.history, inner, subject.text, subject.identity)
                failing = replace(subject, visit=inner, item=item)
                tried = await _try(heavy, failing, None, 0, 0)
                return Failure(tried.error, tried.cause)
    return None


async def _try(heavy: Errands, subject: _Subject, mock: Mock | None, number: int, retried: int) -> StateTrial:
    visit, history = subject.visit, subject.history
    context = history.context(visit, subject.identity, number, subject.item)
    body = visit.definition.body
    if isinstance(body, TaskDef) and body.resource.kind == "task" and body.resource.pattern != "request":
        context["Task"] = {"Token": TOKEN}
    setup = TrialSetup(
        visit.name,
        Payload(history.value(visit.entered_event, "input")),
        mock,
        {name: parse_json(one.text) for name, one in history.variables(visit).items()},
        context,
        retried,
    )
    attempt = Trial(subject.text, True, setup, subject.identity, visit.entered_ms, _SEED)
    tried = await heavy.run(begin, attempt)
    assert not isinstance(tried, Called)
    return tried


async def _item(heavy: Errands, history: History, visit: Visit, text: str, identity: Identity) -> Json:
    """`Map.Item` of a visit inside an inline Map; the item's own value is computed from the Map's input."""
    around = item_around(visit)
    if around is None:
        return None
    owner, strand = around
    outer = await _item(heavy, history, owner, text, identity)
    setup = TrialSetup(
        owner.name,
        Payload(history.value(owner.entered_event, "input")),
        Payload([]),
        {name: parse_json(one.text) for name, one in history.variables(owner).items()},
        history.context(owner, identity, 0, outer),
    )
    items = await heavy.run(items_of, Trial(text, True, setup, identity, owner.entered_ms, _SEED))
    if items is None or strand.index >= len(items):
        return {"Index": strand.index, "Value": history.value(strand.visits[0].entered_event, "input"),
                "Source": "STATE_DATA"}  # fmt: skip
    return {"Index": strand.index, "Value": items[strand.index], "Source": "STATE_DATA"}


def items_of(trial: Trial) -> list[Json] | None:
    """The items of an inline Map, for a worker."""
    program = program_of(trial.definition, trial.named)
    return map_items(program, trial.setup, identity=trial.identity, now_ms=trial.now_ms, seed=trial.seed)


# ------------------------------------------------------------------ the document


def _document(subject: _Subject, tried: _Tried, shown: Shown) -> JsonObject:
    visit, history, node = subject.visit, subject.history, subject.node
    own = {name: value for name, value in node.items() if name not in ("Branches", "ItemProcessor", "Iterator")}
    text = dump_json(own)
    last = tried.last
    error = last.inspection.get("errorDetails", {}) if last is not None and tried.is_known else {}
    catch = error.get("catchIndex")
    return {
        "state": visit.name,
        "type": visit.definition.type,
        "language": "JSONata" if visit.definition.jsonata else "JSONPath",
        "next": last.next_state if last is not None and tried.is_known else None,
        "steps": _steps(subject, tried, shown),
        "attempts": [_attempt(subject, attempt, one) for attempt, one in tried.attempts],
        "moreAttempts": max(0, len(visit.attempts) - len(tried.attempts)) if tried.attempts else 0,
        "choice": _choice(subject, last),
        "catch": None if catch is None else {"index": catch, "rule": _rule(node, "Catch", catch)},
        "variables": [
            {"name": name, "value": shown.text(one.text), "state": one.state, "event": one.event}
            for name, one in sorted(history.variables(visit).items())
        ],
        "assigned": [
            {"name": name, "value": shown.text(one.text)} for name, one in sorted(history.assigned(visit).items())
        ],
        "chance": [words for pattern, words in _CHANCE.items() if re.search(pattern, text)],
        "notes": _notes(subject, tried),
    }


def _steps(subject: _Subject, tried: _Tried, shown: Shown) -> list[JsonObject]:
    """The steps, each `{name, title, from, field, value, recorded, isRecorded}`: `recorded` is what the history has in
    place of a value that came out otherwise.
    """
    visit, history, last = subject.visit, subject.history, tried.last
    if last is None:
        return []
    values = dict(last.inspection)
    recorded: dict[str, Json] = {"input": history.value(visit.entered_event, "input")}
    if not tried.is_known:
        values = {name: value for name, value in values.items() if "esult" not in name}
    elif visit.attempts and (mock := history.result(visit, visit.attempts[-1])) is not None:
        values["result"] = parse_json(as_text(mock))
        if not isinstance(mock, Failure) or mock.error is not None:
            recorded["result"] = values["result"]
        elif last.error is not None:
            values["result"] = {"Error": last.error, "Cause": last.cause}
    end = history.details(visit.ended_event)
    if "output" in end and end.get("name") == visit.name:
        recorded["output"] = history.value(visit.ended_event, "output")
        is_same = tried.is_known and not (visit.attempts and history.fell_silent(visit.attempts[-1]))
        values["output"] = last.output.value if last.output is not None and is_same else recorded["output"]
    call = visit.attempts[-1] if visit.attempts else None
    arguments = history.arguments(call) if call is not None else None
    if arguments is not None:
        recorded["afterArguments" if visit.definition.jsonata else "afterParameters"] = arguments
    found: list[JsonObject] = []
    for name, title, before in _STEPS:
        if name not in values:
            continue
        value = values[name]
        is_other = name in recorded and bool(differences(_plain(recorded[name]), _plain(value)))
        found.append(
            {
                "name": name,
                "title": "Error" if name == "result" and call is not None and call.failed else title,
                "from": before if before in values else None,
                "field": _FIELDS.get(name) if _FIELDS.get(name, "") in subject.node else None,
                "value": shown.value(value),
                "recorded": shown.value(recorded[name]) if is_other else None,
                "isRecorded": name in recorded and not is_other,
            }
        )
    return found


def _plain(value: Json) -> Json:
    """A value without what a cause says about the place in a history: a trial has none."""
    text = dump_json(value)
    return parse_json(_PLACE.sub("", text)) if "entered at the event id" in text else value


def _attempt(subject: _Subject, attempt: Attempt, tried: StateTrial) -> JsonObject:
    details = tried.inspection.get("errorDetails", {}) if attempt.failed else {}
    retry = details.get("retryIndex")
    was_retried = tried.status == "RETRIABLE"
    return {
        "number": attempt.number,
        "event": attempt.began_event,
        "error": attempt.error,
        "failed": attempt.failed,
        "retry": None if retry is None else {
            "index": retry, "rule": _rule(subject.node, "Retry", retry), "isExhausted": not was_retried,
            "backoffSeconds": details.get("retryBackoffIntervalSeconds"), "waitedMs": attempt.retried_after_ms,
        },
        "catchIndex": details.get("catchIndex"),
    }  # fmt: skip


def _rule(node: JsonObject, member: str, index: int) -> Json:
    rules = node.get(member, [])
    return rules[index] if isinstance(rules, list) and 0 <= index < len(rules) else None


def _choice(subject: _Subject, last: StateTrial | None) -> JsonObject | None:
    if subject.definition.type != "Choice" or last is None or last.next_state is None:
        return None
    if last.choice is None:
        return {"index": None, "rule": None, "next": last.next_state}
    return {"index": last.choice, "rule": _rule(subject.node, "Choices", last.choice), "next": last.next_state}


def _notes(subject: _Subject, tried: _Tried) -> list[str]:
    visit = subject.visit
    found = []
    body = visit.definition.body
    if isinstance(body, MapDef) and body.distributed is not None:
        found.append("The items ran in child executions, whose results are not part of this history.")
    elif not tried.is_known and visit.ended_event is None:
        found.append("It has no result yet.")
    elif not tried.is_known:
        found.append("Its result is not in the history, so that only the steps before it are shown.")
    if any(event.type == "ExecutionRedriven" for event in subject.history.events):
        found.append("The execution was redriven, and what its retriers had counted until then is not known.")
    if visit.status == "stopped":
        found.append("It was stopped before it ended.")
    return found


READS: Final = {"run/explain": explain}
