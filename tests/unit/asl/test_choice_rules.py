"""JSONPath Choice rules: every operator, missing values, connectives, and malformed rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.asl.choice_rules import OPERATORS, compile_rule, rule_paths
from statewright.errors import RUNTIME, ExecutionFailure
from statewright.query.jsonpath import PathSyntaxError
from statewright.query.scope import Scope

NOON = "2024-05-01T12:00:00Z"
NOON_ELSEWHERE = "2024-05-01T14:00:00.000+02:00"
LATER = "2024-05-01T12:00:00.000000001Z"


def holds(rule: dict[str, Any], data: Any) -> bool:
    return compile_rule(rule)(Scope(data))


def compare(name: str, value: Any, operand: Any) -> bool:
    """The operator against a constant; and, where there is a Path variant, against the same value in the data."""
    outcome = holds({"Variable": "$.v", name: operand, "Next": "N"}, {"v": value})
    if name + "Path" in OPERATORS:
        assert holds({"Variable": "$.v", name + "Path": "$.o"}, {"v": value, "o": operand}) is outcome
    return outcome


def test_there_are_39_operators():
    assert len(OPERATORS) == 39
    assert sum(operand == "path" for operand in OPERATORS.values()) == 16
    assert OPERATORS["StringMatches"] == "string"
    assert OPERATORS["TimestampLessThanEquals"] == "timestamp"
    assert OPERATORS["NumericEqualsPath"] == "path"
    assert OPERATORS["IsPresent"] == "boolean"


ORDERS = [
    ("Equals", False, True, False),
    ("LessThan", True, False, False),
    ("GreaterThan", False, False, True),
    ("LessThanEquals", True, True, False),
    ("GreaterThanEquals", False, True, True),
]


@pytest.mark.parametrize(("order", "below", "same", "above"), ORDERS)
@pytest.mark.parametrize(
    ("prefix", "low", "middle", "high"),
    [
        ("String", "a", "b", "c"),
        ("String", "", "a", "aa"),
        ("String", "B", "a", "é"),
        ("String", "z", "\U0001f600", "\uff5e"),
        ("String", NOON, NOON_ELSEWHERE, "2025"),
        ("Numeric", -1, 0, 0.5),
        ("Numeric", 1.5, 2.0, 3),
        ("Numeric", 2**53, 2**53 + 2, 2**60),
        ("Numeric", -(10**400), 1e308, 10**400),
        ("Timestamp", "2024-05-01T11:59:59.999999999Z", NOON, LATER),
        ("Timestamp", "2024-05-01T13:00:00+02:00", NOON_ELSEWHERE, "2024-05-01T08:00:01-04:00"),
    ],
)
def test_orders(order, below, same, above, prefix, low, middle, high):
    name = prefix + order
    assert compare(name, low, middle) is below
    assert compare(name, middle, middle) is same
    assert compare(name, high, middle) is above


def test_numbers_are_doubles():
    assert compare("NumericEquals", 1, 1.0)
    assert compare("NumericEquals", 2**53 + 1, 2**53)
    assert not compare("NumericLessThan", 2**53, 2**53 + 1)


def test_instants_not_texts():
    assert compare("TimestampEquals", NOON, NOON_ELSEWHERE)
    assert not compare("StringEquals", NOON, NOON_ELSEWHERE)


WRONG: dict[str, list[Any]] = {
    "String": [1, 1.5, True, False, None, [], {}, ["a"]],
    "Numeric": ["1", "", True, False, None, [], {}, NOON],
    "Timestamp": [1, True, None, [], {}, "", "2024-05-01", "2024-05-01T12:00:00", "2024-05-01t12:00:00z"],
    "Boolean": ["true", 1, 0, 1.0, None, [], {}],
}
RIGHT: dict[str, Any] = {"String": "1", "Numeric": 1, "Timestamp": NOON, "Boolean": True}


@pytest.mark.parametrize("name", [name for name, operand in OPERATORS.items() if operand == "path"])
def test_another_type_is_false_on_either_side(name):
    prefix = next(prefix for prefix in WRONG if name.startswith(prefix))
    for wrong in WRONG[prefix]:
        assert holds({"Variable": "$.v", name: "$.o"}, {"v": wrong, "o": RIGHT[prefix]}) is False
        assert holds({"Variable": "$.v", name: "$.o"}, {"v": RIGHT[prefix], "o": wrong}) is False
        assert holds({"Variable": "$.v", name: "$.o"}, {"v": wrong, "o": wrong}) is False
        assert holds({"Variable": "$.v", name.removesuffix("Path"): RIGHT[prefix]}, {"v": wrong}) is False


@pytest.mark.parametrize(
    ("value", "operand", "expected"),
    [(True, True, True), (False, False, True), (True, False, False), (False, True, False)],
)
def test_boolean_equals(value, operand, expected):
    assert compare("BooleanEquals", value, operand) is expected


VALUES: list[Any] = [None, True, 0, 1.5, "", "text", "1", NOON, "2024-05-01", "2024-05-01T12:00:00", [], {}]


@pytest.mark.parametrize(
    ("name", "true_for"),
    [
        ("IsNull", [None]),
        ("IsPresent", VALUES),
        ("IsNumeric", [0, 1.5]),
        ("IsString", ["", "text", "1", NOON, "2024-05-01", "2024-05-01T12:00:00"]),
        ("IsBoolean", [True]),
        ("IsTimestamp", [NOON]),
    ],
)
def test_type_tests_and_their_inverse(name, true_for):
    for value in VALUES:
        expected = any(value is candidate for candidate in true_for)
        assert compare(name, value, True) is expected
        assert compare(name, value, False) is not expected


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("log-*.txt", ["log-.txt", "log-1.txt", "log-a*b.txt.txt"], ["log.txt", "xlog-1.txt", "log-1.txtx"]),
        ("*", ["", "anything\n"], []),
        ("", [""], ["a"]),
        ("abc", ["abc"], ["ab", "ABC"]),
        ("*b*", ["b", "abc"], ["", "ac"]),
        ("a*a", ["aa", "aba"], ["a"]),
        ("a**b", ["ab", "axb"], ["a"]),
        ("*ab*ba*", ["abba", "xabxbax"], ["aba", "baab"]),
        ("a*bc*c", ["abcc", "abcbcc"], ["abc"]),
        ("\\*", ["*"], ["a", "\\*"]),
        ("a\\**", ["a*", "a*b"], ["ab"]),
        ("\\\\*", ["\\", "\\x"], ["*"]),
        ("\\\\\\*", ["\\*"], ["\\\\*", "\\x"]),
        ("a\\b", ["a\\b"], ["ab"]),
        ("a\\", ["a\\"], ["a"]),
        ("?.[a]", ["?.[a]"], ["x.a"]),
    ],
)
def test_string_matches(pattern, yes, no):
    for text in yes:
        assert compare("StringMatches", text, pattern) is True, text
    for text in no:
        assert compare("StringMatches", text, pattern) is False, text
    others: list[Any] = [None, 1, True, [], {}]
    for other in others:
        assert compare("StringMatches", other, pattern) is False


# Missing values


@pytest.mark.parametrize("name", [name for name in OPERATORS if name != "IsPresent"])
@pytest.mark.parametrize("path", ["$.gone", "$.list[5]", "$.v.x", "$$.Gone", "$gone", "$.gone.deeper"])
def test_a_missing_variable_fails_the_execution(name, path):
    operands = {"string": "a", "number": 1, "boolean": True, "timestamp": NOON, "path": "$.v"}
    with pytest.raises(ExecutionFailure) as caught:
        holds({"Variable": path, name: operands[OPERATORS[name]]}, {"v": 1, "list": []})
    assert caught.value.error == RUNTIME
    assert caught.value.cause == (
        f"Invalid path '{path}': The choice state's condition path references an invalid value."
    )


@pytest.mark.parametrize("name", [name for name, operand in OPERATORS.items() if operand == "path"])
def test_a_missing_operand_fails_the_execution(name):
    with pytest.raises(ExecutionFailure, match=r"Invalid path '\$\.gone'"):
        holds({"Variable": "$.v", name: "$.gone"}, {"v": 1})


@pytest.mark.parametrize("path", ["$.gone", "$.list[5]", "$.v.x", "$$.Gone", "$gone"])
def test_is_present_of_what_is_missing(path):
    data = {"v": 1, "list": []}
    assert holds({"Variable": path, "IsPresent": True}, data) is False
    assert holds({"Variable": path, "IsPresent": False}, data) is True


def test_variables_and_context_stand_on_either_side():
    scope = Scope({"v": 3}, {"limit": {"low": 2}}, lambda: {"State": {"RetryCount": 3}})
    assert compile_rule({"Variable": "$.v", "NumericGreaterThanPath": "$limit.low"})(scope)
    assert compile_rule({"Variable": "$$.State.RetryCount", "NumericEqualsPath": "$.v"})(scope)
    assert compile_rule({"Variable": "$limit.low", "NumericEquals": 2})(scope)


# Connectives

TRUE: dict[str, Any] = {"Variable": "$.t", "BooleanEquals": True}
FALSE: dict[str, Any] = {"Variable": "$.t", "BooleanEquals": False}
FAILS = {"Variable": "$.gone", "BooleanEquals": True}
DATA = {"t": True}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"And": [TRUE, TRUE]}, True),
        ({"And": [TRUE, FALSE]}, False),
        ({"And": [FALSE, FAILS]}, False),
        ({"And": [TRUE]}, True),
        ({"Or": [FALSE, TRUE]}, True),
        ({"Or": [FALSE, FALSE]}, False),
        ({"Or": [TRUE, FAILS]}, True),
        ({"Or": [FALSE]}, False),
        ({"Not": TRUE}, False),
        ({"Not": FALSE}, True),
        ({"Not": {"Not": TRUE}}, True),
        ({"And": [{"Or": [FALSE, TRUE]}, {"Not": FALSE}]}, True),
        ({"Or": [{"And": [TRUE, FALSE, FAILS]}, {"Not": {"Or": [FALSE, FALSE]}}, FAILS]}, True),
        ({"Not": {"And": [FALSE, FAILS]}, "Next": "N", "Comment": "c"}, True),
        ({"And": [{"Variable": "$.gone", "IsPresent": True}, FAILS]}, False),
    ],
)
def test_connectives_short_circuit(rule, expected):
    assert holds(rule, DATA) is expected


def test_a_failure_inside_a_connective_fails():
    for rule in ({"And": [TRUE, FAILS]}, {"Or": [FALSE, FAILS]}, {"Not": FAILS}):
        with pytest.raises(ExecutionFailure):
            holds(rule, DATA)


def test_any_depth():
    rule = TRUE
    for _ in range(20_001):
        rule = {"Not": rule}
    assert holds(rule, DATA) is False
    assert rule_paths(rule) == ["$.t"]
    rule = FALSE
    for _ in range(5_000):
        rule = {"Or": [FALSE, {"And": [TRUE, rule]}, FALSE]}
    assert holds(rule, DATA) is False


RULES = st.recursive(
    st.sampled_from([TRUE, FALSE]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"And": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"Or": parts}),
        inner.map(lambda part: {"Not": part}),
    ),
    max_leaves=20,
)


def plainly(rule: dict[str, Any]) -> bool:
    if "And" in rule:
        return all(plainly(part) for part in rule["And"])
    if "Or" in rule:
        return any(plainly(part) for part in rule["Or"])
    return not plainly(rule["Not"]) if "Not" in rule else rule is TRUE


@settings(max_examples=200, deadline=None)
@given(RULES)
def test_jumps_decide_as_recursion_would(rule):
    assert holds(rule, DATA) is plainly(rule)


# Malformed rules


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({}, "has one comparison"),
        ({"Variable": "$.a"}, "has one comparison"),
        ({"Variable": "$.a", "StringEquals": "a", "IsNull": True}, "has one comparison"),
        ({"And": [TRUE], "Or": [TRUE]}, "has one comparison"),
        ({"Variable": "$.a", "StringIs": "a"}, "has one comparison"),
        ({"StringEquals": "a"}, "needs a Variable"),
        ({"Variable": 5, "StringEquals": "a"}, "needs a Variable"),
        ({"Variable": "$.a", "StringEquals": 1}, "StringEquals needs a string"),
        ({"Variable": "$.a", "NumericEquals": "1"}, "NumericEquals needs a number"),
        ({"Variable": "$.a", "NumericEquals": True}, "NumericEquals needs a number"),
        ({"Variable": "$.a", "BooleanEquals": 1}, "BooleanEquals needs a boolean"),
        ({"Variable": "$.a", "IsNull": "true"}, "IsNull needs a boolean"),
        ({"Variable": "$.a", "TimestampEquals": "soon"}, "TimestampEquals needs a timestamp"),
        ({"Variable": "$.a", "TimestampEquals": 1}, "TimestampEquals needs a timestamp"),
        ({"Variable": "$.a", "StringEqualsPath": 1}, "StringEqualsPath needs a path"),
        ({"And": []}, "non-empty array"),
        ({"Or": TRUE}, "non-empty array"),
        ({"And": [TRUE, 5]}, "is an object"),
        ({"Not": [TRUE]}, "is an object"),
    ],
)
def test_malformed_rules(rule, message):
    with pytest.raises(ValueError, match=message):
        compile_rule(rule)


def test_a_bad_path_is_a_syntax_error():
    for rule in ({"Variable": "$.", "IsNull": True}, {"Variable": "$.a", "StringEqualsPath": "b"}):
        with pytest.raises(PathSyntaxError):
            compile_rule(rule)


def test_rule_paths_in_the_order_written():
    rule = {
        "Or": [
            {"Variable": "$.a", "StringEqualsPath": "$b.c"},
            {"Not": {"And": [{"Variable": "$$.d", "IsNull": True}, {"NumericLessThanPath": "$.f", "Variable": "$.e"}]}},
            {"Variable": "$.g", "StringEquals": "$.no path"},
        ],
        "Next": "$.N",
    }
    assert rule_paths(rule) == ["$.a", "$b.c", "$$.d", "$.f", "$.e", "$.g"]
    assert rule_paths({"And": 5, "Not": [TRUE], "Variable": None, "StringEqualsPath": 5}) == []
