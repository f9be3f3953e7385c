"""CPU of the engine on the store in memory: microseconds per transition of a chain, per start, per task.

python -m tests.unit.engine.engine_bench
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from statewright.clock import RealClock
from tests.unit.engine.running import CALL, Rig, lifted, machine, passing, task, wait

Work = Callable[[Rig], Awaitable[int]]


async def chain(rig: Rig) -> int:
    """One execution of 10,000 Pass states."""
    states = {f"P{number}": passing(f"P{number + 1}") for number in range(9_999)}
    target = await rig.machine(machine(**states, P9999=passing()))
    began = time.process_time()
    started = await rig.engine.start_execution(target, "run", '{"x":1}')
    await rig.end(started.arn)
    print(f"chain without making the machine: {(time.process_time() - began) / 10_000 * 1e6:.1f} us")
    return 10_000


async def starts(rig: Rig) -> int:
    """Executions of two Pass states, 32 at a time."""
    return await _many(rig, machine(A=passing("B"), B=passing()), 10_000)


async def tasks(rig: Rig) -> int:
    """Executions of one task whose result comes at once."""
    return await _many(rig, machine(T=task(CALL)), 5_000)


async def waits(rig: Rig) -> int:
    """Executions that wait for a second."""
    return await _many(rig, machine(W=wait(1)), 5_000)


async def _many(rig: Rig, definition: dict[str, object], count: int) -> int:
    target = await rig.machine(definition)
    numbers = iter(range(count))

    async def client() -> None:
        for number in numbers:
            await rig.engine.start_execution(target, f"e{number}", '{"x":1}')

    await asyncio.gather(*[client() for _ in range(32)])
    while rig.store.executions._counts[None, "RUNNING"]:
        await asyncio.sleep(0)
    return count


async def measure(work: Work) -> None:
    rig = await Rig(RealClock(), limits=lifted(history_events=None)).up()
    began = time.process_time()
    units = await work(rig)
    spent = time.process_time() - began
    print(f"{work.__name__:8} {spent / units * 1e6:8.1f} us CPU per unit, {units} units")
    await rig.down()


if __name__ == "__main__":
    for one in (chain, starts, tasks, waits):
        asyncio.run(measure(one))
