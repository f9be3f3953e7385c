"""No input holds the event loop: what is heavy is computed in another process, refused, or cheap.

Each input here held the loop for seconds, or is of the same kind. None is timed: the tests observe that the work left
the loop, that a bound on work refused it, or that what is left is in proportion to the data.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.api.operations import Call
from statewright.api.states.trials import test_state as run_test_state
from statewright.config import Config
from statewright.engine.dispatch import Succeeded
from statewright.engine.heavy.steps import on_loop
from statewright.errors import ExecutionFailure
from statewright.query.fence import LeavesTheLoop
from statewright.query.jsonata import Expression, compile_expression, functions, library
from statewright.query.jsonpath import compile_path
from statewright.query.scope import Scope
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.thoroughness import slow
from tests.unit.api.apps import app_of, engine_of_heavy_steps
from tests.unit.engine.running import LAMBDA, Rig, machine, passing, task
from tests.unit.integrations.test_own_tasks import Running, polling, rig_of

DATA: dict[str, Any] = {
    "n": list(range(30_000)),
    "o": [{"a": number, "b": str(number)} for number in range(7_000)],
    "t": "ab" * 125_000,
    "a": "a" * 250_000,
}

TINY: list[str] = [
    '$formatNumber(1, $pad("0", 1000000, "0"))',
    '$formatNumber(1, $pad("#", 100000, "#,"))',
    '$formatInteger(1, $pad("0", 100000, "0,"))',
    '$formatInteger(1e12, "I")',
    '1e12 ~> $formatInteger("i")',
    '$map([1e12], function($v) { $formatInteger($v, "I") })',
    '($f := $formatInteger; $f(1e12, "I"))',
    '$fromMillis(1, "[Y,1000000]")',
    '$fromMillis(1, $pad("[Y]", 900000, "[Y]"))',
    '$match($pad("a", 250000, "a"), /a.*c|a/)',
    "[1..400000].($ * 2)",
    "($f := function($n) { $f($n + 1) }; $f(1))",
]
"""Heavy whatever the data."""

LARGE: list[str] = [
    "$match($states.input.a, /a.*c|a/)",
    "$contains($states.input.t, /(.{1,500}){1,5}c/)",
    "$split($states.input.a, /a.*c|a/)",
    '$replace($states.input.a, /a.*c|a/, "")',
    "$states.input.o.%.n",
    '$states.input.o ~> |$|{"c": 1}|',
    "$states.input.o@$x.a",
    "$keys($states.input.o.{$string(a): 1})",
    "$states.input.n[[0..29999]]",
    "$reduce($states.input.n, $append)",
    "$states.input.n.($states.input.n)",
    "$states.input.**.**.**",
]
"""Heavy over the largest data that an execution may have."""


@pytest.mark.parametrize("text", TINY)
def test_an_expression_that_is_heavy_whatever_the_data_leaves_the_loop(text: str) -> None:
    with pytest.raises(LeavesTheLoop):
        on_loop(compile_expression(text).evaluate, Scope({}))


@pytest.mark.parametrize("text", LARGE)
def test_an_expression_that_is_heavy_over_large_data_leaves_the_loop(text: str) -> None:
    with pytest.raises(LeavesTheLoop):
        on_loop(compile_expression(text).evaluate, Scope(DATA))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$count($distinct($states.input.n))", 2_000),
        ("$count($distinct($append($states.input.o, $states.input.o)))", 500),
        ("$count($distinct($states.input.n.(1)))", 1),
        ("$sum($states.input.n)", 1_999_000),
        ('$formatNumber(1234.5, "#,##0.00")', "1,234.50"),
        ('$formatInteger(1999, "w")', "one thousand, nine hundred and ninety-nine"),
        ('$fromMillis(0, "[Y0001]-[M01]-[D01]")', "1970-01-01"),
    ],
)
def test_ordinary_work_stays_on_the_loop(monkeypatch: pytest.MonkeyPatch, text: str, value: Any) -> None:
    # What is begun on the loop stays there on a slow and busy machine, too.
    monkeypatch.setattr(library, "BRIEF_MS", 600_000)
    data = {"n": DATA["n"][:2_000], "o": DATA["o"][:500]}
    assert on_loop(Expression(text).evaluate, Scope(data)) == value


def test_distinct_compares_no_two_items_of_a_long_array(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[Any] = []

    def look_at(item: Any) -> Any:
        looked_at.append(item)
        return item

    monkeypatch.setattr(functions, "frozen", look_at)
    assert compile_expression("$count($distinct($states.input.n))").evaluate(Scope(DATA)) == 30_000
    assert len(looked_at) == 30_000


def test_distinct_is_as_the_library_has_it() -> None:
    mixed = [1, 1.0, True, "1", None, [1], [1, 2], {"a": 1, "b": [2]}, {"b": [2], "a": 1}, {}, [], 0, False, ""]
    short, long = compile_expression("$distinct($states.input)"), compile_expression("$distinct($states.input)[]")
    assert short.evaluate(Scope(mixed * 20)) == short.evaluate(Scope(mixed)) == long.evaluate(Scope(mixed * 20))


# ------------------------------------------------------------------ paths


def deep(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def test_a_path_that_multiplies_a_document_leaves_the_loop_and_is_refused_elsewhere() -> None:
    path = compile_path("$..a..a..a..a")
    with pytest.raises(LeavesTheLoop):
        on_loop(path.find, deep(90))
    with pytest.raises(ExecutionFailure, match="visits more than 500000 values"):
        path.find(deep(90))


def test_the_paths_of_one_step_share_their_allowance() -> None:
    path = compile_path("$.n[?(@ > 5)]")

    def several() -> None:
        for _ in range(3):
            path.find(DATA)

    assert len(on_loop(path.find, DATA)) == 29_994
    with pytest.raises(LeavesTheLoop):
        on_loop(several)


@slow
def test_an_execution_whose_path_visits_too_much_fails_and_a_long_one_is_computed_elsewhere() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        bad = await rig.begin(machine(P=passing(Parameters={"x.$": "$..a..a..a..a"})), deep(90))
        view = await rig.end(bad)
        assert (view.status, view.error) == ("FAILED", "States.Runtime")
        assert "visits more than 500000 values" in str(view.cause)
        before = rig.engine.heavy.steps
        states = {
            name: passing(following, ResultPath=None, Parameters={"x.$": "$..a..a"})
            for name, following in (("A", "B"), ("B", "C"), ("C", None))
        }
        target = await rig.machine({"StartAt": "A", "States": states}, "long")
        good = (await rig.engine.start_execution(target, "good", json.dumps(deep(190)))).arn
        view = await rig.end(good)
        assert view.status == "SUCCEEDED"
        assert rig.engine.heavy.steps > before
        await rig.down()

    run_virtual(main)


# ------------------------------------------------------------------ every road an expression takes


@slow
def test_the_state_of_a_test_is_run_elsewhere() -> None:
    async def main(clock: VirtualClock) -> None:
        engine = engine_of_heavy_steps(clock)
        app = app_of(Config(), clock, engine=engine)
        state = {"Type": "Pass", "QueryLanguage": "JSONata", "End": True}

        async def output(text: str) -> Any:
            request = {"definition": json.dumps({**state, "Output": text}), "input": json.dumps(DATA["n"])}
            answer: Any = await run_test_state(app, Call("states", "TestState", "r"), request)
            return answer.get("output") or answer["cause"]

        assert await output('{% $formatInteger(1999, "I") %}') == '"MCMXCIX"'
        assert "Expression evaluation" in await output("{% $states.input.($states.input.($states.input)) %}")
        assert engine.heavy.errands == 2
        assert await output("{% $count($states.input) %}") == "30000"
        assert engine.heavy.errands == 2
        engine.heavy.stop()

    run_virtual(main)


def test_the_condition_of_a_poll_is_evaluated_elsewhere() -> None:
    async def main(clock: VirtualClock) -> None:
        rig: Running = await rig_of(clock)
        rig.ours.answers = [Succeeded({})]
        view = await rig.end(await rig.begin(polling('$length($formatInteger(1999, "I")) > 0')))
        assert view.status == "SUCCEEDED"
        assert rig.engine.heavy.errands == 1
        await rig.down()

    run_virtual(main)


def test_the_item_selector_of_a_map_run_is_evaluated_elsewhere() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        processor = {**machine(P=passing()), "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
        definition: dict[str, Any] = {
            "QueryLanguage": "JSONata",
            "StartAt": "M",
            "States": {
                "M": {
                    "Type": "Map",
                    "Label": "L",
                    "ItemProcessor": processor,
                    "ItemSelector": {
                        "roman": '{% $formatInteger($states.context.Map.Item.Value, "I") %}',
                        "chance": "{% $exists($random()) %}",
                    },
                    "End": True,
                }
            },
        }
        arn = await rig.begin(definition, list(range(1, 251)))
        view = await rig.end(arn)
        assert view.status == "SUCCEEDED", view.cause
        output = json.loads(view.output or "")
        assert [one["roman"] for one in output[:4]] == ["I", "II", "III", "IV"]
        assert len(output) == 250
        assert rig.engine.heavy.errands == 3
        await rig.down()

    run_virtual(main)


def test_a_map_run_whose_items_were_away_continues_after_a_crash() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        processor = {**machine(P=passing()), "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
        state = {
            "Type": "Map",
            "QueryLanguage": "JSONata",
            "Label": "L",
            "ItemProcessor": processor,
            "ItemSelector": '{% $formatInteger($states.context.Map.Item.Value, "I") %}',
            "End": True,
        }
        arn = await rig.begin({"StartAt": "M", "States": {"M": state}}, [1, 2, 3])
        while not rig.engine.heavy.errands:
            await rig.settle()
        await rig.crash()
        view = await rig.end(arn)
        assert (view.status, view.output) == ("SUCCEEDED", '["I","II","III"]')
        await rig.down()

    run_virtual(main)


@pytest.mark.parametrize("kind", ["STANDARD", "EXPRESS"])
def test_an_execution_evaluates_what_is_heavy_elsewhere(kind: Any) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.returns("T", {"n": 1999})
        definition = {
            "QueryLanguage": "JSONata",
            **machine(T={**task(LAMBDA), "Output": '{% $formatInteger($states.result.n, "I") %}'}),
        }
        target = await rig.machine(definition, type=kind)
        if kind == "EXPRESS":
            assert (await rig.engine.start_sync_execution(target, "x", "{}")).output == '"MCMXCIX"'
        else:
            view: Any = await rig.end((await rig.engine.start_execution(target, "x", "{}")).arn)
            assert view.output == '"MCMXCIX"'
        assert rig.engine.heavy.steps == 1
        await rig.down()

    run_virtual(main)
