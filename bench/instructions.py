"""What the server does for a task or a transition, in instructions: the same whatever else the machine is doing.

    python bench/instructions.py task sqs:sendMessage [--source OTHER/src]
    python bench/instructions.py loop JSONata [--source OTHER/src]

Runs a server under valgrind's callgrind, lets it work once, and counts what it then executes for the same work again,
in thousands of instructions each. With `--source`, the server of another checkout. Needs valgrind. Instructions are not
time: use them to compare two states of the same path, and the other benchmarks for figures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from bench import Client, free_port
from measure import counting_loop
from own_tasks import TASKS, Side
from served import ROLE

AT_ONCE = 16
ROUNDS = 4
TURNS = 2_000
PAUSE_SECONDS = 1.0
PATIENCE_SECONDS = 900


class Counted:
    """A server under callgrind, which counts between `begin` and the end."""

    def __init__(self, folder: Path, source: str) -> None:
        self.port = free_port()
        self._log = folder / "log"
        environment = {**os.environ, "PYTHONPATH": source}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [
            "valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder / 'callgrind.out'}",
            sys.executable, "-m", "statewright.cli.main", "serve", "--port", str(self.port), "--limits", "open",
            "--data", str(folder / "data"), "--log-level", "warning",
        ]  # fmt: skip
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)

    async def client(self) -> Client:
        """A client, once the server answers."""
        client = Client(f"http://127.0.0.1:{self.port}", sign=True, timeout=PATIENCE_SECONDS)
        while True:
            try:
                await client.call("states", "ListStateMachines", {"maxResults": 1})
            except OSError:
                if self.process.poll() is not None:
                    raise SystemExit(self._log.read_text()) from None
                await asyncio.sleep(PAUSE_SECONDS)
            else:
                return client

    def begin(self) -> None:
        """Count from here on."""
        subprocess.run(["callgrind_control", "-i", "on", str(self.process.pid)], check=True, capture_output=True)

    def end(self) -> int:
        """Stop the server; returns the instructions that were counted."""
        subprocess.run(["callgrind_control", "-i", "off", str(self.process.pid)], check=True, capture_output=True)
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE_SECONDS)
        found = re.search(r"Collected : (\d+)", self._log.read_text())
        if found is None:
            raise SystemExit(self._log.read_text())
        return int(found[1])


async def count_tasks(server: Counted, action: str) -> float:
    """Thousands of instructions for one task of a service."""
    client = await server.client()
    side = Side(client)
    await side.prepare()

    async def work() -> None:
        await run(client, side.machines[action], {}, AT_ONCE)

    await work()
    server.begin()
    for _ in range(ROUNDS):
        await work()
    return server.end() / (ROUNDS * AT_ONCE * TASKS) / 1e3


async def count_transitions(server: Counted, language: str) -> float:
    """Thousands of instructions for one transition of a counting loop, with its history."""
    client = await server.client()
    made = {"name": "loop", "definition": json.dumps(counting_loop(language, TURNS)), "roleArn": ROLE}
    machine = (await client.call("states", "CreateStateMachine", made))["stateMachineArn"]
    await run(client, machine, {"n": 0}, 1)
    server.begin()
    await run(client, machine, {"n": 0}, 1)
    await run(client, machine, {"n": 0}, 1)
    return server.end() / (2 * (2 * TURNS + 1)) / 1e3


async def run(client: Client, machine: str, given: Any, times: int) -> None:
    """Start executions, and wait for their ends."""
    start = {"stateMachineArn": machine, "input": json.dumps(given)}
    await asyncio.gather(*(client.call("states", "StartExecution", start) for _ in range(times)))
    running = {"stateMachineArn": machine, "statusFilter": "RUNNING", "maxResults": 1}
    while (await client.call("states", "ListExecutions", running))["executions"]:
        await asyncio.sleep(PAUSE_SECONDS)


def main() -> None:
    """Count, and print one line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("task", "loop"))
    parser.add_argument("which", help="an action of bench/own_tasks.py, or a query language")
    parser.add_argument("--source", default=str(Path(__file__).parent.parent / "src"))
    given = parser.parse_args()
    if shutil.which("valgrind") is None:
        raise SystemExit("This needs valgrind: apt-get install valgrind")
    with tempfile.TemporaryDirectory() as folder:
        server = Counted(Path(folder), given.source)
        try:
            count = count_tasks if given.what == "task" else count_transitions
            found = asyncio.run(count(server, given.which))
        finally:
            if server.process.poll() is None:
                server.process.kill()
    print(f"{given.what} {given.which}: {found:,.1f} thousand instructions")


if __name__ == "__main__":
    main()
