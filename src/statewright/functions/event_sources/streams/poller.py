"""Poller of one stream for a mapping or a pipe: reads records in order, forms batches, invokes, and moves the position.

One batch at a time, so that the order of the shard holds. A batch that fails is invoked again, whole or in parts, until
it succeeds, its retries are used up, or its records are too old; then its records are discarded, and reported to the
destination. The position is stored after each batch: after a kill the batch that was under way comes again. With
tumbling windows, a batch has records of one window, and the position has its state.

Source: Lambda developer guide, "Using AWS Lambda with Amazon DynamoDB", "Retain discarded records for a DynamoDB event
source", "Configuring partial batch response with DynamoDB and Lambda".
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from statewright.clock import Clock
from statewright.errors import ApiError, StoreError
from statewright.functions.event_sources.batches import (
    ENVELOPE_BYTES,
    EVENT_BYTES,
    compile_filters,
    encode_record,
)
from statewright.functions.event_sources.counts import MappingCounts
from statewright.functions.event_sources.filtering import passes
from statewright.functions.event_sources.streams.events import (
    EXHAUSTED,
    TOO_OLD,
    Discarded,
    first_failed,
    record_for_function,
)
from statewright.functions.event_sources.streams.position import FAILED, SUCCEEDED
from statewright.functions.event_sources.streams.progress import Progress
from statewright.functions.event_sources.streams.settings import DEFAULT_BATCH, StreamSettings
from statewright.functions.event_sources.streams.tumbling import Window, closes_ms, members, start_of, state_in
from statewright.functions.meter import MappingMeter
from statewright.functions.outcomes import Invoked
from statewright.payload import JsonObject
from statewright.query.matching import LOOP_WORK, Matching
from statewright.tables.streams.records import StreamRecord, number_of
from statewright.tables.streams.stream import Stream
from statewright.tables.streams.streams import MOST_READ, Streams

log = logging.getLogger("statewright.functions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One reader of a stream: a mapping or a pipe. `name` is that of its log lines and filters."""

    name: str
    source_arn: str
    region: str
    settings: StreamSettings
    filters: Sequence[str] = ()
    batch_size: int = DEFAULT_BATCH
    window_seconds: int = 0
    reports_failures: bool = False


class Consumer(Protocol):
    """The target of records: a function, or a state machine behind a pipe."""

    async def invoke(self, batch: Batch, /) -> Invoked:
        """Process a batch. Raises: ApiError; with `TooManyRequestsException` it is tried again later."""

    async def discard(self, given: Discarded, /) -> None:
        """Report records that are given up to the destination, if there is one. Raises: ApiError."""


_FIRST_PAUSE_MS: Final = 200
_LONGEST_PAUSE_MS: Final = 60_000


@dataclass(slots=True)
class Batch:
    """Records that passed the filters, with their JSON texts; `last` is the number of the last one that was read."""

    last: str
    window: Window | None = None
    """The tumbling window of its records."""
    records: list[StreamRecord] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    size: int = ENVELOPE_BYTES
    is_full: bool = False
    is_final: bool = False
    """True for a batch without records that ends its window."""
    more: JsonObject = field(default_factory=dict)
    """Members of the event besides the records."""

    def add(self, record: StreamRecord, text: bytes) -> None:
        """Add a record."""
        self.records.append(record)
        self.texts.append(text)
        self.size += len(text) + 1


class StreamPoller:
    """Polls for one reader from `start` until `retire` or `stop`."""

    def __init__(
        self,
        reading: Reading,
        progress: Progress,
        streams: Streams,
        clock: Clock,
        consumer: Consumer,
        meter: MappingMeter | None = None,
    ) -> None:
        self._reading = reading
        self._settings = reading.settings
        self._progress = progress
        self._streams = streams
        self._clock = clock
        self._consumer = consumer
        self._meter = meter
        self._passes = compile_filters(reading.filters)
        self.counts = MappingCounts()
        self.problem: str | None = None
        """Why the last attempt to read or invoke failed; None once one has succeeded."""
        self.is_waiting = False
        """True while every record has been processed."""
        self.oldest_ms: int | None = None
        """When the oldest record of the batch under way was written; None while there is none."""
        self._may_cancel = False
        self._retired = False
        self._pause_ms = _FIRST_PAUSE_MS
        self._answer: Invoked | None = None
        self._polling: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to poll, once an earlier poller of the same reader has ended."""
        self._polling = asyncio.get_running_loop().create_task(self._poll())

    def retire(self, when_done: Callable[[], None]) -> None:
        """Stop polling; call `when_done` after the batch under way has ended."""
        self._retired = True
        if self._polling is None:
            when_done()
            return
        self._polling.add_done_callback(lambda _: when_done())
        if self._may_cancel:
            self._polling.cancel()

    async def stop(self) -> None:
        """Stop polling and give up the batch under way; the next process invokes with it again."""
        self._retired = True
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)

    # -------------------------------------------------------------- the loop

    async def _poll(self) -> None:
        async with self._progress.turn:
            while not self._retired:
                try:
                    await self._turn()
                    self.problem = None
                except (ApiError, StoreError) as problem:
                    log.warning("polling %s for %s: %s", self._reading.source_arn, self._reading.name, problem)
                    self.problem = str(problem)
                    await self._pause()
                except Exception:
                    log.exception("%s pauses because of a bug in Statewright", self._reading.name)
                    self.problem = "a bug in Statewright; the server's log has it"
                    self._pause_ms = _LONGEST_PAUSE_MS
                    await self._pause()

    async def _pause(self) -> None:
        """Wait before the next attempt, longer each time."""
        if self._retired:
            return
        self._may_cancel = True
        try:
            await self._clock.sleep_until(self._clock.now_ms() + self._pause_ms)
        finally:
            self._may_cancel = False
        self._pause_ms = min(2 * self._pause_ms, _LONGEST_PAUSE_MS)

    async def _turn(self) -> None:
        """Read one batch, and process it."""
        # There is nothing to process in a stream that is gone.
        self.is_waiting = True
        stream = self._streams.find(self._reading.source_arn)
        self.is_waiting = False
        try:
            batch = await self._gathered(stream)
        except ApiError as problem:
            if problem.code != "TrimmedDataAccessException":
                raise
            log.warning("records of %s expired before %s could process them", stream.arn, self._reading.name)
            before = number_of(int(self._streams.horizon(stream)) - 1)
            await self._progress.move(self._progress.position.done(before, FAILED))
            return
        if batch is None:
            return
        if batch.window is not None:
            batch.more = members(batch.window, self._settings.tumbling_seconds, stream, is_final=batch.is_final)
        if batch.is_final:
            await self._end_window(batch)
            return
        self.oldest_ms = batch.records[0].at_ms if batch.records else None
        if not await self._discarded_old(stream, batch):
            await self._invoke(stream, batch)

    # -------------------------------------------------------------- reading

    async def _gathered(self, stream: Stream) -> Batch | None:
        """The records of the next batch, or of the one that is invoked again; `None` if the poller is retired."""
        place = self._progress.position
        end = place.ends[-1] if place.ends else None
        batch = Batch(place.after, place.window if self._settings.tumbling_seconds else None)
        if batch.window is not None:
            batch.size += len(batch.window.state)
            if batch.window.is_over_early and end is None:
                batch.is_final = True
                return batch
        gathered_ms: int | None = None
        while not self._retired:
            changes = stream.changes
            found = await self._take(stream, batch, end)
            if batch.is_full or (end is not None and batch.last >= end):
                batch.is_final = batch.is_full and not batch.records
                return batch
            if found:
                continue
            if end is not None:
                # Records up to the end have expired.
                batch.last = end
                return batch
            now_ms = self._clock.now_ms()
            if batch.records:
                gathered_ms = gathered_ms or now_ms + 1000 * self._reading.window_seconds
            elif batch.last != self._progress.position.after:
                position = self._progress.position
                await self._progress.move(position.done(batch.last, position.result))
            ends_ms = gathered_ms
            if batch.window is not None:
                closing_ms = closes_ms(batch.window, self._settings.tumbling_seconds)
                ends_ms = min(gathered_ms or closing_ms, closing_ms)
            if ends_ms is not None and now_ms >= ends_ms:
                batch.is_final = not batch.records
                return batch
            await self._until_more(stream, changes, ends_ms)
        return None

    async def _take(self, stream: Stream, batch: Batch, end: str | None) -> bool:
        """Add the next records to a batch, none behind `end`; False if there is none."""
        room = self._reading.batch_size - len(batch.records)
        found = await self._streams.read(stream, batch.last, min(room, MOST_READ))
        matching = Matching(LOOP_WORK)
        for record, size in found:
            if end is not None and record.number > end:
                return False
            shown = record_for_function(stream, record, size, self._reading.region)
            if self._passes is not None and not await passes(
                self._clock, self._passes, shown, matching, self._reading.name, otherwise="is left out"
            ):
                batch.last = record.number
                self.counts.filtered += 1
                self._count("polled", 1)
                self._count("filtered_out", 1)
                continue
            text = encode_record(shown)
            if not self._fits(batch, record, len(text)):
                batch.is_full = True
                return True
            batch.last = record.number
            self._count("polled", 1)
            batch.add(record, text)
        batch.is_full = len(batch.records) >= self._reading.batch_size
        return bool(found)

    def _fits(self, batch: Batch, record: StreamRecord, size: int) -> bool:
        """True if a record of some bytes may be added to a batch: it is of the same window, or begins one."""
        if self._settings.tumbling_seconds:
            start_ms = start_of(record.at_ms, self._settings.tumbling_seconds)
            if batch.window is None:
                batch.window = Window(start_ms)
            elif batch.window.start_ms != start_ms:
                return False
        return not batch.records or batch.size + size <= EVENT_BYTES

    async def _until_more(self, stream: Stream, changes: int, ends_ms: int | None) -> None:
        """Wait for records, no longer than until the window of a batch closes."""
        waiting = asyncio.ensure_future(stream.changed_since(changes))
        timer = self._clock.call_at(ends_ms, waiting.cancel) if ends_ms is not None else None
        self.is_waiting, self._may_cancel = ends_ms is None, True
        # Only the window of a batch holds its records up.
        self.oldest_ms = None
        try:
            await asyncio.wait([waiting])
        finally:
            self.is_waiting = self._may_cancel = False
            waiting.cancel()
            if timer is not None:
                timer.cancel()

    # -------------------------------------------------------------- processing

    async def _invoke(self, stream: Stream, batch: Batch) -> None:
        position = self._progress.position
        if not batch.records:
            await self._progress.move(position.done(batch.last, position.result))
            return
        count = len(batch.records)
        answer = await self._invoked(batch)
        if answer is None:
            if position.ends[-1:] != (batch.last,):
                await self._progress.move(position.waiting(batch.last))
            await self._pause()
            return
        self._answer = answer
        self._count("invoked", count)
        numbers = [record.number for record in batch.records]
        failed = None
        if answer.function_error is not None:
            failed = numbers[0]
        elif batch.window is not None and state_in(answer.payload) is None:
            self._warn_of_state()
            failed = numbers[0]
        elif self._reading.reports_failures:
            failed = first_failed(answer.payload, numbers)
        if failed is not None:
            await self._failed(stream, batch, numbers.index(failed))
            return
        self.counts.done += count
        self._pause_ms = _FIRST_PAUSE_MS
        await self._progress.move(position.done(batch.last, SUCCEEDED).within(self._window_after(batch, answer)))

    async def _invoked(self, batch: Batch) -> Invoked | None:
        """The answer of the consumer; `None` if it is throttled."""
        try:
            answer = await self._consumer.invoke(batch)
        except ApiError as refusal:
            if refusal.code != "TooManyRequestsException":
                raise
            self.counts.throttles += 1
            return None
        self.counts.invocations += 1
        return answer

    # -------------------------------------------------------------- tumbling windows

    async def _end_window(self, batch: Batch) -> None:
        """Have the final state of a window processed; nothing goes on before that has succeeded."""
        answer = await self._invoked(batch)
        if answer is not None and answer.function_error is None:
            if state_in(answer.payload) is not None:
                self._pause_ms = _FIRST_PAUSE_MS
                await self._progress.move(self._progress.position.done(batch.last, SUCCEEDED).within(None))
                return
            self._warn_of_state()
        if answer is not None:
            await self._progress.move(replace(self._progress.position, result=FAILED))
        await self._pause()

    def _window_after(self, batch: Batch, answer: Invoked) -> Window | None:
        """The window of a batch with the state that the function returned."""
        state = state_in(answer.payload) if batch.window is not None else None
        return replace(batch.window, state=state) if batch.window is not None and state is not None else batch.window

    def _warn_of_state(self) -> None:
        log.warning(
            "the function of %s has failed: with tumbling windows its answer must have a state", self._reading.name
        )

    async def _failed(self, stream: Stream, batch: Batch, place: int) -> None:
        """Plan the next attempt with the records from `place` on, or discard them."""
        position, settings = self._progress.position, self._settings
        left = batch.records[place:]
        self.counts.done += place
        self.counts.failed += len(left)
        self._count("failed_invoke", len(left))
        after = batch.records[place - 1].number if place else position.after
        # The state of a partial success has its records.
        window = self._window_after(batch, self._answer) if place and self._answer is not None else position.window
        if settings.bisects and len(left) > 1:
            middle = () if place else (left[(len(left) - 1) // 2].number,)
            await self._progress.move(position.split(after, (batch.last, *middle)).within(window))
        elif 0 <= settings.most_retries <= position.attempts:
            await self._discard(stream, left, batch.texts[place:], EXHAUSTED, position.attempts + 1)
            await self._progress.move(position.done(batch.last, FAILED).within(window))
        else:
            await self._progress.move(position.failed(after, batch.last).within(window))
            await self._pause()

    # -------------------------------------------------------------- discarding

    async def _discarded_old(self, stream: Stream, batch: Batch) -> bool:
        """Discard the records of a batch that are too old; False if there is none."""
        if self._settings.most_age_seconds < 0:
            return False
        limit_ms = self._clock.now_ms() - 1000 * self._settings.most_age_seconds
        count = sum(record.at_ms < limit_ms for record in batch.records)
        if not count:
            return False
        position = self._progress.position
        await self._discard(stream, batch.records[:count], batch.texts[:count], TOO_OLD, position.attempts)
        last = batch.records[count - 1].number if count < len(batch.records) else batch.last
        await self._progress.move(position.done(last, FAILED))
        return True

    async def _discard(
        self, stream: Stream, records: Sequence[StreamRecord], texts: Sequence[bytes], condition: str, attempts: int
    ) -> None:
        """Give records up, and report them."""
        self._pause_ms = _FIRST_PAUSE_MS
        self.counts.never_run += 0 if attempts else len(records)
        log.warning("%d records of %s are discarded by %s: %s", len(records), stream.arn, self._reading.name, condition)
        answer = self._answer if attempts else None
        try:
            await self._consumer.discard(Discarded(stream, records, texts, condition, attempts, answer))
        except ApiError as problem:
            log.warning("the report on %d records of %s is lost: %s", len(records), stream.arn, problem)

    def _count(self, name: str, many: int) -> None:
        if self._meter is not None:
            getattr(self._meter, name).add(many)
