import re
from typing import Any

import pytest

from statewright.query.jsonata import JsonataError, JsonataStackOverflow, compile_expression
from statewright.query.jsonata.functions import hash_text, number_range, partition
from statewright.query.scope import UNDEFINED, Entropy, Scope


def run(text: str, data: Any = None, seed: bytes = b"seed", counter: int = 0) -> Any:
    scope = Scope(data, entropy=Entropy(seed, counter), now_ms=1_700_000_000_123)
    return compile_expression(text).evaluate(scope)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$now()", "2023-11-14T22:13:20.123Z"),
        ("$now('[Y]-[M01]-[D01]')", "2023-11-14"),
        ("$now('[H01]:[m01]', '+0200')", "00:13"),
        ("$millis()", 1_700_000_000_123),
        ("$now() = $now()", True),
        ("$fromMillis($millis())", "2023-11-14T22:13:20.123Z"),
        ("[1, 2].$millis()", [1_700_000_000_123] * 2),
        ("$partition([1, 2, 3, 4, 5], 2)", [[1, 2], [3, 4], [5]]),
        ("$partition([1, 2, 3], 2.9)", [[1, 2], [3]]),
        ("$partition('a', 3)", [["a"]]),
        ("$partition([], 3)", []),
        ("$partition($states.input.nothing, 2)", UNDEFINED),
        ("$range(1, 9, 9)", 1),
        ("$range(1, 9, 3)", [1, 4, 7]),
        ("$range(0, 10.9, 5.5)", [0, 5, 10]),
        ("$range(3, 1, -1)", [3, 2, 1]),
        ("$range(-1.5, 0, 1)", [-2, -1, 0]),
        ("$range(1, 0, 1)", []),
        ("$hash('input data', 'SHA-1')", "aaff4a450a104cd177d28d18d74485e8cae074b7"),
        ("$hash('', 'MD5')", "d41d8cd98f00b204e9800998ecf8427e"),
        ("$length($hash('é', 'SHA-256'))", 64),
        ("$length($hash('a', 'SHA-384'))", 96),
        ("$length($hash('a', 'SHA-512'))", 128),
        ("$hash($states.input.nothing, 'MD5')", UNDEFINED),
        ("$parse('{\"a\": [1, 2.0, null]}').a", [1, 2, None]),
        ("$parse('null')", None),
        ("$parse('12345678901234567890')", 12345678901234567168),
        ("$parse($states.input.nothing)", UNDEFINED),
        ("$map(['1', '[2]'], $parse)", [1, [2]]),
        ("'[1]' ~> $parse", [1]),
    ],
)
def test_values(text: str, value: object) -> None:
    assert run(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$partition([1], 0)", 'Argument 2 of function "partition" does not match function signature'),
        ("$partition([1], 'a')", 'Argument 2 of function "partition" does not match function signature'),
        ("$partition([1], true)", 'Argument 2 of function "partition" does not match function signature'),
        ("$partition([1])", 'Argument 2 of function "partition" does not match function signature'),
        ("$range(1, 2)", 'Argument 3 of function "range" does not match function signature'),
        ("$range(1, 2, 0)", 'Argument 3 of function "range" does not match function signature'),
        ("$range('a', 2, 1)", 'Argument 1 of function "range" does not match function signature'),
        ("$range(1, 1 / 0, 1)", 'Argument 2 of function "range" does not match function signature'),
        ("$hash(1, 'MD5')", 'Argument 1 of function "hash" does not match function signature'),
        ("$hash('a', 'md5')", 'Argument 2 of function "hash" does not match function signature'),
        ("$hash('a', 1)", 'Argument 2 of function "hash" does not match function signature'),
        ("$hash('a')", 'Argument 2 of function "hash" does not match function signature'),
        ("$random('a')", 'Argument 1 of function "random" does not match function signature'),
        ("$parse(1)", 'Argument 1 of function "parse" does not match function signature'),
        ("$parse('{')", "The argument of the parse function is not valid JSON: "),
        ("$parse('[NaN]')", "The argument of the parse function is not valid JSON: NaN is not a JSON value"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(JsonataError, match="^[TD][0-9]{4}: " + re.escape(message)):
        run(text)


def test_a_wrong_number_of_arguments() -> None:
    for function, arguments in ((partition, ([], 1, 2)), (hash_text, ()), (number_range, (1, 2, 3, 4))):
        with pytest.raises(JsonataError):
            function(*arguments)


def test_parse_is_bounded() -> None:
    with pytest.raises(JsonataStackOverflow):
        run("$parse($states.input)", "[" * 100_000)


def test_chance_follows_the_seed_and_the_counter() -> None:
    both = run("[$random(), $random()]")
    assert both == run("[$random(), $random()]")
    assert both[0] != both[1]
    assert both != run("[$random(), $random()]", seed=b"other")
    assert both[1] == run("$random()", counter=1)
    assert all(0 <= number < 1 for number in both)


def test_a_seed_of_ones_own() -> None:
    assert run("$random(5)") == run("$random(5.9)", seed=b"other")
    assert run("$random(5)") != run("$random(6)")
    assert 0 <= run("$random(-1e300)") < 1


def test_uuid() -> None:
    text = run("$uuid()")
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", text)
    assert text == run("$uuid()")
    assert len(set(run("[$uuid(), $uuid(), $uuid()]"))) == 3


def test_looking_for_functions_in_a_result_draws_nothing_more() -> None:
    scope = Scope(None, entropy=Entropy(b"s"))
    assert compile_expression("($r := $random(); $f := $sum; null)").evaluate(scope) is None
    assert scope.entropy.counter == 1
