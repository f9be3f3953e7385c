"""Two runs side by side: their visits aligned, the first value and the first transition in which they differ.

The runs may be of different versions, or machines. Payloads are compared as texts; only those that differ are read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from statewright.console.asked import Asked, needed
from statewright.console.context import Console
from statewright.console.drawings import drawing
from statewright.console.runs import ReadRun
from statewright.errors import ApiError
from statewright.interpreter.history import HistoryEvent
from statewright.payload import Json, JsonObject, JsonTextError, dump_json, parse_json
from statewright.simulator.alignment import Alignment, Pair, align
from statewright.simulator.differences import ABSENT, differences
from statewright.simulator.judging import parting_words
from statewright.simulator.story import Visit

MOST_PAIRS: Final = 5_000
LONGEST_SHOWN: Final = 2_000
"""Characters of a value that goes to the page; longer ones are cut."""
_CALL: Final = ("parameters", "input")
_ANSWERS: Final = ("output", "error", "cause")


async def compare(console: Console, asked: Asked) -> JsonObject:
    """Compare the runs `a` and `b`: `{a, b, sameDefinition, drawings, pairs, morePairs, parting, value, answer}`.

    `pairs` are the visits in the order of a's, each `{state, a, b, differs}`; `value` is the first value that differs,
    `answer` the first answer of a task. Raises: ApiError (`BadRequest`, `ExecutionDoesNotExist`, `NoHistory`).
    """
    a, b = needed(asked.given, "a"), needed(asked.given, "b")
    if a == b:
        raise ApiError("BadRequest", "Choose two executions: these are the same one.")
    # In one order always, since each run is held until both were read.
    first, second = sorted((a, b))
    async with console.source_of(first).reading(first) as one, console.source_of(second).reading(second) as two:
        left, right = (one, two) if first == a else (two, one)
        return await asyncio.to_thread(_document, left, right)


def _document(a: ReadRun, b: ReadRun) -> JsonObject:
    alignment = align(a.recorded.story, b.recorded.story)
    pairs = alignment.pairs
    values = [_first_value(pair, a.recorded.shown, b.recorded.shown) for pair in pairs]
    same = a.definition == b.definition
    return {
        "a": _head(a),
        "b": _head(b),
        "sameDefinition": same,
        "drawings": [drawing(a.definition)] if same else [drawing(a.definition), drawing(b.definition)],
        "pairs": [
            {
                "state": pair.name,
                "depth": _depth(pair),
                "a": _visit(pair.a),
                "b": _visit(pair.b),
                "differs": value["member"] if value is not None else None,
            }
            for pair, value in zip(pairs[:MOST_PAIRS], values, strict=False)
        ],
        "morePairs": max(0, len(pairs) - MOST_PAIRS),
        "parting": _parting(alignment, pairs),
        "value": _earliest(pairs, values),
        "answer": _earliest(pairs, [_answer(pair, a.recorded.shown, b.recorded.shown) for pair in pairs]),
        "reached": {
            "a": sorted({pair.name for pair in pairs if pair.a is not None}),
            "b": sorted({pair.name for pair in pairs if pair.b is not None}),
        },
    }


def _head(one: ReadRun) -> JsonObject:
    view, recorded = one.view, one.recorded
    last = recorded.shown[-1] if recorded.shown else None
    head = recorded.head(view, view.machine_arn.rpartition(":")[2])
    members = ("arn", "name", "machine", "machineArn", "versionArn", "status", "startedMs", "endedMs", "error", "cause")
    return {**{name: head[name] for name in members}, "events": head["events"], "lastMs": last.at_ms if last else None}


def _visit(visit: Visit | None) -> JsonObject | None:
    """`{event, end, status, beginMs, tookMs, attempts}` of a visit; `tookMs` and `end` are null while it goes on."""
    if visit is None:
        return None
    return {
        "event": visit.entered_event,
        "end": visit.ended_event,
        "status": visit.status,
        "beginMs": visit.entered_ms,
        "tookMs": None if visit.ended_ms is None else visit.ended_ms - visit.entered_ms,
        "attempts": len(visit.attempts),
    }


def _depth(pair: Pair) -> int:
    visit = pair.a or pair.b
    depth = 0
    while visit is not None and visit.strand.owner is not None:
        visit = visit.strand.owner
        depth += 1
    return depth


def _parting(alignment: Alignment, pairs: list[Pair]) -> JsonObject | None:
    if not alignment.partings:
        return None
    parting = alignment.partings[0]
    return {
        "after": parting.after.name if parting.after is not None else None,
        "a": parting.a.name if parting.a is not None else None,
        "b": parting.b.name if parting.b is not None else None,
        "pair": _place(parting.a, parting.b, pairs),
        "words": parting_words(parting),
    }


def _place(a: Visit | None, b: Visit | None, pairs: list[Pair]) -> int | None:
    """The number of the first pair that has one of two visits."""
    for number, pair in enumerate(pairs):
        if (a is not None and pair.a is a) or (b is not None and pair.b is b):
            return number
    return None


# ------------------------------------------------------------------ values


def _members(pair: Pair, a: list[HistoryEvent], b: list[HistoryEvent]) -> Iterator[tuple[str, Json, Json, int, int]]:
    """Values of two visits in the same role: its name, both texts, and the events that have them, in their order."""
    left, right = pair.a, pair.b
    if left is None or right is None:
        return
    yield "input", *_both(a, b, left.entered_event, right.entered_event, ("input",))
    for ours, theirs in zip(left.attempts, right.attempts, strict=False):
        yield "arguments", *_both(a, b, ours.began_event, theirs.began_event, _CALL)
        if ours.ended_event and theirs.ended_event:
            yield "answer", *_both(a, b, ours.ended_event, theirs.ended_event, _ANSWERS)
    if left.ended_event and right.ended_event:
        yield "output", *_both(a, b, left.ended_event, right.ended_event, ("output",))
        yield "variables", *_both(a, b, left.ended_event, right.ended_event, ("assignedVariables",))


def _both(
    a: list[HistoryEvent], b: list[HistoryEvent], of_a: int, of_b: int, names: tuple[str, ...]
) -> tuple[Json, Json, int, int]:
    return _text(a[of_a - 1], names), _text(b[of_b - 1], names), of_a, of_b


def _text(event: HistoryEvent, names: tuple[str, ...]) -> Json:
    details = event.details or {}
    found = {name: details[name] for name in names if name in details}
    if len(found) > 1:
        return dump_json(found)
    value = next(iter(found.values()), None)
    return value if value is None or isinstance(value, str) else dump_json(value)


def _first_value(pair: Pair, a: list[HistoryEvent], b: list[HistoryEvent]) -> JsonObject | None:
    return next((_difference(*one) for one in _members(pair, a, b) if one[1] != one[2] and _difference(*one)), None)


def _answer(pair: Pair, a: list[HistoryEvent], b: list[HistoryEvent]) -> JsonObject | None:
    members = (one for one in _members(pair, a, b) if one[0] == "answer" and one[1] != one[2])
    return next((found for one in members if (found := _difference(*one))), None)


def _difference(member: str, a: Json, b: Json, of_a: int, of_b: int) -> JsonObject | None:
    """The first place at which two payloads differ; None if they are the same values in other words."""
    found = differences(_read(a), _read(b))
    if not found:
        return None
    first = found[0]
    return {
        "member": member, "pointer": first.where, "a": _shown(first.wanted), "b": _shown(first.got),
        "aEvent": of_a, "bEvent": of_b, "more": len(found) - 1,
    }  # fmt: skip


def _read(text: Json) -> Json:
    if text is None:
        return ABSENT
    try:
        return parse_json(text)
    except JsonTextError:
        return text


def _shown(value: Json) -> str | None:
    if value is ABSENT:
        return None
    text = dump_json(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def _earliest(pairs: list[Pair], values: list[JsonObject | None]) -> JsonObject | None:
    """The first of the differences in the time of a, with the number of its pair."""
    found = [(value["aEvent"], number, value) for number, value in enumerate(values) if value is not None]
    if not found:
        return None
    _, number, value = min(found, key=lambda one: one[:2])
    return {**value, "pair": number, "state": pairs[number].name}


READS: Final = {"compare": compare}
