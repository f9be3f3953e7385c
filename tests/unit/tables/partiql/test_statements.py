"""Statements: what they become, what is refused, and that every text is one or the other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.errors import ApiError
from statewright.tables.expressions.tree import Action, All, Call, Compare, Literal, Not, Path, Sum
from statewright.tables.partiql.keys import item_key, partitions
from statewright.tables.partiql.parser import statement
from statewright.tables.partiql.terms import LONGEST
from statewright.tables.partiql.tree import Delete, Insert, Order, Select, Update

A, B = Path(("a",)), Path(("b",))


def refusal_of(text: str, *parameters: Any) -> str:
    with pytest.raises(ApiError) as caught:
        statement(text, parameters)
    assert caught.value.code == "ValidationException"
    return caught.value.message


def select(where: str, *parameters: Any) -> Select:
    found = statement(f"SELECT * FROM t WHERE {where}", parameters)
    assert isinstance(found, Select)
    return found


def test_a_select_has_columns_an_index_and_orders() -> None:
    found = statement("select a, \"b c\".d[1], e['f'] from t.i order by a desc, b asc, c")
    assert isinstance(found, Select)
    assert [(column.name, column.path.steps) for column in found.columns] == [
        ("a", ("a",)), ("d[1]", ("b c", "d", 1)), ("f", ("e", "f")),
    ]  # fmt: skip
    assert (found.table, found.index) == ("t", "i")
    assert found.orders == (Order("a", True), Order("b", False), Order("c", False))


def test_conditions_are_those_of_expressions() -> None:
    one, two = Literal(":0"), Literal(":1")
    assert select("a = 1").where == Compare("=", A, one)
    assert select("a != 1 AND b IS MISSING").where == All((Compare("<>", A, one), Call("attribute_not_exists", (B,))))
    assert select("NOT a IS NOT NULL").where == Not(Not(Call("attribute_type", (A, one))))
    assert select("SIZE(a) < ? AND a > ?", {"N": "1"}, {"N": "2"}).where == All(
        (Compare("<", Call("size", (A,)), one), Compare(">", A, two))
    )


def test_names_may_be_any_text() -> None:
    found = select('"#x" = 1 AND "a""b" = 2 AND "select" = 3')
    assert item_key(("#x", 'a"b', "select"), found.where, found.bindings) == {
        "#x": {"N": "1"}, 'a"b': {"N": "2"}, "select": {"N": "3"},
    }  # fmt: skip


def test_writes() -> None:
    inserted = statement("INSERT INTO t VALUE ?", [{"M": {"a": {"S": "x"}}}])
    assert inserted == Insert("t", {"a": {"S": "x"}})
    updated = statement("UPDATE t SET a = b - 1, c = c REMOVE d WHERE a = 1 RETURNING MODIFIED NEW *")
    assert isinstance(updated, Update)
    assert updated.actions == (
        Action("SET", A, Sum("-", B, Literal(":0"))),
        Action("SET", Path(("c",)), Path(("c",))),
        Action("REMOVE", Path(("d",)), None),
    )
    assert updated.returning == "UPDATED_NEW"
    deleted = statement('DELETE FROM "t" WHERE a = 1')
    assert isinstance(deleted, Delete)
    assert deleted.returning == "NONE"


@pytest.mark.parametrize(
    ("where", "key"),
    [
        ("a = 1", {"a": {"N": "1"}}),
        ("b = 2 AND (1 = a AND c > 3)", {"a": {"N": "1"}}),
        ("a = 1 AND a = 2", {"a": {"N": "1"}}),
        ("a = 1 OR b = 2", None),
        ("NOT a = 1", None),
        ("a.b = 1", None),
        ("a = b", None),
        ("a > 1", None),
        ("a IN [1]", None),
    ],
)
def test_keys_of_single_items(where: str, key: dict[str, Any] | None) -> None:
    found = select(where)
    assert item_key(("a",), found.where, found.bindings) == key


class Keys:
    hashes: tuple[str, ...] = ("a",)
    ranges: tuple[str, ...] = ("b",)


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("a = 'x'", 1),
        ("a = 'x' OR 'y' = a", 2),
        ("a IN ['x', 'y', 'x']", 2),
        ("(a = 'x' OR a IN ['y', 'z']) AND c = 1", 3),
        ("a = 'x' OR c = 1", None),
        ("a = 'x' OR (a = 'y' AND b = 1)", None),
        ("a > 'x'", None),
        ("c = 1", None),
        ("a IN ['x', c]", None),
    ],
)
def test_partitions_that_are_read(where: str, count: int | None) -> None:
    found = select(where)
    ranges = partitions(Keys(), found.where, found.bindings, {"a": "S", "b": "N"})  # type: ignore[arg-type]
    assert (None if ranges is None else len(ranges)) == count


def test_the_sort_key_bounds_what_is_read() -> None:
    whole, low, both, part = (
        partitions(Keys(), found.where, found.bindings, {"a": "S", "b": "N"})  # type: ignore[arg-type]
        for found in map(select, ["a = 'x'", "a = 'x' AND b > 1", "a = 'x' AND b BETWEEN 1 AND 2", "a = 'x' AND b = 1"])
    )
    assert whole is not None
    assert low is not None
    assert both is not None
    assert part is not None
    assert whole[0].low < part[0].low == both[0].low < low[0].low < both[0].high < low[0].high == whole[0].high


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t WHERE " + "(" * 2000 + "a = 1",
        "SELECT * FROM t WHERE " + "NOT " * 2000 + "a = 1",
        "SELECT * FROM t WHERE " + "size(" * 1500,
        "SELECT * FROM t WHERE a = " + "[" * 8000,
        "SELECT * FROM t WHERE a = " + "{'a':" * 1600,
        "SELECT * FROM t WHERE a = " + "<<" * 4000,
        "SELECT * FROM t WHERE a = " + "'" * 8001,
        "SELECT * FROM t WHERE a = " + '"' * 8001,
        "SELECT * FROM t WHERE " + " AND ".join(["a=1"] * 1000),
        "SELECT * FROM t WHERE a" + "[0]" * 2700,
        "UPDATE t SET a = a" + " + 1" * 1900,
        "x" * (LONGEST + 1),
        " " * LONGEST,
    ],
)
def test_statements_of_an_attacker_are_refused(text: str) -> None:
    assert refusal_of(text)


TEXTS = (
    "SELECT FROM WHERE t a \"b\" 'x' 1 ? = <> < ( ) [ ] { } << >> , . * : AND OR NOT IN BETWEEN IS MISSING NULL ORDER "
    "BY DESC INSERT INTO VALUE UPDATE SET REMOVE DELETE RETURNING ALL OLD EXISTS size contains list_append set_add + -"
)
WORDS = st.sampled_from(TEXTS.split())


@given(st.lists(WORDS, max_size=20).map(" ".join), st.sampled_from(["", "SELECT * FROM t WHERE ", "UPDATE t SET "]))
@settings(max_examples=200)
def test_any_text_is_a_statement_or_refused(text: str, beginning: str) -> None:
    refused = None
    try:
        statement(beginning + text, [{"S": "x"}])
    except ApiError as refusal:
        refused = refusal.code
    assert refused in (None, "ValidationException", "SerializationException")
