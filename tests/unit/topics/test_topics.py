"""Topics and subscriptions: creating, changing, confirming, listing, deleting."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.errors import ApiError
from tests.unit.topics.running import DAY, FUNCTION, QUEUE, SECOND, URL, Rig, on_rig


def test_creating_again_finds_the_topic_unless_it_differs() -> None:
    async def test(rig: Rig) -> None:
        arn = await rig.topics.create("t", {"DisplayName": "d"}, {"k": "v"})
        assert await rig.topics.create("t", {}, {}) == arn
        assert await rig.topics.create("t", {"DisplayName": "d"}, {"k": "v"}) == arn
        with pytest.raises(ApiError, match="Topic already exists with different attributes"):
            await rig.topics.create("t", {"DisplayName": "e"}, {})
        assert await rig.topics.create("t", {"FifoTopic": "False"}, {}) == arn
        for tags in ({"k": "w"}, {"k": "v", "l": "v"}):
            with pytest.raises(ApiError, match="Topic already exists with different tags"):
                await rig.topics.create("t", {}, tags)

    on_rig(test)


@pytest.mark.parametrize(
    ("name", "attributes", "reason"),
    [
        ("a b", {}, "Topic Name"),
        ("", {}, "Topic Name"),
        ("x" * 257, {}, "Topic Name"),
        ("t.fifo", {}, "Topic Name"),
        ("t", {"FifoTopic": "true"}, "Topic Name"),
        ("t", {"ContentBasedDeduplication": "true"}, "ContentBasedDeduplication Reason"),
        ("t.fifo", {"FifoTopic": "true", "FifoThroughputScope": "Queue"}, "FifoThroughputScope Reason"),
        ("t", {"Colour": "red"}, "AttributeName"),
        ("t", {"Policy": "x"}, "Policy Reason"),
        ("t", {"DisplayName": "x" * 101}, "DisplayName"),
        ("t", {"MaximumMessageSize": "1023"}, "MaximumMessageSize Reason"),
        ("t", {"SignatureVersion": "3"}, "SignatureVersion Reason"),
        ("t", {"LambdaSuccessFeedbackSampleRate": "101"}, "sample rate"),
        ("t", {"ArchivePolicy": "{}"}, "keeps no archive"),
    ],
)
def test_topics_are_refused(name: str, attributes: dict[str, str], reason: str) -> None:
    async def test(rig: Rig) -> None:
        with pytest.raises(ApiError) as refused:
            await rig.topics.create(name, attributes, {})
        assert refused.value.code == "InvalidParameter"
        assert reason in refused.value.message

    on_rig(test)


@pytest.mark.parametrize(
    ("protocol", "endpoint", "attributes", "reason"),
    [
        ("fax", "1", {}, "does not support this protocol string: fax"),
        ("sqs", "q", {}, "SQS endpoint ARN"),
        ("sqs", QUEUE + "q.fifo", {}, "FIFO SQS Queues can not be subscribed to standard SNS topics"),
        ("lambda", "f", {}, "Lambda endpoint ARN"),
        ("http", "https://a/", {}, "Endpoint must match the specified protocol"),
        ("https", "https://", {}, "Unparsable endpoint URL"),
        ("http", "http://a:x/", {}, "Unparsable endpoint URL"),
        ("email", "a", {}, "Email address"),
        ("sms", "a", {}, "Invalid SMS endpoint"),
        ("sqs", "", {}, "Endpoint"),
        ("firehose", "arn:x", {}, "not to firehose"),
        ("sqs", QUEUE + "q", {"Colour": "red"}, "Attributes Reason: AttributeName"),
        (
            "sqs",
            QUEUE + "q",
            {"RawMessageDelivery": "yes"},
            "RawMessageDelivery: Invalid value [yes]. Must be true or false.",
        ),
        ("lambda", FUNCTION, {"RawMessageDelivery": "true"}, "does not support raw message delivery"),
        ("sqs", QUEUE + "q", {"FilterPolicy": '{"a":{"b":[1]}}'}, "Invalid parameter: Filter policy scope Message"),
        ("sqs", QUEUE + "q", {"FilterPolicyScope": "Both"}, "FilterPolicyScope: Invalid value [Both]"),
        ("sqs", QUEUE + "q", {"RedrivePolicy": "{}"}, "deadLetterTargetArn is not a valid ARN"),
        ("sqs", QUEUE + "q", {"ReplayPolicy": "{}"}, "keeps no archive"),
    ],
)
def test_subscriptions_are_refused(protocol: str, endpoint: str, attributes: dict[str, str], reason: str) -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        with pytest.raises(ApiError) as refused:
            await rig.topics.subscribe(topic, protocol, endpoint, attributes)
        assert refused.value.code == "InvalidParameter"
        assert reason in refused.value.message

    on_rig(test)


def test_fifo_topics_are_for_queues() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic("t.fifo")
        with pytest.raises(ApiError, match="only be subscribed to by SQS queues"):
            await rig.subscribe(topic, FUNCTION)
        policy = {"deadLetterTargetArn": QUEUE + "dead"}
        with pytest.raises(ApiError, match="must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic"):
            await rig.subscribe(topic, QUEUE + "q.fifo", RedrivePolicy=policy)
        await rig.subscribe(topic, QUEUE + "standard", RedrivePolicy=policy)
        assert "FifoThroughputScope" not in rig.topics.attributes(topic)

    on_rig(test)


@pytest.mark.parametrize("end", ["", ":", ":x", ":0a1b2c3d"])
def test_what_is_no_subscription_cannot_be_ended(end: str) -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        with pytest.raises(ApiError, match="Invalid parameter: SubscriptionId"):
            await rig.topics.unsubscribe(topic + end, signed=True)
        # One that is gone is no mistake.
        await rig.topics.unsubscribe(topic + ":01234567-0123-4123-8123-0123456789ab", signed=True)

    on_rig(test)


def test_text_messages_need_no_confirmation_and_are_not_sent() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        subscribed = await rig.topics.subscribe(topic, "sms", "+15550100", {})
        assert not subscribed.entry.is_pending
        await rig.publish(topic, "m")
        await rig.let(SECOND)
        assert rig.calls.made == []
        assert (await rig.counted())["NumberOfNotificationsFailed"] == 1

    on_rig(test)


def test_subscribing_again_finds_the_subscription_unless_it_differs() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        arn = await rig.subscribe(topic, QUEUE + "q", RawMessageDelivery="true")
        assert await rig.subscribe(topic, QUEUE + "q") == arn
        assert await rig.subscribe(topic, QUEUE + "q", RawMessageDelivery="True") == arn
        assert await rig.subscribe(topic, QUEUE + "q", FilterPolicyScope="MessageAttributes", FilterPolicy="") == arn
        with pytest.raises(ApiError, match="Subscription already exists with different attributes"):
            await rig.subscribe(topic, QUEUE + "q", RawMessageDelivery="false")
        other = await rig.restarted()
        assert await other.subscribe(topic, QUEUE + "q") == arn

    on_rig(test)


def test_tokens_confirm_for_two_days() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        arn = await rig.subscribe(topic, URL)
        await rig.let(SECOND)
        token = json.loads(rig.calls.requests("http")[-1]["Body"])["Token"]
        assert rig.topics.subscription_attributes(arn)["PendingConfirmation"] == "true"
        for arn_of_topic in (topic, topic + "-not-there"):
            with pytest.raises(ApiError, match="Invalid parameter: Token"):
                await rig.topics.confirm(arn_of_topic, "x", signed=False, needs_signature=False)
        for _ in range(2):
            done = await rig.topics.confirm(topic, token, signed=False, needs_signature=True)
            assert done.arn == arn
        with pytest.raises(ApiError) as refused:
            await rig.topics.unsubscribe(arn, signed=False)
        assert refused.value.code == "AuthorizationError"
        await rig.topics.unsubscribe(arn, signed=True)
        late = await rig.subscribe(topic, URL)
        await rig.let(2 * DAY + SECOND)
        token = json.loads(rig.calls.requests("http")[-1]["Body"])["Token"]
        with pytest.raises(ApiError, match="Invalid parameter: Token"):
            await rig.topics.confirm(topic, token, signed=False, needs_signature=False)
        assert rig.topics.subscription_attributes(late)["PendingConfirmation"] == "true"

    on_rig(test)


def test_lists_come_in_pages_and_survive_a_restart() -> None:
    async def test(rig: Rig) -> None:
        first, second = await rig.topic("a"), await rig.topic("b")
        for number in range(5):
            await rig.subscribe(first if number % 2 else second, f"{QUEUE}q{number}")
        for one in (rig, await rig.restarted()):
            assert one.topics.list_topics(None, 1) == ([first], "a")
            assert one.topics.list_topics("a", 1) == ([second], None)
            found, last = one.topics.list_subscriptions(None, None, 3)
            rest, end = one.topics.list_subscriptions(None, last, 3)
            assert [each.entry.endpoint[-1] for each in (*found, *rest)] == list("01234")
            assert end is None
            assert len(one.topics.list_subscriptions(first, None, 10)[0]) == 2

    on_rig(test)


def test_a_deleted_topic_takes_its_subscriptions_along() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic()
        arn = await rig.subscribe(topic, QUEUE + "q")
        await rig.topics.delete(topic)
        await rig.topics.delete(topic)
        for _ in range(2):
            with pytest.raises(ApiError, match="Topic does not exist"):
                rig.topics.attributes(topic)
            with pytest.raises(ApiError, match="Subscription does not exist"):
                rig.topics.subscription(arn)
            assert rig.topics.list_subscriptions(None, None, 10) == ([], None)
            rig = await rig.restarted()
        await rig.topic()
        assert rig.topics.list_subscriptions(topic, None, 10) == ([], None)

    on_rig(test)


def test_the_scope_of_a_filter_is_shown_beside_a_policy_only() -> None:
    async def test(rig: Rig) -> None:
        arn = await rig.subscribe(await rig.topic(), QUEUE + "q", FilterPolicyScope="MessageBody")
        assert "FilterPolicyScope" not in rig.topics.subscription_attributes(arn)
        await rig.topics.set_subscription_attribute(arn, "FilterPolicy", '{"a": {"b": ["c"]}}')
        assert rig.topics.subscription_attributes(arn)["FilterPolicyScope"] == "MessageBody"
        await rig.topics.set_subscription_attribute(arn, "FilterPolicy", "")
        assert not {"FilterPolicy", "FilterPolicyScope"} & rig.topics.subscription_attributes(arn).keys()

    on_rig(test)


def test_attributes_are_shown_and_set() -> None:
    async def test(rig: Rig) -> None:
        topic = await rig.topic("t.fifo", ContentBasedDeduplication="True")
        await rig.subscribe(topic, QUEUE + "q")
        await rig.topics.set_attribute(topic, "DisplayName", "shown")
        found = (await rig.restarted()).topics.attributes(topic)
        shown: dict[str, Any] = {name: found[name] for name in ("DisplayName", "FifoTopic", "SubscriptionsConfirmed")}
        assert shown == {"DisplayName": "shown", "FifoTopic": "true", "SubscriptionsConfirmed": "1"}
        assert found["ContentBasedDeduplication"] == "true"
        assert json.loads(found["Policy"])["Statement"][0]["Resource"] == topic

    on_rig(test)


@pytest.mark.parametrize(
    ("arn", "code"),
    [
        ("arn:aws:sns:us-east-1:000000000000:none", "NotFound"),
        ("arn:aws:sns:eu-west-1:000000000000:t", "NotFound"),
        ("arn:aws:sns:us-east-1:111111111111:t", "NotFound"),
        ("arn:aws:sqs:us-east-1:000000000000:t", "InvalidParameter"),
        ("t", "InvalidParameter"),
    ],
)
def test_arns_that_name_no_topic(arn: str, code: str) -> None:
    async def test(rig: Rig) -> None:
        await rig.topic()
        with pytest.raises(ApiError) as refused:
            rig.topics.find(arn)
        assert refused.value.code == code

    on_rig(test)
