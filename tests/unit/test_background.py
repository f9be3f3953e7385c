from __future__ import annotations

import asyncio
import logging

import pytest

from statewright.background import Background
from statewright.errors import OwnershipLost, Unavailable


async def _fails(problem: BaseException) -> None:
    raise problem


def test_a_task_is_held_until_it_ends_and_its_result_is_there() -> None:
    async def story() -> None:
        background = Background("work")

        async def seven() -> int:
            assert len(background) == 1
            return 7

        assert await background.spawn(seven()) == 7
        await background.at_rest()
        assert len(background) == 0

    asyncio.run(story())


def test_at_rest_waits_for_what_tasks_spawn() -> None:
    async def story() -> None:
        background = Background("work")
        done: list[str] = []

        async def child() -> None:
            await asyncio.sleep(0)
            done.append("child")

        async def parent() -> None:
            background.spawn(child())

        background.spawn(parent())
        await background.at_rest()
        assert done == ["child"]

    asyncio.run(story())


def test_a_store_that_fails_is_a_warning_and_a_bug_an_error(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        background = Background("work on queues")
        background.spawn(_fails(Unavailable("the disk is full")))
        background.spawn(_fails(KeyError("x")))
        await background.at_rest()

    asyncio.run(story())
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.WARNING, "work on queues in the background was given up: the disk is full"),
        (logging.ERROR, "work on queues in the background failed"),
    ]
    assert caplog.records[1].exc_info is not None


def test_a_problem_that_the_owner_handles_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[BaseException] = []

    def lost(problem: BaseException) -> bool:
        seen.append(problem)
        return isinstance(problem, OwnershipLost)

    async def story() -> None:
        background = Background("work", lost)
        background.spawn(_fails(OwnershipLost("shard 0")))
        background.spawn(_fails(Unavailable("away")))
        await background.at_rest()

    asyncio.run(story())
    assert [type(problem) for problem in seen] == [OwnershipLost, Unavailable]
    assert [record.getMessage() for record in caplog.records] == ["work in the background was given up: away"]


def test_stop_cancels_and_nothing_begins_afterwards(caplog: pytest.LogCaptureFixture) -> None:
    begun: list[str] = []

    async def work(name: str) -> None:
        begun.append(name)
        await asyncio.get_running_loop().create_future()

    async def story() -> None:
        background = Background("work")
        waiting = background.spawn(work("waits"))
        await asyncio.sleep(0)
        unbegun = background.spawn(work("cancelled before its first step"))
        await background.stop()
        late = background.spawn(work("after the stop"))
        await background.at_rest()
        assert all(task.cancelled() for task in (waiting, unbegun, late))

    asyncio.run(story())
    assert begun == ["waits"]
    assert not caplog.records


def test_cancel_leaves_the_owner_open() -> None:
    async def story() -> None:
        background = Background("work")
        first = background.spawn(asyncio.Event().wait())
        await asyncio.sleep(0)
        background.cancel()
        await background.at_rest()
        assert first.cancelled()
        assert await background.spawn(asyncio.sleep(0, "again")) == "again"

    asyncio.run(story())
