"""Two servers on one PostgreSQL, of which the one at work is killed twice: `make demo-standby`.

Runs five workflows undisturbed: waits, branches, a Map whose items are priced by a Python function, a message to a
queue, and questions to a person. Then runs many of them on a server with a standby, kills whichever of the two is at
work with -9, twice, while executions are being started, and compares: every execution must end as the undisturbed one
did, through the same events, and every message must be in the queue once. Nothing depends on how fast the machine is.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compared import ACTS as LASTING
from compared import Act, Approver, End, deploy, running, say, seen_end, show_differences, show_expected, start
from real_time import function
from serving import PATIENCE_SECONDS, Running
from tests.crash.pairs import Node
from tests.postgres_server import NoServer, Server

ACTS = (Act("invoices", "invoice", {"items": ["book", "pen", "lamp"]}), *LASTING)
EACH = 20
KILLS = 2
LOOK_SECONDS = 0.02


@dataclass
class Found:
    """The ends of executions, and the effects, of the disturbed run."""

    ends: dict[str, list[End]]
    """By act; of every execution that was acknowledged."""
    takeovers: list[str]
    messages: Counter[str]
    """How often each invoice is in the queue."""
    calls: list[int]
    """How often the function was called for each of its tasks."""


class Pair:
    """Two servers on one database, each with a data folder of its own; one serves, the other one is its standby."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder
        self._address = address
        self._nodes: list[Node] = []
        """Every server so far, the latest standby last."""
        self._clients: dict[Node, Running] = {}
        self._making = threading.Lock()

    def begin(self) -> None:
        """Start the first two; `stop` ends them also if this fails."""
        self.owner = self._started()
        self.owner.wait("ready")
        self.complete()

    def _started(self) -> Node:
        name = f"server-{len(self._nodes) + 1}"
        node = Node(self._folder, name, self._address, data=self._folder / name)
        self._nodes.append(node)
        return node

    def kill_owner(self) -> None:
        """End the server at work as a crash does, and wait until its standby has taken over."""
        self.owner.kill()
        self.standby.wait("ready", 2)
        self.owner, self.standby = self.standby, self.owner

    def complete(self) -> None:
        """Start a new standby beside the owner."""
        self.standby = self._started()
        self.standby.wait("standby")

    def client(self, service: str, node: Node | None = None) -> Any:
        """A boto3 client of the owner, or of another server, which makes one attempt of each call."""
        node = node or self.owner
        # boto3 makes clients in one thread at a time.
        with self._making:
            if node not in self._clients:
                self._clients[node] = running_server(node, attempts=1)
            return self._clients[node].client(service)

    def stop(self) -> None:
        """End those that run, in good order."""
        for node in reversed(self._nodes):
            node.process.terminate()
        for node in self._nodes:
            node.ended()


def running_server(node: Node, attempts: int) -> Running:
    """A server as `serving` has it; its clients make so many attempts of each call."""
    return Running(node.process, f"http://127.0.0.1:{node.port}", node.log, attempts)


@dataclass
class Starter:
    """Starts executions one after another, in a thread, at one server or the other, until each is acknowledged."""

    pair: Pair
    machines: dict[str, str]
    acknowledged: list[tuple[Act, str]] = field(default_factory=list)
    """The executions' acts and names."""
    problems: list[BaseException] = field(default_factory=list)

    def begin(self, numbers: Sequence[int]) -> threading.Thread:
        """Start an execution of each act for each number."""
        thread = threading.Thread(target=self._work, args=(numbers,), daemon=True)
        thread.start()
        return thread

    def wait(self, many: int) -> None:
        """Wait until so many are acknowledged in all."""
        while len(self.acknowledged) < many and not self.problems:
            time.sleep(LOOK_SECONDS)
        if self.problems:
            raise self.problems[0]

    def _work(self, numbers: Sequence[int]) -> None:
        try:
            for number in numbers:
                for act in ACTS:
                    self._start(act, str(number))
                    self.acknowledged.append((act, str(number)))
        except BaseException as problem:
            self.problems.append(problem)

    def _start(self, act: Act, name: str) -> None:
        from botocore.exceptions import ClientError, EndpointConnectionError, HTTPClientError

        while True:
            # As behind a load balancer: at the one, or at the other.
            for node in (self.pair.owner, self.pair.standby):
                try:
                    start(self.pair.client("stepfunctions", node), self.machines, act, name)
                except (EndpointConnectionError, HTTPClientError):
                    continue
                except ClientError as problem:
                    code = problem.response["Error"]["Code"]
                    if code == "ExecutionAlreadyExists":
                        # The first request had arrived, and the execution has ended since.
                        return
                    if code != "ServiceUnavailable":
                        raise
                else:
                    return
            time.sleep(LOOK_SECONDS)


def prepare(pair: Pair) -> dict[str, str]:
    """Create the function, its table, the queue and the machines; the machines' ARNs by file."""
    pair.client("dynamodb").create_table(
        TableName="calls", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )  # fmt: skip
    pair.client("sqs").create_queue(QueueName="invoices")
    function(running_server(pair.owner, attempts=5), "durable", "price-item")
    return deploy(pair.client("stepfunctions"), ACTS)


@contextmanager
def paired(database: Server) -> Iterator[tuple[Pair, dict[str, str]]]:
    """Two servers on a new database, and the machines' ARNs."""
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(Path(folder), database.new_database())
        try:
            pair.begin()
            yield pair, prepare(pair)
        finally:
            pair.stop()


def undisturbed(database: Server, approver: Approver) -> dict[str, End]:
    """One execution of each act on two servers that nothing happens to."""
    with paired(database) as (pair, machines):
        client = approver.client = pair.client("stepfunctions")
        try:
            arns = {act.title: start(client, machines, act, "0") for act in ACTS}
            return {title: patient_end(client, arn) for title, arn in arns.items()}
        finally:
            approver.client = None


def disturbed(database: Server, approver: Approver) -> Found:
    """Many executions of each act on two servers, of which the one at work is killed again and again."""
    takeovers: list[str] = []
    with paired(database) as (pair, machines):
        starter = Starter(pair, machines)
        for number in range(1, KILLS + 1):
            say(f"  pid {pair.owner.process.pid} serves, pid {pair.standby.process.pid} is its standby")
            numbers = range(EACH)[number - 1 :: KILLS]
            before, wanted = len(starter.acknowledged), len(numbers) * len(ACTS)
            called = len(calls(pair))
            thread = starter.begin(numbers)
            starter.wait(before + wanted // 2)
            while len(calls(pair)) == called:
                time.sleep(LOOK_SECONDS)
            takeovers.append(kill(pair, starter, machines, number))
            starter.wait(before + wanted)
            thread.join()
            say(f"  {len(starter.acknowledged)} executions started and acknowledged so far")
            pair.complete()
        client = approver.client = pair.client("stepfunctions")
        say(f"  {running(client, machines)} still at work; now they are let alone")
        try:
            ends: dict[str, list[End]] = {act.title: [] for act in ACTS}
            for act, name in starter.acknowledged:
                ends[act.title].append(patient_end(client, arn_of(machines, act, name)))
        finally:
            approver.client = None
        return Found(ends, takeovers, messages(pair), calls(pair))


def kill(pair: Pair, starter: Starter, machines: dict[str, str], number: int) -> str:
    """Kill the owner and say what happens; how long it took until the other one was ready."""
    open_ones = running(pair.client("stepfunctions"), machines)
    acknowledged = len(starter.acknowledged)
    began = time.monotonic()
    killed = pair.owner.process.pid
    say(f"  {acknowledged} acknowledged, {open_ones} at work; kill -9 of pid {killed} ({number} of {KILLS})")
    pair.kill_owner()
    took = f"{time.monotonic() - began:.1f} s"
    log = pair.owner.log.read_text().splitlines()
    said = next((line for line in reversed(log) if "took over from" in line), "").rpartition("ready ")[2]
    say(f"  pid {pair.owner.process.pid} took over: ready {took} after the kill, {said}")
    return took


def patient_end(client: Any, arn: str) -> End:
    """How an execution ends. Each of them has patience of its own, because all of them share the machine."""
    return seen_end(client, arn, time.monotonic() + PATIENCE_SECONDS)


def arn_of(machines: dict[str, str], act: Act, name: str) -> str:
    """The ARN of an execution."""
    return f"{machines[act.file].replace(':stateMachine:', ':execution:')}:{act.title}-{name}"


def messages(pair: Pair) -> Counter[str]:
    """How often each message is in the queue, by body."""
    sqs = pair.client("sqs")
    url = sqs.get_queue_url(QueueName="invoices")["QueueUrl"]
    found: Counter[str] = Counter()
    while batch := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=43_200).get("Messages"):
        found.update(message["Body"] for message in batch)
    return found


def calls(pair: Pair) -> list[int]:
    """How often the function was called for each task."""
    pages = pair.client("dynamodb").get_paginator("scan").paginate(TableName="calls")
    return [int(item["times"]["N"]) for page in pages for item in page["Items"]]


def show(found: Found, expected: dict[str, End], seconds: float) -> int:
    """The table; returns the exit code."""
    say("")
    differing = show_differences(found.ends, expected)
    total = sum(map(len, found.ends.values()))
    wanted = EACH * len(ACTS)
    invoices = len(found.ends["invoices"])
    once = sum(many == 1 for many in found.messages.values())
    repeated = sum(many > 1 for many in found.calls)
    say(f"  {'takeovers':<16} {', '.join(found.takeovers)} after the kill")
    same = total - differing
    say(f"  {'executions':<16} {total} acknowledged of {wanted}, {same} with the outcome of the undisturbed run")
    say(f"  {'messages':<16} {len(found.messages)} of {invoices} in the queue, {once} of them once")
    say(
        f"  {'repeated tasks':<16} {repeated} of {len(found.calls)}: under way at a kill, called again with the same id"
    )
    lost = wanted - total + differing + max(invoices - len(found.messages), 0)
    twice = len(found.messages) - once
    good = not lost and not twice
    mark = "✓" if good else "✗"
    say(f"{mark} {KILLS} kills, {total} executions, {lost} lost, {twice} messages twice ({seconds:.0f} s)")
    return 0 if good else 1


def main() -> int:
    """Run both, compare; returns the exit code."""
    began = time.monotonic()
    approver = Approver()
    database = None
    try:
        database = Server()
        say(f"Each of {len(ACTS)} workflows once on two servers and one PostgreSQL, undisturbed")
        expected = undisturbed(database, approver)
        show_expected(expected)
        say(f"{EACH} of each, on two servers of which the one at work is killed {KILLS} times")
        found = disturbed(database, approver)
    except NoServer as problem:
        say(f"✗ {problem}")
        return 1
    except KeyboardInterrupt:
        say("Interrupted; the servers are stopped and their data is deleted.")
        return 130
    finally:
        approver.leave()
        if database is not None:
            database.remove()
    return show(found, expected, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
