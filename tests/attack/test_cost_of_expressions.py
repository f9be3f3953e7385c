"""Every function of JSONata over the largest data an execution may have: it leaves the loop, or costs little there.

The cost is CPU time, compared with a loop of Python measured beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from statewright.engine.heavy.steps import on_loop
from statewright.errors import ExecutionFailure
from statewright.query.fence import LeavesTheLoop
from statewright.query.intrinsics import compile_intrinsic
from statewright.query.jsonata import JsonataError, compile_expression
from statewright.query.jsonpath import PathNotFound, compile_path
from statewright.query.scope import Scope

pytestmark = pytest.mark.slow

DATA: dict[str, Any] = {
    "n": list(range(30_000)),
    "s": [f"s{number}" for number in range(20_000)],
    "o": [{"a": number, "b": str(number)} for number in range(7_000)],
    "m": {f"k{number}": number for number in range(15_000)},
    "t": "ab" * 125_000,
    "a": "a" * 250_000,
    "j": "[" + ",".join(["1"] * 120_000) + "]",
}
MOST = 8
"""Times the cost of the loop below: about 100 ms on a usual machine."""

JSONATA = """
$distinct(I.n) | $distinct(I.s) | $distinct(I.o) | $sort(I.n) | $sort(I.s) | $sort(I.n, function($a, $b) {$a < $b})
$sort(I.o, function($a, $b) {$a.a < $b.a}) | I.o^(>a) | I.n^(-$, $) | $reduce(I.n, function($a, $b) {$a + $b})
$reduce(I.s, function($a, $b) {$a & $b}) | $reduce(I.n, $append) | $replace(I.t, "a", "b") | $replace(I.t, /a/, "b")
$replace(I.a, /a.*c|a/, "") | $split(I.t, "a") | $split(I.t, "") | $split(I.t, /a/) | $join(I.s, ",")
$match(I.t, /a/) | $match(I.a, /a.*c|a/) | $contains(I.t, /(a+)+c/) | $contains(I.a, /(.{1,500}){1,5}c/)
$pad(I.t, 300000, "xy") | $formatNumber(1, $pad("0", 1000000, "0")) | $formatNumber(1, $pad("#", 100000, "#,"))
$formatInteger(1, $pad("0", 100000, "0,")) | $formatInteger(1e12, "I") | $formatInteger(1e15, "w")
$formatBase(1e15, 2) | $parseInteger(I.t, "w") | $fromMillis(1, $pad("[Y]", 250000, "[Y]")) | $toMillis(I.t, "[Y]")
$fromMillis(1, "[Y,1000000]") | $toMillis(I.t) | $number(I.a) | $string(I.o) | $string(I.o, true) | $length(I.t)
$substring(I.t, -1) | $substringBefore(I.a, "aaab") | $uppercase(I.t) | $trim(I.t) | $base64encode(I.t)
$encodeUrl(I.t) | $sum(I.n) | $average(I.n) | $append(I.n, I.n) | $reverse(I.n) | $shuffle(I.n)
$zip(I.n, I.n, I.n) | $keys(I.o) | $keys(I.m) | $keys(I.o.{$string(a): 1}) | $lookup(I.o, "a") | $spread(I.m)
$merge(I.o) | $each(I.m, function($v, $k) {$k}) | $sift(I.m, function($v) {$v > 3}) | $map(I.n, $string)
$filter(I.n, function($v, $i, $a) {$a[$i] = $v}) | $single(I.n, function($v) {$v = 3}) | $partition(I.n, 1)
$range(1, 400000, 1) | [1..400000] | [1..400000].($ * 2) | $hash(I.t, "SHA-512") | $parse(I.j) | I.n[$ > 3]
I.n[$ in [1, 2, 3]] | "zz" in I.s | I.n = I.n | I.o{b: a} | I.n{$string($): $} | I.** | I.**.** | I.o.%.n
I.o#$i.a | I.o@$x.a | I.o ~> |$|{"c": 1}| | I.n[[0..29999]] | I.n.($string($) & I.t) | I.n.(I.n)
$map(I.n, function($v, $i, $a) {$count($a)}) | $merge($map(I.n, function($v) {{$string($v): $v}}))
($f := function($n) {$n > 0 ? $f($n - 1) : 0}; $f(100000)) | ($x := I.n; $y := $append($x, $x); $count($y))
"""
PATHS = [
    "$..*", "$..a", "$..*..*", "$.o[?(@.a > 5)]", "$.o[*].a", "$.n[0:20000]", "$..[?(@.a == 3)]",
    "$.s[?(@ =~ /.*s9.*/)]",
    "$.o[?(@.a in $.n)]", "$.o[?(@ in $.o)]", "$.n.length()", "$.n.sum()", "$.o[?(@.a == 1 || @.b == '2')]",
    "$.n[" + ",".join(["0"] * 2_000) + "]",
]  # fmt: skip
CALLS = [
    "States.ArrayUnique($.o)", "States.ArrayUnique($.n)", "States.ArrayContains($.o, $.o[0])",
    "States.JsonToString($.o)",
    "States.StringToJson($.j)", "States.StringSplit($.t, 'a')", "States.ArrayPartition($.n, 1)",
    "States.ArrayLength($.n)",
    "States.Format('{} {}', $.o, $.n)", "States.Format('{}{}{}{}', $.o, $.n, $.m, $.t)",
    "States.JsonMerge($.m, $.m, false)",
    "States.ArrayGetItem($.n, 5)", "States.Array($.n, $.o)", "States.ArrayRange(0, 1000, 1)", "States.Hash($.t, 'MD5')",
]  # fmt: skip


def cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def reference() -> int:
    return sum(number % 7 for number in range(150_000))


def cost(work: Callable[[], object]) -> float:
    """CPU time in units of the reference, the least of three measurements."""
    return min(cpu(work) / cpu(reference) for _ in range(3))


def expressions() -> list[str]:
    # A bar with spaces around it parts them; those of a transformation have none on one side.
    texts = [text.strip() for line in JSONATA.strip().splitlines() for text in line.split(" | ")]
    return [text.replace("I.", "$states.input.") for text in texts]


@pytest.mark.parametrize("text", expressions())
def test_an_expression(text: str) -> None:
    expression = compile_expression(text)

    def evaluate() -> None:
        expression.stays_away = 0
        with suppress(LeavesTheLoop, JsonataError):
            on_loop(expression.evaluate, Scope(DATA))

    assert cost(evaluate) < MOST


@pytest.mark.parametrize("text", PATHS)
def test_a_path(text: str) -> None:
    path = compile_path(text)

    def read() -> None:
        with suppress(LeavesTheLoop, PathNotFound, ExecutionFailure):
            on_loop(path.find, DATA)

    assert cost(read) < MOST


@pytest.mark.parametrize("text", CALLS)
def test_a_call(text: str) -> None:
    call = compile_intrinsic(text)

    def evaluate() -> None:
        with suppress(LeavesTheLoop, ExecutionFailure):
            on_loop(call.evaluate, Scope(DATA))

    assert cost(evaluate) < MOST
