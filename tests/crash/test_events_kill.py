"""`kill -9` of a server that takes events and fires schedules: what was acknowledged reaches its queue."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import threading
from functools import partial
from typing import Any

import pytest

from tests.deadlines import PATIENCE_SECONDS, until
from tests.e2e.conftest import ROLE, Server

KILLS = 5
PUTTERS = 3
QUEUE = "arn:aws:sqs:us-east-1:000000000000:seen"
MOST_PUTS = 30


class Putter(threading.Thread):
    """Puts events as fast as it can until its server is gone, and remembers those that were acknowledged."""

    def __init__(self, server: Server, name: str) -> None:
        super().__init__(daemon=True)
        self.acknowledged: set[str] = set()
        self.puts = 0
        self._port = server.port
        self._prefix = name

    def has_put(self, count: int) -> bool:
        return self.puts >= count

    def run(self) -> None:
        headers = {
            "X-Amz-Target": "AWSEvents.PutEvents",
            "Content-Type": "application/x-amz-json-1.1",
            "Authorization": "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1/events/aws4_request, "
            "SignedHeaders=host, Signature=0",
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_SECONDS)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            for number in range(100_000):
                ids = [f"{self._prefix}-{number}-{one}" for one in range(5)]
                entries = [{"Source": "shop", "DetailType": "t", "Detail": json.dumps({"id": one})} for one in ids]
                connection.request("POST", "/", json.dumps({"Entries": entries}), headers)
                answer = json.loads(connection.getresponse().read())
                if answer["FailedEntryCount"] == 0:
                    self.acknowledged.update(ids)
                    self.puts += 1


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


def drain(server: Server, wanted: set[str]) -> None:
    """Receive until everything wanted has come."""
    sqs = server.client("sqs")
    found: set[str] = set()
    url = sqs.get_queue_url(QueueName="seen")["QueueUrl"]

    def taken() -> bool:
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", [])
        found.update(json.loads(one["Body"]) for one in messages)
        if messages:
            entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(messages)]
            sqs.delete_message_batch(QueueUrl=url, Entries=entries)
        return wanted <= found

    try:
        until(taken)
    except AssertionError as missed:
        lost = sorted(wanted - found)
        raise AssertionError(f"acknowledged and lost: {lost[:5]}, {len(lost)} of {len(wanted)}") from missed


@pytest.mark.slow
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
        puts = chance.randint(1, MOST_PUTS)
        until(partial(putters[0].has_put, puts), f"{puts} puts")
        server.kill()
        for putter in putters:
            putter.join()
            wanted |= putter.acknowledged
        server = Server(data)
    try:
        drain(server, wanted)
    finally:
        assert server.stop() == 0, server.log.read_text()
