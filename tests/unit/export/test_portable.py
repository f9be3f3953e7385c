"""What all exports have in common: names, notes, and definitions that stay as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from statewright.asl.reader import read_document
from statewright.export.edits import LATE, knowing_late
from statewright.export.portable import export
from tests.unit.export.exporting import ACQUIRE, POLL, errors, exported, kinds

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples").rglob("*.asl.*"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_exported_or_stay_as_they_are(path: Path):
    document = read_document(path.read_bytes(), name=str(path))
    made = export(document)
    if ":statewright:" in document.source.text:
        assert made.is_whole
        assert ":statewright:" not in json.dumps(made.definition)
    else:
        assert made.definition == document.value
        assert made.notes == []


def test_an_example_has_extensions():
    assert any(":statewright:" in path.read_text() for path in EXAMPLES)


def test_placeholders_of_templates_stay_where_a_number_comes():
    """A template engine replaces them in the text of the export as in that of the definition."""
    poll = {
        "Resource": "arn:aws:states:::sqs:sendMessage", "Until": "true", "Parameters": {"QueueUrl": "${Queue}"},
        "IntervalSeconds": "${Pause}",
    }  # fmt: skip
    wait = {"Type": "Wait", "Seconds": 1, "Next": "Again?"}
    again = {"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericEquals": 1, "Next": "Poll"}], "Default": "Wait"}
    states = {
        "Poll": {"Type": "Task", "Resource": POLL, "Parameters": poll, "TimeoutSeconds": "${Most}", "End": True},
        "Wait": wait, "Again?": again,
    }  # fmt: skip
    loop = {"Type": "Parallel", "TimeoutSeconds": "${Most}", "MaxTurns": "${Turns}", "End": True}
    loop["Branches"] = [{"StartAt": "Wait", "States": states}]
    text = json.dumps({"StartAt": "Loop", "States": {"Loop": loop}})
    bare = text.replace('"${Most}"', "${Most}").replace('"${Turns}"', "${Turns}").replace('"${Pause}"', "${Pause}")
    made = export(read_document(bare))
    assert made.is_whole
    filled = json.dumps(made.definition).replace("${Most}", "60").replace("${Turns}", "5").replace("${Pause}", "2")
    assert errors(json.loads(filled.replace("${Queue}", "q"))) == []
    assert "1000 * 60" in filled
    assert ">= 5" in filled


def test_names_that_are_taken_are_not_taken_again():
    long = "x" * 80
    states = {
        long: {"Type": "Task", "Resource": ACQUIRE, "Parameters": {"Name": "d", "Limit": 1}, "Next": "A"},
        "A": {"Type": "Task", "Resource": ACQUIRE, "Parameters": {"Name": "d", "Limit": 2}, "Next": "A: take"},
        "A: take": {"Type": "Pass", "Assign": {"sw1_given": 1, "sw2_lock": 2}, "Next": "A: look"},
        "A: look": {"Type": "Pass", "End": True},
    }
    made = exported({"StartAt": long, "States": states})
    text = json.dumps(made.definition)
    assert '"A: take 2"' in text
    assert '"sw1_lock"' not in text
    assert text.count('"sw1_given"') == 1


def test_the_definition_that_was_given_is_not_changed():
    poll = {
        "Type": "Task", "Resource": POLL, "TimeoutSeconds": 5, "End": True,
        "Parameters": {"Resource": "arn:aws:states:::sqs:sendMessage", "Until": "true", "Parameters": {}},
    }  # fmt: skip
    text = json.dumps({"StartAt": "P", "States": {"P": poll}})
    document = read_document(text)
    assert kinds(export(document)) == [("rewritten", "P")]
    assert document.value == json.loads(text)


def entry(*errors: str, **more: object) -> dict[str, object]:
    return {"ErrorEquals": list(errors), **more}


NEVER = entry(LATE, MaxAttempts=0)


@pytest.mark.parametrize(
    ("listed", "retry", "catch"),
    [
        ([entry("A")], [entry("A")], [entry("A")]),
        ([entry("States.Timeout")], *[[entry("States.Timeout", LATE)]] * 2),
        ([entry("States.ALL")], *[[entry("States.ALL")]] * 2),
        (
            [entry("States.TaskFailed"), entry("States.ALL")],
            *[[entry(LATE), entry("States.TaskFailed"), entry("States.ALL")]] * 2,
        ),
        ([entry("States.TaskFailed", "States.Timeout")], *[[entry("States.TaskFailed", "States.Timeout", LATE)]] * 2),
        ([entry("States.TaskFailed")], [NEVER, entry("States.TaskFailed")], [entry("States.TaskFailed")]),
    ],
)
def test_whoever_knows_a_timeout_knows_ours(listed: list[object], retry: list[object], catch: list[object]):
    assert knowing_late({"Retry": listed})["Retry"] == retry
    assert knowing_late({"Catch": listed})["Catch"] == catch


def test_tasks_of_our_own_with_a_region_are_rewritten_as_well():
    with_region = ACQUIRE.replace(":states:::", ":states:us-east-1:123456789012:")
    enter = {"Type": "Task", "Resource": with_region, "Parameters": {"Name": "door", "Limit": 1}, "End": True}
    made = exported({"StartAt": "Enter", "States": {"Enter": enter}})
    assert "statewright-semaphores" in json.dumps(made.definition)
