"""Time to live: the attribute with an item's expiry, and deleting expired items in batches.

A space of its own has entries by expiry, written in the same change as the item, so that a scan for expired items
reads nothing else. The delete checks each item again: its expiry may have been postponed.

Source: developer guide, "Using time to live"; API reference, UpdateTimeToLive; texts observed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from statewright.background import Spawn
from statewright.clock import Clock, Timer
from statewright.stores.table_protocol import Change, Decision, Span, StoredItem, TableStore
from statewright.tables.catalogue import Catalogue
from statewright.tables.definitions import Definition, TimeToLive
from statewright.tables.expressions.conditions import Test
from statewright.tables.keys import encoded
from statewright.tables.table import EXPIRIES, Table, parse
from statewright.tables.values import Item, invalid
from statewright.tables.writes import ConditionFailed, Write, carry_out, delete_key, wake_readers

SCAN_EVERY_MS: Final = 10_000
"""Source: ours; the service may need some days."""
STEP: Final = 200
OLDEST_SECONDS: Final = 5 * 365 * 86_400
"""Items that expired longer ago are kept. Source: developer guide, "Using time to live"."""


class Expiry:
    """Deletes expired items. Scans only while some table has a time to live."""

    def __init__(self, store: TableStore, clock: Clock, catalogue: Catalogue, spawn: Spawn) -> None:
        self._store = store
        self._clock = clock
        self._catalogue = catalogue
        self._spawn = spawn
        self._timer: Timer | None = None
        self._is_running = False

    def start(self) -> None:
        """Schedule the first scan, if any table has a time to live."""
        self._is_running = True
        self._plan()

    def stop(self) -> None:
        """Cancel the next scan."""
        self._is_running = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def switch(self, table: Table, attribute: str, *, enabled: bool) -> None:
        """Enable or disable time to live, as UpdateTimeToLive does. Raises: ApiError."""
        before = table.definition.time_to_live
        if not attribute:
            raise invalid("TimeToLive attribute name must not be empty")
        if enabled and before is not None:
            if before.attribute == attribute:
                raise invalid("TimeToLive is already enabled")
            raise invalid(
                f"TimeToLive is active on a different AttributeName: current AttributeName is {before.attribute}"
            )
        if not enabled and before is None:
            raise invalid("TimeToLive is already disabled")
        if not enabled and before is not None and before.attribute != attribute:
            raise invalid(
                f"TimeToLive is active on a different AttributeName: current AttributeName is {before.attribute}"
            )
        if not enabled and before is not None:
            await self._catalogue.replace(table, _without_expiry, [before.space])
            return
        kept = TimeToLive(attribute, await self._catalogue.next_space())
        await self._catalogue.replace(table, lambda definition: replace(definition, time_to_live=kept))
        self._spawn(self._catalogue.fill_expiries(table))
        self._plan()

    def _plan(self) -> None:
        if self._timer is None and self._is_running and self._with_expiry():
            self._timer = self._clock.call_at(self._clock.now_ms() + SCAN_EVERY_MS, self._scan)

    def _with_expiry(self) -> list[Table]:
        return [table for table in self._catalogue.all() if table.definition.time_to_live is not None]

    def _scan(self) -> None:
        self._timer = None
        if self._is_running:
            self._spawn(self._round())

    async def _round(self) -> None:
        try:
            for table in self._with_expiry():
                await self.delete_expired(table)
        finally:
            self._plan()

    async def delete_expired(self, table: Table) -> None:
        """Delete the expired items of a table."""
        ttl = table.definition.time_to_live
        while ttl is not None and not table.is_deleted:
            now = self._clock.now_ms() // 1000
            low, high = encoded({"N": str(now - OLDEST_SECONDS)}), encoded({"N": str(now)})
            found = await self._store.span(Span(ttl.space, EXPIRIES, low, high), limit=STEP)
            writes = [replace(delete_key(table, parse(one), _is_over(ttl, now)), by_expiry=True) for one in found]
            if writes:
                await self._store.change(Change([write.place for write in writes], _deleting(writes)))
                wake_readers(writes)
            if len(found) < STEP:
                return


def _deleting(writes: Sequence[Write]) -> Callable[[Sequence[StoredItem | None]], Decision]:
    def decide(found: Sequence[StoredItem | None]) -> Decision:
        decision = Decision()
        for write, before in zip(writes, found, strict=True):
            try:
                carry_out(write, before, decision)
            except ConditionFailed:
                # Its expiry was postponed, or it was deleted.
                continue
        return decision

    return decide


def _is_over(ttl: TimeToLive, now: int) -> Test:
    def test(item: Item) -> bool:
        expiry = item.get(ttl.attribute, {}).get("N")
        return expiry is not None and Decimal(expiry) < now

    return test


def _without_expiry(definition: Definition) -> Definition:
    return replace(definition, time_to_live=None)
