"""Our own cases through every driver, and a report of what no case hits."""

from __future__ import annotations

from functools import cache

import pytest

from statewright.interpreter.history import EVENT_TYPES
from tests.conformance.our_cases import Outcome, Simulator, compiled, details_of, differences, load_cases, show, tidy
from tests.conformance.watch import Hit

HIT = Hit()

STATES = ("Pass", "Task", "Choice", "Wait", "Map", "Parallel", "Succeed")
API_EVENT_TYPES = {
    *(f"{state}State{what}" for state in STATES for what in ("Entered", "Exited")),
    "FailStateEntered",
    *(f"{state}StateAborted" for state in ("Task", "Wait", "Map", "Parallel")),
    *(f"{state}State{what}" for state in ("Map", "Parallel") for what in ("Started", "Succeeded", "Failed")),
    *(f"MapIteration{what}" for what in ("Started", "Succeeded", "Failed", "Aborted")),
    *(f"Execution{what}" for what in ("Started", "Succeeded", "Failed", "Aborted", "TimedOut", "Redriven")),
    *(f"Task{what}" for what in ("Scheduled", "Started", "Submitted", "Succeeded", "Failed", "TimedOut")),
    *("TaskStartFailed", "TaskSubmitFailed"),
    *(f"LambdaFunction{what}" for what in ("Scheduled", "Started", "Succeeded", "Failed", "TimedOut")),
    *("LambdaFunctionScheduleFailed", "LambdaFunctionStartFailed"),
    *(f"Activity{what}" for what in ("Scheduled", "Started", "Succeeded", "Failed", "TimedOut", "ScheduleFailed")),
    *(f"MapRun{what}" for what in ("Started", "Succeeded", "Failed", "Aborted", "Redriven")),
    "EvaluationFailed",
}
"""Source: API reference, `HistoryEvent.type`."""

FROM_OUTSIDE = ("ExecutionStopped", "TimerFired (execution)")
LEGAL = {
    ("none", "ExecutionStarted"),
    *((phase, event) for phase in ("waiting", "backing off") for event in ("TimerFired", *FROM_OUTSIDE)),
    *(("task", f"Task{what}") for what in ("Started", "Submitted", "Succeeded", "Failed", "Refused")),
    *(("task", f"Task{what}Failed") for what in ("Schedule", "Start", "Submit")),
    *(("task", f"TimerFired ({clock})") for clock in ("timeout", "heartbeat")),
    ("task", "HeartbeatReceived"),
    *((phase, event) for phase in ("task", "children", "map run") for event in FROM_OUTSIDE),
    ("map run", "MapRunSucceeded"),
    ("map run", "MapRunFailed"),
    ("failed", "ExecutionRedriven"),
    ("aborted", "ExecutionRedriven"),
}
"""Which events change a frame of which phase."""

NOT_IN_CASES: dict[object, str] = {}
"""Types of history events, and pairs of `LEGAL`, that no case hits, each with its reason."""


@cache
def simulated(name: str) -> Outcome:
    compiled(name)
    return Simulator(HIT)(load_cases()[name])


@pytest.mark.parametrize("name", load_cases())
def test_case(name: str) -> None:
    case = load_cases()[name]
    outcome = simulated(name)
    expected = case.get("history")
    if expected is not None:
        assert show(outcome, case.start_ms, expected) == tidy(expected)
    for number, members in case.get("details", {}).items():
        assert not differences(members, details_of(outcome.history[int(number) - 1]), f"event {number}")
    assert outcome.status == case["status"]
    for member in ("output", "error", "cause"):
        if member in case.fields:
            assert getattr(outcome, member) == case[member]


@pytest.mark.parametrize("budget", [1, 2, 3, 7])
def test_history_does_not_depend_on_the_budget(budget: int) -> None:
    for name, case in load_cases().items():
        assert Simulator(budget=budget)(case) == simulated(name), name


def test_history_does_not_depend_on_a_restart_between_any_two_events() -> None:
    for name, case in load_cases().items():
        assert Simulator(recode=True, budget=3)(case) == simulated(name), name


def test_an_event_that_comes_twice_changes_nothing() -> None:
    for name, case in load_cases().items():
        assert Simulator(twice=True)(case) == simulated(name), name


def test_event_types_are_those_of_the_api() -> None:
    assert len(API_EVENT_TYPES) == 62
    assert EVENT_TYPES == API_EVENT_TYPES


def test_cases_hit_every_event_type_and_every_legal_pair() -> None:
    for name in load_cases():
        simulated(name)
    missed: set[object] = {*(EVENT_TYPES - HIT.event_types), *(LEGAL - HIT.pairs)}
    assert missed - NOT_IN_CASES.keys() == set(), "hit by no case: add one, or a reason to NOT_IN_CASES"
    assert NOT_IN_CASES.keys() - missed == set(), "hit by a case: take it out of NOT_IN_CASES"


def test_cases_meet_no_illegal_pair() -> None:
    for name in load_cases():
        simulated(name)
    assert HIT.pairs - LEGAL == set()
