"""One queue: what others see of it, its state and its consumers.

What is known of it is in `state.py`; names, attributes and purges are in `catalogue.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from statewright.errors import ApiError
from statewright.queues.attributes import QueueSettings
from statewright.queues.consumers import Consumers
from statewright.queues.entries import QueueEntry
from statewright.queues.state import QueueState, Site


class Queue:
    """A queue. `arn` names it for ever, `state` and `consumers` are for this package."""

    def __init__(self, entry: QueueEntry, arn: str, site: Site) -> None:
        self.arn = arn
        self.state = QueueState(entry, arn, site)
        self.consumers = Consumers(self.state)

    @property
    def settings(self) -> QueueSettings:
        """What the queue is set to; only `catalogue.py` changes it."""
        return self.state.settings

    @property
    def name(self) -> str:
        """The queue's name."""
        return self.state.entry.name

    @property
    def attributes(self) -> Mapping[str, str]:
        """What the queue is set to, as the API shows it; what is computed is not among it."""
        return self.state.entry.attributes

    @property
    def tags(self) -> Mapping[str, str]:
        """The queue's tags."""
        return self.state.entry.tags

    @property
    def created_ms(self) -> int:
        """When it was created."""
        return self.state.entry.created_ms

    @property
    def modified_ms(self) -> int:
        """When its attributes were last set."""
        return self.state.entry.modified_ms

    def close(self) -> None:
        """The queue is deleted: its consumers get an error."""
        self.state.close()
        self.consumers.dismiss(ApiError("QueueDoesNotExist", "The specified queue does not exist."))
        self.consumers.stop()
