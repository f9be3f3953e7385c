"""Paths from random texts never do anything but answer or refuse; random paths answer as a naive evaluator does."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from statewright.errors import ExecutionFailure
from statewright.query.jsonpath import JsonPath, PathNotFound, PathSyntaxError, compile_path
from tests.thoroughness import examples

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, 2.5, "", "a", "b", "red"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=15,
)
PUNCTUATION = list("@.*[]()?,:!'\\\"/é \n\ud800")
WORDS = ["$", "$$", "$v", "..", "[?(", ")]", "'a'", '"b"', "a", "b", "0", "-1", "true", "null", "{'a':1}", "length()"]
OPERATORS = ["==", "!=", "<", ">=", "=~", "/a*/i", "&&", "||", " in ", " size ", " empty ", "sum(", "\\u0061"]
FRAGMENTS = st.sampled_from([*PUNCTUATION, *WORDS, *OPERATORS])


def compiled(text: str) -> JsonPath | None:
    """The path, or None after checking how the text was refused."""
    try:
        return compile_path(text)
    except PathSyntaxError as error:
        refused = error
    assert 0 <= refused.position <= len(text)
    assert refused.message
    return None


@settings(max_examples=examples(200))
@given(st.lists(FRAGMENTS, max_size=14).map("".join) | st.text(max_size=20), JSON)
@example("$[?(@.a =~ /a/)]", [{"a": "a"}])
@example("$[?(@.a in @.b)]", [{"a": 1, "b": [1]}])
def test_any_text_answers_or_refuses(text, document):
    before = json.dumps(document)
    for candidate in (text, "$" + text, "$[?(@" + text + ")]"):
        path = compiled(candidate)
        if path is None:
            continue
        # Anything but these two failures would be a bug.
        with suppress(PathNotFound, ExecutionFailure):
            found = path.find(document)
            assert path.definite or isinstance(found, list)
    assert json.dumps(document) == before


NAME = st.sampled_from(["a", "b", "c"])
INDEX = st.integers(-3, 3)
BOUND = st.none() | st.integers(-3, 3)
STEP = st.one_of(
    st.tuples(st.just("name"), NAME),
    st.tuples(st.just("index"), INDEX),
    st.tuples(st.just("wild"), st.none()),
    st.tuples(st.just("slice"), st.tuples(BOUND, BOUND)),
    st.tuples(st.just("indexes"), st.lists(INDEX, min_size=2, max_size=3)),
    st.tuples(st.just("scan"), NAME),
    st.tuples(st.just("filter"), st.tuples(NAME, st.sampled_from(["==", "!=", "<", ">="]), st.integers(-2, 2))),
)


def written(step: tuple[str, Any]) -> str:
    kind, what = step
    if kind == "slice":
        return "[" + ":".join("" if bound is None else str(bound) for bound in what) + "]"
    if kind == "filter":
        return f"[?(@.{what[0]} {what[1]} {what[2]})]"
    return {
        "name": f".{what}",
        "index": f"[{what}]",
        "wild": "[*]",
        "indexes": str(what),
        "scan": f"..{what}",
    }[kind]


def children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def passes(item: Any, what: Any) -> bool:
    name, operator, limit = what
    value = item.get(name) if isinstance(item, dict) else None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return {
        "==": number and value == limit,
        "!=": not (number and value == limit),
        "<": number and value < limit,
        ">=": number and value >= limit,
    }[operator]


def scanned(value: Any, name: str) -> list[Any]:
    here = [value[name]] if isinstance(value, dict) and name in value else []
    return here + [found for child in children(value) for found in scanned(child, name)]


def naively(values: list[Any], step: tuple[str, Any]) -> list[Any]:
    kind, what = step
    found: list[Any] = []
    for value in values:
        if kind == "name" and isinstance(value, dict) and what in value:
            found.append(value[what])
        elif kind == "wild":
            found.extend(children(value))
        elif kind == "scan":
            found.extend(scanned(value, what))
        elif kind == "filter":
            items = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
            found.extend(item for item in items if passes(item, what))
        elif isinstance(value, list):
            if kind == "slice":
                found.extend(value[what[0] : what[1]])
            else:
                indexes = what if kind == "indexes" else [what] if kind == "index" else []
                found.extend(value[index] for index in indexes if -len(value) <= index < len(value))
    return found


@settings(max_examples=examples(200))
@given(st.lists(STEP, min_size=1, max_size=4), JSON)
def test_a_random_path_answers_as_a_naive_evaluator(steps, document):
    path = compile_path("$" + "".join(written(step) for step in steps))
    expected = [document]
    for step in steps:
        expected = naively(expected, step)
    try:
        found = path.find(document)
    except PathNotFound:
        assert expected == []
        assert path.definite or (steps[0][0] == "slice" and not isinstance(document, list))
        return
    if path.definite:
        assert len(expected) == 1
        assert found is expected[0]
    else:
        assert len(found) == len(expected)
        assert all(one is other for one, other in zip(found, expected, strict=True))
