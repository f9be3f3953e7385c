"""Whether a server stays as large as it is: its memory, descriptors and threads over a long run of executions.

python bench/soak.py [--executions 200000] [--settled 50000] [--within 5] [--rate N] [--store sqlite]

Starts executions as fast as the server finishes them, or `--rate` of them a second, and prints a row for every
twentieth of them. Each execution passes a state, counts in an item of a table, and succeeds. Exit code 1 if, after the
first `--settled` executions, the resident memory leaves a band of `--within` percent on both sides of its median, or
descriptors or threads grow; at a rate also if the latency of starts grows: the median of the p99 of the last third of
the rows is over `GROWN` times that of the third before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import psutil
from bench import Client
from served import ROLE, Served

BATCH = 500
"""Executions that are started before the server has to have finished them."""
CALLERS = 16
GROWN = 1.5
"""How much higher the later latencies may be: the rest of a machine is never quite as busy as an hour before."""
ITEMS = 200
COUNT = {
    "TableName": "soak",
    "Key": {"name": {"S.$": "$.name"}},
    "UpdateExpression": "ADD many :one",
    "ExpressionAttributeValues": {":one": {"N": "1"}},
}
DEFINITION = {
    "StartAt": "Pass",
    "States": {
        "Pass": {"Type": "Pass", "Next": "Count"},
        "Count": {
            "Type": "Task",
            "Resource": "arn:aws:states:::dynamodb:updateItem",
            "Parameters": COUNT,
            "ResultPath": None,
            "Next": "Done",
        },
        "Done": {"Type": "Succeed"},
    },
}


class Sample(NamedTuple):
    """The server after so many executions."""

    executions: int
    memory_mib: float
    descriptors: int
    """Without those of connections."""
    threads: int
    cpu_us: float
    """CPU time of each execution since the sample before."""
    disk_mib: float
    p50_ms: float
    """Latency of the starts since the sample before, from the instant at which each was due; at a rate only, else 0."""
    p99_ms: float


class Soak:
    """One server, and the executions that it is given, `rate` a second; 0: as fast as they are finished."""

    def __init__(self, server: Served, rate: float) -> None:
        self._server = server
        self._rate = rate
        self._client = Client(server.endpoint, sign=True, timeout=600)
        self._client.JSON_SERVICES["dynamodb"] = ("DynamoDB_20120810", "application/x-amz-json-1.0")
        self._machine = ""
        self._cpu_seconds = 0.0

    async def prepare(self) -> None:
        """Make the table and the machine."""
        keys: dict[str, Any] = {
            "TableName": "soak",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "name", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "name", "KeyType": "HASH"}],
        }
        await self._client.call("dynamodb", "CreateTable", keys)
        made = {"name": "soak", "definition": json.dumps(DEFINITION), "roleArn": ROLE}
        self._machine = (await self._client.call("states", "CreateStateMachine", made))["stateMachineArn"]

    async def run(self, first: int, count: int) -> Sample:
        """Run that many executions to their end."""
        latencies = [0.0, 0.0]
        if self._rate:
            latencies = await self._paced(range(first, first + count))
        else:
            for begin in range(first, first + count, BATCH):
                numbers = iter(range(begin, min(begin + BATCH, first + count)))
                await asyncio.gather(*(self._start(numbers) for _ in range(CALLERS)))
                await self._finished()
        cpu_seconds, before = self._server.cpu_seconds(), self._cpu_seconds
        self._cpu_seconds = cpu_seconds
        process = psutil.Process(self._server.pid)
        # Connections are as many as callers needed at once, which is how slow the machine was at its worst moment.
        descriptors = process.num_fds() - sum(one.status == psutil.CONN_ESTABLISHED for one in _connections(process))
        return Sample(
            first + count, self._server.memory_mib(), descriptors, process.num_threads(),
            (cpu_seconds - before) / count * 1e6, self._server.disk_bytes() / 2**20,
            1000 * statistics.median(latencies), 1000 * statistics.quantiles(latencies, n=100)[-1],
        )  # fmt: skip

    async def _paced(self, numbers: range) -> list[float]:
        """Start the executions at the rate, and wait for their ends; the latency of each start, in seconds."""
        began = time.monotonic()

        async def start(place: int, number: int) -> float:
            due = began + place / self._rate
            await asyncio.sleep(due - time.monotonic())
            await self._start(iter((number,)))
            return time.monotonic() - due

        latencies: list[float] = []
        for place in range(0, len(numbers), BATCH):
            batch = range(place, min(place + BATCH, len(numbers)))
            latencies += await asyncio.gather(*(start(at, numbers[at]) for at in batch))
        await self._finished()
        return latencies

    async def _start(self, numbers: Any) -> None:
        for number in numbers:
            given = json.dumps({"name": f"item{number % ITEMS}", "number": number})
            await self._client.call("states", "StartExecution", {"stateMachineArn": self._machine, "input": given})

    async def _finished(self) -> None:
        running = {"stateMachineArn": self._machine, "statusFilter": "RUNNING", "maxResults": 1}
        while (await self._client.call("states", "ListExecutions", running))["executions"]:
            await asyncio.sleep(0.02)

    async def counted(self) -> int:
        """How often the executions have counted."""
        found = await self._client.call("dynamodb", "Scan", {"TableName": "soak"})
        return sum(int(item["many"]["N"]) for item in found["Items"])


def _connections(process: psutil.Process) -> list[Any]:
    found: list[Any] = process.net_connections("tcp")
    return found


def verdict(samples: list[Sample], settled: int, within: float) -> str:
    """The first figure that has grown after the first `settled` executions; empty if nothing has."""
    later = [one for one in samples if one.executions >= settled]
    middle = statistics.median(one.memory_mib for one in later)
    for one in later:
        if abs(one.memory_mib - middle) > within / 100 * middle:
            return f"{one.memory_mib:.1f} MiB after {one.executions:,} executions; the median is {middle:.1f} MiB"
    for name in ("descriptors", "threads"):
        if getattr(later[-1], name) > getattr(later[0], name):
            return f"{name} grew from {getattr(later[0], name)} to {getattr(later[-1], name)}"
    if third := len(later) // 3:
        earlier, last = (
            statistics.median(one.p99_ms for one in part) for part in (later[-2 * third : -third], later[-third:])
        )
        if last > GROWN * earlier:
            return f"the p99 of starts grew from {earlier:.1f} to {last:.1f} ms"
    return ""


async def soak(server: Served, executions: int, rate: float) -> list[Sample]:
    """Run the executions, and print a row for every twentieth of them."""
    running = Soak(server, rate)
    await running.prepare()
    samples: list[Sample] = []
    step = max(BATCH, executions // 20)
    head = f"{'executions':>12} {'memory MiB':>11} {'descriptors':>12} {'threads':>8} {'CPU us':>7} {'disk MiB':>9}"
    print(head + (f" {'p50 ms':>7} {'p99 ms':>7}" if rate else ""), flush=True)
    while (done := samples[-1].executions if samples else 0) < executions:
        one = await running.run(done, min(step, executions - done))
        samples.append(one)
        row = f"{one.executions:12,} {one.memory_mib:11.1f} {one.descriptors:12} {one.threads:8} {one.cpu_us:7.0f}"
        print(f"{row} {one.disk_mib:9.1f}" + (f" {one.p50_ms:7.1f} {one.p99_ms:7.1f}" if rate else ""), flush=True)
    assert await running.counted() == executions, "an execution counted twice or not at all"
    return samples


def main() -> int:
    """Run, print, and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executions", type=int, default=200_000)
    parser.add_argument("--settled", type=int, default=50_000)
    parser.add_argument("--within", type=float, default=5.0, help="percent")
    parser.add_argument("--rate", type=float, default=0.0, help="executions a second; 0: as fast as they are finished")
    parser.add_argument("--store", default="sqlite")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Served(Path(folder) / "data", "--store", given.store, "--log-level", "warning")
        server.start()
        try:
            began = time.monotonic()
            samples = asyncio.run(soak(server, given.executions, given.rate))
            took = time.monotonic() - began
        finally:
            server.stop()
    problem = verdict(samples, given.settled, given.within)
    print(f"{given.executions:,} executions in {took:.0f} s: {problem or 'flat'}")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
