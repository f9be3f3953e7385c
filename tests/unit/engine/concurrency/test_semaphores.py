"""Semaphores between memory and store: writes that are slow, ends that fall into them, calls that are repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from statewright.asl.resources import parse_resource
from statewright.engine.concurrency.semaphores import PERMIT
from statewright.engine.dispatch import ScheduledCall
from statewright.virtual_clock import VirtualClock
from tests.unit.engine.running import machine, task, wait
from tests.unit.integrations.test_own_tasks import ACQUIRE, RELEASE, Running, crash, guarded, start, virtually, working


def call_of(number: int, owner: str = "e") -> ScheduledCall:
    """A call that no execution makes."""
    arn = f"arn:aws:states:us-east-1:000000000000:execution:m:{owner}"
    return ScheduledCall(arn, "In", parse_resource(ACQUIRE), {}, None, 0, f"call {number}", "role", task_id=number)


async def permits(rig: Running) -> list[int]:
    """What the store has, by number."""
    found = await rig.store.catalogue.list_entries(PERMIT, "", after=None, limit=99, newest_first=False)
    return [one.sort for one in found]


def slow(rig: Running, answers_after_ms: int) -> Callable[[], None]:
    """Let the catalogue write at once and answer late; the answer makes it as fast as before."""
    write = rig.store.catalogue.write

    async def late(*args: Any) -> bool:
        answer: bool = await write(*args)
        await rig.clock.sleep_until(rig.clock.now_ms() + answers_after_ms)
        return answer

    def undo() -> None:
        rig.store.catalogue.write = write

    rig.store.catalogue.write = late
    return undo


def test_a_permit_that_ends_while_it_is_written_does_not_stay_in_the_store():
    async def main(rig: Running, clock: VirtualClock) -> None:
        undo = slow(rig, 1_000)
        arns = await start(rig, guarded(300), 1)
        await rig.until(500)
        assert len(await permits(rig)) == 1
        await rig.engine.stop_execution(arns[0])
        await rig.until(5_000)
        assert not await permits(rig)
        undo()

    virtually(main)


def test_what_changes_at_the_very_end_of_a_write_is_written():
    async def main(rig: Running, clock: VirtualClock) -> None:
        semaphores = rig.engine.semaphores
        semaphores.acquire(call_of(1, "one"), "door", "", 1)
        await rig.settle()
        # Whoever has released goes on before the loop has come to the end of the task that wrote.
        semaphores._answer = lambda *_: None  # type: ignore[method-assign]
        next(iter(semaphores.standing()[0].holders.values())).call = None
        assert await semaphores.release(call_of(2, "one"), "door", "")
        semaphores.acquire(call_of(3, "two"), "door", "", 1)
        await rig.settle()
        assert len(await permits(rig)) == 1
        semaphores.ended(call_of(3, "two").execution_arn)

    virtually(main)


def test_a_grant_that_its_task_never_received_is_free_after_a_crash():
    async def main(rig: Running, clock: VirtualClock) -> None:
        undo = slow(rig, 60_000)
        entering = task(
            ACQUIRE, Parameters={"Name": "door", "Limit": 1}, TimeoutSeconds=10, Next="Work",
            Catch=[{"ErrorEquals": ["States.Timeout"], "Next": "Without"}],
        )  # fmt: skip
        arns = await start(rig, machine(In=entering, Work=wait(1_000), Without=wait(1_000)), 1)
        await rig.until(30_000)
        assert "TaskTimedOut" in await rig.types(arns[0])
        assert len(await permits(rig)) == 1
        undo()
        await crash(rig)
        await rig.settle()
        assert not rig.engine.semaphores.standing()
        assert not await permits(rig)

    virtually(main)


def test_a_permit_that_an_execution_received_outlives_a_crash_and_not_a_hidden_redrive():
    async def main(rig: Running, clock: VirtualClock) -> None:
        arns = await start(rig, guarded(300), 2)
        await rig.settle()
        await crash(rig)
        await rig.settle()
        assert await working(rig, arns) == [0]
        assert len(rig.engine.semaphores.standing()[0].holders) == 1
        # The end is committed; what it gives back is not written before the redrive is, and then the process dies.
        rig.store.catalogue.write, write = never, rig.store.catalogue.write
        await rig.engine.stop_execution(arns[0])
        await rig.engine.redrive_execution(arns[0])
        rig.store.catalogue.write = write
        await crash(rig)
        await rig.settle()
        holder = next(iter(rig.engine.semaphores.standing()[0].holders.values()))
        assert holder.execution_arn == arns[1]

    virtually(main)


async def never(*_args: Any) -> bool:
    """A store that does not answer."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError


def test_after_a_crash_the_newest_limit_counts():
    async def main(rig: Running, clock: VirtualClock) -> None:
        def inside(seconds: int, limit: int) -> dict[str, Any]:
            entering = task(ACQUIRE, Parameters={"Name": "door", "Limit": limit}, Next="Work")
            return machine(In=entering, Work=wait(seconds))

        arns = []
        for number, (seconds, limit) in enumerate([(1_000, 1), (100, 2), (1_000, 2)]):
            target = await rig.machine(inside(seconds, limit), f"m{number}")
            arns.append((await rig.engine.start_execution(target, "n", "{}")).arn)
            await rig.settle()
        assert await working(rig, arns) == [0, 1]
        await crash(rig)
        await rig.until(150_000)
        assert await working(rig, arns) == [0, 2]

    virtually(main)


def test_a_release_that_is_repeated_gives_back_no_second_permit():
    async def main(rig: Running, clock: VirtualClock) -> None:
        two = machine(
            A=task(ACQUIRE, Parameters={"Name": "door", "Limit": 2}, Next="B"),
            B=task(ACQUIRE, Parameters={"Name": "door", "Limit": 2}, Next="C"),
            C=task(RELEASE, Parameters={"Name": "door"}, Next="D"),
            D=wait(100),
        )
        await start(rig, two, 1)
        await rig.settle()
        (semaphore,) = rig.engine.semaphores.standing()
        (permit,) = semaphore.holders.values()
        again = replace(call_of(9), execution_arn=permit.execution_arn, idempotency_key=permit.spared_by[0])
        assert await rig.engine.semaphores.release(again, "door", "")
        assert len(semaphore.holders) == 1
        await crash(rig)
        assert await rig.engine.semaphores.release(again, "door", "")
        assert len(rig.engine.semaphores.standing()[0].holders) == 1
        assert await rig.engine.semaphores.release(replace(again, idempotency_key="other"), "door", "")
        assert not rig.engine.semaphores.standing()

    virtually(main)


def test_a_permit_that_is_released_before_its_task_receives_it_is_requested_again():
    async def main(rig: Running, clock: VirtualClock) -> None:
        undo = slow(rig, 1_000)
        arns = await start(rig, guarded(300), 1)
        await rig.until(500)
        number = next(iter(rig.engine.semaphores.standing()[0].holders))
        assert await rig.engine.semaphores.take_away("door", "", number, "a test") is not None
        undo()
        await rig.until(10_000)
        assert await working(rig, arns) == [0]
        assert number not in rig.engine.semaphores.standing()[0].holders

    virtually(main)


def test_a_branch_does_not_give_back_what_another_one_is_about_to_get():
    async def main(rig: Running, clock: VirtualClock) -> None:
        semaphores = rig.engine.semaphores
        undo = slow(rig, 1_000)
        semaphores.acquire(call_of(1), "door", "", 1)
        assert not await semaphores.release(call_of(2), "door", "")
        undo()
        await rig.until(2_000)
        semaphores.ended(call_of(1).execution_arn)

    virtually(main)
