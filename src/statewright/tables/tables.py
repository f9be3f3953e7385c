"""All tables of a server: the façade that the API uses.

Owns the resolution of names. Requests arrive checked against the service's model; their meaning is left to the other
modules of the package. Every write is durable when its call returns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from statewright.background import Background
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.payload import Json
from statewright.stores.completion import Completion, adapted
from statewright.stores.store import Store
from statewright.stores.table_protocol import Change, Counted, Decision, ItemKey, StoredItem
from statewright.tables import reads, transactions
from statewright.tables.catalogue import Catalogue
from statewright.tables.definitions import Definition
from statewright.tables.expiry import Expiry
from statewright.tables.exports import Exports, PutObject
from statewright.tables.partiql.selects import Selection, page_of
from statewright.tables.reads import Page
from statewright.tables.table import Table, not_found
from statewright.tables.values import invalid
from statewright.tables.writes import Write, Written, carry_out, wake_readers

Transacted = list[tuple[Write, Written]]
"""The writes of a transaction and their effects."""
Prepared = tuple[list[Write], list[bool], transactions.ClientToken | None]
"""A transaction: its writes, which of them return the item that fails their condition, and its token."""

FORGET_EVERY_MS: Final = 60_000
_NAME: Final = re.compile(r"[a-zA-Z0-9_.\-]+")


class Tables:
    """Every table of a store. Belongs to one event loop."""

    def __init__(self, store: Store, clock: Clock, config: Config, put_object: PutObject | None = None) -> None:
        """Nothing is read before `start`. Exports are written with `put_object`."""
        self.store = store
        self.clock = clock
        self.config = config
        self._background = Background("work on tables")
        self._forgot_ms = 0
        self.catalogue = Catalogue(store, clock, config, self._background.spawn)
        self.streams = self.catalogue.streams
        self.expiry = Expiry(store.tables, clock, self.catalogue, self._background.spawn)
        self.exports = Exports(store, clock, self.catalogue, self._background.spawn, put_object)

    async def start(self) -> None:
        """Read the catalogue of tables, and recover the unfinished work of an earlier process."""
        await self.catalogue.load()
        self.expiry.start()
        self.streams.start()
        await self.exports.start()

    async def stop(self) -> None:
        """End the background work; the next process continues it."""
        self.expiry.stop()
        self.streams.stop()
        await self._background.stop()

    async def at_rest(self) -> None:
        """Return when no background work is running."""
        await self._background.at_rest()

    # The catalogue

    async def create(self, request: Mapping[str, Json]) -> Table:
        """Create a table, as CreateTable asks for it.

        Raises: ApiError (`ResourceInUseException`, `ValidationException`).
        """
        return await self.catalogue.create(request)

    async def delete(self, table: Table) -> None:
        """Delete a table with its items. Raises: ApiError."""
        await self.catalogue.delete(table)

    def find(self, reference: str) -> Table:
        """The table of a name or ARN. Raises: ApiError (`ResourceNotFoundException`, `ValidationException`)."""
        table = self.catalogue.find(reference)
        if table is None:
            if not reference.startswith("arn:") and _NAME.fullmatch(reference) is None:
                raise invalid(
                    f"1 validation error detected: Value '{reference}' at 'tableName' failed to satisfy constraint: "
                    "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
                )
            raise not_found()
        return table

    def describe(self, reference: str) -> Table:
        """As `find`, with the error text of operations on tables themselves."""
        table = self.catalogue.find(reference)
        if table is None:
            raise not_found(reference.rpartition("/")[2] if reference.startswith("arn:") else reference)
        return table

    async def counts(self, table: Table) -> dict[int, Counted]:
        """Items and bytes of a table and of its indexes, by space."""
        return await self.store.tables.counts(table.definition.spaces)

    async def set_tags(self, table: Table, tags: Mapping[str, str]) -> None:
        """Replace the tags of a table."""
        await self.catalogue.replace(table, lambda definition: replace(definition, tags=dict(tags)))

    async def change(self, table: Table, **members: Json) -> Definition:
        """Change members of a table's definition."""
        return await self.catalogue.replace(table, lambda definition: replace(definition, **members))

    # Items

    async def write(self, write: Write, completion: Completion[Written] | None = None) -> Written:
        """Carry out a write. Raises: ApiError (`ConditionFailed` among them)."""

        def decide(found: Sequence[StoredItem | None]) -> Decision:
            decision = Decision()
            decision.answer = carry_out(write, found[0], decision)
            return decision

        try:
            written: Written = await self.store.tables.change(Change((write.place,), decide, completion))
        finally:
            if write.table.stream is not None:
                write.table.stream.wake()
        return written

    async def write_all(
        self, writes: Sequence[Write], completion: Completion[list[Written]] | None = None
    ) -> list[Written]:
        """Carry out writes of different items that have no conditions."""

        def decide(found: Sequence[StoredItem | None]) -> Decision:
            decision = Decision()
            decision.answer = [carry_out(write, one, decision) for write, one in zip(writes, found, strict=True)]
            return decision

        change = Change([write.place for write in writes], decide, completion)
        try:
            written: list[Written] = await self.store.tables.change(change)
        finally:
            wake_readers(writes)
        return written

    async def write_each(
        self, writes: Sequence[Write], completion: Completion[list[Written | ApiError]] | None = None
    ) -> list[Written | ApiError]:
        """Carry out writes one after the other, each by itself, in one transaction of the store: an error is an answer.

        Several may write the same item.
        """

        def decide(found: Sequence[StoredItem | None]) -> Decision:
            decision = Decision()
            known = {write.place: one for write, one in zip(writes, found, strict=True)}
            answers: list[Written | ApiError] = []
            for write in writes:
                try:
                    written = carry_out(write, known[write.place], decision)
                except ApiError as problem:
                    answers.append(problem)
                else:
                    known[write.place] = written.after
                    answers.append(written)
            decision.answer = answers
            return decision

        change = Change([write.place for write in writes], decide, completion)
        try:
            answers: list[Written | ApiError] = await self.store.tables.change(change)
        finally:
            wake_readers(writes)
        return answers

    async def get(self, places: Sequence[ItemKey]) -> list[StoredItem | None]:
        """Read items as they are at one moment."""
        return await self.store.tables.get(places)

    async def query(self, table: Table, request: Mapping[str, Json]) -> Page:
        """A page of a query. Raises: ApiError."""
        return await reads.query(self.store.tables, self.clock, table, request)

    async def scan(self, table: Table, request: Mapping[str, Json]) -> Page:
        """A page of a scan. Raises: ApiError."""
        return await reads.scan(self.store.tables, self.clock, table, request)

    async def select(self, chosen: Selection, token: str | None) -> tuple[Page, str | None]:
        """A page of a SELECT, and the token of the next one. Raises: ApiError."""
        return await page_of(self.store.tables, self.clock, chosen, token)

    async def transact(
        self, request: Mapping[str, Json], completion: Completion[Transacted] | None = None
    ) -> Transacted:
        """Carry out a transaction; nothing if one with its token was carried out before.

        Raises: ApiError (`Cancelled` among them).
        """
        return await self.transact_prepared(self.prepared(request), completion)

    def prepared(self, request: Mapping[str, Json]) -> Prepared:
        """The checked writes of a transaction, and its token. May be called in a thread. Raises: ApiError."""
        writes, shows = transactions.writes_of(request["TransactItems"], self.find)
        return writes, shows, transactions.client_token_of(request, self.clock.now_ms())

    async def transact_prepared(
        self, prepared: Prepared, completion: Completion[Transacted] | None = None
    ) -> Transacted:
        """As `transact`."""
        writes, shows, token = prepared
        now_ms = self.clock.now_ms()
        if token is not None and now_ms - self._forgot_ms >= FORGET_EVERY_MS:
            self._forgot_ms = now_ms
            self._background.spawn(transactions.forget_tokens(self.store.tables, now_ms))

        def answer(written: Sequence[Written] | None) -> Transacted:
            return list(zip(writes, written, strict=True)) if written is not None else []

        done = adapted(completion, answer)
        try:
            return answer(await transactions.write_together(self.store.tables, writes, shows, token, done))
        finally:
            wake_readers(writes)
