"""Topics and subscriptions in memory: the entry of each, with the values that are parsed from it once."""

from __future__ import annotations

from statewright.payload import JsonObject
from statewright.topics.attributes import dead_letter_queue
from statewright.topics.entries import Subscription, Topic
from statewright.topics.filters import ATTRIBUTES, Filter, compile_filter
from statewright.topics.retries import MANAGED, effective


class Hub:
    """A topic and its subscriptions: by number, oldest first, by id, and by protocol and endpoint."""

    def __init__(self, topic: Topic, arn: str) -> None:
        self.topic = topic
        self.arn = arn
        self.is_deleted = False
        self.subscribers: dict[int, Subscriber] = {}
        self.by_id: dict[str, Subscriber] = {}
        self.by_endpoint: dict[tuple[str, str], Subscriber] = {}

    def join(self, entry: Subscription) -> Subscriber:
        """Add a subscription."""
        subscriber = Subscriber(self, entry)
        self.subscribers[entry.number] = subscriber
        self.by_id[entry.id] = subscriber
        self.by_endpoint[entry.protocol, entry.endpoint] = subscriber
        return subscriber

    def leave(self, subscriber: Subscriber) -> None:
        """Remove a subscription."""
        entry = subscriber.entry
        del self.subscribers[entry.number]
        del self.by_id[entry.id]
        del self.by_endpoint[entry.protocol, entry.endpoint]


class Subscriber:
    """A subscription. `filter` is None if it gets every message."""

    def __init__(self, hub: Hub, entry: Subscription) -> None:
        self.hub = hub
        self.arn = f"{hub.arn}:{entry.id}"
        self.entry = entry
        self.filter: Filter | None = None
        self.scope = ATTRIBUTES
        self.is_raw = False
        self.dead_letters: str | None = None
        self.set_entry(entry)

    def set_entry(self, entry: Subscription) -> None:
        """Replace the entry."""
        self.entry = entry
        policy = entry.attributes.get("FilterPolicy")
        self.scope = entry.attributes.get("FilterPolicyScope") or ATTRIBUTES
        self.filter = compile_filter(policy, self.scope) if policy else None
        self.is_raw = entry.attributes.get("RawMessageDelivery", "").lower() == "true"
        self.dead_letters = dead_letter_queue(entry)

    def target(self, headers: dict[str, str] | None = None) -> JsonObject:
        """The subscription as the target of a delivery; `headers` are those of a POST."""
        found: JsonObject = {"Arn": self.entry.endpoint, "IsSubscription": True, "Topic": self.hub.topic.name}
        if self.dead_letters is not None:
            found["DeadLetterConfig"] = {"Arn": self.dead_letters}
        if headers is None:
            return found | {"Phases": MANAGED}
        attributes = self.hub.topic.attributes
        policy = effective(attributes.get("DeliveryPolicy"), self.entry.attributes.get("DeliveryPolicy"))
        kind = policy["requestPolicy"]["headerContentType"]
        return found | {"Phases": policy["healthyRetryPolicy"], "Http": {"Content-Type": kind, **headers}}
