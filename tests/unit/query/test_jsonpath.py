"""Paths: the dialect's syntax, definite and indefinite results, filters, failures and their wording, and limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from statewright.query.jsonpath import PathNotFound, PathSyntaxError, compile_path
from statewright.query.jsonpath_functions import FUNCTIONS, UNCONFIRMED
from statewright.query.scope import Scope

SHOP: dict[str, Any] = {
    "name": "corner",
    "open": True,
    "till": None,
    "shelf": [
        {"sku": "a1", "price": 4, "tags": ["red", "new"], "stock": {"here": 2, "away": 0}},
        {"sku": "b2", "price": 11.5, "tags": [], "stock": {"here": 0, "away": 7}, "sale": False},
        {"sku": "c3", "price": 30, "tags": ["red"], "stock": {"here": 1, "away": 1}, "sale": None, "note": "Größe"},
    ],
    "limit": 10,
    "wanted": ["c3", "a1"],
    "matrix": [[1, 2, 3], [4, 5, 6]],
    "odd names": {"a.b": 1, "it's": 2, 'say "x"': 3, "Ж中": 4, "x[0]": 5, "back\\slash": 6},
}


def find(text: str, value: Any = SHOP) -> Any:
    return compile_path(text).find(value)


# Definite paths


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$", SHOP),
        ("$.name", "corner"),
        ("$.till", None),
        ("$['name']", "corner"),
        ('$["name"]', "corner"),
        ("$[ 'name' ]", "corner"),
        ("$.['name']", "corner"),
        ("$.shelf.[1].sku", "b2"),
        ("$.shelf[0].sku", "a1"),
        ("$.shelf[ 0 ]['sku']", "a1"),
        ("$.shelf[-1].sku", "c3"),
        ("$.shelf[0].stock.here", 2),
        ("$['shelf'][1]['stock']['away']", 7),
        ("$.matrix[1][2]", 6),
        ("$['odd names']['a.b']", 1),
        ("$.['odd names'].a\\.b", 1),
        ("$['odd names']['it\\'s']", 2),
        ("$['odd names'][\"it's\"]", 2),
        ("$['odd names']['say \"x\"']", 3),
        ("$['odd names']['back\\\\slash']", 6),
        ("$['odd names']['back\\slash']", 6),
        ("$['odd names'].Ж中", 4),
        ("$['odd names'].\\u0416中", 4),
        ("$['odd names'].x\\[0\\]", 5),
        ("$.name  ", "corner"),
    ],
)
def test_a_definite_path_gives_the_value(text, expected):
    path = compile_path(text)
    assert path.definite
    assert path.find(SHOP) == expected
    assert path(Scope(SHOP)) == expected


def test_every_depth_of_names_reads_from_data_context_and_variables():
    document = {"a": {"b": {"c": {"d": 1}}}}
    scope = Scope(document, {"v": document}, lambda: document)
    for tail in ("", ".a", ".a.b", ".a.b.c", ".a.b.c.d"):
        expected = compile_path("$" + tail).read(scope)
        assert compile_path("$$" + tail).read(scope) == expected
        assert compile_path("$v" + tail).read(scope) == expected
        assert compile_path("$" + tail).find(document) == expected
    assert compile_path("$.a.b.c.d").read(scope) == 1


def test_a_backslash_before_another_quote_belongs_to_the_name():
    document = {'a\\"b': "with", 'a"b': "without"}
    assert find("$['a\\\"b']", document) == "with"
    assert find('$["a\\"b"]', document) == "without"


def test_escapes_in_dotted_names():
    assert find("$.\\stor\\e.\\@x", {"store": {"@x": 1}}) == 1
    assert find("$.\\uD83C\\uDD97", {"\U0001f197": 1}) == 1


@pytest.mark.parametrize(
    ("text", "detail", "past_end"),
    [
        ("$.gone", "No results for path: $['gone']", False),
        ("$.gone.deep", "Missing property in path $['gone']", False),
        ("$.gone.deep.er", "Missing property in path $['gone']", False),
        ("$.shelf[0].gone", "No results for path: $['shelf'][0]['gone']", False),
        ("$.shelf[0].gone.x", "Missing property in path $['shelf'][0]['gone']", False),
        ("$.shelf[3]", "No results for path: $['shelf'][3]", True),
        ("$.shelf[-4]", "No results for path: $['shelf'][-4]", True),
        ("$.shelf[9].sku", "No results for path: $['shelf'][9]['sku']", True),
        ("$.name.x", "Property ['x'] not found in path $['name']", False),
        ("$.till.x", "Property ['x'] not found in path $['till']", False),
        ("$.shelf.sku", "Property ['sku'] not found in path $['shelf']", False),
        ("$.limit.a.b.c", "Property ['a'] not found in path $['limit']", False),
        ("$.name[0]", "Filter: [0] can only be applied to arrays. Current context is: a string", False),
        ("$.till[0]", "Filter: [0] can only be applied to arrays. Current context is: null", False),
        ("$.odd[0]", "Missing property in path $['odd']", False),
        ("$.name['a','b']", "Property ['a','b'] not found in path $['name']", False),
        ("$.gone.length()", "No results for path: $['gone']", False),
        ("$[0:1]", "Filter: [0:1] can only be applied to arrays. Current context is: an object", False),
        ("$[:1].sku", "Filter: [:1] can only be applied to arrays. Current context is: an object", False),
    ],
)
def test_what_a_path_that_finds_nothing_says(text, detail, past_end):
    path = compile_path(text)
    attempts: list[tuple[Callable[[Any], Any], Any]] = [(path.find, SHOP), (path, Scope(SHOP))]
    for evaluate, argument in attempts:
        with pytest.raises(PathNotFound) as caught:
            evaluate(argument)
        assert caught.value.detail == detail
        assert caught.value.index_out_of_range is past_end
        assert caught.value.text == text


def test_an_unassigned_variable_is_not_found():
    with pytest.raises(PathNotFound, match="'\\$x' is not assigned"):
        compile_path("$x.a").read(Scope({}))
    with pytest.raises(PathNotFound, match="'\\$x' is not assigned"):
        compile_path("$x[*]").read(Scope({}))


def test_a_context_path_asks_for_the_context_once():
    calls = []

    def make():
        calls.append(1)
        return {"Map": {"Item": {"Value": [1, 2]}}}

    scope = Scope({}, {}, make)
    assert compile_path("$$.Map.Item.Value[1]").read(scope) == 2
    assert compile_path("$$.Map.Item.Value[*]").read(scope) == [1, 2]
    assert calls == [1]


# Indefinite paths


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$.shelf[*].sku", ["a1", "b2", "c3"]),
        ("$.shelf.*.sku", ["a1", "b2", "c3"]),
        ("$.shelf[0,2].sku", ["a1", "c3"]),
        ("$.shelf[2, 0].sku", ["c3", "a1"]),
        ("$.shelf[0,9].sku", ["a1"]),
        ("$.shelf[-1,0].sku", ["c3", "a1"]),
        ("$.shelf[0:2].sku", ["a1", "b2"]),
        ("$.shelf[1:].sku", ["b2", "c3"]),
        ("$.shelf[:1].sku", ["a1"]),
        ("$.shelf[:].sku", ["a1", "b2", "c3"]),
        ("$.shelf[-2:].sku", ["b2", "c3"]),
        ("$.shelf[1:-1].sku", ["b2"]),
        ("$.shelf[:-1].sku", ["a1", "b2"]),
        ("$.shelf[ 0 : 1 ].sku", ["a1"]),
        ("$.shelf[2:1].sku", []),
        ("$.shelf[5:9]", []),
        ("$.shelf[0].stock.*", [2, 0]),
        ("$.matrix[*][0]", [1, 4]),
        ("$.matrix[*][*]", [1, 2, 3, 4, 5, 6]),
        ("$.matrix[*][7]", []),
        ("$.matrix[0][*]", [1, 2, 3]),
        (
            "$.shelf[*]['sku','price']",
            [{"sku": "a1", "price": 4}, {"sku": "b2", "price": 11.5}, {"sku": "c3", "price": 30}],
        ),
        ("$.shelf[0]['stock','tags'][0]", ["red"]),
        ("$.shelf[0]['gone','stock'].here", [2]),
        ("$..here", [2, 0, 1]),
        ("$..['here']", [2, 0, 1]),
        ("$.shelf..away", [0, 7, 1]),
        ("$.shelf[0]..*", ["a1", 4, ["red", "new"], {"here": 2, "away": 0}, "red", "new", 2, 0]),
        ("$.matrix..[0]", [[1, 2, 3], 1, 4]),
        ("$.matrix..[1:]", [[4, 5, 6], 2, 3, 5, 6]),
        ("$..stock['here','away']", [{"here": 2, "away": 0}, {"here": 0, "away": 7}, {"here": 1, "away": 1}]),
        ("$..stock..here", [2, 0, 1]),
        ("$.gone[*]", []),
        ("$.gone[0:2]", []),
        ("$.gone.deeper[?(@.a)]", []),
        ("$.gone..x", []),
        ("$.name[*]", []),
        ("$.name..x", []),
        ("$.name[0:2]", []),
        ("$.shelf[*].gone", []),
        ("$.shelf[9][*]", []),
        ("$[*].nothing", []),
    ],
)
def test_an_indefinite_path_gives_a_list(text, expected):
    path = compile_path(text)
    assert not path.definite
    assert not path.is_reference
    assert path.find(SHOP) == expected
    assert path(Scope(SHOP)) == expected


def test_a_deep_scan_goes_outer_first_in_document_order():
    document = {"x": 1, "a": [{"x": 2, "b": {"x": 3}}, {"x": 4}], "c": {"x": 5}}
    assert find("$..x", document) == [1, 2, 3, 4, 5]


def test_a_slice_of_a_root_array():
    assert find("$[0:2]", [1, 2, 3]) == [1, 2]
    assert find("$[1:]", []) == []


def test_a_union_of_names_at_the_end_is_one_object():
    path = compile_path("$.shelf[0]['sku','gone','price']")
    assert path.definite
    assert path.find(SHOP) == {"sku": "a1", "price": 4}
    assert "name union" in path.unconfirmed


def test_results_share_structure_with_the_document():
    assert find("$.shelf[*]")[1] is SHOP["shelf"][1]
    assert find("$.shelf[0].tags") is SHOP["shelf"][0]["tags"]


# Functions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$.shelf.length()", 3),
        ("$.shelf.size()", 3),
        ("$.name.length()", 6),
        ("$.shelf[0].stock.length()", 2),
        ("$.shelf[?(@.price > 5)].length()", 2),
        ("$.gone[*].length()", 0),
        ("$.shelf[0].stock.keys()", ["here", "away"]),
        ("$.shelf[*].price.sum()", 45.5),
        ("$.shelf[*].price.min()", 4.0),
        ("$.shelf[*].price.max()", 30.0),
        ("$.matrix[0].avg()", 2.0),
        ("$.matrix[0].stddev()", (2 / 3) ** 0.5),
        ("$.matrix[0].sum($.limit, 1, $.matrix[1])", 32.0),
        ("$.matrix[0].first()", 1),
        ("$.matrix[0].last()", 3),
        ("$.matrix[0].index(1)", 2),
        ("$.matrix[0].index( -1 )", 3),
        ("$.matrix[0].append(4, 'x')", [1, 2, 3, 4, "x"]),
        ("$.wanted.concat('!', $.name)", "c3a1!corner"),
        ("$.name.concat()", ""),
    ],
)
def test_functions(text, expected):
    path = compile_path(text)
    assert path.definite
    assert not path.is_reference
    assert "function" in path.unconfirmed
    assert path.find(SHOP) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    [
        "$.limit.length()",
        "$.name.keys()",
        "$.name.sum()",
        "$.wanted.avg()",
        "$.name.append(1)",
        "$.matrix[0].index(3)",
        "$.matrix[0].index('x')",
        "$.name.first()",
        "$.wanted.concat($.gone)",
        "$.gone.length()",
    ],
)
def test_a_function_without_an_answer_is_not_found(text):
    with pytest.raises(PathNotFound, match="No results for path"):
        find(text)


def test_aggregates_stay_finite():
    with pytest.raises(PathNotFound, match="finite"):
        find("$.sum()", [10**400])
    with pytest.raises(PathNotFound, match="finite"):
        find("$.stddev()", [1e200, -1e200])


def test_booleans_are_no_numbers_in_aggregates():
    assert find("$.sum()", [1, True, 2]) == 3.0


def test_no_function_is_confirmed_yet():
    assert not any(function.confirmed for function in FUNCTIONS.values())


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ("$.a[-1]", "negative index"),
        ("$.a[1:-1]", "negative slice"),
        ("$.a[0,1]", "index union"),
        ("$['a','b']", "name union"),
        ("$.a.length()", "function"),
        ("$.a[?(@.b in [1])]", "membership"),
        ("$.a[?(!@.b)]", "negation"),
        ('$.a[?(@.b == "x")]', "double-quoted text"),
        ("$['it\\'s']", "escaped quote"),
        ("$.a[?(@.b =~ /x/)]", "regular expression"),
        ("$.a[?(@.b[*])]", "existence of many"),
        ("$.a[?(@.b == $v)]", "outer value"),
    ],
)
def test_what_no_recording_confirms_is_marked(text, feature):
    assert compile_path(text).unconfirmed == {feature}
    assert feature in UNCONFIRMED


def test_what_recordings_confirm_is_not_marked():
    for text in ("$.a.b[0]", "$.shop[?(@.open == true)]", "$.bag[:1]", "$.bag[*]", "$.a[-3:]", "$..a"):
        assert compile_path(text).unconfirmed == frozenset()


# Attributes


@pytest.mark.parametrize(
    ("text", "root", "variable", "is_reference"),
    [
        ("$", "data", None, True),
        ("$.a.b[0]['x y']", "data", None, True),
        ("$['a@,:?*']", "data", None, True),
        ("$$.Execution.Id", "context", None, True),
        ("$$", "context", None, True),
        ("$order.total", "variable", "order", True),
        ("$größe_2[0]", "variable", "größe_2", True),
        ("$a@b", None, None, False),
        ("$.a@b", "data", None, False),
        ("$.a:b", "data", None, False),
        ("$.a\\@b", "data", None, True),
        ("$.a[*]", "data", None, False),
        ("$..a", "data", None, False),
        ("$.a[0:1]", "data", None, False),
        ("$.a[0,1]", "data", None, False),
        ("$.a[?(@.b)]", "data", None, False),
        ("$.a.length()", "data", None, False),
    ],
)
def test_attributes(text, root, variable, is_reference):
    if root is None:
        with pytest.raises(PathSyntaxError):
            compile_path(text)
        return
    path = compile_path(text)
    assert (path.root, path.variable, path.is_reference, path.text) == (root, variable, is_reference, text)
    assert path.variables == ({variable} if variable else set())
    assert path.uses_context is (root == "context")
    assert repr(path) == f"JsonPath({text!r})"


def test_the_same_text_is_compiled_once():
    assert compile_path("$.compiled.once") is compile_path("$.compiled.once")
    long = "$." + "x" * 1000
    assert compile_path(long).find({"x" * 1000: 1}) == 1


# Syntax errors


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "starts with"),
        ("a.b", 0, "starts with"),
        (" $.a", 0, "starts with"),
        ("@.a", 0, "only inside a filter"),
        ("$.", 2, "must not end"),
        ("$..", 3, "must not end"),
        ("$.a.", 4, "must not end"),
        ("$...a", 3, "Expected a name"),
        ("$.a..", 5, "must not end"),
        ("$.a b", 3, "Expected '.' or '['"),
        ("$ .a", 1, "Expected '.' or '['"),
        ("$a b", 2, "Expected '.' or '['"),
        ("$.*a", 3, "Expected '.' or '['"),
        ("$.a]", 3, "Expected '.' or '['"),
        ("$.a)", 3, "Expected '.' or '['"),
        ("$[", 2, "Expected a quoted name"),
        ("$[]", 2, "Expected a quoted name"),
        ("$[a]", 2, "Expected a quoted name"),
        ("$[[0]]", 2, "Expected a quoted name"),
        ("$[0", 3, "Expected ']'"),
        ("$[0,]", 4, "Expected a quoted name"),
        ("$[0:1:2]", 5, "no step"),
        ("$[12345678901]", 2, "at most"),
        ("$['a]", 2, "not closed"),
        ("$['a\\']", 2, "not closed"),
        ("$['a',0]", 6, "Expected a quoted name"),
        ("$['a'", 5, "Expected ']'"),
        ("$.a\\", 3, "Expected '.' or '['"),
        ("$[?]", 3, "A filter is written"),
        ("$[?@.a == 1]", 3, "A filter is written"),
        ("$[?(@.a == 1]", 12, "Expected ')'"),
        ("$[?(@.a == 1)", 13, "Expected ']'"),
        ("$[?()]", 4, "Expected a path or a literal"),
        ("$[?(@.a = 1)]", 8, "'=='"),
        ("$[?(@.a == )]", 11, "Expected a path or a literal"),
        ("$[?(@.a ==)]", 10, "Expected a path or a literal"),
        ("$[?(@.a == two words)]", 11, "Expected a path or a literal"),
        ("$[?(unquoted == @.a)]", 4, "Expected a path or a literal"),
        ("$[?(@.a && )]", 11, "Expected a path or a literal"),
        ("$[?(1)]", 4, "literal alone"),
        ("$[?('x')]", 4, "literal alone"),
        ("$[?(null)]", 4, "literal alone"),
        ("$[?(@.a == 1e999)]", 11, "Expected"),
        ("$[?(@.a =~ 'x')]", 4, "=~ compares"),
        ("$[?(@.a == /x/)]", 4, "=~ compares"),
        ("$[?(/x/ =~ /x/)]", 4, "=~ compares"),
        ("$[?(/x/)]", 4, "literal alone"),
        ("$[?(@.a =~ /x)]", 11, "no closing"),
        ("$[?(@.a =~ /x/z)]", 11, "flags"),
        ("$[?(@.a =~ /(a/)]", 14, "Missing"),
        ("$[?(@.a == [1)]", 13, "Expected ',' or ']'"),
        ("$[?(@.a == {1:2})]", 12, "quoted name"),
        ("$[?(@.a == {'b' 2})]", 16, "Expected ':'"),
        ("$[?(@.a == {'b':2 'c':3})]", 18, "Expected ',' or '}'"),
        ("$[?(@.a.nope() == 1)]", 8, "no function"),
        ("$.a.nope()", 4, "no function"),
        ("$.a.length(", 11, "Expected"),
        ("$.a.length(1)", 13, "does not take"),
        ("$.a.index()", 11, "does not take"),
        ("$.a.sum(1 2)", 10, "Expected ',' or ')'"),
        ("$.a.sum(/x/)", 11, "not an argument"),
        ("$.a.sum(@.x)", 8, "only inside a filter"),
        ("$.a.length().b", 12, "ends a path"),
        ("$..length()", 3, "cannot follow"),
        ("$[?(@.a == " + "9" * 401 + ")]", 11, "too long"),
    ],
)
def test_syntax_errors_say_what_and_where(text, position, message):
    with pytest.raises(PathSyntaxError) as caught:
        compile_path(text)
    assert message in caught.value.message or "too large" in caught.value.message
    assert text[:200] in str(caught.value)
    if "too large" not in caught.value.message:
        assert caught.value.position == position
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "text",
    [
        "$" + "[" * 10_000,
        "$[?" + "(" * 10_000,
        "$[?" + "(" * 10_000 + "@.a" + ")" * 10_000 + "]",
        "$[?(@" + "[?(@" * 10_000,
        "$[?(@.a == " + "[" * 10_000,
        "$[?(@.a == " + "{'a':" * 10_000,
        "$.a" + ".concat($.a" * 10_000,
        "$[?(" + "@.a =~ /" + "(" * 10_000 + "/)]",
    ],
)
def test_hostile_nesting_is_a_syntax_error(text):
    with pytest.raises(PathSyntaxError) as caught:
        compile_path(text)
    assert len(str(caught.value)) < 400


def test_nesting_up_to_the_limit_works():
    assert find("$[?" + "(" * 31 + "@ == 1" + ")" * 31 + "]", [1, 2]) == [1]
    assert find("$[?(" + "!" * 10_000 + "@.a)]", [{"a": 1}]) == [{"a": 1}]


def test_long_flat_paths_and_conditions_work():
    document: dict[str, object] = {}
    for _ in range(5_000):
        document = {"a": document}
    assert find("$" + ".a" * 5_000, document) == {}
    assert find("$[?(" + " || ".join(f"@ == {n}" for n in range(3_000)) + ")]", [2_999, 3_000]) == [2_999]


def test_a_deep_document_is_scanned_without_recursion():
    document: dict[str, object] = {"x": 1}
    for _ in range(20_000):
        document = {"a": [document]}
    assert find("$..x", document) == [1]
    other: dict[str, object] = {"x": 1}
    for _ in range(20_000):
        other = {"a": [other]}
    assert find("$[?(@ == $[1])]", [document, other]) == [document, other]


@pytest.mark.parametrize(
    "text", ["$[?(@.Name==Receipt)]", "$[?(@.Name == Receipt && @.a >= 1)]", "$[?((@.Name==Receipt))]"]
)
def test_a_word_without_quotes_is_compared_as_a_text(text):
    items = [{"Name": "Receipt", "a": 1}, {"Name": "Bill", "a": 1}]
    assert find(text, items) == items[:1]
    assert compile_path(text).unquoted == ("Receipt",)


def test_keywords_and_quoted_texts_are_no_words_without_quotes():
    assert compile_path("$[?(@.a==true || @.b=='x' || @.c==null)]").unquoted == ()
    assert find("$[?(@.a==true)]", [{"a": True}, {"a": "true"}]) == [{"a": True}]
