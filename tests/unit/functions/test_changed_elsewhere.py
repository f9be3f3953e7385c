"""Functions that another process changes: an invoker with `known_for_ms`, as a node's worker has it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from statewright.clock import RealClock
from statewright.functions.definitions import Code
from statewright.functions.functions import Functions
from statewright.stores.memory.store import MemoryStore
from tests.unit.functions.running import ARN, SHARING, create, document, zipped

FOR_EVER = 1_000_000_000

Test = Callable[[Functions, Functions], Awaitable[None]]


def source(number: int) -> str:
    return f"def handler(event, context):\n    return {number}\n"


def on_two(test: Test, data: Path) -> None:
    """Run a test with the functions of a home, which changes them, and of a worker, over one store."""

    async def main() -> None:
        store = MemoryStore()
        await store.open("tests")
        home, worker = (
            Functions(store, RealClock(), SHARING, data, endpoint=lambda: "http://127.0.0.1:1") for _ in range(2)
        )
        worker.invoker.known_for_ms = FOR_EVER
        try:
            await test(home, worker)
        finally:
            await worker.stop()
            await home.stop()

    asyncio.run(main())


async def update(home: Functions, number: int) -> None:
    await home.definitions.update_code("f", Code(zip=zipped(app__py=source(number))))


async def answer(worker: Functions, name: str = "f") -> Any:
    return document(await worker.invoke(name, b"{}"))


def test_new_code_runs_once_names_are_resolved_again(tmp_path: Path) -> None:
    async def test(home: Functions, worker: Functions) -> None:
        await create(home, "f", source(1))
        assert await answer(worker) == 1
        await update(home, 2)
        assert await answer(worker) == 1
        worker.invoker.resolve_again()
        assert [await answer(worker), await answer(worker)] == [2, 2]

    on_two(test, tmp_path)


def test_new_code_runs_under_a_name_that_was_never_resolved(tmp_path: Path) -> None:
    async def test(home: Functions, worker: Functions) -> None:
        await create(home, "f", source(1))
        assert await answer(worker) == 1
        await update(home, 2)
        assert await answer(worker, f"{ARN}f") == 2

    on_two(test, tmp_path)


def test_a_resolution_that_began_before_a_change_is_not_kept(tmp_path: Path) -> None:
    async def test(home: Functions, worker: Functions) -> None:
        await create(home, "f", source(1))
        has_read, may_go_on = asyncio.Event(), asyncio.Event()
        find = worker.definitions.function

        async def slowly(name: str) -> Any:
            found = await find(name)
            has_read.set()
            await may_go_on.wait()
            return found

        worker.definitions.function = slowly  # type: ignore[method-assign]
        first = asyncio.ensure_future(worker.invoker.resolve("f", None))
        await has_read.wait()
        await update(home, 2)
        worker.invoker.resolve_again()
        may_go_on.set()
        before, now = await first, await worker.invoker.resolve("f", None)
        assert before.settings.code != now.settings.code
        assert await answer(worker) == 2

    on_two(test, tmp_path)


def test_workers_that_were_started_with_former_code_are_not_used_any_more(tmp_path: Path) -> None:
    async def test(home: Functions, worker: Functions) -> None:
        await create(home, "f", source(1))
        former = await worker.invoker.resolve("f", None)
        await update(home, 2)
        worker.invoker.resolve_again()
        target = await worker.invoker.resolve("f", None)
        # An invocation that began before the change opens the workers while another waits for them.
        late = asyncio.ensure_future(worker.invoker.pool_of(former))
        pool = asyncio.ensure_future(worker.invoker.pool_of(target))
        assert await late is not await pool
        assert await answer(worker) == 2

    on_two(test, tmp_path)


def test_a_reservation_is_announced(tmp_path: Path) -> None:
    async def test(home: Functions, worker: Functions) -> None:
        await create(home, "f", source(1))

        def forget(name: str, *, latest: bool, everything: bool = False) -> None:
            del name, latest, everything
            worker.invoker.resolve_again()

        home.definitions.subscribe(forget)
        assert not await worker.invoker.has_reservation("f")
        await home.definitions.reserve("f", 1)
        assert await worker.invoker.has_reservation("f")
        await home.definitions.reserve("f", None)
        assert not await worker.invoker.has_reservation("f")

    on_two(test, tmp_path)
