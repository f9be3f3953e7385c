"""Which members of inspectionData show for which state, and how failures are noted."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.asl.compile import compile_definition
from statewright.asl.program import StateDef
from statewright.errors import Failure
from statewright.interpreter import events
from statewright.interpreter.advance import advance, new_execution
from statewright.interpreter.inspection import Inspection, shown_members
from statewright.interpreter.state import Identity
from statewright.payload import Payload

INNER = {"StartAt": "Inner", "States": {"Inner": {"Type": "Pass", "End": True}}}
EVERY: dict[str, dict[str, Any]] = {
    "Pass": {"End": True},
    "Task": {"Resource": "arn:aws:states:::sqs:sendMessage", "End": True},
    "Choice": {"Choices": [], "Default": "S"},
    "Wait": {"Seconds": 1, "End": True},
    "Succeed": {},
    "Fail": {},
    "Parallel": {"Branches": [INNER], "End": True},
    "Map": {"ItemProcessor": INNER, "End": True},
}
BOOM = Failure("Boom", None)
PATHS = {"afterInputPath", "afterParameters"}
RESULTS = {"afterResultSelector", "afterResultPath"}
MAP = {
    "input",
    "afterItemsPointer",
    "afterItemSelector",
    "afterItemBatcher",
    "maxConcurrency",
    "toleratedFailureCount",
    "toleratedFailurePercentage",
}


def state(kind: str, **fields: Any) -> StateDef:
    definition = {"StartAt": "S", "States": {"S": {"Type": kind, **EVERY[kind], **fields}}}
    return compile_definition(definition).state("S")


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        ("Pass", {"input", *PATHS, *RESULTS}),
        ("Task", {"input", *PATHS, "result", *RESULTS}),
        ("Choice", {"input", "afterInputPath"}),
        ("Wait", {"input", "afterInputPath"}),
        ("Succeed", {"input", "afterInputPath"}),
        ("Fail", {"input", "afterInputPath"}),
        ("Parallel", {"input", *RESULTS}),
        ("Map", {*MAP, "afterInputPath", "afterItemsPath", *RESULTS}),
    ],
)
def test_jsonpath_members(kind: str, members: set[str]) -> None:
    assert shown_members(state(kind)) == members


@pytest.mark.parametrize(
    ("kind", "members"),
    [("Task", {"input", "afterArguments", "result"}), ("Map", MAP)]
    + [(kind, {"input"}) for kind in ("Pass", "Choice", "Wait", "Succeed", "Fail", "Parallel")],
)
def test_jsonata_members(kind: str, members: set[str]) -> None:
    assert shown_members(state(kind, QueryLanguage="JSONata")) == members


@pytest.mark.parametrize("result", [{"a": 1}, None, 0])
def test_a_literal_result_hides_what_came_before(result: Any) -> None:
    assert shown_members(state("Pass", Result=result)) == {"input", "result", *RESULTS}


def test_only_shown_members_are_kept() -> None:
    inspection = Inspection(state("Succeed"))
    inspection.note("input", None)
    inspection.note("result", 1)
    assert inspection.to_data() == {"input": None}


@pytest.mark.parametrize(("delay_ms", "seconds"), [(0, 0), (499, 0), (500, 1), (1000, 1), (1500, 2), (2500, 3)])
def test_a_back_off_is_shown_in_whole_seconds(delay_ms: int, seconds: int) -> None:
    inspection = Inspection(state("Task"))
    inspection.note_retry(1, delay_ms, BOOM)
    assert inspection.to_data() == {"errorDetails": {"retryIndex": 1, "retryBackoffIntervalSeconds": seconds}}
    assert inspection.failure is BOOM
    assert not inspection.caught


def test_a_catch_after_an_exhausted_retrier() -> None:
    inspection = Inspection(state("Task"))
    inspection.note_exhausted(2)
    assert inspection.failure is None
    inspection.note_catch(0, BOOM)
    assert inspection.caught
    assert inspection.to_data() == {"errorDetails": {"retryIndex": 2, "catchIndex": 0}}


def test_variables_are_shown_if_there_are_any() -> None:
    inspection = Inspection(state("Succeed"))
    assert inspection.to_data({}) == {}
    assert inspection.to_data({"n": 1}) == {"variables": {"n": 1}}


# ------------------------------------------------------------------ the context object with and without inspection

IDENTITY = Identity("arn:e", "e", "arn:aws:states:us-east-1:000000000000:stateMachine:m", "m", "arn:r")
SHOWS_CONTEXT = {
    "StartAt": "S",
    "States": {"S": {"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% $states.context %}", "End": True}},
}


def shown_context(*, trial: bool, **inspected: Any) -> Any:
    program = compile_definition(SHOWS_CONTEXT)
    execution = new_execution(IDENTITY, Payload(1), b"seed")
    inspection = Inspection(program.state("S"), **inspected) if trial else None
    advance(program, execution, events.ExecutionStarted(), 0, inspection=inspection)
    assert execution.output is not None
    return execution.output.value


def test_a_trial_shows_no_redrive_count() -> None:
    assert shown_context(trial=False)["Execution"]["RedriveCount"] == 0
    assert "RedriveCount" not in shown_context(trial=True)["Execution"]


def test_a_trial_may_be_given_the_item() -> None:
    assert "Map" not in shown_context(trial=True)
    assert shown_context(trial=True, item={"Index": 0})["Map"] == {"Item": {"Index": 0}}


def test_a_trial_may_be_given_the_context() -> None:
    assert shown_context(trial=True, context={}, item={"Index": 0}) == {}


def test_the_cause_of_a_failure_names_an_event_only_where_there_is_a_history() -> None:
    program = compile_definition({"StartAt": "S", "States": {"S": {"Type": "Pass", "InputPath": "$.a", "End": True}}})
    causes = []
    for inspection in (None, Inspection(program.state("S"))):
        execution = new_execution(IDENTITY, Payload({}), b"seed")
        advance(program, execution, events.ExecutionStarted(), 0, inspection=inspection)
        causes.append(execution.cause)
    bare = "Invalid path '$.a' : No results for path: $['a']"
    assert causes == [f"An error occurred while executing the state 'S' (entered at the event id #2). {bare}", bare]
