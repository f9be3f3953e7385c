"""Operations on subscriptions."""

from __future__ import annotations

from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.api.sns.topics import PAGE
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject
from statewright.topics.refusals import invalid
from statewright.topics.subscribers import Subscriber

PENDING: Final = "PendingConfirmation"

TOKENS: Final = PageTokens[int]("sns subscriptions", lambda _: invalid("NextToken"))


@operation("sns", "Subscribe")
async def subscribe(app: App, _call: Call, request: Json) -> Json:
    """Subscribe an endpoint to a topic."""
    made = await app.services.topics.subscribe(
        request["TopicArn"], request["Protocol"], request.get("Endpoint") or "", request.get("Attributes") or {}
    )
    hidden = made.entry.is_pending and not request.get("ReturnSubscriptionArn")
    return {"SubscriptionArn": "pending confirmation" if hidden else made.arn}


@operation("sns", "ConfirmSubscription")
async def confirm_subscription(app: App, call: Call, request: Json) -> Json:
    """Confirm a subscription by the token that its endpoint received."""
    needs_signature = request.get("AuthenticateOnUnsubscribe")
    if needs_signature is not None and needs_signature.lower() not in ("true", "false"):
        raise invalid("AuthenticateOnUnsubscribe")
    found = await app.services.topics.confirm(
        request["TopicArn"],
        request["Token"],
        signed=_is_signed(call),
        needs_signature=(needs_signature or "").lower() == "true",
    )
    return {"SubscriptionArn": found.arn}


@operation("sns", "Unsubscribe")
async def unsubscribe(app: App, call: Call, request: Json) -> None:
    """End a subscription."""
    await app.services.topics.unsubscribe(request["SubscriptionArn"], signed=_is_signed(call))


def _is_signed(call: Call) -> bool:
    """True if a call is signed, or comes from inside the process: such calls have no headers."""
    return not call.headers or "authorization" in call.headers or "X-Amz-Signature=" in call.query


@operation("sns", "GetSubscriptionAttributes")
async def get_subscription_attributes(app: App, _call: Call, request: Json) -> Json:
    """Return the attributes of a subscription."""
    return {"Attributes": app.services.topics.subscription_attributes(request["SubscriptionArn"])}


@operation("sns", "SetSubscriptionAttributes")
async def set_subscription_attributes(app: App, _call: Call, request: Json) -> None:
    """Set one attribute of a subscription."""
    await app.services.topics.set_subscription_attribute(
        request["SubscriptionArn"], request["AttributeName"], request.get("AttributeValue") or ""
    )


@operation("sns", "ListSubscriptions")
async def list_subscriptions(app: App, _call: Call, request: Json) -> Json:
    """List all subscriptions, oldest first."""
    return _listed(app, None, request)


@operation("sns", "ListSubscriptionsByTopic")
async def list_subscriptions_by_topic(app: App, _call: Call, request: Json) -> Json:
    """List the subscriptions of a topic, oldest first."""
    return _listed(app, request["TopicArn"], request)


def _listed(app: App, topic: str | None, request: Json) -> Json:
    found, last = app.services.topics.list_subscriptions(topic, TOKENS.read(request.get("NextToken") or None), PAGE)
    return {"Subscriptions": [_shown(app, one) for one in found], "NextToken": TOKENS.write(last)}


def _shown(app: App, subscriber: Subscriber) -> JsonObject:
    entry = subscriber.entry
    return {
        "SubscriptionArn": PENDING if entry.is_pending else subscriber.arn,
        "Owner": app.config.account,
        "Protocol": entry.protocol,
        "Endpoint": entry.endpoint,
        "TopicArn": subscriber.hub.arn,
    }
