"""Entries of Choices, Retry and Catch."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.asl.reader import read_document
from statewright.asl.validate import validate, validate_value
from tests.unit.asl.definitions import choice, compared, jsonata, machine, messages, task

# ------------------------------------------------------------------ Choice


@pytest.mark.parametrize(
    ("state", "message", "place"),
    [
        ({"Type": "Choice"}, "These fields are required: [Choices]", ""),
        ({"Type": "Choice", "Choices": {}}, "Value must be an array", "/Choices"),
        ({"Type": "Choice", "Choices": []}, "Value cannot be empty", "/Choices"),
        (choice(5), "Value must be an object", "/Choices[0]"),
        (choice({"Variable": "$.x", "IsNull": True}), "These fields are required: [Next]", "/Choices[0]"),
        (choice({"IsNull": True, "Next": "A"}), "These fields are required: [Variable]", "/Choices[0]"),
        (choice(compared()), "A Choice rule needs a comparison operator, And, Or or Not", "/Choices[0]"),
        (
            choice(compared(IsNull=True, IsString=True)),
            "There should only be one of the following fields: [IsNull, IsString]",
            "/Choices[0]",
        ),
        (choice(compared(IsNul=True)), "Field 'IsNul' is not supported", "/Choices[0]"),
        (
            choice({"Variable": "x", "IsNull": True, "Next": "A"}),
            "Value is not a Reference Path: Reference path didn't start with '$'",
            "/Choices[0]/Variable",
        ),
        (
            choice({"Variable": "$..x", "IsNull": True, "Next": "A"}),
            "Value is not a Reference Path",
            "/Choices[0]/Variable",
        ),
        (choice(compared(NumericEqualsPath="$.a.*")), "Value is not a Reference Path", "/Choices[0]/NumericEqualsPath"),
        (choice(compared(StringMatches=1)), "Value must be a string", "/Choices[0]/StringMatches"),
        (choice(compared(NumericEquals="1")), "Value must be a number", "/Choices[0]/NumericEquals"),
        (choice(compared(NumericEquals=True)), "Value must be a number", "/Choices[0]/NumericEquals"),
        (choice(compared(IsPresent="true")), "Value must be a boolean", "/Choices[0]/IsPresent"),
        (choice(compared(BooleanEquals=0)), "Value must be a boolean", "/Choices[0]/BooleanEquals"),
        (
            choice(compared(TimestampEquals="soon")),
            "String does not match RFC3339 timestamp",
            "/Choices[0]/TimestampEquals",
        ),
        (choice({"And": [], "Next": "A"}), "Value cannot be empty", "/Choices[0]/And"),
        (choice({"Or": {}, "Next": "A"}), "Value must be an array", "/Choices[0]/Or"),
        (choice({"Not": [], "Next": "A"}), "Value must be an object", "/Choices[0]/Not"),
        (choice({"Not": compared(IsNull=True), "Next": "A"}), "Field 'Next' is not supported", "/Choices[0]/Not"),
        (choice({"Or": [1], "Next": "A"}), "Value must be an object", "/Choices[0]/Or[0]"),
        (
            choice({"Or": [{"Variable": "$.x", "Nope": 1}], "Next": "A"}),
            "Field 'Nope' is not supported",
            "/Choices[0]/Or[0]",
        ),
        (
            choice({"Variable": "$.x", "Not": {"Variable": "$.x", "IsNull": True}, "Next": "A"}),
            "Field 'Variable' is not supported",
            "/Choices[0]",
        ),
        (choice(compared(IsNull=True), Next="A"), "Field 'Next' is not supported", ""),
        (jsonata(choice({"Next": "A"})), "These fields are required: [Condition]", "/Choices[0]"),
        (jsonata(choice({"Condition": "x", "Next": "A"})), "Value must be a boolean", "/Choices[0]/Condition"),
        (
            jsonata(choice(compared(IsNull=True, Condition=True))),
            "The QueryLanguage is set to 'JSONata', but field 'IsNull' is only supported "
            "for the 'JSONPath' QueryLanguage",
            "/Choices[0]",
        ),
    ],
)
def test_choice_rules(state, message, place):
    assert (message, "/States/S" + place) in messages(state)


@pytest.mark.parametrize(
    "rule",
    [{"Default": "A"}, {"Default": "A", "Comment": "else"}, compared(IsNull=True, Default="A")],
)
def test_a_default_indented_into_choices(rule):
    state = {"Type": "Choice", "Choices": [compared(IsNull=True), rule]}
    diagnostics = [d for d in validate_value(machine(state)) if d.severity == "ERROR"]
    assert [(d.message, d.location) for d in diagnostics] == [
        ("Field 'Default' is not supported", "/States/S/Choices[1]")
    ]
    assert "next to Choices" in str(diagnostics[0].hint)


def test_a_default_that_became_a_string():
    state = {"Type": "Choice", "Choices": [compared(IsNull=True), "Default: A"]}
    (diagnostic,) = [d for d in validate_value(machine(state)) if d.severity == "ERROR"]
    assert diagnostic.location == "/States/S/Choices[1]"
    assert "next to Choices" in str(diagnostic.hint)


def test_the_yaml_mistake_has_line_and_column():
    text = """
StartAt: Decide
States:
  Decide:
    Type: Choice
    Choices:
      - Variable: $.ok
        BooleanEquals: true
        Next: Done
      - Default: Again
  Again:
    Type: Wait
    Seconds: 60
    Next: Decide
  Done:
    Type: Succeed
"""
    errors = [d for d in validate(read_document(text, name="lock.yaml")) if d.severity == "ERROR"]
    assert [(d.line, d.column, d.pointer) for d in errors] == [(10, 9, "/States/Decide/Choices/1")]


# ------------------------------------------------------------------ Retry and Catch


@pytest.mark.parametrize(
    ("entry", "message", "place"),
    [
        (5, "Value must be an object", ""),
        ({}, "These fields are required: [ErrorEquals]", ""),
        ({"ErrorEquals": []}, "Value cannot be empty", "/ErrorEquals"),
        ({"ErrorEquals": "E"}, "Value must be an array of strings", "/ErrorEquals"),
        ({"ErrorEquals": [1]}, "Value must be an array of strings", "/ErrorEquals"),
        ({"ErrorEquals": ["E", "States.ALL"]}, "States.ALL must appear alone in ErrorEquals", "/ErrorEquals"),
        ({"ErrorEquals": ["E"], "IntervalSeconds": 0}, "Minimum value is 1", "/IntervalSeconds"),
        ({"ErrorEquals": ["E"], "IntervalSeconds": "{% 1 %}"}, "Value must be an integer", "/IntervalSeconds"),
        ({"ErrorEquals": ["E"], "MaxAttempts": -1}, "Minimum value is 0", "/MaxAttempts"),
        ({"ErrorEquals": ["E"], "MaxAttempts": 99_999_999}, "Maximum value is 99999998", "/MaxAttempts"),
        ({"ErrorEquals": ["E"], "BackoffRate": 0.5}, "Minimum value is 1.0", "/BackoffRate"),
        ({"ErrorEquals": ["E"], "MaxDelaySeconds": 0}, "Minimum value is 1", "/MaxDelaySeconds"),
        ({"ErrorEquals": ["E"], "MaxDelaySeconds": 31_622_401}, "Maximum value is 31622400", "/MaxDelaySeconds"),
        ({"ErrorEquals": ["E"], "JitterStrategy": "HALF"}, "Value must be one of: [NONE, FULL]", "/JitterStrategy"),
        ({"ErrorEquals": ["E"], "Next": "A"}, "Field 'Next' is not supported", ""),
    ],
)
@pytest.mark.parametrize("language", ["JSONPath", "JSONata"])
def test_retriers(entry, message, place, language):
    state = task(Retry=[entry], QueryLanguage=language)
    assert (message, "/States/S/Retry[0]" + place) in messages(state)


def test_good_retriers():
    retry = [
        {"ErrorEquals": ["E", "F"], "IntervalSeconds": 1, "MaxAttempts": 0, "BackoffRate": 1, "MaxDelaySeconds": 5},
        {"ErrorEquals": ["States.ALL"], "JitterStrategy": "FULL", "Comment": 1},
    ]
    assert messages(task(Retry=retry)) == []


@pytest.mark.parametrize("field", ["Retry", "Catch"])
def test_handlers_are_lists_and_all_comes_last(field):
    assert ("Value must be an array", f"/States/S/{field}") in messages(task(**{field: {}}))
    entries: list[dict[str, Any]] = [{"ErrorEquals": ["States.ALL"]}, {"ErrorEquals": ["E"]}]
    if field == "Catch":
        entries = [{**entry, "Next": "A"} for entry in entries]
    expected = ("States.ALL must appear in the last entry", f"/States/S/{field}[0]/ErrorEquals")
    assert messages(task(**{field: entries})) == [expected]


def test_catchers():
    assert ("These fields are required: [Next]", "/States/S/Catch[0]") in messages(task(Catch=[{"ErrorEquals": ["E"]}]))
    catcher = {"ErrorEquals": ["E"], "Next": "A", "MaxAttempts": 1}
    assert ("Field 'MaxAttempts' is not supported", "/States/S/Catch[0]") in messages(task(Catch=[catcher]))
    good = {"ErrorEquals": ["E"], "Next": "A", "ResultPath": None, "Assign": {"e.$": "$.Error"}}
    assert messages(task(Catch=[good])) == []
