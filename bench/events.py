"""Events: what one costs when no consumer waits, and the time from PutEvents until a queue has it.

python bench/events.py
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from schedules import QUEUE, called, queue, show
from served import Served

ENTRIES = 10
REQUESTS = 500
RULES = 300


def ask(server: Served, operation: str, **parameters: Any) -> Any:
    headers = {"X-Amz-Target": f"AWSEvents.{operation}", "Content-Type": "application/x-amz-json-1.1"}
    return json.loads(called(server, "events", "/", json.dumps(parameters).encode(), headers) or b"{}")


def put(server: Served, name: str) -> None:
    """Put events, and wait until nothing is left to deliver."""
    entries = [{"Source": "shop", "DetailType": "order", "Detail": json.dumps({"n": n})} for n in range(ENTRIES)]
    before, began = server.cpu_seconds(), time.monotonic()
    for _ in range(REQUESTS):
        ask(server, "PutEvents", Entries=entries)
    rate = ENTRIES * REQUESTS / (time.monotonic() - began)
    wanted = ENTRIES * REQUESTS if "queue" in name else 0
    while wanted > waiting(server):
        time.sleep(0.05)
    show(f"{name}: CPU", (server.cpu_seconds() - before) / ENTRIES / REQUESTS * 1e6, "us")
    show(f"{name}: put", rate, "/s")


def waiting(server: Served) -> int:
    found = queue(
        server, action="GetQueueAttributes", QueueUrl=f"{server.endpoint}/000000000000/fired",
        AttributeNames=["ApproximateNumberOfMessages"],
    )  # fmt: skip
    return int(found["Attributes"]["ApproximateNumberOfMessages"])


def measured(folder: Path) -> None:
    (folder / "data").mkdir()
    server = Served(folder / "data")
    server.start()
    queue(server, action="CreateQueue", QueueName="fired")
    put(server, "no rule")
    for number in range(RULES - 1):
        ask(server, "PutRule", Name=f"r{number}", EventPattern=json.dumps({"source": [f"other{number}"]}))
        ask(server, "PutTargets", Rule=f"r{number}", Targets=[{"Id": "1", "Arn": QUEUE}])
    put(server, f"{RULES - 1} rules of other sources")
    ask(server, "PutRule", Name="mine", EventPattern=json.dumps({"source": ["shop"]}))
    ask(server, "PutTargets", Rule="mine", Targets=[{"Id": "1", "Arn": QUEUE}])
    put(server, "to a queue, until it is there")
    server.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        measured(Path(place))
