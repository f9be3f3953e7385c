"""EXPRESS executions: synchronous in memory, asynchronous with two commits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.engine.dispatch import ScheduledCall, TaskResult
from statewright.errors import ApiError, OwnershipLost, Unavailable
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import LAMBDA, Rig, machine, passing, task, wait


def test_synchronous() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.returns("T", {"y": 1}, after_ms=130)
        target = await rig.machine(machine(T=task(LAMBDA, Next="P"), P=passing()), type="EXPRESS")
        done = await rig.engine.start_sync_execution(target, "n", '{"x":1}', None)
        assert (done.status, done.output, done.name) == ("SUCCEEDED", '{"y":1}', "n")
        assert done.stopped_ms == done.started_ms + 130
        assert (done.billed_ms, done.billed_mb) == (200, 64)
        assert done.execution_arn.startswith("arn:aws:states:us-east-1:000000000000:express:m:n:")
        assert not rig.store.executions.by_id
        standard = await rig.machine(machine(P=passing()), "s")
        with pytest.raises(ApiError) as refused:
            await rig.engine.start_sync_execution(standard, None, "{}", None)
        assert refused.value.code == "StateMachineTypeNotSupported"

    run_virtual(main)


def test_the_context_of_a_synchronous_one_counts_no_redrives() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        shown = passing(Parameters={"execution.$": "$$.Execution"}, OutputPath="$.execution")
        target = await rig.machine(machine(P=shown), type="EXPRESS")
        done = await rig.engine.start_sync_execution(target, "n", "{}", None)
        assert done.output is not None
        assert sorted(json.loads(done.output)) == ["Id", "Input", "Name", "RoleArn", "StartTime"]

    run_virtual(main)


def test_synchronous_failures_and_timeouts() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.throws("T", "E", "c")
        target = await rig.machine(machine(T=task()), type="EXPRESS")
        done = await rig.engine.start_sync_execution(target, None, "{}", None)
        assert (done.status, done.error, done.cause, done.output) == ("FAILED", "E", "c", None)
        slow = await rig.machine(machine(W=wait(600)), "slow", type="EXPRESS")
        done = await rig.engine.start_sync_execution(slow, None, "{}", None)
        assert (done.status, done.stopped_ms - done.started_ms) == ("TIMED_OUT", 300_000)
        late = await rig.machine({**machine(T=task(TimeoutSeconds=2))}, "late", type="EXPRESS")
        rig.integrations.returns("T", 1, after_ms=5_000)
        done = await rig.engine.start_sync_execution(late, None, "{}", None)
        assert (done.status, done.error) == ("FAILED", "States.Timeout")
        await rig.settle()
        assert len(rig.integrations.cancelled) == 1

    run_virtual(main)


def test_a_long_burst_lets_others_in_between() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        states = {f"P{n}": passing(f"P{n + 1}") for n in range(999)}
        target = await rig.machine(machine(**states, P999=passing()), type="EXPRESS")
        assert (await rig.engine.start_sync_execution(target, None, "{}", None)).status == "SUCCEEDED"

    run_virtual(main)


def test_asynchronous() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine(machine(W=wait(5)), type="EXPRESS")
        first = await rig.engine.start_execution(target, "n", '{"x":1}')
        second = await rig.engine.start_execution(target, "n", '{"x":1}')
        assert first.arn != second.arn
        assert len(rig.store.executions.inbox) == 2
        await rig.until(5_000)
        assert not rig.store.executions.inbox
        assert (await rig.engine.metrics())["executions_by_status"]["SUCCEEDED"] == 2
        with pytest.raises(ApiError) as refused:
            await rig.engine.list_executions(target.machine_arn)
        assert refused.value.code == "StateMachineTypeNotSupported"
        # Standard executions alone are published.
        assert rig.published == []

    run_virtual(main)


@pytest.mark.parametrize("problem", [OwnershipLost("theirs now"), MemoryError()])
def test_a_call_that_cannot_go_on_in_this_process_is_no_bug(
    problem: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()

        async def impossible(call: ScheduledCall) -> TaskResult:
            raise problem

        rig.integrations.answers["T"] = impossible
        target = await rig.machine(machine(T=task()), type="EXPRESS")
        # To the caller, another owner is an outage.
        with pytest.raises(Unavailable if isinstance(problem, OwnershipLost) else MemoryError):
            await rig.engine.start_sync_execution(target, None, "{}", None)
        await rig.engine.start_execution(target, "n", "{}")
        await rig.settle()
        assert rig.lost == [True]
        assert not rig.engine.cells.quarantined
        del rig.integrations.answers["T"]
        rig.integrations.returns("T", 1)
        again = await rig.crash()
        await again.settle()
        (row,) = again.store.executions.by_id.values()
        assert row.row.status == "SUCCEEDED"

    run_virtual(main)
    assert "bug in Statewright" not in caplog.text


def test_asynchronous_runs_again_after_a_crash() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.returns("T", 1, after_ms=1_000)
        target = await rig.machine(machine(T=task(Next="W"), W=wait(5)), type="EXPRESS")
        await rig.engine.start_execution(target, "n", '{"big":"' + "x" * 5000 + '"}')
        await rig.until(3_000)
        await rig.crash()
        await rig.until(5_000)
        assert len(rig.store.executions.inbox) == 1
        await rig.until(1_000)
        assert not rig.store.executions.inbox
        assert len(rig.integrations.calls) == 2
        (kept,) = rig.store.executions.by_id.values()
        assert (kept.row.status, kept.state) == ("SUCCEEDED", None)

    run_virtual(main)


def test_a_stopping_engine_answers_synchronous_callers() -> None:
    async def main(clock: VirtualClock) -> None:
        import asyncio

        rig = await Rig(clock).up()
        target = await rig.machine(machine(W=wait(50)), type="EXPRESS")
        running = asyncio.create_task(rig.engine.start_sync_execution(target, None, "{}", None))
        await rig.until(1_000)
        await rig.down()
        with pytest.raises(Unavailable):
            await running
        with pytest.raises(Unavailable):
            await rig.engine.start_sync_execution(target, None, "{}", None)

    run_virtual(main)


def test_a_bug_ends_the_request_and_no_more() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()

        async def bad(call: ScheduledCall) -> TaskResult:
            raise ZeroDivisionError("a bug")

        rig.integrations.answers["T"] = bad
        target = await rig.machine(machine(T=task()), type="EXPRESS")
        with pytest.raises(ApiError, match="internal error"):
            await rig.engine.start_sync_execution(target, None, "{}", None)
        await rig.engine.start_execution(target, "a", "{}")
        await rig.settle()
        (kept,) = rig.store.executions.by_id.values()
        assert kept.row.status == "RUNNING"
        assert b"a bug" in kept.row.tail

    run_virtual(main)


def test_activities_and_map_runs_are_refused() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        from statewright.asl.compile import compile_definition
        from statewright.engine.machines.machines import Target
        from tests.unit.engine.running import ACTIVITY

        plain = await rig.machine(machine(P=passing()), type="EXPRESS")

        def target_of(definition: dict[str, Any]) -> Target:
            from dataclasses import replace

            return replace(plain, program=compile_definition(definition))

        done = await rig.engine.start_sync_execution(target_of(machine(T=task(ACTIVITY))), None, "{}", None)
        assert done.cause is not None
        assert "Express executions cannot use activities." in done.cause
        processor = {**machine(P=passing()), "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS"}}
        mapping = machine(M={"Type": "Map", "ItemProcessor": processor, "End": True})
        done = await rig.engine.start_sync_execution(target_of(mapping), None, "[1]", None)
        assert done.cause == "Express executions cannot run a distributed Map."

    run_virtual(main)
