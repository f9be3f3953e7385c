"""Two servers with `--standby` on one database, and callers that try one and then the other until they are answered."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from statewright.stores import fail_points
from tests import wrong_clock
from tests.crash.invariants import check_history, every_execution, whole_history
from tests.deadlines import LOGS, OPEN, PATIENCE_SECONDS, PAUSE_SECONDS, end, started, until
from tests.wrong_clock import WrongClock

ROLE = "arn:aws:iam::000000000000:role/crash"
WAITS = {
    "StartAt": "Wait",
    "States": {"Wait": {"Type": "Wait", "Seconds": 1, "Next": "Pass"}, "Pass": {"Type": "Pass", "End": True}},
}
_TYPE = "application/x-amz-json-1.0"


class Node:
    """A server started with `--standby`, or as `role` says. `events` are the lines that it has printed, over all images
    of its process."""

    def __init__(
        self,
        folder: Path,
        name: str,
        address: str,
        *options: str,
        data: Path | None = None,
        port: int = 0,
        fail_point: str = "",
        role: Sequence[str] = ("--standby",),
        clock: WrongClock | None = None,
    ) -> None:
        """Its log is in `folder`, and its data are there, too, unless `data` is given: the machine's own folder. Its
        wall clock is `clock`, until it replaces itself by a new image.
        """
        self.log = folder / f"{name}.log"
        self.events: list[dict[str, Any]] = []
        command = [
            sys.executable, "-m", "statewright.cli.main", "serve", "--port", str(port),
            "--data", str(data or folder / "data"), "--store", address, *role, "-o", "json", *options,
        ]  # fmt: skip
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        if fail_point:
            environment[fail_points.VARIABLE] = fail_point
        if clock is not None:
            environment[wrong_clock.VARIABLE] = str(clock.path)
        with self.log.open("ab") as log:
            self.process = started(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        OPEN[id(self.process)] = self.kill
        LOGS[id(self.process)] = self.log
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    @property
    def state(self) -> str:
        """`standby`, `ready`, or nothing before the first line."""
        return self.events[-1]["event"] if self.events else ""

    @property
    def port(self) -> int:
        return int(self.events[-1]["endpoint"].rpartition(":")[2])

    def wait(self, state: str, lines: int = 1) -> None:
        """Wait until the server says that it is in a state, with the given number of lines or more."""

        def there() -> bool:
            assert self.process.poll() is None, f"it has ended:\n{self.log.read_text()[-4000:]}"
            return len(self.events) >= lines and self.state == state

        until(there, f"the state {state}")

    def health(self) -> tuple[int, str]:
        """Status and word of `/health`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        connection.request("GET", "/health")
        answer = connection.getresponse()
        found = json.loads(answer.read())
        connection.close()
        return answer.status, found["status"]

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it as a crash does, also if it is frozen."""
        self.process.kill()
        self.ended()

    def stop(self) -> int:
        """End it as an operator does; the exit code."""
        self.process.terminate()
        return self.ended()

    def ended(self) -> int:
        """Wait for its end; the exit code."""
        code = self.process.wait(PATIENCE_SECONDS)
        self._reader.join(PATIENCE_SECONDS)
        end(self.process)
        return code


class Callers:
    """Threads that start executions and send messages, and remember which of these were acknowledged.

    A call is repeated at one server after the other until it is answered with 200, as a client behind a load balancer
    does; `nodes` may change meanwhile.
    """

    def __init__(self, nodes: list[Node], threads: int = 4) -> None:
        self.nodes = nodes
        self.started: list[str] = []
        self.sent: list[str] = []
        self.problems: list[BaseException] = []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(threads)]

    def prepare(self) -> None:
        """Create the machine and the queue."""
        made = self.call("AWSStepFunctions.CreateStateMachine", name="m", definition=json.dumps(WAITS), roleArn=ROLE)
        self.machine = made["stateMachineArn"]
        self.queue = self.call("AmazonSQS.CreateQueue", QueueName="q")["QueueUrl"]

    def __enter__(self) -> Callers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)

    def progress(self, more: int = 20) -> None:
        """Wait until so many more calls are acknowledged."""
        wanted = len(self.started) + more
        until(lambda: len(self.started) >= wanted or self.problems, "acknowledged calls")
        assert not self.problems, self.problems[0]

    def call(self, target: str, **members: Any) -> Any:
        """The answer of an operation, of whichever server answers it."""
        pause = threading.Event()

        def answered() -> Any:
            for node in list(self.nodes):
                if (found := answer_of(node, target, members)) is not None:
                    # In a list: an answer without members is an answer.
                    return [found]
            pause.wait(PAUSE_SECONDS)
            return None

        return until(answered, f"an answer to {target}")[0]

    def _run(self, number: int) -> None:
        count = 0
        try:
            while not self._over.is_set():
                name = f"t{number}-{count}"
                count += 1
                self.call("AWSStepFunctions.StartExecution", stateMachineArn=self.machine, name=name, input="{}")
                self.started.append(name)
                self.call("AmazonSQS.SendMessage", QueueUrl=self.queue, MessageBody=name)
                self.sent.append(name)
        except BaseException as problem:
            self.problems.append(problem)

    def received(self) -> list[str]:
        """Every message of the queue."""
        found: list[str] = []
        wanted = {"QueueUrl": self.queue, "MaxNumberOfMessages": 10, "VisibilityTimeout": 43_200}
        while batch := self.call("AmazonSQS.ReceiveMessage", **wanted).get("Messages"):
            found += [message["Body"] for message in batch]
        return found

    def ask(self, operation: str, **members: Any) -> Any:
        """As `Caller`, for what checks histories."""
        return self.call(f"AWSStepFunctions.{operation}", **members)


def pair(folder: Path, address: str) -> tuple[Node, Node]:
    """A server that serves, and its standby."""
    first = Node(folder, "one", address)
    first.wait("ready")
    second = Node(folder, "two", address)
    second.wait("standby")
    assert (first.health(), second.health()) == ((200, "ready"), (503, "standby"))
    return first, second


def check(callers: Callers) -> None:
    """Every acknowledged execution is there once and has ended; every acknowledged message is there."""
    assert not callers.problems, callers.problems[0]

    def at_rest() -> bool:
        return not callers.ask("ListExecutions", stateMachineArn=callers.machine, statusFilter="RUNNING")["executions"]

    until(at_rest, "the end of all executions")
    found = {one["name"]: one for one in every_execution(callers.ask, callers.machine)}
    assert set(callers.started) <= set(found)
    for name, one in found.items():
        assert one["status"] == "SUCCEEDED", name
        check_history(whole_history(callers.ask, one["executionArn"]), "SUCCEEDED", name)
    # A message may be there twice: one whose answer was lost with its server is sent again.
    assert set(callers.sent) <= set(callers.received())


def answer_of(node: Node, target: str, members: dict[str, Any]) -> Any:
    """The answer of a server; None if it has none, or refuses because it is not the one."""
    if not node.events:
        return None
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=5)
    headers = {"x-amz-target": target, "content-type": _TYPE}
    try:
        connection.request("POST", "/", json.dumps(members), headers)
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException):
        # Refused, cut, or frozen: it may have been carried out.
        return None
    finally:
        connection.close()
    if answer.status >= 500:
        assert answer.status == 503, body
        return None
    if b"ExecutionAlreadyExists" in body:
        # An earlier try was carried out, and the execution has ended since.
        return {}
    assert answer.status == 200, (target, answer.status, body)
    return json.loads(body or b"{}")
