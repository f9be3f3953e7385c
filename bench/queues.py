"""CPU per message of the queues by themselves, on a durable SQLite store: no HTTP, no JSON of the API.

`python bench/queues.py [--depth 1000 1000000] [--rounds 300] [--batch 10] [--together 4]`: fills a queue to a depth,
then lets some callers send, and receive and delete, batches at that depth. CPU counts every thread of the process.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from statewright.clock import RealClock
from statewright.config import Config
from statewright.queues.messages import Outgoing
from statewright.queues.queues import Queue, Queues
from statewright.stores.sqlite.store import SqliteStore

BODY = "x" * 100


async def measure(name: str, messages: int, work: Callable[[], Awaitable[object]]) -> None:
    cpu, wall = time.process_time(), time.perf_counter()
    await work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"  {name:<22} {1e6 * cpu / messages:7.1f} us CPU  {messages / wall:10,.0f}/s")


async def fill(queues: Queues, queue: Queue, depth: int) -> None:
    entries = [Outgoing(BODY, group="g" if queue.settings.fifo else None, dedup=None)] * 1_000
    for _ in range(depth // 1_000):
        await queues.send(queue, entries)


async def at_depth(queues: Queues, queue: Queue, given: argparse.Namespace, batch: int) -> None:
    many = given.rounds * given.together * batch
    handles: list[list[str]] = []

    async def together(one: Callable[[], Awaitable[object]]) -> None:
        async def loop() -> None:
            for _ in range(given.rounds):
                await one()

        await asyncio.gather(*[loop() for _ in range(given.together)])

    async def send() -> None:
        await queues.send(queue, [Outgoing(BODY) for _ in range(batch)])

    async def receive() -> None:
        handles.append([message.handle for message in await queues.receive(queue, most=batch)])

    async def delete() -> None:
        await queues.delete(queue, handles.pop())

    print(f" batches of {batch}, {given.together} callers, {(await queues.counts(queue)).visible:,} deep")
    await measure("send", many, lambda: together(send))
    await measure("receive", many, lambda: together(receive))
    await measure("delete", many, lambda: together(delete))


async def run(given: argparse.Namespace) -> None:
    for depth in given.depth:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            clock = RealClock()
            store = SqliteStore(Path(folder), clock=clock)
            await store.open("bench")
            queues = Queues(store, clock, Config())
            await queues.start()
            queue = await queues.create("bench", {"VisibilityTimeout": "43200"})
            await fill(queues, queue, depth)
            print(f"depth {depth:,}")
            for batch in (given.batch, 1):
                await at_depth(queues, queue, given, batch)
            await queues.stop()
            await store.close()
            await store.open("bench")
            queues = Queues(store, clock, Config())
            await queues.start()
            began = time.perf_counter()
            await queues.counts(queues.find("bench"))
            print(f"  first look after a restart: {1e3 * (time.perf_counter() - began):.0f} ms")
            await queues.stop()
            await store.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--depth", type=int, nargs="+", default=[1_000, 1_000_000])
    options.add_argument("--rounds", type=int, default=300)
    options.add_argument("--batch", type=int, default=10)
    options.add_argument("--together", type=int, default=4)
    options.add_argument("--folder", default=None)
    sys.setswitchinterval(0.0001)
    asyncio.run(run(options.parse_args()))


if __name__ == "__main__":
    main()
