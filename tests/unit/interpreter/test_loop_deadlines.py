"""Loops with a deadline and a bound on turns: a Parallel with one branch, as an extension."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.asl import extensions
from statewright.asl.compile import compile_definition
from statewright.asl.validate import validate_value
from statewright.simulator.running import Run
from statewright.simulator.simulate import Simulation


def polling(**fields: Any) -> dict[str, Any]:
    """Looks once a minute, for ever."""
    branch = {
        "StartAt": "Look",
        "States": {
            "Look": {"Type": "Pass", "Next": "Pause"},
            "Pause": {"Type": "Wait", "Seconds": 60, "Next": "Done?"},
            "Done?": {
                "Type": "Choice",
                "Choices": [{"Variable": "$.never", "IsPresent": True, "Next": "Out"}],
                "Default": "Look",
            },
            "Out": {"Type": "Succeed"},
        },
    }
    loop = {"Type": "Parallel", "Branches": [branch], "Next": "After", **fields}
    states: dict[str, Any] = {"Loop": loop, "After": {"Type": "Succeed"}}
    if "Catch" in fields:
        states["Late"] = {"Type": "Succeed"}
    return {"StartAt": "Loop", "States": states}


CATCH = [{"ErrorEquals": ["States.Timeout", "Statewright.MaxTurnsExceeded"], "Next": "Late"}]


def ran(definition: dict[str, Any]) -> Run:
    with extensions.accepted():
        assert not [one for one in validate_value(definition, lints=False) if one.severity == "ERROR"]
    return Simulation().run(compile_definition(definition), {})


def test_a_deadline_ends_the_loop_and_can_be_caught():
    run = ran(polling(TimeoutSeconds=150, Catch=CATCH))
    assert (run.status, run.duration_ms) == ("SUCCEEDED", 150_000)
    assert run.path == ["Loop", *["Look", "Pause", "Done?"] * 2, "Look", "Pause", "Late"]
    assert [event.type for event in run.history][-6:] == [
        "WaitStateEntered", "WaitStateAborted", "ParallelStateExited", "SucceedStateEntered", "SucceedStateExited",
        "ExecutionSucceeded",
    ]  # fmt: skip


def test_without_a_catcher_the_execution_times_out_as_a_failure():
    run = ran(polling(TimeoutSeconds=150))
    assert (run.status, run.state.error, run.duration_ms) == ("FAILED", "States.Timeout", 150_000)


def test_turns_are_counted():
    run = ran(polling(MaxTurns=3, Catch=CATCH))
    assert (run.status, run.visits["Look"], run.visits["Pause"], run.duration_ms) == ("SUCCEEDED", 3, 3, 180_000)
    failed = ran(polling(MaxTurns=3))
    assert (failed.status, failed.state.error) == ("FAILED", "Statewright.MaxTurnsExceeded")
    assert failed.state.cause == "The state 'Look' was to be entered more than 3 times."


def test_a_retry_begins_the_loop_and_its_bounds_anew():
    retry = [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 2, "IntervalSeconds": 10, "BackoffRate": 1}]
    run = ran(polling(MaxTurns=2, TimeoutSeconds=1_000, Retry=retry, Catch=CATCH))
    assert (run.status, run.visits["Look"], run.duration_ms) == ("SUCCEEDED", 6, 3 * 120_000 + 2 * 10_000)


def test_a_loop_that_ends_in_time_leaves_no_timer():
    definition = polling(TimeoutSeconds=150, MaxTurns=9)
    definition["States"]["Loop"]["Branches"][0]["States"]["Done?"]["Default"] = "Out"
    definition["States"]["After"] = {"Type": "Wait", "Seconds": 1_000, "End": True}
    run = ran(definition)
    assert (run.status, run.duration_ms) == ("SUCCEEDED", 1_060_000)


def test_a_deadline_from_the_input():
    definition = polling(TimeoutSecondsPath="$.limit", Catch=CATCH)
    run = Simulation().run(compile_definition(definition), {"limit": 30})
    assert (run.status, run.duration_ms) == ("SUCCEEDED", 30_000)


@pytest.mark.parametrize("field", [{"TimeoutSeconds": 5}, {"MaxTurns": 5}, {"TimeoutSecondsPath": "$.x"}])
def test_without_extensions_it_is_refused_as_the_service_does(field: dict[str, Any]):
    (found,) = [one for one in validate_value(polling(**field), lints=False) if one.severity == "ERROR"]
    assert found.message == f"Field '{next(iter(field))}' is not supported"
    assert found.hint is not None
    assert "--extensions" in found.hint


@pytest.mark.parametrize(
    "fields", [{"TimeoutSeconds": 0}, {"MaxTurns": 0}, {"MaxTurns": "many"}, {"TimeoutSeconds": 5, "Branches": []}]
)
def test_values_that_make_no_sense(fields: dict[str, Any]):
    with extensions.accepted():
        assert [one for one in validate_value(polling(**fields), lints=False) if one.severity == "ERROR"]


def test_two_branches_are_no_loop():
    definition = polling(TimeoutSeconds=5)
    branches = definition["States"]["Loop"]["Branches"]
    branches.append({"StartAt": "X", "States": {"X": {"Type": "Succeed"}}})
    with extensions.accepted():
        messages = [one.message for one in validate_value(definition, lints=False)]
    assert messages == ["Field 'TimeoutSeconds' needs a Parallel with exactly one branch"]
