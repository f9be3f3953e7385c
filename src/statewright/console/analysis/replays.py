"""An execution replayed on another definition, as a document: the part of What if that a worker process computes.

Everything here runs in a process of its own (`HeavySteps.run_bounded`), since definitions and payloads may be hostile.
The values that go there and come back are plain; those that come back are redacted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from statewright.console.recorded import Recorded
from statewright.console.redaction import Redactor, RunRedaction
from statewright.console.runs import ReadRun, run_document
from statewright.engine.executions.history_pages import decode_page
from statewright.engine.executions.views import ExecutionView
from statewright.engine.machines.definitions import compiled, tree_of
from statewright.engine.trials import program_of
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import Identity
from statewright.limits import Limits
from statewright.payload import Json, JsonObject, dump_json, parse_json
from statewright.settings.server import ConsoleSettings
from statewright.simulator.differences import ABSENT, Difference, Place
from statewright.simulator.judging import Change, Judgement, Machine, judge
from statewright.simulator.recorded import RecordedExecution
from statewright.simulator.replay import Missing, Mock, Replay
from statewright.stores.protocol import HistoryPage

MOST_CHANGES: Final = 50
MOST_PAIRS: Final = 400
LONGEST_SHOWN: Final = 20_000
"""Characters of a value that goes to the page; longer ones are cut."""


@dataclass(frozen=True, slots=True)
class Question:
    """An execution, its own definition, and the other one. `console` says what is hidden."""

    identity: Identity
    view: ExecutionView
    pages: Sequence[HistoryPage]
    own: str
    other: str
    limits: Limits
    console: ConsoleSettings
    mocks: tuple[Mock, ...] = ()


class Shown:
    """Values of a run as they may be shown: by their places, and by what is hidden elsewhere in its history."""

    def __init__(self, console: ConsoleSettings, *histories: Sequence[HistoryEvent]) -> None:
        self._redaction = RunRedaction(Redactor(console))
        for history in histories:
            self._redaction.note(history)

    def text(self, text: str | None) -> str | None:
        """A text, at most so much of it as is shown."""
        if text is None:
            return None
        (event,) = self._redaction.note([HistoryEvent(0, 0, 0, "", {"cause": text})])
        shown: str = (event.details or {})["cause"]
        return shown if len(shown) <= LONGEST_SHOWN else shown[:LONGEST_SHOWN] + "…"

    def value(self, value: Json) -> str | None:
        """A value as JSON."""
        return None if value is ABSENT else self.text(dump_json(value))

    def difference(self, found: Difference) -> JsonObject:
        """`{pointer, before, after}`; the values as JSON, null for none."""
        before, after = self.at(found.place, found.wanted), self.at(found.place, found.got)
        return {"pointer": found.where, "before": before, "after": after}

    def at(self, place: Place, value: Json) -> str | None:
        """A value at a place, as JSON: patterns hide by the names around a value."""
        if value is ABSENT:
            return None
        nested = value
        for step in reversed(place):
            nested = {step: nested} if isinstance(step, str) else [nested]
        (event,) = self._redaction.note([HistoryEvent(0, 0, 0, "", {"output": dump_json(nested)})])
        shown = parse_json((event.details or {})["output"])
        for step in place:
            if isinstance(shown, dict) and step in shown:
                shown = shown[step]
            elif isinstance(shown, list) and shown:
                shown = shown[0]
            else:
                break  # Hidden further out.
        text = dump_json(shown)
        return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


@lru_cache(maxsize=16)
def _machine(definition: str, *, is_new: bool) -> Machine:
    """A definition that is compiled, and checked if it is new. Raises: ApiError (`InvalidDefinition`)."""
    program = program_of(definition, True) if is_new else compiled(definition)
    return Machine(tree_of(definition), program)


def check(definition: str) -> None:
    """Refuse a definition with errors. Raises: ApiError (`InvalidDefinition`)."""
    _machine(definition, is_new=True)


def verdict(question: Question) -> JsonObject:
    """`{verdict, reason, changes}` of an execution. Raises: ApiError (`InvalidDefinition`)."""
    judged, shown = _judged(question)
    return _verdict(judged, shown)


def what_if(question: Question) -> JsonObject:
    """The verdict with all that a page shows of it: `{verdict, reason, changes, divergedAt, recorded, replayed,
    missing, mocked, unused, pairs, morePairs, run}`.

    Raises: ApiError (`InvalidDefinition`).
    """
    judged, shown = _judged(question)
    other = judged.other
    found: JsonObject = {
        **_verdict(judged, shown),
        "recorded": _end(judged.recorded, shown),
        "replayed": None,
        "run": None,
        "missing": None,
        "mocked": [],
        "unused": [],
        "pairs": [],
        "morePairs": 0,
        "divergedAt": judged.changes[0].event if judged.changes else None,
    }
    if other is None or judged.alignment is None:
        return found
    found["replayed"] = _end(other.recorded, shown)
    found["missing"] = _missing(other.missing, shown) if other.missing is not None else None
    found["mocked"] = [place.words for place in other.mocked[:MOST_CHANGES]]
    found["unused"] = [place.words for place in other.unused[:MOST_CHANGES]]
    found["pairs"] = [
        {
            "state": pair.name,
            "recorded": pair.a.status if pair.a is not None else None,
            "replayed": pair.b.status if pair.b is not None else None,
            "event": pair.b.entered_event if pair.b is not None else None,
        }
        for pair in judged.alignment.pairs[:MOST_PAIRS]
    ]
    found["morePairs"] = max(0, len(judged.alignment.pairs) - MOST_PAIRS)
    found["run"] = _run(question, other)
    return found


def _judged(question: Question) -> tuple[Judgement, Shown]:
    events = [event for page in question.pages for event in decode_page(page)]
    own, other = _machine(question.own, is_new=False), _machine(question.other, is_new=True)
    judged = judge(events, own, other, question.identity, mocks=question.mocks, limits=question.limits)
    replayed = judged.other.history if judged.other is not None else []
    return judged, Shown(question.console, events, replayed)


def _verdict(judged: Judgement, shown: Shown) -> JsonObject:
    return {
        "verdict": judged.verdict,
        "reason": judged.reason,
        "changes": [_change(change, shown) for change in judged.changes[:MOST_CHANGES]],
    }


def _change(change: Change, shown: Shown) -> JsonObject:
    found: JsonObject = {"kind": change.kind, "state": change.state, "event": change.event, "words": change.words}
    if change.difference is not None:
        found |= shown.difference(change.difference)
    return found


def _end(recorded: RecordedExecution, shown: Shown) -> JsonObject:
    return {
        "status": recorded.status,
        "error": recorded.error,
        "cause": shown.text(recorded.cause),
        "output": shown.value(recorded.output) if recorded.status == "SUCCEEDED" else None,
        "durationMs": recorded.ended_ms - recorded.started_ms,
    }


def _missing(missing: Missing, shown: Shown) -> JsonObject:
    place = missing.place
    return {
        "state": place.state,
        "iteration": list(place.iteration),
        "visit": place.visit,
        "number": place.number,
        "where": place.words,
        "resource": missing.resource,
        "arguments": shown.value(missing.parameters),
        "why": missing.why,
        "isMapRun": missing.is_map_run,
    }


def _run(question: Question, replayed: Replay) -> JsonObject:
    """The replay as a page shows a run."""
    redactor = Redactor(question.console)
    machine = _machine(question.other, is_new=True)
    recorded = Recorded(question.view, machine.program, redactor)
    recorded.note(replayed.history)
    definition = redactor.value(machine.definition)
    last_ms = replayed.history[-1].at_ms if replayed.history else question.view.started_ms
    document = run_document(ReadRun(question.view, recorded, machine.program, definition), last_ms)
    # A replay that lacks an answer has no end; the page is not to think that it goes on.
    document["head"]["endedMs"] = last_ms
    return document
