"""Catalogue of tables: creates, changes and deletes them, and clears the items of deleted tables and indexes.

Each change is one write of the catalogue, applied in memory once it is durable. Changes are made one at a time. A new
index is filled in the background, a few hundred items in each change.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from statewright import chance
from statewright.background import Spawn
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.payload import Json
from statewright.stores.entries import Entries, MarkKind, rows_below
from statewright.stores.protocol import EntryRow
from statewright.stores.store import Store
from statewright.stores.table_protocol import Change, Counted, Decision, ItemKey, StoredItem
from statewright.tables.creating import definition_of_new, in_use, view_of
from statewright.tables.definitions import ACTIVE, TABLE, Definition, Index
from statewright.tables.keys import BEHIND_PARTS
from statewright.tables.streams.records import STREAM
from statewright.tables.streams.streams import Streams
from statewright.tables.table import Table, parse
from statewright.tables.values import invalid

REMAINS: Final = MarkKind("table-remains")
"""Spaces to clear; the key is the number of the space."""
SPACES: Final = "table-spaces"
CLEAR_STEP: Final = 1_000
FILL_STEP: Final = 200
_PAGE: Final = 1_000


class Catalogue:
    """The tables of one store."""

    def __init__(self, store: Store, clock: Clock, config: Config, spawn: Spawn) -> None:
        self._store = store
        self._entries = Entries(store.catalogue, TABLE)
        self._clock = clock
        self._arns = config.arn("dynamodb", "table/")
        self.streams = Streams(store, clock, self._arns, spawn)
        self._spawn = spawn
        self._tables: dict[str, Table] = {}
        self._names: list[str] = []
        self._change = asyncio.Lock()

    async def load(self) -> None:
        """Read every table and stream, and continue the unfinished work of an earlier process."""
        await self.streams.load()
        async for definition in self._entries.walk():
            table = self._add(definition)
            for index in table.definition.indexes:
                if index.is_backfilling:
                    self._spawn(self._fill_index(table, index.name))
            if table.definition.time_to_live is not None and not table.definition.time_to_live.is_filled:
                self._spawn(self.fill_expiries(table))
        for table in self._tables.values():
            for stream in self.streams.of_table(table.definition.name):
                if stream.entry.created_ms >= table.definition.created_ms:
                    table.latest_stream = stream
                    table.stream = stream if stream.entry.closed_ms is None else None
        async for row in rows_below(self._store.catalogue, REMAINS.name):
            self._spawn(self._clear(int(row.key)))

    def all(self) -> list[Table]:
        """Every table, by name."""
        return [self._tables[name] for name in self._names]

    def find(self, reference: str) -> Table | None:
        """The table of a name or ARN."""
        if reference.startswith("arn:"):
            if not reference.startswith(self._arns):
                return None
            reference = reference[len(self._arns) :].partition("/")[0]
        return self._tables.get(reference)

    def arn_of(self, name: str) -> str:
        """The ARN of a table, which need not exist."""
        return self._arns + name

    def page(self, after: str | None, limit: int) -> tuple[list[str], str | None]:
        """Names of tables behind a name, and the last of them if more follow."""
        start = bisect_right(self._names, after) if after is not None else 0
        chosen = self._names[start : start + limit]
        return chosen, chosen[-1] if chosen and start + limit < len(self._names) else None

    async def next_space(self) -> int:
        """A new, unique number for a space."""
        return await self._store.catalogue.next_number(SPACES)

    # ------------------------------------------------------------------ changes

    async def create(self, request: Mapping[str, Json]) -> Table:
        """See `Tables.create`."""
        async with self._change:
            if request["TableName"] in self._tables:
                raise in_use(request["TableName"])
            definition = await definition_of_new(request, chance.uuid4(), self._clock.now_ms(), self.next_space)
            view = view_of(request)
            if view is None:
                return self._add(await self._entries.write(definition))
            stream = self.streams.new(definition, await self.next_space(), view)
            table = self._add(await self._entries.write(definition, also=[STREAM.row(stream)]))
            table.stream = table.latest_stream = self.streams.add(stream)
            return table

    async def open_stream(self, table: Table, view: str) -> None:
        """Give a table a stream of its later changes. Raises: ApiError (`ValidationException`)."""
        async with self._change:
            table.check()
            if table.stream is not None:
                raise invalid(f"Table already has an enabled stream: TableName: {table.definition.name}")
            stream = self.streams.new(table.definition, await self.next_space(), view)
            await self._store.catalogue.write([STREAM.row(stream)], [])
            table.stream = table.latest_stream = self.streams.add(stream)

    async def close_stream(self, table: Table) -> None:
        """Record no more changes of a table; its stream can be read for a day. Raises: ApiError."""
        async with self._change:
            table.check()
            stream = table.stream
            if stream is None:
                raise invalid(f"Table does not have a stream to disable: TableName: {table.definition.name}")
            table.stream = None
            try:
                # Writes that are decided with the stream come before its end.
                await self._settle()
                entry = self.streams.closed(stream)
                await self._store.catalogue.write([STREAM.row(entry)], [])
            except BaseException:
                table.stream = stream
                raise
            self.streams.close(stream, entry)

    async def replace(
        self, table: Table, change: Callable[[Definition], Definition], drop: Sequence[int] = ()
    ) -> Definition:
        """Change a table; `drop` are spaces that it no longer uses. Raises: ApiError, the exceptions of `change`."""
        async with self._change:
            table.check()
            before = table.definition
            table.definition = await self._entries.write(change(before), also=[*map(_remains, drop)])
            for space in drop:
                self._spawn(self._settle_and_clear(space))
            return table.definition

    async def delete(self, table: Table) -> None:
        """See `Tables.delete`."""
        async with self._change:
            table.check()
            name = table.definition.name
            if table.definition.is_protected:
                raise ApiError(
                    "ValidationException",
                    "Resource cannot be deleted as it is currently protected against deletion. Disable deletion "
                    "protection first.",
                )
            spaces = table.definition.spaces
            stream = table.stream
            entry = self.streams.closed(stream) if stream is not None else None
            rows = [*map(_remains, spaces), *([STREAM.row(entry)] if entry is not None else ())]
            await self._store.catalogue.write(rows, [TABLE.name_of(table.definition)])
            table.is_deleted = True
            if stream is not None and entry is not None:
                self.streams.close(stream, entry)
            del self._tables[name]
            self._names.remove(name)
            for space in spaces:
                self._spawn(self._settle_and_clear(space))

    def _add(self, definition: Definition) -> Table:
        table = Table(definition, self._arns + definition.name)
        self._tables[definition.name] = table
        insort(self._names, definition.name)
        return table

    # ------------------------------------------------------------------ in the background

    async def _settle(self) -> None:
        """Return when every change decided before this call is durable."""
        await self._store.tables.change(Change([], lambda _: Decision()))

    async def _settle_and_clear(self, space: int) -> None:
        await self._settle()
        await self._clear(space)

    async def _clear(self, space: int) -> None:
        while await self._store.tables.clear(space, CLEAR_STEP) == CLEAR_STEP:
            pass
        await self._store.catalogue.write([], [(REMAINS.name, str(space))])

    def begin_filling(self, table: Table, name: str) -> None:
        """Fill a new index in the background."""
        self._spawn(self._fill_index(table, name))

    async def _fill_index(self, table: Table, name: str) -> None:
        await self._fill(table)

        def activate(definition: Definition) -> Definition:
            indexes = tuple(
                replace(index, status=ACTIVE, is_backfilling=False) if index.name == name else index
                for index in definition.indexes
            )
            return replace(definition, indexes=indexes)

        if not table.is_deleted:
            index = (await self.replace(table, activate)).index(name)
            if index is not None:
                await self._count(table, index)

    async def _count(self, table: Table, index: Index) -> None:
        """Count the items of a new index. Exact unless it changes meanwhile; the service's own figure is hours old."""
        await self._settle()
        items = size = 0
        after = (b"", b"")
        while True:
            found = await self._store.tables.scan(index.space, after=after, below=BEHIND_PARTS, limit=_PAGE)
            items += len(found)
            size += sum(stored.size for stored in found)
            if len(found) < _PAGE:
                break
            last = parse(found[-1])
            place = table.index_place(index, table.place(last), last)
            assert place is not None
            after = place.part, place.sort
        counts = {index.space: Counted(items, size)}
        await self._store.tables.change(Change([], lambda _: Decision(counts=counts)))

    async def fill_expiries(self, table: Table) -> None:
        """Add the expiry entries of items that were written before time to live was enabled."""
        await self._fill(table)

        def mark(definition: Definition) -> Definition:
            ttl = definition.time_to_live
            return definition if ttl is None else replace(definition, time_to_live=replace(ttl, is_filled=True))

        if not table.is_deleted:
            await self.replace(table, mark)

    async def _fill(self, table: Table) -> None:
        """Write the missing index entries of every item."""
        await self._settle()
        store, space = self._store.tables, table.definition.space
        after = (b"", b"")
        while not table.is_deleted:
            found = await store.scan(space, after=after, below=BEHIND_PARTS, limit=FILL_STEP)
            items = [(table.place(item), item, stored) for stored in found for item in (parse(stored),)]
            if items:
                places = [place for place, _, _ in items]
                entries = [entry.key for one in items for entry in table.entries(*one)]
                await store.change(Change([*places, *entries], _filling(table, entries)))
                after = places[-1].part, places[-1].sort
            if len(found) < FILL_STEP:
                return


def _filling(table: Table, entries: Sequence[ItemKey]) -> Callable[[Sequence[StoredItem | None]], Decision]:
    """Return the decision about the missing entries of some items; a change of an item writes its entries itself."""

    def decide(seen: Sequence[StoredItem | None]) -> Decision:
        decision = Decision()
        many = len(seen) - len(entries)
        missing = {key for key, there in zip(entries, seen[many:], strict=True) if there is None}
        for stored in () if table.is_deleted else seen[:many]:
            if stored is None:
                continue
            item = parse(stored)
            for entry in table.entries(table.place(item), item, stored):
                if entry.key in missing:
                    decision.puts[entry.key] = entry.item
        return decision

    return decide


def _remains(space: int) -> EntryRow:
    return REMAINS.row(str(space))
