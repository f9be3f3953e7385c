"""Publishing in virtual time: who gets what, and what survives a restart."""

from __future__ import annotations

import json

import pytest

from statewright.errors import ApiError
from statewright.topics import publishing
from statewright.topics.messages import read_message
from tests.unit.topics.running import ADDRESS, DAY, FUNCTION, MINUTE, QUEUE, SECOND, URL, Rig, failing, on_rig, text


def test_queues_get_the_notification_or_the_bare_message() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        whole, raw = await rig.queue("whole"), await rig.queue("raw")
        arn = await rig.subscribe(topic, whole)
        await rig.subscribe(topic, raw, RawMessageDelivery="true")
        attributes = {"a": text("x"), "b": {"DataType": "Binary", "BinaryValue": b"\x00\x01"}}
        receipt = await rig.publish(topic, 'hel"lo', Subject="s", MessageAttributes=attributes)
        [envelope] = await rig.bodies("whole")
        found = json.loads(envelope)
        assert list(found) == [
            "Type", "MessageId", "TopicArn", "Subject", "Message", "Timestamp", "SignatureVersion", "Signature",
            "SigningCertURL", "UnsubscribeURL", "MessageAttributes",
        ]  # fmt: skip
        assert {name: found[name] for name in ("Type", "MessageId", "TopicArn", "Subject", "Message", "Timestamp")} == {
            "Type": "Notification", "MessageId": receipt.message_id, "TopicArn": topic, "Subject": "s",
            "Message": 'hel"lo', "Timestamp": "2026-01-01T00:00:00.000Z",
        }  # fmt: skip
        assert found["UnsubscribeURL"] == f"{ADDRESS}/?Action=Unsubscribe&SubscriptionArn={arn}"
        assert found["MessageAttributes"] == {
            "a": {"Type": "String", "Value": "x"}, "b": {"Type": "Binary", "Value": "AAE="},
        }  # fmt: skip
        [bare] = await rig.received("raw")
        assert (bare.body, bare.attributes) == (
            'hel"lo',
            {"a": text("x"), "b": {"DataType": "Binary", "BinaryValue": "AAE="}},
        )

    on_rig(test)


def test_protocols_have_texts_of_their_own() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        await rig.subscribe(topic, await rig.queue("q"), RawMessageDelivery="true")
        await rig.publish(topic, '{"default":"d","sqs":"s","http":1}', MessageStructure="json")
        await rig.publish(topic, '{"default":"d"}', MessageStructure="json")
        assert await rig.bodies("q") == ["s", "d"]

    on_rig(test)


def test_filters_choose_and_can_change() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        arn = await rig.subscribe(topic, await rig.queue("q"), FilterPolicy={"k": ["v"]}, RawMessageDelivery="true")
        await rig.publish(topic, "1", MessageAttributes={"k": text("v")})
        await rig.publish(topic, "2", MessageAttributes={"k": text("w")})
        await rig.publish(topic, "3")
        assert await rig.bodies("q") == ["1"]
        assert await rig.counted() == {
            "NumberOfMessagesPublished": 3, "PublishSize": 3 + 2 * len("kStringv"), "NumberOfNotificationsDelivered": 1,
            "NumberOfNotificationsFilteredOut": 2, "NumberOfNotificationsFilteredOut-MessageAttributes": 2,
        }  # fmt: skip
        await rig.topics.set_subscription_attribute(arn, "FilterPolicyScope", "MessageBody")
        await rig.publish(topic, '{"k":"v"}')
        assert await rig.bodies("q") == ['{"k":"v"}']
        await rig.topics.set_subscription_attribute(arn, "FilterPolicy", "")
        await rig.publish(topic, "4")
        other = await rig.restarted()
        await other.publish(topic, "5")
        assert await other.bodies("q") == ["4", "5"]

    on_rig(test)


def test_a_message_that_is_dear_to_filter_is_filtered_in_a_thread_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "LOOP_WORK", 0)

    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        chosen = {"FilterPolicyScope": "MessageBody", "RawMessageDelivery": "true"}
        await rig.subscribe(topic, await rig.queue("q"), FilterPolicy={"k": ["v"]}, **chosen)
        await rig.subscribe(topic, await rig.queue("r"), FilterPolicy={"k": ["w"]}, **chosen)
        await rig.subscribe(topic, await rig.queue("all"), RawMessageDelivery="true")
        body = '{"k":["v"]}'
        await rig.publish(topic, body)
        assert [await rig.bodies(name) for name in ("q", "r", "all")] == [[body], [], [body]]
        monkeypatch.setattr(publishing, "MOST_WORK", 0)
        with pytest.raises(ApiError, match="take too much work"):
            await rig.publish(topic, body)
        assert await rig.bodies("all") == []

    on_rig(test)


def test_a_fifo_topic_orders_and_drops_duplicates_over_a_restart() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic("t.fifo", ContentBasedDeduplication="true")
        fifo, plain = await rig.queue("q.fifo"), await rig.queue("plain")
        await rig.subscribe(topic, fifo, RawMessageDelivery="true")
        await rig.subscribe(topic, plain, RawMessageDelivery="true")
        receipts = [await rig.publish(topic, f"m{number}", MessageGroupId="g") for number in range(3)]
        sequences = [one.sequence for one in receipts]
        assert sequences == sorted(sequences, key=lambda one: one or "")
        assert len(set(sequences)) == 3
        again = await rig.publish(topic, "m1", MessageGroupId="g")
        assert again == receipts[1]
        other = await rig.restarted()
        assert await other.publish(topic, "m1", MessageGroupId="g") == receipts[1]
        await other.let(1 * SECOND)
        [first, second, third] = await other.received("q.fifo")
        assert [first.body, second.body, third.body] == ["m0", "m1", "m2"]
        assert (first.group, first.dedup is not None) == ("g", True)
        assert sorted(await other.bodies("plain")) == ["m0", "m1", "m2"]
        await other.let(5 * MINUTE)
        assert await other.publish(topic, "m1", MessageGroupId="g") != receipts[1]
        assert await other.bodies("q.fifo") == ["m1"]

    on_rig(test)


@pytest.mark.parametrize(("scope", "many"), [("Topic", 1), ("MessageGroup", 2)])
def test_deduplication_is_of_the_topic_or_of_the_group(scope: str, many: int) -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic("t.fifo", FifoThroughputScope=scope)
        await rig.subscribe(topic, await rig.queue("q"), RawMessageDelivery="true")
        for group in ("a", "b", "a"):
            await rig.publish(topic, "m", MessageGroupId=group, MessageDeduplicationId="d")
        assert len(await rig.bodies("q")) == many

    on_rig(test)


def test_what_a_missing_queue_cannot_have_goes_to_the_dead_letters() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        dead = await rig.queue("dead")
        await rig.subscribe(
            topic, QUEUE + "gone", RedrivePolicy={"deadLetterTargetArn": dead}, RawMessageDelivery="true"
        )
        await rig.subscribe(topic, QUEUE + "gone-too")
        await rig.publish(topic, "m", MessageAttributes={"own": text("x")})
        [letter] = await rig.received("dead")
        assert (letter.body, letter.attributes) == ("m", {"own": text("x")})
        assert await rig.counted() == {
            "NumberOfMessagesPublished": 1, "PublishSize": 11, "NumberOfNotificationsFailed": 2,
            "NumberOfNotificationsRedrivenToDlq": 1,
        }  # fmt: skip

    on_rig(test)


def test_dead_letters_of_fifo_topics_keep_group_and_id() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic("t.fifo")
        policy = {"deadLetterTargetArn": await rig.queue("dead.fifo")}
        await rig.subscribe(topic, QUEUE + "gone.fifo", RedrivePolicy=policy)
        await rig.publish(topic, "m", MessageGroupId="g", MessageDeduplicationId="d")
        [letter] = await rig.received("dead.fifo")
        assert (letter.group, letter.dedup, letter.attributes) == ("g", "d", None)
        assert json.loads(letter.body)["Message"] == "m"

    on_rig(test)


def test_notifications_of_fifo_topics_are_not_signed() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic("t.fifo")
        await rig.subscribe(topic, await rig.queue("q.fifo"))
        await rig.publish(topic, "m", MessageGroupId="g", MessageDeduplicationId="d", Subject="s")
        [body] = await rig.bodies("q.fifo")
        assert list(json.loads(body)) == [
            "Type", "MessageId", "SequenceNumber", "TopicArn", "Subject", "Message", "Timestamp", "UnsubscribeURL",
        ]  # fmt: skip

    on_rig(test)


def test_more_than_ten_attributes_do_not_fit_a_bare_message() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        await rig.subscribe(topic, await rig.queue("raw"), RawMessageDelivery="true")
        await rig.subscribe(topic, await rig.queue("whole"))
        await rig.publish(topic, "m", MessageAttributes={f"a{number}": text("x") for number in range(11)})
        assert await rig.bodies("raw") == []
        assert len(await rig.bodies("whole")) == 1

    on_rig(test)


def test_functions_get_an_event_and_are_tried_again() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        arn = await rig.subscribe(topic, FUNCTION)
        start = rig.clock.now_ms()
        rig.calls.failing = [failing(503)] * 5
        receipt = await rig.publish(
            topic, "m", Subject="s", MessageAttributes={"n": {"DataType": "Number", "StringValue": "1"}}
        )
        await rig.let(10 * SECOND)
        # At once as the message is published, then as a delivery: at once, thrice without delay, then each second.
        assert rig.calls.instants("lambda") == [start] * 5 + [start + SECOND]
        request = rig.calls.requests("lambda")[-1]
        assert (request["FunctionName"], request["InvocationType"]) == (FUNCTION, "Event")
        [record] = json.loads(request["Payload"])["Records"]
        assert (record["EventSource"], record["EventVersion"], record["EventSubscriptionArn"]) == (
            "aws:sns",
            "1.0",
            arn,
        )
        assert record["Sns"]["MessageId"] == receipt.message_id
        assert record["Sns"]["MessageAttributes"] == {"n": {"Type": "String", "Value": "1"}}

    on_rig(test)


def test_a_function_that_is_gone_has_dead_letters() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        await rig.subscribe(topic, FUNCTION, RedrivePolicy={"deadLetterTargetArn": await rig.queue("dead")})
        rig.calls.always = failing(404)
        await rig.publish(topic, "m")
        await rig.let(SECOND)
        [letter] = await rig.received("dead")
        assert json.loads(letter.body)["Records"][0]["Sns"]["Message"] == "m"
        assert await rig.counted() == {
            "NumberOfMessagesPublished": 1, "PublishSize": 1, "NumberOfNotificationsFailed": 1,
            "NumberOfNotificationsRedrivenToDlq": 1,
        }  # fmt: skip
        assert not letter.attributes

    on_rig(test)


def test_an_endpoint_confirms_and_is_posted_to_by_its_policy() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        policy = {"healthyRetryPolicy": {"numRetries": 2, "minDelayTarget": 5, "maxDelayTarget": 5}}
        dead = await rig.queue("dead")
        await rig.subscribe(topic, URL, DeliveryPolicy=policy, RedrivePolicy={"deadLetterTargetArn": dead})
        await rig.let(SECOND)
        [asked] = rig.calls.requests("http")
        assert asked["Headers"]["x-amz-sns-message-type"] == "SubscriptionConfirmation"
        await rig.publish(topic, "unheard")
        arn = await rig.confirm(topic)
        rig.calls.always = failing(500)
        start = rig.clock.now_ms()
        await rig.publish(topic, "m")
        # What was decided is done by the next process, too.
        other = await rig.restarted()
        other.calls.always = failing(500)
        await other.let(MINUTE)
        assert other.calls.instants("http")[-2:] == [start + 5 * SECOND, start + 10 * SECOND]
        post = other.calls.requests("http")[-1]
        assert post["Url"] == URL
        assert post["Headers"]["x-amz-sns-subscription-arn"] == arn
        assert post["Headers"]["Content-Type"] == "text/plain; charset=UTF-8"
        assert json.loads(post["Body"])["Message"] == "m"
        [letter] = await other.received("dead")
        assert json.loads(letter.body) == json.loads(post["Body"])

    on_rig(test)


def test_a_refusal_is_not_tried_again() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        await rig.subscribe(topic, URL, RawMessageDelivery="true")
        await rig.let(SECOND)
        await rig.confirm(topic)
        rig.calls.made.clear()
        rig.calls.always = failing(403)
        await rig.publish(topic, "m")
        await rig.let(DAY)
        [post] = rig.calls.requests("http")
        assert (post["Body"], post["Headers"]["x-amz-sns-rawdelivery"]) == ("m", "true")
        # The question whether it confirms is no notification.
        counted = await rig.counted()
        assert counted.get("NumberOfNotificationsDelivered", 0) == 0

    on_rig(test)


@pytest.mark.parametrize(
    ("name", "given", "reason"),
    [
        ("t", {"MessageDeduplicationId": "d"}, "MessageDeduplicationId Reason: "),
        ("t.fifo", {}, "The MessageGroupId parameter is required for FIFO topics"),
        ("t.fifo", {"MessageGroupId": "g"}, "The topic should either have ContentBasedDeduplication enabled"),
        ("t.fifo", {"MessageGroupId": "g h", "MessageDeduplicationId": "d"}, "MessageGroupId Reason: "),
        ("t", {"Message": ""}, "Empty message"),
        ("t", {"Message": "x" * 262_145}, "Message too long"),
        ("t", {"Message": "x", "Subject": "a\nb"}, "Subject"),
        ("t", {"Message": "x", "Subject": "a" * 101}, "Subject"),
        ("t", {"Message": "x\ud800"}, "Message"),
        ("t", {"Message": "x", "MessageStructure": "json"}, "JSON message body failed to parse"),
        ("t", {"Message": '{"sqs":"x"}', "MessageStructure": "json"}, "No default entry in JSON message body"),
        ("t", {"Message": "x", "MessageStructure": "xml"}, "MessageStructure"),
    ],
)
def test_messages_are_refused(name: str, given: dict[str, str], reason: str) -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic(name)
        with pytest.raises(ApiError) as refused:
            await rig.publish(topic, given.get("Message", "m"), **{k: v for k, v in given.items() if k != "Message"})
        assert refused.value.code == "InvalidParameter"
        assert reason in refused.value.message

    on_rig(test)


@pytest.mark.parametrize(
    ("attribute", "reason"),
    [
        ({"DataType": "Text", "StringValue": "x"}, "invalid message attribute type"),
        ({"DataType": "String.", "StringValue": "x"}, "invalid message attribute type"),
        ({"DataType": "Stringy", "StringValue": "x"}, "invalid message attribute type"),
        ({"DataType": "String", "StringValue": ""}, "must contain non-empty message attribute value"),
        ({"DataType": "Binary", "StringValue": "x"}, "must contain non-empty message attribute value"),
        ({"DataType": "Number", "StringValue": "x"}, "value to number"),
        ({"DataType": "String.Array", "StringValue": "x"}, "must be a JSON array"),
    ],
)
def test_attributes_are_refused(attribute: dict[str, str], reason: str) -> None:
    with pytest.raises(ApiError, match=reason) as refused:
        read_message({"Message": "m", "MessageAttributes": {"a": attribute}})
    assert refused.value.code == "ParameterValueInvalid"


def test_a_type_may_have_any_label() -> None:
    given = {"a": {"DataType": "String. own .", "StringValue": "x"}}
    assert read_message({"Message": "m", "MessageAttributes": given}).attributes == given


def test_size_counts_attributes() -> None:
    given = {"Message": "abc", "MessageAttributes": {"name": text("value")}}
    assert read_message(given).size_bytes == 3 + len("name" + "String" + "value")
