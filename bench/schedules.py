"""Schedules: what many of them cost while they rest, how soon the server is there, and how late they fire.

python bench/schedules.py                     100,000, about three minutes
python bench/schedules.py --count 1000000
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from served import Served

from statewright.api.calls.inner import InnerCalls
from statewright.api.calls.targets import TargetCalls
from statewright.clock import RealClock
from statewright.config import Config
from statewright.events.deliveries import Deliveries
from statewright.events.scheduler import Scheduler
from statewright.stores.sqlite.store import SqliteStore

QUEUE = "arn:aws:sqs:us-east-1:000000000000:fired"
OFF = {"Mode": "OFF"}
AT_ONCE = 256
IDLE_SECONDS = 30
FEW = 200
"""Schedules that fire while the others rest."""


def show(name: str, value: float, unit: str) -> None:
    print(f"{name:58}{f'{value:,.2f} {unit}':>16}", flush=True)


async def filled(folder: Path, count: int) -> float:
    """Make schedules that fire once a year, without HTTP; the CPU seconds that took."""
    store = SqliteStore(folder)
    await store.open("bench")
    clock = RealClock()
    scheduler = Scheduler(store, clock, Config(), Deliveries(store.catalogue, clock, TargetCalls(InnerCalls())))
    await scheduler.start()
    target = {"Arn": QUEUE, "RoleArn": "arn:aws:iam::000000000000:role/x", "Input": "x"}
    numbers = iter(range(count))

    async def make() -> None:
        for number in numbers:
            # Days and hours long past this year's begin, so that none falls due while the benchmark runs.
            month = (time.gmtime().tm_mon + 5) % 12 + 1
            expression = f"cron({number % 60} {number // 60 % 24} {number // 1440 % 28 + 1} {month} ? *)"
            request = {"ScheduleExpression": expression, "FlexibleTimeWindow": OFF, "Target": target}
            await scheduler.create(f"s{number}", request)

    began = time.process_time()
    await asyncio.gather(*(make() for _ in range(AT_ONCE)))
    spent = time.process_time() - began
    await scheduler.stop()
    await store.close()
    return spent


def called(server: Served, service: str, path: str, body: bytes, headers: dict[str, str]) -> bytes:
    scope = f"AKIA/20260101/us-east-1/{service}/aws4_request"
    signed = {"Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0", **headers}
    with urlopen(Request(server.endpoint + path, body, signed)) as answer:
        text: bytes = answer.read()
    return text


def queue(server: Served, **parameters: Any) -> Any:
    headers = {"X-Amz-Target": f"AmazonSQS.{parameters.pop('action')}", "Content-Type": "application/x-amz-json-1.0"}
    return json.loads(called(server, "sqs", "/", json.dumps(parameters).encode(), headers) or b"{}")


def lateness(server: Served) -> list[float]:
    """How late schedules fire: from their instant until a queue has the message, in milliseconds."""
    url = queue(server, action="CreateQueue", QueueName="fired")["QueueUrl"]
    at = int(time.time()) + 15
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
    target = {"Arn": QUEUE, "RoleArn": "arn:aws:iam::000000000000:role/x", "Input": "x"}
    request = {"ScheduleExpression": f"at({text})", "FlexibleTimeWindow": OFF, "Target": target}
    for number in range(FEW):
        path = f"/schedules/few{number}?{urlencode({})}".rstrip("?")
        called(server, "scheduler", path, json.dumps(request).encode(), {"Content-Type": "application/json"})
    late: list[float] = []
    while len(late) < FEW:
        found = queue(
            server, action="ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=20,
            AttributeNames=["SentTimestamp"],
        ).get("Messages", [])  # fmt: skip
        late += [int(one["Attributes"]["SentTimestamp"]) - 1000 * at for one in found]
    return sorted(late)


def measured(folder: Path, count: int) -> None:
    empty = folder / "empty"
    empty.mkdir()
    server = Served(empty)
    show("none: ready after", server.start(), "s")
    nothing = server.memory_mib()
    show("none: memory", nothing, "MiB")
    server.stop()
    data = folder / "data"
    data.mkdir()
    show("making one, CPU (domain and store alone)", asyncio.run(filled(data, count)) / count * 1e6, "us")
    server = Served(data)
    show(f"{count:,}: ready after", server.start(), "s")
    memory = server.memory_mib()
    show(f"{count:,}: memory", memory, "MiB")
    show("memory for one", (memory - nothing) * 2**20 / count, "bytes")
    show("disk for one", server.disk_bytes() / count, "bytes")
    before = server.cpu_seconds()
    time.sleep(IDLE_SECONDS)
    show(f"CPU in {IDLE_SECONDS} s of rest", (server.cpu_seconds() - before) * 1e3, "ms")
    late = lateness(server)
    show(f"{FEW} that fire at one instant: late, p50", late[len(late) // 2], "ms")
    show("late, worst", late[-1], "ms")
    server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    with tempfile.TemporaryDirectory() as folder:
        measured(Path(folder), parser.parse_args().count)


if __name__ == "__main__":
    main()
