"""One queue: its public properties, its state and its consumers.

Its messages are counted in `state.py`; names, attributes and purges are in `catalogue.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from statewright.errors import ApiError
from statewright.queues.attributes import QueueSettings
from statewright.queues.consumers import Consumers
from statewright.queues.entries import QueueEntry
from statewright.queues.state import QueueState, Site


class Queue:
    """A queue. Its `arn` never changes; `state` and `consumers` are for this package."""

    def __init__(self, entry: QueueEntry, arn: str, site: Site) -> None:
        self.arn = arn
        self.state = QueueState(entry, arn, site)
        self.consumers = Consumers(self.state)

    @property
    def settings(self) -> QueueSettings:
        """The queue's settings; only `catalogue.py` changes them."""
        return self.state.settings

    @property
    def name(self) -> str:
        """The queue's name."""
        return self.state.entry.name

    @property
    def attributes(self) -> Mapping[str, str]:
        """The attributes that can be set, as the API shows them; computed ones are not included."""
        return self.state.entry.attributes

    @property
    def tags(self) -> Mapping[str, str]:
        """The queue's tags."""
        return self.state.entry.tags

    @property
    def created_ms(self) -> int:
        """Instant of its creation."""
        return self.state.entry.created_ms

    @property
    def modified_ms(self) -> int:
        """Instant at which its attributes were last set."""
        return self.state.entry.modified_ms

    def close(self) -> None:
        """Close the queue once it is deleted: its waiting consumers get an error."""
        self.state.close()
        self.consumers.dismiss(ApiError("QueueDoesNotExist", "The specified queue does not exist."))
        self.consumers.stop()
