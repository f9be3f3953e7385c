"""All streams of a server's tables: their catalogue, reading them, and deleting what is older than a day.

Owns which stream a table has. Records are added by `Stream.capture`, in the transactions of writes. A closed stream can
be read for a day, then its entry and its records are deleted.

Source: developer guide, "Change data capture for DynamoDB Streams"; Streams API reference.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from statewright.background import Spawn
from statewright.clock import Clock, Timer
from statewright.errors import ApiError
from statewright.stores.entries import Entries
from statewright.stores.store import Store
from statewright.stores.table_protocol import Change, Decision, Span, StoredItem
from statewright.tables.definitions import Definition
from statewright.tables.streams.iterators import EXPIRES_MS
from statewright.tables.streams.records import (
    KEEP_MS,
    PART,
    PER_MS,
    STREAM,
    StreamEntry,
    StreamRecord,
    number_at,
    number_of,
    read_record,
    record_place,
)
from statewright.tables.streams.stream import Stream

TRIM_EVERY_MS: Final = 3_600_000
STEP: Final = 500
MOST_READ: Final = 1_000
MOST_BYTES: Final = 1024 * 1024
"""Source of both: Streams API reference, GetRecords."""

Found = tuple[StreamRecord, int]
"""A record and its size in bytes."""


class Streams:
    """The streams of one store. Tables refer to the open ones."""

    def __init__(self, store: Store, clock: Clock, arns: str, spawn: Spawn) -> None:
        """`arns` is what ARNs of tables begin with."""
        self._entries = Entries(store.catalogue, STREAM)
        self._store = store.tables
        self._clock = clock
        self._arns = arns
        self._spawn = spawn
        self._streams: dict[str, Stream] = {}
        self._timer: Timer | None = None
        self._is_running = False
        self._trimming = asyncio.Lock()

    async def load(self) -> None:
        """Read every stream."""
        async for entry in self._entries.walk():
            self._add(entry, await self._newest(entry))

    def start(self) -> None:
        """Schedule the first trim, if there is a stream."""
        self._is_running = True
        self._plan()

    def stop(self) -> None:
        """Cancel the next trim."""
        self._is_running = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ------------------------------------------------------------------ the catalogue

    def all(self) -> list[Stream]:
        """Every stream, by table and label."""
        return [self._streams[arn] for arn in sorted(self._streams)]

    def readable(self) -> list[Stream]:
        """The streams that can be read, by table and label: those that are open, or were closed within the last day."""
        return [one for one in self.all() if not self._is_over(one.entry)]

    def of_table(self, name: str) -> list[Stream]:
        """The streams of tables of a name, the newest last."""
        return [one for one in self.all() if one.entry.table == name]

    def find(self, arn: str) -> Stream:
        """The stream of an ARN. Raises: ApiError (`ResourceNotFoundException`)."""
        found = self._streams.get(arn)
        if found is None or self._is_over(found.entry):
            raise ApiError("ResourceNotFoundException", f"Requested resource not found: Stream: {arn} not found")
        return found

    def new(self, table: Definition, space: int, view: str) -> StreamEntry:
        """A new stream of a table; its row is not written yet."""
        created_ms = self._clock.now_ms()
        known = {one.entry.label for one in self.of_table(table.name)}
        while _label(created_ms) in known:
            created_ms += 1
        return StreamEntry(table.name, _label(created_ms), space, view, table.hash, table.range, created_ms)

    def add(self, entry: StreamEntry) -> Stream:
        """Know a new stream, whose row was written."""
        return self._add(replace(entry, stored=1), entry.created_ms * PER_MS)

    def closed(self, stream: Stream) -> StreamEntry:
        """The entry of a stream that gets no more records; its row is not written yet."""
        now_ms = self._clock.now_ms()
        return replace(stream.entry, closed_ms=now_ms, ending=number_of(max(stream.newest, now_ms * PER_MS)))

    def close(self, stream: Stream, entry: StreamEntry) -> None:
        """Know that a stream is closed; the row of its entry was written."""
        stream.entry = replace(entry, stored=entry.stored + 1)
        stream.wake()

    def _add(self, entry: StreamEntry, newest: int) -> Stream:
        stream = Stream(entry, f"{self._arns}{entry.table}/stream/{entry.label}", newest, self._clock)
        self._streams[stream.arn] = stream
        self._plan()
        return stream

    async def _newest(self, entry: StreamEntry) -> int:
        found = await self._store.span(Span(entry.space, PART), limit=1, backward=True)
        return max(entry.created_ms * PER_MS, *(int(read_record(one).number) for one in found), 0)

    # ------------------------------------------------------------------ reading

    def horizon(self, stream: Stream) -> str:
        """The least sequence number that can still be read."""
        return number_at(max(stream.entry.created_ms, self._clock.now_ms() - KEEP_MS))

    async def read(
        self, stream: Stream, after: str, limit: int = MOST_READ, most_bytes: int = MOST_BYTES
    ) -> list[Found]:
        """Records behind a sequence number, the oldest ones with an empty one; at least one, if there is any.

        Raises: ApiError (`TrimmedDataAccessException`) if one of them was older than a day.
        """
        horizon = self.horizon(stream)
        low = after + "0" if after else horizon
        found: list[Found] = []
        size = 0
        while len(found) < limit and size < most_bytes:
            step = min(limit - len(found), STEP)
            rows = await self._store.span(Span(stream.entry.space, PART, low.encode()), limit=step)
            for row in rows:
                size += len(row.body)
                if found and size > most_bytes:
                    break
                found.append((read_record(row), row.size))
            if len(rows) < step:
                break
            low = found[-1][0].number + "0"
        if found and found[0][0].number < horizon:
            raise trimmed()
        return found

    # ------------------------------------------------------------------ trimming

    def _plan(self) -> None:
        if self._timer is None and self._is_running and self._streams:
            self._timer = self._clock.call_at(self._clock.now_ms() + TRIM_EVERY_MS, self._due)

    def _due(self) -> None:
        self._timer = None
        if self._is_running:
            self._spawn(self._round())

    async def _round(self) -> None:
        try:
            await self.trim()
        finally:
            self._plan()

    async def trim(self) -> None:
        """Delete the records that no iterator can reach any more, and the streams that were closed a day ago."""
        async with self._trimming:
            for stream in self.all():
                if self._is_over(stream.entry):
                    while await self._store.clear(stream.entry.space, STEP) == STEP:
                        pass
                    await self._entries.delete(stream.entry)
                    del self._streams[stream.arn]
                    stream.wake()
                else:
                    await self._trim(stream.entry.space)

    async def _trim(self, space: int) -> None:
        high = number_at(self._clock.now_ms() - KEEP_MS - EXPIRES_MS).encode()
        while True:
            rows = await self._store.span(Span(space, PART, b"", high), limit=STEP)
            if rows:
                await self._store.change(_dropping(space, rows))
            if len(rows) < STEP:
                return

    def _is_over(self, entry: StreamEntry) -> bool:
        return entry.closed_ms is not None and self._clock.now_ms() - entry.closed_ms > KEEP_MS


def trimmed() -> ApiError:
    """The refusal to read what is older than a day."""
    return ApiError("TrimmedDataAccessException", "The data you are trying to access has been trimmed")


def _dropping(space: int, rows: Sequence[StoredItem]) -> Change:
    places = {record_place(space, read_record(row).number) for row in rows}
    return Change([], lambda _: Decision(drops=set(places)))


def _label(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03d}"
