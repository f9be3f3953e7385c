"""Messages in memory: what a look at a queue costs, and that it sees the same as one at all messages."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from statewright.stores.memory.store import MemoryStore
from statewright.stores.queue_protocol import Claim, MessageRow, Want

QUEUE, OTHER, NOW_MS = 3, 4, 1_000


class Counted(dict[Any, Any]):
    """A dictionary that counts how often its values are read."""

    reads = 0

    def __getitem__(self, key: Any) -> Any:
        self.reads += 1
        return super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        self.reads += 1
        return super().get(key, default)


def message(number: int, visible_ms: int, queue: int = QUEUE) -> MessageRow:
    return MessageRow(number, queue, visible_ms, NOW_MS, None, None, "body", None)


def test_a_look_at_a_long_queue_reads_as_many_messages_as_it_shows():
    async def main() -> None:
        store = MemoryStore()
        await store.open("test")
        counted = store.queues.messages = Counted()
        await store.queues.send([message(number, number * 7_919 % 10_007) for number in range(1, 10_001)])
        counted.reads = 0
        found = await store.queues.peek(QUEUE, 10)
        assert counted.reads == 10
        assert [row.was_visible_ms for row in found] == list(range(1, 11))

    asyncio.run(main())


def test_a_look_shows_the_messages_that_are_visible_first_after_any_changes():
    async def main() -> None:
        chance = random.Random(7)
        store = MemoryStore()
        await store.open("test")
        queues = store.queues
        number = 0
        for step in range(300):
            rows = [message(number + more, chance.randrange(50), chance.choice([QUEUE, OTHER])) for more in (1, 2, 3)]
            number += len(rows)
            await queues.send(rows)
            some = chance.sample(sorted(queues.messages), 2)
            await queues.hide([(one, chance.randrange(50)) for one in some])
            await queues.drop(chance.sample(sorted(queues.messages), 1))
            await queues.claim(Claim(QUEUE, chance.randrange(30), step, [Want(1, chance.randrange(60))]))
            of_queue = [one for one in queues.messages.values() if one.queue == QUEUE]
            in_order = sorted((one.visible_ms, one.receives, one.id) for one in of_queue)
            for most in (1, 5, 10_000):
                assert [row.id for row in await queues.peek(QUEUE, most)] == [one[2] for one in in_order[:most]]

    asyncio.run(main())
