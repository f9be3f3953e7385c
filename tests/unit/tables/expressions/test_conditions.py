from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.errors import ApiError
from statewright.tables.expressions import parser
from statewright.tables.expressions.bindings import Bindings
from statewright.tables.expressions.conditions import Compiler
from statewright.tables.expressions.reserved_words import RESERVED
from statewright.tables.values import DETECTED

ITEM: dict[str, dict[str, Any]] = {
    "id": {"S": "k1"},
    "n": {"N": "10"},
    "big": {"N": "12345678901234567890123456789012345678"},
    "s": {"S": "hello"},
    "b": {"B": "AAEC"},
    "t": {"BOOL": True},
    "z": {"NULL": True},
    "l": {"L": [{"S": "x"}, {"N": "2"}, {"M": {"in": {"S": "deep"}}}]},
    "m": {"M": {"a": {"N": "1"}, "els": {"L": [{"N": "7"}]}, "dotted.name": {"S": "d"}}},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2.5"]},
    "bs": {"BS": ["AAEC"]},
}
VALUES: dict[str, dict[str, Any]] = {
    ":k1": {"S": "k1"}, ":hello": {"S": "hello"}, ":he": {"S": "he"}, ":el": {"S": "el"}, ":e": {"S": ""},
    ":1": {"N": "1"}, ":2": {"N": "2"}, ":5": {"N": "5"}, ":7": {"N": "7"}, ":10": {"N": "10.0"}, ":20": {"N": "20"},
    ":25": {"N": "2.50"}, ":big": {"N": "12345678901234567890123456789012345679"},
    ":b": {"B": "AAEC"}, ":b0": {"B": "AAE="}, ":t": {"BOOL": True}, ":f": {"BOOL": False}, ":z": {"NULL": True},
    ":a": {"S": "a"}, ":x": {"S": "x"}, ":ss": {"SS": ["b", "a"]}, ":deep": {"S": "deep"}, ":d": {"S": "d"},
    ":S": {"S": "S"}, ":M": {"S": "M"}, ":SS": {"S": "SS"}, ":Q": {"S": "Q"}, ":l": {"L": []},
    ":m": {"M": {"in": {"S": "deep"}}},
}  # fmt: skip
NAMES = {"#n": "n", "#s": "s", "#dotted": "dotted.name", "#m": "m", "#none": "nothing"}


def holds(text: str) -> bool:
    parameter = "ConditionExpression"
    bindings = Bindings(NAMES, VALUES, {parameter: text})
    return Compiler(parameter, bindings).test(parser.condition(parameter, text))(ITEM)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id = :k1", True),
        ("id <> :k1", False),
        ("#n = :10", True),
        ("n > :5 AND n < :20", True),
        ("n >= :10 and n <= :10", True),
        ("n < :5 OR s = :hello", True),
        ("NOT n < :5", True),
        ("NOT (n < :5 OR s = :hello)", False),
        ("n > :5 OR n > :20 AND s = :he", True),
        ("(n > :5 OR n > :20) AND s = :he", False),
        ("big < :big", True),
        ("big = :big", False),
        ("n BETWEEN :5 AND :20", True),
        ("n between :10 and :10", True),
        (":5 BETWEEN :1 AND n", True),
        ("n BETWEEN :20 AND :big", False),
        ("n IN (:5, :10)", True),
        ("s IN (:5, :10)", False),
        ("absent IN (:5)", False),
        ("absent = :5", False),
        ("absent <> :5", True),
        ("absent < :5", False),
        ("s < :5", False),
        ("s <> :5", True),
        ("n = s", False),
        ("absent = absent2", False),
        ("attribute_exists(id)", True),
        ("attribute_exists(m.a)", True),
        ("attribute_exists(m.nope)", False),
        ("attribute_not_exists(#none)", True),
        ("attribute_not_exists(l[2].#none)", True),
        ("attribute_exists(l[3])", False),
        ("attribute_exists(s[0])", False),
        ("attribute_type(s, :S)", True),
        ("attribute_type(m, :M)", True),
        ("attribute_type(ss, :SS)", True),
        ("attribute_type(n, :S)", False),
        ("begins_with(s, :he)", True),
        ("begins_with(s, :e)", True),
        ("begins_with(s, :el)", False),
        ("begins_with(b, :b0)", True),
        ("begins_with(n, :he)", False),
        ("begins_with(absent, :he)", False),
        ("contains(s, :el)", True),
        ("contains(s, :5)", False),
        ("contains(ss, :a)", True),
        ("contains(ss, :el)", False),
        ("contains(ns, :25)", True),
        ("contains(bs, :b)", True),
        ("contains(b, :b0)", True),
        ("contains(l, :x)", True),
        ("contains(l, :m)", True),
        ("contains(l, :2)", True),
        ("contains(m, :a)", False),
        ("contains(absent, :a)", False),
        ("size(s) = :5", True),
        ("size(b) > :2", True),
        ("size(l) < :5", True),
        ("size(m) >= :2", True),
        ("size(ss) = :2", True),
        ("size(n) = :2", False),
        ("size(absent) = :2", False),
        (":5 = size(s)", True),
        ("l[0] = :x", True),
        ("l[1] = :2", True),
        ("l[2].#none <> :x", True),
        ("m.#dotted = :d", True),
        ("m.a = :1", True),
        ("m.els[0] = :7", True),
        ("#m.els[0] = :7", True),
        ("ss = :ss", True),
        ("t = :t", True),
        ("t <> :f", True),
        ("z = :z", True),
        ("(n) = (:10)", True),
        ("  n\n=\t:10 ", True),
        ("attribute_exists(id) AND NOT contains(s, :a) AND (n > :5)", True),
    ],
)
def test_conditions(text, expected):
    assert holds(text) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The expression can not be empty;"),
        ("  ", "The expression can not be empty;"),
        ("n =", 'Syntax error; token: "<EOF>", near: "n ="'),
        ("n = = :5", 'Syntax error; token: "=", near: "= = :5"'),
        ("n", 'Syntax error; token: "<EOF>", near: "n"'),
        ("n = :5 s", 'Syntax error; token: "s", near: ":5 s"'),
        ("n = 5", 'Syntax error; token: "5", near: "= 5"'),
        ("n ! :5", 'Syntax error; token: "!", near: "!"'),
        ("(n = :5", 'Syntax error; token: "<EOF>", near: "= :5"'),
        ("l[x] = :5", 'Syntax error; token: "x", near: "[x]"'),
        ("name = :5", "Attribute name is a reserved keyword; reserved keyword: name"),
        ("m.Size = :5", "Attribute name is a reserved keyword; reserved keyword: Size"),
        ("nope(n)", "Invalid function name; function: nope"),
        ("Size(n) = :5", "Invalid function name; function: Size"),
        (
            "begins_with(s)",
            "Incorrect number of operands for operator or function; operator or function: begins_with, "
            "number of operands: 1",
        ),
        (
            "attribute_exists(s, n)",
            "Incorrect number of operands for operator or function; operator or function: attribute_exists, "
            "number of operands: 2",
        ),
        (
            "attribute_exists(:5)",
            "Operator or function requires a document path; operator or function: attribute_exists",
        ),
        ("size(s)", "The function is not allowed to be used this way in an expression; function: size"),
        (
            "contains(s, :a) = :5",
            "The function is not allowed to be used this way in an expression; function: contains",
        ),
        ("if_not_exists(s, :a) = :a", "The function is not allowed in a condition expression; function: if_not_exists"),
        ("n = :nope", "An expression attribute value used in expression is not defined; attribute value: :nope"),
        ("#nope = :5", "An expression attribute name used in the document path is not defined; attribute name: #nope"),
        (
            "begins_with(s, :5)",
            "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
        ),
        ("n < :t", "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL"),
        (
            "size(:5) = :5",
            "Incorrect operand type for operator or function; operator or function: size, operand type: N",
        ),
        (
            "attribute_type(s, :Q)",
            "Invalid attribute type name found; type: Q, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
        ),
        (
            "n BETWEEN :20 AND :5",
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound "
            "operand: AttributeValue: {N:20}, upper bound operand: AttributeValue: {N:5}",
        ),
        (
            "n BETWEEN :20 AND :a",
            "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: "
            "AttributeValue: {N:20}, upper bound operand: AttributeValue: {S:a}",
        ),
        (
            "n = n",
            "The first operand must be distinct from the remaining operands for this operator or function; "
            "operator: =, first operand: [n]",
        ),
        ("((n = :5))", "The expression has redundant parentheses;"),
    ],
)
def test_conditions_that_are_refused(text, message):
    with pytest.raises(ApiError) as caught:
        holds(text)
    assert (caught.value.code, caught.value.message) == (
        "ValidationException",
        f"Invalid ConditionExpression: {message}",
    )


def test_parentheses_side_by_side_are_not_redundant():
    assert holds("((n = :10) AND (s = :hello))")


def test_long_and_deep_expressions_are_refused_quickly():
    with pytest.raises(ApiError, match="Expression size has exceeded"):
        holds("n = :5 OR " * 500 + "n = :5")
    with pytest.raises(ApiError, match="nested too deeply"):
        holds("NOT " * 500 + "n = :5")
    with pytest.raises(ApiError, match="too many operators"):
        holds(" OR ".join(["n=:5"] * 200))


def test_there_are_573_reserved_words():
    assert len(RESERVED) == 573


@pytest.mark.parametrize(
    ("names", "values", "texts", "message"),
    [
        ({}, None, {"ConditionExpression": "a"}, "ExpressionAttributeNames must not be empty"),
        (None, {}, {"ConditionExpression": "a"}, DETECTED + "ExpressionAttributeValues must not be empty"),
        (
            {"#a": "a"},
            None,
            {"ConditionExpression": None},
            "ExpressionAttributeNames can only be specified when using expressions: ConditionExpression is null",
        ),
        (
            None,
            {":a": {"S": "a"}},
            {"UpdateExpression": None, "ConditionExpression": None},
            "ExpressionAttributeValues can only be specified when using expressions: UpdateExpression and "
            "ConditionExpression are null",
        ),
        (
            {"a": "a"},
            None,
            {"ConditionExpression": "a"},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "a"',
        ),
        (
            None,
            {"a": {"S": "a"}},
            {"ConditionExpression": "a"},
            'ExpressionAttributeValues contains invalid key: Syntax error; key: "a"',
        ),
        (
            None,
            {":a": {}},
            {"ConditionExpression": "a"},
            "ExpressionAttributeValues contains invalid value: Supplied AttributeValue is empty, must contain exactly "
            "one of the supported datatypes for key :a",
        ),
    ],
)
def test_names_and_values_that_are_refused(names, values, texts, message):
    with pytest.raises(ApiError) as caught:
        Bindings(names, values, texts)
    assert caught.value.message == message


def test_unused_names_and_values_are_refused():
    for names, values, message in (
        (
            {"#a": "a", "#b": "b"},
            None,
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #b}",
        ),
        (None, {":a": {"S": "a"}}, "Value provided in ExpressionAttributeValues unused in expressions: keys: {:a}"),
    ):
        bindings = Bindings(names, values, {"ConditionExpression": "x"})
        with pytest.raises(ApiError) as caught:
            bindings.check_all_used()
        assert caught.value.message == message


WORDS = """
n s m.a l[0] #n :5 :he ( ) [ ] . , = <> < <= > >= + - AND OR NOT BETWEEN IN SET REMOVE ADD DELETE size( contains(
begins_with( attribute_exists( if_not_exists( list_append( 0 17 ! name é
"""
words = st.sampled_from(WORDS.split())


def refusal_of(parameter: str, parse: Callable[[str, str], Any], text: str) -> str | None:
    """What is said of a text, `None` when it is an expression."""
    try:
        found = parse(parameter, text)
        if parameter == "ConditionExpression":
            Compiler(parameter, Bindings(NAMES, VALUES, {parameter: text})).test(found)(ITEM)
    except ApiError as refusal:
        return refusal.message
    return None


@given(st.lists(words, max_size=14).map(" ".join))
@settings(max_examples=300)
def test_any_text_is_parsed_or_refused(text):
    for parameter, parse in (
        ("ConditionExpression", parser.condition),
        ("UpdateExpression", parser.update),
        ("ProjectionExpression", parser.projection),
    ):
        message = refusal_of(parameter, parse, text)
        begin = DETECTED if parameter == "UpdateExpression" else ""
        assert message is None or message.startswith(f"{begin}Invalid {parameter}: ")
