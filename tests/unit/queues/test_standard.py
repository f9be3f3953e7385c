from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest

from statewright.errors import ApiError, StoreError, Unavailable
from statewright.queues.messages import Outgoing, message_id_of, number_of, read_handle, write_handle
from tests.unit.queues.running import DAY, HOUR, MINUTE, SECOND, Rig, play


def code(problem: ApiError | None) -> str:
    return problem.code if problem is not None else ""


# Sending and receiving


@pytest.mark.parametrize("after_ms", [0, 10 * SECOND])
def test_a_message_that_comes_back_stands_before_those_sent_meanwhile(after_ms):
    async def body(rig: Rig) -> None:
        queue = await rig.queue(VisibilityTimeout="10")
        await rig.send(queue, "first", "second")
        await rig.pass_ms(SECOND)
        first, second = await rig.take(queue)
        await rig.delete(queue, second)
        await rig.pass_ms(SECOND)
        await rig.send(queue, "meanwhile")
        if after_ms:
            await rig.pass_ms(after_ms)
        else:
            await rig.show(queue, first)
        assert await rig.bodies(queue) == ["first", "meanwhile"]

    play(body)


def test_a_message_that_comes_back_stands_behind_those_that_were_waiting_when_it_was_received():
    async def body(rig: Rig) -> None:
        queue = await rig.queue(VisibilityTimeout="10")
        await rig.send(queue, "first")
        await rig.pass_ms(1)
        await rig.send(queue, "waiting")
        await rig.pass_ms(SECOND)
        [first] = await rig.take(queue, 1)
        assert first.body == "first"
        await rig.pass_ms(SECOND)
        await rig.send(queue, "meanwhile")
        await rig.pass_ms(10 * SECOND)
        assert await rig.bodies(queue) == ["waiting", "first", "meanwhile"]

    play(body)


def test_a_message_comes_back_as_it_was_sent():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        message = Outgoing("body", "attributes", trace_header="Root=1", sender="me", group="tenant")
        [sent] = await rig.queues.send(queue, [message])
        await rig.pass_ms(5)
        [got] = await rig.take(queue)
        assert got.message_id == sent.message_id
        assert (got.body, got.attributes, got.trace_header, got.sender) == ("body", "attributes", "Root=1", "me")
        assert (got.receives, got.first_received_ms - got.sent_ms) == (1, 5)
        assert (got.group, got.dedup, got.sequence_number, got.source_arn) == ("tenant", None, None, None)

    play(body)


def test_a_hidden_message_comes_back_when_its_time_is_over():
    async def body(rig: Rig) -> None:
        queue = await rig.queue(VisibilityTimeout="7")
        await rig.send(queue, "a")
        [first] = await rig.take(queue)
        assert await rig.counts(queue) == (0, 1, 0)
        await rig.pass_ms(7 * SECOND - 1)
        assert await rig.take(queue) == []
        await rig.pass_ms(1)
        assert await rig.counts(queue) == (1, 0, 0)
        [second] = await rig.take(queue, visibility_ms=SECOND)
        assert second.message_id == first.message_id
        assert second.handle != first.handle
        assert (second.receives, second.first_received_ms) == (2, first.first_received_ms)
        await rig.pass_ms(SECOND)
        assert await rig.counts(queue) == (1, 0, 0)

    play(body)


def test_a_message_received_for_no_time_is_there_at_once():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        await rig.send(queue, "a")
        [got] = await rig.take(queue, visibility_ms=0)
        assert await rig.counts(queue) == (1, 0, 0)
        await rig.delete(queue, got)
        assert await rig.counts(queue) == (0, 0, 0)

    play(body)


def test_delays_of_queue_and_message():
    async def body(rig: Rig) -> None:
        queue = await rig.queue(DelaySeconds="10")
        await rig.send(queue, "queue's")
        await rig.send(queue, "now", delay_ms=0)
        await rig.send(queue, "late", delay_ms=20 * SECOND)
        assert await rig.counts(queue) == (1, 0, 2)
        assert await rig.bodies(queue) == ["now"]
        await rig.pass_ms(10 * SECOND)
        assert await rig.bodies(queue) == ["queue's"]
        await rig.pass_ms(10 * SECOND)
        assert await rig.counts(queue) == (1, 2, 0)

    play(body)


def test_one_receive_takes_what_it_asks_for():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        for start in range(0, 500, 100):
            await rig.send(queue, *[str(number) for number in range(start, start + 100)])
        assert await rig.bodies(queue, 3) == ["0", "1", "2"]
        assert len(await rig.bodies(queue, 10_000)) == 497

    play(body)


def test_an_empty_queue_is_not_looked_up_in_the_store():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        await rig.take(queue)
        rig.messages.calls.clear()
        assert await rig.take(queue) == []
        assert rig.messages.calls == []

    play(body)


# Long polls


def test_a_long_poll_ends_with_the_first_message():
    async def body(rig: Rig) -> None:
        queue = await rig.queue(ReceiveMessageWaitTimeSeconds="20")
        poll = asyncio.create_task(rig.queues.receive(queue, most=10))
        await rig.pass_ms(3 * SECOND)
        began_ms = rig.clock.now_ms()
        await rig.send(queue, "a")
        assert [message.body for message in await poll] == ["a"]
        assert rig.clock.now_ms() == began_ms
        assert await rig.queues.receive(queue) == []
        assert rig.clock.now_ms() == began_ms + 20 * SECOND

    play(body)


def test_pollers_are_served_in_turn_by_one_claim():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        polls = [asyncio.create_task(rig.bodies(queue, 2, wait_ms=20 * SECOND)) for _ in range(5)]
        await rig.pass_ms(1)
        rig.messages.calls.clear()
        await rig.send(queue, *"abcdefg")
        await rig.pass_ms(20 * SECOND)
        assert [poll.result() for poll in polls] == [["a", "b"], ["c", "d"], ["e", "f"], ["g"], []]
        assert rig.messages.calls.count("claim") == 1

    play(body)


def test_a_long_poll_sees_what_time_makes_visible():
    async def body(rig: Rig) -> None:
        queue = await rig.queue(VisibilityTimeout="4")
        await rig.send(queue, "a")
        await rig.send(queue, "b", delay_ms=9 * SECOND)
        began_ms = rig.clock.now_ms()
        [first] = await rig.take(queue)
        [again] = await rig.take(queue, wait_ms=20 * SECOND)
        assert (again.message_id, rig.clock.now_ms() - began_ms) == (first.message_id, 4 * SECOND)
        await rig.delete(queue, again)
        assert await rig.bodies(queue, wait_ms=20 * SECOND) == ["b"]
        assert rig.clock.now_ms() - began_ms == 9 * SECOND

    play(body)


def test_a_cancelled_long_poll_loses_no_message():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        gone, stays = (asyncio.create_task(rig.bodies(queue, 1, wait_ms=20 * SECOND)) for _ in range(2))
        await rig.pass_ms(1)
        gone.cancel()
        await rig.send(queue, "a")
        assert await stays == ["a"]
        # Cancelled between the claim and its answer: what it was given goes back at once.
        late = asyncio.create_task(rig.bodies(queue, 1, wait_ms=20 * SECOND))
        await rig.pass_ms(1)
        await rig.send(queue, "b")
        late.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await late
        assert await rig.bodies(queue, wait_ms=SECOND) == ["b"]

    play(body)


def test_stopping_answers_long_polls_with_no_messages():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        poll = asyncio.create_task(rig.take(queue, wait_ms=20 * SECOND))
        await rig.pass_ms(1)
        await rig.queues.stop()
        assert await poll == []

    play(body)


# Deleting


def test_deleting_twice_and_by_an_old_handle():
    async def body(rig: Rig) -> None:
        queue = await rig.queue(VisibilityTimeout="5")
        await rig.send(queue, "a", "b")
        a, b = await rig.take(queue)
        await rig.delete(queue, a)
        await rig.delete(queue, a, a)
        await rig.pass_ms(5 * SECOND)
        [again] = await rig.take(queue)
        # The old handle is accepted, and deletes nothing.
        await rig.delete(queue, b)
        assert await rig.counts(queue) == (0, 1, 0)
        await rig.pass_ms(5 * SECOND)
        # Nobody else has it: the last handle still deletes it.
        await rig.delete(queue, again)
        assert await rig.counts(queue) == (0, 0, 0)

    play(body)


def test_handles_of_others_and_forged_ones_are_refused():
    async def body(rig: Rig) -> None:
        one, other = await rig.queue("one"), await rig.queue("other")
        await rig.send(one, "a")
        [got] = await rig.take(one)
        tampered = ("A" if got.handle[20] != "A" else "B").join((got.handle[:20], got.handle[21:]))
        for handle in ("", "x", "not a handle", tampered, got.handle + "=", got.handle + "AAAA"):
            [wrong] = await rig.queues.delete(one, [handle])
            assert (code(wrong), handle) == ("ReceiptHandleIsInvalid", handle)
        assert code((await rig.queues.delete(other, [got.handle]))[0]) == "ReceiptHandleIsInvalid"
        assert code((await rig.queues.change_visibility(other, [(got.handle, 0)]))[0]) == "ReceiptHandleIsInvalid"
        guessed = read_handle(got.handle)
        assert guessed is not None
        await rig.queues.delete(one, [write_handle(guessed.queue, guessed.message, guessed.receipt ^ 1)])
        assert await rig.counts(one) == (0, 1, 0)
        answers = await rig.queues.delete(one, ["x", got.handle])
        assert [code(wrong) for wrong in answers] == ["ReceiptHandleIsInvalid", ""]
        assert await rig.counts(one) == (0, 0, 0)

    play(body)


@pytest.mark.parametrize("number", [0, 1, 4096, 2**41, 2**63 - 1, 1_234_567_890_123_456_789])
def test_message_ids_look_like_uuids_and_lead_back(number):
    text = message_id_of(number)
    assert number_of(text) == number
    assert (len(text), text[14], text[19]) == (36, "4", "a")
    assert number_of(text[:-1] + ("0" if text[-1] != "0" else "1")) is None
    assert number_of("nonsense") is None


# Changing visibility


def test_changing_visibility():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        await rig.send(queue, "a", "b")
        a, b = await rig.take(queue)
        await rig.show(queue, a)
        assert await rig.counts(queue) == (1, 1, 0)
        await rig.show(queue, b, after_ms=100 * SECOND)
        await rig.pass_ms(99 * SECOND)
        assert await rig.bodies(queue) == ["a"]
        await rig.pass_ms(SECOND)
        assert await rig.bodies(queue) == ["b"]

    play(body)


def test_visibility_ends_twelve_hours_after_the_receive():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        await rig.send(queue, "a")
        [got] = await rig.take(queue, visibility_ms=11 * HOUR)
        await rig.pass_ms(HOUR)
        [wrong] = await rig.queues.change_visibility(queue, [(got.handle, 11 * HOUR + SECOND)])
        assert code(wrong) == "InvalidParameterValueException"
        await rig.show(queue, got, after_ms=11 * HOUR)

    play(body)


def test_a_message_whose_timeout_ran_out_is_hidden_again_by_its_handle():
    async def body(rig: Rig) -> None:
        queue = await rig.queue(VisibilityTimeout="5")
        await rig.send(queue, "a", "b")
        first, _second = await rig.take(queue)
        await rig.pass_ms(5 * SECOND)
        await rig.show(queue, first, after_ms=9 * SECOND)
        assert await rig.counts(queue) == (1, 1, 0)
        assert await rig.bodies(queue, visibility_ms=60 * SECOND) == ["b"]
        await rig.pass_ms(9 * SECOND - 1)
        assert await rig.take(queue) == []
        await rig.pass_ms(1)
        assert await rig.bodies(queue) == ["a"]

    play(body)


def test_an_earlier_handle_changes_what_a_later_receive_holds():
    async def body(rig: Rig) -> None:
        queue = await rig.queue(VisibilityTimeout="5")
        await rig.send(queue, "a")
        [old] = await rig.take(queue)
        await rig.pass_ms(5 * SECOND)
        [new] = await rig.take(queue)
        await rig.show(queue, old)
        assert await rig.counts(queue) == (1, 0, 0)
        [newest] = await rig.take(queue)
        await rig.delete(queue, newest)
        gone = (await rig.queues.change_visibility(queue, [(new.handle, 9)]))[0]
        assert code(gone) == "InvalidParameterValueException"

    play(body)


def test_any_handle_deletes_a_visible_message_and_none_one_that_a_later_receive_holds():
    async def body(rig: Rig) -> None:
        queue = await rig.queue(VisibilityTimeout="5")
        await rig.send(queue, "a")
        [first] = await rig.take(queue)
        await rig.pass_ms(5 * SECOND)
        await rig.take(queue)
        await rig.delete(queue, first)
        assert await rig.counts(queue) == (0, 1, 0)
        await rig.pass_ms(5 * SECOND)
        await rig.delete(queue, first)
        assert await rig.counts(queue) == (0, 0, 0)

    play(body)


# Caps, retention, purge


def test_the_cap_on_messages_in_flight():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        await rig.send(queue, *"abcdef")
        taken = await rig.take(queue)
        assert len(taken) == 4
        with pytest.raises(ApiError, match="OverLimit"):
            await rig.take(queue)
        poll = asyncio.create_task(rig.bodies(queue, wait_ms=20 * SECOND))
        await rig.pass_ms(SECOND)
        await rig.delete(queue, taken[0])
        assert await poll == ["e"]

    play(body, queue_in_flight=4)


def test_messages_expire_by_when_they_were_sent():
    async def body(rig: Rig) -> None:
        queue = await rig.queue(MessageRetentionPeriod="3600")
        await rig.send(queue, "old", "returned")
        await rig.pass_ms(50 * MINUTE)
        old, returned = await rig.take(queue, visibility_ms=MINUTE)
        await rig.show(queue, old)
        await rig.send(queue, "young")
        await rig.pass_ms(10 * MINUTE)
        assert await rig.counts(queue) == (3, 0, 0)
        await rig.pass_ms(1)
        assert await rig.bodies(queue, visibility_ms=0) == ["young"]
        await rig.pass_ms(MINUTE)
        assert await rig.counts(queue) == (1, 0, 0)
        history = await rig.queues.history(returned.message_id)
        assert history[-1].kind == "expired"

    play(body)


def test_expired_messages_are_found_after_a_restart_too():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        await rig.send(queue, *[str(number) for number in range(1_200)])
        await rig.take(queue, 100, visibility_ms=12 * HOUR)
        await rig.pass_ms(4 * DAY - HOUR)
        [queue] = await rig.restart("q")
        assert (await rig.counts(queue))[0] == 1_200
        await rig.pass_ms(2 * HOUR)
        assert await rig.counts(queue) == (0, 0, 0)

    play(body)


def test_a_purge_drops_everything_once_a_minute():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        await rig.send(queue, *"abc")
        await rig.send(queue, "d", delay_ms=MINUTE)
        [got] = await rig.take(queue, 1)
        await rig.queues.purge(queue)
        assert await rig.counts(queue) == (0, 0, 0)
        await rig.delete(queue, got)
        await rig.send(queue, "new")
        with pytest.raises(ApiError, match="Only one PurgeQueue operation on q is allowed every 60 seconds"):
            await rig.queues.purge(queue)
        await rig.pass_ms(MINUTE)
        assert len(rig.messages.real.messages) == 1
        assert await rig.bodies(queue) == ["new"]
        await rig.queues.purge(queue)
        assert await rig.take(queue) == []

    play(body)


def test_the_next_server_deletes_the_rows_of_a_deleted_queue():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        await rig.send(queue, *"abc")
        poll = asyncio.create_task(rig.take(await rig.queue("empty"), wait_ms=SECOND))
        rig.messages.fails["expire"] = "before"
        await rig.queues.delete_queue(queue)
        with pytest.raises(ApiError, match="QueueDoesNotExist"):
            await rig.send(queue, "d")
        await poll
        assert len(rig.messages.real.messages) == 3
        await rig.restart()
        await rig.pass_ms(1)
        assert rig.messages.real.messages == {}
        again = await rig.queue()
        assert await rig.counts(again) == (0, 0, 0)

    play(body)


def test_deleting_a_queue_fails_its_long_polls():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        poll = asyncio.create_task(rig.take(queue, wait_ms=20 * SECOND))
        await rig.pass_ms(1)
        await rig.queues.delete_queue(queue)
        with pytest.raises(ApiError, match="QueueDoesNotExist"):
            await poll

    play(body)


# Trouble with the store


@pytest.mark.parametrize("how", ["before", "after"])
@pytest.mark.parametrize("method", ["send", "claim", "drop", "hide"])
def test_after_a_failure_the_store_is_asked_anew(method, how):
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        await rig.send(queue, "a", "b", "c")
        a, b = await rig.take(queue, 2)
        rig.messages.fails[method] = how
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "send": lambda: rig.send(queue, "d"),
            "claim": lambda: rig.take(queue, 1),
            "drop": lambda: rig.queues.delete(queue, [a.handle]),
            "hide": lambda: rig.queues.change_visibility(queue, [(a.handle, 0)]),
        }
        with pytest.raises(Unavailable):
            await calls[method]()
        await rig.counts(queue)
        await rig.delete(queue, b)
        await rig.pass_ms(30 * SECOND)
        everything = await rig.take(queue)
        assert {"c"} <= {message.body for message in everything} <= {"a", "c", "d"}
        await rig.delete(queue, *everything)
        assert await rig.counts(queue) == (0, 0, 0)

    play(body)


def test_a_queue_that_cannot_be_read_is_read_later():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        rig.messages.fails["load"] = "before"
        with pytest.raises(StoreError):
            await rig.counts(queue)
        assert await rig.counts(queue) == (0, 0, 0)

    play(body)


def test_a_restart_keeps_what_is_in_flight_and_delayed():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        await rig.send(queue, "a", "b")
        await rig.send(queue, "c", delay_ms=MINUTE)
        [got] = await rig.take(queue, 1)
        [queue] = await rig.restart("q")
        assert await rig.counts(queue) == (1, 1, 1)
        await rig.delete(queue, got)
        assert await rig.counts(queue) == (1, 0, 1)
        await rig.pass_ms(MINUTE)
        assert await rig.bodies(queue) == ["b", "c"]

    play(body)


# Histories


def test_the_plain_way_leaves_no_history():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        await rig.send(queue, "a")
        [got] = await rig.take(queue)
        await rig.delete(queue, got)
        assert "note" not in rig.messages.calls
        assert await rig.queues.history(got.message_id) == []
        assert await rig.queues.history("no id") == []

    play(body)


def test_the_history_of_a_message_that_came_back():
    async def body(rig: Rig) -> None:
        queue = await rig.queue(VisibilityTimeout="5")
        await rig.send(queue, "a")
        [got] = await rig.take(queue, consumer="w1")
        await rig.show(queue, got)
        await rig.take(queue, consumer="w2")
        await rig.pass_ms(6 * SECOND)
        await rig.take(queue, consumer="w3")
        await rig.pass_ms(1)
        start = got.sent_ms
        assert [(one.at_ms - start, one.kind, one.detail) for one in await rig.queues.history(got.message_id)] == [
            (0, "returned", "its consumer made it visible"),
            (0, "received", "receive 2 by w2"),
            (5 * SECOND, "returned", "its visibility timeout ran out"),
            (6 * SECOND, "received", "receive 3 by w3"),
        ]

    play(body)
