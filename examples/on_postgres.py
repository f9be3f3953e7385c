"""Workflows on several servers over one PostgreSQL: shared by `standby_demo.py` and `cluster_demo.py`.

What they need there, how they are started at one server or another until that is acknowledged, and their effects:
messages in a queue, and how often a function was called for each of its tasks.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from compared import ACTS as LASTING
from compared import Act, Approver, End, deploy, say, seen_end, start
from real_time import function
from serving import PATIENCE_SECONDS, Running
from tests.crash.pairs import Node
from tests.postgres_server import NoServer, Server

ACTS = (Act("invoices", "invoice", {"items": ["book", "pen", "lamp"]}), *LASTING)
LOOK_SECONDS = 0.02
SHORT_PATIENCE_SECONDS = 5


@dataclass
class Outcome:
    """The ends of executions, and the effects, of a disturbed run."""

    ends: dict[str, list[End]]
    """By act; of every execution that was acknowledged."""
    messages: Counter[str]
    """How often each invoice is in the queue."""
    calls: list[int]
    """How often the function was called for each of its tasks."""


class Clients:
    """boto3 clients of several servers."""

    def __init__(self) -> None:
        self._servers: dict[tuple[Node, int], Running] = {}
        self._making = threading.Lock()

    def of(self, node: Node, service: str, attempts: int = 1) -> Any:
        """A client of one server, which makes so many attempts of each call."""
        # boto3 makes clients in one thread at a time.
        with self._making:
            if (node, attempts) not in self._servers:
                self._servers[node, attempts] = running_server(node, attempts)
            return self._servers[node, attempts].client(service)


def running_server(node: Node, attempts: int) -> Running:
    """A server as `serving` has it; its clients make so many attempts of each call."""
    return Running(node.process, f"http://127.0.0.1:{node.port}", node.log, attempts)


@dataclass
class Starter:
    """Starts executions one after another, in a thread, at one server or another, until each is acknowledged."""

    clients: Callable[[], Sequence[Any]]
    """Those of Step Functions at the servers to be asked now, which make one attempt of each call."""
    machines: dict[str, str]
    acknowledged: list[tuple[Act, str]] = field(default_factory=list)
    """The executions' acts and names."""
    problems: list[BaseException] = field(default_factory=list)

    def begin(self, numbers: Sequence[int], acts: Sequence[Act]) -> threading.Thread:
        """Start an execution of each act for each number."""
        thread = threading.Thread(target=self._work, args=(numbers, acts), daemon=True)
        thread.start()
        return thread

    def wait(self, many: int) -> None:
        """Wait until so many are acknowledged in all."""
        while len(self.acknowledged) < many and not self.problems:
            time.sleep(LOOK_SECONDS)
        if self.problems:
            raise self.problems[0]

    def _work(self, numbers: Sequence[int], acts: Sequence[Act]) -> None:
        try:
            for number in numbers:
                for act in acts:
                    self._start(act, str(number))
                    self.acknowledged.append((act, str(number)))
        except BaseException as problem:
            self.problems.append(problem)

    def _start(self, act: Act, name: str) -> None:
        from botocore.exceptions import ClientError, EndpointConnectionError, HTTPClientError

        while True:
            # As behind a load balancer: at one of them, or at another.
            for client in self.clients():
                try:
                    start(client, self.machines, act, name)
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


def prepare(server: Running, acts: Sequence[Act], **variables: str) -> dict[str, str]:
    """Create the function, with its variables, its table, the queue and the machines; the machines' ARNs by file."""
    server.client("dynamodb").create_table(
        TableName="calls", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )  # fmt: skip
    server.client("sqs").create_queue(QueueName="invoices")
    function(server, "durable", "price-item", **variables)
    return deploy(server.client("stepfunctions"), acts)


def ends_of(client: Any, starter: Starter, acts: Sequence[Act]) -> dict[str, list[End]]:
    """How every execution that was acknowledged has ended, by act."""
    ends: dict[str, list[End]] = {act.title: [] for act in acts}
    # Each of them has patience of its own, because all of them share the machine; but not after one that hangs.
    patience = PATIENCE_SECONDS
    for act, name in starter.acknowledged:
        end = seen_end(client, arn_of(starter.machines, act, name), time.monotonic() + patience)
        ends[act.title].append(end)
        if end.status == "RUNNING":
            patience = SHORT_PATIENCE_SECONDS
    return ends


def ends_once(client: Any, machines: dict[str, str], acts: Sequence[Act]) -> dict[str, End]:
    """Start one execution of each act; how each ends."""
    arns = {act.title: start(client, machines, act, "0") for act in acts}
    return {title: seen_end(client, arn, time.monotonic() + PATIENCE_SECONDS) for title, arn in arns.items()}


def arn_of(machines: dict[str, str], act: Act, name: str) -> str:
    """The ARN of an execution."""
    return f"{machines[act.file].replace(':stateMachine:', ':execution:')}:{act.title}-{name}"


def messages(sqs: Any) -> Counter[str]:
    """How often each message is in the queue, by body."""
    url = sqs.get_queue_url(QueueName="invoices")["QueueUrl"]
    found: Counter[str] = Counter()
    while batch := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=43_200).get("Messages"):
        found.update(message["Body"] for message in batch)
    return found


def calls(dynamodb: Any) -> list[int]:
    """How often the function was called for each task."""
    pages = dynamodb.get_paginator("scan").paginate(TableName="calls")
    return [int(item["times"]["N"]) for page in pages for item in page["Items"]]


def show_effects(outcome: Outcome) -> tuple[int, int]:
    """Two lines on messages and calls; how many messages are missing, and how many are there twice."""
    found, invoices = outcome.messages, len(outcome.ends["invoices"])
    once = sum(many == 1 for many in found.values())
    repeated = sum(many > 1 for many in outcome.calls)
    why = "under way when a server went, called again with the same id"
    say(f"  {'messages':<16} {len(found)} of {invoices} in the queue, {once} of them once")
    say(f"  {'repeated tasks':<16} {repeated:,} of {len(outcome.calls):,}: {why}")
    return max(invoices - len(found), 0), len(found) - once


def on_a_database(run: Callable[[Server, Approver], int]) -> int:
    """Run a demonstration on a PostgreSQL of its own, which goes with it; returns the exit code."""
    approver = Approver()
    database = None
    try:
        database = Server()
        return run(database, approver)
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
