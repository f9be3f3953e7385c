"""A stream in memory: it numbers the records of changes, and wakes those who wait for more. No I/O.

`capture` runs in the store's writer, one change after another, so numbers ascend in the order of commits. A change that
is decided again, or refused, leaves a gap, as the service's numbers have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import orjson

from statewright.clock import Clock
from statewright.payload import Json
from statewright.stores.table_protocol import Decision, StoredItem
from statewright.tables.streams.records import (
    INSERT,
    MODIFY,
    PER_MS,
    REMOVE,
    VIEWS,
    StreamEntry,
    number_of,
    record_body,
    record_place,
)
from statewright.tables.values import Item, equal, item_size


class Stream:
    """A stream; `arn` identifies it in the API. `newest` is the sequence number of the newest record, as an integer."""

    def __init__(self, entry: StreamEntry, arn: str, newest: int, clock: Clock) -> None:
        self.entry = entry
        self.arn = arn
        self.newest = newest
        self.changes = 0
        """Counts the writes that may have added records."""
        self._clock = clock
        self._has_new, self._has_old = VIEWS[entry.view]
        self._waiting: list[asyncio.Future[None]] = []

    def capture(
        self,
        decision: Decision,
        key: Mapping[str, Json],
        before: StoredItem | None,
        after: StoredItem | None,
        *,
        by_expiry: bool = False,
    ) -> None:
        """Add the record of a write to its decision, unless the item stays as it is. `key` may have more members."""
        if before is None:
            if after is None:
                return
            kind = INSERT
        elif after is None:
            kind = REMOVE
        elif _is_same(before, after):
            return
        else:
            kind = MODIFY
        at_ms = self._clock.now_ms()
        self.newest = max(self.newest + 1, at_ms * PER_MS)
        number = number_of(self.newest)
        keys = {name: key[name] for name in self.entry.keys}
        size, new, old = item_size(keys), "null", "null"
        if self._has_new and after is not None:
            size, new = size + after.size, after.body
        if self._has_old and before is not None:
            size, old = size + before.size, before.body
        body = record_body(number, kind, at_ms, orjson.dumps(keys).decode(), (new, old), by_expiry=by_expiry)
        decision.puts[record_place(self.entry.space, number)] = StoredItem(size, body)

    def wake(self) -> None:
        """Wake the readers after a write that may have added records."""
        self.changes += 1
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)

    async def changed_since(self, changes: int) -> None:
        """Return once `changes` differs from a count that was read before."""
        while self.changes == changes:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future


def _is_same(before: StoredItem, after: StoredItem) -> bool:
    if before.body == after.body:
        return True
    if before.size != after.size:
        return False
    one: Item = orjson.loads(before.body)
    other: Item = orjson.loads(after.body)
    return equal({"M": one}, {"M": other})
