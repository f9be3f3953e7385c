"""Subscriptions at work: the events that a function gets, packed as the service packs them.

Source: CloudWatch Logs user guide, "Log group-level subscription filters", example 2.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from statewright.log_filters.records import Subscription
from statewright.payload import Json, dump_json
from statewright.records.log_files import EVENT_BYTES, Line
from statewright.records.log_patterns import LogPattern, read_pattern

BATCH_BYTES: Final = 256 * 1024
"""Bytes of messages in one delivery, before they are packed; one message may be longer. Ours."""


@dataclass(frozen=True, slots=True)
class Delivering:
    """A subscription with its pattern."""

    subscription: Subscription
    pattern: LogPattern

    @staticmethod
    def of(one: Subscription) -> Delivering:
        """The subscription, compiled. Raises: ApiError."""
        return Delivering(one, read_pattern(one.pattern))

    def payloads(self, lines: Sequence[Line], account: str) -> list[str]:
        """The payloads for the events that match: each has events of one stream."""
        by_stream: dict[str, list[Line]] = {}
        for line in lines:
            if self.pattern.test(line.event.message):
                by_stream.setdefault(line.event.stream, []).append(line)
        return [
            self._payload(stream, batch, account)
            for stream, found in by_stream.items() for batch in _batches(found)
        ]  # fmt: skip

    def _payload(self, stream: str, batch: Sequence[Line], account: str) -> str:
        events: list[Json] = [
            {"id": event_id(line), "timestamp": line.event.at_ms, "message": line.event.message} for line in batch
        ]
        data = {
            "messageType": "DATA_MESSAGE",
            "owner": account,
            "logGroup": self.subscription.group,
            "logStream": stream,
            "subscriptionFilters": [self.subscription.name],
            "logEvents": events,
        }
        packed = gzip.compress(dump_json(data).encode("utf-8", "replace"), mtime=0)
        return dump_json({"awslogs": {"data": base64.b64encode(packed).decode()}})


def event_id(line: Line) -> str:
    """The id of an event: 56 digits, of its file and its place there."""
    return f"{line.begin[0]:028}{line.begin[1]:028}"


def _batches(lines: Sequence[Line]) -> Iterator[list[Line]]:
    batch: list[Line] = []
    size = 0
    for line in lines:
        length = len(line.event.message) + EVENT_BYTES
        if batch and size + length > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += length
    if batch:
        yield batch
