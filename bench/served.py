"""A server of ours in a process of its own, for the benchmarks here that start, kill and restart it.

    python bench/served.py load FOLDER COUNT SECONDS [EARLIER_SECONDS]

fills a data folder with executions that wait, through the engine without HTTP; with EARLIER_SECONDS they believe that
it is so much earlier.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
from bench import Bench, Client, Report, free_port

ROLE = "arn:aws:iam::000000000000:role/bench"
WAITING = "waiting"
"""Name of the machine whose executions `load` starts."""
AT_ONCE = 512


class Served:
    """One server; `port` stays the same over restarts. `command` is the `statewright` to run, by default our own."""

    def __init__(self, folder: Path, *options: str, command: str = "") -> None:
        self.folder = folder
        self.command = command or str(Path(sys.executable).with_name("statewright"))
        self.port = free_port()
        self.options = options
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> float:
        """Start, and wait until it answers a call; returns the seconds that took."""
        command = [self.command, "serve", "--port", str(self.port)]
        began = time.monotonic()
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--data", str(self.folder), *self.options], stdout=log, stderr=log, start_new_session=True
            )
        asyncio.run(self._answered())
        return time.monotonic() - began

    async def _answered(self) -> None:
        client = Client(self.endpoint)
        while True:
            assert self.process is not None
            if self.process.poll() is not None:
                raise SystemExit(f"the server ended; see {self.folder}.log")
            try:
                await client.call("states", "ListStateMachines", {"maxResults": 1})
            except OSError:
                await asyncio.sleep(0.005)
            else:
                client.close()
                return

    def kill(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> float:
        """SIGTERM; returns the seconds until it ended."""
        assert self.process is not None
        began = time.monotonic()
        self.process.terminate()
        self.process.wait(120)
        return time.monotonic() - began

    def memory_mib(self) -> float:
        """Resident memory."""
        return float(psutil.Process(self.pid).memory_info().rss) / 2**20

    def cpu_seconds(self) -> float:
        """CPU time that the server has used."""
        used = psutil.Process(self.pid).cpu_times()
        return float(used.user + used.system)

    def disk_bytes(self) -> int:
        """What is in the data folder."""
        return sum(file.stat().st_size for file in self.folder.iterdir())

    def bench(self, arguments: Any) -> Bench:
        """The workloads of `bench.py`, against this server."""
        return Bench(Client(self.endpoint, timeout=600), self.pid, Report(""), arguments.scale, arguments)


def workload_arguments(**changed: Any) -> Any:
    """The arguments that `bench.py` gives its workloads."""
    from argparse import Namespace

    given = {"scale": "full", "connections": 16, "timeout": 600, "wait": 5, "waiting": 0, "items": 0, "depth": 0,
             "repeat": 1, "account": "000000000000", "setup": []}  # fmt: skip
    return Namespace(**{**given, **changed})


def load(folder: Path, count: int, seconds: int, earlier_seconds: int = 0) -> float:
    """Fill a folder, in a process of its own; returns the CPU seconds that took."""
    before = os.times()
    command = [sys.executable, __file__, "load", str(folder), str(count), str(seconds), str(earlier_seconds)]
    subprocess.run(command, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


async def _fill(folder: Path, count: int, seconds: int, earlier_seconds: int) -> None:
    from statewright.api.calls.inner import InnerCalls
    from statewright.clock import RealClock
    from statewright.config import Config
    from statewright.engine.engine import Engine
    from statewright.engine.machines.catalogue import MachineCatalogue
    from statewright.engine.machines.views import NewMachine
    from statewright.integrations.registry import Registry
    from statewright.stores.sqlite.store import SqliteStore

    shift_ns = earlier_seconds * 10**9
    clock = RealClock(wall_ns=lambda: time.time_ns() - shift_ns)
    store = SqliteStore(folder)
    await store.open("load")
    config = Config()
    engine = Engine(
        store, clock, MachineCatalogue(store, clock, config), Registry(config, clock, InnerCalls().of_tasks())
    )
    machines = engine.machines
    await engine.start()
    definition = {
        "StartAt": "W",
        "States": {"W": {"Type": "Wait", "Seconds": seconds, "Next": "Done"}, "Done": {"Type": "Succeed"}},
    }
    made = await machines.create(NewMachine(WAITING, json.dumps(definition), ROLE, "STANDARD"))
    target = await machines.resolve(made.machine.arn)
    numbers = iter(range(count))

    async def client() -> None:
        for number in numbers:
            await engine.start_execution(target, None, json.dumps({"order": number}))

    await asyncio.gather(*[client() for _ in range(AT_ONCE)])
    await engine.stop()
    await store.close()


if __name__ == "__main__":
    sys.setswitchinterval(0.0001)
    _, _, where, *numbers = sys.argv
    asyncio.run(_fill(Path(where), *map(int, numbers)))  # type: ignore[arg-type]
