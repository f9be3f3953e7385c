"""A loop with a deadline on the engine: its clock and its turns outlive a crash."""

from __future__ import annotations

from statewright.asl import extensions
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import Rig, machine, wait
from tests.unit.interpreter.test_loop_deadlines import CATCH, polling


def test_crashes_change_neither_deadline_nor_turns():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        with extensions.accepted():
            arn = await rig.begin(polling(TimeoutSeconds=330, MaxTurns=9, Catch=CATCH))
        await rig.until(70_000)
        await rig.crash()
        await rig.until(100_000)
        await rig.crash()
        view = await rig.end(arn)
        assert (view.status, view.stopped_ms) == ("SUCCEEDED", clock.start_ms + 330_000)
        with extensions.accepted():
            made = await rig.machine(polling(MaxTurns=4), "turns")
        turning = (await rig.engine.start_execution(made, "n", "{}")).arn
        began = clock.now_ms()
        await rig.until(130_000)
        await rig.crash()
        view = await rig.end(turning)
        assert (view.status, view.error, view.stopped_ms) == (
            "FAILED", "Statewright.MaxTurnsExceeded", began + 240_000,
        )  # fmt: skip
        assert not (await rig.store.executions.pending(0))[0]
        redriven = await rig.engine.redrive_execution(turning)
        assert redriven == clock.now_ms()
        await rig.end(turning)
        await rig.down()

    run_virtual(main)


def test_what_ends_the_execution_inside_a_loop_ends_its_deadline():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        inner = machine(Inner={"Type": "Parallel", "TimeoutSeconds": 50, "Branches": [machine(
            W=wait(1, "Bad"), Bad={"Type": "Pass", "InputPath": "$.nowhere", "End": True})], "End": True})  # fmt: skip
        outer = {"Type": "Parallel", "TimeoutSeconds": 99, "MaxTurns": 3, "Branches": [inner], "End": True}
        with extensions.accepted():
            arn = await rig.begin(machine(Outer=outer))
        view = await rig.end(arn)
        assert (view.status, view.error) == ("FAILED", "States.Runtime")
        assert not rig.engine.cells.quarantined
        assert not await rig.store.executions.due(0, clock.now_ms() + 1_000_000, 9)
        await rig.engine.redrive_execution(arn)
        assert (await rig.end(arn)).error == "States.Runtime"
        await rig.down()

    run_virtual(main)


def test_a_redriven_loop_has_all_its_turns_again():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        with extensions.accepted():
            arn = await rig.begin(polling(MaxTurns=2))
        assert (await rig.end(arn)).error == "Statewright.MaxTurnsExceeded"
        before = len(await rig.types(arn))
        await rig.engine.redrive_execution(arn)
        assert (await rig.end(arn)).error == "Statewright.MaxTurnsExceeded"
        again = (await rig.types(arn))[before:]
        assert again[:2] == ["ExecutionRedriven", "PassStateEntered"]
        assert again.count("PassStateEntered") == 2
        await rig.down()

    run_virtual(main)


def test_a_deadline_at_the_instant_at_which_the_branch_ends():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        loop = {"Type": "Parallel", "TimeoutSeconds": 5, "Branches": [machine(W=wait(5))], "End": True}
        with extensions.accepted():
            arn = await rig.begin(machine(Loop=loop))
        view = await rig.end(arn)
        assert (view.status, view.error) in (("FAILED", "States.Timeout"), ("SUCCEEDED", None))
        assert view.stopped_ms == clock.start_ms + 5_000
        events = await rig.events(arn)
        assert all(event.get("previousEventId", 0) < event["id"] for event in events)
        assert sum(event["type"] in ("ExecutionFailed", "ExecutionSucceeded") for event in events) == 1
        assert not rig.engine.cells.quarantined
        assert not await rig.store.executions.due(0, clock.now_ms() + 1_000_000, 9)
        await rig.down()

    run_virtual(main)
