"""What every store must do with the messages of queues."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from statewright.errors import Unavailable
from statewright.stores import sql_queues
from statewright.stores.queue_protocol import (
    Claim,
    Claimed,
    Gone,
    GroupChange,
    Held,
    LoadedQueue,
    MessageRow,
    Move,
    Note,
    Once,
    Want,
)
from statewright.stores.store import Store
from tests.contract.stores import START_MS

QUEUE, OTHER = 3, 4
LATER = START_MS + 30_000


def message(number: int, *, queue: int = QUEUE, after_ms: int = 0, **more: Any) -> MessageRow:
    """A message sent at the start and visible so much later."""
    given = {"group": None, "tenant": None, "body": f"body {number}", "extra": None} | more
    return MessageRow(number, queue, START_MS + after_ms, START_MS, **given)


def claim(*most: int, at_ms: int = START_MS, until_ms: int = LATER, receipt: int = 77, **more: Any) -> Claim:
    return Claim(QUEUE, at_ms, receipt, [Want(many, until_ms) for many in most], **more)


def ids(found: list[list[Claimed]]) -> list[list[int]]:
    return [[row.id for row in rows] for rows in found]


async def fifo_ids(store: Store, *most: int, at_ms: int = START_MS) -> list[list[int]]:
    return ids(await store.queues.claim(claim(*most, at_ms=at_ms, is_fifo=True)))


def test_a_message_is_received_with_all_it_has(with_store):
    async def body(store: Store) -> None:
        text = 'quotes " and \\ and \n, \u00e9\U0001f600'
        assert await store.queues.send([message(5, body=text, extra='["x",null]', tenant="t")]) == [5]
        [[row]] = await store.queues.claim(claim(10))
        assert row == Claimed(5, 1, 0, START_MS, START_MS, START_MS, None, "t", None, text, '["x",null]')
        assert await store.queues.claim(claim(10)) == [[]]
        [[again]] = await store.queues.claim(claim(10, at_ms=LATER, until_ms=LATER + 1))
        assert (again.receives, again.first_received_ms, again.was_visible_ms) == (2, START_MS, LATER)

    with_store(body)


def test_the_oldest_visible_messages_come_first_and_are_dealt_out_in_turn(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([message(number, after_ms=-number) for number in range(1, 9)])
        await store.queues.send([message(20, after_ms=1), message(21, queue=OTHER)])
        assert ids(await store.queues.claim(claim(3, 1, 9))) == [[8, 7, 6], [5], [4, 3, 2, 1]]

    with_store(body)


def test_receives_of_one_claim_may_hide_for_different_times(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([message(1), message(2)])
        wants = [Want(1, START_MS + 10), Want(1, START_MS + 20)]
        await store.queues.claim(Claim(QUEUE, START_MS, 1, wants))
        assert ids(await store.queues.claim(claim(9, at_ms=START_MS + 10))) == [[1]]
        assert ids(await store.queues.claim(claim(9, at_ms=START_MS + 20))) == [[2]]

    with_store(body)


def test_many_at_once_get_each_message_once(with_store):
    async def body(store: Store) -> None:
        batches = [[message(100 * batch + number) for number in range(10)] for batch in range(1, 31)]
        sent = await asyncio.gather(*[store.queues.send(batch) for batch in batches])
        found = await asyncio.gather(*[store.queues.claim(claim(7, receipt=n)) for n in range(60)])
        received = [row.id for rows in found for one in rows for row in one]
        assert sorted(received) == sorted(number for batch in sent for number in batch)
        await asyncio.gather(*[store.queues.drop([number]) for number in received])
        assert (await store.queues.load(QUEUE, START_MS)).total == 0

    with_store(body)


def test_deletion_by_proof_needs_the_last_receipt(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([message(1), message(2)])
        await store.queues.claim(claim(2, receipt=11, until_ms=START_MS + 1))
        await store.queues.claim(claim(1, receipt=12, at_ms=START_MS + 1))
        assert await store.queues.drop([], proofs=[(1, 11), (2, 11), (2, 11), (9, 0)]) == [
            Gone(2, 1, START_MS + 1, None)
        ]
        assert [held.id for held in await store.queues.get([1, 2])] == [1]

    with_store(body)


def test_hiding_and_showing(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([message(1), message(2)])
        await store.queues.claim(claim(2))
        await store.queues.hide([(1, LATER + 5), (2, START_MS + 3), (9, 1)])
        assert ids(await store.queues.claim(claim(9, at_ms=START_MS + 3))) == [[2]]
        assert ids(await store.queues.claim(claim(9, at_ms=LATER + 5))) == [[2, 1]]

    with_store(body)


def test_hiding_again_needs_the_last_receipt(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([message(1), message(2)])
        await store.queues.claim(claim(2, receipt=11, until_ms=START_MS + 1))
        await store.queues.claim(claim(1, receipt=12, at_ms=START_MS + 1))
        again = [(1, 11, LATER), (2, 11, LATER + 5), (9, 0, LATER)]
        assert await store.queues.hide_again(again) == [2]
        assert await store.queues.hide_again([]) == []
        assert [held.visible_ms for held in await store.queues.get([2])] == [LATER + 5]
        assert ids(await store.queues.claim(claim(9, at_ms=LATER + 4, until_ms=2 * LATER))) == [[1]]
        assert ids(await store.queues.claim(claim(9, at_ms=LATER + 5))) == [[2]]

    with_store(body)


def test_what_a_queue_has(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([message(1), message(2), message(3, after_ms=50), message(4, after_ms=50)])
        await store.queues.send([message(5, queue=OTHER)])
        await store.queues.claim(claim(1, receipt=8))
        loaded = await store.queues.load(QUEUE, START_MS)
        expected = LoadedQueue(4, [Held(1, LATER, 8, 1, START_MS, None, None)], [START_MS + 50, START_MS + 50])
        assert loaded == expected
        assert (await store.queues.load(QUEUE, START_MS + 50)).delayed == []
        assert [row.receives for row in await store.queues.peek(QUEUE, 9)] == [0, 0, 0, 1]
        assert [row.id for row in await store.queues.peek(QUEUE, 2)] == [2, 3]

    with_store(body)


def test_expiry_goes_by_visibility_in_steps(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([message(number, after_ms=number) for number in range(1, 8)])
        assert [one.id for one in await store.queues.expire(QUEUE, START_MS + 6, 3)] == [1, 2, 3]
        assert [one.id for one in await store.queues.expire(QUEUE, START_MS + 6, 3)] == [4, 5]
        assert (await store.queues.load(QUEUE, START_MS)).total == 2

    with_store(body)


# FIFO


def fifo(number: int, group: str, **more: Any) -> MessageRow:
    return message(number, group=group, **more)


def test_a_group_is_received_in_order_and_then_locked(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([fifo(1, "a"), fifo(2, "b"), fifo(3, "a"), fifo(4, "b"), fifo(5, "c")])
        # Each receive has groups of its own.
        assert await fifo_ids(store, 1, 3, 5) == [[1], [2, 4, 5], []]
        assert await fifo_ids(store, 5) == [[]]
        await store.queues.drop([1], [GroupChange(QUEUE, "a", 1, START_MS)])
        assert await fifo_ids(store, 5) == [[3]]

    with_store(body)


def test_a_group_stays_locked_until_the_time_it_was_given(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([fifo(1, "a"), fifo(2, "a"), fifo(3, "a")])
        assert await fifo_ids(store, 2) == [[1, 2]]
        await store.queues.hide([(1, START_MS)], [GroupChange(QUEUE, "a", 0, LATER)])
        assert await fifo_ids(store, 9) == [[]]
        assert await fifo_ids(store, 9, at_ms=LATER) == [[1, 2, 3]]

    with_store(body)


def test_a_group_is_free_once_its_first_message_is_visible(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([fifo(1, "a"), fifo(2, "a"), fifo(3, "a")])
        assert await fifo_ids(store, 2) == [[1, 2]]
        await store.queues.hide([(1, START_MS + 5)], [GroupChange(QUEUE, "a", 0, START_MS)])
        assert await fifo_ids(store, 9, at_ms=START_MS + 4) == [[]]
        assert await fifo_ids(store, 9, at_ms=START_MS + 5) == [[1]]
        await store.queues.drop([1], [GroupChange(QUEUE, "a", 1, START_MS)])
        assert await fifo_ids(store, 9, at_ms=LATER - 1) == [[]]
        assert await fifo_ids(store, 9, at_ms=LATER) == [[2, 3]]

    with_store(body)


def test_a_delayed_message_holds_its_group_back(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([fifo(1, "a", after_ms=10), fifo(2, "a")])
        assert await fifo_ids(store, 9) == [[]]
        assert await fifo_ids(store, 9, at_ms=START_MS + 10) == [[1, 2]]

    with_store(body)


def test_a_group_that_ran_empty_begins_anew(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([fifo(1, "a")])
        assert await fifo_ids(store, 9) == [[1]]
        await store.queues.drop([1], [GroupChange(QUEUE, "a", 1, START_MS)])
        await store.queues.send([fifo(2, "a")])
        await store.queues.expire(QUEUE, START_MS + 1, 9)
        await store.queues.send([fifo(3, "a")])
        assert await fifo_ids(store, 9) == [[3]]
        assert await store.queues.drop([], proofs=[(3, 77)]) == [Gone(3, 1, LATER, "a")]
        await store.queues.send([fifo(4, "a")])
        assert await fifo_ids(store, 9) == [[4]]

    with_store(body)


def test_a_duplicate_is_told_the_first_message(with_store):
    async def body(store: Store) -> None:
        def one(number: int, key: str, **more: Any) -> MessageRow:
            until_ms = START_MS + 300
            return fifo(number, "g", dedup_queue=QUEUE, dedup=key, dedup_until_ms=until_ms, **more)

        assert await store.queues.send([one(1, "x"), one(2, "y"), one(3, "x")]) == [1, 2, 1]
        both = await asyncio.gather(store.queues.send([one(4, "y")]), store.queues.send([one(5, "z")]))
        assert list(both) == [[2], [5]]
        await store.queues.drop([1, 2], [GroupChange(QUEUE, "g", 2, START_MS)])
        assert await store.queues.send([one(6, "x")]) == [1]
        late = one(7, "x")._replace(sent_ms=START_MS + 300, dedup_until_ms=START_MS + 600)
        assert await store.queues.send([late]) == [7]
        await store.queues.forget(START_MS + 300, 0)
        assert await store.queues.send([one(8, "x"), one(9, "z")]) == [7, 9]
        assert (await store.queues.load(QUEUE, START_MS)).total == 3

    with_store(body)


def test_overdue_messages_take_their_places_of_their_receive(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([message(1), message(2)])
        assert ids(await store.queues.claim(claim(1, until_ms=START_MS + 10))) == [[1]]
        assert ids(await store.queues.claim(claim(1, until_ms=LATER))) == [[2]]
        await store.queues.send([message(3, after_ms=5)])
        # The second is still in flight; one that is gone is no mistake.
        overdue = Claim(
            QUEUE, START_MS + 20, 8, [Want(9, LATER)], overdue=[(1, START_MS), (2, START_MS), (99, START_MS)]
        )
        [[first, second]] = await store.queues.claim(overdue)
        assert (first.id, first.receives, second.id) == (1, 2, 3)
        assert ids(await store.queues.claim(claim(9, at_ms=LATER - 1))) == [[]]

    with_store(body)


# Moving


def test_a_dead_letter_keeps_its_id_and_all_receives_but_the_one_that_found_it(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([message(1), message(2)])
        await store.queues.claim(claim(1, until_ms=START_MS))
        await store.queues.claim(claim(2))
        arn = "arn:aws:sqs:us-east-1:000000000000:source"
        await store.queues.move([Move(1, 1, QUEUE, OTHER, None, START_MS + 5, START_MS, arn)])
        # From a queue where it is not, nothing moves.
        await store.queues.move([Move(2, 2, OTHER, QUEUE, None, START_MS, START_MS, arn)])
        [[row]] = await store.queues.claim(Claim(OTHER, START_MS + 5, 1, [Want(9, LATER)]))
        assert (row.id, row.receives, row.base, row.source, row.sent_ms) == (1, 2, 1, arn, START_MS)
        assert row.first_received_ms == START_MS
        assert (await store.queues.load(QUEUE, START_MS)).total == 1

    with_store(body)


def test_a_move_back_makes_a_new_message(with_store):
    async def body(store: Store) -> None:
        await store.queues.send([fifo(1, "g", extra="[1]")])
        await fifo_ids(store, 1)
        move = Move(1, 9, QUEUE, OTHER, "g", START_MS + 5, START_MS + 5, None, is_fresh=True, extra="[2]")
        await store.queues.move([move], [GroupChange(QUEUE, "g", 1, START_MS)])
        other = Claim(OTHER, START_MS + 5, 1, [Want(9, LATER)], True)
        [[row]] = await store.queues.claim(other)
        assert (row.id, row.receives, row.base, row.sent_ms, row.extra) == (9, 1, 0, START_MS + 5, "[2]")
        assert (row.body, row.first_received_ms) == ("body 1", START_MS + 5)
        assert await fifo_ids(store, 9, at_ms=LATER) == [[]]

    with_store(body)


# Fair queues


def test_noisy_tenants_come_after_all_others(with_store):
    async def body(store: Store) -> None:
        loud = [message(number, tenant="loud") for number in range(1, 500)]
        await store.queues.send(loud)
        await store.queues.send([message(600, tenant="a"), message(601, tenant="z"), message(602, tenant="m")])
        chosen = ids(await store.queues.claim(claim(2, noisy=["loud"], after_tenant="b")))
        assert [sorted(one) for one in chosen] in ([[601, 602]], [[600, 601]])
        last = ids(await store.queues.claim(claim(3, noisy=["loud"])))[0]
        assert len(last) == 3
        assert [number for number in last if number >= 600] == [({600, 601, 602} - set(chosen[0])).pop()]

    with_store(body)


# Notes, and stores that are closed


def test_notes_are_kept_until_they_are_forgotten(with_store):
    async def body(store: Store) -> None:
        notes = [Note(5, START_MS, "returned", "why"), Note(5, START_MS + 1, "received", "receive 2")]
        await store.queues.note([*notes, Note(8, 1, "moved", "x")])
        assert await store.queues.trail(5) == notes
        await store.queues.forget(START_MS, 8)
        assert await store.queues.trail(5) == []
        assert len(await store.queues.trail(8)) == 1

    with_store(body)


def test_many_notes_and_deduplications_are_forgotten_in_steps(with_store, monkeypatch):
    monkeypatch.setattr(sql_queues, "_FORGET_STEP", 3)

    async def body(store: Store) -> None:
        await store.queues.note([Note(number, START_MS, "moved", "x") for number in range(1, 9)])
        rows = [
            fifo(number, "g", dedup_queue=QUEUE, dedup=f"d{number}", dedup_until_ms=START_MS + 1)
            for number in range(1, 6)
        ]
        await store.queues.send(rows)
        await store.queues.forget(START_MS + 1, 8)
        assert [number for number in range(1, 10) if await store.queues.trail(number)] == [8]
        again = [row._replace(id=row.id + 10, sent_ms=START_MS) for row in rows]
        assert await store.queues.send(again) == [row.id for row in again]

    with_store(body)


def test_messages_survive_closing(make_store):
    async def body() -> None:
        store = make_store()
        await store.open("one")
        await store.queues.send([message(1), message(2)])
        await store.queues.claim(claim(1, receipt=5))
        assert await store.newest_id(0) == 2
        await store.close()
        with pytest.raises(Unavailable):
            await store.queues.send([message(3)])
        if "Memory" in type(store).__name__:
            again = store
        else:
            again = make_store()
        await again.open("two")
        assert [held.receipt for held in (await again.queues.load(QUEUE, START_MS)).held] == [5]
        assert ids(await again.queues.claim(claim(9))) == [[2]]
        await again.close()

    asyncio.run(body())


def test_rows_that_hang_on_something_that_happened_are_not_sent(with_store):
    async def body(store: Store) -> None:
        def once(number: int, *, key: str = "k", queue: int = -7, at_ms: int = START_MS) -> Once:
            return Once(number, queue, key, at_ms, at_ms + 1_000)

        first = [message(11, once=10), message(12, queue=OTHER, once=10)]
        assert await store.queues.send(first, [once(10)]) == [11, 12, 10]
        # The second of its kind, within the time: only the row that hangs on nothing is sent.
        again = [message(21, once=20), message(22)]
        assert await store.queues.send(again, [once(20)]) == [0, 22, 10]
        # Another key, another topic, and the same key when its time is over.
        assert await store.queues.send([message(31, once=30)], [once(30, key="other")]) == [31, 30]
        assert await store.queues.send([message(41, once=40)], [once(40, queue=-8)]) == [41, 40]
        late = [message(51, once=50)]
        assert await store.queues.send(late, [once(50, at_ms=START_MS + 1_000)]) == [51, 50]
        # Two of a kind in one call, and one without any row.
        twice = [message(62, once=60), message(63, once=61)]
        assert await store.queues.send(twice, [once(60, key="t"), once(61, key="t")]) == [62, 0, 60, 60]
        assert await store.queues.send([], [once(70, key="none")]) == [70]
        assert await store.queues.send([], [once(71, key="none")]) == [70]
        assert [len(found) for found in await store.queues.claim(claim(100))] == [6]

    with_store(body)


def test_a_row_may_hang_on_something_and_have_a_deduplication_of_its_own(with_store):
    async def body(store: Store) -> None:
        fifo: dict[str, Any] = {"group": "g", "dedup_queue": QUEUE, "dedup": "d", "dedup_until_ms": START_MS + 1_000}
        once = Once(1, -7, "k", START_MS, START_MS + 1_000)
        assert await store.queues.send([message(2, **fifo, once=1)], [once]) == [2, 1]
        other = Once(3, -7, "l", START_MS, START_MS + 1_000)
        assert await store.queues.send([message(4, **fifo, once=3)], [other]) == [2, 3]

    with_store(body)
