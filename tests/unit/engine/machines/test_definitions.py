"""What the API says of a definition."""

import json
from typing import Any

import pytest

from statewright.engine.machines.definitions import check_definition, findings_of
from statewright.errors import ApiError


def machine(**states: Any) -> Any:
    return json.dumps({"StartAt": next(iter(states)), "States": states})


def said(text: Any, machine_type: Any = "STANDARD") -> Any:
    with pytest.raises(ApiError) as caught:
        check_definition(text, machine_type)
    assert caught.value.code == "InvalidDefinition"
    return caught.value.message


def test_all_errors_are_joined_each_with_its_code_and_place() -> None:
    text = machine(a={"Type": "Pass", "Next": "c"}, b={"Type": "Pass", "End": True})
    assert said(text) == (
        "Invalid State Machine Definition: 'MISSING_TRANSITION_TARGET: Missing 'Next' target: c at /States/a/Next, "
        'MISSING_TRANSITION_TARGET: State "b" is not reachable. at /States/b\''
    )


def test_what_has_no_place_is_at_null() -> None:
    assert said(machine(a={"Type": "Pass", "Next": "a"})) == (
        "Invalid State Machine Definition: 'MISSING_END_STATE: Workflow has no terminal state at null'"
    )


def test_a_text_that_is_no_json_is_said_in_the_words_of_the_parser() -> None:
    reason = (
        "Unrecognized token 'nonsense': was expecting (JSON String, Number, Array, Object or token 'null', 'true' "
        "or 'false')\n at [Source: (String)\"nonsense\"; line: 1, column: 9]"
    )
    assert said("nonsense") == f"Invalid State Machine Definition: 'INVALID_JSON_DESCRIPTION: {reason}'"
    assert findings_of("nonsense", "STANDARD") == [
        {
            "severity": "ERROR",
            "code": "INVALID_JSON_DESCRIPTION",
            "message": reason,
            "location": '[Source: (String)"nonsense"; line: 1, column: 9]',
        }
    ]


def test_a_blank_text() -> None:
    assert findings_of(" ", "STANDARD") == [
        {
            "severity": "ERROR",
            "code": "SCHEMA_VALIDATION_FAILED",
            "message": "Definition must be a valid JSON object",
        }
    ]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"StartAt": "a", "StartAt": "b"}', 'found "StartAt" a second time'),
        ('{"StartAt": "a"} x', "after the end of the value"),
    ],
)
def test_what_only_we_refuse_is_said_in_our_words(text: Any, part: Any) -> None:
    message = said(text)
    assert message.startswith("Invalid State Machine Definition: 'INVALID_JSON_DESCRIPTION: found")
    assert part in message
    assert "line 1, column" in message


def test_placeholders_and_yaml_are_no_definitions() -> None:
    assert "Unrecognized token '$'" in said('{"StartAt": ${Start}}')
    assert "INVALID_JSON_DESCRIPTION" in said("StartAt: a\nStates: {}")


def test_the_type_matters() -> None:
    text = machine(
        a={
            "Type": "Task",
            "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
            "Parameters": {"QueueUrl": "q", "MessageBody.$": "$$.Task.Token"},
            "End": True,
        }
    )
    check_definition(text, "STANDARD")
    assert "Express state machine does not support '.waitForTaskToken'" in said(text, "EXPRESS")


def test_warnings_and_lints_do_not_stop_anybody() -> None:
    text = machine(a={"Type": "Pass", "Parameters": {"x": "$.y"}, "Unknown": 1, "End": True})
    codes = {(finding["severity"], finding["code"]) for finding in findings_of(text, "STANDARD")}
    assert ("WARNING", "NO_DOLLAR") in codes
    check_definition(machine(a={"Type": "Pass", "Parameters": {"x": "$.y"}, "End": True}), "STANDARD")
