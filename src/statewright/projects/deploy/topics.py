"""Topics, subscriptions and the policies of topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonObject
from statewright.projects.deploy.kinds import TO_COME, CannotApply, Kind, Known, Site, Wanted, holds, nothing, text_of

SERVICE: Final = "sns"
_ATTRIBUTES: Final = (
    "DisplayName", "ContentBasedDeduplication", "FifoThroughputScope", "KmsMasterKeyId", "SignatureVersion",
    "TracingConfig", "DeliveryPolicy",
)  # fmt: skip
_SUBSCRIPTION: Final = (
    "FilterPolicy", "FilterPolicyScope", "RawMessageDelivery", "RedrivePolicy", "DeliveryPolicy", "SubscriptionRoleArn",
)  # fmt: skip


def topic(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a topic with the subscriptions that it declares, or change its attributes."""
    is_fifo = wanted.truth("FifoTopic")
    name = wanted.name
    if is_fifo and not name.endswith(".fifo"):
        if wanted.properties.get("TopicName"):
            raise CannotApply("the TopicName of a FIFO topic ends in .fifo")
        name = f"{name[:251]}.fifo"
    arn = f"{wanted.arn.rpartition(':')[0]}:{name}"
    attributes = {key: text_of(value) for key, value in wanted.given(*_ATTRIBUTES).items()}
    shown = site.found(SERVICE, "GetTopicAttributes", TopicArn=arn)
    if shown is None:
        first = {**attributes, "FifoTopic": "true"} if is_fifo else attributes
        site.create(SERVICE, "CreateTopic", Name=name, Attributes=first, Tags=wanted.tag_list())
    else:
        there = shown.get("Attributes") or {}
        for key, value in attributes.items():
            if not holds(there.get(key), value):
                site.change(SERVICE, "SetTopicAttributes", TopicArn=arn, AttributeName=key, AttributeValue=value)
    for one in wanted.items("Subscription"):
        if isinstance(one, dict):
            _subscribed(site, arn, text_of(one.get("Protocol", "")), text_of(one.get("Endpoint", "")), {})
    return {"Ref": arn, "Arn": arn, "TopicArn": arn, "TopicName": name}


def subscription(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Subscribe an endpoint, or change the subscription's attributes."""
    attributes = {key: text_of(value) for key, value in wanted.given(*_SUBSCRIPTION).items()}
    arn = _subscribed(site, wanted.text("TopicArn"), wanted.text("Protocol"), wanted.text("Endpoint"), attributes)
    if wanted.before is not None and wanted.before.ref not in (arn, TO_COME) and site.created:
        # Neither topic nor endpoint of a subscription can be changed: there is a new one, and the old one goes.
        if site.found(SERVICE, "GetSubscriptionAttributes", SubscriptionArn=wanted.before.ref) is not None:
            site.change(SERVICE, "Unsubscribe", SubscriptionArn=wanted.before.ref)
        site.replaced = True
    return {"Ref": arn, "Arn": arn}


def _subscribed(site: Site, topic_arn: str, protocol: str, endpoint: str, attributes: Mapping[str, str]) -> str:
    arn = _subscription_of(site, topic_arn, protocol, endpoint)
    if arn is None:
        made = site.create(
            SERVICE, "Subscribe", TopicArn=topic_arn, Protocol=protocol, Endpoint=endpoint,
            Attributes=dict(attributes) or None, ReturnSubscriptionArn=True,
        )  # fmt: skip
        return str(made.get("SubscriptionArn", TO_COME))
    if not arn.startswith("arn:"):
        # It waits for a confirmation, and has no attributes before.
        return arn
    shown = site.found(SERVICE, "GetSubscriptionAttributes", SubscriptionArn=arn) or {}
    there = shown.get("Attributes") or {}
    for key, value in attributes.items():
        if not holds(there.get(key), value):
            site.change(
                SERVICE, "SetSubscriptionAttributes", SubscriptionArn=arn, AttributeName=key, AttributeValue=value
            )
    return arn


def _subscription_of(site: Site, topic_arn: str, protocol: str, endpoint: str) -> str | None:
    following: JsonObject = {}
    while True:
        page = site.found(SERVICE, "ListSubscriptionsByTopic", TopicArn=topic_arn, **following)
        for one in (page or {}).get("Subscriptions") or ():
            if (one.get("Protocol"), one.get("Endpoint")) == (protocol, endpoint):
                return str(one["SubscriptionArn"])
        if not page or not page.get("NextToken"):
            return None
        following = {"NextToken": page["NextToken"]}


def policy(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Give topics a policy, which is kept and shown but not enforced."""
    document = text_of(wanted.properties.get("PolicyDocument") or {})
    for arn in wanted.items("Topics"):
        shown = site.found(SERVICE, "GetTopicAttributes", TopicArn=arn) or {}
        if not holds((shown.get("Attributes") or {}).get("Policy"), document):
            # Every topic has a policy from its beginning.
            made = site.create if wanted.before is None else site.change
            made(SERVICE, "SetTopicAttributes", TopicArn=arn, AttributeName="Policy", AttributeValue=document)
    return {"Ref": wanted.name}


def _delete(site: Site, known: Known) -> None:
    site.change(SERVICE, "DeleteTopic", TopicArn=known.ref)


def _unsubscribe(site: Site, known: Known) -> None:
    site.change(SERVICE, "Unsubscribe", SubscriptionArn=known.ref)


KINDS: Final = {
    "AWS::SNS::Topic": Kind("topic", topic, _delete, "TopicName", 256, "sns:{region}:{account}:{name}", "arn"),
    "AWS::SNS::Subscription": Kind("subscription", subscription, _unsubscribe, ref="arn"),
    "AWS::SNS::TopicPolicy": Kind("topic policy", policy, nothing),
}
