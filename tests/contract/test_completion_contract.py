"""What every store does with completions: an outbox row changes with the effect that it asked for, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from statewright.errors import ApiError
from statewright.stores.completion import Completion, adapted, completed, if_made
from statewright.stores.object_rows import (
    IN_ROW,
    IN_SEGMENTS,
    BucketRow,
    Deletion,
    Demand,
    ObjectRow,
    UploadRow,
    Written,
    if_written,
)
from statewright.stores.protocol import Committed, EntryRow, OutboxRow
from statewright.stores.queue_protocol import MessageRow, Once
from statewright.stores.store import Store
from statewright.stores.table_protocol import Change, Decision, ItemKey, StoredItem
from tests.contract.stores import START_MS, start, step

EXECUTION = 1
ASKED = OutboxRow(1, EXECUTION, "task", b"asked")
OTHER = OutboxRow(2, EXECUTION, "task", b"other")
ANYHOW = Demand()
ITEM = StoredItem(2, "{}")
KEY = ItemKey(1, b"p", b"s")

Act = Callable[[Store, Completion[Any]], Awaitable[object]]


def telling(outbox: int = 1) -> Completion[Any]:
    """Completes a row with what the store gives it."""
    return Completion(outbox, lambda outcome: repr(outcome).encode())


def message(number: int, **more: Any) -> MessageRow:
    return MessageRow(number, 3, START_MS, START_MS, None, None, "body", None, **more)


def thing(key: bytes = b"k", number: int = 10, place: int = IN_ROW) -> ObjectRow:
    return ObjectRow(1, key, number, 3, 7, "e", place, b"head")


def entry(key: str = "k", version: int = 1) -> EntryRow:
    return EntryRow("kind", key, "", 0, version, b"{}")


async def stand(store: Store) -> None:
    await store.executions.commit(start(EXECUTION, outbox=[ASKED, OTHER]))
    await store.objects.put_bucket(BucketRow(1, "bucket", 5, b"{}"))
    await store.objects.put(thing(b"old", 5), b"abc", ANYHOW)
    await store.uploads.create(UploadRow(50, 1, b"up", 5, b"head"))
    await store.catalogue.write([entry("old")])
    await store.queues.send([message(1)])


async def rows(store: Store) -> dict[int, bytes]:
    outbox, _ = await store.executions.pending(0)
    return {row.id: row.body for row in outbox}


WRITES: dict[str, tuple[Act, object]] = {
    "send": (lambda store, done: store.queues.send([message(7), message(8)], (), done), [7, 8]),
    "send once": (lambda store, done: store.queues.send([], [Once(9, -1, "k", START_MS, START_MS + 9)], done), [9]),
    "hide": (lambda store, done: store.queues.hide([(1, START_MS + 5)], (), done), None),
    "change": (
        lambda store, done: store.tables.change(Change([KEY], lambda _: Decision("answer", {KEY: ITEM}), done)),
        "answer",
    ),
    "put": (lambda store, done: store.objects.put(thing(), b"abc", ANYHOW, (), done), Written()),
    "delete": (lambda store, done: store.objects.delete(1, [Deletion(b"old", ANYHOW)], (), done), [Written()]),
    "create upload": (lambda store, done: store.uploads.create(UploadRow(51, 1, b"u", 5, b""), done), True),
    "complete upload": (
        lambda store, done: store.uploads.complete(thing(b"up", 50, IN_SEGMENTS), [], ANYHOW, (), done),
        Written(),
    ),
    "abort upload": (lambda store, done: store.uploads.abort(50, done), Written()),
    "write": (lambda store, done: store.catalogue.write([entry()], (), done), True),
    "start": (
        lambda store, _: store.executions.commit(start(9, completed=[(1, b"Committed(version=1)")])),
        Committed(1),
    ),
    "step": (
        lambda store, _: store.executions.commit(step(start(EXECUTION), 1, completed=[(1, b"Committed(version=2)")])),
        Committed(2),
    ),
    "erase": (lambda store, done: store.catalogue.write([], [("kind", "old")], done), True),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_completes_the_row_that_asked_for_it(with_store, name):
    act, outcome = WRITES[name]

    async def body(store: Store) -> None:
        await stand(store)
        assert await act(store, telling()) == outcome
        assert await rows(store) == {1: repr(outcome).encode(), 2: b"other"}
        assert await store.executions.sent(1) == OutboxRow(1, EXECUTION, "task", repr(outcome).encode())
        assert await store.executions.sent(3) is None

    with_store(body)


def test_writes_of_one_group_complete_their_own_rows(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        first = store.queues.send([message(7)], (), telling(1))
        change = store.tables.change(Change([KEY], lambda _: Decision("new", {KEY: ITEM}), telling(2)))
        await asyncio.gather(first, change, store.queues.send([message(8)]))
        assert await rows(store) == {1: b"[7]", 2: b"'new'"}

    with_store(body)


def refuse(_found: object) -> Decision:
    raise ApiError("Refused", "no")


REFUSED: dict[str, Act] = {
    "change": lambda store, done: store.tables.change(Change([KEY], refuse, done)),
    "put": lambda store, done: store.objects.put(
        thing(b"old"), b"abc", Demand(absent=True), (), if_written(done, "put")
    ),
    "put nowhere": lambda store, done: store.objects.put(
        ObjectRow(9, b"k", 10, 3, 7, "e", IN_ROW, b""), b"abc", ANYHOW, (), if_written(done, "put")
    ),
    "create upload": lambda store, done: store.uploads.create(UploadRow(51, 9, b"u", 5, b""), if_made(done, "upload")),
    "complete upload": lambda store, done: store.uploads.complete(
        thing(b"up", 77, IN_SEGMENTS), [], ANYHOW, (), if_written(done, "whole")
    ),
    "abort upload": lambda store, done: store.uploads.abort(77, if_written(done, True)),
    "start": lambda store, _: store.executions.commit(start(9, f"run-{EXECUTION}", completed=[(1, b"started")])),
    "step": lambda store, _: store.executions.commit(step(start(EXECUTION), 7, completed=[(1, b"stepped")])),
    "write": lambda store, done: store.catalogue.write([entry("old")], (), if_made(done, "entry")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_write_that_changes_nothing_completes_nothing(with_store, name):
    async def body(store: Store) -> None:
        await stand(store)
        with suppress(ApiError):
            await REFUSED[name](store, telling())
        assert await rows(store) == {1: b"asked", 2: b"other"}

    with_store(body)


def test_a_row_that_is_gone_stays_gone(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await store.executions.commit(step(start(EXECUTION), 1, outbox_done=[1]))
        assert await store.queues.send([message(7)], (), telling()) == [7]
        assert await rows(store) == {2: b"other"}
        assert await store.executions.sent(1) is None

    with_store(body)


def test_a_completed_row_goes_with_the_commit_that_takes_its_answer(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        await store.queues.send([message(7)], (), telling())
        await store.executions.commit(step(start(EXECUTION), 1, outbox_done=[1, 2]))
        assert await rows(store) == {}

    with_store(body)


def test_a_write_that_fails_leaves_its_row_alone(with_store):
    async def body(store: Store) -> None:
        await stand(store)
        first = store.queues.send([message(1)], (), telling(1))
        answers = await asyncio.gather(first, store.queues.send([message(7)], (), telling(2)), return_exceptions=True)
        assert isinstance(answers[0], Exception)
        assert await rows(store) == {1: b"asked", 2: b"[7]"}

    with_store(body)


def test_completions_of_layers_are_made_of_one_another():
    whole: Completion[str] = Completion(5, str.encode)

    def text(number: int) -> str | None:
        return f"number {number}" if number else None

    of_number = adapted(whole, text)
    assert completed([(of_number, 7), (None, 8), (of_number, 0), (of_number, ValueError())]) == [(5, b"number 7")]
    assert adapted(None, str) is None
