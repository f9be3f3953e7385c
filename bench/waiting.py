"""A million executions that wait: memory, disk, how soon a killed server is back, and whether timers still fire.

python bench/waiting.py                     1,000,000, about ten minutes
python bench/waiting.py --count 100000
python bench/waiting.py --storm             all of them due at once when the server comes back
python bench/waiting.py --compare           also the workloads that must not mind how much is stored
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import wait_machine
from served import Served, load, workload_arguments

MONTH_SECONDS = 30 * 24 * 3600
FEW = 2_000
"""Executions that wait for seconds beside those that wait for a month."""
FEW_SECONDS = 15


def show(name: str, value: float, unit: str, aim: str = "") -> None:
    print(f"{name:58}{f'{value:,.2f} {unit}':>16}  {aim}", flush=True)


async def start_few(server: Served) -> str:
    """Start executions that wait for some seconds, so that the kill falls into their wait."""
    bench = server.bench(workload_arguments())
    arn: str = await bench.create(wait_machine(FEW_SECONDS))
    await bench.fan(FEW, 16, lambda _: bench.start(arn))
    bench.c.close()
    return arn


async def lateness(server: Served, arn: str) -> tuple[int, list[float]]:
    """Wait for those; how late each ended, in milliseconds."""
    bench = server.bench(workload_arguments())
    await bench.drain(arn)
    ended, lasted = await bench.durations(arn)
    bench.c.close()
    return ended, sorted((seconds - FEW_SECONDS) * 1e3 for seconds in lasted)


async def workloads(server: Served, names: list[str]) -> None:
    arguments: Any = workload_arguments()
    for name in names:
        bench = server.bench(arguments)
        await getattr(bench, name)()
        bench.c.close()


def waiting(folder: Path, count: int, *, compare: bool) -> None:
    if compare:
        (folder / "empty").mkdir()
        empty = Served(folder / "empty")
        empty.start()
        print("--- nothing stored")
        asyncio.run(workloads(empty, ["pass_chain", "start_rate", "nested_loop"]))
        empty.stop()
    data = folder / "data"
    data.mkdir()
    cpu = load(data, count, MONTH_SECONDS)
    show("starting, CPU per execution (engine and store alone)", cpu / count * 1e6, "us")
    server = Served(data)
    show("disk", server.disk_bytes() / 1e9, "GB", "< 1.2 for a million")
    show("first start: ready after", server.start(), "s", "< 2")
    show("memory, ready", server.memory_mib(), "MiB", "< 300")
    arn = asyncio.run(start_few(server))
    server.kill()
    show("after kill -9: ready after", server.start(), "s", "< 2")
    show("CPU until ready", server.cpu_seconds(), "s")
    show("memory, ready", server.memory_mib(), "MiB", "< 300")
    ended, late = asyncio.run(lateness(server, arn))
    show(f"of {FEW:,} that waited {FEW_SECONDS} s over the kill, ended", ended, "")
    show("late, p50", late[len(late) // 2], "ms", "< 10")
    show("late, p99", late[len(late) * 99 // 100], "ms", "< 100")
    show("memory, idle", server.memory_mib(), "MiB", "< 300")
    if compare:
        print(f"--- {count:,} stored")
        asyncio.run(workloads(server, ["pass_chain", "start_rate", "nested_loop"]))
        show("memory, after the workloads", server.memory_mib(), "MiB", "< 300")
    show("ended after SIGTERM within", server.stop(), "s")
    show("disk", server.disk_bytes() / 1e9, "GB", "< 1.2 for a million")


def storm(folder: Path, count: int) -> None:
    """Every timer came due while no server ran."""
    data = folder / "data"
    data.mkdir()
    load(data, count, MONTH_SECONDS, earlier_seconds=MONTH_SECONDS + 60)
    server = Served(data)
    show("ready after, all timers due", server.start(), "s", "< 2")
    began = time.monotonic()
    most = 0.0
    answers: list[float] = []

    async def finish() -> None:
        nonlocal most
        bench = server.bench(workload_arguments())
        found = await bench.c.call("states", "ListStateMachines", {})
        arn = found["stateMachines"][0]["stateMachineArn"]
        while True:
            most = max(most, server.memory_mib())
            before = time.perf_counter()
            asked = {"stateMachineArn": arn, "statusFilter": "RUNNING", "maxResults": 1}
            open_ones = await bench.c.call("states", "ListExecutions", asked)
            answers.append(time.perf_counter() - before)
            if not open_ones["executions"]:
                break
            await asyncio.sleep(0.1)
        bench.c.close()

    asyncio.run(finish())
    wall = time.monotonic() - began
    answers.sort()
    show("all fired and finished within", wall, "s")
    show("a second", count / wall, "/s")
    show("CPU per execution", server.cpu_seconds() / count * 1e6, "us")
    show("memory, most", most, "MiB", "< 300")
    show("a call meanwhile took, p99", answers[len(answers) * 99 // 100] * 1e3, "ms")
    server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--storm", action="store_true")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--folder", help="where the data go; a temporary folder otherwise")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        if given.storm:
            storm(Path(folder), given.count)
        else:
            waiting(Path(folder), given.count, compare=given.compare)


if __name__ == "__main__":
    main()
