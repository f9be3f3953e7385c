"""Streams in virtual time: what is kept for a day, what iterators may still do, and waking readers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from statewright.errors import ApiError
from statewright.tables.expiry import SCAN_EVERY_MS
from statewright.tables.streams.iterators import EXPIRES_MS, Iterator, read_iterator
from statewright.tables.streams.records import KEEP_MS, RECORD, StreamRecord, record_body
from statewright.tables.streams.stream import Stream
from statewright.tables.streams.streams import TRIM_EVERY_MS
from statewright.tables.writes import delete_of, put_of
from tests.unit.tables.rig import Rig, new_table, play_on

REQUEST = new_table("pets", "NEW_AND_OLD_IMAGES")


class Pets(Rig):
    """A table with a stream."""

    @property
    def stream(self) -> Stream:
        found = self.table.stream
        assert found is not None
        return found

    async def put(self, name: str, **more: Any) -> None:
        await self.tables.write(put_of(self.table, {"Item": {"id": {"S": name}, **more}}))

    async def read(self, after: str = "") -> list[StreamRecord]:
        return [record for record, _ in await self.tables.streams.read(self.stream, after)]

    async def names(self, after: str = "") -> list[str]:
        return [record.keys["id"]["S"] for record in await self.read(after)]

    def rows(self) -> int:
        return sum(key.space == self.stream.entry.space for key in self.store.tables.items)


def play(body: Callable[[Pets], Awaitable[None]]) -> None:
    play_on(Pets, REQUEST, body)


def test_records_are_kept_for_a_day():
    async def body(rig: Pets) -> None:
        await rig.put("first")
        (first,) = await rig.read()
        await rig.pass_time(KEEP_MS // 2)
        await rig.put("second")
        await rig.pass_time(KEEP_MS // 2 - 1)
        assert await rig.names() == ["first", "second"]
        assert await rig.names(first.number) == ["second"]
        await rig.pass_time(EXPIRES_MS)
        assert await rig.names() == ["second"]
        assert await rig.names(first.number) == ["second"]
        with pytest.raises(ApiError) as caught:
            await rig.read("0" * 21)
        assert caught.value.code == "TrimmedDataAccessException"
        await rig.pass_time(2 * TRIM_EVERY_MS)
        assert rig.rows() == 1
        await rig.pass_time(KEEP_MS)
        assert rig.rows() == 0
        # A reader that has read everything is not refused, however long nothing changed.
        assert await rig.names(first.number) == []

    play(body)


def test_a_closed_stream_can_be_read_for_a_day_even_without_its_table():
    async def body(rig: Pets) -> None:
        await rig.put("only")
        stream = rig.stream
        await rig.tables.delete(rig.table)
        await rig.restart()
        found = rig.tables.streams.find(stream.arn)
        assert found.entry.ending is not None
        assert len(await rig.tables.streams.read(found, "")) == 1
        await rig.tables.create(REQUEST)
        assert rig.stream.arn != stream.arn
        await rig.pass_time(KEEP_MS + 2 * TRIM_EVERY_MS)
        with pytest.raises(ApiError, match="not found"):
            rig.tables.streams.find(stream.arn)
        assert [one.arn for one in rig.tables.streams.all()] == [rig.stream.arn]
        assert not [key for key in rig.store.tables.items if key.space == stream.entry.space]
        await rig.restart()
        assert [one.arn for one in rig.tables.streams.all()] == [rig.stream.arn]
        assert rig.table.latest_stream is rig.stream

    play(body)


def test_the_deletion_of_an_expired_item_names_the_service():
    async def body(rig: Pets) -> None:
        await rig.tables.expiry.switch(rig.table, "until", enabled=True)
        await rig.put("gone", until={"N": str(rig.clock.now_ms() // 1000 + 1)})
        await rig.put("deleted")
        await rig.tables.write(delete_of(rig.table, {"Key": {"id": {"S": "deleted"}}}))
        await rig.pass_time(2 * SCAN_EVERY_MS)
        found = [(one.kind, one.keys["id"]["S"], one.by_expiry) for one in await rig.read()]
        assert found == [
            ("INSERT", "gone", False),
            ("INSERT", "deleted", False),
            ("REMOVE", "deleted", False),
            ("REMOVE", "gone", True),
        ]

    play(body)


def test_sequence_numbers_ascend_after_a_restart_with_a_clock_that_was_set_back():
    async def body(rig: Pets) -> None:
        await rig.put("first")
        newest = rig.stream.newest
        ahead = rig.stream.newest = newest + 10**15
        await rig.put("second")
        await rig.restart()
        assert rig.stream.newest == ahead + 1
        await rig.put("third")
        assert rig.stream.newest == ahead + 2
        assert await rig.names() == ["first", "second", "third"]

    play(body)


def test_a_reader_is_woken_by_writes():
    async def body(rig: Pets) -> None:
        reader = asyncio.ensure_future(rig.stream.changed_since(rig.stream.changes))
        await asyncio.sleep(0)
        assert not reader.done()
        await rig.put("first")
        await reader
        seen = rig.stream.changes
        await rig.put("second")
        # It is not lost although no reader was waiting.
        await rig.stream.changed_since(seen)

    play(body)


def test_an_iterator_expires():
    place = Iterator("arn:x", "1" * 21, 1_000)
    assert read_iterator(place.text(), 1_000 + EXPIRES_MS) == place
    with pytest.raises(ApiError) as caught:
        read_iterator(place.text(), 1_001 + EXPIRES_MS)
    assert caught.value.code == "ExpiredIteratorException"


def test_the_text_of_a_record_is_its_format():
    record = StreamRecord("1" * 21, "MODIFY", 5, True, {"id": {"S": '"'}}, {"id": {"S": '"'}}, None)
    body = record_body(
        record.number, record.kind, 5, '{"id":{"S":"\\""}}', ('{"id":{"S":"\\""}}', "null"), by_expiry=True
    )
    assert body.encode() == RECORD.write(record)
    assert RECORD.read(body.encode()) == record
