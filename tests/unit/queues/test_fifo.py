from __future__ import annotations

import asyncio
from dataclasses import replace

import orjson
import pytest

from statewright.errors import ApiError
from statewright.queues.entries import QUEUE, QueueEntry
from statewright.queues.messages import Outgoing
from tests.unit.queues.running import MINUTE, SECOND, Rig, play


def test_groups_are_received_in_order_and_locked_while_in_flight():
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo")
        await rig.put(queue, "a1", "b1", "a2", "a3", "b2")
        first = await rig.take(queue, 2)
        assert [message.body for message in first] == ["a1", "a2"]
        second = await rig.take(queue, 10)
        assert [message.body for message in second] == ["b1", "b2"]
        assert await rig.take(queue) == []
        await rig.delete(queue, first[0])
        assert await rig.take(queue) == []
        await rig.delete(queue, first[1])
        assert await rig.bodies(queue) == ["a3"]
        assert await rig.counts(queue) == (0, 3, 0)

    play(body)


def test_sequence_numbers_grow_and_have_twenty_digits():
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo")
        sent = await rig.queues.send(queue, [Outgoing(text, group="g", dedup=text) for text in "abc"])
        numbers = [one.sequence_number or "" for one in sent]
        assert numbers == sorted(set(numbers))
        assert {len(number) for number in numbers} == {20}
        assert [message.sequence_number for message in await rig.take(queue)] == numbers

    play(body)


def test_a_message_that_times_out_goes_before_the_rest_of_its_group():
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo", VisibilityTimeout="10")
        await rig.put(queue, "a1", "a2", "a3")
        one, two = await rig.take(queue, 2)
        await rig.show(queue, two, after_ms=20 * SECOND)
        await rig.pass_ms(10 * SECOND)
        # The first is visible; the second, which is still in flight, holds back only what is behind it.
        assert await rig.counts(queue) == (2, 1, 0)
        assert await rig.bodies(queue) == ["a1"]
        assert await rig.take(queue) == []
        began_ms = rig.clock.now_ms()
        assert await rig.bodies(queue, wait_ms=20 * SECOND) == ["a1", "a2", "a3"]
        assert rig.clock.now_ms() - began_ms == 10 * SECOND
        [wrong] = await rig.queues.delete(queue, [one.handle])
        assert wrong is not None
        assert wrong.message.endswith("Reason: The receipt handle has expired.")

    play(body)


@pytest.mark.parametrize(("extended", "received"), [(0, []), (1, ["a1"]), (2, ["a1", "a2"])])
def test_a_message_that_is_extended_holds_back_those_behind_it(extended, received):
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo", VisibilityTimeout="10")
        await rig.put(queue, "a1", "a2", "a3")
        taken = await rig.take(queue)
        await rig.show(queue, taken[extended], after_ms=30 * SECOND)
        await rig.pass_ms(10 * SECOND)
        assert await rig.bodies(queue) == received

    play(body)


@pytest.mark.parametrize("after_ms", [0, SECOND])
def test_a_group_whose_first_message_is_visible_again_waits_behind_the_others(after_ms):
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo", VisibilityTimeout="30")
        await rig.put(queue, "a1", "a2")
        first, _second = await rig.take(queue)
        await rig.put(queue, "b1")
        await rig.pass_ms(1)
        await rig.show(queue, first, after_ms=after_ms)
        await rig.pass_ms(after_ms)
        assert await rig.bodies(queue, 3) == ["b1", "a1"]

    play(body)


def test_a_purge_forgets_deduplication_ids():
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo")
        await rig.put(queue, "a1")
        await rig.queues.purge(queue)
        await rig.put(queue, "a1", "a1")
        assert await rig.bodies(queue) == ["a1"]

    play(body)


def test_an_expired_handle_is_refused_and_a_gone_message_is_not():
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo", VisibilityTimeout="10")
        await rig.put(queue, "a1", "b1")
        a, b = [*await rig.take(queue, 1), *await rig.take(queue, 1)]
        await rig.delete(queue, a)
        await rig.delete(queue, a)
        await rig.pass_ms(10 * SECOND)
        [wrong] = await rig.queues.delete(queue, [b.handle])
        assert (wrong.code if wrong else "") == "InvalidParameterValueException"
        assert await rig.counts(queue) == (1, 0, 0)

    play(body)


def test_a_waiting_consumer_gets_a_group_that_becomes_free():
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo")
        await rig.put(queue, "a1", "a2")
        [first] = await rig.take(queue, 1)
        poll = asyncio.create_task(rig.bodies(queue, wait_ms=20 * SECOND))
        await rig.pass_ms(SECOND)
        assert not poll.done()
        await rig.show(queue, first)
        assert await poll == ["a1", "a2"]

    play(body)


def test_delays_are_the_queues():
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo", DelaySeconds="5")
        await rig.put(queue, "a1")
        await rig.queues.set_attributes(queue, {"DelaySeconds": "0"})
        await rig.put(queue, "a2")
        assert await rig.counts(queue) == (1, 0, 1)
        assert await rig.take(queue) == []
        await rig.pass_ms(5 * SECOND)
        assert await rig.bodies(queue) == ["a1", "a2"]

    play(body)


def test_duplicates_within_five_minutes_get_the_id_of_the_first_message():
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo")

        async def send(text: str, dedup: str = "d", group: str = "g") -> str:
            [sent] = await rig.queues.send(queue, [Outgoing(text, group=group, dedup=dedup)])
            return sent.message_id

        first = await send("one")
        assert await send("two") == first
        assert await send("three", group="h") == first
        await rig.delete(queue, *await rig.take(queue))
        await rig.restart("q.fifo")
        queue = rig.queues.find("q.fifo")
        await rig.pass_ms(5 * MINUTE - 1)
        assert await send("four") == first
        assert await rig.counts(queue) == (0, 0, 0)
        await rig.pass_ms(1)
        assert await send("five") != first
        assert await rig.bodies(queue) == ["five"]

    play(body)


def test_deduplication_by_content_and_by_group():
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo", ContentBasedDeduplication="true", DeduplicationScope="messageGroup")
        entries = [
            Outgoing("x", "attributes", group="a"),
            Outgoing("x", group="a"),
            Outgoing("x", group="b"),
            Outgoing("x", group="a", dedup="explicit"),
        ]
        sent = await rig.queues.send(queue, entries)
        assert sent[0] == sent[1]
        assert len(set(sent)) == 3
        dedups = [message.dedup for message in await rig.take(queue)]
        assert sorted(len(dedup or "") for dedup in dedups) == [8, 64, 64]
        await rig.queues.set_attributes(queue, {"ContentBasedDeduplication": "false"})
        with pytest.raises(ApiError, match="should either have ContentBasedDeduplication enabled"):
            await rig.queues.send(queue, [Outgoing("x", group="a")])

    play(body)


@pytest.mark.parametrize(
    ("created", "later", "received"),
    [("queue", "messageGroup", ["a1", "a2"]), ("messageGroup", "queue", ["a1", "a2", "b2"])],
)
def test_the_deduplication_scope_at_creation_decides(created, later, received):
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo", DeduplicationScope=created)
        await rig.send(queue, "a1", group="a", dedup="one")
        await rig.queues.set_attributes(queue, {"DeduplicationScope": later})
        [queue] = await rig.restart("q.fifo")
        assert queue.settings.deduplication_scope == later
        for group in "ab":
            await rig.send(queue, f"{group}2", group=group, dedup="two")
        assert sorted(await rig.bodies(queue)) == received

    play(body)


@pytest.mark.parametrize("scope", ["queue", "messageGroup"])
def test_a_queue_of_an_older_program_has_the_scope_of_its_attribute(scope):
    row = QUEUE.row(QueueEntry("q.fifo", 1, 1, 0, 0, attributes={"FifoQueue": "true", "DeduplicationScope": scope}))
    members = orjson.loads(row.body)
    del members["format"], members["deduplication_scope"]
    assert QUEUE.read(replace(row, body=orjson.dumps(members))).deduplication_scope == scope


def test_an_attempt_is_replayed():
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo", VisibilityTimeout="30")
        await rig.put(queue, "a1", "a2", "b1")
        first = await rig.take(queue, 2, attempt_id="try")
        await rig.pass_ms(20 * SECOND)
        assert await rig.take(queue, 2, attempt_id="try") == first
        # Hidden anew.
        await rig.pass_ms(20 * SECOND)
        assert await rig.counts(queue) == (1, 2, 0)
        await rig.delete(queue, first[0])
        # No longer as it was: a new receive.
        assert await rig.bodies(queue, 2, attempt_id="try") == ["b1"]

    play(body)


def test_at_the_cap_a_fifo_queue_gives_nothing():
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo")
        await rig.put(queue, "a1", "b1", "c1")
        assert len(await rig.take(queue)) == 2
        assert await rig.take(queue) == []

    play(body, queue_in_flight=2)


def test_expired_messages_unblock_their_group():
    async def body(rig: Rig) -> None:
        queue = await rig.queue("q.fifo", MessageRetentionPeriod="60")
        await rig.put(queue, "a1")
        await rig.pass_ms(50 * SECOND)
        await rig.put(queue, "a2")
        [old, _] = await rig.take(queue, visibility_ms=11 * SECOND)
        assert old.body == "a1"
        await rig.pass_ms(11 * SECOND)
        assert await rig.bodies(queue) == ["a2"]
        assert await rig.counts(queue) == (0, 1, 0)

    play(body)
