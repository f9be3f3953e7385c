"""Filters: every operator and literal, what `@` and `$` mean, and the work that one evaluation may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from statewright.errors import RUNTIME, ExecutionFailure
from statewright.query.jsonpath import compile_path
from statewright.query.scope import Scope
from tests.unit.query.test_jsonpath import SHOP, find


def skus(text: str) -> list[str]:
    return [item["sku"] for item in find(text)]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("@.price == 4", ["a1"]),
        ("@.price==4.0", ["a1"]),
        ("@.price != 4", ["b2", "c3"]),
        ("@.price < 11.5", ["a1"]),
        ("@.price <= 11.5", ["a1", "b2"]),
        ("@.price > 11.5", ["c3"]),
        ("@.price >= 11.5", ["b2", "c3"]),
        ("4 < @.price", ["b2", "c3"]),
        ("4 == @.price", ["a1"]),
        ("@.price === 4", ["a1"]),
        ("@.price !== 4", ["b2", "c3"]),
        ("@.price > -1e1", ["a1", "b2", "c3"]),
        ("@.sku == 'b2'", ["b2"]),
        ('@.sku == "b2"', ["b2"]),
        ("@['sku'] == 'b2'", ["b2"]),
        ("@.sku < 'b2'", ["a1"]),
        ("@.sku >= 'b2'", ["b2", "c3"]),
        ("@.sku > @.sku", []),
        ("@.sku <= @.sku", ["a1", "b2", "c3"]),
        ("@.sku == 4", []),
        ("@.price == '4'", []),
        ("@.price < '5'", []),
        ("@.price < true", []),
        ("@.sale == false", ["b2"]),
        ("@.sale == null", ["c3"]),
        ("@.sale != null", ["a1", "b2"]),
        ("@.sale == 0", []),
        ("@.sale", ["b2", "c3"]),
        ("!@.sale", ["a1"]),
        ("!!@.sale", ["b2", "c3"]),
        ("@.stock.here > 1", ["a1"]),
        ("@.stock.here < @.stock.away", ["b2"]),
        ("@.stock.here == @.stock.away", ["c3"]),
        ("@.gone == @.lost", []),
        ("@.gone != @.lost", ["a1", "b2", "c3"]),
        ("@.gone < 1", []),
        ("@.tags[0] == 'red'", ["a1", "c3"]),
        ("@.tags[-1] == 'new'", ["a1"]),
        ("@.tags == ['red']", ["c3"]),
        ("['red'] == @.tags", ["c3"]),
        ("@.tags != []", ["a1", "c3"]),
        ("@.stock == {'away': 7, \"here\": 0}", ["b2"]),
        ("@.tags[*] == ['red']", ["c3"]),
        ("@.tags[*]", ["a1", "c3"]),
        ("@..here", ["a1", "b2", "c3"]),
        ("@.price < $.limit", ["a1"]),
        ("@.price > $.limit", ["b2", "c3"]),
        ("@.price > $.gone", []),
        ("@.price > 4 && @.stock.here > 0", ["c3"]),
        ("@.price < 5 || @.price > 20", ["a1", "c3"]),
        ("@.price > 100 || @.price == 4 && @.sku == 'a1'", ["a1"]),
        ("@.price == 4 || @.price == 30 && @.sku == 'b2'", ["a1"]),
        ("(@.price == 4 || @.price == 30) && @.sku == 'c3'", ["c3"]),
        ("@.price == 4 || @.price == 11.5 || @.price == 30", ["a1", "b2", "c3"]),
        ("@.price == 5 || @.price == 6 || @.price == 7", []),
        ("@.price > 0 && @.price > 1 && @.price < 12", ["a1", "b2"]),
        ("!(@.price == 4)", ["b2", "c3"]),
        ("!(@.price == 4) && !(@.price == 30)", ["b2"]),
        ("(((@.price == 4)))", ["a1"]),
        ("@.sku in ['a1','zz']", ["a1"]),
        ("@.sku IN ['a1']", ["a1"]),
        ("@.sku in $.wanted", ["a1", "c3"]),
        ("@.sku nin ['a1']", ["b2", "c3"]),
        ("@.gone nin ['a1']", ["a1", "b2", "c3"]),
        ("@.sku in $.gone", []),
        ("@.price in [4, true, null]", ["a1"]),
        ("@.sale in [null]", ["c3"]),
        ("@.sale in [0]", []),
        ("@.tags in [['red'], 1]", ["c3"]),
        ("'red' in @.tags", ["a1", "c3"]),
        ("@.tags contains 'new'", ["a1"]),
        ("@.sku contains 'b'", ["b2"]),
        ("@.sku contains 2", []),
        ("@.gone contains 2", []),
        ("@.tags subsetof ['red','blue']", ["b2", "c3"]),
        ("@.tags anyof ['new','blue']", ["a1"]),
        ("@.tags noneof ['new','blue']", ["b2", "c3"]),
        ("@.sku subsetof ['a1']", []),
        ("@.sku anyof ['a1']", []),
        ("@.sku noneof ['a1']", []),
        ("@.tags all ['new','red']", ["a1"]),
        ("@.tags size 2", ["a1"]),
        ("@.sku size 2", ["a1", "b2", "c3"]),
        ("@.price size 2", []),
        ("@.tags empty", ["b2"]),
        ("@.tags empty && true", ["b2"]),
        ("@.tags empty true", ["b2"]),
        ("@.tags empty false", ["a1", "c3"]),
        ("@.price empty", []),
        ("@.sku =~ /[ab]\\d/", ["a1", "b2"]),
        ("@.sku =~ /A.*/", []),
        ("@.sku =~ /A.*/i", ["a1"]),
        ("@.sku =~ /a/", []),
        ("/a1/ =~ @.sku", ["a1"]),
        ("@.price =~ /3\\d/", ["c3"]),
        ("@.sale =~ /false/", ["b2"]),
        ("@.tags =~ /ne./", ["a1"]),
        ("@.note =~ /Gr..e/", ["c3"]),
        ("@.tags.length() > 1", ["a1"]),
        ("@.gone.length() > 1", []),
        ("@.price.length() > 1", []),
        ("@.stock['here','away'].keys() == ['here','away']", ["a1", "b2", "c3"]),
        ("true", ["a1", "b2", "c3"]),
        ("false", []),
        ("1 == 1", ["a1", "b2", "c3"]),
        ("@.tags[?(@ == 'new')]", ["a1"]),
        ("@.stock[?(@.here > 1)]", ["a1"]),
        ("@", ["a1", "b2", "c3"]),
    ],
)
def test_filters(condition, expected):
    assert skus(f"$.shelf[?({condition})]") == expected
    assert skus(f"$.shelf[ ? ( {condition} ) ]") == expected
    assert skus(f"$.shelf.[?({condition})]") == expected


def test_a_filter_goes_on_and_chains():
    assert find("$.shelf[?(@.price > 4)].stock.away") == [7, 1]
    assert find("$.shelf[?(@.price > 4)][?(@.stock.here == 1)].sku") == ["c3"]
    assert find("$.shelf[?(@.price > 4)].tags[*]") == ["red"]


def test_a_filter_on_scalars_and_on_an_object():
    assert find("$[?(@ > 2)]", [1, 2, 3, "4", True, None]) == [3]
    assert find("$[?(@.a == 1)]", {"a": 1, "b": {"a": 1}}) == [{"a": 1, "b": {"a": 1}}]
    assert find("$[?(@.a == 2)]", {"a": 1}) == []
    assert find("$.a[?(@.a == 2)]", {"a": "text"}) == []


def test_a_deep_filter_meets_each_object_once():
    document = {"k": 1, "in": [{"k": 1, "n": 2}, {"k": 2, "more": {"k": 1, "n": 3}}]}
    assert find("$..[?(@.k == 1)]", document) == [document, {"k": 1, "n": 2}, {"k": 1, "n": 3}]


def test_a_filter_may_read_variables_and_context_when_there_is_a_scope():
    scope = Scope(SHOP, {"max": 12}, lambda: {"pick": ["b2"]})
    path = compile_path("$.shelf[?(@.price < $max && @.sku in $$.pick)].sku")
    assert path.read(scope) == ["b2"]
    assert path.find(SHOP) == []
    assert path.variables == {"max"}
    assert path.uses_context
    assert compile_path("$v[?(@ > $.limit)]").read(Scope({}, {"v": [1, 2]})) == []


def test_texts_order_by_utf16_code_unit():
    # By code point the emoji is above the compatibility form; in UTF-16 it is below.
    document = [{"t": "\U0001f600"}, {"t": "\uff5e"}]
    assert find("$[?(@.t < '\uff5e')].t", document) == ["\U0001f600"]
    assert find("$[?(@.t >= '\uff5e')].t", document) == ["\uff5e"]


def test_escapes_in_filter_texts():
    document = [{"t": "it's"}, {"t": "a\nb"}, {"t": "Ж"}, {"t": 'q"'}]
    assert find("$[?(@.t == 'it\\'s')].t", document) == ["it's"]
    assert find("$[?(@.t == 'a\\nb')].t", document) == ["a\nb"]
    assert find("$[?(@.t == '\\u0416')].t", document) == ["Ж"]
    assert find('$[?(@.t == "q\\"")].t', document) == ['q"']


# Limits


def wrapped(value: Any, depth: int, wrap: Callable[[Any], Any]) -> Any:
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("$" + "[0,0,0,0,0,0,0,0,0,0]" * 9, wrapped(1, 12, lambda v: [v])),
        ("$[0]" + "['a','a','a','a','a','a','a','a','a','a']" * 9 + ".a", [wrapped(1, 12, lambda v: {"a": v})]),
        ("$..*..*..*..*", wrapped(1, 200, lambda v: {"a": v})),
        ("$" + "..a" * 5, wrapped(1, 200, lambda v: {"a": v})),
        ("$.l[?(@..[?(@..[?(@..x)])])]", {"l": [wrapped(1, 300, lambda v: {"a": v})]}),
        ("$.l[?($.a == $.b)]", {"l": [0] * 20_000, "a": [*range(1_000)], "b": [*range(1_000)]}),
    ],
)
def test_a_path_that_multiplies_is_stopped(text, document):
    with pytest.raises(ExecutionFailure) as caught:
        find(text, document)
    assert caught.value.error == RUNTIME
    assert f"The path '{text}' visits more than" in caught.value.cause


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(a|a)*b", "(a|aa)+", "(.*)*x", "(a?){25}a{25}b", "(x+x+)+y", "([a-z]+)*=", "(a*)*(a*)*b"],
)
def test_a_hostile_regular_expression_answers_at_once(pattern):
    assert find(f"$[?(@ =~ /{pattern}/)]", ["a" * 50_000 + "!"]) == []


def test_a_regular_expression_over_many_texts_is_stopped():
    with pytest.raises(ExecutionFailure, match="visits more than"):
        find("$.items[?($.big =~ /.*x/)]", {"big": "a" * 100_000_000, "items": [1]})


def test_membership_in_a_long_array_is_fast():
    document = {"ids": list(range(0, 40_000, 2)), "items": [{"id": n} for n in range(20_000)]}
    assert len(find("$.items[?(@.id in $.ids)]", document)) == 10_000
