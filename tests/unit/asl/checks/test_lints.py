"""What our own findings say, and when they stay quiet. Loops have a file of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from statewright.asl.findings import LINT_CODES, SERVICE_CODES, closest
from tests.unit.asl.machines import DONE, JSONATA, decide, inline, lints, machine, passing, poll, task, wait

# ------------------------------------------------------------------ history


@pytest.mark.parametrize(
    ("seconds", "timeout", "too_many"), [(10, 86_400, True), (10, 22_500, False), (60, 86_400, False), (1, 3_600, True)]
)
def test_polls_that_pass_the_limit_of_events(seconds, timeout, too_many):
    # A turn costs 9 events: two for the Wait, five for the Task, two for the Choice.
    found = lints(poll({"TimeoutSeconds": timeout}, Pause=wait(seconds, "Ask")), "HISTORY_LIMIT")
    assert (found != []) is too_many
    if found:
        assert "9 events each" in found[0].message
        assert found[0].location == "/States/Pause"


def test_a_poll_with_an_unknown_wait_is_not_judged():
    pause = {"Type": "Wait", "SecondsPath": "$.s", "Next": "Ask"}
    assert lints(poll({"TimeoutSeconds": 9_000_000}, Pause=pause), "HISTORY_LIMIT") == []
    twice = poll({"TimeoutSeconds": 9_000_000}, Ask=task(Next="Nap"), Nap={**pause, "Next": "Complete?"})
    assert lints(twice, "HISTORY_LIMIT") == []


@pytest.mark.parametrize(
    ("items", "too_many"),
    [
        ("{% [1..4000] %}", True),
        ("{% [1..3000] %}", False),
        ("{% [5..1] %}", False),
        (list(range(4000)), True),
        ([1], False),
        ("{% $states.input %}", False),
    ],
)
def test_inline_maps_over_literal_items(items, too_many):
    # An iteration costs 7 events: its start and end, and five for the Task.
    found = lints(machine("M", JSONATA, M=inline(Items=items, End=True)), "HISTORY_LIMIT")
    assert (found != []) is too_many
    if found:
        assert "4,000 items cost at least 28,004" in found[0].message


@pytest.mark.parametrize(
    ("source", "target", "too_many"),
    [
        ({"Result": [0] * 4000}, {}, True),
        ({"Result": {"a": [0] * 4000}}, {"ItemsPath": "$.a"}, True),
        ({"Result": {"a": [0] * 4000}, "ResultPath": "$.in"}, {"ItemsPath": "$.in.a"}, True),
        ({"Result": {"a": [0] * 4000}}, {"ItemsPath": "$.b"}, False),
        ({"Result": [[0] * 4000]}, {"ItemsPath": "$[0]"}, False),
        ({"Result": [0] * 4000}, {"InputPath": "$"}, False),
        ({"Result": [0] * 4000, "OutputPath": "$"}, {}, False),
        ({"Result": [0] * 4000, "ResultPath": None}, {}, False),
        ({"Result": [0] * 4000}, {"ItemsPath": "$$.Execution.Input"}, False),
    ],
)
def test_inline_maps_over_the_result_of_a_pass(source, target, too_many):
    value = machine("P", P=passing(Next="M", **source), M=inline(End=True, **target))
    assert (lints(value, "HISTORY_LIMIT") != []) is too_many


def test_events_of_nested_scopes_count():
    branch = {"StartAt": "X", "States": {"X": task(Next="Y"), "Y": {"Type": "Fail"}}}
    both = {"Type": "Parallel", "Branches": [branch, {"StartAt": "Z", "States": {"Z": DONE}}], "End": True}
    (lint,) = lints(machine("M", JSONATA, M=inline(both, Items=[0] * 2000, End=True)), "HISTORY_LIMIT")
    # Parallel 4, Task 5, Fail 1, Succeed 2, and 2 for the iteration.
    assert "cost at least 28,004" in lint.message


def test_a_distributed_map_has_no_such_limit():
    inner = inline(Items=[0] * 5000, End=True)
    inner["ItemProcessor"]["ProcessorConfig"] = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    assert lints(machine("M", JSONATA, M=inner), "HISTORY_LIMIT") == []


# ------------------------------------------------------------------ failures and gaps


def test_a_failed_status_that_ends_in_success():
    found = lints(poll(Broken=passing(End=True)), "FAILURE_ENDS_IN_SUCCESS")
    assert [d.location for d in found] == ["/States/Complete?/Choices[0]/Next"]
    assert "FAILED" in found[0].message
    assert lints(poll(), "FAILURE_ENDS_IN_SUCCESS") == []


def test_a_failed_status_that_starts_again():
    assert lints(poll(Broken=wait(60, "Start")), "FAILURE_ENDS_IN_SUCCESS") == []


def test_a_failed_status_that_takes_default():
    check = decide({"Variable": "$.status", "StringEquals": "IN_PROGRESS", "Next": "Pause"}, "Good")
    value = poll(**{"Complete?": check})
    del value["States"]["Broken"]
    found = lints(value, "FAILURE_ENDS_IN_SUCCESS")
    assert [d.location for d in found] == ["/States/Complete?/Default"]


@pytest.mark.parametrize(
    ("rule", "fails"),
    [
        ({"Condition": "{% $states.input.status = 'FAILED' %}"}, True),
        ({"Condition": "{% $states.input.status in ['ABORTED', 'FAILED'] %}"}, True),
        ({"Condition": "{% $states.input.status != 'FAILED' %}"}, False),
        ({"Condition": True}, False),
    ],
)
def test_failed_statuses_in_jsonata(rule, fails):
    value = machine("D", JSONATA, D=decide({**rule, "Next": "A"}, "B"), A=DONE, B={"Type": "Fail"})
    assert (lints(value, "FAILURE_ENDS_IN_SUCCESS") != []) is fails


def test_failed_statuses_inside_or():
    rule = {
        "Or": [{"Variable": "$.s", "StringEquals": "x"}, {"Variable": "$.s", "StringEquals": "TIMED_OUT"}],
        "Next": "A",
    }
    assert len(lints(machine("D", D=decide(rule, "B"), A=DONE, B={"Type": "Fail"}), "FAILURE_ENDS_IN_SUCCESS")) == 1
    negated = {"Not": {"Variable": "$.s", "StringEquals": "FAILED"}, "Next": "A"}
    assert lints(machine("D", D=decide(negated, "B"), A=DONE, B={"Type": "Fail"}), "FAILURE_ENDS_IN_SUCCESS") == []


def test_catchers():
    catcher = {"ErrorEquals": ["States.ALL"], "Next": "Tell"}
    value = machine("T", T=task(Catch=[catcher], Next="C"), Tell=task(Next="E"), C=DONE, E=DONE)
    (lint,) = lints(value, "FAILURE_ENDS_IN_SUCCESS")
    assert lint.location == "/States/T/Catch[0]/Next"
    assert "Tell" in lint.message
    value["States"]["E"] = {"Type": "Fail"}
    assert lints(value, "FAILURE_ENDS_IN_SUCCESS") == []


def test_a_catcher_that_repairs_and_goes_on():
    catcher = {"ErrorEquals": ["E"], "Next": "Default"}
    value = machine("T", T=task(Catch=[catcher], Next="U"), Default=passing(Next="U"), U=task(Next="C"), C=DONE)
    assert lints(value, "FAILURE_ENDS_IN_SUCCESS") == []


@pytest.mark.parametrize(
    ("rules", "covered"),
    [
        ([{"Variable": "$.x", "IsPresent": True}], False),
        ([{"Variable": "$.x", "IsPresent": True}, {"Variable": "$.x", "IsPresent": False}], True),
        ([{"Variable": "$.x", "IsPresent": True}, {"Variable": "$.y", "IsPresent": False}], False),
        ([{"Variable": "$.x", "BooleanEquals": False}, {"Variable": "$.x", "BooleanEquals": True}], True),
    ],
)
def test_choices_without_default(rules, covered):
    choice = {"Type": "Choice", "Choices": [{**rule, "Next": "A"} for rule in rules]}
    found = lints(machine("D", D=choice, A=DONE), "CHOICE_WITHOUT_DEFAULT")
    assert [d.location for d in found] == ([] if covered else ["/States/D"])


@pytest.mark.parametrize(("condition", "covered"), [("{% true %}", True), (True, True), ("{% $x %}", False)])
def test_jsonata_choices_without_default(condition, covered):
    choice = {"Type": "Choice", "Choices": [{"Condition": condition, "Next": "A"}]}
    value = machine("P", JSONATA, P=passing(Assign={"x": True}, Next="D"), D=choice, A=DONE)
    assert (lints(value, "CHOICE_WITHOUT_DEFAULT") == []) is covered


# ------------------------------------------------------------------ single fields


def one(code: str, state: dict[str, Any], **top: Any) -> list[str | None]:
    return [d.location for d in lints(machine("S", top, S=state), code)]


def test_errors_that_are_never_matched():
    retry = [{"ErrorEquals": ["States.Runtime", "E", "States.DataLimitExceeded", "States.NoChoiceMatched"]}]
    places = [f"/States/S/Retry[0]/ErrorEquals[{index}]" for index in (0, 2, 3)]
    assert one("RETRY_ON_UNCATCHABLE", task(Retry=retry, End=True)) == places
    catch = [{"ErrorEquals": ["States.DataLimitExceeded", "States.BranchFailed"], "Next": "F"}]
    value = machine("S", S=task(Catch=catch, End=True), F={"Type": "Fail"})
    assert [d.location for d in lints(value, "RETRY_ON_UNCATCHABLE")] == ["/States/S/Catch[0]/ErrorEquals[1]"]


def test_unknown_error_names():
    names = ["States.TaskFailled", "States.Http.StatusCode.503", "States.Timeout", "Lambda.Unknown"]
    value = machine("S", S=task(Retry=[{"ErrorEquals": names}], End=True))
    (lint,) = lints(value, "UNKNOWN_ERROR_NAME")
    assert (lint.location, lint.hint) == ("/States/S/Retry[0]/ErrorEquals[0]", "did you mean States.TaskFailed?")


def test_never_entered_states():
    value = machine("A", A=DONE, X=passing(Next="Y"), Y=passing(Next="X"))
    assert [d.location for d in lints(value, "NEVER_ENTERED")] == ["/States/X", "/States/Y"]


def test_unknown_fields_of_machines_and_branches():
    branch = {"StartAt": "B", "States": {"B": DONE}, "Timeout": 5}
    value = machine("P", {"StartsAt": "P"}, P={"Type": "Parallel", "Branches": [branch], "End": True})
    found = lints(value, "UNKNOWN_FIELD")
    assert [(d.location, d.hint) for d in found] == [
        ("/StartsAt", "did you mean StartAt?"),
        ("/States/P/Branches[0]/Timeout", None),
    ]


def test_unassigned_variables():
    state = passing(Parameters={"a.$": "$cuont", "b.$": "States.Format('{}', $count)"}, Next="C")
    value = machine("P", P=passing(Assign={"count": 1}, Next="S"), S=state, C=DONE)
    (lint,) = lints(value, "UNASSIGNED_VARIABLE")
    assert (lint.location, lint.hint) == ("/States/S/Parameters/a.$", "did you mean count?")


def test_inner_states_see_outer_variables_but_not_those_of_siblings():
    branches = [
        {"StartAt": "B1", "States": {"B1": passing(Parameters={"x.$": "$outer", "y.$": "$mine"}, End=True)}},
        {"StartAt": "B2", "States": {"B2": passing(Assign={"mine": 1}, End=True)}},
    ]
    parallel = {"Type": "Parallel", "Branches": branches, "End": True}
    value = machine("P", P=passing(Assign={"outer": 1}, Next="S"), S=parallel)
    assert [d.location for d in lints(value, "UNASSIGNED_VARIABLE")] == [
        "/States/S/Branches[0]/States/B1/Parameters/y.$"
    ]


def test_a_variable_that_nobody_assigns_is_no_matter_of_distribution():
    inner = inline(passing(Parameters={"x.$": "$nobody"}, End=True), End=True)
    inner["ItemProcessor"]["ProcessorConfig"] = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    value = machine("P", P=passing(Assign={"${Name}": 1}, Next="M"), M=inner)
    assert len(lints(value, "UNASSIGNED_VARIABLE")) == 1


def test_a_distributed_map_does_not_see_outer_variables():
    inner = inline(passing(Parameters={"x.$": "$outer", "y.$": "$own"}, Assign={"own": 1}, End=True), End=True)
    inner["ItemProcessor"]["ProcessorConfig"] = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    inner["ItemSelector"] = {"x.$": "$outer"}
    value = machine("P", P=passing(Assign={"outer": 1}, Next="M"), M=inner)
    places = [d.location for d in lints(value, "DISTRIBUTED_MAP_VARIABLE")]
    assert places == ["/States/M/ItemProcessor/States/Each/Parameters/x.$"]
    assert lints(value, "UNASSIGNED_VARIABLE") == []


def test_values_that_nobody_evaluates():
    assert one("NOT_EVALUATED", passing(Parameters={"x": "{% 1 %}"}, End=True)) == ["/States/S/Parameters/x"]
    assert one("NOT_EVALUATED", passing(Output={"x.$": "$.y"}, End=True), **JSONATA) == ["/States/S/Output/x.$"]
    assert one("NOT_EVALUATED", passing(Output=["at {% 1 %} o'clock"], End=True), **JSONATA) == ["/States/S/Output[0]"]


def test_fields_without_effect():
    value = inline(Label="x", ToleratedFailureCount=1, End=True)
    assert one("DISTRIBUTED_ONLY_FIELD", value) == ["/States/S/Label", "/States/S/ToleratedFailureCount"]
    assert one("HEARTBEAT_TOO_LONG", task(TimeoutSeconds=5, HeartbeatSeconds=5, End=True)) == [
        "/States/S/HeartbeatSeconds"
    ]
    assert one("HEARTBEAT_TOO_LONG", task(TimeoutSeconds=5, HeartbeatSeconds=4, End=True)) == []


def test_batches_over_their_documented_size():
    value = inline(ItemBatcher={"MaxInputBytesPerBatch": 262_145}, End=True)
    value["ItemProcessor"]["ProcessorConfig"] = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    assert one("VALUE_OUT_OF_RANGE", value) == ["/States/S/ItemBatcher/MaxInputBytesPerBatch"]


def test_express_children_cannot_wait():
    value = inline(task(Resource="arn:aws:states:::sqs:sendMessage.waitForTaskToken", End=True), End=True)
    value["ItemProcessor"]["ProcessorConfig"] = {"Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS"}
    assert one("EXPRESS_CHILD_INTEGRATION", value) == ["/States/S/ItemProcessor/States/Each/Resource"]


# ------------------------------------------------------------------ the table of codes


def test_users_find_every_code_in_the_documentation():
    text = (Path(__file__).parents[4] / "docs" / "diagnostics.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^\| `([A-Z_]+)` \| (.+?) \|", text, re.MULTILINE))
    for code, sentence in {**SERVICE_CODES, **LINT_CODES}.items():
        assert documented.get(code) == sentence
    assert set(documented) - {"INVALID_JSON_DESCRIPTION"} == set(SERVICE_CODES) | set(LINT_CODES)


def test_suggestions_have_a_budget():
    value = machine("S", {f"Comment{index}": 1 for index in range(150)}, S=DONE)
    hints = [d.hint for d in lints(value, "UNKNOWN_FIELD")]
    assert len(hints) == 150
    assert sum(hint is not None for hint in hints) == 100


def test_suggestions():
    assert closest("notifyalerts", ["NotifyAlerts", "Other"]) == "NotifyAlerts"
    assert closest("x" * 200, ["x" * 200]) is None
    assert closest("abc", ["xyz"]) is None
