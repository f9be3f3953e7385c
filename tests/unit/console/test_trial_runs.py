"""Runs of the Workbench, in this process: bounds, what cannot run, and what the page is given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.console.definitions import trial_runs
from statewright.console.definitions.trial_runs import pin, trial_run

PASS = {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}
LOOP = {
    "StartAt": "A",
    "States": {
        "A": {"Type": "Choice", "Choices": [{"Variable": "$.over", "IsPresent": True, "Next": "B"}], "Default": "A"},
        "B": {"Type": "Succeed"},
    },
}


def run(definition: Any, **more: str) -> Any:
    request: Any = {"input": "{}", "mocks": "", "startMs": 0, "file": "m", "name": "c", **more}
    return trial_run({**request, "definition": definition if isinstance(definition, str) else json.dumps(definition)})


def test_a_run_has_its_document_and_payloads():
    found = run(PASS, input='{"a": 1}')
    assert (found["status"], found["output"], found["problem"]) == ("SUCCEEDED", '{"a":1}', None)
    assert found["run"]["head"]["events"] == len(found["payloads"])
    assert found["case"]["problem"] is None


def test_a_run_ends_after_so_many_events(monkeypatch):
    monkeypatch.setattr(trial_runs, "MOST_EVENTS", 50)
    found = run(LOOP)
    assert found["problem"] == "It was ended after 50 history events, which is as many as are shown here."
    assert (found["run"]["head"]["status"], found["run"]["head"]["events"]) == ("RUNNING", 50)
    assert found["case"] is None


def test_payloads_are_cut(monkeypatch):
    monkeypatch.setattr(trial_runs, "MOST_CHARACTERS", 150)
    monkeypatch.setattr(trial_runs, "LONGEST_PAYLOAD", 100)
    found = run(PASS, input=json.dumps("x" * 500))
    texts = [value for _, details in found["payloads"] for value in details.values() if isinstance(value, str)]
    assert len(texts[0]) == 101
    assert sum(len(text) for text in texts) <= 150 + len(texts)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"definition": "{"}, "The definition cannot run: "),
        ({"definition": json.dumps({"StartAt": "B", "States": {}})}, "The definition cannot run: "),
        ({"input": "[1"}, "The input is not JSON: "),
        ({"mocks": "nothing"}, "The mocks have mistakes."),
    ],
)
def test_what_cannot_run_says_why(change, words):
    found = run(**{"definition": PASS, **change})
    assert found["problem"].startswith(words)
    assert found["run"] is None
    assert bool(found["mockFindings"]) == ("mocks" in change)


def test_a_history_that_is_none_is_no_case():
    found = pin({"definition": json.dumps(PASS), "events": [], "file": "m", "name": "c", "comment": ""})
    assert found["text"] is None
    assert "no history" in found["problem"]
