"""Heavy expressions leave the loop: the same result, a clear failure, and nobody else waits."""

from __future__ import annotations

import asyncio
import json
import resource
from typing import Any

import pytest

from statewright.engine.heavy import steps as heavy_steps
from statewright.query.fence import Allowance, LeavesTheLoop, set_allowance
from statewright.query.jsonata import compile_expression
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.thoroughness import slow
from tests.unit.engine.running import LAMBDA, Rig, machine, passing, task, wait

BIG = list(range(12_000))
CHOSEN = "{% $states.input.big[$ < $states.input.limit] %}"
PRODUCT = "{% $states.input.big.($states.input.big) %}"
"""144 million numbers: more memory than any worker may have."""


def jsonata(**states: dict[str, Any]) -> dict[str, Any]:
    return {"QueryLanguage": "JSONata", **machine(**states)}


def history_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**event, "timestamp": 0} for event in events]


async def outcome(rig: Rig, definition: dict[str, Any], given: Any, name: str = "run") -> tuple[Any, list[Any]]:
    arn = await rig.begin(definition, given, name)
    view = await rig.end(arn)
    return view, history_of(await rig.events(arn))


def test_the_result_is_that_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    definition = jsonata(
        A=passing("T", Output={"chosen": CHOSEN, "big": "{% $states.input.big %}", "limit": 3}),
        T={"Type": "Task", "Resource": LAMBDA, "Output": "{% $append($states.result, $uuid()) %}", "Next": "W"},
        W=wait(5, "M"),
        M={
            "Type": "Map",
            "Items": [1, 2, 3],
            "ItemProcessor": machine(C=passing(Output="{% $count($sort([$states.input, $random()])) %}")),
            "End": True,
        },
    )

    def play(shipped: bool) -> tuple[Any, ...]:
        async def main(clock: VirtualClock) -> tuple[Any, ...]:
            rig = await Rig(clock).up()
            rig.integrations.returns("T", [1])
            view, events = await outcome(rig, definition, {"big": BIG, "limit": 3})
            assert (rig.engine.heavy.steps > 0) == shipped
            await rig.down()
            return view.status, view.output, view.stopped_ms - view.started_ms, events

        return run_virtual(main)

    away = play(shipped=True)
    monkeypatch.setattr(heavy_steps, "set_allowance", lambda _allowance: None)
    assert away == play(shipped=False)
    assert away[0] == "SUCCEEDED"


@pytest.mark.parametrize("kind", ["STANDARD", pytest.param("EXPRESS", marks=slow)])
def test_an_expression_that_takes_too_much_fails_and_delays_no_others(kind: Any) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        definition = jsonata(T={**task(), "Next": "P"}, P=passing(Output={"ok": CHOSEN, "bad": PRODUCT}))
        definition["States"]["T"].pop("End", None)
        rig.integrations.returns("T", {"big": BIG, "limit": 3})
        target = await rig.machine(definition, type=kind)
        peak_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        light = await rig.machine(machine(P=passing()), "light")
        if kind == "EXPRESS":
            heavy: Any = asyncio.create_task(rig.engine.start_sync_execution(target, "x", "{}"))
        else:
            heavy = asyncio.create_task(rig.end((await rig.engine.start_execution(target, "x", "{}")).arn))
        for number in range(20):
            arn = (await rig.engine.start_execution(light, f"l{number}", "{}")).arn
            assert (await rig.end(arn)).status == "SUCCEEDED"
        assert not heavy.done()
        view = await heavy
        assert (view.status, view.error) == ("FAILED", "States.QueryEvaluationError")
        assert "for the field 'Output/bad' threw an error during evaluation" in view.cause
        assert rig.engine.heavy.deaths == 1
        # The server's own process has not computed it.
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak_before < 512 * 1024
        await rig.down()
        assert rig.engine.heavy.workers == 0

    run_virtual(main)


def test_an_express_run_continues_where_the_worker_left_it() -> None:
    chosen = "{% $states.result.big[$ < $states.result.limit] %}"

    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        for name in ("T1", "T2"):
            rig.integrations.returns(name, {"big": BIG, "limit": 2}, after_ms=10)
        definition = jsonata(
            P={
                "Type": "Parallel",
                "Branches": [machine(T1=task(Output=chosen)), machine(T2=task(Output=chosen)), machine(W=wait(1))],
                "Next": "A",
            },
            A=passing("B", Assign={"kept": "{% $states.input[0] %}"}),
            B=passing(Output="{% $kept %}"),
        )
        target = await rig.machine(definition, type="EXPRESS")
        done = await rig.engine.start_sync_execution(target, "x", "{}")
        assert (done.status, json.loads(done.output or "")) == ("SUCCEEDED", [0, 1])
        assert rig.engine.heavy.steps >= 2
        await rig.down()

    run_virtual(main)


def test_what_has_timed_out_once_is_slow() -> None:
    expression = compile_expression("($f := function($n) { $n > 0 ? $f($n + 1) : 0 }; $f(1))")
    assert not expression.is_slow
    expression.is_slow = True
    before = set_allowance(Allowance(1000, lambda: 0.0, 1.0, lambda: False))
    try:
        with pytest.raises(LeavesTheLoop):
            expression.evaluate(heavy_scope())
    finally:
        set_allowance(before)
        expression.is_slow = False


def test_a_step_that_has_worked_long_begins_no_more_evaluations() -> None:
    expression = compile_expression("$sum([1, 2])")
    for is_spent in (False, True):
        before = set_allowance(Allowance(1000, lambda: 2.0, 1.0, lambda is_spent=is_spent: is_spent))  # type: ignore[misc]
        try:
            if is_spent:
                with pytest.raises(LeavesTheLoop):
                    expression.evaluate(heavy_scope())
            else:
                assert expression.evaluate(heavy_scope()) == 3
        finally:
            set_allowance(before)


def heavy_scope() -> Any:
    from statewright.query.scope import Scope

    return Scope({})


def test_a_stop_gives_up_what_is_under_way() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine(jsonata(P=passing(Output=CHOSEN)))
        given = json.dumps({"big": BIG, "limit": 3})
        started = asyncio.create_task(rig.engine.start_execution(target, "x", given))
        while not rig.engine.heavy.workers:
            await asyncio.sleep(0)
        await rig.down()
        with pytest.raises(Exception, match="stopping"):
            await started
        await rig.up()
        arn = (await rig.engine.start_execution(await rig.machines.resolve(target.machine_arn), "x", given)).arn
        assert (await rig.end(arn)).output == "[0,1,2]"
        await rig.down()

    run_virtual(main)
