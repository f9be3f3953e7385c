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

from serving import server

EXECUTIONS = 100
PATIENCE_SECONDS = 30
DEFINITION = Path(__file__).parent / "durable" / "reminder.asl.json"


@dataclass(frozen=True)
class Outcome:
    """How many executions were acknowledged before the kill and succeeded after it, and how long all of it took."""

    acknowledged: int
    succeeded: int
    seconds: float


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
            outputs = [output_of(client, arn, until) for arn in started]
    kept = sum(output == {"kept": f"reminder {number}"} for number, output in enumerate(outputs))
    return Outcome(len(started), kept, time.perf_counter() - began)


@contextmanager
def served(folder: str) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """A server on a free port with its data in `folder`, and a boto3 client for it."""
    with server(folder) as running:
        yield running.process, running.client("stepfunctions")


def output_of(client: Any, arn: str, until: float) -> Any:
    """The output of an execution once it has succeeded; None if it has not by then."""
    while True:
        found = client.describe_execution(executionArn=arn)
        if found["status"] == "SUCCEEDED":
            return json.loads(found["output"])
        if found["status"] != "RUNNING" or time.monotonic() > until:
            return None
        time.sleep(0.05)
