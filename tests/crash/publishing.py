"""The process that is killed: publishes to a standard and a FIFO topic, and says what was acknowledged."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from statewright.api.calls.inner import InnerCalls
from statewright.api.calls.targets import TargetCalls
from statewright.clock import RealClock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.events.deliveries import Deliveries
from statewright.queues.queues import Queues
from statewright.stores.sqlite.store import SqliteStore
from statewright.topics.messages import Message
from statewright.topics.topics import Topics

CALLERS = 6
QUEUE = "arn:aws:sqs:us-east-1:000000000000:"
RAW = {"RawMessageDelivery": "true"}


async def opened(folder: Path) -> tuple[SqliteStore, Queues, Topics]:
    """The parts over a folder, started."""
    store, clock = SqliteStore(folder), RealClock()
    await store.open("victim")
    queues = Queues(store, clock, Config())
    deliveries = Deliveries(store.catalogue, clock, TargetCalls(InnerCalls()))
    topics = Topics(store, clock, Config(), queues, deliveries, lambda: "http://127.0.0.1:1")
    await queues.start()
    await topics.start()
    return store, queues, topics


async def publish(topics: Topics, topic: str, start: str) -> None:
    number = 0
    while True:
        texts = [f"{start}-{number + one}" for one in range(3)]
        number += 3
        group = start if topic.endswith(".fifo") else None
        messages = [Message({"": text}, group=group, dedup=text if group else None) for text in texts]
        receipts = await topics.publish(topic, messages)
        if group is not None:
            # The same again is the same message.
            assert await topics.publish(topic, messages) == receipts
        assert not any(isinstance(receipt, ApiError) for receipt in receipts)
        os.write(1, "".join(f"{topic.rpartition(':')[2]} {text}\n" for text in texts).encode())


async def main() -> None:
    _, queues, topics = await opened(Path(sys.argv[1]))
    plain = await topics.create("plain", {}, {})
    line = await topics.create("line.fifo", {"FifoTopic": "true"}, {})
    for number in range(2):
        await queues.create(f"plain-{number}", {})
        await queues.create(f"line-{number}.fifo", {"FifoQueue": "true"})
        await topics.subscribe(plain, "sqs", f"{QUEUE}plain-{number}", RAW)
        await topics.subscribe(line, "sqs", f"{QUEUE}line-{number}.fifo", RAW)
    names = [f"{sys.argv[2]}.{caller}" for caller in range(CALLERS)]
    await asyncio.gather(*[publish(topics, topic, name) for name in names for topic in (plain, line)])


if __name__ == "__main__":
    asyncio.run(main())
