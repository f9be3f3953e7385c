"""A queue and a function that are just good enough to see what a mapping does with them, on virtual time."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import Any

import orjson

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.functions.concurrency import Concurrency
from statewright.functions.outcomes import Invoked
from statewright.queues.attributes import QueueSettings
from statewright.queues.messages import Counts, Received

QUEUE_ARN = "arn:aws:sqs:us-east-1:000000000000:jobs"
FUNCTION_ARN = "arn:aws:lambda:us-east-1:000000000000:function:work"

Handler = Callable[[dict[str, Any]], Awaitable[Any]]


@dataclass
class Message:
    number: int
    body: str
    receives: int = 0
    deleted: bool = False


class FakeQueues:
    """One standard queue: visibility, receive counts, a dead-letter count."""

    def __init__(self, clock: Clock, *, visibility_seconds: int = 30, most_receives: int = 1_000) -> None:
        self.clock = clock
        self.queue: Any = SimpleNamespace(
            arn=QUEUE_ARN, settings=QueueSettings(visibility_timeout_seconds=visibility_seconds)
        )
        self.most_receives = most_receives
        self.visible: list[tuple[int, int, Message]] = []
        self.hidden: dict[str, Message] = {}
        self.dead: list[Message] = []
        self.down: Exception | None = None
        self.deleted = 0
        self.pulled: list[int] = []
        self._numbers = count()
        self._arrived = asyncio.Event()

    def send(self, *bodies: str) -> None:
        for body in bodies:
            number = next(self._numbers)
            heapq.heappush(self.visible, (self.clock.now_ms(), number, Message(number, body)))
        self._arrived.set()

    def find(self, arn: str) -> Any:
        if self.down is not None:
            raise self.down
        if arn != QUEUE_ARN:
            raise ApiError("QueueDoesNotExist", "The specified queue does not exist.")
        return self.queue

    async def receive(self, _queue: Any, *, most: int, wait_ms: int) -> list[Received]:
        until_ms = self.clock.now_ms() + wait_ms
        while True:
            found = self._take(most)
            if found or self.clock.now_ms() >= until_ms:
                self.pulled.append(len(found))
                return found
            self._arrived.clear()
            timer = self.clock.call_at(until_ms, self._arrived.set)
            try:
                await self._arrived.wait()
            finally:
                timer.cancel()

    def _take(self, most: int) -> list[Received]:
        now_ms = self.clock.now_ms()
        found: list[Received] = []
        while self.visible and len(found) < most and self.visible[0][0] <= now_ms:
            message = heapq.heappop(self.visible)[2]
            if message.receives >= self.most_receives:
                self.dead.append(message)
                continue
            message.receives += 1
            handle = f"{message.number}/{message.receives}"
            self.hidden[handle] = message
            hidden_ms = 1000 * self.queue.settings.visibility_timeout_seconds
            self.clock.call_at(now_ms + hidden_ms, partial(self._back, handle))
            found.append(
                Received(f"m{message.number}", handle, message.body, None, now_ms, message.receives, now_ms,
                         None, None, None, None, None, None)
            )  # fmt: skip
        return found

    def _back(self, handle: str) -> None:
        message = self.hidden.pop(handle, None)
        if message is not None:
            heapq.heappush(self.visible, (self.clock.now_ms(), message.number, message))
            self._arrived.set()

    async def delete(self, _queue: Any, handles: list[str]) -> None:
        for handle in handles:
            if self.hidden.pop(handle, None) is not None:
                self.deleted += 1

    async def change_visibility(self, _queue: Any, changes: list[tuple[str, int]]) -> None:
        for handle, ms in changes:
            assert ms == 0
            self._back(handle)

    async def counts(self, _queue: Any) -> Counts:
        return Counts(len(self.visible), len(self.hidden), 0)


class FakeFunctions:
    """One function, run by a coroutine on the virtual clock."""

    def __init__(self, clock: Clock, handler: Handler, slots: int = 1_000) -> None:
        self.clock = clock
        self.config = Config()
        self.handler = handler
        self.invoker = SimpleNamespace(concurrency=Concurrency(None, slots))
        self.events: list[dict[str, Any]] = []
        self.peak = 0
        self.full_at_ms: int | None = None
        self.last_start_ms = 0
        self.seen: Counter[str] = Counter()

    async def invoke(self, _arn: str, payload: bytes) -> Invoked:
        concurrency = self.invoker.concurrency
        concurrency.enter("work")
        try:
            running = concurrency.running["work"]
            self.peak = max(self.peak, running)
            self.last_start_ms = self.clock.now_ms()
            if running == concurrency.account and self.full_at_ms is None:
                self.full_at_ms = self.clock.now_ms()
            event = orjson.loads(payload)
            self.events.append(event)
            self.seen.update(record.get("messageId", record.get("eventID")) for record in event["Records"])
            try:
                answer, error = await self.handler(event), None
            except RuntimeError as problem:
                answer, error = {"errorMessage": str(problem)}, "Unhandled"
        finally:
            concurrency.leave("work")
        return Invoked(200, orjson.dumps(answer), error, None, "$LATEST", "id")
