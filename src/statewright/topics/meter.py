"""The metrics of topics: published messages, and the outcomes of their notifications.

Source: SNS developer guide, "Metrics for Amazon SNS".
"""

from __future__ import annotations

from typing import Final

from statewright.metrics.recorder import Recorder
from statewright.metrics.series import Counter

NAMESPACE: Final = "AWS/SNS"
PUBLISHED: Final = "NumberOfMessagesPublished"
SIZE: Final = "PublishSize"
DELIVERED: Final = "NumberOfNotificationsDelivered"
FAILED: Final = "NumberOfNotificationsFailed"
REDRIVEN: Final = "NumberOfNotificationsRedrivenToDlq"
NOT_REDRIVEN: Final = "NumberOfNotificationsFailedToRedriveToDlq"
FILTERED: Final = "NumberOfNotificationsFilteredOut"


class TopicMeters:
    """The metrics of all topics; nothing is kept without a recorder."""

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self._counters: dict[tuple[str, str], Counter] = {}

    def add(self, topic: str, name: str, value: float = 1) -> None:
        """Add to a metric of a topic, by the topic's name."""
        if self._recorder is None:
            return
        found = self._counters.get((topic, name))
        if found is None:
            unit = "Bytes" if name == SIZE else "Count"
            found = self._recorder.counter(NAMESPACE, name, {"TopicName": topic}, unit)
            self._counters[topic, name] = found
        found.add(value)

    def published(self, topic: str, size_bytes: int) -> None:
        """Count a published message and its size."""
        self.add(topic, PUBLISHED)
        self.add(topic, SIZE, size_bytes)

    def filtered(self, topic: str, scope: str) -> None:
        """Count a message that a subscription's filter rejected."""
        self.add(topic, FILTERED)
        self.add(topic, f"{FILTERED}-{scope}")

    def forget(self, topic: str) -> None:
        """Drop the counters of a deleted topic; figures that were published stay."""
        for key in [key for key in self._counters if key[0] == topic]:
            del self._counters[key]
