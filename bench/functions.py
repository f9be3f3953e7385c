"""What an invocation costs: CPU of the server beside the handler, starts of workers, memory of a thousand sleepers.

    [STATEWRIGHT_ISOLATION=LEVEL] .venv/bin/python bench/functions.py [invoke] [start] [sleepers]

Everything is in one process on the memory store, without HTTP. CPU is `time.process_time`, so workers are not in it;
their share is measured through `/proc`.
"""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import uvloop

from statewright.clock import RealClock
from statewright.config import Config, FunctionSettings
from statewright.functions.definitions import Code
from statewright.functions.functions import Functions
from statewright.functions.workers import processes
from statewright.stores.memory.store import MemoryStore

ROLE = "arn:aws:iam::000000000000:role/bench"
ECHO = "def handler(event, context):\n    return event\n"
SLEEPER = "import time\ndef handler(event, context):\n    time.sleep(event)\n    return 1\n"
CLIENT = "import boto3\ndef handler(event, context):\n    return 1\n"


async def opened() -> Functions:
    store = MemoryStore()
    await store.open("bench")
    config = Config(functions=FunctionSettings(os.environ.get("STATEWRIGHT_ISOLATION", "auto")))
    functions = Functions(store, RealClock(), config, None, endpoint=lambda: "http://127.0.0.1:1")
    await functions.start()
    return functions


async def create(functions: Functions, name: str, source: str, **settings: object) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("app.py", source)
    given = {"Runtime": "python{}.{}".format(*sys.version_info), "Handler": "app.handler", "Role": ROLE, **settings}
    await functions.definitions.create(name, given, Code(zip=made.getvalue()))


def workers_of(functions: Functions) -> list[int]:
    return [pid for pool in functions.invoker.pools.all() for one in pool.workers for pid in processes.family(one.pid)]


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pss_mib(pids: list[int]) -> float:
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


async def measure_invoke() -> None:
    functions = await opened()
    await create(functions, "echo", ECHO)
    payload = b'{"n": 1, "text": "' + b"x" * 200 + b'"}'
    await functions.invoke("echo", payload)
    for callers, each in ((1, 5_000), (50, 200)):

        async def call(count: int) -> None:
            for _ in range(count):
                await functions.invoke("echo", payload)

        await asyncio.gather(*(call(each) for _ in range(callers)))
        before = {pid: cpu_seconds(pid) for pid in workers_of(functions)}
        started, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(call(each) for _ in range(callers)))
        took, used = time.perf_counter() - started, time.process_time() - cpu
        theirs = sum(cpu_seconds(pid) - before.get(pid, 0.0) for pid in workers_of(functions))
        count = callers * each
        print(
            f"invoke, {callers:>2} callers: {count / took:>7,.0f}/s, server {used / count * 1e6:>5.0f} us, "
            f"workers {theirs / count * 1e6:>5.0f} us an invocation, {len(workers_of(functions))} workers"
        )
    await functions.stop()


async def measure_start() -> None:
    functions = await opened()
    for name, source in (("bare", ECHO), ("boto3", CLIENT)):
        times = []
        for number in range(16):
            await create(functions, f"{name}-{number}", source, MemorySize=1024, Timeout=60)
            started = time.perf_counter()
            await functions.invoke(f"{name}-{number}", b"{}")
            times.append((time.perf_counter() - started) * 1000)
        print(
            f"start, {name}: first {times[0]:.0f} ms (with its fork server), then {sorted(times[1:])[7]:.1f} ms, "
            f"least {min(times):.1f} ms"
        )
    for name, source in (("bare", ECHO), ("boto3", CLIENT)):
        times = []
        for _ in range(5):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", source], check=True)
            times.append((time.perf_counter() - started) * 1000)
        print(f"a process of its own instead, {name}: {sorted(times)[2]:.0f} ms")
    await functions.stop()


async def measure_sleepers(count: int = 1_000) -> None:
    functions = await opened()
    await create(functions, "sleeper", SLEEPER, Timeout=300)
    started, cpu = time.perf_counter(), time.process_time()
    running = [asyncio.ensure_future(functions.invoke("sleeper", b"60")) for _ in range(count)]
    while sum(worker.in_hand is not None for pool in functions.invoker.pools.all() for worker in pool.workers) < count:
        await asyncio.sleep(0.05)
    took, used = time.perf_counter() - started, time.process_time() - cpu
    pids = workers_of(functions)
    print(
        f"{count} sleeping handlers: up in {took:.1f} s ({used / count * 1e3:.2f} ms of the server each), "
        f"PSS {pss_mib(pids):,.0f} MiB in all, {pss_mib(pids) / count:.2f} MiB each"
    )
    cpu = time.process_time()
    await asyncio.sleep(5)
    print(f"while they sleep: {(time.process_time() - cpu) / 5 * 100:.1f} % of a core")
    await functions.stop()
    await asyncio.gather(*running, return_exceptions=True)


WORK = {"invoke": measure_invoke, "start": measure_start, "sleepers": measure_sleepers}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or WORK:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(WORK[chosen]())
