"""Executions that begin where another one has been."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.engine.executions.forks import Wish
from statewright.engine.machines.views import MachineChange
from statewright.errors import ApiError
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import Rig, machine, passing, task, wait

STEPS = {
    "QueryLanguage": "JSONata",
    **machine(
        First=passing("Count", Output="{% {'from': 'first'} %}", Assign={"n": 1, "who": "{% $states.input.who %}"}),
        Count=passing("Again", Assign={"n": "{% $n + 1 %}"}, Output="{% {'n': $n} %}"),
        Again={"Type": "Choice", "Choices": [{"Condition": "{% $n < 3 %}", "Next": "Count"}], "Default": "Work"},
        Work={
            "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage",
            "Arguments": {
                "QueueUrl": "q", "MessageBody": "{% $who & $string($n) & $states.context.Execution.Input.who %}",
            },
            "Output": "{% $states.result %}", "End": True,
        },
    ),
}  # fmt: skip


async def ran(rig: Rig, **more: Any) -> str:
    arn = await rig.begin(STEPS, {"who": "ada"})
    await rig.end(arn)
    return arn


def wish(arn: str, state: str, **more: Any) -> Wish:
    return Wish(arn, state, **more)


async def body_of(rig: Rig, arn: str) -> Any:
    view = await rig.end(arn)
    assert view.status == "SUCCEEDED"
    return json.loads(view.output or "")["MessageBody"]


def test_it_begins_with_the_input_and_variables_of_that_moment():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await ran(rig)
        forked = await rig.engine.fork(wish(arn, "Work", name="again"))
        assert forked.arn.endswith(":again")
        assert await body_of(rig, forked.arn) == "ada3ada"
        assert await rig.types(forked.arn) == [
            "ExecutionStarted", "TaskStateEntered", "TaskScheduled", "TaskStarted", "TaskSucceeded", "TaskStateExited",
            "ExecutionSucceeded",
        ]  # fmt: skip
        entered = (await rig.events(forked.arn))[1]["stateEnteredEventDetails"]
        assert json.loads(entered["input"]) == {"n": 2}
        # The old one is as it was.
        assert (await rig.engine.describe(arn)).status == "SUCCEEDED"
        await rig.down()

    run_virtual(main)


def test_which_stay_other_variables_and_another_input():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await ran(rig)
        first = await rig.engine.fork(wish(arn, "Count", visit=1))
        entered = (await rig.events(first.arn))[1]["stateEnteredEventDetails"]
        assert json.loads(entered["input"]) == {"from": "first"}
        other = await rig.engine.fork(wish(arn, "Work", variables={"who": "bob", "n": 9}, input='{"x": 1}'))
        assert await body_of(rig, other.arn) == "bob9ada"
        assert json.loads((await rig.events(other.arn))[1]["stateEnteredEventDetails"]["input"]) == {"x": 1}
        await rig.down()

    run_virtual(main)


def test_another_version_and_the_old_revision():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await ran(rig)
        target = await rig.machines.resolve((await rig.engine.describe(arn)).machine_arn)
        changed = json.dumps({**STEPS, "States": {**STEPS["States"], "Work": passing(Output="changed")}})
        await rig.machines.update(target.machine_arn, MachineChange(definition=changed))
        same = await rig.engine.fork(wish(arn, "Work"))
        assert await body_of(rig, same.arn) == "ada3ada"
        newer = await rig.engine.fork(wish(arn, "Work", machine_arn=target.machine_arn))
        assert (await rig.end(newer.arn)).output == '"changed"'
        await rig.down()

    run_virtual(main)


def test_a_crash_right_after_the_answer_loses_nothing():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await rig.begin(machine(A=passing("W"), W=wait(100, "T"), T=task()), {"n": 1})
        await rig.until(1_000)
        forked = await rig.engine.fork(wish(arn, "W"))
        await rig.crash()
        view = await rig.end(forked.arn)
        assert (view.status, view.stopped_ms) == ("SUCCEEDED", clock.start_ms + 101_000)
        await rig.down()

    run_virtual(main)


def test_what_cannot_be_forked():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        branch = machine(Inner=passing())
        arn = await rig.begin(
            machine(P={"Type": "Parallel", "Branches": [branch], "Next": "W"}, W=wait(100, "Late"), Late=passing()), {}
        )
        await rig.settle()
        with pytest.raises(ApiError, match="inside a Parallel or Map"):
            await rig.engine.fork(wish(arn, "Inner"))
        with pytest.raises(ApiError, match="is no state"):
            await rig.engine.fork(wish(arn, "Nowhere"))
        with pytest.raises(ApiError, match="has not entered the state 'Late'"):
            await rig.engine.fork(wish(arn, "Late"))
        with pytest.raises(ApiError, match="not entered 'W' 2 times: 1"):
            await rig.engine.fork(wish(arn, "W", visit=2))
        with pytest.raises(ApiError, match="not JSON"):
            await rig.engine.fork(wish(arn, "W", input="{"))
        with pytest.raises(ApiError, match="Already Exists"):
            await rig.engine.fork(wish(arn, "W", name="run"))
        with pytest.raises(ApiError, match="longer than"):
            await rig.engine.fork(wish(arn, "W", variables={"x": "x" * 11_000_000}))
        await rig.down()

    run_virtual(main)


def test_large_inputs_and_variables_come_along_through_a_crash():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        large = "x" * 50_000
        kept = {"kept": "{% $states.input.big %}"}
        steps = {
            "QueryLanguage": "JSONata",
            **machine(
                First=passing("Pause", Assign=kept), Pause=wait(60, "Last"),
                Last=passing(Output="{% $kept = $states.input.big and $kept = $states.context.Execution.Input.big %}"),
            ),
        }  # fmt: skip
        arn = await rig.begin(steps, {"big": large})
        await rig.end(arn)
        forked = await rig.engine.fork(wish(arn, "Pause"))
        await rig.crash()
        view = await rig.end(forked.arn)
        assert (view.status, view.output) == ("SUCCEEDED", "true")
        await rig.down()

    run_virtual(main)
