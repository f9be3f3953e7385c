"""Machines whose executions may run only so many at once, or start only so fast."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from statewright.engine.machines.limits import MOST_AT_ONCE, MOST_PER_SECOND, Limit, limit_of
from statewright.engine.machines.machines import Target
from statewright.engine.machines.views import NewMachine
from statewright.engine.retrying import PATIENCE
from statewright.errors import ApiError, Unavailable
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import ROLE, Rig, machine, task, wait


async def limited(rig: Rig, definition: dict[str, Any], **tags: str) -> Target:
    keys = {"at_once": MOST_AT_ONCE, "per_second": MOST_PER_SECOND}
    given = tuple({"key": keys[name], "value": value} for name, value in tags.items())
    made = await rig.machines.create(NewMachine("m", json.dumps(definition), ROLE, tags=given))
    return await rig.machines.resolve(made.machine.arn)


async def start(rig: Rig, target: Target, count: int) -> list[str]:
    return [(await rig.engine.start_execution(target, f"n{number:03}", "{}")).arn for number in range(count)]


async def inside(rig: Rig, arns: list[str]) -> list[int]:
    """Which of some executions are in a state."""
    return [n for n, arn in enumerate(arns) if len(await rig.types(arn)) > 1 and await is_open(rig, arn)]


async def is_open(rig: Rig, arn: str) -> bool:
    return (await rig.engine.describe(arn)).status == "RUNNING"


def test_executions_wait_in_order_and_enter_no_state():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await limited(rig, machine(W=wait(300)), at_once="2")
        arns = await start(rig, target, 5)
        await rig.settle()
        assert await inside(rig, arns) == [0, 1]
        third = await rig.engine.describe(arns[2])
        assert (third.status, third.started_ms) == ("RUNNING", clock.start_ms)
        assert await rig.types(arns[2]) == ["ExecutionStarted"]
        await rig.until(300_000)
        assert await inside(rig, arns) == [2, 3]
        await rig.until(300_000)
        assert await inside(rig, arns) == [4]
        last = await rig.end(arns[4])
        assert (last.status, last.started_ms, last.stopped_ms) == (
            "SUCCEEDED", clock.start_ms, clock.start_ms + 900_000,
        )  # fmt: skip
        assert await rig.types(arns[4]) == [
            "ExecutionStarted", "WaitStateEntered", "WaitStateExited", "ExecutionSucceeded",
        ]  # fmt: skip
        await rig.down()

    run_virtual(main)


def test_a_hundred_of_five_minutes_take_a_hundred_times_five_minutes():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await limited(rig, machine(W=wait(300)), at_once="1")
        arns = await start(rig, target, 100)
        ended = await rig.end(arns[99])
        assert ended.stopped_ms is not None
        assert 0 <= ended.stopped_ms - clock.start_ms - 100 * 300_000 < 1_000
        await rig.down()

    run_virtual(main)


def test_timeout_counts_from_admission():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await limited(rig, {**machine(W=wait(300)), "TimeoutSeconds": 400}, at_once="1")
        arns = await start(rig, target, 3)
        await rig.end(arns[2])
        assert [(await rig.engine.describe(arn)).status for arn in arns] == ["SUCCEEDED"] * 3
        slow = await limited_again(rig, {**machine(W=wait(500)), "TimeoutSeconds": 400})
        late = (await rig.engine.start_execution(slow, "late", "{}")).arn
        later = (await rig.engine.start_execution(slow, "later", "{}")).arn
        began = clock.now_ms()
        ended = await rig.end(later)
        assert ((await rig.engine.describe(late)).status, ended.status) == ("TIMED_OUT", "TIMED_OUT")
        assert ended.stopped_ms == began + 800_000
        await rig.down()

    run_virtual(main)


async def limited_again(rig: Rig, definition: dict[str, Any]) -> Target:
    tag = {"key": MOST_AT_ONCE, "value": "1"}
    made = await rig.machines.create(NewMachine("n", json.dumps(definition), ROLE, tags=(tag,)))
    return await rig.machines.resolve(made.machine.arn)


def test_a_crash_changes_neither_order_nor_number():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await limited(rig, {**machine(W=wait(300)), "TimeoutSeconds": 900}, at_once="2")
        arns = await start(rig, target, 6)
        await rig.until(100_000)
        await rig.crash()
        await rig.settle()
        assert await inside(rig, arns) == [0, 1]
        await rig.until(200_000)
        assert await inside(rig, arns) == [2, 3]
        await rig.crash()
        await rig.until(300_000)
        assert await inside(rig, arns) == [4, 5]
        # Its clock, that of its admission, outlives a crash too.
        await rig.crash()
        ended = await rig.end(arns[5])
        assert (ended.status, ended.stopped_ms) == ("SUCCEEDED", clock.start_ms + 900_000)
        assert not (await rig.store.executions.pending(0))[0]
        await rig.down()

    run_virtual(main)


def test_a_stopped_or_failed_execution_makes_room():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        rig.integrations.throws("T", "E")
        target = await limited(rig, machine(W=wait(100, "T"), T=task()), at_once="1")
        arns = await start(rig, target, 4)
        await rig.settle()
        # One in the queue goes without having entered any state; the next one goes in instead.
        await rig.engine.stop_execution(arns[1])
        assert await rig.types(arns[1]) == ["ExecutionStarted", "ExecutionAborted"]
        await rig.engine.stop_execution(arns[0])
        await rig.settle()
        assert await inside(rig, arns) == [2]
        assert (await rig.end(arns[3])).status == "FAILED"
        assert clock.now_ms() == clock.start_ms + 200_000
        # What was stopped in the queue is redriven from the start.
        await rig.engine.redrive_execution(arns[1])
        assert (await rig.end(arns[1])).status == "FAILED"
        assert (await rig.types(arns[1]))[:4] == [
            "ExecutionStarted", "ExecutionAborted", "ExecutionRedriven", "WaitStateEntered",
        ]  # fmt: skip
        await rig.down()

    run_virtual(main)


def test_starts_come_no_faster_than_the_rate():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await limited(rig, machine(W=wait(1_000)), per_second="0.5")
        arns = await start(rig, target, 4)
        await rig.settle()
        assert await inside(rig, arns) == [0]
        await rig.until(1_999)
        assert await inside(rig, arns) == [0]
        await rig.until(1)
        assert await inside(rig, arns) == [0, 1]
        await rig.until(4_000)
        assert await inside(rig, arns) == [0, 1, 2, 3]
        await rig.down()

    run_virtual(main)


def test_a_limit_may_come_change_and_go():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await limited(rig, machine(W=wait(300)))
        arns = await start(rig, target, 2)
        await rig.machines.tags.put(target.machine_arn, [{"key": MOST_AT_ONCE, "value": "3"}])
        arns += [(await rig.engine.start_execution(target, f"m{number}", "{}")).arn for number in range(4)]
        await rig.settle()
        # Those that ran before count.
        assert await inside(rig, arns) == [0, 1, 2]
        await rig.machines.tags.put(target.machine_arn, [{"key": MOST_AT_ONCE, "value": "4"}])
        await rig.settle()
        assert await inside(rig, arns) == [0, 1, 2, 3]
        await rig.machines.tags.take(target.machine_arn, [MOST_AT_ONCE])
        await rig.settle()
        assert await inside(rig, arns) == [0, 1, 2, 3, 4, 5]
        await rig.down()

    run_virtual(main)


def test_a_limit_that_went_while_the_server_was_down_lets_everybody_in():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await limited(rig, machine(W=wait(300)), at_once="1")
        arns = await start(rig, target, 3)
        await rig.settle()
        rig.engine.admission.stop()
        await rig.machines.tags.take(target.machine_arn, [MOST_AT_ONCE])
        await rig.crash()
        await rig.settle()
        assert await inside(rig, arns) == [0, 1, 2]
        await rig.down()

    run_virtual(main)


def test_a_machine_that_goes_takes_its_queue_along():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await limited(rig, machine(W=wait(300, "X"), X=wait(1)), at_once="1")
        arns = await start(rig, target, 2)
        await rig.settle()
        await rig.machines.delete(target.machine_arn)
        await rig.settle()
        assert (await rig.engine.describe(arns[1])).status == "ABORTED"
        await rig.down()

    run_virtual(main)


def test_the_same_start_again_is_the_same_execution_and_leaves_no_place_taken():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await limited(rig, machine(W=wait(300)), at_once="2")
        first = await rig.engine.start_execution(target, "one", "{}")
        again = await rig.engine.start_execution(target, "one", "{}")
        assert first == again
        other = await rig.engine.start_execution(target, "two", "{}")
        await rig.settle()
        assert await inside(rig, [first.arn, other.arn]) == [0, 1]
        with pytest.raises(ApiError, match="Execution Already Exists"):
            await rig.engine.start_execution(target, "one", '{"other": 1}')
        (standing,) = rig.engine.admission.standing()
        assert (standing.machine_arn, standing.running, standing.queued) == (target.machine_arn, 2, 0)
        await rig.down()

    run_virtual(main)


def test_a_start_that_the_store_takes_late_keeps_its_place():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await limited(rig, machine(W=wait(300)), at_once="1")
        commit, failures = rig.store.executions.commit, iter([True] * PATIENCE)

        async def failing(*args: Any) -> Any:
            if next(failures, False):
                raise Unavailable("not now")
            return await commit(*args)

        rig.store.executions.commit = failing
        with pytest.raises(Unavailable):
            await rig.engine.start_execution(target, "one", "{}")
        second = await rig.engine.start_execution(target, "two", "{}")
        await rig.until(10_000)
        first = f"{second.arn.removesuffix('two')}one"
        assert await inside(rig, [first, second.arn]) == [0]
        with pytest.raises(ApiError, match="Execution Already Exists"):
            await rig.engine.start_execution(target, "one", '{"other": 1}')
        await rig.until(300_000)
        assert await inside(rig, [first, second.arn]) == [1]
        await rig.until(300_000)
        assert [(one.running, one.queued) for one in rig.engine.admission.standing()] == [(0, 0)]
        await rig.down()

    run_virtual(main)


def test_a_caller_who_goes_leaves_no_place_taken():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await limited(rig, machine(W=wait(300)), at_once="1")
        await rig.engine.start_execution(target, "one", "{}")
        gone = asyncio.ensure_future(rig.engine.start_execution(target, "one", "{}"))
        await clock.sleep_until(clock.now_ms())
        assert rig.engine.admission.standing()[0].queued
        gone.cancel()
        await rig.settle()
        assert [(one.running, one.queued) for one in rig.engine.admission.standing()] == [(1, 0)]
        await rig.down()

    run_virtual(main)


def test_no_execution_is_admitted_while_running_ones_are_counted():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine(machine(W=wait(300)))
        arns = await start(rig, target, 2)
        rows, failures = rig.store.executions.list_rows, iter([True, True])

        async def slow(*args: Any, **options: Any) -> Any:
            if next(failures, False):
                raise Unavailable("not now")
            found = await rows(*args, **options)
            await rig.until(1_000)
            return found

        rig.store.executions.list_rows = slow
        tagging = asyncio.ensure_future(tag(rig, target, "2"))
        await rig.until(500)
        arns.append((await rig.engine.start_execution(target, "late", "{}")).arn)
        assert await inside(rig, arns) == [0, 1]
        await tagging
        assert await inside(rig, arns) == [0, 1]
        await rig.until(300_000)
        assert await inside(rig, arns) == [2]
        await rig.down()

    run_virtual(main)


async def tag(rig: Rig, target: Target, value: str, key: str = MOST_AT_ONCE) -> None:
    await rig.machines.tags.put(target.machine_arn, [{"key": key, "value": value}])


def test_a_tag_whose_answer_was_lost_counts_when_it_is_put_again():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await rig.machine(machine(W=wait(300)))
        write = rig.store.catalogue.write

        async def lost(*args: Any) -> Any:
            rig.store.catalogue.write = write
            await write(*args)
            raise Unavailable("not now")

        rig.store.catalogue.write = lost
        with pytest.raises(Unavailable):
            await tag(rig, target, "1")
        await tag(rig, target, "1")
        arns = await start(rig, target, 2)
        await rig.settle()
        assert await inside(rig, arns) == [0]
        await rig.down()

    run_virtual(main)


def test_a_faster_rate_counts_at_once():
    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        target = await limited(rig, machine(W=wait(5_000)), per_second="0.001")
        arns = await start(rig, target, 3)
        await rig.settle()
        assert await inside(rig, arns) == [0]
        await tag(rig, target, "1", MOST_PER_SECOND)
        await rig.until(2_000)
        assert await inside(rig, arns) == [0, 1, 2]
        await rig.down()

    run_virtual(main)


@pytest.mark.parametrize(
    ("tags", "limit"),
    [
        ({}, None),
        ({"team": "a"}, None),
        ({MOST_AT_ONCE: "1"}, Limit(1)),
        ({MOST_PER_SECOND: "0.25", MOST_AT_ONCE: "7"}, Limit(7, 0.25)),
    ],
)
def test_limits(tags: dict[str, str], limit: Limit | None):
    assert limit_of(tags) == limit


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "", "\u0663"])
def test_numbers_that_make_no_sense(value: str):
    with pytest.raises(ApiError, match="whole number of at least 1"):
        limit_of({MOST_AT_ONCE: value})


@pytest.mark.parametrize("value", ["0", "-1", "fast", "nan", "inf", ""])
def test_rates_that_make_no_sense(value: str):
    with pytest.raises(ApiError, match="a number above 0"):
        limit_of({MOST_PER_SECOND: value})
