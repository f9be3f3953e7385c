"""CPU per published message: one topic with some queues subscribed, on a durable SQLite store.

`python bench/topics.py [--queues 3] [--rounds 500] [--together 16]`: by the domain alone, then over HTTP with a server
process of its own (its CPU, read from /proc; callers are threads of this process). CPU counts every thread.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlencode

from statewright.api.calls.inner import InnerCalls
from statewright.api.calls.targets import TargetCalls
from statewright.clock import RealClock
from statewright.config import Config
from statewright.events.deliveries import Deliveries
from statewright.queues.queues import Queues
from statewright.stores.sqlite.store import SqliteStore
from statewright.topics.messages import read_message
from statewright.topics.topics import Topics

TOPIC = "arn:aws:sns:us-east-1:000000000000:bench"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:bench-"
BODY = "x" * 100


async def measure(name: str, messages: int, work: Callable[[], Awaitable[object]]) -> None:
    cpu, wall = time.process_time(), time.perf_counter()
    await work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"  {name:<34} {1e6 * cpu / messages:7.1f} us CPU  {messages / wall:8,.0f}/s")


async def by_the_domain(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        clock = RealClock()
        store = SqliteStore(Path(folder), clock=clock)
        await store.open("bench")
        queues = Queues(store, clock, Config())
        deliveries = Deliveries(store.catalogue, clock, TargetCalls(InnerCalls()))
        topics = Topics(store, clock, Config(), queues, deliveries, lambda: "http://127.0.0.1:1")
        await queues.start()
        await topics.start()
        await topics.create("bench", {}, {})
        for number in range(given.queues):
            await queues.create(f"bench-{number}", {})
            await topics.subscribe(TOPIC, "sqs", f"{QUEUE}{number}", {})

        async def publish(batch: int) -> None:
            for _ in range(given.rounds):
                await topics.publish(TOPIC, [read_message({"Message": BODY}) for _ in range(batch)])

        async def together(batch: int) -> None:
            await asyncio.gather(*[publish(batch) for _ in range(given.together)])

        many = given.rounds * given.together
        print(f"one topic, {given.queues} queues, {given.together} publishers")
        await measure("publish", many, lambda: together(1))
        await measure("publish in batches of 10", 10 * many, lambda: together(10))
        groups = store.figures()
        print(f"  {groups.jobs / max(groups.groups, 1):.1f} writes in a commit")
        await queues.stop()
        await store.close()


def over_http(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        command = [sys.executable, "-m", "statewright.cli.main", "serve", "--port", "0", "--data", folder]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().split()[4].rpartition(":")[2])
            call(port, "CreateTopic", Name="bench")
            for number in range(given.queues):
                call(port, "CreateQueue", service="sqs", QueueName=f"bench-{number}")
                call(port, "Subscribe", TopicArn=TOPIC, Protocol="sqs", Endpoint=f"{QUEUE}{number}")
            call(port, "Publish", TopicArn=TOPIC, Message=BODY)
            threads = [threading.Thread(target=publishing, args=(port, given.rounds)) for _ in range(given.together)]
            cpu, wall = cpu_seconds(server.pid), time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            cpu, wall = cpu_seconds(server.pid) - cpu, time.perf_counter() - wall
            many = given.rounds * given.together
            print(f"  {'publish over HTTP':<34} {1e6 * cpu / many:7.1f} us CPU  {many / wall:8,.0f}/s")
        finally:
            server.terminate()
            server.wait()


def publishing(port: int, rounds: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    body, headers = form("Publish", "sns", TopicArn=TOPIC, Message=BODY)
    for _ in range(rounds):
        connection.request("POST", "/", body, headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    connection.close()


def call(port: int, action: str, service: str = "sns", **fields: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/", *form(action, service, **fields))
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    connection.close()


def form(action: str, service: str, **fields: str) -> tuple[bytes, dict[str, str]]:
    scope = f"AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=x"
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": scope}
    if service == "sqs":
        import json

        headers |= {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"AmazonSQS.{action}"}
        return json.dumps(fields).encode(), headers
    return urlencode({"Action": action, "Version": "2010-03-31", **fields}).encode(), headers


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queues", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--together", type=int, default=16)
    parser.add_argument("--folder")
    options = parser.parse_args()
    asyncio.run(by_the_domain(options))
    over_http(options)
