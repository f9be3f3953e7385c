from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright.errors import ApiError
from statewright.tables.expressions import parser
from statewright.tables.expressions.bindings import Bindings
from statewright.tables.expressions.projections import projector
from statewright.tables.expressions.updates import Update

ITEM: dict[str, dict[str, Any]] = {
    "id": {"S": "k"},
    "n": {"N": "10"},
    "s": {"S": "text"},
    "l": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]},
    "m": {"M": {"a": {"N": "1"}, "deep": {"M": {"l": {"L": [{"S": "x"}]}}}}},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1"]},
}
VALUES: dict[str, dict[str, Any]] = {
    ":1": {"N": "1"}, ":03": {"N": "0.3"}, ":big": {"N": "9" * 38}, ":x": {"S": "x"}, ":l": {"L": [{"N": "9"}]},
    ":e": {"L": []}, ":a": {"SS": ["a"]}, ":ab": {"SS": ["b", "a"]}, ":c": {"SS": ["b", "c"]}, ":n2": {"NS": ["2"]},
    ":m": {"M": {}}, ":t": {"BOOL": True},
}  # fmt: skip


def run(text: str, item: dict[str, Any] = ITEM, names: dict[str, str] | None = None) -> dict[str, Any]:
    bindings = Bindings(names, VALUES, {"UpdateExpression": text})
    return Update(parser.update("UpdateExpression", text), bindings, ("id",))(item)


def numbers(*texts: int) -> dict[str, Any]:
    return {"L": [{"N": str(text)} for text in texts]}


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("SET s = :x", {"s": {"S": "x"}}),
        ("set fresh = :x, n = n + :1", {"fresh": {"S": "x"}, "n": {"N": "11"}}),
        ("SET n = n - :03", {"n": {"N": "9.7"}}),
        ("SET n = :1 - n", {"n": {"N": "-9"}}),
        ("SET n = (n + :1)", {"n": {"N": "11"}}),
        ("SET n = if_not_exists(n, :1)", {}),
        ("SET c = if_not_exists(c, :1) + :1", {"c": {"N": "2"}}),
        ("SET c = if_not_exists(c, n)", {"c": {"N": "10"}}),
        ("SET l = list_append(l, :l)", {"l": numbers(0, 1, 2, 9)}),
        ("SET l = list_append(:l, l)", {"l": numbers(9, 0, 1, 2)}),
        ("SET f = list_append(if_not_exists(f, :e), :l)", {"f": numbers(9)}),
        ("SET l[1] = :x", {"l": {"L": [{"N": "0"}, {"S": "x"}, {"N": "2"}]}}),
        ("SET l[10] = :x", {"l": {"L": [*numbers(0, 1, 2)["L"], {"S": "x"}]}}),
        ("SET l[9] = :x, l[5] = :1", {"l": {"L": [*numbers(0, 1, 2, 1)["L"], {"S": "x"}]}}),
        ("SET m.a = :x", {"m": {"M": {"a": {"S": "x"}, "deep": ITEM["m"]["M"]["deep"]}}}),
        (
            "SET m.deep.l[0] = :1, m.b = m.a",
            {"m": {"M": {"a": {"N": "1"}, "deep": {"M": {"l": {"L": [{"N": "1"}]}}}, "b": {"N": "1"}}}},
        ),
        ("SET n = s, s = n", {"n": {"S": "text"}, "s": {"N": "10"}}),
        ("REMOVE s", {"s": None}),
        ("REMOVE s, absent, m.absent", {"s": None}),
        ("REMOVE l[0], l[2]", {"l": numbers(1)}),
        ("REMOVE l[7]", {}),
        ("REMOVE l[0] SET l[1] = :x", {"l": {"L": [{"S": "x"}, {"N": "2"}]}}),
        ("ADD n :1", {"n": {"N": "11"}}),
        ("ADD fresh :1", {"fresh": {"N": "1"}}),
        ("ADD ss :c", {"ss": {"SS": ["a", "b", "c"]}}),
        ("ADD fresh :c", {"fresh": {"SS": ["b", "c"]}}),
        ("ADD ns :n2", {"ns": {"NS": ["1", "2"]}}),
        ("ADD m.a :1", {"m": {"M": {"a": {"N": "2"}, "deep": ITEM["m"]["M"]["deep"]}}}),
        ("DELETE ss :a", {"ss": {"SS": ["b"]}}),
        ("DELETE ss :ab", {"ss": None}),
        ("DELETE ss :c", {"ss": {"SS": ["a"]}}),
        ("DELETE absent :a", {}),
        (
            "SET a1 = :1 REMOVE s ADD n :1 DELETE ss :a",
            {"a1": {"N": "1"}, "s": None, "n": {"N": "11"}, "ss": {"SS": ["b"]}},
        ),
    ],
)
def test_updates(text, changed):
    before = repr(ITEM)
    expected = {name: value for name, value in {**ITEM, **changed}.items() if value is not None}
    assert run(text) == expected
    assert repr(ITEM) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The expression can not be empty;"),
        ("SET", 'Syntax error; token: "<EOF>", near: "SET"'),
        ("s = :x", 'Syntax error; token: "s", near: "s ="'),
        ("SET s :x", 'Syntax error; token: ":x", near: "s :x"'),
        ("SET s = :x SET n = :1", 'The "SET" section can only be used once in an update expression;'),
        ("ADD n n", 'Syntax error; token: "n", near: "n n"'),
        (
            "SET s = attribute_exists(n)",
            "The function is not allowed in an update expression; function: attribute_exists",
        ),
        ("SET s = nope(n)", "Invalid function name; function: nope"),
        ("SET status = :x", "Attribute name is a reserved keyword; reserved keyword: status"),
        ("SET s = :nope", "An expression attribute value used in expression is not defined; attribute value: :nope"),
        (
            "SET s = :x + :1",
            "Incorrect operand type for operator or function; operator or function: +, operand type: S",
        ),
        (
            "SET s = list_append(:x, :l)",
            "Incorrect operand type for operator or function; operator or function: list_append, operand type: S",
        ),
        (
            "SET s = if_not_exists(:x, :1)",
            "Operator or function requires a document path; operator or function: if_not_exists",
        ),
        (
            "ADD n :x",
            "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, "
            "typeSet: ALLOWED_FOR_ADD_OPERAND",
        ),
        (
            "DELETE n :1",
            "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, "
            "typeSet: ALLOWED_FOR_DELETE_OPERAND",
        ),
        (
            "SET m.a = :1, m = :m",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; "
            "path one: [m, a], path two: [m]",
        ),
        (
            "SET s = :1 REMOVE s",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; "
            "path one: [s], path two: [s]",
        ),
        (
            "SET l[0] = :1, l.a = :1",
            "Two document paths conflict with each other; must remove or rewrite one of these paths; "
            "path one: [l, [0]], path two: [l, a]",
        ),
    ],
)
def test_updates_that_are_refused_before_any_item(text, message):
    with pytest.raises(ApiError) as caught:
        run(text)
    assert caught.value.message == f"1 validation error detected: Invalid UpdateExpression: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET s = absent", "The provided expression refers to an attribute that does not exist in the item"),
        ("SET s = absent + :1", "The provided expression refers to an attribute that does not exist in the item"),
        ("SET s = s + :1", "An operand in the update expression has an incorrect data type"),
        ("SET s = list_append(s, :l)", "An operand in the update expression has an incorrect data type"),
        ("ADD s :1", "An operand in the update expression has an incorrect data type"),
        ("ADD ss :n2", "An operand in the update expression has an incorrect data type"),
        ("DELETE s :a", "An operand in the update expression has an incorrect data type"),
        ("SET absent.a = :1", "The document path provided in the update expression is invalid for update"),
        ("SET s.a = :1", "The document path provided in the update expression is invalid for update"),
        ("SET m[0] = :1", "The document path provided in the update expression is invalid for update"),
        ("SET n = :big + :03", "Attempting to store more than 38 significant digits in a Number"),
        (
            "SET id = :x",
            "One or more parameter values were invalid: Cannot update attribute id. This attribute is part of the key",
        ),
    ],
)
def test_updates_that_an_item_refuses(text, message):
    with pytest.raises(ApiError) as caught:
        run(text)
    assert (caught.value.code, caught.value.message) == ("ValidationException", message)


@given(st.lists(st.integers(-(10**37), 10**37), min_size=1, max_size=8))
def test_sums_are_exact(amounts):
    item: dict[str, Any] = {}
    for amount in amounts:
        text = "ADD n :v"
        bindings = Bindings(None, {":v": {"N": str(amount)}}, {"UpdateExpression": text})
        item = Update(parser.update("UpdateExpression", text), bindings, ())(item)
    assert int(item["n"]["N"]) == sum(amounts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id", {"id": {"S": "k"}}),
        ("id, n, absent", {"id": {"S": "k"}, "n": {"N": "10"}}),
        ("m.a", {"m": {"M": {"a": {"N": "1"}}}}),
        ("m.deep.l[0]", {"m": {"M": {"deep": {"M": {"l": {"L": [{"S": "x"}]}}}}}}),
        ("l[2], l[0]", {"l": numbers(0, 2)}),
        ("l[9]", {}),
        ("s.a, n[0]", {}),
        ("#i", {"id": {"S": "k"}}),
    ],
)
def test_projections(text, expected):
    bindings = Bindings({"#i": "id"}, None, {"ProjectionExpression": text})
    assert projector(parser.projection("ProjectionExpression", text), bindings)(ITEM) == expected


@pytest.mark.parametrize("text", ["m, m.a", "m.a, m", "id, id", "l[0], l[0]"])
def test_projections_must_not_overlap(text):
    with pytest.raises(ApiError, match="Two document paths overlap with each other"):
        projector(parser.projection("ProjectionExpression", text), Bindings(None, None, {}))
