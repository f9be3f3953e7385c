"""Prints what the stores cost: CPU time per execution, executions per second, and how long one caller waits.

    python bench/stores.py                  everything, SQLite in a temporary folder
    python bench/stores.py "256 committers" only what has that in its name
    BENCH_FOLDER=/data python bench/stores.py
    BENCH_POSTGRES=postgresql://localhost/postgres python bench/stores.py   PostgreSQL too, in databases of its own

An execution is three commits with seven history events: it starts and waits for a timer, calls a task, ends. Bodies are
bytes made beforehand, so this is the store alone: no interpreter, no JSON, no HTTP.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from statewright.stores.ids import IdSource
from statewright.stores.opening import open_store
from statewright.stores.protocol import Commit, EntryRow, HistoryPage, OutboxRow, Row, TimerRow
from statewright.stores.store import Store

NOW_MS = 1_767_225_600_000
ROUNDS = 3
NOISE = random.Random(7).randbytes(4096)
STATE = NOISE[:400]
HEAD = NOISE[:250]
PAGES = (NOISE[:330], NOISE[330:690], NOISE[690:930])
"""Compressed pages of three, two and two events with a small payload."""


@dataclass
class Figure:
    """One line of the report: `value` in `unit`, beside what is aimed at."""

    name: str
    value: float
    unit: str
    aim: str = ""


def commits_of(ids: IdSource, number: int) -> tuple[Commit, Commit, Commit]:
    """The three commits of an execution."""
    execution = ids.next()
    row = Row(execution, 0, 7, f"order-{number:09}", "RUNNING", NOW_MS, None, HEAD, b"")
    timer = TimerRow(execution, 1, NOW_MS + number % 60_000)
    sent = OutboxRow(ids.next(), execution, "lambda", NOISE[:200])
    first = Commit(row, 0, STATE, history=HistoryPage(1, 3, NOW_MS, PAGES[0]), timers=(timer,))
    second = Commit(row, 1, STATE, history=HistoryPage(4, 2, NOW_MS, PAGES[1]), timers_done=(timer,), outbox=(sent,))
    closed = replace(row, status="SUCCEEDED", stopped_ms=NOW_MS + 5, tail=NOISE[:120])
    third = Commit(closed, 2, None, history=HistoryPage(6, 2, NOW_MS, PAGES[2]), outbox_done=(sent.id,))
    return first, second, third


async def run_executions(store: Store, executions: list[tuple[Commit, ...]], committers: int) -> list[float]:
    """Run executions from so many tasks; returns how long each commit took, in seconds."""
    remaining = iter(executions)
    waits: list[float] = []
    commit = store.executions.commit

    async def work() -> None:
        for execution in remaining:
            for one in execution:
                before = time.perf_counter()
                await commit(one)
                waits.append(time.perf_counter() - before)

    await asyncio.gather(*[work() for _ in range(committers)])
    return waits


async def with_store(location: str, committers: int, many: int) -> tuple[float, float, list[float]]:
    """CPU and wall seconds for one execution, and the waits of its commits."""
    store = open_store(location)
    await store.open("bench")
    ids = IdSource(lambda: NOW_MS)
    # The first executions fill caches and prepare statements.
    await run_executions(store, [commits_of(ids, n) for n in range(2 * committers)], committers)
    executions: list[tuple[Commit, ...]] = [commits_of(ids, n) for n in range(2 * committers, 2 * committers + many)]
    gc.collect()
    gc.freeze()
    cpu, wall = time.process_time(), time.perf_counter()
    waits = await run_executions(store, executions, committers)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    gc.unfreeze()
    await store.close()
    return cpu / many, wall / many, waits


def measured(location: str, committers: int, many: int) -> tuple[float, float, list[float]]:
    """The best of several rounds, each with a fresh store."""
    found = []
    for number in range(ROUNDS):
        place = fresh_place(location, f"{committers}-{number}")
        found.append(asyncio.run(with_store(place, committers, many)))
    return (
        min(one[0] for one in found),
        min(one[1] for one in found),
        min((one[2] for one in found), key=statistics.median),
    )


def fresh_place(location: str, name: str) -> str:
    """Where a store of its own can be made."""
    if location == "memory:":
        return location
    if "://" not in location:
        return f"{location}/{name}"
    import psycopg

    database = "statewright_bench"
    with psycopg.connect(location, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {database}".encode())
        connection.execute(f"CREATE DATABASE {database} TEMPLATE template0".encode())
    before, _, query = location.partition("?")
    return f"{before.rpartition('/')[0]}/{database}" + (f"?{query}" if query else "")


def concurrency(folder: str, wanted: str) -> Iterator[Figure]:
    """The same work from more and more callers, which is what makes groups grow."""
    places = {"sqlite": folder, "memory": "memory:", "postgres": os.environ.get("BENCH_POSTGRES", "")}
    for kind, location in places.items():
        if not location:
            continue
        for committers, many in ((1, 500), (16, 4_000), (64, 8_000), (256, 16_000), (512, 16_000)):
            name = f"{kind}, {committers} committers"
            if wanted not in name:
                continue
            cpu, wall, waits = measured(location, committers, many)
            waits.sort()
            aim = "<= 50" if kind == "sqlite" and committers >= 64 else ""
            yield Figure(f"{name}: CPU per execution", cpu * 1e6, "us", aim)
            yield Figure(f"{name}: executions", 1 / wall, "/s")
            yield Figure(f"{name}: commit p50", waits[len(waits) // 2] * 1e3, "ms")
            yield Figure(f"{name}: commit p99", waits[len(waits) * 99 // 100] * 1e3, "ms")


def entries(folder: str, wanted: str) -> Iterator[Figure]:
    """Entries of the catalogue that come and go, as those of events, permits and deliveries do."""

    async def run(location: str, callers: int, many: int) -> tuple[float, float]:
        store = open_store(location)
        await store.open("bench")
        numbers = iter(range(many))

        async def work() -> None:
            for number in numbers:
                key = f"entry-{number:09}"
                assert await store.catalogue.write([EntryRow("bench", key, "p", number, 1, NOISE[:300])])
                await store.catalogue.write([], [("bench", key)])

        cpu, wall = time.process_time(), time.perf_counter()
        await asyncio.gather(*[work() for _ in range(callers)])
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        await store.close()
        return cpu / many, wall / many

    places = {"sqlite": folder, "postgres": os.environ.get("BENCH_POSTGRES", "")}
    for kind, location in places.items():
        for callers, many in ((1, 300), (64, 6_000)):
            name = f"{kind}, {callers} callers of entries"
            if not location or wanted not in name:
                continue
            found = []
            for number in range(ROUNDS):
                place = fresh_place(location, f"entries-{callers}-{number}")
                found.append(asyncio.run(run(place, callers, many)))
            yield Figure(f"{name}: CPU of put + delete", min(cpu for cpu, _ in found) * 1e6, "us")
            yield Figure(f"{name}: put + delete", 1 / min(wall for _, wall in found), "/s")


def busy_loop(folder: str, wanted: str) -> Iterator[Figure]:
    """Commits beside work that keeps the event loop busy in bursts of 5 ms, as long chains of states do."""
    name = "sqlite, 16 committers beside a busy loop"
    if wanted not in name:
        return

    async def spin() -> None:
        while True:
            until = time.perf_counter() + 0.005
            while time.perf_counter() < until:
                pass
            await asyncio.sleep(0)

    async def run() -> tuple[float, list[float]]:
        store = open_store(f"{folder}/busy")
        await store.open("bench")
        ids = IdSource(lambda: NOW_MS)
        spinning = asyncio.ensure_future(spin())
        began = time.perf_counter()
        waits = await run_executions(store, [commits_of(ids, n) for n in range(400)], 16)
        wall = time.perf_counter() - began
        spinning.cancel()
        await store.close()
        return len(waits) / wall, sorted(waits)

    rate, waits = asyncio.run(run())
    yield Figure(f"{name}: commits", rate, "/s")
    yield Figure(f"{name}: commit p50", waits[len(waits) // 2] * 1e3, "ms")
    yield Figure(f"{name}: commit p99", waits[len(waits) * 99 // 100] * 1e3, "ms", "< 30")


def reading(folder: str, wanted: str) -> Iterator[Figure]:
    """What a read costs in a store of 20,000 open executions."""

    async def run() -> list[Figure]:
        store = open_store(f"{folder}/reading")
        await store.open("bench")
        ids = IdSource(lambda: NOW_MS)
        executions = [commits_of(ids, n)[:1] for n in range(20_000)]
        await run_executions(store, executions, 512)
        picked = [executions[number * 7 % len(executions)][0].row for number in range(3_000)]
        reads = store.executions

        async def cost(read: Callable[[Row], Awaitable[object]], times: int) -> float:
            before = time.process_time()
            for row in picked[:times]:
                await read(row)
            return (time.process_time() - before) / times * 1e6

        figures = [
            Figure("sqlite, read a row", await cost(lambda row: reads.row(row.id), 3_000), "us"),
            Figure("sqlite, load an execution", await cost(lambda row: reads.load(row.id), 3_000), "us"),
            Figure(
                "sqlite, list 100 rows",
                await cost(lambda _: reads.list_rows(7, status="RUNNING", after=None, limit=100), 100),
                "us",
            ),
        ]
        before = time.process_time()
        assert len(await reads.due(0, NOW_MS + 60_000, 50_000)) == len(executions)
        figures.append(Figure("sqlite, read 20,000 timers", (time.process_time() - before) * 1e3, "ms"))
        await store.close()
        return figures

    if wanted in "sqlite, read":
        yield from asyncio.run(run())


def size(folder: str, wanted: str) -> Iterator[Figure]:
    """What an execution takes on disk, closed and waiting."""

    async def fill(place: str, stop_after: int) -> float:
        store = open_store(place)
        await store.open("bench")
        ids = IdSource(lambda: NOW_MS)
        executions = [commits_of(ids, n)[:stop_after] for n in range(20_000)]
        await run_executions(store, executions, 512)
        await store.close()
        return sum(file.stat().st_size for file in Path(place).iterdir()) / len(executions)

    for name, stop_after in (("closed", 3), ("waiting", 1)):
        if wanted in (title := f"sqlite, disk per {name} execution"):
            yield Figure(title, asyncio.run(fill(f"{folder}/{name}", stop_after)), "bytes")


def main() -> None:
    """Print the figures whose name holds the given words."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    sys.setswitchinterval(0.0001)
    print(f"{'':58}{'measured':>16}  aim")
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_FOLDER")) as folder:
        for group in (concurrency, entries, busy_loop, reading, size):
            for figure in group(folder, wanted):
                shown = f"{figure.value:,.2f} {figure.unit}"
                print(f"{figure.name:58}{shown:>16}  {figure.aim}", flush=True)


if __name__ == "__main__":
    main()
