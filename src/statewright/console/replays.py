"""What a worker process computes for What if and its batch: an execution replayed on another definition, as a document.

Everything here runs in a process of its own (`HeavySteps.run_bounded`), since definitions and payloads may be hostile.
The values that go there and come back are plain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from statewright.arn import parse_arn
from statewright.console.runs import run_document
from statewright.engine.executions.history_pages import decode_page
from statewright.engine.machines.definitions import compiled, tree_of
from statewright.engine.trials import program_of
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import Identity
from statewright.limits import Limits
from statewright.payload import JsonObject, dump_json
from statewright.simulator.differences import ABSENT, Difference
from statewright.simulator.judging import Change, Judgement, Machine, judge
from statewright.simulator.recorded import Place, RecordedExecution
from statewright.simulator.replay import Missing, Mock
from statewright.stores.protocol import HistoryPage

MOST_CHANGES: Final = 50
MOST_PAIRS: Final = 400
LONGEST_SHOWN: Final = 20_000
"""Characters of a value that goes to the page; longer ones are cut."""


@dataclass(frozen=True, slots=True)
class Question:
    """An execution, its own definition, and the other one."""

    identity: Identity
    pages: Sequence[HistoryPage]
    own: str
    other: str
    limits: Limits
    mocks: tuple[Mock, ...] = ()


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
    judged, _ = _judged(question)
    return _verdict(judged)


def what_if(question: Question) -> JsonObject:
    """The verdict with all that a page shows of it: `{verdict, reason, changes, divergedAt, recorded, replayed,
    missing, mocked, unused, pairs, morePairs, run}`.

    Raises: ApiError (`InvalidDefinition`).
    """
    judged, _ = _judged(question)
    other = judged.other
    found: JsonObject = {
        **_verdict(judged),
        "recorded": _end(judged.recorded),
        "replayed": None,
        "run": None,
        "missing": None,
        "mocked": [],
        "unused": [],
        "pairs": [],
        "morePairs": 0,
        "divergedAt": judged.changes[0].event if judged.changes else None,
    }
    if other is None or judged.story is None or judged.alignment is None:
        return found
    found["replayed"] = _end(other.recorded)
    found["missing"] = _missing(other.missing) if other.missing is not None else None
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
    found["run"] = run_document(
        _head(question.identity, judged, other.history), other.history, judged.story, question.other, 0
    )
    return found


def _judged(question: Question) -> tuple[Judgement, list[HistoryEvent]]:
    events = [event for page in question.pages for event in decode_page(page)]
    own, other = _machine(question.own, is_new=False), _machine(question.other, is_new=True)
    judged = judge(events, own, other, question.identity, mocks=question.mocks, limits=question.limits)
    return judged, events


def _verdict(judged: Judgement) -> JsonObject:
    return {
        "verdict": judged.verdict,
        "reason": judged.reason,
        "changes": [_change(change) for change in judged.changes[:MOST_CHANGES]],
    }


def _change(change: Change) -> JsonObject:
    found: JsonObject = {"kind": change.kind, "state": change.state, "event": change.event, "words": change.words}
    if change.difference is not None:
        found |= difference(change.difference)
    return found


def difference(found: Difference) -> JsonObject:
    """A difference of two values: `{pointer, before, after}`, the values as texts of JSON, null for none."""
    return {"pointer": found.where, "before": _cut(found.wanted), "after": _cut(found.got)}


def _cut(value: object) -> str | None:
    if value is ABSENT:
        return None
    text = dump_json(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def _end(recorded: RecordedExecution) -> JsonObject:
    return {
        "status": recorded.status,
        "error": recorded.error,
        "cause": recorded.cause,
        "output": _cut(recorded.output) if recorded.status == "SUCCEEDED" else None,
        "durationMs": recorded.ended_ms - recorded.started_ms,
    }


def _missing(missing: Missing) -> JsonObject:
    place: Place = missing.place
    return {
        "state": place.state,
        "iteration": list(place.iteration),
        "visit": place.visit,
        "number": place.number,
        "where": place.words,
        "resource": missing.resource,
        "arguments": _cut(missing.parameters),
        "why": missing.why,
        "isMapRun": missing.is_map_run,
    }


def _head(identity: Identity, judged: Judgement, history: Sequence[HistoryEvent]) -> JsonObject:
    assert judged.other is not None
    ended = judged.other.recorded
    parsed = parse_arn(identity.state_machine_arn)
    return {
        "arn": identity.execution_arn,
        "name": identity.name,
        "machineArn": identity.state_machine_arn,
        "machine": parsed.name,
        "status": ended.status,
        "startedMs": ended.started_ms,
        "endedMs": history[-1].at_ms if history else ended.started_ms,
        "error": ended.error,
        "cause": ended.cause,
        "quarantine": None,
        "redriveCount": 0,
        "events": len(history),
    }
