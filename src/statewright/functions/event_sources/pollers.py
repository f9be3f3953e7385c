"""Poller of one event source mapping: receives messages, forms batches, invokes, and deletes processed messages.

A poller receives no more than its scaling lets it run. Each batch under way is a task; a mapping has no other tasks
but its polling. Messages are counted by outcome: done, failed, throttled, received and never run, filtered out.

Source: Lambda developer guide, "Using Lambda with Amazon SQS".
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from statewright.background import Background
from statewright.clock import Timer
from statewright.errors import ApiError, StoreError
from statewright.functions.event_sources.batches import (
    ENVELOPE_BYTES,
    EVENT_BYTES,
    compile_filters,
    encode_record,
    event_of,
    failed_items,
    record_of,
)
from statewright.functions.event_sources.counts import MappingCounts
from statewright.functions.event_sources.filtering import passes
from statewright.functions.event_sources.records import MappingRecord
from statewright.functions.event_sources.scaling import Ending, Profile, Scaling
from statewright.functions.event_sources.windows import closes_ms, gathered
from statewright.functions.functions import Functions
from statewright.query.matching import LOOP_WORK, Matching
from statewright.queues.messages import Received
from statewright.queues.queues import Queue, Queues

log = logging.getLogger("statewright.functions")

POLL_MS: Final = 20_000
"""Longest wait of a poll for a message. Source: SQS quotas, long polling."""
MOST_PULLED: Final = 10_000
"""Messages in one receive of a poller."""
_FIRST_PAUSE_MS: Final = 1_000
_LONGEST_PAUSE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class _Pulled:
    """A message with its record as JSON text. Other consumers may receive it at `hidden_until_ms`."""

    message: Received
    record: bytes
    hidden_until_ms: int


class Poller:
    """Polls for one mapping from `start` until `retire` or `stop`."""

    def __init__(self, mapping: MappingRecord, profile: Profile, functions: Functions, queues: Queues) -> None:
        self._mapping = mapping
        self._functions = functions
        self._queues = queues
        self._clock = functions.clock
        self._region = functions.config.region
        self._passes = compile_filters(mapping.filters)
        self._profile = profile
        self._scaling = Scaling(
            profile,
            self._clock.now_ms(),
            maximum=mapping.maximum,
            pollers=(mapping.pollers[0], mapping.pollers[1]) if mapping.pollers is not None else None,
            reports_failures=mapping.reports_failures,
        )
        self.counts = MappingCounts()
        meter = functions.invoker.concurrency.meter
        self._meter = meter.mapping(mapping.uuid) if meter is not None else None
        self._buffer: list[_Pulled] = []
        self._window_ends_ms: int | None = None
        self._wake = asyncio.Event()
        self._batches = Background(f"a batch of {mapping.source_arn} for {mapping.function_arn}")
        self._polling: asyncio.Task[None] | None = None
        self._retired = False
        self.problem: str | None = None
        """Why the last attempt to poll failed; None once one has succeeded."""
        self._when_done: Callable[[], None] | None = None

    @property
    def in_flight(self) -> int:
        """Number of batches under way."""
        return self._scaling.in_flight

    def start(self) -> None:
        """Begin to poll."""
        self._polling = asyncio.get_running_loop().create_task(self._poll())

    def retire(self, when_done: Callable[[], None]) -> None:
        """Stop polling; call `when_done` after the batches under way have ended."""
        self._retired = True
        self._when_done = when_done
        if self._polling is not None:
            self._polling.cancel()
        self._report_if_done()

    async def stop(self) -> None:
        """Stop polling and cancel the batches under way; their messages become visible again by their timeout."""
        self._retired = True
        if self._polling is not None:
            self._polling.cancel()
        await self._batches.stop()
        if self._polling is not None:
            await asyncio.gather(self._polling, return_exceptions=True)
        if self._buffer:
            await self._release_buffer()

    # -------------------------------------------------------------- receiving

    async def _poll(self) -> None:
        pause_ms = _FIRST_PAUSE_MS
        try:
            while True:
                try:
                    await self._turn()
                    pause_ms = _FIRST_PAUSE_MS
                    self.problem = None
                except (ApiError, StoreError) as problem:
                    log.warning("polling %s for %s: %s", self._mapping.source_arn, self._mapping.function_arn, problem)
                    self.problem = str(problem)
                    await self._clock.sleep_until(self._clock.now_ms() + pause_ms)
                    pause_ms = min(2 * pause_ms, _LONGEST_PAUSE_MS)
                except Exception:
                    log.exception("the mapping %s pauses because of a bug in Statewright", self._mapping.uuid)
                    self.problem = "a bug in Statewright; the server's log has it"
                    await self._clock.sleep_until(self._clock.now_ms() + _LONGEST_PAUSE_MS)
        except asyncio.CancelledError:
            if self._buffer:
                await self._release_buffer()
            raise

    async def _turn(self) -> None:
        """Receive as many messages as may run, and start the complete batches."""
        now_ms = self._clock.now_ms()
        queue = self._queues.find(self._mapping.source_arn)
        room = self._room(now_ms)
        self._flush(now_ms, room)
        room = self._room(now_ms)
        wanted = min(room * self._mapping.batch_size - len(self._buffer), MOST_PULLED)
        if wanted <= 0:
            await self._until_room(now_ms)
            return
        if queue.settings.fifo:
            wanted = min(wanted, self._mapping.batch_size)
        wait_ms = POLL_MS
        if self._window_ends_ms is not None:
            wait_ms = max(0, min(wait_ms, self._window_ends_ms - now_ms))
        found = await self._queues.receive(queue, most=wanted, wait_ms=wait_ms)
        now_ms = self._clock.now_ms()
        if found:
            await self._take(queue, found, now_ms)
        self._flush(now_ms, self._room(now_ms), everything=queue.settings.fifo)
        backlog = bool(found) and (await self._queues.counts(queue)).visible > 0
        self._scaling.saw_backlog(now_ms, backlog)

    def _room(self, now_ms: int) -> int:
        """Number of further batches that may start."""
        name = self._mapping.function_arn.split(":")[6]
        concurrency = self._functions.invoker.concurrency
        in_flight = self._scaling.in_flight
        # Started batches whose function does not run yet will occupy slots that still look free.
        coming = max(0, in_flight - concurrency.running.get(name, 0))
        return self._scaling.limit(now_ms, max(0, concurrency.free(name) - coming)) - in_flight

    async def _until_room(self, now_ms: int) -> None:
        """Wait until a batch ends, or the limit grows."""
        self._wake.clear()
        change_ms = self._scaling.next_change_ms(now_ms)
        if change_ms is None:
            # No event announces the end of invocations by other callers.
            change_ms = now_ms + _FIRST_PAUSE_MS
        timer: Timer = self._clock.call_at(max(change_ms, now_ms + 1), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    async def _take(self, queue: Queue, found: list[Received], now_ms: int) -> None:
        """Buffer the messages that pass the filters; delete the others."""
        visibility_ms = 1000 * queue.settings.visibility_timeout_seconds
        until_ms = now_ms + visibility_ms
        wanted: list[_Pulled] = []
        unwanted = []
        if self._meter is not None:
            self._meter.polled.add(len(found))
        matching = Matching(LOOP_WORK)
        for message in found:
            record = record_of(message, self._mapping.source_arn, self._region)
            if self._passes is not None:
                is_wanted = await passes(
                    self._clock, self._passes, record, matching, f"the mapping {self._mapping.uuid}"
                )
                if is_wanted is None:
                    continue
                if not is_wanted:
                    unwanted.append(message.handle)
                    continue
            wanted.append(_Pulled(message, encode_record(record), until_ms))
        if wanted:
            closes = closes_ms(now_ms, 1000 * self._mapping.window_seconds, visibility_ms)
            self._window_ends_ms = min(closes, self._window_ends_ms or closes)
            self._buffer = gathered(self._buffer, wanted, lambda pulled: pulled.message.message_id)
        if unwanted:
            self.counts.filtered += len(unwanted)
            # One request for the receive, one for the delete.
            self.counts.asked(len(unwanted))
            self.counts.asked(len(unwanted))
            if self._meter is not None:
                self._meter.filtered_out.add(len(unwanted))
                self._meter.deleted.add(len(unwanted))
            await self._queues.delete(queue, unwanted)

    def _flush(self, now_ms: int, room: int, *, everything: bool = False) -> None:
        """Start the batches that are full, or whose window has ended."""
        size = self._mapping.batch_size
        self._forget_expired(now_ms)
        while self._buffer and room > 0:
            over = everything or (self._window_ends_ms is not None and now_ms >= self._window_ends_ms)
            count = self._fitting(size)
            if count == len(self._buffer) and count < size and not over:
                return
            batch, self._buffer = self._buffer[:count], self._buffer[count:]
            self._start(batch, now_ms)
            room -= 1
        if not self._buffer:
            self._window_ends_ms = None

    def _forget_expired(self, now_ms: int) -> None:
        """Drop buffered messages that no batch could start with before they became visible again."""
        if self._buffer and self._buffer[0].hidden_until_ms < now_ms:
            held = [pulled for pulled in self._buffer if pulled.hidden_until_ms >= now_ms]
            expired = len(self._buffer) - len(held)
            self._buffer = held
            self.counts.never_run += expired
            if self._meter is not None:
                self._meter.failed_invoke.add(expired)

    def _fitting(self, size: int) -> int:
        """Number of messages from the buffer's start for one batch: `size`, or as many as fit into an event."""
        total = ENVELOPE_BYTES
        for number, pulled in enumerate(self._buffer[:size]):
            total += len(pulled.record) + 1
            if total > EVENT_BYTES and number:
                return number
        return min(size, len(self._buffer))

    async def _release_buffer(self) -> None:
        """Make buffered messages visible again."""
        handles = [(pulled.message.handle, 0) for pulled in self._buffer]
        self._buffer = []
        try:
            await self._queues.change_visibility(self._queues.find(self._mapping.source_arn), handles)
        except (ApiError, StoreError) as problem:
            log.info("messages of %s become visible only after their timeout: %s", self._mapping.source_arn, problem)

    # -------------------------------------------------------------- batches

    def _start(self, batch: list[_Pulled], now_ms: int) -> None:
        self._scaling.started(now_ms)
        self.counts.asked(len(batch))
        self._batches.spawn(self._run(batch)).add_done_callback(self._ended)

    def _ended(self, _task: asyncio.Task[None]) -> None:
        self._wake.set()
        self._report_if_done()

    def _report_if_done(self) -> None:
        if self._retired and not self._batches and self._when_done is not None:
            self._when_done()

    async def _run(self, batch: list[_Pulled]) -> None:
        ending: Ending = "failed"
        try:
            ending = await self._invoke(batch)
        except (ApiError, StoreError) as problem:
            self._failed(len(batch))
            log.warning("a batch of %s for %s: %s", self._mapping.source_arn, self._mapping.function_arn, problem)
        finally:
            self._scaling.ended(self._clock.now_ms(), ending)

    async def _invoke(self, batch: list[_Pulled]) -> Ending:
        """Invoke the function with a batch; retry while throttled, until the messages must be released."""
        event = event_of([pulled.record for pulled in batch])
        pause_ms = _FIRST_PAUSE_MS
        retries = self._profile.retries_throttles or self._profile.step_ms == 0 or self._mapping.maximum is not None
        while True:
            try:
                invoked = await self._functions.invoke(self._mapping.function_arn, event)
                break
            except ApiError as refusal:
                if refusal.code != "TooManyRequestsException":
                    raise
                self.counts.throttles += 1
            now_ms = self._clock.now_ms()
            resume_ms = now_ms + pause_ms
            if not retries or resume_ms >= min(pulled.hidden_until_ms for pulled in batch):
                self.counts.never_run += len(batch)
                if self._meter is not None:
                    self._meter.failed_invoke.add(len(batch))
                return "throttled"
            self._scaling.throttled(now_ms)
            await self._clock.sleep_until(resume_ms)
            pause_ms = min(2 * pause_ms, _LONGEST_PAUSE_MS)
        self.counts.invocations += 1
        failed: set[str] = set()
        ids = [pulled.message.message_id for pulled in batch]
        queue = self._queues.find(self._mapping.source_arn)
        if invoked.function_error is not None:
            failed = set(ids)
        elif self._mapping.reports_failures:
            failed = failed_items(invoked.payload, ids, is_fifo=queue.settings.fifo)
        done = [pulled.message.handle for pulled in batch if pulled.message.message_id not in failed]
        if self._meter is not None:
            self._meter.invoked.add(len(batch))
        self._failed(len(batch) - len(done))
        if done:
            await self._queues.delete(queue, done)
            self.counts.asked(len(done))
            self.counts.done += len(done)
            if self._meter is not None:
                self._meter.deleted.add(len(done))
        return "failed" if len(failed) == len(batch) else "succeeded"

    def _failed(self, count: int) -> None:
        """Count messages that failed and become visible again."""
        self.counts.failed += count
        if self._meter is not None:
            self._meter.failed_invoke.add(count)
