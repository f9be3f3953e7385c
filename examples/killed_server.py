"""A server killed in the middle: starts executions through boto3, kills the process, starts it again, counts.

Used by `demo.py`; in real time, because a kill is.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serving import server, why

EXECUTIONS = 100
PATIENCE_SECONDS = 300
DEFINITION = Path(__file__).parent / "durable" / "reminder.asl.json"


@dataclass(frozen=True)
class Outcome:
    """What came out of executions that were acknowledged before the kill."""

    acknowledged: int
    succeeded: int
    seconds: float
    problems: tuple[str, ...]
    """Status, error and cause of those that ended otherwise, or have not ended."""


def run() -> Outcome:
    """Start, kill, start again, wait for every execution."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        folder = f"{place}/data"
        with served(folder) as (process, client):
            machine = client.create_state_machine(
                name="reminder", definition=DEFINITION.read_text(), roleArn="arn:aws:iam::000000000000:role/demo"
            )["stateMachineArn"]
            started = [
                client.start_execution(
                    stateMachineArn=machine, name=f"r-{number}", input=json.dumps({"text": f"reminder {number}"})
                )["executionArn"]
                for number in range(EXECUTIONS)
            ]
            process.kill()
        with served(folder) as (_, client):
            until = time.monotonic() + PATIENCE_SECONDS
            ends = [end_of(client, arn, until) for arn in started]
    problems = tuple(
        f"{end['name']}: {why(end)} {end.get('output', '')}"
        for number, end in enumerate(ends)
        if end["status"] != "SUCCEEDED" or json.loads(end["output"]) != {"kept": f"reminder {number}"}
    )
    return Outcome(len(started), len(started) - len(problems), time.perf_counter() - began, problems)


@contextmanager
def served(folder: str) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """A server on a free port with its data in `folder`, and a boto3 client for it."""
    with server(folder) as running:
        yield running.process, running.client("stepfunctions")


def end_of(client: Any, arn: str, until: float) -> dict[str, Any]:
    """An execution once it has ended, or as it is at the deadline."""
    while True:
        found: dict[str, Any] = client.describe_execution(executionArn=arn)
        if found["status"] != "RUNNING" or time.monotonic() > until:
            return found
        time.sleep(0.05)
