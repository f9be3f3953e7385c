"""ResultPath writes: what they produce, what they share, and where they do not apply."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.errors import RESULT_PATH_MATCH, ExecutionFailure
from statewright.query.jsonpath import compile_path
from statewright.query.jsonpath_parser import PathSyntaxError
from statewright.query.refpath import compile_reference_path


@pytest.mark.parametrize(
    ("path", "document", "expected"),
    [
        ("$", {"a": 1}, "new"),
        ("$", None, "new"),
        ("$.a", {}, {"a": "new"}),
        ("$.a", {"a": {"b": 1}}, {"a": "new"}),
        ("$.b", {"a": 1}, {"a": 1, "b": "new"}),
        ("$['x y']", {}, {"x y": "new"}),
        ("$.a.b", {}, {"a": {"b": "new"}}),
        ("$.a.b.c", {"a": {"z": 1}}, {"a": {"z": 1, "b": {"c": "new"}}}),
        ("$.a.b", {"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": "new", "c": 2}, "d": 3}),
        ("$.a[0].b", {"a": [{"c": 1}, 2]}, {"a": [{"c": 1, "b": "new"}, 2]}),
        ("$.a[1]", {"a": [1, 2, 3]}, {"a": [1, "new", 3]}),
        ("$.a[-1]", {"a": [1, 2, 3]}, {"a": [1, 2, "new"]}),
        ("$[1].p", [{}, {"id": 7}], [{}, {"id": 7, "p": "new"}]),
        ("$[0]", [1], ["new"]),
        ("$.a[0][1].b.c", {"a": [[1, {}]]}, {"a": [[1, {"b": {"c": "new"}}]]}),
        ("$.ledgers\\.x", {}, {"ledgers.x": "new"}),
    ],
)
def test_writes(path, document, expected):
    before = json.dumps(document)
    assert compile_reference_path(path).write(document, "new") == expected
    assert json.dumps(document) == before


def test_order_of_members_is_kept():
    written = compile_reference_path("$.b").write({"a": 1, "b": 2, "c": 3}, 9)
    assert list(written.items()) == [("a", 1), ("b", 9), ("c", 3)]


@pytest.mark.parametrize(
    ("path", "document", "reason"),
    [
        ("$.x", "text", 'to input "text": $ is a string, which has no members'),
        ("$.x", None, "to input null: $ is null, which has no members"),
        ("$.x", [1], "to input [1]: $ is an array of 1, which has no members"),
        ("$.x.y", {"x": 5}, "to input {\"x\":5}: $['x'] is a number, which has no members"),
        ("$.x.y", {"x": None}, "$['x'] is null, which has no members"),
        ("$.x[0].y", {"x": [True]}, "$['x'][0] is a boolean, which has no members"),
        ("$[0]", {"x": 1}, "$ is an object, which has no elements"),
        ("$.x[0]", {}, "there is no array at $['x']"),
        ("$.x[0].y", {"a": 1}, "there is no array at $['x']"),
        ("$.x[1]", {"x": [1]}, "$['x'] is an array of 1, which has no element 1"),
        ("$.x[-2]", {"x": [1]}, "$['x'] is an array of 1, which has no element -2"),
    ],
)
def test_where_a_write_does_not_apply(path, document, reason):
    with pytest.raises(ExecutionFailure) as caught:
        compile_reference_path(path).write(document, 1)
    assert caught.value.error == RESULT_PATH_MATCH
    assert caught.value.cause.startswith(f"Unable to apply ReferencePath {path} to input ")
    assert caught.value.cause.endswith(reason)


def test_the_cause_shortens_a_long_document_and_survives_a_deep_one():
    with pytest.raises(ExecutionFailure) as caught:
        compile_reference_path("$.x").write("y" * 5_000, 1)
    assert len(caught.value.cause) < 1_200
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ExecutionFailure, match=r"to input an array of 1: \$ is an array of 1"):
        compile_reference_path("$.x").write(deep, 1)


@pytest.mark.parametrize(
    "text",
    [
        "$$",
        "$$.a",
        "$x",
        "$x.a",
        "$.*",
        "$.a[*]",
        "$..a",
        "$.a[0,1]",
        "$['a','b']",
        "$.a[0:1]",
        "$.a[?(@.b)]",
        "$.a.length()",
        "$.a@b",
        "$.a:b",
        "$.a,b",
        "a",
        "",
        "$.",
    ],
)
def test_what_is_no_place_to_write_to(text):
    with pytest.raises(PathSyntaxError):
        compile_reference_path(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
KEYS = st.lists(st.sampled_from(["a", "b", "c"]) | st.integers(-2, 2), min_size=1, max_size=4)


@settings(max_examples=200, deadline=None)
@given(JSON, KEYS, JSON)
def test_a_write_copies_only_the_way(document, keys, value):
    text = "$" + "".join(f"[{key}]" if isinstance(key, int) else f"['{key}']" for key in keys)
    before = json.dumps(document)
    try:
        written = compile_reference_path(text).write(document, value)
    except ExecutionFailure:
        assert json.dumps(document) == before
        return
    assert json.dumps(document) == before
    assert compile_path(text).find(written) is value
    old, new = document, written
    for key in keys:
        if isinstance(new, dict):
            assert {k for k in new if k != key} == {k for k in (old or {}) if k != key}
            assert all(new[k] is old[k] for k in new if k != key)
            old, new = (old or {}).get(key), new[key]
        else:
            assert len(new) == len(old)
            changed = range(len(new))[key]
            assert all(one is other for at, (one, other) in enumerate(zip(old, new, strict=True)) if at != changed)
            old, new = old[key], new[key]
