"""Scenarios that were posted, and those that fit a machine's histories."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from statewright.console.figures.surveys import StateFigures, Survey
from statewright.console.simulations.scenarios import check, fitted
from statewright.errors import ApiError
from statewright.simulation.scenario import read_scenario

GOOD = """
machines: {m: {file: m.json}}
functions: {handler: 1s, input: {answer: {file: data}}}
arrivals: {machine: m, burst: 1, input: {replay: data}}
"""


def test_a_scenario_with_its_files():
    check(GOOD, {"m.json": "{}"})


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("functions: {work: {handler: /etc/passwd}}", "handler runs a program"),
        ("functions: {input: {handler: app.py}}", "handler runs a program"),
        ('functions: {work: {answer: {python: "m.py:f"}}}', "answer runs a program"),
        ("project: /srv", "project reads a folder"),
        ("machines: {m: {file: ../m.json}}", r"no file \.\./m\.json"),
        ("arrivals: [{queue: q, replay: /etc/passwd}]", "no file /etc/passwd"),
        ("arrivals: {queue: q, replay: x.csv}", "no file x.csv"),
        ("variants: {v: {functions.work.handler: a.py}}", "handler runs a program"),
        ('variants: {v: {functions.work: {answer: {python: "m.py:f"}}}}', "answer runs a program"),
        ("prices: /etc/passwd", "no price table /etc/passwd"),
        ("[1]", "an object of keys"),
        ("a: [", "line 1"),
        ("x: " + "y" * 1_000_001, "characters at most"),
    ],
)
def test_a_scenario_that_reads_or_runs_something_is_refused(scenario, words):
    with pytest.raises(ApiError, match=words):
        check(scenario, {})


@pytest.mark.parametrize("name", ["../m.json", "/m.json", "m.py", ".json", "about/x.json", "a\n.json"])
def test_files_have_plain_names(name):
    with pytest.raises(ApiError, match="no name of a file"):
        check("name: x", {name: "{}"})


def survey(**states: StateFigures) -> Survey:
    return Survey(states=dict(states), runs=10, inputs=['{"a": 1}', '{"a": 1}', '{"a": 2}'])


DEFINITION: dict[str, Any] = {
    "StartAt": "Charge",
    "States": {
        "Charge": {
            "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "Next": "Each",
            "Parameters": {"Token.$": "$$.Task.Token"}, "HeartbeatSeconds": 5, "ResultPath": "$.done",
            "Retry": [{"ErrorEquals": ["Busy"]}],
        },
        "Each": {
            "Type": "Map", "End": True, "ItemReader": {"Resource": "arn:aws:states:::s3:getObject"}, "Label": "L",
            "ItemProcessor": {
                "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "Weigh",
                "States": {
                    "Weigh": {"Type": "Task", "Resource": "arn:aws:lambda:eu-west-1:1:function:weigh:2", "End": True},
                },
            },
        },
    },
}  # fmt: skip


def test_a_scenario_that_fits_a_machine_is_one_for_the_command_line(tmp_path):
    charge = StateFigures("Charge", "Task", attempts_ms=[100, 200, 300_000], attempts=4, errors=Counter(Busy=1))
    charge.answer = '{"id": "</script>: {}\\n"}'
    made = fitted("orders: 1", DEFINITION, survey(Charge=charge), 7, 3)
    check(made.scenario, made.files)
    for name, text in {**made.files, "scenario.yaml": made.scenario}.items():
        (tmp_path / name).write_text(text)
    read = read_scenario(tmp_path / "scenario.yaml")
    model, other = read.functions
    assert (model.name, model.failure_rate, model.error, model.timeout) == ("Charge", 0.25, "Busy", 600)
    assert model.answer == {"id": "</script>: {}\n"}
    assert model.duration["percentiles"]["50"] == "200ms"
    assert (other.name, other.answer) == ("weigh", None)
    assert [(one.body, one.for_ms) for one in read.arrivals] == [({"a": 1}, 180_000), ({"a": 2}, 180_000)]
    assert sum(one.rate for one in read.arrivals) == pytest.approx(7 / 60)
    assert read.machines[0].name == "orders--1"
    assert len(made.notes) == 3


def test_a_machine_without_executions_has_a_scenario_that_says_so():
    made = fitted("m", DEFINITION, Survey(), 1, 1)
    assert any("no execution yet" in note for note in made.notes)
    check(made.scenario, made.files)
