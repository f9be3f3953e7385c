from __future__ import annotations

import pytest

from statewright.errors import ApiError
from statewright.queues.messages import Outgoing
from statewright.queues.queues import Queue
from tests.unit.queues.running import ARN, DAY, HOUR, SECOND, Rig, play


async def fail(rig: Rig, queue: Queue, times: int) -> None:
    """Receive everything so often and give it back."""
    for _ in range(times):
        await rig.show(queue, *await rig.take(queue))


def test_a_message_moves_when_it_would_be_received_once_too_often():
    async def body(rig: Rig) -> None:
        source, dead = await rig.with_dead_letters(2)
        [sent] = await rig.send(source, "a")
        began_ms = rig.clock.now_ms()
        await rig.pass_ms(SECOND)
        await fail(rig, source, 2)
        assert await rig.counts(source) == (1, 0, 0)
        assert await rig.take(source) == []
        assert await rig.counts(source) == (0, 0, 0)
        assert await rig.counts(dead) == (1, 0, 0)
        [got] = await rig.take(dead)
        assert (got.message_id, got.sent_ms, got.source_arn) == (sent, began_ms, source.arn)
        assert (got.receives, got.first_received_ms - began_ms) == (3, SECOND)
        kinds = [one.kind for one in await rig.queues.history(sent)]
        assert kinds.count("moved") == 1

    play(body)


def test_a_dead_letter_is_as_old_as_it_was():
    async def body(rig: Rig) -> None:
        source, dead = await rig.with_dead_letters(1)
        await rig.send(source, "a")
        await rig.pass_ms(3 * DAY)
        await fail(rig, source, 1)
        await rig.take(source)
        await rig.pass_ms(DAY - HOUR)
        assert await rig.counts(dead) == (1, 0, 0)
        await rig.pass_ms(2 * HOUR)
        assert await rig.counts(dead) == (0, 0, 0)

    play(body)


def test_a_fifo_dead_letter_is_new_and_keeps_the_order():
    async def body(rig: Rig) -> None:
        source, dead = await rig.with_dead_letters(1, ".fifo")
        await rig.put(source, "a1", "a2", "a3")
        await rig.pass_ms(SECOND)
        for _ in range(3):
            taken = await rig.take(source, 1)
            await rig.show(source, *taken)
            await rig.pass_ms(1)
        while await rig.take(source, visibility_ms=0):
            pass
        got = await rig.take(dead)
        assert [message.body for message in got] == ["a1", "a2", "a3"]
        assert [message.dedup for message in got] == [message.message_id for message in got]
        assert all(message.sent_ms >= got[0].sent_ms > 0 for message in got)
        assert await rig.counts(source) == (0, 0, 0)

    play(body)


def test_the_rest_of_a_group_continues_without_a_dead_message():
    async def body(rig: Rig) -> None:
        source, dead = await rig.with_dead_letters(1, ".fifo")
        await rig.put(source, "a1", "a2")
        await rig.show(source, *await rig.take(source, 1))
        assert await rig.bodies(source) == ["a2"]
        assert await rig.bodies(dead) == ["a1"]

    play(body)


def test_without_its_dead_letter_queue_a_message_stays():
    async def body(rig: Rig) -> None:
        source, dead = await rig.with_dead_letters(1)
        await rig.send(source, "a")
        await rig.queues.delete_queue(dead)
        await fail(rig, source, 3)
        assert await rig.bodies(source) == ["a"]

    play(body)


def test_what_a_redrive_policy_may_name():
    async def body(rig: Rig) -> None:
        other = await rig.queue("other.fifo")
        closed = await rig.queue("closed", RedriveAllowPolicy={"redrivePermission": "denyAll"})
        some = {"redrivePermission": "byQueue", "sourceQueueArns": [f"{ARN}friend"]}
        chosen = await rig.queue("chosen", RedriveAllowPolicy=some)

        def policy(arn: str) -> dict[str, object]:
            return {"deadLetterTargetArn": arn, "maxReceiveCount": 3}

        for arn in (f"{ARN}nobody", other.arn, closed.arn, chosen.arn):
            with pytest.raises(ApiError, match=r"InvalidParameterValueException: Value .* RedrivePolicy is invalid"):
                await rig.queue("source", RedrivePolicy=policy(arn))
        await rig.queue("friend", RedrivePolicy=policy(chosen.arn))
        found, after = rig.queues.dead_letter_sources(chosen, None, 10)
        assert ([queue.name for queue in found], after) == (["friend"], None)
        await rig.queues.set_attributes(rig.queues.find("friend"), {"RedrivePolicy": ""})
        assert rig.queues.dead_letter_sources(chosen, None, 10)[0] == []

    play(body)


# Move tasks


async def dead_letters(rig: Rig, many: int) -> None:
    """Fill the dead-letter queue of `source`."""
    source = rig.queues.find("source")
    await rig.send(source, *[str(number) for number in range(many)])
    await rig.show(source, *await rig.take(source, many))
    await rig.take(source, many)


def test_messages_move_back_to_where_they_came_from():
    async def body(rig: Rig) -> None:
        source, dead = await rig.with_dead_letters(1)
        await dead_letters(rig, 3)
        [old] = await rig.take(dead, 1, visibility_ms=0)
        await rig.pass_ms(SECOND)
        await rig.queues.start_move(dead.arn, None, None)
        [running] = await rig.queues.list_moves(dead.arn, 10)
        assert (running.status, running.to_move, running.destination_arn) == ("RUNNING", 3, None)
        await rig.pass_ms(1)
        [task] = await rig.queues.list_moves(dead.arn, 10)
        assert (task.status, task.moved, task.to_move, task.handle) == ("COMPLETED", 3, 3, None)
        assert await rig.counts(dead) == (0, 0, 0)
        back = await rig.take(source)
        assert sorted(message.body for message in back) == ["0", "1", "2"]
        assert {message.receives for message in back} == {1}
        assert old.message_id not in {message.message_id for message in back}
        assert {message.sent_ms for message in back} == {old.sent_ms + SECOND}

    play(body)


def test_a_task_keeps_to_its_rate_and_can_be_cancelled():
    async def body(rig: Rig) -> None:
        _, dead = await rig.with_dead_letters(1)
        target = await rig.queue("target")
        await dead_letters(rig, 100)
        handle = await rig.queues.start_move(dead.arn, target.arn, 10)
        await rig.pass_ms(2 * SECOND - 50)
        assert (await rig.counts(target))[0] == 20
        with pytest.raises(ApiError, match="There is already a task running"):
            await rig.queues.start_move(dead.arn, target.arn, None)
        moved = await rig.queues.cancel_move(handle)
        assert moved == 20
        await rig.pass_ms(SECOND)
        [task] = await rig.queues.list_moves(dead.arn, 1)
        assert (task.status, task.moved, task.to_move, task.per_second) == ("CANCELLED", 20, 100, 10)
        with pytest.raises(ApiError, match=r"Task does not exist\."):
            await rig.queues.cancel_move(handle)
        assert await rig.counts(dead) == (80, 0, 0)
        await rig.queues.delete_queue(dead)
        with pytest.raises(ApiError, match=r"that you specified for the SourceArn parameter doesn't exist\."):
            await rig.queues.cancel_move(handle)

    play(body)


def test_a_restarted_server_continues_a_move_task():
    async def body(rig: Rig) -> None:
        source, dead = await rig.with_dead_letters(1)
        await dead_letters(rig, 100)
        await rig.queues.start_move(dead.arn, None, 10)
        await rig.pass_ms(SECOND)
        source, dead = await rig.restart("source", "dead")
        await rig.pass_ms(120 * SECOND)
        [task] = await rig.queues.list_moves(dead.arn, 10)
        assert (task.status, task.moved) == ("COMPLETED", 100)
        assert await rig.counts(source) == (100, 0, 0)
        assert await rig.counts(dead) == (0, 0, 0)

    play(body)


@pytest.mark.parametrize("how", ["before", "after"])
@pytest.mark.parametrize("method", ["claim", "move"])
def test_a_task_outlives_a_failing_store(method, how):
    async def body(rig: Rig) -> None:
        source, dead = await rig.with_dead_letters(1)
        await dead_letters(rig, 30)
        await rig.queues.start_move(dead.arn, None, 10)
        await rig.pass_ms(SECOND)
        rig.messages.fails[method] = how
        await rig.pass_ms(90 * SECOND)
        [task] = await rig.queues.list_moves(dead.arn, 10)
        assert task.status == "COMPLETED"
        assert await rig.counts(source) == (30, 0, 0)
        assert await rig.counts(dead) == (0, 0, 0)

    play(body)


def test_messages_in_flight_of_a_killed_task_are_moved_too():
    async def body(rig: Rig) -> None:
        source, dead = await rig.with_dead_letters(1)
        await dead_letters(rig, 3)
        rig.messages.fails["move"] = "before"
        await rig.queues.start_move(dead.arn, None, None)
        await rig.pass_ms(10)
        assert await rig.counts(dead) == (0, 3, 0)
        source, dead = await rig.restart("source", "dead")
        await rig.pass_ms(61 * SECOND)
        assert await rig.counts(source) == (3, 0, 0)
        assert [task.status for task in await rig.queues.list_moves(dead.arn, 10)] == ["COMPLETED"]

    play(body)


def test_a_task_ends_with_its_source():
    async def body(rig: Rig) -> None:
        _, dead = await rig.with_dead_letters(1)
        await dead_letters(rig, 30)
        await rig.queues.start_move(dead.arn, None, 10)
        await rig.pass_ms(SECOND)
        await rig.queues.delete_queue(dead)
        await rig.pass_ms(SECOND)
        again = await rig.queue("dead")
        [task] = await rig.queues.list_moves(again.arn, 10)
        assert (task.status, task.failure_reason) == ("FAILED", "AWS.SimpleQueueService.NonExistentQueue")

    play(body)


def test_tasks_that_cannot_go_on_say_why():
    async def body(rig: Rig) -> None:
        source, dead = await rig.with_dead_letters(1)
        target = await rig.queue("target")
        await dead_letters(rig, 20)
        await rig.queues.start_move(dead.arn, target.arn, 10)
        await rig.pass_ms(SECOND // 2)
        await rig.queues.delete_queue(target)
        await rig.pass_ms(SECOND)
        await rig.send(dead, "sent here directly")
        await rig.queues.delete_queue(source)
        another = await rig.queue("another", RedrivePolicy={"deadLetterTargetArn": dead.arn, "maxReceiveCount": 1})
        assert another.settings.redrive is not None
        rest = await rig.take(dead, 20)
        await rig.delete(dead, *[message for message in rest if message.source_arn])
        await rig.show(dead, *[message for message in rest if not message.source_arn])
        await rig.queues.start_move(dead.arn, None, None)
        await rig.pass_ms(1)
        latest, first = await rig.queues.list_moves(dead.arn, 10)
        assert (first.status, first.failure_reason) == ("FAILED", "AWS.SimpleQueueService.NonExistentQueue")
        assert (latest.status, latest.failure_reason) == ("FAILED", "CouldNotDetermineMessageSource")
        assert await rig.counts(dead) == (1, 0, 0)

    play(body)


def test_refused_requests_of_move_tasks():
    async def body(rig: Rig) -> None:
        source, dead = await rig.with_dead_letters(1)
        fifo = await rig.queue("other.fifo")
        for given, words in [
            ((f"{ARN}nobody", None, None), "SourceArn parameter doesn't exist"),
            ((source.arn, None, None), "Source queue must be configured as a Dead Letter Queue"),
            ((dead.arn, f"{ARN}nobody", None), "DestinationArn parameter doesn't exist"),
            ((dead.arn, fifo.arn, None), "same type"),
        ]:
            with pytest.raises(ApiError, match=words):
                await rig.queues.start_move(*given)
        with pytest.raises(ApiError, match=r"Value for parameter TaskHandle is invalid\."):
            await rig.queues.cancel_move("nonsense")
        assert await rig.queues.list_moves(dead.arn, 10) == []

    play(body)


# Fair queues


def test_quiet_tenants_are_preferred():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        await rig.queues.send(queue, [Outgoing(f"loud {n}", group="loud") for n in range(300)])
        await rig.take(queue, 40)
        await rig.queues.send(
            queue, [Outgoing("quiet 1", group="q1"), Outgoing("alone"), Outgoing("quiet 2", group="q2")]
        )
        found = await rig.take(queue, 4)
        assert {message.body for message in found[:3]} == {"quiet 1", "alone", "quiet 2"}
        assert [message.group for message in found if message.body == "alone"] == [None]
        assert found[3].group == "loud"
        assert len(await rig.take(queue, 1_000)) == 259
        # No tenant has a backlog any more, so none is noisy.
        assert queue.state.tenants.noisy_since == {}

    play(body)


def test_a_few_messages_in_flight_make_no_tenant_noisy():
    async def body(rig: Rig) -> None:
        queue = await rig.queue()
        await rig.queues.send(queue, [Outgoing(f"loud {n}", group="loud") for n in range(100)])
        await rig.take(queue, 29)
        await rig.queues.send(queue, [Outgoing("quiet", group="q")])
        assert (await rig.take(queue, 1))[0].group == "loud"
        # The thirtieth makes it one.
        assert (await rig.take(queue, 1))[0].group == "q"

    play(body)
