"""Query languages, expressions, templates and paths."""

from __future__ import annotations

import pytest

from tests.unit.asl.definitions import (
    choice,
    compared,
    distributed,
    found,
    jsonata,
    machine,
    messages,
    passing,
    task,
    warnings,
)

# ------------------------------------------------------------------ query languages


def test_fields_of_the_other_language():
    message = "The QueryLanguage is set to '{}', but field '{}' is only supported for the '{}' QueryLanguage"
    assert messages(passing(Output=1)) == [(message.format("JSONPath", "Output", "JSONata"), "/States/S")]
    assert messages(jsonata(passing(Result=1))) == [(message.format("JSONata", "Result", "JSONPath"), "/States/S")]
    catcher = {"ErrorEquals": ["E"], "Next": "A", "ResultPath": "$.e"}
    assert messages(jsonata(task(Catch=[catcher]))) == [
        (message.format("JSONata", "ResultPath", "JSONPath"), "/States/S/Catch[0]")
    ]
    batcher = {"MaxItemsPerBatchPath": "$.n"}
    assert (message.format("JSONata", "MaxItemsPerBatchPath", "JSONPath"), "/States/S/ItemBatcher") in messages(
        jsonata(distributed(ItemBatcher=batcher))
    )


def test_a_jsonpath_state_in_a_jsonata_machine_is_refused():
    message = "'QueryLanguage' can not be 'JSONPath' if set to 'JSONata' for whole state machine"
    state = passing(QueryLanguage="JSONPath", Result=1)
    assert messages(state, QueryLanguage="JSONata") == [(message, "/States/S")]


def test_inner_states_take_the_machines_language_not_the_maps():
    processor = {"StartAt": "I", "States": {"I": passing(Output=1)}}
    found_messages = messages(jsonata({"Type": "Map", "ItemProcessor": processor, "End": True}))
    assert [place for _message, place in found_messages] == ["/States/S/ItemProcessor/States/I"]


def test_an_item_processor_has_no_query_language():
    processor = {"StartAt": "I", "States": {"I": passing()}, "QueryLanguage": "JSONata"}
    state = {"Type": "Map", "ItemProcessor": processor, "End": True}
    assert messages(state) == [("Field 'QueryLanguage' is not supported", "/States/S/ItemProcessor")]


def test_an_unknown_language_counts_as_jsonata_beside_its_own_error():
    assert messages(passing(QueryLanguage="jsonpath", Output=1)) == [
        ("Value must be one of: [JSONPath, JSONata]", "/States/S/QueryLanguage")
    ]


@pytest.mark.parametrize(
    ("state", "code", "message", "place"),
    [
        (
            passing(Output={"v": "{% phone %}"}),
            "UNSUPPORTED_JSONATA_EXPRESSION",
            "Reference to 'phone' at the top level is not supported.",
            "/Output/v",
        ),
        (
            passing(Output="{% $$ %}"),
            "UNSUPPORTED_JSONATA_EXPRESSION",
            "Reference to '$$' is not supported.",
            "/Output",
        ),
        (
            passing(Output=[1, "{% $states.errorOutput %}"]),
            "UNSUPPORTED_JSONATA_EXPRESSION",
            "Field '$states.errorOutput' does not exist.",
            "/Output[1]",
        ),
        (
            passing(Output="{% $states.result %}"),
            "UNSUPPORTED_JSONATA_EXPRESSION",
            "Field '$states.result' does not exist.",
            "/Output",
        ),
        (
            task(Arguments="{% $states.result %}"),
            "UNSUPPORTED_JSONATA_EXPRESSION",
            "Field '$states.result' does not exist.",
            "/Arguments",
        ),
        (
            task(Catch=[{"ErrorEquals": ["E"], "Next": "A", "Output": "{% $states.result %}"}]),
            "UNSUPPORTED_JSONATA_EXPRESSION",
            "Field '$states.result' does not exist.",
            "/Catch[0]/Output",
        ),
        (passing(Output="{% 1 + %}"), "INVALID_JSONATA_EXPRESSION", "Unexpected end of expression", "/Output"),
        (passing(Output="{%  %}"), "INVALID_JSONATA_EXPRESSION", "Unexpected end of expression", "/Output"),
        (passing(Output="{% 1"), "INVALID_JSONATA_EXPRESSION", "A JSONata expression must end with '%}'", "/Output"),
        (passing(Output="1 %}"), "INVALID_JSONATA_EXPRESSION", "A JSONata expression must begin with '{%'", "/Output"),
        (passing(Output="{%}"), "INVALID_JSONATA_EXPRESSION", "A JSONata expression must end with '%}'", "/Output"),
        (
            {"Type": "Wait", "Seconds": "{% 1", "End": True},
            "INVALID_JSONATA_EXPRESSION",
            "A JSONata expression must end with '%}'",
            "/Seconds",
        ),
    ],
)
def test_jsonata_expressions(state, code, message, place):
    assert found(machine(jsonata(state))) == [(code, message, "/States/S" + place)]


def test_states_fields_that_are_there():
    catcher = {
        "ErrorEquals": ["E"],
        "Next": "A",
        "Output": "{% $states.errorOutput.Cause %}",
        "Assign": {"e": "{% $states.errorOutput %}"},
    }
    state = task(Output="{% $states.result %}", Assign={"r": "{% $states.result %}"}, Catch=[catcher])
    assert found(machine(jsonata(state))) == []


def test_all_of_states_may_stand_anywhere():
    assert found(machine(jsonata(passing(Output="{% $states %}")))) == []


# ------------------------------------------------------------------ templates

CALL_MESSAGE = "The value for the field 'x.$' must be a valid JSONPath or a valid intrinsic function call"


@pytest.mark.parametrize("value", ["text", "$.a[", "States.Nope()", "States.Format('\\\"')", 5, None, {"a": 1}, ""])
def test_template_members_must_be_paths_or_calls(value):
    assert messages(passing(Parameters={"x.$": value})) == [(CALL_MESSAGE, "/States/S/Parameters")]
    nested = {"deep": [{"x.$": value}]}
    assert messages(task(ResultSelector=nested)) == [(CALL_MESSAGE, "/States/S/ResultSelector/deep[0]")]


def test_members_that_meet_after_stripping():
    message = "There should only be one of the following fields: [x, x.$]"
    assert messages(passing(Assign={"x": 1, "x.$": "$.a"})) == [(message, "/States/S/Assign")]


@pytest.mark.parametrize("value", ["$.a", "$", "$['a b']", "$..a[0]", "$v.x", "$$.Execution.Id", "States.UUID()"])
def test_good_template_members(value):
    assert messages(passing(Parameters={"x.$": value})) == []


@pytest.mark.parametrize(
    ("state", "place"),
    [
        (passing(Parameters={"x": "$.a"}), "/States/S/Parameters/x"),
        (passing(Parameters={"d": {"x": "$$.Task.Token"}}), "/States/S/Parameters/d/x"),
        (task(ResultSelector={"x": "States.UUID()"}), "/States/S/ResultSelector/x"),
    ],
)
def test_no_dollar(state, place):
    assert [d.location for d in warnings(state, "NO_DOLLAR")] == [place]


@pytest.mark.parametrize("value", ["$5.00", "US$", "a $.b", "${Name}", "$.", "cost: $"])
def test_no_dollar_stays_quiet(value):
    assert warnings(passing(Parameters={"x": value}), "NO_DOLLAR") == []


@pytest.mark.parametrize(
    ("state", "place"),
    [
        ({"Type": "Fail", "Cause": "$.cause"}, "/States/S/Cause"),
        ({"Type": "Wait", "Timestamp": "$.at", "End": True}, "/States/S/Timestamp"),
        ({"Type": "Wait", "Seconds": "$.s", "End": True}, "/States/S/Seconds"),
        (choice(compared(StringEquals="$.other")), "/States/S/Choices[0]/StringEquals"),
    ],
)
def test_no_path(state, place):
    assert [d.location for d in warnings(state, "NO_PATH")] == [place]


def test_pass_result_is_static():
    state = passing(Result={"a": ["$.x", 1], "b.$": "States.UUID()", "c": {"d": "text"}})
    places = [d.location for d in warnings(state, "PASS_RESULT_IS_STATIC")]
    assert places == ["/States/S/Result/a[0]", "/States/S/Result/b.$"]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"InputPath": "$.fields[?(@.Name==Receipt)]"}, "/States/S/InputPath"),
        ({"Parameters": {"x.$": "$.fields[?(@.Name==Receipt)]"}}, "/States/S/Parameters/x.$"),
        ({"Parameters": {"x.$": "States.ArrayLength($.fields[?(@.Name==Receipt)])"}}, "/States/S/Parameters/x.$"),
    ],
)
def test_a_filter_that_compares_with_text_without_quotes_is_taken_with_a_warning(fields, place):
    (warning,) = warnings(passing(**fields), "UNQUOTED_TEXT")
    assert warning.location == place
    assert warning.message == "A filter compares with a text without quotes, which is read as 'Receipt'"


def test_a_filter_with_quotes_earns_no_warning():
    assert warnings(passing(InputPath="$.fields[?(@.Name=='Receipt')]"), "UNQUOTED_TEXT") == []
