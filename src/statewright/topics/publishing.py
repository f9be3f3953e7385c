"""Publishing: the fan-out of messages to subscribers, durable before the publisher has its answer.

Messages for queues, and those that a missing queue's dead-letter queue gets instead, go into the queues themselves, all
in one transaction and in the order in which they were published. A function gets an Event invocation, which is durable,
too. An HTTP endpoint gets a delivery (`events/deliveries.py`), and so does a function that refuses its invocation.

On FIFO topics that transaction also holds the deduplication id, so that a message is either known and sent, or neither.

Source: SNS developer guide, "Message delivery for FIFO topics", "Message deduplication", "Dead-letter queues"; API
reference, Publish.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from statewright.background import beyond_in_thread
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError, Conflict
from statewright.events.deliveries import Deliveries
from statewright.events.delivery_records import Delivery, call_id_of
from statewright.metrics.recorder import Recorder
from statewright.payload import JsonMapping, JsonObject
from statewright.query.matching import LOOP_WORK, MOST_WORK, Matching, TooMuchWork
from statewright.queues.fan_out import QueuedDelivery
from statewright.queues.messages import Outgoing, message_id_of, sequence_number_of
from statewright.queues.queues import Queues
from statewright.stores.completion import Completion, adapted
from statewright.stores.queue_protocol import Once
from statewright.topics.attributes import MESSAGE_BYTES
from statewright.topics.filters import Candidate
from statewright.topics.messages import Envelope, Message, Published, confirmation, function_event
from statewright.topics.meter import DELIVERED, FAILED, NOT_REDRIVEN, REDRIVEN, TopicMeters
from statewright.topics.refusals import invalid
from statewright.topics.subscribers import Hub, Subscriber

DEDUPLICATION_MS: Final = 5 * 60_000
MOST_RAW_ATTRIBUTES: Final = 10
"""Attributes that a queue's message may have. Source: developer guide, "Raw message delivery"."""
AGENT: Final = "Amazon Simple Notification Service Agent"

_OUTCOMES: Final = {"delivered": DELIVERED, "failed": FAILED, "redriven": REDRIVEN, "lost": NOT_REDRIVEN}

log = logging.getLogger("statewright.topics")


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to the publisher of one message."""

    message_id: str
    sequence: str | None


Verdicts = Mapping[int, bool]
"""By number, for each subscription with a filter: true if it gets the message."""


@dataclass(frozen=True, slots=True)
class _Sound:
    """A message that is published, its number, and which filters accept it."""

    number: int
    message: Message
    verdicts: Verdicts


@dataclass(slots=True)
class _FanOut:
    """The output of one call to publish: queued deliveries, deduplication ids, deliveries and invocations."""

    queued: list[QueuedDelivery]
    onces: list[Once]
    deliveries: list[Delivery]
    invocations: list[Delivery]


async def _judged(
    clock: Clock, filters: Sequence[Subscriber], messages: Sequence[Message | ApiError]
) -> tuple[list[Message | ApiError], list[Verdicts]]:
    """The verdicts of subscriptions with filters on messages; a message that would take too much work is refused."""

    def on_loop() -> list[Verdicts | ApiError]:
        matching = Matching(LOOP_WORK)
        return [{} if isinstance(one, ApiError) else _verdicts(filters, one, matching) for one in messages]

    def in_thread() -> list[Verdicts | ApiError]:
        return [{} if isinstance(one, ApiError) else _bounded(filters, one) for one in messages]

    verdicts = await beyond_in_thread(clock, TooMuchWork, on_loop, in_thread)
    return (
        [found if isinstance(found, ApiError) else one for one, found in zip(messages, verdicts, strict=True)],
        [{} if isinstance(found, ApiError) else found for found in verdicts],
    )


def _bounded(filters: Sequence[Subscriber], message: Message) -> Verdicts | ApiError:
    try:
        return _verdicts(filters, message, Matching(MOST_WORK))
    except TooMuchWork:
        return invalid(
            "Message Reason: the filter policies of the topic take too much work over it for Statewright; send shorter "
            "arrays and texts, or use fewer wildcards"
        )


def _verdicts(filters: Sequence[Subscriber], message: Message, matching: Matching) -> Verdicts:
    candidate = Candidate(message.attributes, matching)
    return {
        one.entry.number: one.filter is None or one.filter(candidate, message.text(one.entry.protocol))
        for one in filters
    }


class Publisher:
    """Publishes messages to subscribers. `address` returns this server's own URL, for the links in messages."""

    def __init__(
        self,
        clock: Clock,
        config: Config,
        queues: Queues,
        deliveries: Deliveries,
        address: Callable[[], str],
        recorder: Recorder | None,
    ) -> None:
        self._clock = clock
        self._config = config
        self._queues = queues
        self._deliveries = deliveries
        self._address = address
        self.meters = TopicMeters(recorder)
        deliveries.subscribe(self._count_outcome)

    async def stop(self) -> None:
        """Do nothing: the store has everything that is in memory."""

    async def publish(
        self, hub: Hub, messages: Sequence[Message], completion: Completion[list[Receipt | ApiError]] | None = None
    ) -> list[Receipt | ApiError]:
        """See `Topics.publish`."""
        checked = [self._checked(hub, message) for message in messages]
        filters = [one for one in hub.subscribers.values() if one.filter is not None and not one.entry.is_pending]
        verdicts: list[Verdicts] = [{}] * len(checked)
        if filters:
            checked, verdicts = await _judged(self._clock, filters, checked)
        sound = [
            _Sound(self._queues.next_number(), one, verdict)
            for one, verdict in zip(checked, verdicts, strict=True)
            if isinstance(one, Message)
        ]
        fifo = hub.topic.fifo

        def answers(firsts: Sequence[int]) -> list[Receipt | ApiError]:
            made = iter(Receipt(message_id_of(first), sequence_number_of(first) if fifo else None) for first in firsts)
            return [one if isinstance(one, ApiError) else next(made) for one in checked]

        firsts = await self._send(hub, sound, adapted(completion, answers))
        for one in sound:
            self.meters.published(hub.topic.name, one.message.size_bytes)
        return answers(firsts)

    async def request_confirmation(self, subscriber: Subscriber) -> None:
        """Send an HTTP endpoint the token that confirms its subscription; other protocols get none."""
        entry = subscriber.entry
        if entry.protocol not in ("http", "https") or entry.token is None:
            log.warning(
                "the subscription of %s to %s stays unconfirmed: no %s is sent", entry.endpoint, entry.topic,
                entry.protocol,
            )  # fmt: skip
            return
        published = self._published(subscriber.hub, self._queues.next_number())
        headers = _headers("SubscriptionConfirmation", published, subscriber)
        # Without `Topic` the delivery is not counted as a notification.
        target = {name: one for name, one in subscriber.target(headers).items() if name != "Topic"}
        delivery = self._delivery(target, confirmation(published, entry.token))
        await self._deliver([delivery])

    # ------------------------------------------------------------------ checks

    def _checked(self, hub: Hub, message: Message) -> Message | ApiError:
        """The message with its deduplication id, or its refusal."""
        topic = hub.topic
        most = self._most_bytes(hub)
        if most is not None and message.size_bytes > most:
            return invalid("Message too long")
        if not topic.fifo:
            if message.dedup is not None:
                return invalid(
                    "MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not "
                    "valid for this topic type"
                )
            return message
        if message.group is None:
            return invalid("The MessageGroupId parameter is required for FIFO topics")
        if message.dedup is not None:
            return message
        if topic.attributes.get("ContentBasedDeduplication") != "true":
            return invalid(
                "The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided "
                "explicitly"
            )
        return replace(message, dedup=sha256(message.default.encode()).hexdigest())

    def _most_bytes(self, hub: Hub) -> int | None:
        if self._config.limits.message_bytes is None:
            return None
        return int(hub.topic.attributes.get("MaximumMessageSize") or MESSAGE_BYTES)

    def check_batch(self, hub: Hub, messages: Sequence[Message]) -> None:
        """Check messages that are published together: one that is refused refuses all (observed).

        Raises: ApiError (`BatchRequestTooLong`, `InvalidParameter`).
        """
        most = self._most_bytes(hub)
        if most is not None and sum(one.size_bytes for one in messages) > most:
            raise ApiError("BatchRequestTooLong", "The length of all the messages put together is more than the limit.")
        for message in messages:
            checked = self._checked(hub, message)
            if isinstance(checked, ApiError):
                raise checked

    # ------------------------------------------------------------------ the fan-out

    async def _send(self, hub: Hub, messages: Sequence[_Sound], completion: Completion[list[int]] | None) -> list[int]:
        """Send messages to all subscribers; for each its number, or that of the message that it repeats.

        The last transaction completes: that of the queues, or that of the deliveries if no queue gets a message.
        """
        numbers = [one.number for one in messages]
        while True:
            made = self._fan_out(hub, messages)
            work: list[Coroutine[object, object, None]] = [self._invoke(one) for one in made.invocations]
            is_for_queues = bool(made.queued or made.onces)
            if made.deliveries and is_for_queues:
                work.append(self._deliver(made.deliveries))
            if work:
                await asyncio.gather(*work)
            if not is_for_queues:
                if made.deliveries:
                    await self._deliver(made.deliveries, adapted(completion, lambda _: numbers))
                return numbers
            try:
                firsts = await self._queues.fan_out(
                    made.queued, made.onces, adapted(completion, lambda firsts: firsts or numbers)
                )
            except ApiError as problem:
                if problem.code != "QueueDoesNotExist":
                    raise
                # A queue was deleted meanwhile: the other subscribers get the messages again, at least once.
                continue
            return firsts or numbers

    def _fan_out(self, hub: Hub, messages: Sequence[_Sound]) -> _FanOut:
        made = _FanOut([], [], [], [])
        for one in messages:
            number, message = one.number, one.message
            published = self._published(hub, number)
            if hub.topic.fifo:
                assert message.dedup is not None
                of_group = hub.topic.attributes.get("FifoThroughputScope") == "MessageGroup"
                key = f"{message.group}\n{message.dedup}" if of_group else message.dedup
                until_ms = published.at_ms + DEDUPLICATION_MS
                # A topic's keys are kept apart from those of queues by their sign.
                made.onces.append(Once(number, -hub.topic.number, key, published.at_ms, until_ms))
            self._add_message(made, hub, one, published, number if hub.topic.fifo else 0)
        return made

    def _add_message(self, made: _FanOut, hub: Hub, sound: _Sound, published: Published, once: int) -> None:
        message = sound.message
        envelopes: dict[str, Envelope] = {}
        for subscriber in hub.subscribers.values():
            entry = subscriber.entry
            protocol = entry.protocol
            if entry.is_pending:
                continue
            # A subscription that has got its filter meanwhile is later than the message.
            if subscriber.filter is not None and not sound.verdicts.get(entry.number, False):
                self.meters.filtered(hub.topic.name, subscriber.scope)
                continue
            if protocol == "sms":
                self.meters.add(hub.topic.name, FAILED)
                log.warning(
                    "a message of %s for %s is dropped: this server sends no text messages", hub.arn, entry.endpoint
                )
                continue
            if protocol == "lambda":
                body = function_event(message, published, subscriber.arn)
                made.invocations.append(self._delivery(subscriber.target(), body))
                continue
            if subscriber.is_raw:
                body = message.text(protocol)
            else:
                envelope = envelopes.get(protocol)
                if envelope is None:
                    envelope = envelopes[protocol] = Envelope(message, published, protocol)
                body = envelope.text(subscriber.arn)
            if protocol == "sqs":
                queued = self._queued(subscriber, message, published, body, once)
                if queued is not None:
                    made.queued.append(queued)
            else:
                headers = _headers("Notification", published, subscriber)
                made.deliveries.append(self._delivery(subscriber.target(headers), body))

    def _queued(
        self, subscriber: Subscriber, message: Message, published: Published, body: str, once: int
    ) -> QueuedDelivery | None:
        """The delivery to a subscription's queue, or to its dead-letter queue if the queue cannot take the message."""
        queue = self._queues.find_arn(subscriber.entry.endpoint)
        attributes: JsonObject | None = None
        if subscriber.is_raw and message.attributes:
            attributes = dict(message.attributes)
        problem = None
        if queue is None:
            problem = "the queue does not exist"
        elif attributes is not None and len(attributes) > MOST_RAW_ATTRIBUTES:
            problem = f"a message of a queue has {MOST_RAW_ATTRIBUTES} attributes at most"
        if problem is not None:
            # A dead letter is exactly what the endpoint would have got (observed).
            dead = subscriber.dead_letters
            queue = self._queues.find_arn(dead) if dead is not None else None
        topic = subscriber.hub.topic.name
        self.meters.add(topic, DELIVERED if problem is None else FAILED)
        if queue is None:
            if subscriber.dead_letters is not None:
                self.meters.add(topic, NOT_REDRIVEN)
            log.warning(
                "a message of %s for %s is dropped: %s", published.topic_arn, subscriber.entry.endpoint, problem
            )
            return None
        if problem is not None:
            self.meters.add(topic, REDRIVEN)
        fifo = queue.settings.fifo
        # Fair queues identify tenants by the group that a standard topic passes on.
        group = message.group if fifo or once == 0 else None
        dedup = message.dedup if fifo else None
        return QueuedDelivery(
            queue, Outgoing(body, attributes, group=group, dedup=dedup, trace_header=message.trace), once
        )

    def _delivery(self, target: JsonObject, payload: str) -> Delivery:
        now_ms = self._clock.now_ms()
        return Delivery(self._deliveries.next_number(), target, payload, now_ms, now_ms)

    async def _deliver(self, deliveries: Sequence[Delivery], completion: Completion[bool] | None = None) -> None:
        """Store deliveries. Raises: StoreError."""
        if not await self._deliveries.accept(deliveries, completion=completion):
            raise Conflict("a delivery with that number already exists")

    async def _invoke(self, delivery: Delivery) -> None:
        """Invoke a function; an invocation that it refuses becomes a delivery, which is retried."""
        request = {"FunctionName": delivery.target["Arn"], "InvocationType": "Event", "Payload": delivery.payload}
        try:
            await self._deliveries.calls("lambda", "invoke", request, request_id=call_id_of(delivery.number))
        except ApiError as problem:
            log.info("%s refused a message: %s", delivery.target["Arn"], problem)
            await self._deliver([delivery])
        else:
            self._count_outcome(delivery.target, "delivered")

    def _count_outcome(self, target: JsonMapping, outcome: str) -> None:
        """Count the outcome of a delivery."""
        if "Topic" in target:
            self.meters.add(target["Topic"], _OUTCOMES[outcome])

    def _published(self, hub: Hub, number: int) -> Published:
        return Published(
            message_id_of(number),
            hub.arn,
            self._clock.now_ms(),
            self._address(),
            hub.topic.attributes.get("SignatureVersion") or "1",
            sequence_number_of(number) if hub.topic.fifo else None,
        )


def _headers(kind: str, published: Published, subscriber: Subscriber) -> dict[str, str]:
    """The headers of a POST. Source: developer guide, "HTTP/HTTPS headers"."""
    found = {
        "x-amz-sns-message-type": kind,
        "x-amz-sns-message-id": published.message_id,
        "x-amz-sns-topic-arn": published.topic_arn,
        "User-Agent": AGENT,
    }
    if kind == "Notification":
        found["x-amz-sns-subscription-arn"] = subscriber.arn
        if subscriber.is_raw:
            found["x-amz-sns-rawdelivery"] = "true"
    return found
