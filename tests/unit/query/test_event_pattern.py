from __future__ import annotations

from typing import Any

import pytest

from statewright.query.event_pattern import TOPICS, PatternError, compile_pattern, refuse_complex
from statewright.query.matching import LOOP_WORK, Matching, TooMuchWork

EVENT: dict[str, Any] = {
    "source": "shop.orders",
    "empty": [],
    "none": None,
    "detail": {
        "state": "Shipped", "price": 12.5, "count": 3, "paid": True, "tags": ["new", "Gift"],
        "ip": "10.0.3.7", "lines": [{"sku": "a", "n": 1}, {"sku": "b", "n": 5}], "path": "a*b/c.txt", "big": 1e10,
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ({}, True),
        ({"source": ["shop.orders"]}, True),
        ({"source": ["other", "shop.orders"]}, True),
        ({"source": ["other"]}, False),
        ({"missing": ["x"]}, False),
        ({"none": [None]}, True),
        ({"detail": {"none": [None]}}, False),
        ({"detail": {"paid": [True]}}, True),
        ({"detail": {"count": [True]}}, False),
        ({"detail": {"count": [3.0]}}, True),
        ({"detail": {"count": ["3"]}}, False),
        ({"detail": {"tags": ["Gift"]}}, True),
        ({"detail": {"tags": ["gift"]}}, False),
        ({"detail": {"lines": {"sku": ["b"]}}}, True),
        ({"detail": {"lines": {"sku": ["a"], "n": [5]}}}, False),
        ({"detail": {"state": [{"prefix": "Shi"}]}}, True),
        ({"detail": {"state": [{"prefix": "shi"}]}}, False),
        ({"detail": {"state": [{"prefix": {"equals-ignore-case": "shi"}}]}}, True),
        ({"detail": {"state": [{"suffix": "ped"}]}}, True),
        ({"detail": {"state": [{"suffix": {"equals-ignore-case": "PED"}}]}}, True),
        ({"detail": {"count": [{"prefix": "3"}]}}, False),
        ({"detail": {"state": [{"equals-ignore-case": "SHIPPED"}]}}, True),
        ({"detail": {"path": [{"wildcard": "a\\*b/*.txt"}]}}, True),
        ({"detail": {"state": [{"wildcard": "S*d"}]}}, True),
        ({"detail": {"state": [{"wildcard": "S*x"}]}}, False),
        ({"detail": {"state": [{"wildcard": "S?ipped"}]}}, False),
        ({"detail": {"price": [{"numeric": [">", 10, "<=", 12.5]}]}}, True),
        ({"detail": {"price": [{"numeric": ["=", 12.5]}]}}, True),
        ({"detail": {"price": [{"numeric": ["<", 12.5]}]}}, False),
        ({"detail": {"state": [{"numeric": [">", 0]}]}}, False),
        ({"detail": {"paid": [{"numeric": [">=", 0]}]}}, False),
        ({"detail": {"price": [{"exists": True}]}}, True),
        ({"detail": {"price": [{"exists": False}]}}, False),
        ({"detail": {"other": [{"exists": False}]}}, True),
        ({"other": {"deep": [{"exists": False}]}}, True),
        ({"detail": [{"exists": True}]}, False),
        ({"empty": [{"exists": True}]}, False),
        ({"empty": [{"exists": False}]}, True),
        ({"empty": [{"anything-but": "x"}]}, False),
        ({"empty": ["x"]}, False),
        ({"detail": {"state": [{"anything-but": "Open"}]}}, True),
        ({"detail": {"state": [{"anything-but": ["Open", "Shipped"]}]}}, False),
        ({"detail": {"count": [{"anything-but": [3]}]}}, False),
        ({"detail": {"state": [{"anything-but": {"prefix": "Shi"}}]}}, False),
        ({"detail": {"state": [{"anything-but": {"suffix": ["x", "y"]}}]}}, True),
        ({"detail": {"state": [{"anything-but": {"equals-ignore-case": "shipped"}}]}}, False),
        ({"detail": {"state": [{"anything-but": {"wildcard": "*x*"}}]}}, True),
        ({"detail": {"other": [{"anything-but": "x"}]}}, False),
        ({"detail": {"ip": [{"cidr": "10.0.0.0/8"}]}}, True),
        ({"detail": {"ip": [{"cidr": "10.1.0.0/16"}]}}, False),
        ({"detail": {"state": [{"cidr": "10.1.0.0/16"}]}}, False),
        ({"detail": {"$or": [{"count": [1]}, {"price": [{"numeric": [">", 1]}]}]}}, True),
        ({"detail": {"$or": [{"count": [1]}, {"count": [2]}]}}, False),
        ({"source": ["shop.orders"], "$or": [{"detail": {"count": [3]}}, {"x": ["y"]}]}, True),
    ],
)
def test_matching(pattern, expected):
    assert compile_pattern(pattern)(EVENT, Matching()) is expected


def test_what_is_no_object_matches_only_absence():
    assert not compile_pattern({"a": ["x"]})("text", Matching())
    assert compile_pattern({"a": [{"exists": False}]})("text", Matching())


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ([], "Filter is not an object"),
        ({"a": "x"}, '"a" must be an object or an array'),
        ({"a": []}, "Empty arrays are not allowed"),
        ({"a": {}}, "Empty objects are not allowed"),
        ({"a": [["x"]]}, "Match value must be String"),
        ({"a": [{"prefix": "x", "suffix": "y"}]}, "Only one key"),
        ({"a": [{"like": "x"}]}, "Unrecognized match type like"),
        ({"a": [{"prefix": 3}]}, "prefix match pattern must be a string"),
        ({"a": [{"exists": "yes"}]}, "true or false"),
        ({"a": [{"numeric": [">"]}]}, "Value of > must be numeric"),
        ({"a": [{"numeric": ["!", 3]}]}, "Unrecognized numeric range operator"),
        ({"a": [{"numeric": [">", "3"]}]}, "Value of > must be numeric"),
        ({"a": [{"numeric": [">", 6e9]}]}, "between -5.0E9 and 5.0E9"),
        ({"a": [{"numeric": ["<", 3, ">", 1]}]}, "Too many elements"),
        ({"a": [{"anything-but": {"numeric": [">", 1]}}]}, "Unsupported anything-but"),
        ({"a": [{"anything-but": []}]}, "either all values are number or string"),
        ({"a": [{"anything-but": ["x", 1]}]}, "mixed type is not supported"),
        ({"a": [{"anything-but": [None]}]}, "start.null.boolean is not supported"),
        ({"a": [{"anything-but": True}]}, "single string/number value"),
        ({"a": [{"anything-but": {}}]}, "expression name not found"),
        ({"a": [{}]}, "Match expression name not found"),
        ({"a": [{"numeric": 3}]}, "Value of numeric must be an array"),
        ({"a": [{"numeric": []}]}, "Invalid member in numeric match"),
        ({"a": [{"numeric": ["=", 1, "<", 3]}]}, "Too many elements in numeric expression"),
        ({"a": [{"numeric": [">", 1, "=", 3]}]}, "Bad numeric range operator: ="),
        ({"a": [{"numeric": [">", 3, "<", 1]}]}, "Bottom must be less than top"),
        ({"a": [{"numeric": [">", 1, "<", 3, "<", 4]}]}, "Too many terms in numeric range"),
        ({"a": [{"cidr": "x"}]}, "Malformed CIDR, one '/' required"),
        ({"a": [{"cidr": "10.0.0.0/8/8"}]}, "Malformed CIDR, one '/' required"),
        ({"a": [{"cidr": "10.0.0.0/x"}]}, "Malformed CIDR, mask bits must be an integer"),
        ({"a": [{"cidr": "a.0.0/8"}]}, "Nonstandard IP address: a.0.0"),
        ({"a": [{"cidr": "10.0.0.0/99"}]}, "Malformed CIDR"),
        ({"a": [{"cidr": ["10.0.0.0/8"]}]}, "prefix match pattern must be a string"),
        ({"a": [{"wildcard": 3}]}, "wildcard match pattern must be a string"),
        ({"a": [{"equals-ignore-case": ["x"]}]}, "equals-ignore-case match pattern must be a string"),
        ({"a": [{"anything-but": {"prefix": {"equals-ignore-case": "x"}}}]}, "single string/number value"),
        ({"a": [{"anything-but": {"suffix": [3, "x"]}}]}, "prefix/suffix match pattern must be a string"),
        ({"a": [{"anything-but": {"prefix": ""}}]}, "Null prefix/suffix not allowed"),
        ({"a": [{"anything-but": {"wildcard": ["x", 3]}}]}, "wildcard match pattern must be a string"),
        ({"a": [{"anything-but": {"equals-ignore-case": 3}}]}, "Inside anything-but/equals-ignore-case list"),
        ({"a": [{"wildcard": "a**b"}]}, "Consecutive wildcard characters at pos 2"),
        ({"$or": [{"a": [1]}]}, "at least 2 Objects"),
        ({"$or": {"a": [1]}}, "It must be an Array"),
        ({"$or": [1, 2]}, "Only JSON object is allowed"),
        ({"$or": [{}, {"a": [1]}]}, "Empty objects are not allowed"),
    ],
)
def test_patterns_that_are_none(pattern, words):
    with pytest.raises(PatternError, match=words):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "complex_"),
    [
        ({"a": [{"wildcard": "*x1*x2*x3*x4*x5"}]}, True),
        ({"a": {"b": ["c", {"anything-but": {"wildcard": ["*", "*-*-*-*-*-"]}}]}}, True),
        ({"$or": [{"a": [1]}, {"a": [{"wildcard": "x*,*,*,*,*,"}]}]}, True),
        ({"a": [{"wildcard": "x1*x2*x3*x4*x5*"}]}, False),
        ({"a": [{"wildcard": "arn:*:*:*:*:event-bus/x"}]}, False),
        # A field of that name, not the operator.
        ({"wildcard": ["*x1*x2*x3*x4*x5"]}, False),
    ],
)
def test_wildcards_may_be_too_complex(pattern, complex_):
    compile_pattern(pattern)
    if complex_:
        with pytest.raises(PatternError, match="Rule is too complex - try using fewer wildcard characters"):
            refuse_complex(pattern)
    else:
        refuse_complex(pattern)


LONG = 10**400
"""A number that no float can be."""


@pytest.mark.parametrize(
    ("pattern", "event", "expected"),
    [
        # Empty texts are values like others.
        ({"a": [{"equals-ignore-case": ""}]}, {"a": ""}, True),
        ({"a": [{"equals-ignore-case": ""}]}, {"a": "x"}, False),
        ({"a": [{"wildcard": ""}]}, {"a": "x"}, False),
        ({"a": [{"anything-but": {"wildcard": ""}}]}, {"a": "x"}, True),
        ({"a": [{"prefix": ""}]}, {"a": "x"}, True),
        # Only leaves exist.
        ({"a": [{"exists": False}]}, {"a": {"b": 1}}, True),
        ({"a": [{"exists": False}]}, {"a": [{"b": 1}]}, True),
        ({"a": [{"exists": True}]}, {"a": [{"b": 1}, 2]}, True),
        ({"a": [{"exists": False}]}, {"a": [{"b": 1}, 2]}, False),
        # Arrays of arrays.
        ({"a": ["x"]}, {"a": [["y"], [["x"]]]}, True),
        ({"a": {"b": ["x"], "c": [1]}}, {"a": [[{"b": "x", "c": 1}]]}, True),
        ({"a": {"b": ["x"], "c": [1]}}, {"a": [[{"b": "x"}], [{"c": 1}]]}, False),
        # Names with dots are paths, on both sides.
        ({"a": {"b": ["x"]}}, {"a.b": "x"}, True),
        ({"a.b": ["x"]}, {"a": {"b": "x"}}, True),
        ({"a.b": ["x"]}, {"a.b": "x"}, True),
        ({"a.b.c": ["x"]}, {"a": {"b.c": "x"}}, True),
        ({"a.b": {"c": ["x"]}}, {"a.b.c": "x"}, True),
        ({"a.b": ["x"]}, {"a": "x"}, False),
        ({"a": {"b": [{"exists": False}]}}, {"a.b": "x"}, False),
        # Names with and without dots are joined.
        ({"a": {"b": ["x"], "c": ["y"]}}, {"a.b": "x", "a": {"c": "y"}}, True),
        ({"a": {"b": [{"exists": False}]}}, {"a.b": "x", "a": {"c": "y"}}, False),
        ({"a": {"b": ["x"]}}, {"a.b": "x", "a": [{"c": "y"}]}, True),
        ({"a": {"c": ["y"]}}, {"a.b": "x", "a": [{"c": "y"}]}, True),
        ({"a": {"b": ["x"]}}, {"a.b": "x", "a": "y"}, True),
        # No number is too long to be compared.
        ({"a": [{"numeric": [">", 1]}]}, {"a": LONG}, True),
        ({"a": [{"numeric": [">", 1]}, "x", 3]}, {"a": [-LONG] * 50}, False),
        ({"a": [1, 2, 3, 4, 5, {"numeric": [">", 9]}]}, {"a": [LONG] * 50}, True),
    ],
)
def test_what_was_recorded(pattern, event, expected):
    assert compile_pattern(pattern)(event, Matching()) is expected


def test_an_object_below_a_name_with_dots_is_only_found_if_asked_for():
    event = {"a.b": {"c": "x"}}
    for pattern in ({"a.b.c": ["x"]}, {"a": {"b": {"c": ["x"]}}}, {"a.b": {"c": ["x"]}}):
        assert not compile_pattern(pattern)(event, Matching())
        assert compile_pattern(pattern, dialect=TOPICS)(event, Matching())


def test_a_pattern_without_end():
    pattern: dict[str, object] = {"a": [1]}
    for _ in range(500):
        pattern = {"a": pattern}
    with pytest.raises(PatternError, match="nested too deep"):
        compile_pattern(pattern)
    with pytest.raises(PatternError, match="Empty objects"):
        compile_pattern({}, leaves=False)


def test_looking_for_dots_in_the_names_of_a_large_event_is_counted_work():
    event: dict[str, Any] = {f"name{number}": number for number in range(8_000)}
    matches = compile_pattern({"detail": {"state": ["x"]}})
    matching = Matching(LOOP_WORK)
    with pytest.raises(TooMuchWork):
        [matches(event, matching) for _ in range(300)]
