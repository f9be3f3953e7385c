"""Targets of reports on Event invocations and of dead letters besides functions: queues, topics, event buses, buckets.

Owns the delivery to a target by its ARN. The content of reports is `reports.py`'s, their retries `async_queue.py`'s.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import orjson

from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.payload import JsonObject
from statewright.queues.message_attributes import encoded
from statewright.queues.queues import Queues

PutObject = Callable[[str, str, bytes], Awaitable[None]]
"""Bucket, key, content."""
Publish = Callable[[str, str, dict[str, tuple[str, str]]], Awaitable[None]]
"""Topic by ARN, text, attributes by name: type and value."""
PutEvent = Callable[[JsonObject], Awaitable[None]]
"""An entry of PutEvents."""


class Destinations:
    """Delivers payloads to targets in this server.

    `put_object` writes into buckets, `publish` to topics, `put_event` on event buses.
    """

    def __init__(
        self,
        clock: Clock,
        queues: Queues,
        put_object: PutObject,
        publish: Publish,
        put_event: PutEvent,
    ) -> None:
        self._put_event = put_event
        self._clock = clock
        self._publish = publish
        self._queues = queues
        self._put_object = put_object

    async def deliver(self, arn: str, body: bytes, attributes: dict[str, tuple[str, str]]) -> None:
        """Deliver a payload to a target; return once the target has stored it.

        Raises: ApiError, the target's own, or `UnknownService` for a service that this version does not have.
        """
        service = arn.split(":")[2]
        if service == "sqs":
            value = None
            if attributes:
                named = {name: {"DataType": kind, "StringValue": text} for name, (kind, text) in attributes.items()}
                value = encoded(named).value
            await self._queues.deliver(arn, body.decode(errors="replace"), value)
        elif service == "sns":
            await self._publish(arn, body.decode(errors="replace"), attributes)
        elif service == "events":
            await self._put_event(_event(arn, body))
        elif service == "s3":
            await self._put_object(arn.rpartition(":")[2], self._object_key(body), body)
        else:
            raise ApiError("UnknownService", f"This version of Statewright cannot deliver to {arn}.")

    def _object_key(self, body: bytes) -> str:
        """Key of a report in a bucket. Source: developer guide, destinations in S3."""
        context = orjson.loads(body)["requestContext"]
        name = context["functionArn"].split(":")[6]
        at = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
        return f"aws/lambda/async/{name}/{at:%Y/%m/%d}/{at:%Y-%m-%dT%H.%M.%S}-{context['requestId']}"


def _event(bus: str, body: bytes) -> JsonObject:
    """PutEvents entry for a report. Source: developer guide, adding a destination."""
    context = orjson.loads(body)["requestContext"]
    outcome = "Success" if context["condition"] == "Success" else "Failure"
    return {
        "Source": "lambda", "DetailType": f"Lambda Function Invocation Result - {outcome}", "Detail": body.decode(),
        "Resources": [bus, context["functionArn"]], "EventBusName": bus,
    }  # fmt: skip
