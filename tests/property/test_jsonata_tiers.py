"""Tier 0 may decline, but what it answers is what the library answers; and no text breaks either."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from statewright.query.jsonata import Expression, JsonataError, JsonataSyntaxError
from statewright.query.scope import UNDEFINED, Scope
from tests.thoroughness import examples

moderate = settings(max_examples=examples(150))

NAMES = ("a", "b", "c", "long name")
VARIABLES = ("x", "y", "count")

numbers = st.one_of(
    st.integers(-5, 20),
    st.sampled_from([0.5, -2.5, 1.0, -0.0, 1e15, 1e16, 2**53, 2**53 - 1, 2**53 + 1, -(2**53), 2**62, 1e300, 0.1]),
)
texts = st.sampled_from(["", "a", "b", "ab", "1", "true", "é", "Z", "😀", "null"])
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=8,
)
inputs = st.dictionaries(st.sampled_from(NAMES), values, min_size=1)


LITERALS = ("0", "1", "2", "-3", "0.5", "9007199254740992", "1e3", "true", "false", "null", '""', '"a"', '"b"', '"é"')
ROOTS = ("$states.input", "$states.input", "$states.result", "$states.context", "$x", "$y", "$count")
OPERATORS = ("+", "-", "*", "<", "<=", ">", ">=", "=", "!=", "&", "and", "or", "/", "in")
FORMS = ("path", "path", "literal", "operator", "operator", "operator", "choice", "object", "array", "call", "block")


@st.composite
def expressions(draw: st.DrawFn, depth: int = 0) -> str:
    def inner() -> str:
        return draw(expressions(depth + 1))

    form = draw(st.sampled_from(FORMS if depth < 3 else FORMS[:3]))
    if form == "path":
        steps = draw(st.lists(st.sampled_from(["a", "b", "c", "`long name`"]), max_size=3))
        return ".".join([draw(st.sampled_from(ROOTS)), *steps])
    if form == "literal":
        return draw(st.sampled_from(LITERALS))
    if form == "operator":
        return f"{inner()} {draw(st.sampled_from(OPERATORS))} {inner()}"
    if form == "choice":
        return f"({inner()} ? {inner()} : {inner()})"
    if form == "object":
        return "{" + ", ".join(f'"{key}": {inner()}' for key in draw(st.sampled_from(["", "a", "ab", "abc"]))) + "}"
    if form == "array":
        return "[" + ", ".join(inner() for _ in range(draw(st.integers(0, 3)))) + "]"
    if form == "call":
        return f"${draw(st.sampled_from(['count', 'exists', 'not']))}({inner()})"
    return f"({inner()})"


def outcome(evaluate: Any, scope: Scope) -> str:
    """The value as JSON text with numbers as JSONata has them, or what went wrong.

    Keys are sorted: in a list of objects the library gives every object the order of the first.
    """
    try:
        value = evaluate(scope)
    except JsonataError as error:
        return f"error {error}"
    return "undefined" if value is UNDEFINED else json.dumps(as_doubles(value), sort_keys=True)


def as_doubles(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return float(value) + 0.0
    if isinstance(value, list):
        return [as_doubles(item) for item in value]
    return {key: as_doubles(item) for key, item in value.items()}


def scope_of(data: Any, variables: dict[str, Any], result: Any) -> Scope:
    return Scope(None, variables, lambda: {"a": 1, "b": {"c": "x"}}, input=data, result=result)


@moderate
@given(
    st.lists(expressions(), min_size=4, max_size=4),
    inputs,
    st.dictionaries(st.sampled_from(VARIABLES), values),
    st.just(UNDEFINED) | values,
)
@example(["$states.input.a = 1 ? $x : $y"] * 4, {"a": True}, {"x": 1}, UNDEFINED)
def test_both_tiers_agree(texts: list[str], data: Any, variables: dict[str, Any], result: Any) -> None:
    for text in texts:
        expression = Expression(text)
        if expression.tier0:
            ours = outcome(expression.evaluate, scope_of(data, variables, result))
            library = outcome(expression.evaluate_by_library, scope_of(data, variables, result))
            assert ours == library, text


@moderate
@given(st.lists(expressions(), min_size=2, max_size=4), inputs, st.dictionaries(st.sampled_from(VARIABLES), values))
def test_lent_and_converted_data_give_the_same(texts: list[str], data: Any, variables: dict[str, Any]) -> None:
    shared = scope_of(data, variables, UNDEFINED)
    for text in texts * 3:
        evaluate = Expression(text).evaluate_by_library
        assert outcome(evaluate, shared) == outcome(evaluate, scope_of(data, variables, UNDEFINED)), text


WORDS = (
    *("$", "$$", "$x", "$states", ".", "..", "[", "]", "(", ")", "{", "}", ",", ":", ";", "?", ":=", "~>", "@", "#"),
    *("^(", "|", "%", "*", "**", "+", "-", "/", "&", "=", "!=", "<", ">", "and", "or", "in", "!", "~", "`", "'", '"'),
    *("a", "1", "0.5", '"s"', "function($x)", "{$x}", "/r/", "$sum", "$map", "$string(", "true", "null", " ", "\n"),
    *("$pad", "$replace", "$join", "$reduce(", "$states.input.a", "/*", "*/", "é", "λ", "undefined", "\\"),
)


@moderate
@given(st.lists(st.sampled_from(WORDS), max_size=12).map("".join) | st.text(max_size=20), inputs)
def test_any_text_is_an_expression_or_a_clear_error(text: str, data: Any) -> None:
    refused: JsonataSyntaxError | None = None
    try:
        expression = Expression(text)
    except JsonataSyntaxError as error:
        refused = error
    if refused is None:
        assert outcome(expression.evaluate, scope_of(data, {"x": [1, {"a": 2}]}, UNDEFINED))
    else:
        assert refused.message
        assert 0 <= refused.position <= len(text)
