"""A function that consumes the records of a stream, and the reports on those that its mapping discards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from statewright import chance
from statewright.functions.event_sources.batches import event_of
from statewright.functions.event_sources.records import MappingRecord
from statewright.functions.event_sources.streams.events import Discarded, report_for_bucket, report_key, report_on
from statewright.functions.event_sources.streams.poller import Batch, Reading
from statewright.functions.functions import Functions
from statewright.functions.outcomes import Invoked
from statewright.payload import dump_json

Report = Callable[[str, bytes, str], Awaitable[None]]
"""Delivers a report to a queue, topic or bucket by ARN; the text is its key in a bucket. Raises: ApiError."""


def reading_of(mapping: MappingRecord, region: str) -> Reading:
    """How a mapping of a stream reads it."""
    assert mapping.stream is not None
    return Reading(
        name=f"the mapping {mapping.uuid}",
        source_arn=mapping.source_arn,
        region=region,
        settings=mapping.stream,
        filters=mapping.filters,
        batch_size=mapping.batch_size,
        window_seconds=mapping.window_seconds,
        reports_failures=mapping.reports_failures,
    )


class FunctionConsumer:
    """See `Consumer`."""

    def __init__(self, mapping: MappingRecord, functions: Functions, report: Report) -> None:
        self._mapping = mapping
        self._functions = functions
        self._report = report

    async def invoke(self, batch: Batch) -> Invoked:
        """See `Consumer.invoke`."""
        meter = self._functions.invoker.concurrency.meter
        if meter is not None and batch.records:
            age_ms = self._functions.clock.now_ms() - batch.records[-1].at_ms
            meter.event(self._mapping.function_arn.split(":")[6], "IteratorAge", age_ms, "Milliseconds")
        return await self._functions.invoke(self._mapping.function_arn, event_of(batch.texts, batch.more))

    async def discard(self, given: Discarded) -> None:
        """See `Consumer.discard`."""
        target = self._mapping.stream.on_failure if self._mapping.stream is not None else ""
        if not target:
            return
        now_ms, name = self._functions.clock.now_ms(), chance.uuid4()
        report = report_on(given, self._mapping.function_arn, now_ms, name)
        is_bucket = target.split(":")[2] == "s3"
        body = report_for_bucket(report, event_of(given.texts)) if is_bucket else dump_json(report).encode()
        await self._report(target, body, report_key(given, self._mapping.uuid, now_ms, name))
