"""Would a recorded execution go another way on another definition?

The execution is replayed twice: on its own definition and on the other one. Only the two replays are compared, since
both have the same clock and the same chance. The first one also tells if the execution can be judged at all: one that
does not reach its recorded end on its own definition cannot. Values that come from the clock or from chance are no
changes (`by_chance.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

from statewright.asl.outline import nodes_by_name
from statewright.asl.program import Program
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import ExecutionState, Identity
from statewright.limits import AWS, Limits
from statewright.payload import Json, Payload, dump_json
from statewright.simulator.alignment import Alignment, Parting, align, moment_of
from statewright.simulator.by_chance import OTHER, ByChance
from statewright.simulator.differences import Difference, differences
from statewright.simulator.recorded import Place, RecordedExecution, recorded_of
from statewright.simulator.replay import EVENTS_BEYOND, Missing, Mock, Replay, SameMaps, replay
from statewright.simulator.story import Story, Visit

Verdict = Literal["same", "changed", "unjudged"]
ChangeKind = Literal["path", "attempts", "arguments", "answer", "end", "output"]

_CHANCE: Final = re.compile(
    r"\$(uuid|random|shuffle|now|millis)\b|States\.(UUID|MathRandom)|EnteredTime|Token|RedriveTime|\$\$\"|\$states\.context\b(?!\.)"
    r"|\"JitterStrategy\"\s*:\s*\"FULL\""
)
"""Texts of a definition that read the clock or draw numbers, or hand on the whole context object."""
_EVENT: Final = re.compile(r"event id #\d+")
_SHAPES_RESULT: Final = ("ResultSelector", "OutputPath", "Output")
_AROUND_RESULT: Final = ("Next", "End", "Retry", "Catch", "Comment", "Assign")


@dataclass(frozen=True, slots=True)
class Machine:
    """A definition, as JSON and compiled."""

    definition: Json
    program: Program


@dataclass(frozen=True, slots=True)
class Change:
    """One change. `event` is of the replay, `words` a sentence; `difference` says what value differs, if one does."""

    kind: ChangeKind
    state: str | None
    event: int
    words: str
    difference: Difference | None = None


@dataclass(slots=True)
class Judgement:
    """The verdict. `reason` says why an execution cannot be judged; `changes` are in the order of time."""

    verdict: Verdict
    recorded: RecordedExecution
    reason: str | None = None
    changes: list[Change] = field(default_factory=list)
    own: Replay | None = None
    other: Replay | None = None
    alignment: Alignment | None = None
    story: Story | None = None

    @property
    def missing(self) -> Missing | None:
        """The call for which there is no answer."""
        return self.other.missing if self.other is not None else None


def judge(
    history: Sequence[HistoryEvent],
    own: Machine,
    other: Machine,
    identity: Identity,
    *,
    mocks: Sequence[Mock] = (),
    limits: Limits = AWS,
) -> Judgement:
    """Replay an execution that has ended on another definition, and compare."""
    recorded = recorded_of(history)
    reason = _why_not(recorded, own)
    if reason is not None:
        return Judgement("unjudged", recorded, reason)
    _prepare_maps(recorded, own.definition)
    most = 2 * len(history) + EVENTS_BEYOND
    own_maps = SameMaps(_maps_with_result(own.definition))
    on_own = partial(
        replay, recorded, own.program, identity, same_maps=own_maps, limits=limits, most_events=most
    )  # fmt: skip
    first = on_own()
    before = story_of(own.program, identity, first.history)
    reason = _why_unfaithful(recorded, first, align(story_of(own.program, identity, history), before))
    found = differences(recorded.output, first.recorded.output)
    has_chance = _CHANCE.search(dump_json(own.definition)) is not None
    if reason is None and (found or first.other_arguments) and not has_chance:
        where = found[0] if found else first.other_arguments[0].found[0]
        of = "its output" if found else f"the arguments of {first.other_arguments[0].place.words}"
        reason = f"Replayed on its own definition it has another value in {of}, at {where.where}."
    if reason is not None:
        return Judgement("unjudged", recorded, reason, own=first)
    same_maps = SameMaps(_same_in(other.definition, own.definition, own_maps.texts), first.given_to_maps)
    on_other = partial(
        replay, recorded, other.program, identity, mocks=mocks, same_maps=same_maps, limits=limits, most_events=most
    )
    second = on_other()
    after = story_of(other.program, identity, second.history)
    alignment = align(before, after)
    again = (partial(on_own, chance=OTHER), partial(on_other, chance=OTHER)) if has_chance else None
    changes = _changes(first, second, alignment, ByChance(recorded, first, second, again))
    verdict: Verdict = "changed" if changes else "same"
    return Judgement(verdict, recorded, None, changes, first, second, alignment, after)


def story_of(program: Program, identity: Identity, history: Sequence[HistoryEvent]) -> Story:
    """The story of a history."""
    state = ExecutionState(identity, Payload.from_text("{}"), b"")
    story = Story(program)
    for event in history:
        story.note(state, event)
    return story


# ------------------------------------------------------------------ which executions can be judged


def _why_not(recorded: RecordedExecution, own: Machine) -> str | None:
    if recorded.status == "RUNNING":
        return "It is still running."
    if recorded.is_redriven:
        return "It was redriven, and redrives are not replayed."
    if recorded.is_truncated:
        return "Its history leaves out data."
    if recorded.first not in (None, own.definition.get("StartAt")):
        return "It was forked: it began in the middle, with variables that its history does not hold."
    return None


def _why_unfaithful(recorded: RecordedExecution, first: Replay, alignment: Alignment) -> str | None:
    """Why the replay on the execution's own definition is not what was recorded."""
    again = "Replayed on its own definition it"
    if first.missing is not None:
        missing = first.missing
        if missing.is_map_run:
            return f"The distributed Map {missing.place.words} has its items in child executions: {missing.why}"
        return f"{again} needs another answer at {missing.place.words}."
    if first.problem is not None:
        return f"{again} cannot be finished: {first.problem}."
    if alignment.partings:
        return f"{again} takes another way: {parting_words(alignment.partings[0])}"
    got = first.recorded
    if (got.status, got.error) != (recorded.status, recorded.error):
        return f"{again} ends {end_words(got)}, and it was recorded to end {end_words(recorded)}."
    return None


def _maps_with_result(definition: Json) -> dict[str, str]:
    """Distributed Maps whose result can be read from their output, with their texts."""
    return {
        name: dump_json(node)
        for name, node in nodes_by_name(definition).items()
        if node.get("Type") == "Map"
        and not any(member in node for member in _SHAPES_RESULT)
        and (node.get("ResultPath", "$") is None or _steps(node.get("ResultPath", "$")) is not None)
    }


def _prepare_maps(recorded: RecordedExecution, own: Json) -> None:
    """Read the results of distributed Maps from their outputs."""
    ours = nodes_by_name(own)
    readable = _maps_with_result(own)
    for run in recorded.map_runs:
        if run.place.state in readable:
            for step in _steps(ours[run.place.state].get("ResultPath", "$") or "$") or ():
                run.output = run.output.get(step) if isinstance(run.output, dict) else None


def _same_in(other: Json, own: Json, texts: Mapping[str, str]) -> dict[str, str]:
    """Those of these Maps that the other definition has, too."""
    ours, theirs = nodes_by_name(own), nodes_by_name(other)
    return {name: text for name, text in texts.items() if name in theirs and _core(ours[name]) == _core(theirs[name])}


def _steps(path: Json) -> list[str] | None:
    if path == "$":
        return []
    found = re.fullmatch(r"\$((?:\.[A-Za-z_]\w*)+)", path) if isinstance(path, str) else None
    return found[1][1:].split(".") if found else None


def _core(node: Json) -> Json:
    return {name: value for name, value in node.items() if name not in _AROUND_RESULT}


# ------------------------------------------------------------------ changes


def _changes(first: Replay, second: Replay, alignment: Alignment, values: ByChance) -> list[Change]:
    found: list[Change] = []
    last = second.history[-1].id if second.history else 0
    is_cut = second.missing is not None or second.problem is not None
    for parting in alignment.partings:
        if parting.b is not None or not is_cut:
            state = parting.after.name if parting.after is not None else None
            found.append(Change("path", state, moment_of(parting), parting_words(parting)))
    found += _attempts(alignment, is_cut=is_cut)
    found += _arguments(second, values)
    found.sort(key=lambda change: change.event)
    before, after = first.recorded, second.recorded
    if second.missing is not None:
        missing = second.missing
        words = f"It needs an answer of {missing.place.words} that was not recorded. {missing.why}"
        found.append(Change("answer", missing.place.state, last, words))
    elif second.problem is not None:
        found.append(Change("end", None, last, f"It was given up: {second.problem}."))
    elif (before.status, before.error) != (after.status, after.error):
        words = f"It ends {end_words(after)}; recorded: {end_words(before)}."
        found.append(Change("end", None, last, words))
    elif _plain(before.cause) != _plain(after.cause):
        other = values.change(lambda of: _plain(of.cause))
        if other is not None:
            whole = Difference((), before.cause, after.cause)
            found.append(Change("end", None, last, "It ends with another cause.", whole))
    else:
        one = values.change(lambda of: of.output)
        if one is not None:
            found.append(Change("output", None, last, f"Its output has another value at {one.where}.", one))
    return found


def _attempts(alignment: Alignment, *, is_cut: bool) -> list[Change]:
    found = []
    for pair in alignment.pairs:
        if pair.a is None or pair.b is None or (is_cut and pair.b.status == "running"):
            continue
        before, after = len(pair.a.attempts), len(pair.b.attempts)
        if before != after:
            words = f"{pair.name} has {_count(after)} here; recorded: {_count(before)}."
            event = pair.b.attempts[before].began_event if after > before else _last_event(pair.b)
            found.append(Change("attempts", pair.name, event, words))
        inside = [
            (len(one.strands), len(two.strands)) for one, two in zip(pair.a.attempts, pair.b.attempts, strict=False)
        ]
        parting = next((both for both in inside if both[0] != both[1]), None)
        if parting is not None:
            words = f"{pair.name} has {_inside(pair.b, parting[1])} here; recorded: {_inside(pair.a, parting[0])}."
            found.append(Change("path", pair.name, pair.b.entered_event, words))
    return found


def _inside(visit: Visit, number: int) -> str:
    noun = {"Map": "item", "Parallel": "branch"}.get(visit.definition.type, "strand")
    plural = "branches" if noun == "branch" else f"{noun}s"
    return f"1 {noun}" if number == 1 else f"{number or 'no'} {plural}"


def _last_event(visit: Visit) -> int:
    """The last event of a visit that is known."""
    ended = visit.attempts[-1].ended_event if visit.attempts else None
    return ended or visit.ended_event or visit.entered_event


def _arguments(second: Replay, values: ByChance) -> list[Change]:
    used = "Its recorded answer is used all the same."
    found = [Change("arguments", one.place.state, one.event, f"{one.words} {used}") for one in second.other_targets]
    parameters = _Parameters()
    for other in second.other_arguments:
        change = values.change(partial(parameters.of, other.place))
        if change is not None:
            words = f"{other.place.words} is called with another value at {change.where}. {used}"
            found.append(Change("arguments", other.place.state, other.event, words, change))
    return found


class _Parameters:
    """The parameters of calls by their places, in any of the replays."""

    def __init__(self) -> None:
        self._known: dict[int, dict[Place, Json]] = {}

    def of(self, place: Place, recorded: RecordedExecution) -> Json:
        known = self._known.get(id(recorded))
        if known is None:
            known = self._known[id(recorded)] = {call.place: call.parameters for call in recorded.calls}
        return known.get(place)


def parting_words(parting: Parting) -> str:
    """The place where two ways part, as a sentence about the second."""
    after = f"After {parting.after.name} it" if parting.after is not None else "It"
    goes = f"goes on to {parting.b.name}" if parting.b is not None else "ends"
    if parting.after is None and parting.b is not None:
        goes = f"begins with {parting.b.name}"
    return f"{after} {goes}; recorded: {parting.a.name if parting.a is not None else 'the end'}."


def end_words(recorded: RecordedExecution) -> str:
    """An end in a sentence: `FAILED with Busy`."""
    return recorded.status if recorded.error is None else f"{recorded.status} with {recorded.error}"


def _count(number: int) -> str:
    return "1 attempt" if number == 1 else f"{number} attempts"


def _plain(cause: str | None) -> str:
    return _EVENT.sub("event id", cause or "")
