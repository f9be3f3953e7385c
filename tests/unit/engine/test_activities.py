"""Activities: polling, order, tokens, limits."""

from __future__ import annotations

import asyncio
import json

import pytest

from statewright.engine import activities
from statewright.errors import ApiError
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import ACTIVITY, Rig, machine, passing, task


async def rig_with_activity(clock: VirtualClock) -> Rig:
    rig = await Rig(clock).up()
    await rig.machines.activities.create("a", (), None)
    return rig


def test_a_worker_that_waits_gets_the_task() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await rig_with_activity(clock)
        polling = asyncio.create_task(rig.engine.activities.poll(ACTIVITY, "w1"))
        await rig.until(5_000)
        arn = await rig.begin(machine(T=task(ACTIVITY, HeartbeatSeconds=100)), {"x": 1})
        got = await polling
        assert got is not None
        token, text = got
        assert text == '{"x":1}'
        await rig.engine.task_heartbeat(token)
        await rig.engine.task_succeeded(token, '{"y":2}')
        assert json.loads((await rig.end(arn)).output) == {"y": 2}
        events = await rig.events(arn)
        assert [event["type"] for event in events][2:5] == ["ActivityScheduled", "ActivityStarted", "ActivitySucceeded"]
        assert events[3]["activityStartedEventDetails"] == {"workerName": "w1"}
        assert not rig.store.executions.outbox

    run_virtual(main)


def test_nothing_for_a_minute() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await rig_with_activity(clock)
        began = clock.now_ms()
        assert await rig.engine.activities.poll(ACTIVITY) is None
        assert clock.now_ms() == began + 60_000
        with pytest.raises(ApiError) as refused:
            await rig.engine.activities.poll(ACTIVITY + "x")
        assert refused.value.code == "ActivityDoesNotExist"

    run_virtual(main)


def test_first_come_first_served() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await rig_with_activity(clock)
        target = await rig.machine(machine(T=task(ACTIVITY)))
        for number in range(3):
            await rig.engine.start_execution(target, f"e{number}", str(number))
            await rig.settle()
        polls = [asyncio.create_task(rig.engine.activities.poll(ACTIVITY)) for _ in range(5)]
        got = await asyncio.gather(*polls[:3])
        assert [one[1] for one in got if one is not None] == ["0", "1", "2"]
        await rig.settle()
        for number in (3, 4):
            await rig.engine.start_execution(target, f"e{number}", str(number))
            await rig.settle()
        got = await asyncio.gather(*polls[3:])
        assert [one[1] for one in got if one is not None] == ["3", "4"]

    run_virtual(main)


def test_a_task_that_no_execution_waits_for_is_not_assigned() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await rig_with_activity(clock)
        arn = await rig.begin(machine(T=task(ACTIVITY)))
        await rig.settle()
        await rig.engine.stop_execution(arn)
        await rig.settle()
        assert await rig.engine.activities.poll(ACTIVITY) is None

    run_virtual(main)


def test_tasks_survive_a_crash_and_workers_that_leave() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await rig_with_activity(clock)
        arn = await rig.begin(machine(T=task(ACTIVITY)), 1)
        await rig.settle()
        await rig.crash()
        await rig.settle()
        got = await rig.engine.activities.poll(ACTIVITY)
        assert got is not None
        # A taken task is known by its token alone.
        await rig.crash()
        await rig.engine.task_succeeded(got[0], "2")
        assert (await rig.end(arn)).output == "2"
        leaving = asyncio.create_task(rig.engine.activities.poll(ACTIVITY))
        staying = asyncio.create_task(rig.engine.activities.poll(ACTIVITY))
        await rig.settle()
        target = await rig.machines.resolve("arn:aws:states:us-east-1:000000000000:stateMachine:m")
        started = await rig.engine.start_execution(target, "two", "2")
        leaving.cancel()
        got = await staying
        assert got is not None
        assert (await rig.types(started.arn)).count("ActivityStarted") == 1

    run_virtual(main)


def test_an_activity_that_is_gone() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        arn = await rig.begin(
            machine(T=task(ACTIVITY, Catch=[{"ErrorEquals": ["States.ALL"], "Next": "P"}]), P=passing())
        )
        view = await rig.end(arn)
        assert (view.status, view.error) == ("FAILED", "States.Runtime")
        assert await rig.types(arn) == ["ExecutionStarted", "TaskStateEntered", "ExecutionFailed"]
        assert view.cause.endswith(f"The activity {ACTIVITY} does not exist.")

    run_virtual(main)


def test_too_many_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activities, "MOST_POLLERS", 3)

    async def main(clock: VirtualClock) -> None:
        rig = await rig_with_activity(clock)
        polls = [asyncio.create_task(rig.engine.activities.poll(ACTIVITY)) for _ in range(3)]
        await rig.settle()
        with pytest.raises(ApiError) as refused:
            await rig.engine.activities.poll(ACTIVITY)
        assert refused.value.code == "ActivityWorkerLimitExceeded"
        assert await asyncio.gather(*polls) == [None, None, None]
        assert rig.engine.activities._queues == {}
        polling = asyncio.create_task(rig.engine.activities.poll(ACTIVITY))
        await rig.settle()
        await rig.down()
        assert await polling is None

    run_virtual(main)


def test_the_timeout_starts_when_a_worker_takes_the_task() -> None:
    async def main(clock: VirtualClock) -> None:
        rig = await rig_with_activity(clock)
        arn = await rig.begin(machine(T=task(ACTIVITY, TimeoutSeconds=10)))
        await rig.until(30_000)
        got = await rig.engine.activities.poll(ACTIVITY)
        assert got is not None
        taken_ms = clock.now_ms()
        view = await rig.end(arn)
        assert (view.error, view.stopped_ms) == ("States.Timeout", taken_ms + 10_000)

    run_virtual(main)
