"""The process that is killed: sends, receives and deletes as fast as it can, and says what was acknowledged."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from statewright.clock import RealClock
from statewright.config import Config
from statewright.queues.messages import Outgoing
from statewright.queues.queues import Queue, Queues
from statewright.stores.sqlite.store import SqliteStore

CALLERS = 6


def say(kind: str, *bodies: str) -> None:
    # One write: the reader sees whole lines.
    os.write(1, "".join(f"{kind} {body}\n" for body in bodies).encode())


async def produce(queues: Queues, queue: Queue, start: str) -> None:
    number = 0
    while True:
        fifo = queue.settings.fifo
        batch = []
        for _ in range(5):
            number += 1
            body = f"{queue.name}:{start}:{number}"
            batch.append(Outgoing(body, group=start if fifo else None, dedup=body if fifo else None))
        await queues.send(queue, batch)
        say("sent", *[message.body for message in batch])


async def consume(queues: Queues, queue: Queue) -> None:
    while True:
        messages = await queues.receive(queue, most=7, wait_ms=1_000)
        say("received", *[message.body for message in messages])
        chosen = messages[: max(len(messages) - 1, 1)]
        # Said before it is asked for: a kill in between must not look like a loss.
        say("deleting", *[message.body for message in chosen])
        await queues.delete(queue, [message.handle for message in chosen])
        say("deleted", *[message.body for message in chosen])


async def main() -> None:
    store = SqliteStore(Path(sys.argv[1]))
    await store.open("victim")
    queues = Queues(store, RealClock(), Config())
    await queues.start()
    plain = await queues.create("plain", {})
    line = await queues.create("line.fifo", {"FifoQueue": "true"})
    say("ready", "0")
    work = [produce(queues, queue, f"{sys.argv[2]}-{caller}") for caller in range(CALLERS) for queue in (plain, line)]
    await asyncio.gather(*work, *[consume(queues, queue) for _ in range(3) for queue in (plain, line)])


if __name__ == "__main__":
    asyncio.run(main())
