"""Runs as cases: what is written passes as `statewright test` runs it, and what differs from run to run is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from statewright.asl.loading import check_text, compile_checked
from statewright.asl.program import Program
from statewright.asl.reader import read_document
from statewright.payload import dump_json
from statewright.simulator.case_writing import (
    instant_text,
    pinned_case,
    recorded_case,
    recorded_mocks,
    simulated_case,
    write_case,
)
from statewright.simulator.cases import load_cases, run_case
from statewright.simulator.mocks import Returned, Script, Threw
from statewright.simulator.recorded import Call, Place, RecordedExecution, read_history
from statewright.simulator.script import load_script
from statewright.simulator.simulate import Simulation

TASK = "arn:aws:states:::lambda:invoke"
ORDER = {
    "StartAt": "Each",
    "States": {
        "Each": {
            "Type": "Map", "ItemsPath": "$.items", "ResultPath": "$.prices",
            "ItemProcessor": {"StartAt": "Price", "States": {
                "Price": {"Type": "Task", "Resource": TASK, "Parameters": {"FunctionName": "price", "Payload.$": "$"},
                          "OutputPath": "$.Payload", "End": True,
                          "Retry": [{"ErrorEquals": ["Busy"], "IntervalSeconds": 2, "MaxAttempts": 2}]},
            }},
            "Next": "Ask",
        },
        "Ask": {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
                "Parameters": {"QueueUrl": "q", "MessageBody.$": "$$.Task.Token"}, "ResultPath": "$.answer",
                "TimeoutSeconds": 60, "Catch": [{"ErrorEquals": ["States.Timeout"], "Next": "Late"}], "End": True},
        "Late": {"Type": "Fail", "Error": "Late", "Cause": "No answer: \u00e9\ud83d\ude42"},
    },
}  # fmt: skip
MOCKS = """
mocks:
  Price:
    iterations:
      "0": {returns_payload: 3, delay: 100ms}
      "1": [{throws: Busy}, {returns_payload: 4}]
  Ask: {submitted: {MessageId: m-1}, returns: true, delay: 5s}
"""


def program_of(definition: Any) -> Program:
    return compile_checked(*check_text(json.dumps(definition), "x.json")).program


def recorded(definition: Any, given: Any, mocks: str = "") -> RecordedExecution:
    """A run, as its history tells it."""
    run = Simulation(load_script(mocks) if mocks else Script(())).run(program_of(definition), given)
    return read_history({"events": [event.to_api() for event in run.history]})


def passed(tmp_path: Path, definition: Any, text: str) -> list[str]:
    (tmp_path / "order.asl.json").write_text(json.dumps(definition))
    path = tmp_path / "order.cases.yaml"
    path.write_text(text)
    return [case.name for case in load_cases(path).cases if run_case(case).passed]


@pytest.mark.parametrize("mocks", [MOCKS, MOCKS.replace("returns: true, delay: 5s", "hangs: true")])
def test_a_recorded_execution_becomes_a_case_that_passes(tmp_path, mocks):
    execution = recorded(ORDER, {"items": [1, 2]}, mocks)
    written = pinned_case(json.dumps(ORDER), "order.asl.json", "o-1", execution, "Recorded\nhere")
    assert (written.problem, written.left_out, written.ending) == (None, (), ".cases.yaml")
    assert passed(tmp_path, ORDER, written.text) == ["o-1"]
    assert written.text.startswith("# Recorded\n# here\n")
    assert "returns_payload" in written.text


def test_what_differs_from_run_to_run_is_left_out_and_named(tmp_path):
    state = {"Type": "Pass", "Parameters": {"id.$": "States.UUID()", "name.$": "$$.Execution.Name"}, "End": True}
    definition = {"StartAt": "A", "States": {"A": state}}
    execution = recorded(definition, {})
    execution.output = {"id": "another", "name": "another"}
    written = pinned_case(json.dumps(definition), "order.asl.json", "o-1", execution)
    assert (written.problem, written.left_out) == (None, ("output",))
    assert "# Not expected, because it differs from run to run: output." in written.text
    assert passed(tmp_path, definition, written.text) == ["o-1"]


def test_a_case_that_cannot_pass_says_so():
    definition = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": TASK, "Parameters": {}, "End": True}}}
    execution = RecordedExecution(input={}, status="SUCCEEDED", output=1, path=["A"])
    written = pinned_case(json.dumps(definition), "order.asl.json", "o-1", execution)
    assert "A" in (written.problem or "")
    execution.calls.append(Call(Place("A", (), 0, 0), 1, 0, "Task", "", outcome=Threw("Busy", None)))
    assert "it ends FAILED" in (pinned_case(json.dumps(definition), "x", "o-1", execution).problem or "")


@pytest.mark.parametrize(("status", "words"), [("RUNNING", "still runs"), ("ABORTED", "aborted from outside")])
def test_an_execution_without_an_end_is_no_case(status, words):
    with pytest.raises(ValueError, match=words):
        recorded_case(RecordedExecution(status=status))


def test_calls_in_a_row_are_written_once():
    busy, good = Threw("Busy", "no"), Returned({"n": 1})
    outcomes: list[Threw | Returned | None] = [busy, busy, good, None]
    calls = [
        Call(Place("resource:A", (), 0, 0), 1, 0, "Task", "", outcome=one, took_ms=5 * (one is good))
        for one in outcomes
    ]
    assert recorded_mocks(calls) == {
        "state:resource:A": [
            {"throws": {"error": "Busy", "cause": "no"}, "times": 2},
            {"returns": {"n": 1}, "delay": "5ms"},
            {"hangs": True, "then": "stop"},
        ]
    }


def test_true_is_not_written_as_one():
    calls = [Call(Place("A", (), 0, 0), 1, 0, "Task", "", outcome=Returned({"n": one})) for one in (1, True)]
    assert dump_json(recorded_mocks(calls)) == '{"A":[{"returns":{"n":1}},{"returns":{"n":true},"then":"stop"}]}'


@pytest.mark.parametrize("name", ["plain", 'a "b": {c} # d', "x" * 80_000, "é🙂\u202e\n\t", "- [", "null"])
def test_any_name_and_value_is_read_back(name):
    definition = {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}
    execution = recorded(definition, {name: [name, 1e300, 12345678901234567890, None]})
    written = pinned_case(json.dumps(definition), "order.asl.json", name, execution)
    assert (written.problem, written.left_out) == (None, ())
    read = read_document(written.text, name=written.ending, max_characters=1_000_000, placeholders=False).value
    assert read["cases"][name]["input"] == execution.input


def test_a_simulated_run_is_a_case_with_the_mocks_it_was_given(tmp_path):
    run = Simulation(load_script(MOCKS)).run(program_of(ORDER), {"items": [1, 2]})
    mocks = read_document(MOCKS, name="mocks.yaml").value["mocks"]
    case = simulated_case(run, {"items": [1, 2]}, mocks, 1_767_225_600_000)
    written = write_case(json.dumps(ORDER), "order.asl.json", "in the Workbench", case)
    assert (written.problem, written.left_out) == (None, ())
    assert passed(tmp_path, ORDER, written.text) == ["in the Workbench"]


def test_instants():
    assert instant_text(1_767_225_600_007) == "2026-01-01T00:00:00.007Z"
