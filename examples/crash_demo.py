"""A server killed three times in the middle of its work: `make demo-crash`.

Deploys three machines through boto3 and runs each undisturbed. Then runs many of them on a second server, kills that
with -9 again and again, and compares: every execution must end as the undisturbed one did, through the same events.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from killed_server import PATIENCE_SECONDS, end_of, served

HERE = Path(__file__).parent / "durable"
ROLE = "arn:aws:iam::000000000000:role/demo"
ACTIVITY = "arn:aws:states:us-east-1:000000000000:activity:approvals"
EACH = 25
KILLS = 3
BETWEEN_KILLS_SECONDS = 0.5


@dataclass(frozen=True)
class Act:
    """What is run: a machine's file, an input, and what a person answers where one is asked."""

    title: str
    file: str
    given: dict[str, Any]


ACTS = (
    Act("reminders", "reminder", {"text": "water the plants"}),
    Act("shipments", "shipment", {"items": ["book", "pen", "lamp"]}),
    Act("approvals", "approval", {"amount": 40}),
    Act("refusals", "approval", {"amount": 4000}),
)


@dataclass(frozen=True)
class End:
    """How an execution ended: status, output or error, and how many events of each type led there."""

    status: str
    said: str
    events: tuple[tuple[str, int], ...]


class Approver:
    """A person who answers questions, whichever server asks, and asks again when no server answers."""

    def __init__(self) -> None:
        self.client: Any = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._over.wait(0.02):
            client = self.client
            if client is None:
                continue
            try:
                task = client.get_activity_task(activityArn=ACTIVITY, workerName="demo")
                if task.get("taskToken"):
                    self._answer(task)
            except Exception:
                # The server has just been killed; the next one asks the same question.
                continue

    def _answer(self, task: dict[str, Any]) -> None:
        answer = json.dumps({"approved": json.loads(task["input"])["amount"] < 1000})
        while not self._over.is_set():
            try:
                self.client.send_task_success(taskToken=task["taskToken"], output=answer)
            except Exception as problem:
                if "TaskTimedOut" in str(problem):
                    return
                time.sleep(0.05)
            else:
                return

    def leave(self) -> None:
        """Go home."""
        self._over.set()


@contextmanager
def answering(folder: str, approver: Approver, *, at_once: bool = True) -> Iterator[tuple[Any, Any]]:
    """A server, and the approver at work with it."""
    with served(folder) as (server, client):
        if at_once:
            approver.client = client
        try:
            yield server, client
        finally:
            approver.client = None


def deploy(client: Any) -> dict[str, str]:
    """Create the machines; their ARNs by file."""
    client.create_activity(name="approvals")
    return {
        file: client.create_state_machine(name=file, definition=(HERE / f"{file}.asl.json").read_text(), roleArn=ROLE)[
            "stateMachineArn"
        ]
        for file in sorted({act.file for act in ACTS})
    }


def start(client: Any, machines: dict[str, str], act: Act, name: str) -> str:
    """Start one execution; its ARN, once the server has acknowledged it."""
    arn: str = client.start_execution(
        stateMachineArn=machines[act.file], name=f"{act.title}-{name}", input=json.dumps(act.given)
    )["executionArn"]
    return arn


def seen_end(client: Any, arn: str, until: float) -> End:
    """How an execution ends; a status of RUNNING if it has not by then."""
    shown = end_of(client, arn, until)
    pages = client.get_paginator("get_execution_history").paginate(executionArn=arn)
    types = Counter(event["type"] for page in pages for event in page["events"])
    said = shown.get("output") or f"{shown.get('error')}: {shown.get('cause')}"
    return End(shown["status"], said, tuple(sorted(types.items())))


def undisturbed(approver: Approver) -> dict[str, End]:
    """One execution of each act on a server that nobody kills."""
    with tempfile.TemporaryDirectory() as folder, answering(folder, approver) as (_, client):
        machines = deploy(client)
        started = {act.title: start(client, machines, act, "0") for act in ACTS}
        until = time.monotonic() + PATIENCE_SECONDS
        return {title: seen_end(client, arn, until) for title, arn in started.items()}


def disturbed(approver: Approver) -> dict[str, list[End]]:
    """Many executions of each act on a server that is killed again and again."""
    with tempfile.TemporaryDirectory() as folder:
        with answering(folder, approver, at_once=False) as (server, client):
            machines = deploy(client)
            started = {act.title: [start(client, machines, act, str(n)) for n in range(EACH)] for act in ACTS}
            say(f"  {EACH * len(ACTS)} executions started and acknowledged")
            server.kill()
            say(f"  kill -9 (1 of {KILLS})")
        for number in range(2, KILLS + 1):
            with answering(folder, approver, at_once=False) as (server, client):
                time.sleep(BETWEEN_KILLS_SECONDS)
                counted = running(client, machines)
                server.kill()
                say(f"  restarted: {counted} still at work; kill -9 again ({number} of {KILLS})")
        with answering(folder, approver) as (_, client):
            say(f"  restarted: {running(client, machines)} still at work; now they are let alone")
            until = time.monotonic() + PATIENCE_SECONDS
            return {title: [seen_end(client, arn, until) for arn in arns] for title, arns in started.items()}


def running(client: Any, machines: dict[str, str]) -> int:
    """How many executions are open."""
    pages = client.get_paginator("list_executions")
    return sum(
        len(page["executions"])
        for arn in machines.values()
        for page in pages.paginate(stateMachineArn=arn, statusFilter="RUNNING")
    )


def say(line: str) -> None:
    """Show progress at once, also through a pipe."""
    print(line, flush=True)


def main() -> int:
    """Run both, compare; returns the exit code."""
    began = time.monotonic()
    approver = Approver()
    try:
        say(f"Each of {len(ACTS)} workflows once, undisturbed")
        expected = undisturbed(approver)
        for title, end in expected.items():
            say(f"  {title:<10} {end.status:<10} {sum(n for _, n in end.events):>3} events   {end.said}")
        say(f"{EACH} of each, on a server that is killed {KILLS} times")
        found = disturbed(approver)
    except KeyboardInterrupt:
        say("Interrupted; the servers are stopped and their data is deleted.")
        return 130
    finally:
        approver.leave()
    bad = 0
    for title, ends in found.items():
        same = sum(end == expected[title] for end in ends)
        bad += len(ends) - same
        say(f"  {title:<10} {same} of {len(ends)} ended as the undisturbed one: {expected[title].status}")
        for end in [end for end in ends if end != expected[title]][:3]:
            say(f"    but: {end.status} {end.said} {dict(end.events)}")
    total = sum(map(len, found.values()))
    seconds = time.monotonic() - began
    if bad:
        say(f"✗ {bad} of {total} executions did not end as they would have without the kills ({seconds:.0f} s)")
        return 1
    say(f"✓ {KILLS} kills, {total} executions, nothing lost: same ends, same events ({seconds:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
