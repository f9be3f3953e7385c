"""Tier 1 through the facade: values, errors in JSONata's words, limits, and what it does with the data."""

import sys
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from statewright.query.jsonata import (
    Expression,
    JsonataError,
    JsonataMemory,
    JsonataStackOverflow,
    JsonataSyntaxError,
    JsonataTimeout,
    UnsupportedResult,
    compile_expression,
)
from statewright.query.jsonata import library as tier1
from statewright.query.jsonata.errors import RUNTIME_MESSAGES
from statewright.query.scope import UNDEFINED, Scope

NO_LOOKING = (
    "The regular expression is not supported: look-around, including look-ahead and look-behind, is not supported"
)
INPUT = {
    "name": "ann",
    "prices": [3, 1, 2],
    "orders": [{"id": 1, "to": "x", "n": 2.0}, {"id": 2, "to": "y", "n": 5}],
    "undefined": 1,
    "function": 2,
    "größe-x": 3,
    "naïve": 4,
    "nil": None,
}


def run(text: str, variables: Mapping[str, Any] | None = None, **more: Any) -> Any:
    scope = Scope(
        None, variables or {}, lambda: {"Execution": {"Id": "arn"}}, input=INPUT, now_ms=1_700_000_000_123, **more
    )
    return compile_expression(text).evaluate_by_library(scope)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$sum($states.input.prices)", 6),
        ("$states.input.orders[to = 'y'].id", 2),
        ("$states.input.orders.n", [2, 5]),
        ("$states.input.orders^(>n).id", [2, 1]),
        ("$states.input.orders{to: n}", {"x": 2, "y": 5}),
        ("$map($states.input.prices, function($v){ $v * 2 })", [6, 2, 4]),
        ("$states.input.nothing", UNDEFINED),
        ("$states.input.nil", None),
        ("{'a': $states.input.nothing, 'b': $states.input.nil}", {"b": None}),
        ("$states.context.Execution.Id", "arn"),
        ("$states.result", UNDEFINED),
        ("$keys($states)", ["input", "context"]),
        ("$states.input.undefined + $states.input.function", 3),
        ("$states.input.`größe-x` + $states.input.naïve", 7),
        ("$uppercase('a') /* c */", "A"),
        ("[$]", []),
        ("$", UNDEFINED),
        ("$states.input.prices.($ + 1)", [4, 2, 3]),
        ("$substring($states.input.nothing, 1)", UNDEFINED),
        ("$clone($states.input.prices)", [3, 1, 2]),
        ("1 / 4", 0.25),
        ("$states.input.orders@$o.{'id': $o.id}", [{"id": 1}, {"id": 2}]),
        ("$count($states.input.(orders@$o.orders@$p[$o.id = $p.id]))", 2),
        ("9007199254740993", 9007199254740992),
    ],
)
def test_values(text: str, value: object) -> None:
    assert run(text) == value


@pytest.mark.parametrize(
    ("text", "variables", "value"),
    [
        ("$x + $x", {"x": 2}, 4),
        ("$x", {"x": [1]}, [1]),
        ("$x", {"x": None}, None),
        ("$x", {}, UNDEFINED),
        ("$count + 1", {"count": 4}, 5),
        ("$count($x)", {"x": [1, 2]}, 2),
        ("$map($x, function($v){ $v + $count })", {"x": [1], "count": 3}, 4),
        ("($count := $count + 1; $count)", {"count": 1}, 2),
        ("$größe & $été_1", {"größe": "a", "été_1": "b"}, "ab"),
        ("$pad('', $sum, '-')", {"sum": 3}, "---"),
        ("$reduce($x, function($a, $b){ $a & $b & $count })", {"x": ["a", "b"], "count": 1}, "ab1"),
    ],
)
def test_variables(text: str, variables: Mapping[str, Any], value: object) -> None:
    assert run(text, variables) == value


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("$nope()", "T1006", "Attempted to invoke a non-function"),
        ("$eval('1')", "T1006", "Attempted to invoke a non-function"),
        ("$x(1)", "T1006", "Attempted to invoke a non-function"),
        ("2()", "T1006", "Attempted to invoke a non-function"),
        ("$error('boo: 1')", "D3137", "boo: 1"),
        ("'a' + 1", "T2001", 'The left side of the "+" operator must evaluate to a number'),
        ("1 * 'a'", "T2002", 'The right side of the "*" operator must evaluate to a number'),
        ("$number('zz')", "D3030", 'Unable to cast value to a number: "zz"'),
        ("$uppercase(1)", "T0410", 'Argument 1 of function "uppercase" does not match function signature'),
        ("$sum(['a'])", "T0412", 'Argument 1 of function "sum" must be an array of numbers'),
        ("$sum([1]) + $uppercase(1)", "T0410", "Argument 1 must be String"),
        ("$sort([{}, 1])", "D3070", RUNTIME_MESSAGES["D3070"]),
        ("1 / 0", "D1001", "Number out of range: Infinity"),
        ("-1 / 0", "D1001", "Number out of range: -Infinity"),
        ("{'a': [1 % 0]}", "D1001", "Number out of range: NaN"),
        ("$match('a', /(?=a)/)", "", NO_LOOKING),
        ("$match('a', /(a)\\1/)", "", "The regular expression is not supported: backreferences are not supported"),
        ("$sqrt(-1)", "D3060", "The sqrt function cannot be applied to a negative number: -1"),
    ],
)  # fmt: skip
def test_errors(text: str, code: str, message: str) -> None:
    with pytest.raises(JsonataError) as caught:
        run(text, {"x": 1})
    assert (caught.value.code, caught.value.message) == (code, message)
    assert str(caught.value) == (f"{code}: {message}" if code else message)


def test_the_library_may_refuse_what_the_grammar_allows() -> None:
    with pytest.raises(JsonataSyntaxError) as caught:
        compile_expression("%")
    assert caught.value.code == "S0217"
    with pytest.raises(JsonataSyntaxError) as caught:
        compile_expression("$uppercase('a')" + "&'b'" * 800)
    assert caught.value.code == "S0500"
    with pytest.raises(JsonataSyntaxError, match="surrogate"):
        compile_expression("$uppercase('\ud800')")


def test_a_refusal_after_tier_0_gave_up_is_an_error_of_the_evaluation() -> None:
    with pytest.raises(JsonataError, match="surrogate"):
        Expression("$a\ud800").evaluate(Scope(None))


@pytest.mark.parametrize(
    "text",
    [
        "$sum",
        "/a/",
        "function($x){ $x }",
        "$f := function($x){ $x }",
        "[1, $sum]",
        "{'a': {'b': /x/}}",
        "$substring(?, 1)",
        "$sum ~> $count",
    ],
)
def test_functions_are_no_result(text: str) -> None:
    with pytest.raises(UnsupportedResult, match="returned an unsupported result type"):
        run(text)


@pytest.mark.parametrize(
    "text", ["$map([1], $sum)", "[null, $exists($sum)]", "($f := $sum; null)", "{'a': [$type($sum)]}"]
)
def test_functions_may_be_used(text: str) -> None:
    run(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("($f := function($n){ $f($n + 1) }; $f(1))", JsonataTimeout),
        ("($f := function($n){ 1 + $f($n + 1) }; $f(1))", JsonataStackOverflow),
        ("$pad('', 4e8)", JsonataMemory),
        ("$pad('', -4e8, '-')", JsonataMemory),
        ("$states.input.name.$pad($number('4e8'))", JsonataMemory),
        ("($p := $pad; $p('', 4e8))", JsonataMemory),
        ("'a' ~> $pad(4e8)", JsonataMemory),
        ("[1..1e9]", JsonataMemory),
        ("$sum([1..600000])", JsonataMemory),
        ("$range(1, 1e15, 1)", JsonataMemory),
        ("$length($reduce([1..40], function($a, $b){ $a & $a }, 'aaaaaaaaaa'))", JsonataMemory),
        ("$count($reduce([1..40], function($a, $b){ [$a, $a] }, [1, 2]))", JsonataMemory),
        ("$count($reduce([1..40], function($a, $b){ $append($a, $a) }, [1, 2]))", JsonataMemory),
        ("$reduce([1..9], function($a, $b){ $replace($a, 'b', $a) }, $pad('bb', -52, 'a'))", JsonataMemory),
        ("$reduce([1..200], function($a, $b){ $base64encode($a) }, 'a')", JsonataMemory),
        ("$reduce([1..40], function($a, $b){ $join([$a, $a], $a) }, 'ab')", JsonataMemory),
        ("$replace($text, 'a', $text)", JsonataMemory),
        ("$replace($text, /a|b/, $text)", JsonataMemory),
        ("$text.$replace('a', $text)", JsonataMemory),
        ("$text.$replace('a', $text, 3000)", JsonataMemory),
        ("$text ~> $replace('a', $text)", JsonataMemory),
        ("$map([$text], $replace(?, 'a', $text))", JsonataMemory),
        ("($r := $replace; $r($text, 'a', $text))", JsonataMemory),
        ("$join([1..5000].$string(), $text)", JsonataMemory),
        ("($j := $join; $j([1..5000].$string(), $text))", JsonataMemory),
        ("($f := function($x){ $map([$x & $x], $f) }; $f('aaaa'))", JsonataMemory),
        ("$reduce([1..60], function($a, $b){ {'x': $a, 'y': $a} }, {})", JsonataTimeout),
    ],
)  # fmt: skip
def test_limits(text: str, kind: type[JsonataError], monkeypatch: pytest.MonkeyPatch) -> None:
    if kind is JsonataTimeout:
        monkeypatch.setattr(tier1, "TIMEOUT_MS", 150)
    expression = Expression(text)
    with pytest.raises(kind):
        expression.evaluate(Scope(None, {"text": "ab" * 4_000}, input=INPUT))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$pad('x', $number('3')) & '|'", "x  |"),
        ("$pad($states.input.nothing, $number('3'))", UNDEFINED),
        ("$states.input.name.$pad(5, '-')", "ann--"),
        ("$states.input.orders@$o.orders@$p[$o.id = $p.id and `to` = 'x'].'id'", UNDEFINED),
        ("$map(['x'], function($v){ $pad($v, $number('2'), '-') })", "x-"),
        ("$replace('abab', 'a', $rep)", "xybxyb"),
        ("$replace('abab', 'a', $rep, 1)", "xybab"),
        ("$replace('abab', /a/, $rep)", "xybxyb"),
        ("$replace('abab', /a/, function($m){ $m.match & '!' })", "a!ba!b"),
        ("$states.input.name.$replace('n', $rep)", "axyxy"),
        ("$states.input.name.$replace('n', $rep, 1)", "axyn"),
        ("'abab' ~> $replace('a', $rep)", "xybxyb"),
        ("$replace($states.input.nothing, 'a', $rep)", UNDEFINED),
        ("$join(['a', 'b'], $rep)", "axyb"),
        ("$join(['a', 'b'], $states.input.nothing)", "ab"),
        ("$reduce(['a', 'b'], function($x, $y){ $x & $y & 1 })", "ab1"),
        ("$reduce([1, 2], function($x, $y){ [$x, [$y], $states.input.nothing] })", [1, [2]]),
        ("$reduce([{'a': 1}, {'b': 2}], function($x, $y){ $merge([$x, $y, $y]) })", {"a": 1, "b": 2}),
        ("$reduce(['a', 'b'], function($x, $y){ $string($x) & $uppercase($y) })", "aB"),
        ("($f := function($n){ $n > 0 ? [$n, $f($n - 1)] : [] }; $f(3))", [3, 2, 1]),
    ],
)
def test_guards_change_nothing_else(text: str, value: object) -> None:
    assert run(text, {"rep": "xy"}) == value


def test_a_large_but_harmless_replacement_is_counted_before_it_is_refused() -> None:
    text = "b" * 3_000 + "a"
    assert len(run("$replace($t, 'a', $t)", {"t": text})) == 6_001
    assert len(run("$replace($t, 'b', $r, 2)", {"t": text, "r": "c" * 2_000})) == 3_001 + 2 * 1_999


def test_data_is_lent_at_first_and_converted_when_touched_again() -> None:
    scope = Scope(None, {"x": [1, 2]}, input=INPUT)
    total, count = compile_expression("$sum($states.input.prices)"), compile_expression("$sum($x)")
    assert total.evaluate(scope) == 6
    data = scope.handle
    assert isinstance(data, tier1._Data)
    assert data.handle is None
    assert total.evaluate(scope) == 6
    first = data.handle
    assert first is not None
    assert count.evaluate(scope) == 3
    assert data.handle is first
    assert count.evaluate(scope) == 3
    assert data.handle is not first
    assert data.handle_parts == {"input", "$x"}
    assert total.evaluate(scope) == 6


def test_the_context_is_read_only_by_those_who_ask() -> None:
    asked: list[int] = []

    def make_context() -> dict[str, int]:
        asked.append(1)
        return {"a": 1}

    scope = Scope(None, {}, make_context, input=INPUT)
    compile_expression("$sum($states.input.prices)").evaluate(scope)
    assert asked == []
    assert compile_expression("$sum($states.context.a)").evaluate(scope) == 1
    assert compile_expression("$sum($states.context.a)").evaluate(scope) == 1
    assert asked == [1]


@pytest.mark.parametrize("value", [2**70, [2**70], {"a": 2**70}, "\ud800", ["\ud800"], {"\ud800": 1}])
def test_data_that_the_library_cannot_hold(value: object) -> None:
    scope = Scope(None, {}, input={"bad": value, "good": ["a"]})
    for _ in range(3):
        assert compile_expression("$uppercase($states.input.good[0])").evaluate(scope) == "A"
        with pytest.raises(JsonataError, match=r"64 bits|surrogate"):
            compile_expression("$string($states.input.bad)").evaluate(scope)


def test_an_odd_mapping_serves_as_variables() -> None:
    class Chain(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            return {"x": [4, 5]}[key]

        def __iter__(self) -> Any:
            return iter(["x"])

        def __len__(self) -> int:
            return 1

    assert compile_expression("$sum($x)").evaluate(Scope(None, Chain())) == 9


def test_every_thread_has_its_own_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    expression = compile_expression("$sum($states.input.prices) & $uuid()")
    results: list[Any] = []

    def work() -> None:
        for _ in range(3):
            results.append(expression.evaluate(Scope(None, input=INPUT)))

    work()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 15
    assert len(set(results)) == 1
    assert complaints == []


def test_programs_are_dropped_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier1, "_MAX_PROGRAMS", 3)
    for number in range(10):
        assert Expression(f"$sum([{number}])").evaluate(Scope(None)) == number
    assert len(tier1._THREAD.whole) <= 4


def test_what_is_not_the_librarys_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        tier1._translate(KeyboardInterrupt())
    assert isinstance(tier1._translate(MemoryError()), JsonataMemory)
    assert isinstance(tier1._translate(RecursionError()), JsonataStackOverflow)
    panic = type("PanicException", (BaseException,), {})
    assert tier1._translate(panic("ouch")).message == "The expression could not be evaluated: ouch"
    assert tier1._translate(ValueError("plain")).message == "plain"
    odd = tier1._translate(ValueError("T0411: Argument 2 must be Number"), frozenset(["pad"]))
    assert odd.message == "Argument 2 must be Number"


def test_evaluating_against_bare_data() -> None:
    assert tier1.evaluate("a.b", {"a": {"b": 1}}) == 1
    assert tier1.evaluate("$x & $", "s", {"x": "t"}) == "ts"
    assert tier1.evaluate("a", {}) is UNDEFINED
    assert tier1.evaluate("a", {"a": None}) is None
    assert tier1.evaluate("$", UNDEFINED) is UNDEFINED
    assert tier1.evaluate("$join(['a', 'b'], $x)", None, {"x": "-"}) == "a-b"
    with pytest.raises(JsonataError):
        tier1.evaluate("$nope()", {})


def test_expressions_are_compiled_once() -> None:
    assert compile_expression("$sum([1])") is compile_expression("$sum([1])")
    assert compile_expression("  $sum([1]) ").text == "$sum([1])"
    assert repr(compile_expression("$a")) == "Expression('$a')"


def test_result_and_error_output_are_there_when_the_scope_has_them() -> None:
    assert run("$sum($states.result.a)", result={"a": [1, 2]}) == 3
    assert run("$uppercase($states.errorOutput.Error)", error_output={"Error": "e"}) == "E"
