"""`kill -9` of a server that takes events and fires schedules: what was acknowledged reaches its queue."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import threading
import time
from typing import Any

from tests.e2e.conftest import ROLE, Server

KILLS = 5
PUTTERS = 3
QUEUE = "arn:aws:sqs:us-east-1:000000000000:seen"
PATIENCE_SECONDS = 60


class Putter(threading.Thread):
    """Puts events as fast as it can until its server is gone, and remembers those that were acknowledged."""

    def __init__(self, server: Server, name: str) -> None:
        super().__init__(daemon=True)
        self.acknowledged: set[str] = set()
        self._port = server.port
        self._prefix = name

    def run(self) -> None:
        headers = {
            "X-Amz-Target": "AWSEvents.PutEvents",
            "Content-Type": "application/x-amz-json-1.1",
            "Authorization": "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1/events/aws4_request, "
            "SignedHeaders=host, Signature=0",
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            for number in range(100_000):
                ids = [f"{self._prefix}-{number}-{one}" for one in range(5)]
                entries = [{"Source": "shop", "DetailType": "t", "Detail": json.dumps({"id": one})} for one in ids]
                connection.request("POST", "/", json.dumps({"Entries": entries}), headers)
                answer = json.loads(connection.getresponse().read())
                if answer["FailedEntryCount"] == 0:
                    self.acknowledged.update(ids)


def prepare(server: Server) -> None:
    """A rule and some schedules whose events all go to one queue."""
    server.client("sqs").create_queue(QueueName="seen")
    events, scheduler = server.client("events"), server.client("scheduler")
    events.put_rule(Name="all", EventPattern='{"source": ["shop"]}')
    events.put_targets(Rule="all", Targets=[{"Id": "1", "Arn": QUEUE, "InputPath": "$.detail.id"}])
    for number in range(PUTTERS):
        target: dict[str, Any] = {"Arn": QUEUE, "RoleArn": ROLE, "Input": f'"schedule {number}"'}
        scheduler.create_schedule(
            Name=f"s{number}", ScheduleExpression="rate(1 hour)", FlexibleTimeWindow={"Mode": "OFF"}, Target=target
        )


def drain(server: Server, wanted: set[str]) -> set[str]:
    """Receive until everything wanted has come."""
    sqs = server.client("sqs")
    found: set[str] = set()
    url = sqs.get_queue_url(QueueName="seen")["QueueUrl"]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not wanted <= found and time.monotonic() < deadline:
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", [])
        found |= {json.loads(one["Body"]) for one in messages}
        if messages:
            entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(messages)]
            sqs.delete_message_batch(QueueUrl=url, Entries=entries)
    return found


def test_what_was_acknowledged_reaches_its_queue(tmp_path):
    seed = int(os.environ.get("SEED", random.randrange(2**32)))
    print(f"SEED={seed}")
    chance = random.Random(seed)
    data = tmp_path / "data"
    server = Server(data)
    prepare(server)
    wanted = {f"schedule {number}" for number in range(PUTTERS)}
    for kill in range(KILLS):
        putters = [Putter(server, f"{kill}-{number}") for number in range(PUTTERS)]
        for putter in putters:
            putter.start()
        putters[0].join(chance.uniform(0.02, 0.2))
        server.kill()
        for putter in putters:
            putter.join()
            wanted |= putter.acknowledged
        server = Server(data)
    try:
        assert len(wanted) > KILLS * PUTTERS
        lost = wanted - drain(server, wanted)
        assert not lost, f"acknowledged and lost: {sorted(lost)[:5]} of {len(wanted)}"
    finally:
        assert server.stop() == 0, server.log.read_text()
