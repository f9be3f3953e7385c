"""Two servers on one PostgreSQL, of which the one at work is killed twice: `make demo-standby`.

Runs five workflows undisturbed: waits, branches, a Map whose items are priced by a Python function, a message to a
queue, and questions to a person. Then runs many of them on a server with a standby, kills the one that is at work
with -9, twice, while executions are being started, and compares: every execution must end as the undisturbed one
did, through the same events, and every message must be in the queue once. Nothing depends on how fast the machine is.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compared import Approver, End, running, say, show_differences, show_expected
from on_postgres import (
    ACTS,
    LOOK_SECONDS,
    Clients,
    Outcome,
    Starter,
    calls,
    ends_of,
    ends_once,
    messages,
    on_a_database,
    prepare,
    running_server,
    show_effects,
)
from tests.crash.pairs import Node
from tests.postgres_server import Server

EACH = 20
KILLS = 2


@dataclass
class Found(Outcome):
    """The outcome of the disturbed run, and how long each takeover took."""

    takeovers: list[str]


class Pair:
    """Two servers on one database, each with a data folder of its own; one serves, the other one is its standby."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder
        self._address = address
        self._nodes: list[Node] = []
        """Every server so far, the latest standby last."""
        self._clients = Clients()

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
        return self._clients.of(node or self.owner, service)

    def stop(self) -> None:
        """End those that run, in good order."""
        for node in reversed(self._nodes):
            node.process.terminate()
        for node in self._nodes:
            node.ended()


@contextmanager
def paired(database: Server) -> Iterator[tuple[Pair, dict[str, str]]]:
    """Two servers on a new database, and the machines' ARNs."""
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(Path(folder), database.new_database())
        try:
            pair.begin()
            yield pair, prepare(running_server(pair.owner, attempts=5), ACTS)
        finally:
            pair.stop()


def undisturbed(database: Server, approver: Approver) -> dict[str, End]:
    """One execution of each act on two servers that nothing happens to."""
    with paired(database) as (pair, machines):
        client = approver.client = pair.client("stepfunctions")
        try:
            return ends_once(client, machines, ACTS)
        finally:
            approver.client = None


def disturbed(database: Server, approver: Approver) -> Found:
    """Many executions of each act on two servers, of which the one at work is killed again and again."""
    takeovers: list[str] = []
    with paired(database) as (pair, machines):
        starter = Starter(lambda: [pair.client("stepfunctions", node) for node in (pair.owner, pair.standby)], machines)
        for number in range(1, KILLS + 1):
            say(f"  pid {pair.owner.process.pid} serves, pid {pair.standby.process.pid} is its standby")
            numbers = range(EACH)[number - 1 :: KILLS]
            before, wanted = len(starter.acknowledged), len(numbers) * len(ACTS)
            called = len(calls(pair.client("dynamodb")))
            thread = starter.begin(numbers, ACTS)
            starter.wait(before + wanted // 2)
            while len(calls(pair.client("dynamodb"))) == called:
                time.sleep(LOOK_SECONDS)
            takeovers.append(kill(pair, starter, machines, number))
            starter.wait(before + wanted)
            thread.join()
            say(f"  {len(starter.acknowledged)} executions started and acknowledged so far")
            pair.complete()
        client = approver.client = pair.client("stepfunctions")
        say(f"  {running(client, machines)} still at work; now they are let alone")
        try:
            ends = ends_of(client, starter, ACTS)
        finally:
            approver.client = None
        return Found(ends, messages(pair.client("sqs")), calls(pair.client("dynamodb")), takeovers)


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


def show(found: Found, expected: dict[str, End], seconds: float) -> int:
    """The table; returns the exit code."""
    say("")
    differing = show_differences(found.ends, expected)
    total = sum(map(len, found.ends.values()))
    wanted = EACH * len(ACTS)
    say(f"  {'takeovers':<16} {', '.join(found.takeovers)} after the kill")
    same = total - differing
    say(f"  {'executions':<16} {total} acknowledged of {wanted}, {same} with the outcome of the undisturbed run")
    missing, twice = show_effects(found)
    lost = wanted - total + differing + missing
    good = not lost and not twice
    mark = "✓" if good else "✗"
    say(f"{mark} {KILLS} kills, {total} executions, {lost} lost, {twice} messages twice ({seconds:.0f} s)")
    return 0 if good else 1


def run(database: Server, approver: Approver) -> int:
    """Run both, compare; returns the exit code."""
    began = time.monotonic()
    say(f"Each of {len(ACTS)} workflows once on two servers and one PostgreSQL, undisturbed")
    expected = undisturbed(database, approver)
    show_expected(expected)
    say(f"{EACH} of each, on two servers of which the one at work is killed {KILLS} times")
    found = disturbed(database, approver)
    return show(found, expected, time.monotonic() - began)


def main() -> int:
    """Run the demonstration; returns the exit code."""
    return on_a_database(run)


if __name__ == "__main__":
    sys.exit(main())
