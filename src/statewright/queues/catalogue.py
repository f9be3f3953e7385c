"""The catalogue of queues: names, ARNs, attributes, tags, purges, and the rows that deleted queues leave behind.

Each change is one write of the catalogue and takes effect in memory once it is durable. Changes are serialised.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from statewright.config import Config
from statewright.errors import ApiError, Conflict
from statewright.queues.attributes import (
    FIFO_SUFFIX,
    QueueSettings,
    changed,
    different,
    first_difference,
    refuse_redrive,
    settings_of_new,
    shown,
)
from statewright.queues.entries import QUEUE, REMAINS, QueueEntry
from statewright.queues.queue import Queue
from statewright.queues.state import Site
from statewright.stores.completion import Completion, if_made
from statewright.stores.entries import Entries, rows_below
from statewright.stores.protocol import CatalogueStore, EntryRow
from statewright.tags import retagged

PURGE_EVERY_MS: Final = 60_000
"""Source: API reference, PurgeQueue."""
CLEAR_STEP: Final = 1_000
_NEVER: Final = 2**62
"""Later than any instant."""


class Catalogue:
    """The queues of one store."""

    def __init__(self, store: CatalogueStore, config: Config, site: Site) -> None:
        self._store = store
        self._entries = Entries(store, QUEUE)
        self._config = config
        self._site = site
        self._arns = config.arn("sqs")
        self._queues: dict[str, Queue] = {}
        self._names: list[str] = []
        self._sources: dict[str, set[str]] = {}
        """Names of the queues whose dead letters go to an ARN."""
        self._deleted_ms: dict[str, int] = {}
        self._change = asyncio.Lock()

    async def load(self) -> None:
        """Read every queue, and continue to delete the rows of deleted queues."""
        async for entry in self._entries.walk():
            self._add(entry)
        async for row in rows_below(self._store, REMAINS.name):
            self._site.spawn(self._clear(int(row.key)))

    def all(self) -> Iterable[Queue]:
        """Every queue."""
        return self._queues.values()

    def find(self, reference: str) -> Queue:
        """See `Queues.find`."""
        if reference.startswith("arn:"):
            found = self.find_arn(reference)
        else:
            found = self._queues.get(reference.rsplit("/", 1)[-1])
        if found is None:
            raise ApiError("QueueDoesNotExist", "The specified queue does not exist.")
        return found

    def find_arn(self, arn: str) -> Queue | None:
        """The queue of an ARN."""
        return self._queues.get(arn[len(self._arns) :]) if arn.startswith(self._arns) else None

    def page(self, names: list[str], prefix: str, after: str | None, limit: int) -> tuple[list[Queue], str | None]:
        """Queues of sorted names with a prefix, after a name; also the name to continue after, if there are more."""
        start = bisect_right(names, after) if after is not None else 0
        if prefix:
            start = max(start, bisect_right(names, prefix) - (prefix in self._queues))
        chosen: list[Queue] = []
        for name in names[start : start + limit + 1]:
            if not name.startswith(prefix):
                break
            chosen.append(self._queues[name])
        if len(chosen) <= limit:
            return chosen, None
        return chosen[:limit], chosen[limit - 1].name

    def list_queues(self, prefix: str, after: str | None, limit: int) -> tuple[list[Queue], str | None]:
        """See `Queues.list_queues`."""
        return self.page(self._names, prefix, after, limit)

    def sources_of(self, arn: str) -> list[str]:
        """Names of the queues whose dead letters go to an ARN, sorted."""
        return sorted(self._sources.get(arn, ()))

    async def create(self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str]) -> Queue:
        """See `Queues.create`."""
        limits = self._config.limits
        async with self._change:
            existing = self._queues.get(name)
            if existing is not None:
                differs = first_difference(existing.settings, attributes, limits)
                if differs is not None:
                    raise different(differs)
                return existing
            settings = settings_of_new(name, attributes, limits)
            now_ms = self._site.clock.now_ms()
            rest = limits.queue_name_rest_seconds
            if rest is not None and now_ms - self._deleted_ms.get(name, 0) < 1_000 * rest:
                raise ApiError(
                    "QueueDeletedRecently",
                    f"You must wait {rest} seconds after deleting a queue before you can create another with the "
                    "same name.",
                )
            self._check_redrive(name, settings)
            number = await self._store.next_number("queue")
            scope = settings.deduplication_scope
            entry = QueueEntry(name, number, number, now_ms, now_ms, 0, shown(settings), dict(tags), scope)
            return self._add(await self._entries.write(entry))

    async def set_attributes(self, queue: Queue, attributes: Mapping[str, str]) -> None:
        """See `Queues.set_attributes`."""
        async with self._change:
            queue.state.check()
            settings = changed(queue.settings, attributes, self._config.limits)
            if "RedrivePolicy" in attributes:
                self._check_redrive(queue.name, settings)
            entry = replace(queue.state.entry, attributes=shown(settings), modified_ms=self._site.clock.now_ms())
            await self._replace(queue, entry)

    def _check_redrive(self, name: str, settings: QueueSettings) -> None:
        """Refuse a redrive policy whose dead-letter queue is missing, of another type, or denies its use."""
        redrive = settings.redrive
        if redrive is None:
            return
        arn = self._arns + name
        target = self.find_arn(redrive.target_arn)
        if target is None:
            refuse_redrive(redrive.text, "Dead letter target does not exist.")
        if target.settings.fifo != name.endswith(FIFO_SUFFIX):
            refuse_redrive(redrive.text, "Dead-letter target must be same type of queue as the source.")
        allow = target.settings.redrive_allow
        if allow is not None and not allow.allows(arn):
            refuse_redrive(redrive.text, "Source queue is not allowed to use this dead-letter target.")

    async def set_tags(self, queue: Queue, put: Mapping[str, str], drop: Iterable[str] = ()) -> None:
        """Add and remove tags of a queue."""
        async with self._change:
            queue.state.check()
            await self._replace(queue, replace(queue.state.entry, tags=retagged(queue.state.entry.tags, put, drop)))

    async def purge(self, queue: Queue, completion: Completion[bool] | None = None) -> None:
        """See `Queues.purge`: the queue continues under a new number of rows."""
        async with self._change:
            queue.state.check()
            now_ms = self._site.clock.now_ms()
            if now_ms - queue.state.entry.purged_ms < PURGE_EVERY_MS:
                raise ApiError(
                    "PurgeQueueInProgress",
                    f"Only one PurgeQueue operation on {queue.name} is allowed every 60 seconds.",
                    status=403,
                )
            former = queue.state.entry.rows
            rows = await self._store.next_number("queue")
            entry = replace(queue.state.entry, rows=rows, purged_ms=now_ms)
            await self._replace(queue, entry, _remains(former), completion=completion)
            queue.state.lose_track()
            queue.state.touched()
            self._site.spawn(self._clear(former))

    async def delete(self, queue: Queue, completion: Completion[bool] | None = None) -> None:
        """See `Queues.delete_queue`."""
        async with self._change:
            queue.state.check()
            entry = queue.state.entry
            completes = if_made(completion, True)
            if not await self._store.write([_remains(entry.rows)], [QUEUE.name_of(entry)], completes):
                raise Conflict(f"the rows of queue {queue.name} are being deleted already")
            self._deleted_ms[queue.name] = self._site.clock.now_ms()
            self._forget_index(queue)
            del self._queues[queue.name]
            self._names.remove(queue.name)
            self._site.of_rows.discard(queue.state.entry.rows)
            queue.close()
            self._site.spawn(self._clear(queue.state.entry.rows))

    async def _clear(self, rows: int) -> None:
        """Delete rows that belong to no queue any more, `CLEAR_STEP` at a time."""
        while len(await self._site.store.expire(rows, _NEVER, CLEAR_STEP)) == CLEAR_STEP:
            pass
        await self._store.write([], [(REMAINS.name, str(rows))])

    async def _replace(
        self, queue: Queue, entry: QueueEntry, *more: EntryRow, completion: Completion[bool] | None = None
    ) -> None:
        written = await self._entries.write(entry, also=more, completion=completion)
        self._forget_index(queue)
        queue.state.set_entry(written)
        self._index(queue)

    def _add(self, entry: QueueEntry) -> Queue:
        queue = Queue(entry, self._arns + entry.name, self._site)
        self._queues[entry.name] = queue
        insort(self._names, entry.name)
        self._index(queue)
        return queue

    def _index(self, queue: Queue) -> None:
        """Index a queue under its dead-letter queue."""
        redrive = queue.settings.redrive
        if redrive is not None:
            self._sources.setdefault(redrive.target_arn, set()).add(queue.name)

    def _forget_index(self, queue: Queue) -> None:
        redrive = queue.settings.redrive
        if redrive is not None:
            self._sources[redrive.target_arn].discard(queue.name)


def _remains(rows: int) -> EntryRow:
    """Mark for rows that belong to no queue any more."""
    return REMAINS.row(str(rows), sort=rows)
