"""Every case of ours, recorded: replayed on its own definition it goes the same way, each state explains itself, and
each value can be followed back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar, TypeVarTuple

import pytest

from statewright.console.analysis.explain import explained
from statewright.console.analysis.replays import Shown
from statewright.console.analysis.visited import History
from statewright.console.analysis.why import Walk
from statewright.interpreter.history import HistoryEvent
from statewright.limits import AWS
from statewright.payload import dump_json
from statewright.settings.server import ConsoleSettings
from statewright.simulator.judging import Judgement, Machine, judge, story_of
from statewright.simulator.recorded import events_of
from statewright.simulator.simulate import make_identity
from tests.conformance.our_cases import Case, Simulator, compiled, load_cases

STANDARD = [name for name, case in load_cases().items() if case.get("type") != "EXPRESS"]
UNJUDGED = {
    "task: an activity that is not there any more": "Replayed on its own definition it needs another answer at T.",
}
"""What a replay cannot know: that an activity was deleted while a task waited in it."""
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


@cache
def recorded(name: str) -> list[HistoryEvent]:
    return events_of(Simulator()(load_cases()[name]).history)


def judged(name: str) -> Judgement:
    case = load_cases()[name]
    machine = Machine(case["definition"], compiled(name))
    limits = replace(AWS, **case.get("limits", {}))
    return judge(recorded(name), machine, machine, make_identity(), limits=limits)


@pytest.mark.parametrize("name", STANDARD)
def test_a_recorded_case_replays_to_the_same_end(name):
    found = judged(name)
    if any(event.type == "ExecutionRedriven" for event in recorded(name)):
        assert (found.verdict, found.reason) == ("unjudged", "It was redriven, and redrives are not replayed.")
    elif name in UNJUDGED:
        assert (found.verdict, found.reason) == ("unjudged", UNJUDGED[name])
    else:
        assert (found.verdict, found.reason, found.changes) == ("same", None, [])
        assert found.own is not None
        assert not found.own.unused


class Here:
    """Runs errands in this process."""

    async def run(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        return work(*arguments)


def explanations(name: str, case: Case) -> list[tuple[Any, Any]]:
    """Each visit of a case that has an output, and its explanation."""
    history, identity = recorded(name), make_identity()
    story = story_of(compiled(name), identity, history)
    shown = Shown(ConsoleSettings())
    text = dump_json(case["definition"])

    async def all_of() -> list[tuple[Any, Any]]:
        return [
            (visit, await explained(Here(), visit, History(history), text, identity, shown))
            for visit in story.visits()
            if visit.ended_event and history[visit.ended_event - 1].type.endswith("Exited") and visit.status != "failed"
        ]

    return asyncio.run(all_of())


@pytest.mark.parametrize(
    "name", [name for name in STANDARD if not {"unchecked", "limits"} & load_cases()[name].fields.keys()]
)
def test_each_state_of_a_case_explains_its_output(name):
    case = load_cases()[name]
    for visit, found in explanations(name, case):
        steps = {step["name"]: step for step in found["steps"]}
        if found["chance"] or found["notes"]:
            continue
        others = {step: (one["value"], one["recorded"]) for step, one in steps.items() if one["recorded"] is not None}
        assert others == {}, visit.name
        assert steps["output"]["isRecorded"], visit.name
        assert visit.next in (None, found["next"]), visit.name


CONTRADICTED = {
    "states: pass parameters with paths, context and intrinsics": "an index past the end of a list gives null",
}
"""Cases where the value that a path reads is not what stands at its place."""


def places(value: Any, pointer: str = "") -> Iterator[str]:
    """The pointers to a value and to all within it."""
    yield pointer
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield from places(member, f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}")


@pytest.mark.parametrize(
    "name", [name for name in STANDARD if not {"unchecked", "limits"} & load_cases()[name].fields.keys()]
)
def test_each_value_of_a_case_is_followed_to_an_end(name):
    events, identity = recorded(name), make_identity()
    history, visits = History(events), list(story_of(compiled(name), identity, events).visits())
    walk = Walk(
        Here(), visits, history, dump_json(load_cases()[name]["definition"]), identity, Shown(ConsoleSettings())
    )

    async def all_of() -> list[Any]:
        payloads = [(visit, "input", visit.entered_event) for visit in visits]
        payloads += [
            (visit, "output", visit.ended_event)
            for visit in visits
            if visit.ended_event and history.details(visit.ended_event).get("name") == visit.name
        ]
        return [
            await walk.chain(visit, where, pointer)
            for visit, where, event in payloads
            if where in history.details(event)
            for pointer in list(places(history.value(event, where)))[:50]
        ]

    reasons = {found["end"]["reason"] for found in asyncio.run(all_of())}
    contradiction = "The history does not hold the same value at the place that the definition names."
    assert (contradiction in reasons) is (name in CONTRADICTED)
