"""Loops that never end, loops without a bound, and machines like them that are left alone."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.asl.reader import read_document
from statewright.asl.validate import validate, validate_value
from tests.unit.asl.machines import DONE, JSONATA, decide, lints, machine, passing, poll, task, wait

# ------------------------------------------------------------------ the nested loop of alerts

DRAFT = """{
  "StartAt": "LoadPlan",
  "States": {
    "LoadPlan": {"Type": "Task", "Resource": "<aws-lambda-arn>", "Next": "RoundsLeft"},
    "RoundsLeft": {
      "Type": "Choice",
      "Choices": [{"Variable": "$.notification_count", "NumericGreaterThan": 0, "Next": "FirstRound"}],
      "Default": "Finished"
    },
    "FirstRound": {
      "Type": "Choice",
      "Choices": [{"Variable": "$.first", "BooleanEquals": true, "Next": "StartRound"}],
      "Default": "Pause"
    },
    "Pause": {"Type": "Wait", "Seconds": 300, "Next": "StartRound"},
    "StartRound": {"Type": "Task", "Resource": "<aws-lambda-arn>", "Next": "UsersLeft"},
    "UsersLeft": {
      "Type": "Choice",
      "Choices": [{"Variable": "$.user_count", "NumericGreaterThanEquals": 0, "Next": "NotifyOverflow"}],
      "Default": "RoundsLeft"
    },
    "NotifyAlerts": {"Type": "Task", "Resource": "<aws-lambda-arn>", "Next": "UsersLeft"},
    "Finished": {"Type": "Succeed"}
  }
}
"""


def test_all_five_findings_of_the_draft():
    errors = [d for d in validate(read_document(DRAFT, name="alerts.json")) if d.severity == "ERROR"]
    resource = "SCHEMA_VALIDATION_FAILED"
    assert [(d.code, d.line, d.pointer) for d in errors] == [
        (resource, 4, "/States/LoadPlan/Resource"),
        (resource, 16, "/States/StartRound/Resource"),
        (resource, 22, "/States/NotifyAlerts/Resource"),
        ("MISSING_TRANSITION_TARGET", 19, "/States/UsersLeft/Choices/0/Next"),
        ("MISSING_TRANSITION_TARGET", 22, "/States/NotifyAlerts"),
    ]
    assert {d.hint for d in errors[:3]} == {"write the function's ARN here"}
    assert errors[3].message == "Missing 'Next' target: NotifyOverflow"
    assert errors[3].hint == "did you mean NotifyAlerts?"
    assert errors[4].message == 'State "NotifyAlerts" is not reachable.'
    assert "names NotifyOverflow" in str(errors[4].hint)


def above(variable: str, least: int, following: str) -> dict[str, Any]:
    return {"Variable": variable, "NumericGreaterThanEquals": least, "Next": following}


def alerts(**changes: Any) -> dict[str, Any]:
    """The draft, mended but for one thing: nothing counts the rounds down."""
    states: dict[str, Any] = {
        "LoadPlan": task(Next="RoundsLeft"),
        "RoundsLeft": decide(
            {"Variable": "$.notification_count", "NumericGreaterThan": 0, "Next": "FirstRound"}, "End"
        ),
        "FirstRound": decide({"Variable": "$.first", "BooleanEquals": True, "Next": "StartRound"}, "Pause"),
        "Pause": wait(300, "StartRound"),
        "StartRound": task(ResultPath="$.user_count", Next="UsersLeft"),
        "UsersLeft": decide(
            {"Variable": "$.user_count", "NumericGreaterThanEquals": 0, "Next": "Notify"}, "RoundsLeft"
        ),
        "Notify": task(ResultPath=None, Next="OneLess"),
        "OneLess": passing(
            Parameters={"left.$": "States.MathAdd($.user_count, -1)"}, ResultPath="$.counted", Next="KeepCount"
        ),
        "KeepCount": passing(InputPath="$.counted.left", ResultPath="$.user_count", Next="UsersLeft"),
        "End": DONE,
    }
    return {"StartAt": "LoadPlan", "States": {**states, **changes}}


def test_the_mended_draft_never_ends():
    (lint,) = lints(alerts(), "LOOP_NEVER_ENDS")
    assert lint.location == "/States/RoundsLeft"
    assert "no state in the loop changes $.notification_count" in lint.message
    assert "RoundsLeft -> FirstRound -> StartRound" in lint.message
    assert lint.severity == "WARNING"


@pytest.mark.parametrize(
    "change",
    [
        {"StartRound": task(Next="UsersLeft")},
        {"StartRound": task(ResultPath="$.notification_count", Next="UsersLeft")},
        {"StartRound": task(ResultPath="$.notification_count.left", Next="UsersLeft")},
        {"StartRound": task(ResultPath="$.user_count", OutputPath="$.plan", Next="UsersLeft")},
        {"Notify": passing(Result=1, ResultPath="$['notification_count']", Next="OneLess")},
        {"Notify": passing(Parameters={"user_count.$": "$.user_count"}, Next="OneLess")},
        {"Notify": passing(InputPath="$.a", Next="OneLess")},
        {"Pause": {"Type": "Wait", "Seconds": 1, "InputPath": "$.plan", "Next": "StartRound"}},
        {"Notify": task(Catch=[{"ErrorEquals": ["E"], "Next": "OneLess"}], ResultPath=None, Next="OneLess")},
    ],
)
def test_a_loop_that_may_change_its_variable_is_left_alone(change):
    assert [d for d in lints(alerts(**change), "LOOP_NEVER_ENDS") if "UsersLeft" not in str(d.path)] == []


@pytest.mark.parametrize(
    "change",
    [
        {"StartRound": passing(Next="UsersLeft", Result=3, ResultPath="$.user_count")},
        {"Notify": passing(Parameters={"notification_count.$": "$.notification_count", "x": 1}, Next="OneLess")},
        {"Notify": passing(Next="OneLess")},
        {
            "Notify": task(
                Catch=[{"ErrorEquals": ["E"], "ResultPath": "$.e", "Next": "OneLess"}], ResultPath=None, Next="OneLess"
            )
        },
    ],
)
def test_writes_elsewhere_do_not_save_a_loop(change):
    assert "/States/RoundsLeft" in [d.location for d in lints(alerts(**change), "LOOP_NEVER_ENDS")]


def test_an_inner_loop_is_found_inside_an_outer_one():
    changes = {"Notify": task(ResultPath=None, Next="UsersLeft")}
    value = alerts(**changes)
    del value["States"]["OneLess"], value["States"]["KeepCount"]
    found = lints(value, "LOOP_NEVER_ENDS")
    assert [d.location for d in found] == ["/States/RoundsLeft", "/States/UsersLeft"]
    assert "UsersLeft -> Notify -> UsersLeft" in found[1].message


def test_a_loop_without_a_way_out():
    value = machine("A", A=wait(1, "B"), B=task(Next="A"), C=DONE)
    diagnostics = [d for d in validate_value(value) if d.code == "LOOP_NEVER_ENDS"]
    assert ["no transition leads out" in d.message for d in diagnostics] == [True]


@pytest.mark.parametrize(
    ("rule", "ends"),
    [
        ({"Variable": "$count", "NumericEquals": 3, "Next": "C"}, False),
        ({"Variable": "$$.Execution.Name", "StringEquals": "x", "Next": "C"}, False),
        ({"Variable": "$$.State.EnteredTime", "TimestampGreaterThan": "2030-01-01T00:00:00Z", "Next": "C"}, True),
        ({"Variable": "$.a", "TimestampLessThanPath": "$$.State.EnteredTime", "Next": "C"}, True),
        ({"Not": {"And": [{"Variable": "$count", "IsNull": False}]}, "Next": "C"}, False),
    ],
)
def test_roots_of_conditions(rule, ends):
    value = machine("I", I=passing(Assign={"count": 0}, Next="D"), D=decide(rule, "W"), W=wait(1, "D"), C=DONE)
    assert (lints(value, "LOOP_NEVER_ENDS") == []) is ends


def test_variables_change_by_assign():
    counted = passing(Assign={"count.$": "States.MathAdd($count, 1)"}, Next="D")
    rule = {"Variable": "$count", "NumericEquals": 3, "Next": "C"}
    value = machine("I", I=passing(Assign={"count": 0}, Next="D"), D=decide(rule, "W"), W=counted, C=DONE)
    assert lints(value, "LOOP_NEVER_ENDS") == []
    assert lints(value, "LOOP_WITHOUT_BOUND") == []


@pytest.mark.parametrize(
    ("condition", "work", "ends"),
    [
        ("{% $turns > 3 %}", {"Type": "Wait", "Seconds": 1}, False),
        ("{% $turns > 3 %}", {"Type": "Wait", "Seconds": 1, "Assign": {"turns": "{% $turns + 1 %}"}}, True),
        ("{% $states.input.n > 3 %}", {"Type": "Wait", "Seconds": 1}, False),
        ("{% $states.input.n > 3 %}", {"Type": "Pass", "Output": "{% $states.input %}"}, False),
        ("{% $states.input.n > 3 %}", {"Type": "Pass", "Output": {"n": "{% $states.input.n + 1 %}"}}, True),
        ("{% $states.input.n > 3 %}", task(), True),
        ("{% $states.input.n > 3 %}", task(Output="{% $states.input %}"), False),
        ("{% $millis() > 3 %}", {"Type": "Wait", "Seconds": 1}, True),
        ("{% $states.context.State.EnteredTime > 'a' %}", {"Type": "Wait", "Seconds": 1}, True),
        ("{% $states.context.Execution.Name = 'a' %}", {"Type": "Wait", "Seconds": 1}, False),
        ("{% $states.context.State.EnteredTime > $states.context.Execution.StartTime %}", {"Type": "Pass"}, True),
        ("{% $count > $states.input.n %}", {"Type": "Pass", "Assign": {"count": "{% $count + 1 %}"}}, True),
        ("{% $count > $states.input.n %}", {"Type": "Pass", "Assign": {"other": 1}}, False),
        (True, {"Type": "Wait", "Seconds": 1}, True),
    ],
)
def test_jsonata_loops(condition, work, ends):
    rule = {"Condition": condition, "Next": "C"}
    start = {"Type": "Pass", "Assign": {"turns": 0}, "Next": "D"}
    value = machine("I", JSONATA, I=start, D=decide(rule, "W"), W={**work, "Next": "D"}, C=DONE)
    assert (lints(value, "LOOP_NEVER_ENDS") == []) is ends


def test_jsonata_rules_and_catchers_change_data_too():
    rule = {"Condition": "{% $states.input.n > 3 %}", "Next": "C"}
    again = {"Condition": "{% true %}", "Next": "W", "Output": {"n": 4}}
    loop = {"Type": "Choice", "Choices": [rule, again], "Default": "W"}
    value = machine("D", JSONATA, D=loop, W=wait(1, "D"), C=DONE)
    assert lints(value, "LOOP_NEVER_ENDS") == []
    catcher = {"ErrorEquals": ["E"], "Next": "D"}
    tried = task(Output="{% $states.input %}", Catch=[catcher], Next="D")
    value = machine("D", JSONATA, D=decide(rule, "W"), W=tried, C=DONE)
    assert lints(value, "LOOP_NEVER_ENDS") == []
    tried["Catch"] = [{**catcher, "Output": "{% $states.input %}"}]
    assert len(lints(value, "LOOP_NEVER_ENDS")) == 1


def test_long_loops_are_shortened():
    names = [f"S{index}" for index in range(20)]
    states = {name: passing(Next=names[(index + 1) % 20]) for index, name in enumerate(names)}
    (lint,) = [d for d in validate_value({"StartAt": "S0", "States": {**states, "E": DONE}}) if "LOOP" in d.code]
    assert "S6 -> ... -> S0 never ends" in lint.message


def test_broken_conditions_do_not_make_a_loop_endless():
    broken = {"Variable": "$.[", "IsNull": True, "Next": "C"}
    value = machine("D", D=decide(broken, "W"), W=passing(Next="D", ResultPath="$.["), C=DONE)
    assert [d.code for d in validate_value(value) if d.code == "LOOP_NEVER_ENDS"] == []
    value = machine("D", JSONATA, D=decide({"Condition": "{% ( %}", "Next": "C"}, "W"), W=wait(1, "D"), C=DONE)
    assert [d.code for d in validate_value(value) if d.code == "LOOP_NEVER_ENDS"] == []


def test_an_unreadable_place_may_be_anywhere():
    rule = {"Variable": "$.x", "IsNull": True, "Next": "C"}
    value = machine("D", D=decide(rule, "W"), W=task(Next="D", ResultPath="$.["), C=DONE)
    assert [d.code for d in validate_value(value) if d.code == "LOOP_NEVER_ENDS"] == []


# ------------------------------------------------------------------ polls


def test_a_poll_without_a_deadline():
    (lint,) = lints(poll(), "LOOP_WITHOUT_BOUND")
    assert lint.location == "/States/Pause"
    assert "a result of Ask changes $.status, which no other state in the loop changes" in lint.message


def test_a_poll_with_a_deadline_or_in_an_express_machine():
    assert lints(poll({"TimeoutSeconds": 900}), "LOOP_WITHOUT_BOUND") == []
    assert lints(poll(), "LOOP_WITHOUT_BOUND", machine_type="EXPRESS") == []


def test_a_poll_that_counts_its_turns():
    ask = task(ResultPath="$.job", Next="Count")
    count = passing(Parameters={"n.$": "States.MathAdd($.turns.n, 1)"}, ResultPath="$.turns", Next="Complete?")
    rules = [
        {"Variable": "$.job.status", "StringEquals": "COMPLETED", "Next": "Good"},
        {"Variable": "$.turns.n", "NumericGreaterThan": 10, "Next": "Broken"},
    ]
    check = {"Type": "Choice", "Choices": rules, "Default": "Pause"}
    assert lints(poll(Ask=ask, Count=count, **{"Complete?": check}), "LOOP_WITHOUT_BOUND") == []


@pytest.mark.parametrize(
    ("assign", "bounded"),
    [({"n": "{% $n + 1 %}"}, True), ({"n": "{% $states.result.n %}"}, False)],
)
def test_a_poll_whose_task_counts_in_a_variable(assign, bounded):
    rule = {"Condition": "{% $n > 3 %}", "Next": "C"}
    start = {"Type": "Pass", "Assign": {"n": 0}, "Next": "T"}
    work = task(Assign=assign, Next="D")
    value = machine("I", JSONATA, I=start, T=work, D=decide(rule, "T"), C=DONE)
    assert (lints(value, "LOOP_WITHOUT_BOUND") == []) is bounded


def test_a_task_that_catches_itself():
    again = task(Catch=[{"ErrorEquals": ["Busy"], "ResultPath": "$.e", "Next": "W"}], Next="C")
    (lint,) = lints(machine("T", T=again, W=wait(5, "T"), C=DONE), "LOOP_WITHOUT_BOUND")
    assert "the result of a task says so" in lint.message
