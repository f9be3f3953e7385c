"""The machine, its states and their fields; what all findings share."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.asl.reader import read_document
from statewright.asl.validate import validate, validate_value
from tests.unit.asl.definitions import (
    FUNCTION,
    SCHEMA,
    TARGET,
    choice,
    compared,
    distributed,
    flow,
    found,
    inline,
    jsonata,
    machine,
    messages,
    passing,
    task,
)

# ------------------------------------------------------------------ the machine


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "text", [], [{}]])
def test_only_an_object_is_a_definition(value):
    assert found(value) == [(SCHEMA, "Definition must be a valid JSON object", None)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, [(SCHEMA, "These fields are required: [States, StartAt]", "/")]),
        ({"States": {"A": {"Type": "Succeed"}}}, [(SCHEMA, "These fields are required: [StartAt]", "/")]),
        ({"StartAt": "A"}, [(SCHEMA, "These fields are required: [States]", "/")]),
        ({"StartAt": "A", "States": []}, [(SCHEMA, "Value must be an object", "/States")]),
        (
            {"StartAt": "A", "States": {}},
            [(SCHEMA, "Value cannot be empty", "/States"), (TARGET, "Missing 'Next' target: A", "/StartAt")],
        ),
        ({"StartAt": 1, "States": {"A": {"Type": "Succeed"}}}, [(SCHEMA, "Value must be a string", "/StartAt")]),
        ({"StartAt": "A", "States": {"A": 7}}, [(SCHEMA, "Value must be an object", "/States/A")]),
    ],
)
def test_the_frame_of_a_machine(value, expected):
    assert found(value) == expected


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        ({"TimeoutSeconds": 0}, "Minimum value is 1"),
        ({"TimeoutSeconds": 99_999_999}, "Maximum value is 99999998"),
        ({"TimeoutSeconds": "10"}, "Value must be an integer"),
        ({"TimeoutSeconds": True}, "Value must be an integer"),
        ({"TimeoutSeconds": 1.5}, "Value must be an integer"),
        ({"Version": 1}, "Value must be a string"),
        ({"QueryLanguage": "JSON"}, "Value must be one of: [JSONPath, JSONata]"),
    ],
)
def test_fields_of_the_machine(top, expected):
    assert messages({"Type": "Succeed"}, **top) == [(expected, "/" + next(iter(top)))]


def test_the_machine_takes_its_fields_and_any_comment():
    top = {"Comment": ["any"], "Version": "1.0", "TimeoutSeconds": 99_999_998, "QueryLanguage": "JSONata"}
    assert messages({"Type": "Succeed"}, **top) == []


def test_too_deep_nesting_is_one_finding():
    value: dict[str, Any] = passing()
    for index in range(10_000):
        branch = {"StartAt": f"S{index}", "States": {f"S{index}": value}}
        value = {"Type": "Parallel", "Branches": [branch], "End": True}
    diagnostics = validate_value({"StartAt": "S", "States": {"S": value}})
    assert [d.code for d in diagnostics] == ["TOO_DEEPLY_NESTED"]
    assert diagnostics[0].location is not None


def test_nesting_below_the_limit_is_fine():
    value: dict[str, Any] = passing()
    for index in range(40):
        branch = {"StartAt": f"S{index}", "States": {f"S{index}": value}}
        value = {"Type": "Parallel", "Branches": [branch], "End": True}
    assert found({"StartAt": "S", "States": {"S": value}}) == []


# ------------------------------------------------------------------ fields of states

VALID_STATES = [
    task(),
    task(TimeoutSeconds=60, HeartbeatSeconds=10, Retry=[], Catch=[]),
    task(TimeoutSecondsPath="$.t", HeartbeatSecondsPath="$$.Execution.Input.h"),
    task(InputPath=None, OutputPath="$.a[?(@.b == 1)]", ResultPath=None, Parameters={"x.$": "$$.Task.Token"}),
    task(InputPath="$$.Execution", ResultPath="$.a.b[0]", ResultSelector={"n.$": "States.MathAdd($.a, 1)"}),
    task(Credentials={"RoleArn": "arn:aws:iam::000000000000:role/r"}),
    task(Credentials={"RoleArn.$": "$.role"}),
    task(Comment={"free": ["form"]}),
    jsonata(task(TimeoutSeconds="{% $states.input.t %}", Arguments="{% $states.input %}", Output={"a": [1]})),
    jsonata(task(Credentials={"RoleArn": "{% $states.input.role %}"}, Assign={"x": "{% $states.result %}"})),
    jsonata(task(Credentials="{% $states.input.credentials %}")),
    {"Type": "Task", "Resource": FUNCTION, "End": False, "Next": "A"},
    passing(Result=None),
    passing(Parameters=[1, {"a.$": "$.a"}], ResultPath="$", Assign={"x.$": "$.x", "y": 1}),
    jsonata(passing(Output="{% $states.input %}")),
    {"Type": "Wait", "Seconds": 0, "End": True},
    {"Type": "Wait", "SecondsPath": "$.s", "End": True},
    {"Type": "Wait", "Timestamp": "2030-01-01T00:00:00.123+02:00", "End": True},
    {"Type": "Wait", "TimestampPath": "$$.Execution.StartTime", "End": True, "Assign": {"a": 1}},
    jsonata({"Type": "Wait", "Timestamp": "{% $states.input.at %}", "End": True}),
    jsonata({"Type": "Wait", "Seconds": "{% 5 %}", "End": True, "Output": {}}),
    {"Type": "Succeed", "InputPath": "$.a", "OutputPath": None},
    jsonata({"Type": "Succeed", "Output": "plain"}),
    {"Type": "Fail"},
    {"Type": "Fail", "Error": "E", "CausePath": "States.Format('{}', $.c)"},
    {"Type": "Fail", "ErrorPath": "$$.State.Name", "Cause": ""},
    jsonata({"Type": "Fail", "Error": "{% $states.input.e %}"}),
    {"Type": "Parallel", "Branches": [{"StartAt": "X", "States": {"X": passing()}}], "End": True},
    inline(),
    {"Type": "Map", "Iterator": {"StartAt": "I", "States": {"I": passing()}}, "Parameters": {}, "End": True},
    inline(ItemsPath="$$.Execution.Input.items", ItemSelector={"v.$": "$$.Map.Item.Value"}, MaxConcurrency=0),
    inline(MaxConcurrencyPath="$.n"),
    jsonata(inline(Items=[1, "{% $states.input %}"], MaxConcurrency="{% 2 %}", ItemSelector={})),
    jsonata(inline(Items="{% $states.input %}")),
    distributed(
        Label="nightly",
        ToleratedFailurePercentage=12.5,
        ToleratedFailureCount=0,
        ItemReader={
            "Resource": "arn:aws:states:::s3:getObject",
            "Parameters": {"Bucket": "b", "Key.$": "$.key"},
            "ReaderConfig": {"InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": ["a"], "MaxItems": 5},
        },
        ItemBatcher={"MaxItemsPerBatch": 10, "BatchInput": {"k.$": "$.k"}},
        ResultWriter={"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "b", "Prefix": "p"}},
    ),
    distributed(ResultWriter={"WriterConfig": {"Transformation": "FLATTEN", "OutputType": "JSONL"}}),
    distributed(
        ItemReader={
            "Resource": "arn:aws:states:::s3:listObjectsV2",
            "ReaderConfig": {"Transformation": "LOAD_AND_FLATTEN", "InputType": "JSON", "ItemsPointer": "/a"},
        }
    ),
    jsonata(distributed(Items={"a": 1})),
    choice(compared(IsPresent=True), compared(StringEqualsPath="$$.Execution.Name")),
    choice(compared(NumericLessThanEquals=1.5, Comment="c", Assign={"x": 1}), Assign={"y.$": "$.y"}),
    choice(
        {"And": [{"Variable": "$.x", "IsNull": True}, {"Not": {"Variable": "$v.y", "IsString": False}}], "Next": "A"}
    ),
    choice({"Or": [{"Variable": "$.x[0]", "TimestampLessThan": "2030-01-01T00:00:00Z"}], "Next": "A"}),
    jsonata(choice({"Condition": "{% $states.input.ok %}", "Next": "A", "Output": 1, "Assign": {"a": 1}})),
    jsonata(choice({"Condition": True, "Next": "A"})),
]


@pytest.mark.parametrize("state", VALID_STATES, ids=lambda state: json.dumps(state)[:60])
def test_valid_states_have_no_errors(state):
    assert found(machine(state)) == []


@pytest.mark.parametrize(
    ("state", "message", "place"),
    [
        ({"End": True}, "These fields are required: [Type]", ""),
        (
            {"Type": "Tusk", "End": True},
            "Value must be one of: [Task, Parallel, Map, Pass, Wait, Choice, Succeed, Fail]",
            "/Type",
        ),
        ({"Type": 5}, "Value must be one of: [Task, Parallel, Map, Pass, Wait, Choice, Succeed, Fail]", "/Type"),
        ({"Type": "Task", "End": True}, "These fields are required: [Resource]", ""),
        ({"Type": "Pass"}, "One of the following fields is required: [Next, End]", ""),
        ({"Type": "Pass", "End": False}, "One of the following fields is required: [Next, End]", ""),
        (passing(Next="A"), "There should only be one of the following fields: [Next, End]", ""),
        (passing(End="true"), "Value must be a boolean", "/End"),
        (passing(InputPath=5), "Value must be a valid JSONPath.", "/InputPath"),
        (passing(OutputPath="a.b"), "Value must be a valid JSONPath.", "/OutputPath"),
        (passing(OutputPath="$.a["), "Value must be a valid JSONPath.", "/OutputPath"),
        (passing(ResultPath="a"), "Value is not a Reference Path: Reference path didn't start with '$'", "/ResultPath"),
        (passing(ResultPath=3), "Value is not a Reference Path", "/ResultPath"),
        (passing(ResultPath="$.a[*]"), "Value is not a Reference Path", "/ResultPath"),
        (passing(ResultPath="$.a["), "Value is not a Reference Path", "/ResultPath"),
        (passing(ResultPath="$$.a"), "Value is not a Reference Path", "/ResultPath"),
        (passing(ResultPath="$name.a"), "Value is not a Reference Path", "/ResultPath"),
        (passing(Retry=[]), "Field 'Retry' is not supported", ""),
        (passing(Nonsense=1), "Field 'Nonsense' is not supported", ""),
        (passing(Assign=[]), "Value must be an object", "/Assign"),
        ({"Type": "Succeed", "End": True}, "Field 'End' is not supported", ""),
        ({"Type": "Fail", "OutputPath": "$"}, "Field 'OutputPath' is not supported", ""),
        ({"Type": "Fail", "Error": 5}, "Value must be a string", "/Error"),
        ({"Type": "Fail", "Error": "e" * 257}, "Maximum length is 256", "/Error"),
        ({"Type": "Fail", "Cause": "c" * 32_769}, "Maximum length is 32768", "/Cause"),
        (
            {"Type": "Fail", "Error": "E", "ErrorPath": "$.e"},
            "There should only be one of the following fields: [Error, ErrorPath]",
            "",
        ),
        (
            {"Type": "Fail", "CausePath": "States.Nonsense()"},
            "The value for the field 'CausePath' must be a valid JSONPath or a valid intrinsic function call",
            "/CausePath",
        ),
        ({"Type": "Fail", "CausePath": "$.a.*"}, "Value is not a Reference Path", "/CausePath"),
        (task(TimeoutSeconds=0), "Minimum value is 1", "/TimeoutSeconds"),
        (task(TimeoutSeconds=100_000_000), "Maximum value is 99999999", "/TimeoutSeconds"),
        (
            task(TimeoutSeconds=1, TimeoutSecondsPath="$.t"),
            "There should only be one of the following fields: [TimeoutSeconds, TimeoutSecondsPath]",
            "",
        ),
        (task(Credentials={}), "The field 'RoleArn' is required but was missing", "/Credentials"),
        (task(Credentials="role"), "Value must be an object", "/Credentials"),
        (task(Credentials={"RoleArn": "r", "Rule": 1}), "Field 'Rule' is not supported", "/Credentials"),
        ({"Type": "Parallel", "Branches": [], "End": True}, "Value cannot be empty", "/Branches"),
        ({"Type": "Parallel", "Branches": {}, "End": True}, "Value must be an array", "/Branches"),
        ({"Type": "Parallel", "Branches": [1], "End": True}, "Value must be an object", "/Branches[0]"),
        (
            {"Type": "Parallel", "Branches": [{}], "End": True},
            "These fields are required: [States, StartAt]",
            "/Branches[0]",
        ),
        ({"Type": "Parallel", "End": True}, "These fields are required: [Branches]", ""),
        (
            {"Type": "Wait", "End": True},
            "One of the following fields is required: [Seconds, SecondsPath, Timestamp, TimestampPath]",
            "",
        ),
        (
            jsonata({"Type": "Wait", "End": True}),
            "One of the following fields is required: [Seconds, Timestamp]",
            "",
        ),
        (
            {"Type": "Wait", "Seconds": 1, "TimestampPath": "$.t", "End": True},
            "There should only be one of the following fields: [Seconds, TimestampPath]",
            "",
        ),
        ({"Type": "Wait", "Seconds": -1, "End": True}, "Minimum value is 0", "/Seconds"),
        ({"Type": "Wait", "Seconds": 1.5, "End": True}, "Value must be an integer", "/Seconds"),
        ({"Type": "Wait", "Seconds": "5", "End": True}, "Value must be an integer", "/Seconds"),
        ({"Type": "Wait", "Timestamp": 5, "End": True}, "String does not match RFC3339 timestamp", "/Timestamp"),
    ],
)
def test_broken_states(state, message, place):
    assert (message, "/States/S" + place) in messages(state)


@pytest.mark.parametrize(
    "text",
    [
        "2030-01-01 00:00:00Z",
        "2030-01-01T24:01:00Z",
        "01-01-2030T00:00:00Z",
        "2030-01-01T00:00:00",
        "2030-02-30T00:00:00Z",
        "2030-01-01t00:00:00Z",
        "{% '2030-01-01T00:00:00Z' %}",
    ],
)
def test_timestamps(text):
    state = {"Type": "Wait", "Timestamp": text, "End": True}
    assert messages(state) == [("String does not match RFC3339 timestamp", "/States/S/Timestamp")]


# ------------------------------------------------------------------ placeholders, positions, order


def test_placeholders_are_taken_for_anything():
    states = {
        "S": {
            "Type": "Task",
            "Resource": "${Fn}",
            "TimeoutSeconds": "${Timeout}",
            "InputPath": "${Path}",
            "ResultPath": "${Path}",
            "Parameters": {"a.$": "${Path}", "b": "${B}"},
            "Retry": [{"ErrorEquals": ["${Error}"], "MaxAttempts": "${N}"}, "${Retrier}"],
            "Credentials": "${Credentials}",
            "Next": "${Target}",
            "Catch": "${Catch}",
        },
        "W": {"Type": "Wait", "Timestamp": "${At}", "End": "${End}"},
        "M": {"Type": "Map", "ItemProcessor": "${P}", "Label": "${L}", "End": True},
        "P": {"Type": "Parallel", "Branches": "${P}", "End": True},
        "C": {"Type": "Choice", "Choices": ["${Rule}", {"Not": "${R}", "Next": "W"}], "Default": "${D}"},
        "D": {"Type": "Choice", "Choices": "${Rules}", "Default": "W"},
        "X": "${State}",
        "Q": {"Type": "${Type}", "QueryLanguage": "${Language}"},
        "R": distributed(ItemReader={"Resource": "${R}"}, ResultWriter="${W}"),
    }
    assert found({"StartAt": "${Start}", "TimeoutSeconds": "${T}", "States": states}) == []


def test_positions_come_from_the_document():
    text = (
        '{"StartAt": "A",\n "States": {\n  "A": {"Type": "Pass",\n        "Next": "B"},\n  "C": {"Type": "Succeed"}}}'
    )
    diagnostics = validate(read_document(text), lints=False)
    assert [(d.line, d.column) for d in diagnostics] == [(4, 17), (5, 8)]
    no_end = validate(read_document('{"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "A"}}}'), lints=False)
    assert [(d.location, d.line, d.column) for d in no_end] == [(None, 0, 0)]


def test_everything_is_said_at_once_and_service_findings_come_first():
    value = flow(
        "Check",
        Check=choice(compared(NumericGreaterThan="0", Next="Gone")),
        B={"Type": "Succeed"},
        Lost=task(Resource="nope"),
    )
    value["Unheard"] = 1
    codes = [d.code for d in validate_value(value)]
    assert codes == [SCHEMA, SCHEMA, TARGET, TARGET, "UNKNOWN_FIELD"]
    assert [d.code for d in validate_value(value, lints=False)] == codes[:-1]


@pytest.mark.parametrize(
    ("state", "hint"),
    [
        (task(Resuorce=1), "did you mean Resource?"),
        (task(resultPath="$"), "did you mean ResultPath?"),
        ({"Type": "task", "Resource": FUNCTION, "End": True}, "did you mean Task?"),
        (choice(compared(StringEqual="a")), "did you mean StringEquals?"),
        (task(Retry=[{"ErrorEquals": ["E"], "MaxAttempt": 1}]), "did you mean MaxAttempts?"),
    ],
)
def test_misspelt_fields_are_suggested(state, hint):
    assert hint in [d.hint for d in validate_value(machine(state))]
