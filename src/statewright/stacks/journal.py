"""The rows of one stack while an operation runs: changes of it, its resources and events in one transaction each.

Owns the numbers of events and the versions of rows. What is changed, and when, is `running.py`'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from statewright import chance
from statewright.clock import Clock
from statewright.errors import Conflict
from statewright.instants import iso_ms
from statewright.payload import Json, dump_json
from statewright.stacks.index import marks_changed
from statewright.stacks.records import (
    STACK,
    STACK_EVENT,
    STACK_RESOURCE,
    UNDER_WAY,
    EventEntry,
    ResourceEntry,
    StackEntry,
)
from statewright.stores.entries import Entries
from statewright.stores.protocol import CatalogueStore

STACK_TYPE: Final = "AWS::CloudFormation::Stack"
Change = Callable[[StackEntry], StackEntry]


@dataclass(frozen=True, slots=True)
class Said:
    """An event to write: of a resource, or of the stack itself if it has no `logical` id."""

    status: str
    reason: str = ""
    logical: str = ""
    physical: str = ""
    type: str = STACK_TYPE
    properties: Json = None


@dataclass(slots=True)
class Live:
    """A stack in memory while an operation runs."""

    stack: StackEntry
    rows: dict[str, ResourceEntry]
    next_event: int
    is_over: bool = False
    """True once it is written that the operation has ended."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Journal:
    """Reads and writes the rows of stacks."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._resources = Entries(catalogue, STACK_RESOURCE)
        self._events = Entries(catalogue, STACK_EVENT)

    async def load(self, stack: StackEntry) -> Live:
        """Bring a stack into memory. Raises: StoreError."""
        rows = {one.id: one for one in await self._resources.all(stack.id)}
        newest, _ = await self._events.page(stack.id, limit=1, newest_first=True)
        return Live(stack, rows, newest[0].number + 1 if newest else 0)

    async def last_reason(self, stack: StackEntry, status: str) -> str:
        """The reason that the latest event of a stack itself with a status gives; empty if there is none."""
        async for one in self._events.walk(stack.id, newest_first=True):
            if one.physical == stack.arn and one.status == status:
                return one.reason
        return ""

    async def save(
        self,
        live: Live,
        change: Change | None = None,
        *,
        rows: Iterable[ResourceEntry] = (),
        events: Iterable[Said] = (),
        delete: Iterable[ResourceEntry] = (),
        under_way: bool | None = None,
    ) -> None:
        """Write changes in one transaction. `under_way` says that an operation begins (`True`) or has ended.

        Raises: StoreError.
        """
        async with live.lock:
            stack = change(live.stack) if change is not None else live.stack
            now_ms, changed, gone = self._clock.now_ms(), list(rows), list(delete)
            written = [STACK_RESOURCE.row(one) for one in changed]
            number = live.next_event
            for said in events:
                written.append(STACK_EVENT.row(self._event(stack, said, number, now_ms)))
                number += 1
            deleted = [STACK_RESOURCE.name_of(one) for one in gone]
            if change is not None:
                written.append(STACK.row(stack))
                marks, unmarked = marks_changed(live.stack if live.stack.stored else None, stack)
                written += marks
                deleted += unmarked
            if under_way:
                written.append(UNDER_WAY.row(stack.id))
            elif under_way is not None:
                deleted.append((UNDER_WAY.name, stack.id))
            if not await self._catalogue.write(written, deleted):
                raise Conflict(f"stack {stack.name} was changed by another writer")
            live.next_event = number
            if under_way is not None:
                live.is_over = not under_way
            if change is not None:
                live.stack = replace(stack, stored=stack.stored + 1)
            for one in changed:
                live.rows[one.id] = replace(one, stored=one.stored + 1)
            for one in gone:
                live.rows.pop(one.id, None)

    def _event(self, stack: StackEntry, said: Said, number: int, now_ms: int) -> EventEntry:
        operation = stack.operation
        if said.logical:
            stamp = iso_ms(now_ms)
            id_ = f"{said.logical}-{said.status}-{stamp}"
        else:
            id_ = chance.uuid4()
        return EventEntry(
            stack.id,
            number,
            id_,
            said.logical or stack.name,
            said.physical if said.logical else stack.arn,
            said.type,
            said.status,
            now_ms,
            said.reason,
            dump_json(said.properties) if said.properties is not None else None,
            operation.token if operation is not None else None,
        )
