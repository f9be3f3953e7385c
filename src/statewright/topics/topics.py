"""All topics of a server: the façade for the API, tasks, schedules and rules.

Owns the set of topics and subscriptions; every change is one write of the catalogue, and takes effect in memory once
it is durable. Changes are made one at a time. Messages are sent by `publishing.py`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from statewright import chance
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.events.deliveries import Deliveries
from statewright.metrics.recorder import Recorder
from statewright.queues.queues import Queues
from statewright.stores.completion import Completion
from statewright.stores.entries import Entries
from statewright.stores.protocol import CatalogueStore
from statewright.stores.store import Store
from statewright.topics.attributes import (
    all_as_before,
    check_name,
    check_subscription_attribute,
    check_topic_attribute,
    shown_subscription,
    shown_topic,
    topic_attributes,
)
from statewright.topics.endpoints import WITHOUT_CONFIRMATION, check_endpoint
from statewright.topics.entries import SUBSCRIPTION, TOPIC, Subscription, Topic
from statewright.topics.filters import ATTRIBUTES, NESTED
from statewright.topics.messages import Message
from statewright.topics.publishing import Publisher, Receipt
from statewright.topics.refusals import invalid, no_subscription, no_topic
from statewright.topics.subscribers import Hub, Subscriber

TOKEN_MS: Final = 2 * 86_400_000
"""How long a confirmation token is valid. Source: API reference, Subscribe."""
MOST_POLICIES: Final = 200
"""Filter policies of one topic. Source: developer guide, "Filter policy constraints"."""

_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)

log = logging.getLogger("statewright.topics")


class Topics:
    """The topics of one store. `address` returns this server's own URL."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        config: Config,
        queues: Queues,
        deliveries: Deliveries,
        address: Callable[[], str],
        recorder: Recorder | None = None,
    ) -> None:
        self._catalogue: CatalogueStore = store.catalogue
        self._topics = Entries(store.catalogue, TOPIC)
        self._subscriptions = Entries(store.catalogue, SUBSCRIPTION)
        self._clock = clock
        self._config = config
        self._arns = config.arn("sns")
        self._hubs: dict[str, Hub] = {}
        self._subscribers: dict[int, Subscriber] = {}
        """Every subscription by its number, oldest first."""
        self._change = asyncio.Lock()
        self.publisher = Publisher(clock, config, queues, deliveries, address, recorder)

    async def start(self) -> None:
        """Read the topics and their subscriptions."""
        async for topic in self._topics.walk():
            self._add(topic)
        async for entry in self._subscriptions.walk():
            if entry.topic in self._hubs:
                self._join(entry)

    async def stop(self) -> None:
        """Stop publishing."""
        await self.publisher.stop()

    # ------------------------------------------------------------------ topics

    async def create(self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str]) -> str:
        """Create a topic and return its ARN; a repeated request returns the same topic.

        Raises: ApiError (`InvalidParameter`).
        """
        fifo = attributes.get("FifoTopic", "false").lower() == "true"
        check_name(name, fifo)
        kept = topic_attributes(attributes, fifo)
        async with self._change:
            existing = self._hubs.get(name)
            if existing is not None:
                if not all_as_before(existing.topic.attributes, kept):
                    raise invalid("Attributes Reason: Topic already exists with different attributes")
                if not tags.items() <= existing.topic.tags.items():
                    raise invalid("Tags Reason: Topic already exists with different tags")
                return existing.arn
            number = await self._catalogue.next_number("topic")
            topic = Topic(name, number, self._clock.now_ms(), kept, dict(tags))
            return self._add(await self._topics.write(topic)).arn

    async def delete(self, arn: str) -> None:
        """Delete a topic with its subscriptions; succeeds if it does not exist. Raises: ApiError."""
        async with self._change:
            hub = self._hubs.get(self._name(arn))
            if hub is None:
                return
            gone = [SUBSCRIPTION.name_of(one.entry) for one in hub.subscribers.values()]
            await self._catalogue.write([], [TOPIC.name_of(hub.topic), *gone])
            del self._hubs[hub.topic.name]
            for number in hub.subscribers:
                del self._subscribers[number]
            hub.is_deleted = True
            self.publisher.meters.forget(hub.topic.name)

    def find(self, arn: str) -> Hub:
        """A topic by its ARN. Raises: ApiError (`NotFound`, `InvalidParameter`)."""
        found = self._hubs.get(self._name(arn))
        if found is None:
            raise no_topic()
        return found

    def _name(self, arn: str, parameter: str = "TopicArn") -> str:
        """The name in an ARN; empty for one of another account or region."""
        parts = arn.split(":")
        if len(parts) < 6:
            raise invalid(f"{parameter} Reason: An ARN must have at least 6 elements, not {len(parts)}")
        if parts[0] != "arn" or parts[2] != "sns":
            raise invalid(parameter)
        return arn[len(self._arns) :] if arn.startswith(self._arns) else ""

    def list_topics(self, after: str | None, limit: int) -> tuple[list[str], str | None]:
        """ARNs in the order of names, after a name; also the name to continue after, if there are more."""
        names = sorted(self._hubs)
        start = bisect_right(names, after) if after is not None else 0
        chosen = names[start : start + limit]
        return [self._hubs[name].arn for name in chosen], chosen[-1] if start + limit < len(names) else None

    def attributes(self, arn: str) -> dict[str, str]:
        """The attributes of a topic, as GetTopicAttributes returns them. Raises: ApiError."""
        hub = self.find(arn)
        pending = sum(one.entry.is_pending for one in hub.subscribers.values())
        return shown_topic(hub.topic, hub.arn, self._config, len(hub.subscribers) - pending, pending)

    async def set_attribute(self, arn: str, name: str, value: str) -> None:
        """Set an attribute of a topic; an empty text removes it. Raises: ApiError."""
        hub = self.find(arn)
        if name == "FifoTopic":
            raise invalid("AttributeName")
        check_topic_attribute(name, value, hub.topic.fifo)
        await self.change(arn, lambda topic: replace(topic, attributes={**topic.attributes, name: value}))

    async def change(self, arn: str, change: Callable[[Topic], Topic]) -> None:
        """Replace a topic's entry with the result of a function. Raises: ApiError."""
        async with self._change:
            hub = self.find(arn)
            hub.topic = await self._topics.write(change(hub.topic))

    # ------------------------------------------------------------------ subscriptions

    async def subscribe(self, arn: str, protocol: str, endpoint: str, attributes: Mapping[str, str]) -> Subscriber:
        """Subscribe an endpoint; a repeated request returns the same subscription.

        A subscription that is pending gets a request to confirm it each time.

        Raises: ApiError (`InvalidParameter`, `NotFound`, `FilterPolicyLimitExceeded`).
        """
        hub = self.find(arn)
        check_endpoint(protocol, endpoint, hub.topic.fifo)
        if self._config.is_elsewhere(endpoint):
            raise invalid(
                "Endpoint Reason: this version of Statewright delivers to queues and functions of the topic's region, "
                f"{self._config.here}"
            )
        scope = attributes.get("FilterPolicyScope", ATTRIBUTES)
        try:
            # The scope comes first: the checks of a filter depend on it.
            for name in sorted(attributes, key=lambda one: one != "FilterPolicyScope"):
                check_subscription_attribute(name, attributes[name], protocol, endpoint, scope, fifo=hub.topic.fifo)
        except ApiError as problem:
            if problem.message.endswith(NESTED):
                # The one refusal that names no member (observed).
                raise
            raise invalid(f"Attributes Reason: {problem.message.removeprefix('Invalid parameter: ')}") from None
        async with self._change:
            hub = self.find(arn)
            subscriber = hub.by_endpoint.get((protocol, endpoint))
            if subscriber is not None:
                if not all_as_before(subscriber.entry.attributes, attributes):
                    raise invalid("Attributes Reason: Subscription already exists with different attributes")
            else:
                _check_filters(hub, attributes)
                subscriber = await self._subscribed(hub, protocol, endpoint, attributes)
        if subscriber.entry.is_pending:
            await self.publisher.request_confirmation(subscriber)
        return subscriber

    async def _subscribed(self, hub: Hub, protocol: str, endpoint: str, attributes: Mapping[str, str]) -> Subscriber:
        number = await self._catalogue.next_number("subscription")
        at_once = protocol in WITHOUT_CONFIRMATION
        entry = Subscription(
            chance.uuid4(),
            hub.topic.name,
            number,
            protocol,
            endpoint,
            self._clock.now_ms(),
            dict(attributes),
            token=None if at_once else chance.random_bytes(64).hex(),
            is_pending=not at_once,
            was_signed=at_once,
        )
        return self._join(await self._subscriptions.write(entry))

    async def confirm(self, arn: str, token: str, *, signed: bool, needs_signature: bool) -> Subscriber:
        """Confirm a subscription; succeeds if it is confirmed. Raises: ApiError (`InvalidParameter`)."""
        async with self._change:
            hub = self._hubs.get(self._name(arn))
            now_ms = self._clock.now_ms()
            # The service names the token even if there is no such topic (observed).
            for subscriber in () if hub is None else hub.subscribers.values():
                entry = subscriber.entry
                if entry.token == token and not (entry.is_pending and now_ms - entry.created_ms > TOKEN_MS):
                    break
            else:
                raise invalid("Token")
            if entry.is_pending:
                confirmed = replace(entry, is_pending=False, was_signed=signed, needs_signature=needs_signature)
                await self._replace(subscriber, confirmed)
            return subscriber

    async def unsubscribe(self, arn: str, *, signed: bool) -> None:
        """End a subscription; succeeds if it does not exist.

        Raises: ApiError (`InvalidParameter`, `AuthorizationError`).
        """
        async with self._change:
            self._name(arn, "SubscriptionArn")
            if not _is_subscription_id(arn.split(":", 6)[-1]):
                raise invalid("SubscriptionId")
            subscriber = self._subscriber(arn)
            if subscriber is None:
                return
            if subscriber.entry.needs_signature and not signed:
                raise ApiError("AuthorizationError", "This subscription can only be ended by a signed request.")
            hub, entry = subscriber.hub, subscriber.entry
            topic = replace(hub.topic, deleted=hub.topic.deleted + 1)
            hub.topic = await self._topics.write(topic, delete=[SUBSCRIPTION.name_of(entry)])
            hub.leave(subscriber)
            del self._subscribers[entry.number]

    def subscription(self, arn: str) -> Subscriber:
        """A subscription by its ARN. Raises: ApiError (`NotFound`, `InvalidParameter`)."""
        found = self._subscriber(arn)
        if found is None:
            raise no_subscription()
        return found

    def _subscriber(self, arn: str) -> Subscriber | None:
        name = self._name(arn, "SubscriptionArn")
        if len(arn.split(":")) != 7:
            raise invalid("SubscriptionArn")
        hub = self._hubs.get(name.partition(":")[0])
        return None if hub is None else hub.by_id.get(name.partition(":")[2])

    def subscription_attributes(self, arn: str) -> dict[str, str]:
        """The attributes of a subscription, as GetSubscriptionAttributes returns them. Raises: ApiError."""
        found = self.subscription(arn)
        return shown_subscription(found.entry, found.arn, found.hub.topic, found.hub.arn, self._config)

    async def set_subscription_attribute(self, arn: str, name: str, value: str) -> None:
        """Set an attribute of a subscription; an empty text removes it. Raises: ApiError."""
        async with self._change:
            subscriber = self.subscription(arn)
            entry = subscriber.entry
            attributes = {**entry.attributes, name: value}
            scope = attributes.get("FilterPolicyScope") or ATTRIBUTES
            to, fifo = (entry.protocol, entry.endpoint), subscriber.hub.topic.fifo
            check_subscription_attribute(name, value, *to, scope, fifo=fifo)
            if name == "FilterPolicyScope" and attributes.get("FilterPolicy"):
                check_subscription_attribute("FilterPolicy", attributes["FilterPolicy"], *to, scope, fifo=fifo)
            if name == "FilterPolicy" and not entry.attributes.get(name):
                _check_filters(subscriber.hub, {name: value})
            await self._replace(subscriber, replace(entry, attributes=attributes))

    def list_subscriptions(self, arn: str | None, after: int | None, limit: int) -> tuple[list[Subscriber], int | None]:
        """Subscriptions of a topic or of all, oldest first, after a number; also the number to continue after.

        Raises: ApiError.
        """
        found = self._subscribers if arn is None else self.find(arn).subscribers
        numbers = list(found)
        start = bisect_right(numbers, after) if after is not None else 0
        chosen = numbers[start : start + limit]
        return [found[number] for number in chosen], chosen[-1] if start + limit < len(numbers) else None

    # ------------------------------------------------------------------ messages

    async def publish(
        self, arn: str, messages: Sequence[Message], completion: Completion[list[Receipt | ApiError]] | None = None
    ) -> list[Receipt | ApiError]:
        """Publish messages, and return once they are durable: for each its receipt or its refusal.

        Raises: ApiError (`NotFound`, `InvalidParameter`), StoreError.
        """
        return await self.publisher.publish(self.find(arn), messages, completion)

    # ------------------------------------------------------------------ below

    def _add(self, topic: Topic) -> Hub:
        hub = Hub(topic, self._arns + topic.name)
        self._hubs[topic.name] = hub
        return hub

    def _join(self, entry: Subscription) -> Subscriber:
        subscriber = self._hubs[entry.topic].join(entry)
        self._subscribers[entry.number] = subscriber
        return subscriber

    async def _replace(self, subscriber: Subscriber, entry: Subscription) -> None:
        subscriber.set_entry(await self._subscriptions.write(entry))


def _is_subscription_id(text: str) -> bool:
    """True for a UUID."""
    return _ID.fullmatch(text) is not None


def _check_filters(hub: Hub, attributes: Mapping[str, str]) -> None:
    if (
        attributes.get("FilterPolicy")
        and sum(one.filter is not None for one in hub.subscribers.values()) >= MOST_POLICIES
    ):
        raise ApiError(
            "FilterPolicyLimitExceeded", f"A topic may have {MOST_POLICIES} filter policies at most.", status=403
        )
