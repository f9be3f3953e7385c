"""Delivery of reports to queues, topics, event buses and buckets.

Reports are on Event invocations, and on records that mappings of streams discard.

Owns the calls of these services; `functions/destinations.py` finds the service that an ARN names.
"""

from __future__ import annotations

from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.events.buses import Buses
from statewright.functions.async_queue import Deliver
from statewright.functions.destinations import Destinations
from statewright.functions.event_sources.streams.function import Report
from statewright.objects.objects import Objects
from statewright.payload import JsonObject
from statewright.queues.queues import Queues
from statewright.topics.messages import read_message
from statewright.topics.topics import Topics


def deliverer(clock: Clock, queues: Queues, objects: Objects, topics: Topics, buses: Buses) -> Deliver:
    """Make the function that delivers reports to the services of this process."""

    async def put(bucket: str, key: str, content: bytes) -> None:
        await objects.put(bucket, key, content)

    async def publish(arn: str, text: str, attributes: dict[str, tuple[str, str]]) -> None:
        given = {name: {"DataType": kind, "StringValue": value} for name, (kind, value) in attributes.items()}
        await _publish(topics, arn, {"Message": text, "MessageAttributes": given})

    async def put_event(entry: JsonObject) -> None:
        [answer] = await buses.put([entry])
        if "ErrorCode" in answer:
            raise ApiError(answer["ErrorCode"], answer["ErrorMessage"])

    return Destinations(clock, queues, put, publish, put_event).deliver


def report_deliverer(queues: Queues, objects: Objects, topics: Topics) -> Report:
    """Make the function that delivers reports on discarded records to queues, topics and buckets of this process."""

    async def deliver(arn: str, body: bytes, key: str) -> None:
        service = arn.split(":")[2]
        if service == "s3":
            await objects.put(arn.rpartition(":")[2], key, body)
        elif service == "sns":
            await _publish(topics, arn, {"Message": body.decode()})
        else:
            await queues.deliver(arn, body.decode(), None)

    return deliver


async def _publish(topics: Topics, arn: str, message: JsonObject) -> None:
    [receipt] = await topics.publish(arn, [read_message(message)])
    if isinstance(receipt, ApiError):
        raise receipt
