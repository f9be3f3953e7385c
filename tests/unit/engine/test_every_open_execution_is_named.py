"""The storage invariant: a timer, outbox, inbox or waiter row names every open execution, whatever it waits for."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.engine.dispatch import ScheduledCall, TaskResult
from statewright.limits import AWS, OPEN, Limits
from statewright.stores.protocol import MAP_RUNS
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import ACTIVITY, JOB, TOKEN, Rig, machine, passing, task, wait

DAY_MS = 24 * 3600 * 1000
ALWAYS = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 60}]


def distributed(body: dict[str, Any]) -> dict[str, Any]:
    processor = {**machine(B=body), "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
    return {"Type": "Map", "Label": "L", "ItemsPath": "$", "ItemProcessor": processor, "End": True}


WAITS: dict[str, dict[str, Any]] = {
    "a wait": machine(S=wait(60)),
    "a call": machine(Hung=task()),
    "a token": machine(Token=task(TOKEN)),
    "a token, after a wait": machine(W=wait(1, "Token"), Token=task(TOKEN)),
    "tokens in branches": machine(
        P={"Type": "Parallel", "Branches": [machine(Token=task(TOKEN)), machine(W=wait(2))], "End": True}
    ),
    "a job": machine(Token=task(JOB)),
    "a retry": machine(Fails=task(Retry=ALWAYS)),
    "an activity's worker": machine(A=task(ACTIVITY)),
    "a map run": machine(M=distributed(task(TOKEN))),
}


def unnamed(rig: Rig) -> list[str]:
    kept = rig.store.executions
    named = {entry[2] for entry in kept._timers}
    named |= {row.execution for row in kept.outbox.values()} | {row.execution for row in kept.inbox.values()}
    # A Map Run is named by its parent's rows.
    return [
        one.row.name
        for one in kept.by_id.values()
        if one.row.status == "RUNNING" and one.row.id not in named and -one.row.machine not in named
    ]


async def hang(rig: Rig) -> None:
    async def never(_call: ScheduledCall) -> TaskResult:
        await rig.clock.sleep_until(1 << 50)
        raise AssertionError

    rig.integrations.answers["Hung"] = never
    rig.integrations.submits("Token")
    rig.integrations.submits("B")
    rig.integrations.throws("Fails", "E")


@pytest.mark.parametrize("taken", [False, True])
@pytest.mark.parametrize("limits", [AWS, OPEN], ids=lambda limits: limits.profile)
@pytest.mark.parametrize("what", WAITS)
def test_whatever_it_waits_for(what: str, limits: Limits, taken: bool) -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock, limits=limits).up()
        await rig.machines.activities.create("a")
        await hang(rig)
        arn = await rig.begin(WAITS[what], [1, 2])
        for _ in range(3):
            await rig.until(5_000)
            assert (await rig.engine.describe(arn)).status == "RUNNING"
            assert not unnamed(rig)
            if taken and what == "an activity's worker":
                await rig.engine.activities.poll(ACTIVITY)
                assert not unnamed(rig)
                taken_once()
            await rig.crash()
            await hang(rig)
        await rig.engine.stop_execution(arn)
        await rig.settle()
        kept = rig.store.executions
        assert not kept.outbox
        assert not kept.inbox
        assert not kept._timers
        await rig.down()

    def taken_once() -> None:
        nonlocal taken
        taken = False

    run_virtual(main)


def test_a_waiter_row_goes_with_a_success() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock, limits=OPEN).up()
        rig.integrations.submits("Token")
        arn = await rig.begin(machine(Token=task(TOKEN)))
        await rig.settle()
        assert [row.kind for row in rig.store.executions.outbox.values()] == ["waiter"]
        await rig.crash()
        await rig.engine.task_succeeded(rig.integrations.calls[0].token or "", "1")
        assert (await rig.end(arn)).status == "SUCCEEDED"
        assert not rig.store.executions.outbox
        await rig.down()

    run_virtual(main)


def test_map_runs_are_counted_apart_and_forgotten() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.submits("B")
        arn = await rig.begin(machine(M=distributed(task(TOKEN))), [1, 2])
        await rig.until(1_000)
        found = await rig.engine.metrics()
        assert (found["executions_open"], found["map_runs_open"]) == (3, 1)
        await rig.engine.stop_execution(arn)
        await rig.settle()
        found = await rig.engine.metrics()
        assert (found["executions_open"], found["map_runs_open"]) == (0, 0)
        assert found["executions_by_status"]["ABORTED"] == found["executions_closed"]["ABORTED"] == 3
        counts = await rig.store.executions.count_by_status(MAP_RUNS)
        assert counts["ABORTED"] == 1
        await rig.machines.delete("arn:aws:states:us-east-1:000000000000:stateMachine:m")
        await clock.sleep_until(clock.now_ms() + 91 * DAY_MS)
        other = await rig.machine(machine(P=passing()), "other")
        for name in ("one", "two"):
            await rig.engine.start_execution(other, name, "{}")
            await rig.settle()
            await clock.sleep_until(clock.now_ms() + DAY_MS)
        left = {kind for kind, _ in rig.store.catalogue._entries}
        assert not left & {"mapRun", "mapRunDate", "deleting"}
        revisions = [key for kind, key in rig.store.catalogue._entries if kind == "revision"]
        assert revisions == [f"{other.machine_id}:INITIAL"]
        assert not any((await rig.store.executions.count_by_status(MAP_RUNS)).values())
        await rig.down()

    run_virtual(main)
