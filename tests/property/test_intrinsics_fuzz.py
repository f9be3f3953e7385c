"""What must hold for any text and any values: clear errors only, nothing changed, and agreement with simple models."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.errors import INTRINSIC_FAILURE, ExecutionFailure
from statewright.query.intrinsic_functions import FUNCTIONS
from statewright.query.intrinsics import Intrinsic, IntrinsicSyntaxError, compile_intrinsic
from statewright.query.jsonpath import PathNotFound
from statewright.query.scope import Entropy, Scope
from tests.thoroughness import examples

moderate = settings(max_examples=examples(150))

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers() | finite | text
# Few distinct values, so that equal ones meet.
small = st.sampled_from([0, 1, 2, 1.0, -0.0, True, False, None, "", "1", "a", 2**60, float(2**60)])


def documents(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc") | text, inner, max_size=4),
        max_leaves=8,
    )


values = documents(scalars | small)

fragments = st.sampled_from(
    [
        *FUNCTIONS,
        "States.Nope",
        *"()[],'\"\\ {}$@?.:*/=~&|!<>-+",
        *["{}", "$.a", "$$.b", "$v", "$.a[?(@.b == 'c')]", "[0]", "['", "']", "\\'", "\\{", "=~ /", "..", "&&"],
        *["null", "true", "false", "0", "1.5", "1e9", "9" * 30, "'text'", "'{}'", "\n", "é", "\x00", "\ud800"],
    ]
)


@moderate
@given(st.lists(fragments, max_size=30).map("".join) | st.text(max_size=40).map(lambda rest: f"States.Array({rest}"))
def test_any_text_compiles_or_is_refused_with_a_place(source: str) -> None:
    position = refused_at(source)
    if position is None:
        evaluate_safely(compile_intrinsic(source), {"a": [{"b": "c"}]})
    else:
        assert 0 <= position <= len(source)


def refused_at(source: str) -> int | None:
    try:
        compile_intrinsic(source)
    except IntrinsicSyntaxError as error:
        return error.position
    return None


@st.composite
def calls(draw: st.DrawFn, level: int = 0) -> str:
    """A call that compiles, of random functions to a random depth."""
    function = draw(st.sampled_from(list(FUNCTIONS.values())))
    count = draw(st.integers(function.least, 4 if function.most is None else function.most))
    plain = st.sampled_from(
        ["$.a", "$.b", "$", "$$", "$v", "1", "-2.5", "null", "true", "false", "'x'", "','", "'MD5'"]
    )
    arguments = [draw(plain | calls(level + 1)) if level < 3 else draw(plain) for _ in range(count)]
    if function.name == "States.Format":
        arguments[0] = "'" + "{}" * (count - 1) + "'"
    return f"{function.name}({', '.join(arguments)})"


def evaluate_safely(intrinsic: Intrinsic, data: Any) -> Any:
    before = repr(data)
    result, failure = None, ExecutionFailure(INTRINSIC_FAILURE, "Invalid arguments in States.Array: none")
    try:
        result = intrinsic(Scope(data, {"v": data}, lambda: {"c": data}, entropy=Entropy(b"fuzz")))
    except ExecutionFailure as raised:
        failure = raised
    except PathNotFound:
        pass
    assert failure.error == INTRINSIC_FAILURE
    assert failure.cause.startswith("Invalid arguments in States.")
    assert repr(data) == before
    return result


@moderate
@given(calls(), values, values)
def test_any_call_of_any_values_gives_json_or_a_failure(source: str, first: Any, second: Any) -> None:
    result = evaluate_safely(compile_intrinsic(source), {"a": first, "b": second})
    json.dumps(result).encode()


@moderate
@given(st.sampled_from([name for name in FUNCTIONS if name != "States.UUID"]), st.lists(values, max_size=4))
def test_any_values_of_any_kind_are_answered(name: str, arguments: list[Any]) -> None:
    function = FUNCTIONS[name]
    count = max(function.least, min(len(arguments), 4 if function.most is None else function.most))
    source = f"{name}({', '.join(f'$.v[{index}]' for index in range(count))})"
    padded = arguments + [None] * (count - len(arguments))
    result = evaluate_safely(compile_intrinsic(source), {"v": padded})
    json.dumps(result).encode()


def call(name: str, *arguments: Any) -> Any:
    source = f"States.{name}({', '.join(f'$.v[{index}]' for index in range(len(arguments)))})"
    return compile_intrinsic(source)(Scope({"v": list(arguments)}))


@moderate
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_quoted_string_means_what_it_escapes(plain: str) -> None:
    quoted = "".join("\\" + character if character in "'{}\\" else character for character in plain)
    assert compile_intrinsic(f"States.Array('{quoted}', 1)")(Scope(None)) == [plain, 1]
    assert compile_intrinsic(f"States.Format('{quoted}{{}}{quoted}', '{quoted}')")(Scope(None)) == plain * 3


@moderate
@given(st.text(st.sampled_from('ab ,()[]{}"$@?*.:/=~'), min_size=1, max_size=12), st.text("01 ,)", max_size=4))
def test_a_bracketed_name_may_hold_anything(name: str, rest: str) -> None:
    intrinsic = compile_intrinsic(f"States.Array($['{name}'], '{rest}', $.other)")
    assert [path.text for path in intrinsic.paths] == [f"$['{name}']", "$.other"]
    assert intrinsic(Scope({name: 1, "other": 2})) == [1, rest, 2]


@moderate
@given(values)
def test_json_text_goes_round(value: Any) -> None:
    assert repr(call("StringToJson", call("JsonToString", value))) == repr(value)


@moderate
@given(text)
def test_base64_goes_round(plain: str) -> None:
    assert call("Base64Decode", call("Base64Encode", plain)) == plain


@moderate
@given(finite)
def test_a_formatted_float_reads_back(number: float) -> None:
    written = call("Format", "{}", number)
    assert float(written) == number
    assert ("E" in written) == (number != 0 and not 1e-3 <= abs(number) < 1e7)


@moderate
@given(st.lists(values, max_size=12), st.integers(1, 5))
def test_partitions_join_to_the_array(array: list[Any], size: int) -> None:
    chunks = call("ArrayPartition", array, size)
    assert [item for chunk in chunks for item in chunk] == array
    assert all(len(chunk) == size for chunk in chunks[:-1])
    assert all(0 < len(chunk) <= size for chunk in chunks)


def equal(left: Any, right: Any) -> bool:
    """JSON equality, the slow and plain way."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[name], right[name]) for name in left)
    return bool(left == right)


@moderate
@given(st.lists(documents(small), max_size=10), documents(small))
def test_unique_and_contains_agree_with_plain_equality(array: list[Any], wanted: Any) -> None:
    kept: list[Any] = []
    for item in array:
        if not any(equal(item, other) for other in kept):
            kept.append(item)
    assert repr(call("ArrayUnique", array)) == repr(kept)
    assert call("ArrayContains", array, wanted) is any(equal(item, wanted) for item in array)


numbers = st.integers(-50, 50) | st.floats(-50, 50) | st.integers(-100, 100).map(lambda half: half / 2)


def rounded(number: float) -> int:
    return math.floor(Fraction(number) + Fraction(1, 2))


@moderate
@given(numbers, numbers)
def test_addition_agrees_with_exact_rounding(first: float, second: float) -> None:
    assert repr(call("MathAdd", first, second)) == repr(rounded(first) + rounded(second))


@moderate
@given(numbers, numbers, numbers.filter(rounded))
def test_range_agrees_with_counting(first: float, last: float, step: float) -> None:
    counted, at = [], rounded(first)
    while (at <= rounded(last)) if step > 0 else (at >= rounded(last)):
        counted.append(at)
        at += rounded(step)
    assert call("ArrayRange", first, last, step) == counted


@moderate
@given(numbers, numbers, numbers)
def test_random_numbers_stay_in_range(start: float, end: float, seed: float) -> None:
    if rounded(start) < rounded(end):
        drawn = call("MathRandom", start, end, seed)
        assert rounded(start) <= drawn < rounded(end)
        assert drawn == call("MathRandom", start, end, rounded(seed))


@moderate
@given(st.text("ab,;", max_size=20), st.text("ab,;", max_size=3))
def test_splitting_keeps_all_but_the_delimiters(whole: str, delimiters: str) -> None:
    pieces = call("StringSplit", whole, delimiters)
    assert "".join(pieces) == "".join(character for character in whole if character not in delimiters)
    assert all(pieces)
    assert len(pieces) <= 1 or set(whole) & set(delimiters)


# Chance


def test_math_random_stays_in_its_range_and_follows_the_seed() -> None:
    scope = Scope({"low": -3, "high": 2.4}, entropy=Entropy(b"one"))
    draw = compile_intrinsic("States.MathRandom($.low, $.high)")
    assert {draw(scope) for _ in range(200)} == {-3, -2, -1, 0, 1}
    seeded = [call("MathRandom", 0, 1000000, seed) for seed in (1, 1.2, 2, 3, -1)]
    assert seeded[0] == seeded[1]
    assert len(set(seeded)) == 4
    # The seed alone decides, today and in every later version.
    assert seeded == [call("MathRandom", 0, 1000000, seed) for seed in (1, 1, 2, 3, -1)]
    assert seeded[0] == 858596


def test_chance_follows_the_scope() -> None:
    draw = compile_intrinsic("States.Array(States.UUID(), States.MathRandom(0, 1000000000))")

    def draws(seed: bytes) -> list[Any]:
        scope = Scope(None, entropy=Entropy(seed))
        return [draw(scope), draw(scope)]

    assert draws(b"one") == draws(b"one")
    assert draws(b"one") != draws(b"two")
    assert draws(b"one")[0] != draws(b"one")[1]
    uuids = [draws(b"one")[0][0], draws(b"two")[0][0]]
    assert uuids[0] != uuids[1]
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", u) for u in uuids)


# Texts and values made to take long, or to go deep


@pytest.mark.parametrize(
    "text",
    [
        "States.Array(" * 10_000 + ")" * 10_000,
        "States.Array(" + "(" * 10_000,
        "States.Array($" + "(" * 10_000,
        "States.Array($[" + "(" * 10_000 + ")" * 10_000 + "])",
        "States.Array($" + "[?(@" * 5_000,
        "States.Array('" + "\\" * 10_001,
        "States.Array($[?(@.a =~ " + "/" * 100_001,
        "States.Array('" * 10_000,
        "States.Array(" + "'" * 99_999,
    ],
)
def test_deep_or_broken_texts_are_refused_quickly(text: str) -> None:
    with pytest.raises(IntrinsicSyntaxError):
        compile_intrinsic(text)


def test_string_to_json_of_hostile_texts_is_quick() -> None:
    for text in ('\\"' * 130_000, '"' + '\\"' * 130_000, ("[" * 199 + "]" * 199) * 600, "[" + '"\\"[",' * 40_000):
        with pytest.raises(ExecutionFailure):
            call("StringToJson", text)


@pytest.mark.parametrize(
    "items",
    [
        [{"id": index, "tags": ["a", index]} for index in range(10_000)],
        [(2**61 - 1) * index for index in range(1, 10_001)],
        [[(2**61 - 1) * index] for index in range(1, 10_001)],
        [index << 40 for index in range(10_000)],
    ],
)
def test_array_unique_of_many_different_items_is_quick(items: list[Any]) -> None:
    assert call("ArrayUnique", items + items) == items


def too_deep(name: str, value: Any) -> None:
    with pytest.raises(ExecutionFailure, match="argument 1 nests arrays and objects deeper than 200 levels"):
        call(name, value)


def nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def test_string_to_json_bounds_nesting() -> None:
    text = call("JsonToString", nested(200))
    assert call("StringToJson", text) == nested(200)
    too_deep("StringToJson", "[" + text + "]")
    too_deep("StringToJson", "[" * 100_000)
    too_deep("StringToJson", '{"a":' * 100_000)
    too_deep("JsonToString", nested(201))
    deep: Any = []
    for _ in range(50_000):
        deep = [deep]
    too_deep("JsonToString", deep)
    while deep:  # freed level by level: some Pythons recurse when they free it at once
        deep = deep[0]
