"""How long a start takes beside work that keeps the server busy: 16 connections of sync Express, one long chain.

    python bench/fairness.py
    python bench/fairness.py --beside sync_express,long_chain,map_inline

For each kind of work a fresh server: four connections start executions one after another, first alone, then beside the
work. The aim is a start within 30 ms in 99 of 100 cases, and commits that keep flowing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench import Bench, count_loop, map_machine, pct, short_machine
from served import Served, workload_arguments

SECONDS = 6.0
STARTERS = 4
EXPRESS_CONNECTIONS = 16

Work = Callable[[Bench, asyncio.Event], Awaitable[int]]


async def nothing(_bench: Bench, over: asyncio.Event) -> int:
    await over.wait()
    return 0


async def sync_express(bench: Bench, over: asyncio.Event) -> int:
    """As many sync Express executions as 16 connections can have."""
    arn = await bench.create(short_machine(), "EXPRESS")
    done = 0

    async def client() -> None:
        nonlocal done
        while not over.is_set():
            await bench.c.call("states", "StartSyncExecution", {"stateMachineArn": arn, "input": '{"a":1}'})
            done += 1

    await asyncio.gather(*[client() for _ in range(EXPRESS_CONNECTIONS)])
    return done


async def long_chain(bench: Bench, over: asyncio.Event) -> int:
    """One execution of 10,003 transitions after another."""
    arn = await bench.create(count_loop(5_000))
    done = 0
    while not over.is_set():
        await bench.wait(await bench.start(arn))
        done += 1
    return done


async def express_chain(bench: Bench, over: asyncio.Event) -> int:
    """The same chain as one sync Express execution after another."""
    arn = await bench.create(count_loop(5_000), "EXPRESS")
    done = 0
    while not over.is_set():
        await bench.c.call("states", "StartSyncExecution", {"stateMachineArn": arn, "input": "{}"})
        done += 1
    return done


async def map_inline(bench: Bench, over: asyncio.Event) -> int:
    """Maps of 1,000 items."""
    arn = await bench.create(map_machine("INLINE", 0))
    given = json.dumps({"items": [{"v": number} for number in range(1_000)]})
    done = 0
    while not over.is_set():
        await bench.wait(await bench.start(arn, given))
        done += 1
    return done


async def map_distributed(bench: Bench, over: asyncio.Event) -> int:
    """Map Runs of 5,000 child executions."""
    arn = await bench.create(map_machine("DISTRIBUTED", 0))
    given = json.dumps({"items": [{"v": number} for number in range(5_000)]})
    done = 0
    while not over.is_set():
        await bench.wait(await bench.start(arn, given))
        done += 1
    return done


WORKS: dict[str, Work] = {
    "nothing": nothing,
    "sync_express": sync_express,
    "long_chain": long_chain,
    "express_chain": express_chain,
    "map_inline": map_inline,
    "map_distributed": map_distributed,
}


async def measure(server: Served, name: str) -> None:
    bench = server.bench(workload_arguments())
    arn = await bench.create(short_machine())
    over = asyncio.Event()
    work = asyncio.ensure_future(WORKS[name](bench, over))
    waits: list[float] = []
    await asyncio.sleep(1)
    until = time.perf_counter() + SECONDS

    async def client() -> None:
        while time.perf_counter() < until:
            before = time.perf_counter()
            await bench.start(arn)
            waits.append(time.perf_counter() - before)

    cpu = server.cpu_seconds()
    await asyncio.gather(*[client() for _ in range(STARTERS)])
    cpu = server.cpu_seconds() - cpu
    over.set()
    done = await work
    bench.c.close()
    shown = [pct(waits, part) * 1e3 for part in (50, 99, 100)]
    print(
        f"{name:<18}{len(waits) / SECONDS:>12.0f}{shown[0]:>10.2f}{shown[1]:>10.2f}{shown[2]:>10.2f}"
        f"{done / (SECONDS + 1):>14.1f}{cpu / SECONDS:>12.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", default=",".join(WORKS))
    given = parser.parse_args()
    heads = f"{'starts/s':>12}{'p50 ms':>10}{'p99 ms':>10}{'most ms':>10}{'of these/s':>14}{'cores used':>12}"
    print(f"{'beside':<18}{heads}")
    for name in given.beside.split(","):
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "data"
            data.mkdir()
            server = Served(data)
            server.start()
            asyncio.run(measure(server, name))
            server.stop()


if __name__ == "__main__":
    main()
