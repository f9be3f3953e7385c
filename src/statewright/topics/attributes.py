"""Attributes of topics and subscriptions: their names, the checks of their values, and how they are shown.

Source: API reference, SetTopicAttributes, GetTopicAttributes, Subscribe, GetSubscriptionAttributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import orjson

from statewright.config import Config
from statewright.payload import Json, JsonObject
from statewright.topics.entries import FIFO_SUFFIX, Subscription, Topic
from statewright.topics.filters import ATTRIBUTES, BODY, compile_filter
from statewright.topics.refusals import invalid
from statewright.topics.retries import effective, effective_topic, read_subscription_policy, read_topic_policy

MESSAGE_BYTES: Final = 262_144
"""Longest message of a topic without MaximumMessageSize, in bytes. Source: API reference, Publish."""
_MESSAGE_BYTES: Final = (1024, 1_048_576)
_FIFO_ONLY: Final = ("ContentBasedDeduplication", "FifoThroughputScope")
_FEEDBACK: Final = re.compile(
    r"(?:HTTP|Firehose|Lambda|Application|SQS)(?:(?:Success|Failure)FeedbackRoleArn|(SuccessFeedbackSampleRate))"
)
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,256}", re.ASCII)
_QUEUE: Final = re.compile(r"arn:aws[a-z-]*:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+(?:\.fifo)?", re.ASCII)

Check = Callable[[str], None]


def check_name(name: str, fifo: bool) -> None:
    """Check the name of a topic. Raises: ApiError (`InvalidParameter`)."""
    plain = name.removesuffix(FIFO_SUFFIX) if fifo else name
    if len(name) > 256 or fifo != name.endswith(FIFO_SUFFIX) or _NAME.fullmatch(plain) is None:
        raise invalid("Topic Name")


# ------------------------------------------------------------------ topics


def check_topic_attribute(name: str, value: str, fifo: bool) -> None:
    """Check an attribute of a topic. Raises: ApiError (`InvalidParameter`)."""
    if name == "ArchivePolicy":
        raise invalid("ArchivePolicy Reason: this version of Statewright keeps no archive of messages.")
    check = _TOPIC.get(name)
    if check is None:
        feedback = _FEEDBACK.fullmatch(name)
        if feedback is None:
            raise invalid("AttributeName")
        if feedback[1] and value and not (value.isascii() and value.isdigit() and int(value) <= 100):
            raise invalid(f"{name} Reason: the sample rate is a whole number from 0 to 100.")
        return
    if name in _FIFO_ONLY and not fifo:
        raise invalid(f"{name} Reason: Content-based deduplication can only be set for FIFO topics"
                      if name == "ContentBasedDeduplication"
                      else f"{name} Reason: {name} can only be set for FIFO topics")  # fmt: skip
    if value or name == "ContentBasedDeduplication":
        # An empty text removes an attribute.
        check(value)


def topic_attributes(given: Mapping[str, str], fifo: bool) -> dict[str, str]:
    """The attributes that a new topic keeps. Raises: ApiError (`InvalidParameter`)."""
    kept = {}
    for name, value in given.items():
        if name == "FifoTopic":
            continue
        check_topic_attribute(name, value, fifo)
        kept[name] = value.lower() if name == "ContentBasedDeduplication" else value
    return kept


def shown_topic(topic: Topic, arn: str, config: Config, confirmed: int, pending: int) -> dict[str, str]:
    """The attributes of a topic, as GetTopicAttributes returns them."""
    shown = {
        "Policy": _default_policy(arn, config.account),
        "Owner": config.account,
        "SubscriptionsPending": str(pending),
        "TopicArn": arn,
        "EffectiveDeliveryPolicy": _text(effective_topic(topic.attributes.get("DeliveryPolicy"))),
        "SubscriptionsConfirmed": str(confirmed),
        "DisplayName": "",
        "SubscriptionsDeleted": str(topic.deleted),
    }
    if topic.fifo:
        shown |= {"FifoTopic": "true", "ContentBasedDeduplication": "false"}
    return shown | {name: value for name, value in topic.attributes.items() if value or name == "DisplayName"}


def _default_policy(arn: str, account: str) -> str:
    return _text(default_policy(arn, account))


def default_policy(arn: str, account: str) -> JsonObject:
    """The policy of a topic without one of its own: the owner may do everything."""
    actions = (
        "GetTopicAttributes", "SetTopicAttributes", "AddPermission", "RemovePermission", "DeleteTopic", "Subscribe",
        "ListSubscriptionsByTopic", "Publish",
    )  # fmt: skip
    statement = {
        "Sid": "__default_statement_ID",
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": [f"SNS:{action}" for action in actions],
        "Resource": arn,
        "Condition": {"StringEquals": {"AWS:SourceOwner": account}},
    }
    return {"Version": "2008-10-17", "Id": "__default_policy_ID", "Statement": [statement]}


def _json(name: str) -> Check:
    def check(value: str) -> None:
        if value:
            read_json(value, name)

    return check


def read_json(value: str, name: str) -> JsonObject:
    """The object that an attribute holds. Raises: ApiError (`InvalidParameter`)."""
    try:
        found = orjson.loads(value)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise invalid(f"{name} Reason: failed to parse JSON.")
    return found


def _one_of(name: str, *allowed: str) -> Check:
    def check(value: str) -> None:
        if value not in allowed:
            raise invalid(f"{name} Reason: {name} must be one of {', '.join(allowed)}")

    return check


def _truth(name: str) -> Check:
    def check(value: str) -> None:
        if value.lower() not in ("true", "false"):
            raise invalid(f"{name} Reason: {name} must be true or false")

    return check


def _message_bytes(value: str) -> None:
    least, most = _MESSAGE_BYTES
    if not (value.isascii() and value.isdigit() and len(value) < 9 and least <= int(value) <= most):
        raise invalid(f"MaximumMessageSize Reason: MaximumMessageSize must be from {least} to {most}")


def _display_name(value: str) -> None:
    if len(value) > 100 or not value.isprintable():
        raise invalid("DisplayName")


def _anything(_value: str) -> None:
    return None


_TOPIC: Final[Mapping[str, Check]] = {
    "DeliveryPolicy": lambda value: read_topic_policy(value) if value else None,
    "DisplayName": _display_name,
    "Policy": _json("Policy"),
    "TracingConfig": _one_of("TracingConfig", "PassThrough", "Active"),
    "KmsMasterKeyId": _anything,
    "SignatureVersion": _one_of("SignatureVersion", "1", "2"),
    "MaximumMessageSize": _message_bytes,
    "ContentBasedDeduplication": _truth("ContentBasedDeduplication"),
    "FifoThroughputScope": _one_of("FifoThroughputScope", "Topic", "MessageGroup"),
}


# ------------------------------------------------------------------ subscriptions


def check_subscription_attribute(
    name: str, value: str, protocol: str, endpoint: str, scope: str, *, fifo: bool
) -> None:
    """Check an attribute of a subscription. `scope` is the FilterPolicyScope of its filter policy, `fifo` the topic's.

    Raises: ApiError (`InvalidParameter`).
    """
    if name == "RawMessageDelivery":
        if value.lower() not in ("true", "false"):
            raise invalid(f"RawMessageDelivery: Invalid value [{value[:100]}]. Must be true or false.")
        if value.lower() == "true" and protocol not in ("sqs", "http", "https", "firehose"):
            raise invalid(
                f"RawMessageDelivery Reason: Delivery protocol [{protocol}] does not support raw message delivery."
            )
    elif name == "FilterPolicy":
        if value:
            compile_filter(value, scope)
    elif name == "FilterPolicyScope":
        if value not in (ATTRIBUTES, BODY):
            raise invalid(f"FilterPolicyScope: Invalid value [{value[:100]}]. Please use either {BODY} or {ATTRIBUTES}")
    elif name == "DeliveryPolicy":
        if value:
            read_subscription_policy(value)
    elif name == "RedrivePolicy":
        if value:
            _check_redrive(value, fifo=fifo, needs_fifo=endpoint.endswith(FIFO_SUFFIX))
    elif name in ("ReplayPolicy", "ReplayStatus"):
        raise invalid(f"{name} Reason: this version of Statewright keeps no archive of messages to replay.")
    elif name != "SubscriptionRoleArn":
        raise invalid("AttributeName")


def all_as_before(kept: Mapping[str, str], given: Mapping[str, str]) -> bool:
    """True if attributes of a repeated request mean what the existing topic or subscription has (observed).

    Case of truth values and the form of JSON make no difference, nor does a default that was left out.
    """
    return all(_meaning(name, kept.get(name)) == _meaning(name, value) for name, value in given.items())


def _meaning(name: str, value: str | None) -> Json:
    if not value:
        return _DEFAULTS.get(name)
    if value.lower() in ("true", "false"):
        return value.lower()
    if value[0] in "{[":
        try:
            parsed: Json = orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
        return parsed
    return value


_DEFAULTS: Final = {
    "ContentBasedDeduplication": "false",
    "FifoTopic": "false",
    "FilterPolicyScope": ATTRIBUTES,
    "RawMessageDelivery": "false",
}


def _check_redrive(value: str, *, fifo: bool, needs_fifo: bool) -> None:
    target = read_json(value, "RedrivePolicy").get("deadLetterTargetArn")
    if not isinstance(target, str) or _QUEUE.fullmatch(target) is None:
        raise invalid("RedrivePolicy: deadLetterTargetArn is not a valid ARN.")
    if target.endswith(FIFO_SUFFIX) and not fifo:
        raise invalid("RedrivePolicy: FIFO queues can not be dead-letter queues of subscriptions to standard topics")
    if needs_fifo and not target.endswith(FIFO_SUFFIX):
        raise invalid("RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic.")


def dead_letter_queue(subscription: Subscription) -> str | None:
    """The ARN of a subscription's dead-letter queue, if it has one."""
    text = subscription.attributes.get("RedrivePolicy")
    return str(orjson.loads(text)["deadLetterTargetArn"]) if text else None


def shown_subscription(
    subscription: Subscription, arn: str, topic: Topic, topic_arn: str, config: Config
) -> dict[str, str]:
    """The attributes of a subscription, as GetSubscriptionAttributes returns them."""
    shown = {
        "SubscriptionArn": arn,
        "TopicArn": topic_arn,
        "Protocol": subscription.protocol,
        "Endpoint": subscription.endpoint,
        "Owner": config.account,
        "PendingConfirmation": _flag(subscription.is_pending),
        "ConfirmationWasAuthenticated": _flag(subscription.was_signed),
        "RawMessageDelivery": "false",
        "SubscriptionPrincipal": f"arn:aws:iam::{config.account}:root",
    }
    if subscription.protocol in ("http", "https"):
        policy = effective(topic.attributes.get("DeliveryPolicy"), subscription.attributes.get("DeliveryPolicy"))
        shown["EffectiveDeliveryPolicy"] = _text(policy)
    kept = {name: value for name, value in subscription.attributes.items() if value}
    if "FilterPolicy" in kept:
        shown["FilterPolicyScope"] = ATTRIBUTES
    else:
        # The scope is shown only beside a policy (observed).
        kept.pop("FilterPolicyScope", None)
    if "RawMessageDelivery" in kept:
        kept["RawMessageDelivery"] = kept["RawMessageDelivery"].lower()
    return shown | kept


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _text(value: Json) -> str:
    return orjson.dumps(value).decode()
