"""Counts of one event source mapping since the server started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MOST_IN_REQUEST: Final = 10
"""Messages of one request in the service. Source: SQS API reference, ReceiveMessage, DeleteMessageBatch."""


@dataclass(slots=True)
class MappingCounts:
    """Counts of a mapping since the server started: of messages, except `invocations`, `throttles` and `requests`.

    `never_run`: received, but throttled until they had to be released. `filtered`: deleted, as no filter matched.
    `requests` are the receives and deletes that the service's pollers would need, at most ten messages in each.
    """

    invocations: int = 0
    throttles: int = 0
    done: int = 0
    failed: int = 0
    never_run: int = 0
    filtered: int = 0
    requests: int = 0

    def asked(self, messages: int) -> None:
        """Count the requests to receive or delete so many messages of one batch."""
        self.requests += -(-messages // MOST_IN_REQUEST)
