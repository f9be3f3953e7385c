"""One running pipe: receives messages, drops those that its filters reject, starts executions, deletes the messages.

A message that starts no execution stays in its queue: it becomes visible again after the queue's visibility timeout,
and goes to the queue's dead-letter queue in the end. The name of an execution follows from the messages, so that a
batch that comes a second time, because the server was killed before it deleted the messages, starts nothing twice.

Source: EventBridge user guide, "Amazon SQS queue as a source", "Pipes batching and concurrency".
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from statewright.background import Background
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError, StoreError
from statewright.events.pipes.records import Pipe
from statewright.events.pipes.starting import Starter, has_failed
from statewright.events.targets import CallService
from statewright.functions.event_sources.batches import compile_filters, record_of
from statewright.functions.event_sources.filtering import passes
from statewright.functions.event_sources.windows import closes_ms, gathered
from statewright.payload import Json
from statewright.query.matching import LOOP_WORK, Matching
from statewright.queues.messages import Received
from statewright.queues.queues import Queue, Queues

POLL_MS: Final = 20_000
"""Longest wait of a poll for a message. Source: SQS quotas, long polling."""
MOST_AT_ONCE: Final = 10
"""Batches of a pipe that are under way at a time. Statewright's own limit."""
_FIRST_PAUSE_MS: Final = 1_000
_LONGEST_PAUSE_MS: Final = 60_000

log = logging.getLogger("statewright.events")


class RunningPipe:
    """Runs a pipe from `start` until `stop`."""

    def __init__(self, pipe: Pipe, queues: Queues, call: CallService, clock: Clock, config: Config) -> None:
        self._pipe = pipe
        self._queues = queues
        self._starter = Starter(pipe, call, config)
        self._clock = clock
        self._config = config
        self._passes = compile_filters(pipe.filters)
        self._batches = Background(f"a batch of the pipe {pipe.name}")
        self._free = asyncio.Event()
        self._polling: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to poll."""
        self._polling = asyncio.get_running_loop().create_task(self._poll())

    async def stop(self) -> None:
        """Stop polling; messages of batches under way become visible again by their timeout."""
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)
        await self._batches.stop()

    async def _poll(self) -> None:
        pause_ms = _FIRST_PAUSE_MS
        while True:
            try:
                await self._turn()
                pause_ms = _FIRST_PAUSE_MS
            except (ApiError, StoreError) as problem:
                log.warning("the pipe %s: %s", self._pipe.name, problem)
                await self._clock.sleep_until(self._clock.now_ms() + pause_ms)
                pause_ms = min(2 * pause_ms, _LONGEST_PAUSE_MS)
            except Exception:
                log.exception("the pipe %s pauses because of a bug in Statewright", self._pipe.name)
                await self._clock.sleep_until(self._clock.now_ms() + _LONGEST_PAUSE_MS)

    async def _turn(self) -> None:
        """Receive the messages of one batch, and start it."""
        queue = self._queues.find(self._pipe.source)
        while len(self._batches) >= (1 if queue.settings.fifo else MOST_AT_ONCE):
            self._free.clear()
            await self._free.wait()
        batch = await self._received(queue)
        if batch:
            self._batches.spawn(self._sent(queue, batch)).add_done_callback(lambda _: self._free.set())

    async def _received(self, queue: Queue) -> list[tuple[Received, dict[str, Json]]]:
        """The messages of a batch that pass the filters, with their records; the others are deleted."""
        batch: list[tuple[Received, dict[str, Json]]] = []
        ends_ms: int | None = None
        while len(batch) < self._pipe.batch_size:
            now_ms = self._clock.now_ms()
            if ends_ms is not None and now_ms >= ends_ms:
                break
            wait_ms = POLL_MS if ends_ms is None else min(POLL_MS, ends_ms - now_ms)
            found = await self._queues.receive(queue, most=self._pipe.batch_size - len(batch), wait_ms=wait_ms)
            if not found and not batch:
                break
            received_ms = self._clock.now_ms()
            passing = await self._passing(queue, found)
            if passing:
                batch = gathered(batch, passing, lambda one: one[0].message_id)
                closes = closes_ms(received_ms, self._pipe.window_ms, 1000 * queue.settings.visibility_timeout_seconds)
                ends_ms = min(closes, ends_ms or closes)
        return batch

    async def _passing(self, queue: Queue, found: list[Received]) -> list[tuple[Received, dict[str, Json]]]:
        records = [(one, record_of(one, self._pipe.source, self._config.region)) for one in found]
        if self._passes is None:
            return records
        kept, unwanted = [], []
        for message, record in records:
            is_wanted = await passes(
                self._clock, self._passes, record, Matching(LOOP_WORK), f"the pipe {self._pipe.name}"
            )
            if is_wanted:
                kept.append((message, record))
            elif is_wanted is not None:
                unwanted.append(message.handle)
        if unwanted:
            await self._queues.delete(queue, unwanted)
        return kept

    async def _sent(self, queue: Queue, batch: list[tuple[Received, dict[str, Json]]]) -> None:
        """Start an execution with a batch, and delete its messages."""
        pipe, ids = self._pipe, [message.message_id for message, _ in batch]
        try:
            answer = await self._starter.start([record for _, record in batch], ids, self._clock.now_ms())
        except (ApiError, StoreError) as problem:
            log.warning("a batch of the pipe %s stays in its queue: %s", pipe.name, problem)
            return
        if has_failed(pipe, answer):
            log.warning("a batch of the pipe %s stays in its queue: its execution %s", pipe.name, answer["status"])
            return
        try:
            await self._queues.delete(queue, [message.handle for message, _ in batch])
        except (ApiError, StoreError) as problem:
            log.warning("messages of the pipe %s are not deleted: %s", pipe.name, problem)
