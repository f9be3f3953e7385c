from __future__ import annotations

from typing import Any

import pytest

from statewright.asl.templates import (
    compile_dynamic,
    compile_jsonata,
    compile_jsonata_typed,
    compile_path_field,
    compile_template,
    expression_text,
    is_expression,
    type_name,
)
from statewright.errors import INTRINSIC_FAILURE, RUNTIME, EvaluationFailure, ExecutionFailure
from statewright.query.scope import Scope


def scope(data: Any = None, **variables: Any) -> Scope:
    return Scope(data, variables, lambda: {"State": {"Name": "S"}})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% 1 %}", True), ("{%1%}", True), ("{%%}", True), ("{%}", False), (" {% 1 %}", False), ("{% 1 %} ", False),
        ("{% 1", False), ("1 %}", False), ("", False), (1, False), (None, False), (["{% 1 %}"], False),
    ],
)  # fmt: skip
def test_is_expression(text: Any, expected: bool) -> None:
    assert is_expression(text) == expected


def test_expression_text() -> None:
    assert expression_text("{%  $x + 1\n%}") == "$x + 1"


@pytest.mark.parametrize(
    ("value", "name"),
    [({}, "object"), ([], "array"), ("", "string"), (True, "boolean"), (1, "number"), (1.5, "number"), (None, "null")],
)
def test_type_names(value: Any, name: str) -> None:
    assert type_name(value) == name


class TestPathFields:
    def test_reads(self) -> None:
        reads: set[str] = set()
        assert compile_path_field("$v.a", reads)(scope(v={"a": 1})) == 1
        assert compile_path_field("$$.State.Name", reads)(scope()) == "S"
        assert compile_path_field("$.l[*]", reads)(scope({"l": [1]})) == [1]
        assert reads == {"v"}

    @pytest.mark.parametrize(
        ("path", "detail"),
        [("$.no", "No results for path: $['no']"), ("$.no.deeper", "Missing property in path $['no']")],
    )
    def test_nothing_there(self, path: str, detail: str) -> None:
        with pytest.raises(ExecutionFailure) as failure:
            compile_path_field(path, set())(scope({}))
        assert (failure.value.error, failure.value.cause) == (RUNTIME, f"Invalid path '{path}' : {detail}")


class TestTemplates:
    @pytest.mark.parametrize(
        ("template", "expected"),
        [
            ({}, {}),
            ([], []),
            (5, 5),
            ("$.a", "$.a"),
            (None, None),
            ({"k": "$.a"}, {"k": "$.a"}),
            ({"k.$": "$.a"}, {"k": 1}),
            ({"k.$": "$.a", "m": [1]}, {"k": 1, "m": [1]}),
            ({"o": {"i": {"k.$": "$.a"}}}, {"o": {"i": {"k": 1}}}),
            ([{"k.$": "$.a"}, "$.a", ["$.a", {"m.$": "$.l"}]], [{"k": 1}, "$.a", ["$.a", {"m": [7]}]]),
            ({"k.$": "$v"}, {"k": 2}),
            ({"k.$": "$$.State.Name"}, {"k": "S"}),
            ({"k.$": "States.Format('{}!', $.a)"}, {"k": "1!"}),
            ({"k.$": "$.l[5]"}, {"k": None}),
            ({"k.$": "$.l[?(@ > 9)]"}, {"k": []}),
            ({".$": "$.a"}, {"": 1}),
        ],
    )
    def test_gives(self, template: Any, expected: Any) -> None:
        assert compile_template(template, set())(scope({"a": 1, "l": [7]}, v=2)) == expected

    def test_keeps_the_order_of_members(self) -> None:
        template = {"z.$": "$", "a": 1, "m.$": "$"}
        assert list(compile_template(template, set())(scope(0))) == ["z", "a", "m"]

    def test_shares_what_is_constant_and_what_it_reads(self) -> None:
        constant = {"deep": [1]}
        data = {"a": [1]}
        evaluate = compile_template({"c": constant, "d.$": "$.a"}, set())
        first, second = evaluate(scope(data)), evaluate(scope(data))
        assert first is not second
        assert first["c"] is second["c"] is constant
        assert first["d"] is data["a"]

    def test_notes_the_variables_it_reads(self) -> None:
        reads: set[str] = set()
        compile_template({"a.$": "$x.y", "b": [{"c.$": "States.Format('{}', $z)"}], "d.$": "$.l[?(@ == 1)]"}, reads)
        assert reads == {"x", "z"}

    def test_nothing_there(self) -> None:
        with pytest.raises(ExecutionFailure) as failure:
            compile_template({"a": {"k.$": "$.no"}}, set())(scope({"x": 1}))
        assert failure.value.error == RUNTIME
        assert failure.value.cause == (
            "The JSONPath '$.no' specified for the field 'k.$' could not be found in the input '{\"x\":1}'"
        )

    def test_a_huge_input_is_cut(self) -> None:
        with pytest.raises(ExecutionFailure) as failure:
            compile_template({"k.$": "$.no"}, set())(scope({"x": "y" * 5_000}))
        assert failure.value.cause.endswith("yyy...'")
        assert len(failure.value.cause) < 2_200

    def test_a_deep_template(self) -> None:
        template: Any = {"k.$": "$"}
        expected: Any = {"k": 1}
        for _ in range(190):
            template, expected = {"d": template}, {"d": expected}
        assert compile_template(template, set())(scope(1)) == expected


class TestIntrinsics:
    def test_its_failures_name_the_function(self) -> None:
        text = "States.ArrayGetItem($.l, 5)"
        with pytest.raises(ExecutionFailure) as failure:
            compile_dynamic("k.$", text, set())(scope({"l": [1]}))
        assert failure.value.error == INTRINSIC_FAILURE
        assert failure.value.cause.startswith(f"The function '{text}' had the following error: ")

    def test_a_path_within_that_finds_nothing(self) -> None:
        text = "States.Format('{}', $.no)"
        with pytest.raises(ExecutionFailure) as failure:
            compile_dynamic("k.$", text, set())(scope({"x": 1}))
        assert failure.value.error == RUNTIME
        assert "'$.no' could not be found in the input '{\"x\":1}'" in failure.value.cause

    def test_other_failures_pass_as_they_are(self) -> None:
        deep: Any = 1
        for _ in range(600):
            deep = [deep]
        with pytest.raises(ExecutionFailure):
            compile_dynamic("k.$", "States.JsonToString($)", set())(scope(deep))


class TestJsonata:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("{% $states.input.a %}", 1),
            ({"k": "{% $states.input.a + 1 %}", "l": ["{% 1 %}", 2, "text"]}, {"k": 2, "l": [1, 2, "text"]}),
            ({"k.$": "$.a"}, {"k.$": "$.a"}),
            ("plain", "plain"),
            ([], []),
            (None, None),
            ("{% $v %}", 2),
            ("{% null %}", None),
        ],
    )
    def test_gives(self, value: Any, expected: Any) -> None:
        assert compile_jsonata(value, "Output", set())(scope({"a": 1}, v=2)) == expected

    def test_notes_the_variables_it_reads(self) -> None:
        reads: set[str] = set()
        compile_jsonata({"a": "{% $x + $states.input.y %}", "b": ["{% ($z := 1; $z + $w) %}"]}, "Output", reads)
        assert reads == {"x", "w"}

    @pytest.mark.parametrize(
        ("value", "location", "what"),
        [
            ("{% $states.input.no %}", "Output", "returned nothing (undefined)."),
            ({"a": {"b": "{% $states.input.no %}"}}, "Output/a/b", "returned nothing (undefined)."),
            ([1, "{% $states.input.no %}"], "Output[1]", "returned nothing (undefined)."),
            ("{% function($x){$x} %}", "Output", "returned an unsupported result type."),
            ("{% 1 + 'x' %}", "Output", "threw an error during evaluation. T2002"),
        ],
    )
    def test_failures(self, value: Any, location: str, what: str) -> None:
        with pytest.raises(EvaluationFailure) as failure:
            compile_jsonata(value, "Output", set())(scope({}))
        assert failure.value.location == location
        assert f"specified for the field '{location}' {what}" in failure.value.cause
        assert failure.value.cause.startswith("The JSONata expression '")

    def test_a_type_that_must_be(self) -> None:
        assert compile_jsonata_typed("{% 1 %}", "Seconds", "number", set())(scope()) == 1
        assert compile_jsonata_typed("text", "Error", "string", set())(scope()) == "text"
        with pytest.raises(EvaluationFailure) as failure:
            compile_jsonata_typed("{% true %}", "Seconds", "number", set())(scope())
        assert failure.value.cause == (
            "The JSONata expression 'true' specified for the field 'Seconds' returned an unexpected result type. "
            "Expected 'number', but was 'boolean' for value: true"
        )
