"""Queues in virtual time over a store in memory, which can be made to fail and be restarted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import orjson

from statewright.config import Config
from statewright.errors import Unavailable
from statewright.queues.messages import Outgoing, Received
from statewright.queues.queues import Queue, Queues
from statewright.stores.memory.queues import MemoryQueues
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock, run_virtual

ARN = "arn:aws:sqs:us-east-1:000000000000:"
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


class FailingQueues:
    """A store's messages, some of whose calls fail, before or after they did their work."""

    def __init__(self, real: MemoryQueues) -> None:
        self.real = real
        self.calls: list[str] = []
        self.fails: dict[str, str] = {}
        """How the next call of a method fails: `before` or `after` it did its work."""

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.real, name)
        if not callable(method):
            return method

        async def call(*given: Any, **more: Any) -> Any:
            self.calls.append(name)
            how = self.fails.pop(name, "")
            if how == "before":
                raise Unavailable("it fails")
            answer = await method(*given, **more)
            if how == "after":
                raise Unavailable("it fails")
            return answer

        return call


class Rig:
    """Queues with short ways to use them."""

    def __init__(self, clock: VirtualClock, **limits: Any) -> None:
        self.clock = clock
        self.store = MemoryStore()
        self.messages = FailingQueues(self.store.queues)
        self.config = Config()
        self.config = replace(self.config, limits=replace(self.config.limits, **limits))
        self.queues = self._queues()

    def _queues(self) -> Queues:
        self.store.queues = self.messages.real
        queues = Queues(self.store, self.clock, self.config)
        queues._site.store = self.messages
        return queues

    async def open(self) -> None:
        await self.store.open("test")
        await self.queues.start()

    async def restart(self, *names: str) -> list[Queue]:
        """Kill the server and start another one."""
        await self.queues.stop()
        self.store.kill()
        self.queues = self._queues()
        await self.open()
        return [self.queues.find(name) for name in names]

    async def queue(self, name: str = "q", **attributes: Any) -> Queue:
        texts = {
            key: value if isinstance(value, str) else orjson.dumps(value).decode() for key, value in attributes.items()
        }
        if name.endswith(".fifo"):
            texts["FifoQueue"] = "true"
        return await self.queues.create(name, texts)

    async def with_dead_letters(self, most: int, fifo: str = "", **more: Any) -> tuple[Queue, Queue]:
        """A queue and its dead-letter queue."""
        dead = await self.queue(f"dead{fifo}", **({} if not fifo else {"ContentBasedDeduplication": "true"}))
        redrive = {"deadLetterTargetArn": dead.arn, "maxReceiveCount": most}
        return await self.queue(f"source{fifo}", RedrivePolicy=redrive, **more), dead

    async def send(self, queue: Queue, *bodies: str, **more: Any) -> list[str]:
        sent = await self.queues.send(queue, [Outgoing(body, **more) for body in bodies])
        return [one.message_id for one in sent]

    async def put(self, queue: Queue, *bodies: str) -> None:
        """Send to a FIFO queue; the group is the first letter."""
        await self.queues.send(queue, [Outgoing(body, group=body[0], dedup=body) for body in bodies])

    async def take(self, queue: Queue, most: int = 10, wait_ms: int = 0, **more: Any) -> list[Received]:
        return await self.queues.receive(queue, most=most, wait_ms=wait_ms, **more)

    async def bodies(self, queue: Queue, most: int = 10, **more: Any) -> list[str]:
        return [message.body for message in await self.take(queue, most, **more)]

    async def delete(self, queue: Queue, *messages: Received) -> None:
        assert set(await self.queues.delete(queue, [message.handle for message in messages])) <= {None}

    async def show(self, queue: Queue, *messages: Received, after_ms: int = 0) -> None:
        changes = [(message.handle, after_ms) for message in messages]
        assert set(await self.queues.change_visibility(queue, changes)) <= {None}

    async def counts(self, queue: Queue) -> tuple[int, int, int]:
        """Visible, in flight, delayed; compared with what the store has."""
        found = await self.queues.counts(queue)
        now_ms = self.clock.now_ms()
        rows = [row for row in self.messages.real.messages.values() if row.queue == queue.state.entry.rows]
        flying = sum(row.receives > 0 and row.visible_ms > now_ms for row in rows)
        delayed = sum(row.receives == 0 and row.visible_ms > now_ms for row in rows)
        assert tuple(found) == (len(rows) - flying - delayed, flying, delayed)
        return found.visible, found.in_flight, found.delayed

    async def pass_ms(self, milliseconds: int) -> None:
        await self.clock.sleep_until(self.clock.now_ms() + milliseconds)


def play(body: Callable[[Rig], Awaitable[None]], **limits: Any) -> None:
    """Run a test's body with queues of its own."""

    async def main(clock: VirtualClock) -> None:
        rig = Rig(clock, **limits)
        await rig.open()
        await body(rig)
        await rig.queues.stop()

    run_virtual(main)
