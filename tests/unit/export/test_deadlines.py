"""Loops with a deadline and a bound on turns: the same ends, and in time but for a turn."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.export.exporting import ACQUIRE, Json, exported, kinds, ran

LOOP: Json = {
    "StartAt": "Count",
    "States": {
        "Count": {
            "Type": "Pass", "Parameters": {"n.$": "States.MathAdd($.n, 1)", "most.$": "$.most"}, "Next": "Enough?",
        },
        "Enough?": {
            "Type": "Choice", "Default": "Pause",
            "Choices": [{"Variable": "$.n", "NumericGreaterThanEqualsPath": "$.most", "Next": "Done"}],
        },
        "Pause": {"Type": "Wait", "Seconds": 10, "Next": "Count"},
        "Done": {"Type": "Succeed"},
    },
}  # fmt: skip


def machine_of(loop: Json, **bounds: Any) -> Json:
    state = {"Type": "Parallel", "Branches": [loop], **bounds, "End": True}
    return {"StartAt": "Loop", "States": {"Loop": state, "Late": {"Type": "Pass", "End": True}}}


def caught(*errors: str) -> Json:
    return {"Catch": [{"ErrorEquals": list(errors), "ResultPath": "$.error", "Next": "Late"}]}


def reachable(definition: Json) -> Json:
    if "Catch" not in definition["States"]["Loop"]:
        del definition["States"]["Late"]
    return definition


@pytest.mark.parametrize(
    ("bounds", "most"),
    [
        ({"TimeoutSeconds": 25}, 99),
        ({"TimeoutSeconds": 25}, 2),
        ({"TimeoutSeconds": 25, **caught("States.Timeout")}, 99),
        ({"TimeoutSeconds": 30, "MaxTurns": 9}, 99),
        ({"TimeoutSecondsPath": "$.seconds"}, 99),
        ({"TimeoutSecondsPath": "$.seconds", "InputPath": "$"}, 99),
        ({"MaxTurns": 3}, 99),
        ({"MaxTurns": 3}, 3),
        ({"MaxTurns": 3, **caught("Statewright.MaxTurnsExceeded")}, 99),
        ({"TimeoutSeconds": 100, "MaxTurns": 3, **caught("States.ALL")}, 99),
        ({"TimeoutSeconds": 15, "Retry": [{"ErrorEquals": ["States.Timeout"], "MaxAttempts": 2}]}, 99),
        ({"MaxTurns": 2, "Retry": [{"ErrorEquals": ["States.TaskFailed"], "MaxAttempts": 1}]}, 99),
        ({"TimeoutSeconds": 15, "Retry": [{"ErrorEquals": ["States.TaskFailed"], "MaxAttempts": 1}]}, 99),
    ],
)
def test_ends_as_before_and_in_time_but_for_a_turn(bounds: Json, most: int):
    definition = reachable(machine_of(LOOP, **bounds))
    made = exported(definition)
    given = {"n": 0, "most": most, "seconds": 25}
    native, portable = (ran(one, [given])[0] for one in (definition, made.definition))
    assert portable["status"] == native["status"]
    errors = [end.get("error") for end in (native, portable)]
    assert errors[0] == errors[1] or errors == ["States.Timeout", "Statewright.Timeout"]
    turns = 1 + sum("Retry" in bounds for _ in range(3))
    assert native["seconds"] <= portable["seconds"] <= native["seconds"] + 10 * turns
    if native["status"] == "SUCCEEDED" and "Catch" not in bounds:
        assert portable["output"] == native["output"]


def test_a_loop_in_a_loop_is_looked_at_in_both():
    loop = {
        "StartAt": "Outer",
        "States": {
            "Outer": {"Type": "Pass", "Result": 0, "ResultPath": "$.i", "Next": "Inner"},
            "Inner": {"Type": "Pass", "Parameters": {"i.$": "States.MathAdd($.i, 1)"}, "Next": "Pause"},
            "Pause": {"Type": "Wait", "Seconds": 1, "Next": "Again?"},
            "Again?": {
                "Type": "Choice", "Default": "Outer",
                "Choices": [
                    {"Variable": "$.i", "NumericLessThan": 10, "Next": "Inner"},
                    {"Variable": "$.i", "NumericGreaterThan": 10, "Next": "Never"},
                ],
            },
            "Never": {"Type": "Succeed"},
        },
    }  # fmt: skip
    definition = reachable(machine_of(loop, TimeoutSeconds=25, MaxTurns=1000))
    made = exported(definition)
    end = ran(made.definition, [{}])[0]
    assert (end["error"], end["seconds"]) == ("Statewright.Timeout", 25)
    text = " ".join(note.message for note in made.notes)
    assert "'Outer'" in text
    assert "'Inner'" in text


def test_a_loop_that_a_catch_closes():
    loop = {
        "StartAt": "Try",
        "States": {
            "Try": {
                "Type": "Parallel", "End": True,
                "Branches": [{"StartAt": "No", "States": {"No": {"Type": "Fail", "Error": "No"}}}],
                "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Pause"}],
            },
            "Pause": {"Type": "Wait", "Seconds": 10, "Next": "Try"},
        },
    }  # fmt: skip
    definition = reachable(machine_of(loop, MaxTurns=3))
    native, portable = (ran(one, [{}])[0] for one in (definition, exported(definition).definition))
    assert (portable["error"], portable["seconds"]) == (native["error"], native["seconds"])


def test_in_jsonata():
    loop = {
        "StartAt": "Pause",
        "States": {
            "Pause": {"Type": "Wait", "Seconds": 10, "Next": "Again?"},
            "Again?": {
                "Type": "Choice", "Default": "Pause",
                "Choices": [{"Condition": "{% $states.input.seconds < 0 %}", "Next": "Never"}],
            },
            "Never": {"Type": "Succeed"},
        },
    }  # fmt: skip
    definition = reachable(machine_of(loop, TimeoutSeconds="{% $states.input.seconds %}", MaxTurns=5))
    definition["QueryLanguage"] = "JSONata"
    assert ran(exported(definition).definition, [{"seconds": 20}])[0]["error"] == "Statewright.Timeout"
    end = ran(exported(definition).definition, [{"seconds": 2000}])[0]
    assert (end["error"], end["seconds"]) == ("Statewright.MaxTurnsExceeded", 50)


def test_what_waits_for_a_permit_in_a_loop_in_a_loop_with_a_deadline():
    """Names and variables of rewritten states inside each other do not collide."""
    loop = {
        "StartAt": "Enter",
        "States": {
            "Enter": {
                "Type": "Task", "Resource": ACQUIRE, "Parameters": {"Name": "door", "Limit": 100},
                "TimeoutSeconds": 10, "ResultPath": "$.permit", "Next": "Pause",
            },
            "Pause": {"Type": "Wait", "Seconds": 10, "Next": "Again?"},
            "Again?": {
                "Type": "Choice", "Default": "Never",
                "Choices": [{"Variable": "$.permit.Limit", "NumericEquals": 100, "Next": "Enter"}],
            },
            "Never": {"Type": "Succeed"},
        },
    }  # fmt: skip
    inside = {
        "StartAt": "Inside",
        "States": {"Inside": {"Type": "Parallel", "Branches": [loop], "TimeoutSeconds": 25, "End": True}},
    }
    definition = reachable(machine_of(inside))
    definition["States"]["Loop"]["Catch"] = [{"ErrorEquals": ["States.Timeout"], "Next": "Late"}]
    definition["States"]["Late"] = {"Type": "Pass", "Result": "late", "End": True}
    native, portable = (ran(one, [{}])[0] for one in (definition, exported(definition).definition))
    assert native["output"] == portable["output"] == "late"
    assert portable["seconds"] == 30


def test_a_deadline_without_a_loop_cannot_be_kept():
    alone = {"StartAt": "Pause", "States": {"Pause": {"Type": "Wait", "Seconds": 10, "End": True}}}
    made = exported(reachable(machine_of(alone, TimeoutSeconds=5)))
    assert kinds(made) == [("cannot", "Loop")]
    made = exported(reachable(machine_of(alone, MaxTurns=5)))
    assert kinds(made) == [("rewritten", "Loop")]
    assert "MaxTurns" not in made.definition["States"]["Loop"]


def test_a_loop_with_a_deadline_from_the_input_as_the_head_of_another():
    """Who comes round goes by the outer check, then works the inner deadline out anew."""
    inner = {
        "StartAt": "Wait",
        "States": {
            "Wait": {"Type": "Wait", "Seconds": 3, "Next": "More?"},
            "More?": {
                "Type": "Choice", "Default": "Wait",
                "Choices": [{"Variable": "$.seconds", "NumericLessThan": 0, "Next": "Never"}],
            },
            "Never": {"Type": "Succeed"},
        },
    }  # fmt: skip
    caught_late = [{"ErrorEquals": ["States.Timeout"], "ResultPath": "$.error", "Next": "Again"}]
    outer = {
        "StartAt": "Inside",
        "States": {
            "Inside": {
                "Type": "Parallel", "Branches": [inner], "TimeoutSecondsPath": "$.seconds", "Catch": caught_late,
                "Next": "Stop",
            },
            "Again": {"Type": "Pass", "Next": "Inside"},
            "Stop": {"Type": "Succeed"},
        },
    }  # fmt: skip
    definition = reachable(machine_of(outer, MaxTurns=3))
    native, portable = (ran(one, [{"seconds": 10}])[0] for one in (definition, exported(definition).definition))
    assert portable["error"] == native["error"] == "Statewright.MaxTurnsExceeded"
    # Each of the three inner loops ends when it comes round, two seconds late.
    assert (native["seconds"], portable["seconds"]) == (30, 36)
