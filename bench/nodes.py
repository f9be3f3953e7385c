"""What several nodes cost and bring, beside one server on the same kind of database.

    python bench/nodes.py [--rounds 3] [--executions 2000] [--calls 2000]

Each round has a lone server, one node and two nodes, each on a fresh PostgreSQL that syncs its commits:

1. Executions of five states with two waits for no time and a choice, started at the nodes in turn and run to their end:
   how many a second, and the CPU of each in servers and database. Where all share the same cores, a second node can
   bring no more executions: what it would bring with cores of its own is twice the ratio of the CPU of an execution
   with one node to that with two.
2. DescribeMapRun at the node that has the Map Run, and at the other, which forwards it: p50 and CPU over both, by one
   caller, where each process wakes up for each call, and by sixteen.
3. An idle cluster: transactions of the database a second, and CPU, for each node.
4. DescribeExecution of executions of all cells while a node stops on SIGTERM, and while one joins: the longest wait.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import psutil
import psycopg
from bench import Client
from on_postgres import DURABLE
from served import ROLE, Served
from tests.postgres_server import Server

CALLERS = 16
"""Of each server: as many as share a commit there."""
CELLS = 32
QUIET_SECONDS = 10.0
SETTLED_SECONDS = 5.0
"""For which a node that joined takes cells."""
WAITING = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 3600, "End": True}}}
WAITING_ITEM = {
    "StartAt": "Map",
    "States": {
        "Map": {
            "Type": "Map",
            "ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, **WAITING},
            "End": True,
        }
    },
}
DEFINITION = {
    "StartAt": "First",
    "States": {
        "First": {"Type": "Pass", "Result": {"a": 1}, "ResultPath": "$.first", "Next": "Wait"},
        "Wait": {"Type": "Wait", "Seconds": 0, "Next": "Choose"},
        "Choose": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.first.a", "NumericEquals": 1, "Next": "Again"}],
            "Default": "Last",
        },
        "Again": {"Type": "Wait", "Seconds": 0, "Next": "Last"},
        "Last": {"Type": "Pass", "End": True},
    },
}


@dataclass(frozen=True, slots=True)
class Work:
    """Executions run to their end: how many a second, and CPU of each in microseconds."""

    rate: float
    server_us: float
    database_us: float


class Running:
    """A database, and the servers on it."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self._folder = folder
        self._database = Server(settings=DURABLE)
        self._address = self._database.new_database()
        self.servers: list[Served] = []
        self.clients: list[Client] = []
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        """Start a server; one without a name is no node."""
        role = ("--node", name, "--cells", str(CELLS)) if name else ()
        options = ("--store", self._address, "--log-level", "warning", *role)
        server = Served(self._folder / (name or "alone"), *options)
        server.start()
        self.servers.append(server)
        self.clients.append(Client(server.endpoint, sign=True, timeout=600))

    def cpu(self) -> tuple[float, float]:
        """Seconds of CPU of the servers, and of the database."""
        return sum(_cpu_of(server.pid) for server in self.servers), _cpu_of(self._database.pid)

    def transactions(self) -> int:
        """How many the database has ended."""
        with psycopg.connect(self._address, autocommit=True) as connection:
            found = connection.execute(
                "SELECT sum(xact_commit + xact_rollback)::bigint FROM pg_stat_database"
                " WHERE datname = current_database()"
            ).fetchone()
        assert found is not None
        return int(found[0])

    def fewest_cells(self) -> int:
        """The number of cells of the node that has the fewest."""
        with psycopg.connect(self._address, autocommit=True) as connection:
            found = connection.execute(
                "SELECT count(s.id) FROM node AS n LEFT JOIN shard AS s ON s.owner = n.incarnation GROUP BY n.name"
            ).fetchall()
        return min(int(many) for (many,) in found)

    def stop(self) -> None:
        """End them all."""
        for server in self.servers:
            server.stop()
        self._database.remove()


@contextmanager
def servers(*names: str) -> Iterator[Running]:
    """A database with servers of these names."""
    with tempfile.TemporaryDirectory() as folder:
        running = Running(Path(folder), names)
        try:
            yield running
        finally:
            running.stop()


def _cpu_of(number: int) -> float:
    """Seconds of CPU of a process and its children; 0 if it has ended."""
    total = 0.0
    if not psutil.pid_exists(number):
        return total
    process = psutil.Process(number)
    for one in [process, *process.children(recursive=True)]:
        try:
            used = one.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += used.user + used.system + used.children_user + used.children_system
    return total


async def made(client: Client) -> str:
    """The ARN of the machine."""
    asked = {"name": "work", "definition": json.dumps(DEFINITION), "roleArn": ROLE}
    arn: str = (await client.call("states", "CreateStateMachine", asked))["stateMachineArn"]
    return arn


async def work(running: Running, executions: int) -> Work:
    """Run executions, once before what is measured to have everything loaded."""
    machine = await made(running.clients[0])
    await _run(running, machine, max(executions // 10, 100))
    before, began = running.cpu(), time.monotonic()
    await _run(running, machine, executions)
    took, after = time.monotonic() - began, running.cpu()
    server, database = ((later - earlier) / executions * 1e6 for earlier, later in zip(before, after, strict=True))
    return Work(executions / took, server, database)


async def _run(running: Running, machine: str, executions: int) -> None:
    numbers = iter(range(executions))
    clients = itertools.cycle(running.clients)

    async def start() -> None:
        for number in numbers:
            asked = {"stateMachineArn": machine, "input": json.dumps({"number": number})}
            await next(clients).call("states", "StartExecution", asked)

    await asyncio.gather(*(start() for _ in range(CALLERS * len(running.servers))))
    asked = {"stateMachineArn": machine, "statusFilter": "RUNNING", "maxResults": 1}
    while (await running.clients[0].call("states", "ListExecutions", asked))["executions"]:
        await asyncio.sleep(0.02)


async def described(running: Running, calls: int) -> dict[str, tuple[float, float]]:
    """The p50 in milliseconds and the CPU in microseconds of a call at the owner, and at the other node, by one caller
    and by several.
    """
    asked = {"name": "forwarded", "definition": json.dumps(WAITING_ITEM), "roleArn": ROLE}
    machine = (await running.clients[0].call("states", "CreateStateMachine", asked))["stateMachineArn"]
    asked = {"stateMachineArn": machine, "input": "[1]"}
    # An execution starts in a cell of the node that is asked, if that has any, and its Map Run is in the same one.
    while running.fewest_cells() < (CELLS - 1) // len(running.servers):
        await asyncio.sleep(0.1)
    arn = (await running.clients[1].call("states", "StartExecution", asked))["executionArn"]
    while not (runs := (await running.clients[1].call("states", "ListMapRuns", {"executionArn": arn}))["mapRuns"]):
        await asyncio.sleep(0.02)
    while not (shown := (await running.clients[0].call("statewright", "ListNodes", {"executionArn": arn}))["nodes"]):
        await asyncio.sleep(0.02)
    owner = [server.endpoint for server in running.servers].index(shown[0]["address"])
    found = {}
    # The second time counts: everything is connected then.
    for callers, place in [(1, owner), (1, 1 - owner), (CALLERS, owner), (CALLERS, 1 - owner)] * 2:
        before = sum(running.cpu())
        took: list[float] = []
        numbers = iter(range(calls))

        async def ask(client: Client, numbers: Iterator[int], took: list[float]) -> None:
            for _ in numbers:
                began = time.perf_counter()
                await client.call("states", "DescribeMapRun", {"mapRunArn": runs[0]["mapRunArn"]})
                took.append(time.perf_counter() - began)

        await asyncio.gather(*(ask(running.clients[place], numbers, took) for _ in range(callers)))
        cpu = (sum(running.cpu()) - before) / calls * 1e6
        name = f"at the {'owner' if place == owner else 'other node'} by {callers}"
        found[name] = (statistics.median(took) * 1e3, cpu)
    return found


async def idle(running: Running) -> tuple[float, float]:
    """Transactions a second and percent of a core, for each node."""
    many = len(running.servers)
    await asyncio.sleep(3)
    before, count, began = running.cpu()[0], running.transactions(), time.monotonic()
    await asyncio.sleep(QUIET_SECONDS)
    took = time.monotonic() - began
    # Two are those that count.
    ended = running.transactions() - count - 2
    return ended / took / many, (running.cpu()[0] - before) / took / many * 100


async def waits(running: Running) -> tuple[float, float]:
    """The longest wait for an answer while a node drains and while one joins, in seconds."""
    asked = {"name": "waiting", "definition": json.dumps(WAITING), "roleArn": ROLE}
    machine = (await running.clients[0].call("states", "CreateStateMachine", asked))["stateMachineArn"]
    arns = [
        (await client.call("states", "StartExecution", {"stateMachineArn": machine}))["executionArn"]
        for client in running.clients for _ in range(CELLS)
    ]  # fmt: skip
    answered: list[tuple[float, float]] = []
    over = asyncio.Event()

    async def call(place: int) -> None:
        for arn in itertools.cycle(arns[place:] + arns[:place]):
            if over.is_set():
                return
            began = time.monotonic()
            await running.clients[0].call("states", "DescribeExecution", {"executionArn": arn})
            answered.append((began, time.monotonic()))

    callers = [asyncio.create_task(call(place * 7)) for place in range(4)]
    found = []
    await asyncio.sleep(1)
    for act in (running.servers[-1].stop, lambda: running.add("c")):
        began = time.monotonic()
        await asyncio.to_thread(act)
        await asyncio.sleep(SETTLED_SECONDS)
        found.append(max(end - start for start, end in answered if end > began))
    over.set()
    await asyncio.gather(*callers)
    return found[0], found[1]


async def pair(running: Running, calls: int) -> None:
    """Measure two nodes, on one loop: clients keep their connections."""
    for name, (wait_ms, cpu_us) in (await described(running, calls)).items():
        print(f"DescribeMapRun {name}: p50 {wait_ms:.2f} ms, {cpu_us:.0f} us of CPU")
    transactions, percent = await idle(running)
    print(f"idle: {transactions:.1f} transactions a second and {percent:.2f} % of a core, for each node")
    drain, join = await waits(running)
    print(f"longest wait for an answer: {drain:.2f} s while a node drains, {join:.2f} s while one joins")


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--executions", type=int, default=2_000)
    parser.add_argument("--calls", type=int, default=2_000)
    given = parser.parse_args()
    kinds = {"a lone server": ("",), "one node": ("a",), "two nodes": ("a", "b")}
    found: dict[str, list[Work]] = {kind: [] for kind in kinds}
    print(f"{'':>14} {'executions/s':>13} {'server us':>10} {'database us':>12}")
    for _ in range(given.rounds):
        for kind, names in kinds.items():
            with servers(*names) as running:
                one = asyncio.run(work(running, given.executions))
            found[kind].append(one)
            print(f"{kind:>14} {one.rate:13.0f} {one.server_us:10.0f} {one.database_us:12.0f}", flush=True)
    for kind, rounds in found.items():
        rate, server, database = (statistics.median(column) for column in zip(*map(_columns, rounds), strict=True))
        print(f"median of {kind}: {rate:.0f}/s, {server:.0f} us in servers, {database:.0f} us in the database")
    with servers("a", "b") as running:
        asyncio.run(pair(running, given.calls))


def _columns(one: Work) -> tuple[float, float, float]:
    return one.rate, one.server_us, one.database_us


if __name__ == "__main__":
    main()
