"""All queues of a server: the face that the API, event source mappings and dead letters use.

Names resolve here; each queue's own rules are in `queue.py`. Requests arrive checked (names, ranges, sizes, batches):
what is refused here is what only the state can tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.queues.attributes import QueueSettings
from statewright.queues.messages import Counts, HistoryEntry, Outgoing, Received, Sent
from statewright.stores.protocol import Store


class Queue:
    """A queue. Read its attributes here; everything else goes through `Queues`."""

    name: str
    arn: str
    settings: QueueSettings
    attributes: Mapping[str, str]
    """As they were set: texts by name, without defaults and without what is computed."""
    tags: Mapping[str, str]
    created_ms: int
    modified_ms: int


class MoveTask(NamedTuple):
    """A task that moves messages out of a dead-letter queue. `handle` is only given while it runs.

    `status` is one of RUNNING, COMPLETED, CANCELLING, CANCELLED, FAILED.
    """

    handle: str | None
    status: str
    source_arn: str
    destination_arn: str | None
    per_second: int | None
    moved: int
    to_move: int | None
    failure_reason: str | None
    started_ms: int


class Queues:
    """Every queue of a store. Belongs to one event loop."""

    def __init__(self, store: Store, clock: Clock, config: Config) -> None:
        """Nothing is read before `start`."""
        self.store = store
        self.clock = clock
        self.config = config

    async def start(self) -> None:
        """Read the catalogue of queues and take up what a former process left to do."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Send every waiting consumer home with nothing."""
        raise NotImplementedError

    # The catalogue. Errors are `ApiError`s with the model's codes.

    async def create(self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str] | None = None) -> Queue:
        """Create a queue of checked attributes; the same one again is that one.

        Raises: ApiError (`QueueNameExists`, `QueueDeletedRecently`, `InvalidParameterValueException` for a redrive
            policy that does not fit).
        """
        raise NotImplementedError

    async def delete_queue(self, queue: Queue) -> None:
        """Delete a queue with its messages."""
        raise NotImplementedError

    def find(self, reference: str) -> Queue:
        """The queue of a name, URL or ARN. Raises: ApiError (`QueueDoesNotExist`)."""
        raise NotImplementedError

    def list_queues(self, prefix: str, after: str | None, limit: int) -> tuple[list[Queue], str | None]:
        """Queues by name, after a name; also the name to go on after, if there are more."""
        raise NotImplementedError

    def dead_letter_sources(self, queue: Queue, after: str | None, limit: int) -> tuple[list[Queue], str | None]:
        """The queues whose dead letters go to this one, by name, as `list_queues`."""
        raise NotImplementedError

    async def set_attributes(self, queue: Queue, attributes: Mapping[str, str]) -> None:
        """Set checked attributes; an empty text takes one away (as with Policy and RedrivePolicy).

        Raises: ApiError, as `create`.
        """
        raise NotImplementedError

    async def tag(self, queue: Queue, tags: Mapping[str, str]) -> None:
        """Put tags on a queue. The caller checks how many there may be."""
        raise NotImplementedError

    async def untag(self, queue: Queue, keys: Iterable[str]) -> None:
        """Take tags away; keys that are not there do not matter."""
        raise NotImplementedError

    # Messages

    async def send(self, queue: Queue, entries: Sequence[Outgoing]) -> list[Sent]:
        """Send messages; returns once they are durable.

        Raises: ApiError (`InvalidParameterValueException` for a FIFO message that has no deduplication id where the
            queue makes none).
        """
        raise NotImplementedError

    async def receive(
        self,
        queue: Queue,
        *,
        most: int = 1,
        wait_ms: int | None = None,
        visibility_ms: int | None = None,
        attempt_id: str | None = None,
    ) -> list[Received]:
        """Receive up to `most` messages (any number in process), waiting up to `wait_ms` for the first one.

        What is not given has the queue's setting. Cancelling the call hands back what it would have been given.

        Raises: ApiError (`OverLimit`, on a standard queue without waiting).
        """
        raise NotImplementedError

    async def peek(self, queue: Queue, most: int) -> list[Received]:
        """Messages as they stand, oldest first, whether visible or not; their handles are empty. Nothing changes."""
        raise NotImplementedError

    async def delete(self, queue: Queue, handles: Sequence[str]) -> list[ApiError | None]:
        """Delete messages; for each handle what was wrong (`ReceiptHandleIsInvalid`, and on FIFO queues
        `InvalidParameterValueException` for an expired handle). A message that is gone is no mistake.
        """
        raise NotImplementedError

    async def change_visibility(self, queue: Queue, changes: Sequence[tuple[str, int]]) -> list[ApiError | None]:
        """Hide messages for so many milliseconds from now, 0 for not at all; by handle. For each what was wrong
        (`ReceiptHandleIsInvalid`, `MessageNotInflight`, `InvalidParameterValueException` beyond twelve hours).
        """
        raise NotImplementedError

    async def purge(self, queue: Queue) -> None:
        """Drop every message, those in flight too. Raises: ApiError (`PurgeQueueInProgress`)."""
        raise NotImplementedError

    async def counts(self, queue: Queue) -> Counts:
        """How many messages are visible, in flight and delayed."""
        raise NotImplementedError

    async def history(self, queue: Queue, message_id: str) -> list[HistoryEntry]:
        """What happened to a message that did not go the plain way; nothing for one that did."""
        raise NotImplementedError

    async def deliver(self, arn: str, body: str, attributes: object = None) -> Sent:
        """Send one message to a queue by ARN, from inside the server. Raises: ApiError (`QueueDoesNotExist`)."""
        raise NotImplementedError

    # Move tasks

    async def start_move(self, source_arn: str, destination_arn: str | None, per_second: int | None) -> str:
        """Move a dead-letter queue's messages to another queue, or each back to where it came from; the handle.

        Raises: ApiError (`ResourceNotFoundException`, `InvalidParameterValueException`).
        """
        raise NotImplementedError

    async def list_moves(self, source_arn: str, limit: int) -> list[MoveTask]:
        """Tasks of a source, newest first. Raises: ApiError (`ResourceNotFoundException`)."""
        raise NotImplementedError

    async def cancel_move(self, handle: str) -> int:
        """Stop a task that runs; how many messages it has moved.

        Raises: ApiError (`ResourceNotFoundException`, `InvalidParameterValueException`).
        """
        raise NotImplementedError
