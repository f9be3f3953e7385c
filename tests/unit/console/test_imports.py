"""Histories from files: those of the service, and what is wrong with others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.console.copies.imports import imported
from statewright.console.redaction import Redactor
from statewright.errors import ApiError

NOW = 1_800_000_000_000


def event(number: int, type: str, previous: int | None = None, **details: Any) -> dict[str, Any]:
    """An event as the service's command line prints it."""
    member = "stateEnteredEventDetails" if type.endswith("StateEntered") else "stateExitedEventDetails"
    if not type.endswith(("StateEntered", "StateExited")):
        member = type[0].lower() + type[1:] + "EventDetails"
    shown = {"timestamp": f"2024-05-01T10:00:{number:02}.5+02:00", "type": type, "id": number}
    shown["previousEventId"] = number - 1 if previous is None else previous
    return {**shown, member: details} if details else shown


def entered(number: int, kind: str, name: str, previous: int | None = None) -> dict[str, Any]:
    return event(number, f"{kind}StateEntered", previous, name=name, input="{}", inputDetails={"truncated": False})


def exited(number: int, kind: str, name: str, previous: int | None = None) -> dict[str, Any]:
    return event(number, f"{kind}StateExited", previous, name=name, output='{"a": 1}')


BRANCHES = [
    event(1, "ExecutionStarted", 0, input='{"order": 1}', roleArn="r"),
    entered(2, "Parallel", "Both", 0),
    event(3, "ParallelStateStarted"),
    entered(4, "Pass", "Left", 3),
    exited(5, "Pass", "Left"),
    entered(6, "Task", "Right", 3),
    event(7, "TaskScheduled", resourceType="sqs", resource="sendMessage", region="eu-west-1", parameters="{}"),
    event(8, "TaskFailed", resourceType="sqs", resource="sendMessage", error="Sqs.Busy", cause="why"),
    event(9, "TaskScheduled", resourceType="sqs", resource="sendMessage", region="eu-west-1", parameters="{}"),
    event(10, "TaskSucceeded", resourceType="sqs", resource="sendMessage", output="{}"),
    exited(11, "Task", "Right"),
    event(12, "ParallelStateSucceeded", 11),
    exited(13, "Parallel", "Both", 11),
    entered(14, "Map", "Each", 13),
    event(15, "MapStateStarted", length=1),
    event(16, "MapIterationStarted", 15, name="Each", index=0),
    entered(17, "Pass", "Item", 16),
    exited(18, "Pass", "Item"),
    event(19, "MapIterationSucceeded", 18, name="Each", index=0),
    event(20, "MapStateSucceeded"),
    exited(21, "Map", "Each", 19),
    entered(22, "Fail", "Refuse", 21),
    event(23, "ExecutionFailed", error="Refused", cause="because"),
]


def read(history: Any, definition: Any = None, **more: Any) -> Any:
    return imported({"history": history, "definition": definition, **more}, NOW, Redactor())


def names(found: Any) -> list[tuple[str, int]]:
    return [(state["name"], state["owner"]) for state in found["run"]["states"]]


@pytest.mark.parametrize("form", [lambda events: events, lambda events: json.dumps({"events": events}), json.dumps])
def test_a_history_of_the_service_is_read_without_its_definition(form):
    found = read(form(BRANCHES), name="order")
    head = found["run"]["head"]
    assert (head["name"], head["status"], head["error"], head["events"]) == ("order", "FAILED", "Refused", 23)
    assert head["startedMs"] == 1_714_550_401_500
    assert names(found) == [("Both", -1), ("Each", -1), ("Refuse", -1), ("Left", 0), ("Right", 0), ("Item", 1)]
    statuses = found["run"]["statuses"]
    assert [statuses[one] for one in found["run"]["visits"]["status"]] == ["succeeded"] * 5 + ["failed"]
    assert found["run"]["attempts"]["errors"] == ["Sqs.Busy"]
    assert found["details"][1] == {"name": "Both", "input": "{}"}
    assert "Without a definition" in found["notes"][0]


def test_events_may_come_in_any_order_and_instants_in_any_form():
    given = [{**one, "timestamp": 1_714_550_400 + one["id"]} for one in reversed(BRANCHES)]
    assert read(given)["run"]["head"]["startedMs"] == 1_714_550_401_000
    given = [{**one, "timestamp": 1_714_550_400_000 + one["id"]} for one in BRANCHES]
    assert read(given)["run"]["head"]["startedMs"] == 1_714_550_400_001


SMALL = [event(1, "ExecutionStarted", 0, input="{}"), entered(2, "Succeed", "End", 0), exited(3, "Succeed", "End")]
DEFINITION = {"StartAt": "End", "States": {"End": {"Type": "Succeed", "Comment": "here"}}}


@pytest.mark.parametrize(
    "definition",
    [DEFINITION, json.dumps(DEFINITION), {"definition": json.dumps(DEFINITION), "name": "m"},
     "StartAt: End\nStates:\n  End:\n    Type: Succeed\n    Comment: here\n"],
)  # fmt: skip
def test_a_definition_comes_in_any_form(definition):
    found = read(SMALL, definition)
    assert found["run"]["definition"]["States"]["End"]["Comment"] == "here"
    assert found["run"]["head"]["status"] == "RUNNING"
    assert found["notes"] == []


@pytest.mark.parametrize(
    ("history", "words"),
    [
        (None, "There is no history"),
        ("  ", "is empty"),
        ('{"events": [', "not JSON at line 1"),
        ("3", "must be a list of events"),
        ("[]", "has no events"),
        (DEFINITION, "It looks like a definition"),
        ([3], "Entry 1 of the history is no object"),
        ([{"type": "Odd", "id": 1, "timestamp": 1}], "type 'Odd', which no event has"),
        ([{**SMALL[0], "id": True}], "has no id"),
        ([{**SMALL[0], "previousEventId": -1}], "previousEventId that is no whole number"),
        ([{**SMALL[0], "timestamp": "yesterday"}], "no timestamp that can be read: yesterday"),
        ([{**SMALL[0], "timestamp": 1e300}], "no timestamp that can be read"),
        ([SMALL[0], SMALL[2]], "Event 2 is missing"),
        ([SMALL[0], SMALL[0]], "Event 1 is twice"),
        ([{**SMALL[0], "previousEventId": 5}], "follows event 5, which comes later"),
        ([SMALL[0], {**SMALL[1], "stateEnteredEventDetails": {}}], "does not name its state"),
        ([SMALL[0], {**SMALL[1], "stateEnteredEventDetails": []}], "which is no object"),
        ([SMALL[0]] * 30_001, "of at most 30,000"),
        (
            [SMALL[0], entered(2, "Map", "M", 0), event(3, "MapStateStarted"), event(4, "MapIterationStarted")],
            "does not fit together",
        ),
    ],
)
def test_what_is_wrong_with_a_history_is_said(history, words):
    with pytest.raises(ApiError, match=words):
        read(history)


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ("{", "definition has a mistake"),
        ({"StartAt": "A", "States": {}}, "definition has a mistake"),
        ({"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}, "no state 'End', which event 2 enters"),
        ("a: &a [x,x,x,x,x,x,x,x]\n" + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 8)}]\n"
         for n in range(9)), "mistake|larger"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_definition_is_said(definition, words):
    with pytest.raises(ApiError, match=words):
        read(SMALL, definition)


def test_hostile_names_are_names():
    hostile = "</script>\u202econstructor"
    found = read(
        [SMALL[0], entered(2, "Pass", hostile, 0), exited(3, "Pass", hostile), entered(4, "Pass", "__proto__")]
    )
    assert [name for name, _ in names(found)] == [hostile, "__proto__"]


def test_a_cut_history_is_noted():
    assert "first part" in read({"events": SMALL, "nextToken": "x"}, DEFINITION)["notes"][0]


def test_states_nested_beyond_all_measure_are_refused():
    events = [event(1, "ExecutionStarted", 0)]
    for depth in range(1_000):
        events += [entered(len(events) + 1, "Parallel", f"P{depth}", len(events) if depth else 0)]
        events += [event(len(events) + 1, "ParallelStateStarted")]
    with pytest.raises(ApiError, match=r"nested too deep|does not fit"):
        read([{**one, "timestamp": 1} for one in events])
