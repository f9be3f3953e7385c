"""Tier 0 alone: what it answers, and what it must leave to the library."""

from typing import Any

import pytest

from statewright.query.jsonata import Expression
from statewright.query.jsonata.closures import compile_closure
from statewright.query.jsonata.parser import parse
from statewright.query.scope import UNDEFINED, Scope

LEFT = object()
"""What stands for the library's answer."""

INPUT = {
    "count": 3,
    "half": 0.5,
    "whole": 2.0,
    "name": "ann",
    "accent": "é",
    "yes": True,
    "no": False,
    "nil": None,
    "list": [1, [2]],
    "none": [],
    "deep": {"a": {"b": {"c": "end"}}},
    "odd name": 1,
    "huge": 2**53 + 1,
    "edge": 2**53,
    "big": 1e300,
}
VARIABLES = {"i": 7, "s": "x", "xs": [1, 2], "o": {"a": {"b": 1}}, "long": 10**15}


def answer(text: str, **more: Any) -> Any:
    closure = compile_closure(parse(text), lambda _: LEFT)
    assert closure is not None, "outside the subset"
    scope = Scope(None, VARIABLES, lambda: {"Execution": {"Id": "arn"}}, input=INPUT, **more)
    return closure(scope)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$states.input.count + 1", 4),
        ("$states.input.count * $states.input.half - 1", 0.5),
        ("$states.input.whole", 2),
        ("$states.input.whole + 1", 3),
        ("$states.input.half + $states.input.half", 1),
        ("$states.input.deep.a.b.c", "end"),
        ("$states.input.deep.x.b", UNDEFINED),
        ("$states.input.name.x", UNDEFINED),
        ("$states.input.name.x.y", UNDEFINED),
        ("$states.input.nil.x.y", UNDEFINED),
        ("$states.input.`odd name`", 1),
        ("$states.input.'odd name'", 1),
        ("$states.input.list", [1, [2]]),
        ("$states.input.none", []),
        ("$states.context.Execution.Id", "arn"),
        ("$states.result", UNDEFINED),
        ("$states.errorOutput.Cause", UNDEFINED),
        ("$i", 7),
        ("$o.a.b", 1),
        ("$o.a.c.d", UNDEFINED),
        ("$xs", [1, 2]),
        ("$states.input.nope + 1", UNDEFINED),
        ("1 + $states.input.nope", UNDEFINED),
        ("$i < 10", True),
        ("10 <= $i", False),
        ("$states.input.half > 0.25", True),
        ("'a' < 'b'", True),
        ("$s >= 'x'", True),
        ("$i = 7.0", True),
        ("$i != 7", False),
        ("$s = 'x'", True),
        ("$s != 'x'", False),
        ("$s = 1", False),
        ("$s != 1", True),
        ("true = 1", False),
        ("1 != true", True),
        ("null = null", True),
        ("$states.input.nil = false", False),
        ("$states.input.nope = $states.input.nope", False),
        ("$states.input.nope != 1", False),
        ("$s & '-' & $i & '-' & true & null & $states.input.nope", "x-7-truenull"),
        ("$states.input.yes and $i = 7", True),
        ("$states.input.no and $states.input.list", False),
        ("$states.input.nope or $states.input.yes", True),
        ("true or $states.input.list", True),
        ("$states.input.nope and true", False),
        ("$i > 5 ? 'many' : 'few'", "many"),
        ("$states.input.nope ? 1 : 2", 2),
        ("false ? $unknown : 2", 2),
        ("{'a': $i, 'b': $states.input.nope, 'c': $states.input.whole, 'd': $o, 'e': $xs, 'f': null}",
         {"a": 7, "c": 2, "d": {"a": {"b": 1}}, "e": [1, 2], "f": None}),
        ("{}", {}),
        ("[1, 'a', $states.input.nope, [2, []], {'b': 1}, true, null, 0.5, $states.input.whole]",
         [1, "a", [2, []], {"b": 1}, True, None, 0.5, 2]),
        ("($i)", 7),
        ("-1.5", -1.5),
        ("9007199254740992", 2**53),
        ("'é'", "é"),
        ("$count($xs)", 2),
        ("$count($i)", 1),
        ("$count($states.input.nope)", 0),
        ("$exists($states.input.nil)", True),
        ("$exists($states.input.nope)", False),
        ("$not($states.input.no)", True),
        ("$not($states.input.nope)", UNDEFINED),
        ("$states.input.edge", 2**53),
    ],
)  # fmt: skip
def test_answers(text: str, value: object) -> None:
    got = answer(text)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "$unknown",
        "$unknown.a",
        "$states.input.list.a",
        "$states.input.list.a.b",
        "$o.a & 'x'",
        "$states.input.list + 1",
        "$s + 1",
        "1 + true",
        "$s + $states.input.nope",
        "$states.input.huge",
        "$states.input.big",
        "$states.input.big * $states.input.big",
        "$states.input.huge + 1",
        "$states.input.edge + 1",
        "$states.input.edge * $states.input.edge",
        "{'a': $states.input.huge}",
        "{'a': $states.input.big}",
        "[$states.input.huge]",
        "[$states.input.list]",
        "$states.input.huge < 1",
        "$s < 1",
        "$states.input.nope < 1",
        "$states.input.accent < 'a'",
        "null < null",
        "$o = $o",
        "$s = $xs",
        "$i = $xs",
        "null = $states.input.huge",
        "$states.input.half & ''",
        "$long & ''",
        "$s and true",
        "true and $xs",
        "$s ? 1 : 2",
        "$not($s)",
        "$states.input.list = 1",
    ],
)
def test_doubts(text: str) -> None:
    assert answer(text) is LEFT


@pytest.mark.parametrize(
    "text",
    [
        "$sum($xs)",
        "1 / 2",
        "5 % 2",
        "-$i",
        "$xs[0]",
        "$states.input.*",
        "$states",
        "$states.unknown",
        "$",
        "$$",
        "name",
        "$count",
        "$range.a",
        "$xs ~> $count",
        "1 in [1]",
        "[1..3]",
        "true ? 1",
        "$i ? $xs[0] : 1",
        "{'a': 1, 'a': 2}",
        "{$s: 1}",
        "{'a': $xs[0]}",
        "{'é': 1}",
        "[$xs[0]]",
        "$s & $xs[0]",
        "(1; 2)",
        "($x := 1)",
        "function(){1}",
        "$count($xs, 1)",
        "$count($xs[0])",
        "$states.input.(a)",
        "9007199254740993000",
        "'\\ud800'",
        "1 + $xs[0]",
    ],
)
def test_outside_the_subset(text: str) -> None:
    assert compile_closure(parse(text), lambda _: LEFT) is None


def test_a_deep_tree_is_left_alone() -> None:
    assert compile_closure(parse("1" + "+1" * 100), lambda _: LEFT) is None


def test_a_variable_hides_a_built_in() -> None:
    closure = compile_closure(parse("$count($xs)"), lambda _: LEFT)
    assert closure is not None
    assert closure(Scope(None, {"xs": [1], "count": 3})) is LEFT


def test_data_is_shared_and_the_context_is_built_only_when_read() -> None:
    data = {"a": {"b": [1.0]}}

    def fail() -> object:
        raise AssertionError("nobody asked")

    scope = Scope(None, {}, fail, input=data)
    assert Expression("$states.input.a").evaluate(scope) is data["a"]
    assert Expression("{'x': $states.input.a}").evaluate(scope)["x"] is data["a"]
    assert Expression("$states.input").evaluate(scope) is data


def test_result_and_error_output() -> None:
    assert answer("$states.result.a", result={"a": 1}) == 1
    assert answer("$states.errorOutput.Error & ''", error_output={"Error": "E"}) == "E"
