"""All queues of a server: the interface for the API, event source mappings and dead letters.

Resolves names; the queues themselves are in `catalogue.py`, each queue's own rules behind `queue.py`. The API has
checked ranges, sizes and batches; this package refuses what depends on the state and the settings of a queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from statewright.background import Background
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.metrics.recorder import Recorder
from statewright.queues import handles as by_handle
from statewright.queues import sending
from statewright.queues.catalogue import Catalogue
from statewright.queues.fan_out import QueuedDelivery, send_deliveries
from statewright.queues.messages import Counts, HistoryEntry, Outgoing, Received, Sent, number_of
from statewright.queues.meter import NAMESPACE
from statewright.queues.move_tasks import MoveTask, MoveTasks
from statewright.queues.queue import Queue
from statewright.queues.state import QueueState, Site
from statewright.stores.completion import Completion
from statewright.stores.ids import FIRST_MS, IdSource, first_id
from statewright.stores.queue_protocol import Once
from statewright.stores.store import Store

FORGET_EVERY_MS: Final = 60_000
HISTORY_KEPT_MS: Final = 15 * 86_400_000
"""A day longer than any message lives."""
_COUNTER_BITS: Final = 12


class Queues:
    """Every queue of a store. Belongs to one event loop."""

    def __init__(self, store: Store, clock: Clock, config: Config, recorder: Recorder | None = None) -> None:
        """Read nothing before `start`; metrics of every queue go to `recorder`."""
        self._store = store
        self._clock = clock
        self._background = Background("work on queues")
        self._forgot_ms = 0
        ids = IdSource(clock.now_ms, shard=store.shard)
        self._site = Site(store.queues, clock, config.limits, ids, self._background.spawn, self._state_of, recorder)
        if recorder is not None:
            recorder.looks[NAMESPACE] = self._refresh_levels
        self._catalogue = Catalogue(store.catalogue, config, self._site)
        self._moves = MoveTasks(store.catalogue, self._catalogue, self._site)

    async def _refresh_levels(self, dimensions: Mapping[str, str]) -> None:
        """Bring the levels of a queue up to date before they are read."""
        try:
            queue = self.find(dimensions.get("QueueName", ""))
        except ApiError:
            return
        if queue.state.meter is not None:
            await queue.state.meter.refresh()

    async def start(self) -> None:
        """Read the catalogue of queues, and recover the work that the previous process left unfinished."""
        self._site.ids.pass_by(await self._store.newest_id(self._store.shard))
        await self._catalogue.load()
        await self._moves.load()

    async def stop(self) -> None:
        """Answer all long polls with no messages, and end the background tasks."""
        for queue in self._catalogue.all():
            queue.consumers.stop()
        await self._background.stop()

    def _state_of(self, arn: str) -> QueueState | None:
        queue = self._catalogue.find_arn(arn)
        return queue.state if queue is not None else None

    # The catalogue. Errors are `ApiError`s with the model's codes.

    async def create(self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str] | None = None) -> Queue:
        """Create a queue with attributes as in the API; repeated, return the existing queue, its tags unchanged.

        Raises: ApiError (`QueueNameExists`, `QueueDeletedRecently`, and for names and attributes those of
            `attributes.settings_of_new`).
        """
        return await self._catalogue.create(name, attributes, tags or {})

    async def delete_queue(self, queue: Queue, completion: Completion[bool] | None = None) -> None:
        """Delete a queue with its messages. Raises: ApiError (`QueueDoesNotExist`)."""
        await self._catalogue.delete(queue, completion)

    def find(self, reference: str) -> Queue:
        """The queue of a name, URL or ARN. Raises: ApiError (`QueueDoesNotExist`)."""
        return self._catalogue.find(reference)

    def list_queues(self, prefix: str, after: str | None, limit: int) -> tuple[list[Queue], str | None]:
        """Queues by name, after a name; also the name to continue after, if there are more."""
        return self._catalogue.list_queues(prefix, after, limit)

    def dead_letter_sources(self, queue: Queue, after: str | None, limit: int) -> tuple[list[Queue], str | None]:
        """The queues whose dead letters go to this one, by name, as `list_queues`."""
        return self._catalogue.page(self._catalogue.sources_of(queue.arn), "", after, limit)

    async def set_attributes(self, queue: Queue, attributes: Mapping[str, str]) -> None:
        """Change attributes; an empty text removes one that allows it (Policy, RedrivePolicy and the like).

        Raises: ApiError (`QueueDoesNotExist`, and those of `attributes.changed`).
        """
        await self._catalogue.set_attributes(queue, attributes)

    async def tag(self, queue: Queue, tags: Mapping[str, str]) -> None:
        """Add tags to a queue. The caller checks how many there may be."""
        await self._catalogue.set_tags(queue, tags)

    async def untag(self, queue: Queue, keys: Iterable[str]) -> None:
        """Remove tags; keys that the queue does not have are ignored."""
        await self._catalogue.set_tags(queue, {}, keys)

    # Messages

    async def send(
        self, queue: Queue, entries: Sequence[Outgoing], completion: Completion[list[Sent]] | None = None
    ) -> list[Sent]:
        """Send messages; return once they are durable.

        Raises: ApiError (`InvalidParameterValueException` for a FIFO message that has no deduplication id where the
            queue makes none).
        """
        self._forget()
        return await sending.send(queue.state, entries, completion)

    def next_number(self) -> int:
        """A new number from the sequence of message numbers, for a message of another kind."""
        return self._site.ids.next()

    async def fan_out(
        self,
        deliveries: Sequence[QueuedDelivery],
        onces: Sequence[Once] = (),
        completion: Completion[list[int]] | None = None,
    ) -> list[int]:
        """Send messages to several queues in one transaction; see `fan_out.send_deliveries`."""
        self._forget()
        return await send_deliveries(self._site, deliveries, onces, completion)

    def find_arn(self, arn: str) -> Queue | None:
        """The queue of an ARN, if it exists."""
        return self._catalogue.find_arn(arn)

    async def receive(
        self,
        queue: Queue,
        *,
        most: int = 1,
        wait_ms: int | None = None,
        visibility_ms: int | None = None,
        attempt_id: str | None = None,
        consumer: str = "",
    ) -> list[Received]:
        """Receive up to `most` messages (any number in process), waiting up to `wait_ms` for the first one.

        Parameters that are not given default to the queue's settings. `consumer` names the receiver in histories.
        `attempt_id` repeats a receive of a FIFO queue. Cancelling the call makes its messages visible again.

        Raises: ApiError (`OverLimit`, on a standard queue without waiting).
        """
        settings = queue.state.settings
        return await queue.consumers.receive(
            most,
            1_000 * settings.wait_seconds if wait_ms is None else wait_ms,
            1_000 * settings.visibility_timeout_seconds if visibility_ms is None else visibility_ms,
            attempt_id if settings.fifo else None,
            consumer,
        )

    async def peek(self, queue: Queue, most: int) -> list[Received]:
        """Messages, oldest first, visible or not, without receiving them; their handles are empty."""
        return await queue.consumers.peek(most)

    async def delete(self, queue: Queue, handles: Sequence[str]) -> list[ApiError | None]:
        """Delete messages; return the error of each handle (`ReceiptHandleIsInvalid`, and on FIFO queues
        `InvalidParameterValueException` for an expired handle). A message that is gone already is no error.
        """
        return await by_handle.delete(queue.state, handles)

    async def change_visibility(
        self,
        queue: Queue,
        changes: Sequence[tuple[str, int]],
        completion: Completion[list[ApiError | None]] | None = None,
    ) -> list[ApiError | None]:
        """Hide messages, by handle, for so many milliseconds from now, 0 to make them visible; return the error of
        each handle (`ReceiptHandleIsInvalid`, `MessageNotInflight`, `InvalidParameterValueException` beyond twelve
        hours or for a handle that is no longer the message's).
        """
        return await by_handle.change_visibility(queue.state, changes, completion)

    async def purge(self, queue: Queue, completion: Completion[bool] | None = None) -> None:
        """Delete every message, including those in flight. Raises: ApiError (`PurgeQueueInProgress`)."""
        await self._catalogue.purge(queue, completion)

    async def counts(self, queue: Queue) -> Counts:
        """Numbers of messages visible, in flight and delayed: exact, except that messages past their retention
        period for less than a minute count until they are deleted.
        """
        state = queue.state
        visibility = await state.known()
        if state.is_expiry_due():
            await state.expire()
            visibility = await state.known()
        return state.counts(visibility)

    async def history(self, message_id: str) -> list[HistoryEntry]:
        """History of a message; empty for one that was simply sent, received and deleted."""
        number = number_of(message_id)
        if number is None:
            return []
        return [HistoryEntry(note.at_ms, note.kind, note.detail) for note in await self._store.queues.trail(number)]

    async def deliver(self, arn: str, body: str, attributes: object = None, *, group: str | None = None) -> Sent:
        """Send one message to a queue by ARN, from inside the server. Raises: ApiError (`QueueDoesNotExist`)."""
        sent = await self.send(self.find(arn), [Outgoing(body, attributes, group=group)])
        return sent[0]

    def _forget(self) -> None:
        """Delete expired deduplication ids and histories, at most once in `FORGET_EVERY_MS`."""
        now_ms = self._clock.now_ms()
        if now_ms - self._forgot_ms >= FORGET_EVERY_MS:
            self._forgot_ms = now_ms
            oldest = max(now_ms - HISTORY_KEPT_MS - FIRST_MS, 0) << _COUNTER_BITS
            self._background.spawn(self._store.queues.forget(now_ms, first_id(self._store.shard) + oldest))

    # Move tasks

    async def start_move(self, source_arn: str, destination_arn: str | None, per_second: int | None) -> str:
        """Move a dead-letter queue's messages to another queue, or each back to its source; return the task handle.

        Raises: ApiError (`ResourceNotFoundException`, `InvalidParameterValueException`).
        """
        return await self._moves.start(source_arn, destination_arn, per_second)

    async def list_moves(self, source_arn: str, limit: int) -> list[MoveTask]:
        """Tasks of a source, newest first. Raises: ApiError (`ResourceNotFoundException`)."""
        return await self._moves.list_tasks(source_arn, limit)

    async def cancel_move(self, handle: str) -> int:
        """Stop a running task; return how many messages it has moved.

        Raises: ApiError (`ResourceNotFoundException`, `InvalidParameterValueException`).
        """
        return await self._moves.cancel(handle)


__all__ = ["MoveTask", "Queue", "Queues"]
