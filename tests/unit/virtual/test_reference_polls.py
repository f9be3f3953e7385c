"""An export that is watched, polls and loops with a deadline, and what it costs to look every second."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from statewright.api import operations
from statewright.asl.validate import validate_value
from statewright.config import Config
from statewright.cost.bill import bill
from statewright.cost.hints import hints
from statewright.cost.prices import load
from statewright.cost.usage import Usage
from statewright.functions.workers.models import Model
from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import EXAMPLES, entered, machine, start, told

EXPORT = "arn:aws:dynamodb:us-east-1:000000000000:table/t/export/01700000000000-0a0b0c0d"
Answers = Callable[..., list[int]]


@pytest.fixture
def exports(monkeypatch) -> Answers:
    """Have DescribeExport answer so, one after the other and the last for ever; returns when it was called."""

    def answers(*statuses: str) -> list[int]:
        called: list[int] = []

        async def describe(app: Any, _call: Any, request: Any) -> Any:
            called.append(app.clock.now_ms())
            status = statuses[min(len(called), len(statuses)) - 1]
            return {"ExportDescription": {"ExportArn": request["ExportArn"], "ExportStatus": status, "ItemCount": 7}}

        monkeypatch.setitem(operations._OPERATIONS, ("dynamodb", "DescribeExport"), describe)
        return called

    return answers


def ended(system: VirtualSystem, execution: str) -> Any:
    """The execution at its end, with the seconds it took."""
    system.run_until_idle()
    shown = system.call("states", "DescribeExecution", {"executionArn": execution})
    return {**shown, "seconds": (shown["stopDate"] - shown["startDate"]) / 1000}


def failed(system: VirtualSystem, execution: str) -> str:
    return str(told(system, execution)[-1]["executionFailedEventDetails"]["error"])


# ---------------------------------------------------------------------- an export that is watched


@pytest.mark.parametrize(
    ("last", "end"), [("COMPLETED", "Export Completed"), ("FAILED", "Export Failed")], ids=["it works", "it fails"]
)
def test_an_export_is_asked_about_every_ten_seconds(exports, last, end):
    with VirtualSystem() as system:
        called = exports(*["IN_PROGRESS"] * 3, last)
        arn = machine(system, (EXAMPLES / "export-poller" / "export-poller.asl.json").read_text())
        shown = ended(system, execution := start(system, arn, "one", {"ExportDescription": {"ExportArn": EXPORT}}))
        # As published: the failure's branch ends in success, too.
        assert (shown["status"], shown["seconds"]) == ("SUCCEEDED", 30)
        assert [at - called[0] for at in called] == [0, 10_000, 20_000, 30_000]
        assert json.loads(shown["output"]) == {
            "ExportDescription": {"ExportArn": EXPORT, "ExportStatus": last, "ItemCount": 7}
        }
        assert entered(told(system, execution))[-1] == end


def test_a_failure_that_ends_in_success_is_remarked_on():
    definition = json.loads((EXAMPLES / "export-poller" / "export-poller.asl.json").read_text())
    assert "FAILURE_ENDS_IN_SUCCESS" in [one.code for one in validate_value(definition)]


# ---------------------------------------------------------------------- ours: a poll is one state


def poll(**more: Any) -> dict[str, Any]:
    return {
        "Type": "Task", "Resource": "arn:aws:states:::statewright:poll", "End": True, **more,
        "Parameters": {
            "Resource": "arn:aws:states:::aws-sdk:dynamodb:describeExport", "IntervalSeconds": 10, "BackoffRate": 2,
            "MaxIntervalSeconds": 60, "Parameters": {"ExportArn": EXPORT},
            "Until": {"Variable": "$.ExportDescription.ExportStatus", "StringEquals": "COMPLETED"},
        },
    }  # fmt: skip


def test_a_poll_is_one_transition_however_often_it_asks(exports):
    with VirtualSystem() as system:
        called = exports(*["IN_PROGRESS"] * 20, "COMPLETED")
        shown = ended(
            system, execution := start(system, machine(system, {"StartAt": "P", "States": {"P": poll()}}), "a")
        )
        assert shown["status"] == "SUCCEEDED"
        events = told(system, execution)
        assert (entered(events), len(called)) == (["P"], 21)
        assert [event["type"] for event in events] == [
            "ExecutionStarted", "TaskStateEntered", "TaskScheduled", "TaskStarted", "TaskSucceeded", "TaskStateExited",
            "ExecutionSucceeded",
        ]  # fmt: skip
        # 10, 20 and 40 seconds, then one minute after the other.
        assert shown["seconds"] == 10 + 20 + 40 + 17 * 60


def test_a_poll_has_its_deadline_which_can_be_caught(exports):
    with VirtualSystem() as system:
        exports("IN_PROGRESS")
        states = {
            "P": poll(TimeoutSeconds=3600, Catch=[{"ErrorEquals": ["States.Timeout"], "Next": "Too Late"}]),
            "Too Late": {"Type": "Succeed"},
        }
        shown = ended(system, execution := start(system, machine(system, {"StartAt": "P", "States": states}), "a"))
        assert (shown["status"], shown["seconds"]) == ("SUCCEEDED", 3600)
        assert entered(told(system, execution)) == ["P", "Too Late"]


@pytest.mark.parametrize(
    ("bound", "error", "seconds", "turns"),
    [({"TimeoutSeconds": 35}, "States.Timeout", 35, 4), ({"MaxTurns": 20}, "Statewright.MaxTurnsExceeded", 200, 20)],
    ids=["so long", "so often"],
)
def test_a_loop_of_states_has_a_deadline(exports, bound, error, seconds, turns):
    with VirtualSystem(config=replace(Config(), extensions=True)) as system:
        called = exports("IN_PROGRESS")
        branch = json.loads((EXAMPLES / "export-poller" / "export-poller.asl.json").read_text())
        loop = {"Type": "Parallel", "Branches": [branch], "End": True, **bound}
        arn = machine(system, {"StartAt": "Until", "States": {"Until": loop}})
        shown = ended(system, execution := start(system, arn, "one", {"ExportDescription": {"ExportArn": EXPORT}}))
        assert (shown["status"], shown["seconds"], len(called)) == ("FAILED", seconds, turns)
        assert failed(system, execution) == error


# ---------------------------------------------------------------------- so many waits, and what they cost


def counted(*, language: str, most: int, seconds: int) -> dict[str, Any]:
    """A loop that waits so often for a job that never ends, in either query language."""
    jsonata = language == "JSONata"
    count: dict[str, Any] = (
        {"Assign": {"waits": "{% $waits + 1 %}"}}
        if jsonata
        else {"Parameters": {"waits.$": "States.MathAdd($.waits, 1)"}}
    )
    first: dict[str, Any] = {"Assign": {"waits": 0}} if jsonata else {"Result": {"waits": 0}}
    rule: dict[str, Any] = (
        {"Condition": f"{{% $waits >= {most} %}}"}
        if jsonata
        else {"Variable": "$.waits", "NumericGreaterThanEquals": most}
    )
    states = {
        "Begin": {"Type": "Pass", **first, "Next": "Over?"},
        "Over?": {"Type": "Choice", "Choices": [{**rule, "Next": "Too Late"}], "Default": "Wait"},
        "Wait": {"Type": "Wait", "Seconds": seconds, "Next": "Count"},
        "Count": {"Type": "Pass", **count, "Next": "Over?"},
        "Too Late": {"Type": "Fail", "Error": "TimeoutError", "Cause": "the job takes too long"},
    }
    return {"QueryLanguage": language, "StartAt": "Begin", "States": states}


@pytest.mark.parametrize("language", ["JSONPath", "JSONata"])
def test_ten_waits_of_six_seconds_are_a_minute(language):
    with VirtualSystem() as system:
        execution = start(system, machine(system, counted(language=language, most=10, seconds=6)), "one")
        shown = ended(system, execution)
        assert (shown["status"], shown["error"], shown["seconds"]) == ("FAILED", "TimeoutError", 60)
        assert entered(told(system, execution)).count("Wait") == 10


@pytest.mark.slow
def test_who_looks_every_second_pays_for_it():
    """A job of 22.5 minutes: 4,050 transitions of the loop, a tenth of a dollar, and what would cost 165 times less."""
    with VirtualSystem() as system:
        system.model("run-job", Model(answer={"status": "RUNNING"}))
        began_ms = system.now_ms
        looks = [0]

        def look(_event: Any) -> Any:
            looks[0] += 1
            return {"status": "SUCCEEDED" if system.parts.app.clock.now_ms() - began_ms > 1_350_000 else "RUNNING"}

        system.model("get-job-status", Model(answer=look))
        arn = machine(system, (EXAMPLES / "job-poller" / "job-poller.asl.json").read_text(), "job-poller")
        shown = ended(system, execution := start(system, arn, "one"))
        assert shown["status"] == "SUCCEEDED"
        path = entered(told(system, execution))
        loop = {"Wait One Second", "Get Job Status", "Job Complete?"}
        transitions = sum(name in loop for name in path)
        assert (looks[0], transitions) == (1351, 4053)
        usage = Usage()
        usage.add("states.transitions", transitions)
        assert round(bill(usage, load()).usd, 2) == 0.10
        [hint] = hints(path, {"Wait One Second": 1.0})
        assert "one Wait of 15 min first and turns of 1 min" in hint
        saved = int(hint.rsplit(", ", 1)[1].split()[0])
        assert 160 <= saved <= 170
