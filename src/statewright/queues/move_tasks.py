"""Tasks that move messages out of a dead-letter queue, to one queue or each back to its source.

A task is an entry of the catalogue, written with every batch; a restarted server continues those that run. A task
receives like any consumer, so messages in flight stay with their consumers. Source: API reference,
StartMessageMoveTask, ListMessageMoveTasks, CancelMessageMoveTask.
"""

from __future__ import annotations

import binascii
import logging
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import orjson

from statewright import chance
from statewright.errors import ApiError, StoreError
from statewright.queues.attributes import INVALID_PARAMETER
from statewright.queues.catalogue import Catalogue
from statewright.queues.dead_letters import move
from statewright.queues.handles import change_visibility
from statewright.queues.messages import Received, read_handle
from statewright.queues.queue import Queue
from statewright.queues.state import Site
from statewright.stores.entries import Entries, EntryKind
from statewright.stores.protocol import CatalogueStore
from statewright.stores.queue_protocol import Move

BATCH: Final = 500
STEPS_PER_SECOND: Final = 10
"""A task with a given rate moves its messages in so many steps a second."""
HIDDEN_MS: Final = 60_000
"""Long enough to move a batch; after a crash, the messages of the batch become visible again."""
RETRY_MS: Final = 1_000
NO_QUEUE: Final = "AWS.SimpleQueueService.NonExistentQueue"
MOST_ACTIVE: Final = 100
"""Source: SQS quotas, active message movement tasks of an account."""
LONGEST_MS: Final = 36 * 3_600_000
"""Source: SQS quotas, the same."""
MOST_LISTED: Final = 10
"""Tasks of a source that are remembered. Source: API reference, ListMessageMoveTasks."""

log = logging.getLogger("statewright.queues")


class MoveTask(NamedTuple):
    """A task as the API shows it. `handle` is set only while the task runs.

    `status` is one of RUNNING, COMPLETED, CANCELLING, CANCELLED, FAILED.
    """

    handle: str | None
    status: str
    source_arn: str
    destination_arn: str | None
    per_second: int | None
    moved: int
    to_move: int
    failure_reason: str | None
    started_ms: int


@dataclass(frozen=True, slots=True)
class _Task:
    """A task as the catalogue keeps it."""

    id: str
    number: int
    source_arn: str
    destination_arn: str | None
    per_second: int | None
    started_ms: int
    to_move: int
    status: str = "RUNNING"
    moved: int = 0
    failure_reason: str | None = None
    stored: int = 0

    @property
    def handle(self) -> str:
        return b64encode(orjson.dumps({"taskId": self.id, "sourceArn": self.source_arn})).decode("ascii")

    def shown(self) -> MoveTask:
        handle = self.handle if self.status == "RUNNING" else None
        return MoveTask(
            handle,
            self.status,
            self.source_arn,
            self.destination_arn,
            self.per_second,
            self.moved,
            self.to_move,
            self.failure_reason,
            self.started_ms,
        )


MOVE: Final = EntryKind(
    "queue-move", _Task, lambda task: task.id, parent=lambda task: task.source_arn, sort=lambda task: task.number
)


class MoveTasks:
    """The tasks of all queues."""

    def __init__(self, store: CatalogueStore, catalogue: Catalogue, site: Site) -> None:
        self._store = store
        self._entries = Entries(store, MOVE)
        self._catalogue = catalogue
        self._site = site
        self._running: dict[str, _Task] = {}
        """Running tasks by ARN of their source."""
        self._waits_ms: dict[str, int] = {}
        """Until when a task waits for messages that it had received when an error occurred."""

    async def load(self) -> None:
        """Continue the tasks that ran when the server stopped."""
        for queue in self._catalogue.all():
            for task in await self._stored(queue.arn):
                if task.status in ("RUNNING", "CANCELLING"):
                    self._running[task.source_arn] = task
                    self._waits_ms[queue.arn] = self._site.clock.now_ms() + HIDDEN_MS
                    self._site.spawn(self._run(queue))

    async def _stored(self, source_arn: str) -> list[_Task]:
        """Tasks of a source, newest first."""
        return (await self._entries.page(source_arn, limit=1_000, newest_first=True))[0]

    def _source(self, source_arn: str) -> Queue:
        source = self._catalogue.find_arn(source_arn)
        if source is None:
            raise ApiError(
                "ResourceNotFoundException",
                "The resource that you specified for the SourceArn parameter doesn't exist.",
                status=404,
            )
        return source

    async def start(self, source_arn: str, destination_arn: str | None, per_second: int | None) -> str:
        """See `Queues.start_move`."""
        source = self._source(source_arn)
        if not self._catalogue.sources_of(source_arn):
            raise ApiError(INVALID_PARAMETER, "Source queue must be configured as a Dead Letter Queue.")
        if destination_arn is not None:
            destination = self._catalogue.find_arn(destination_arn)
            if destination is None:
                raise ApiError(
                    "ResourceNotFoundException",
                    "The resource that you specified for the DestinationArn parameter doesn't exist.",
                    status=404,
                )
            if destination.settings.fifo != source.settings.fifo:
                raise ApiError(INVALID_PARAMETER, "Source and destination queues must be of the same type.")
            if destination is source:
                raise ApiError(INVALID_PARAMETER, "Source and destination queues must be different.")
        if source_arn in self._running:
            raise ApiError(
                INVALID_PARAMETER,
                "There is already a task running. Only one active task is allowed for a source queue arn at a given "
                "time.",
            )
        if len(self._running) >= MOST_ACTIVE:
            raise ApiError("OverLimit", f"There are {MOST_ACTIVE} active message movement tasks already.")
        number = 0
        task = _Task(chance.uuid4(), number, source_arn, destination_arn, per_second, self._site.clock.now_ms(), 0)
        # Entered before the first wait, so that a second call finds it.
        self._running[source_arn] = task
        try:
            to_move = source.state.counts(await source.state.known()).visible
            number = await self._store.next_number(MOVE.name)
            former = await self._stored(source_arn)
            task = replace(task, number=number, to_move=to_move)
            task = await self._entries.write(task, delete=[MOVE.name_of(old) for old in former[MOST_LISTED - 1 :]])
        except BaseException:
            del self._running[source_arn]
            raise
        self._running[source_arn] = task
        self._site.spawn(self._run(source))
        return task.handle

    async def list_tasks(self, source_arn: str, limit: int) -> list[MoveTask]:
        """See `Queues.list_moves`."""
        self._source(source_arn)
        return [task.shown() for task in (await self._stored(source_arn))[:limit]]

    async def cancel(self, handle: str) -> int:
        """See `Queues.cancel_move`."""
        try:
            named = orjson.loads(b64decode(handle, validate=True))
            task_id, source_arn = str(named["taskId"]), str(named["sourceArn"])
        except (binascii.Error, ValueError, KeyError, TypeError):
            raise ApiError(INVALID_PARAMETER, "Value for parameter TaskHandle is invalid.") from None
        self._source(source_arn)
        task = self._running.get(source_arn)
        if task is None or task.id != task_id or task.status != "RUNNING":
            raise ApiError("ResourceNotFoundException", "Task does not exist.", status=404)
        # The task stores this with its next batch.
        self._running[source_arn] = replace(task, status="CANCELLING")
        return task.moved

    async def _run(self, source: Queue) -> None:
        clock = self._site.clock
        is_in_doubt = False
        while source.arn in self._running:
            try:
                if is_in_doubt:
                    await self._read_again(source.arn)
                    is_in_doubt = False
                await self._step(source)
            except (StoreError, ApiError) as problem:
                # The store is unavailable, or too much is in flight; both pass. Received messages become visible again.
                log.warning("the move task of %s continues in a second: %s", source.name, problem)
                is_in_doubt = True
                self._waits_ms[source.arn] = clock.now_ms() + HIDDEN_MS
                await clock.sleep_until(clock.now_ms() + RETRY_MS)

    async def _read_again(self, source_arn: str) -> None:
        """Read a task from the store again, after a write whose outcome is unknown."""
        task = self._running[source_arn]
        for stored in await self._stored(source_arn):
            if stored.id == task.id:
                self._running[source_arn] = replace(task, stored=stored.stored)

    async def _step(self, source: Queue) -> None:
        """Move one batch, or end."""
        clock = self._site.clock
        task = self._running[source.arn]
        if task.status == "CANCELLING":
            return await self._end(task, "CANCELLED")
        if source.state.is_deleted:
            return await self._end(task, "FAILED", NO_QUEUE)
        if clock.now_ms() - task.started_ms > LONGEST_MS:
            return await self._end(task, "FAILED", "TaskTimedOut")
        most = BATCH if task.per_second is None else -(-task.per_second // STEPS_PER_SECOND)
        received = await source.consumers.receive(most, 0, HIDDEN_MS, None, "a move task")
        if not received:
            # Messages that this task had received when an error occurred are still hidden.
            waits_ms = self._waits_ms.get(source.arn, 0)
            in_flight = source.state.counts(await source.state.known()).in_flight
            if in_flight == 0 or clock.now_ms() >= waits_ms:
                return await self._end(task, "COMPLETED")
            return await clock.sleep_until(min(waits_ms, clock.now_ms() + RETRY_MS))
        moved, reason = await self._move(source, task, received)
        task = self._running[source.arn] = replace(self._running[source.arn], moved=task.moved + moved)
        if reason is not None:
            return await self._end(task, "FAILED", reason)
        await self._write(task)
        if task.per_second is not None:
            await clock.sleep_until(clock.now_ms() + 1_000 * len(received) // task.per_second)
        return None

    async def _move(self, source: Queue, task: _Task, received: Sequence[Received]) -> tuple[int, str | None]:
        """Move a batch; return how many were moved, and why the rest was not."""
        by_target: dict[str, list[Received]] = {}
        for message in received:
            by_target.setdefault(task.destination_arn or message.source_arn or "", []).append(message)
        state = source.state
        visibility = await state.known()
        now_ms = state.advance(visibility)
        reason: str | None = None
        moved = 0
        for arn, messages in by_target.items():
            target = self._catalogue.find_arn(arn)
            if target is None:
                reason = NO_QUEUE if arn else "CouldNotDetermineMessageSource"
                await change_visibility(state, [(message.handle, 0) for message in messages])
                continue
            await target.state.known()
            moves: list[Move] = []
            groups: Counter[str] = Counter()
            for message in messages:
                handle = read_handle(message.handle)
                held = visibility.in_flight.get(handle.message) if handle is not None else None
                if handle is None or held is None or held.receipt != handle.receipt:
                    continue
                visibility.release(held)
                if held.group is not None:
                    groups[held.group] += 1
                number = self._site.ids.next()
                moves.append(
                    Move(
                        held.id,
                        number,
                        state.entry.rows,
                        target.state.entry.rows,
                        held.group,
                        now_ms,
                        now_ms,
                        None,
                        is_fresh=True,
                    )
                )
            visibility.total -= len(moves)
            await move(state, target.state, moves, state.group_changes(groups, now_ms))
            moved += len(moves)
        return moved, reason

    async def _end(self, task: _Task, status: str, reason: str | None = None) -> None:
        await self._write(replace(task, status=status, failure_reason=reason))
        self._running.pop(task.source_arn, None)
        self._waits_ms.pop(task.source_arn, None)

    async def _write(self, task: _Task) -> None:
        written = await self._entries.write(task)
        if task.source_arn in self._running:
            running = self._running[task.source_arn]
            self._running[task.source_arn] = replace(running, stored=written.stored)
