"""Executions whose servers are killed, compared with undisturbed ones: shared by `crash_demo.py`, `standby_demo.py`
and `cluster_demo.py`.

What is run (`Act`), the person who answers questions (`Approver`), how an execution ended (`End`), and the lines that
say which of them ended otherwise than the undisturbed one.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from killed_server import end_of

HERE = Path(__file__).parent / "durable"
ROLE = "arn:aws:iam::000000000000:role/demo"
ACTIVITY = "arn:aws:states:us-east-1:000000000000:activity:approvals"
MOST_SHOWN = 3
MOST_SAID = 80
"""How many characters of a text are shown."""


@dataclass(frozen=True)
class Act:
    """What is run: a machine's file, and an input."""

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
    """A person who answers the questions of any server, and waits for the next one when none answers."""

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


def deploy(client: Any, acts: Sequence[Act] = ACTS) -> dict[str, str]:
    """Create the machines; their ARNs by file."""
    client.create_activity(name="approvals")
    return {
        file: client.create_state_machine(name=file, definition=(HERE / f"{file}.asl.json").read_text(), roleArn=ROLE)[
            "stateMachineArn"
        ]
        for file in sorted({act.file for act in acts})
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


def show_expected(expected: Mapping[str, End]) -> None:
    """One line for each undisturbed execution."""
    for title, end in expected.items():
        say(f"  {title:<10} {end.status:<10} {sum(n for _, n in end.events):>3} events   {end.said[:MOST_SAID]}")


def show_differences(found: Mapping[str, Sequence[End]], expected: Mapping[str, End]) -> int:
    """One line for each act, and some ends that are not those of the undisturbed one; how many there are."""
    bad = 0
    for title, ends in found.items():
        same = sum(end == expected[title] for end in ends)
        bad += len(ends) - same
        say(f"  {title:<10} {same} of {len(ends)} ended as the undisturbed one: {expected[title].status}")
        for end in [end for end in ends if end != expected[title]][:MOST_SHOWN]:
            say(f"    but: {end.status} {end.said[: 10 * MOST_SAID]} {dict(end.events)}")
    return bad
