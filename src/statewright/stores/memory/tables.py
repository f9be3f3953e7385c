"""Items of tables in memory, exactly as in `table_protocol`: the model of the other stores."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from statewright.errors import Unavailable
from statewright.stores.completion import Complete
from statewright.stores.table_protocol import Change, Counted, ItemKey, Span, StoredItem


class MemoryTables:
    """See `TableStore`."""

    def __init__(self, complete: Complete) -> None:
        self.is_open = False
        self._complete = complete
        self.items: dict[ItemKey, StoredItem] = {}
        self._places: dict[int, list[tuple[bytes, bytes]]] = defaultdict(list)
        self._counts: dict[int, Counted] = {}

    async def change(self, change: Change) -> Any:
        self._check()
        decision = change.decide([self.items.get(key) for key in change.keys])
        for key in decision.drops:
            if self.items.pop(key, None) is not None:
                places = self._places[key.space]
                del places[bisect_left(places, key[1:])]
        for key, item in decision.puts.items():
            if key not in self.items:
                insort(self._places[key.space], key[1:])
            self.items[key] = item
        for space, by in decision.counts.items():
            items, size = self._counts.get(space, (0, 0))
            self._counts[space] = Counted(items + by.items, size + by.bytes)
        self._complete(change.completion, decision.answer)
        await asyncio.sleep(0)
        return decision.answer

    async def get(self, keys: Sequence[ItemKey]) -> list[StoredItem | None]:
        self._check()
        return [self.items.get(key) for key in keys]

    async def span(self, span: Span, *, limit: int, backward: bool = False) -> list[StoredItem]:
        self._check()
        places = self._places[span.space]
        low, high = bisect_left(places, (span.part, span.low)), bisect_left(places, (span.part, span.high))
        chosen = places[max(low, high - limit) : high][::-1] if backward else places[low : min(high, low + limit)]
        return [self.items[ItemKey(span.space, *place)] for place in chosen]

    async def scan(self, space: int, *, after: tuple[bytes, bytes], below: bytes, limit: int) -> list[StoredItem]:
        self._check()
        places = self._places[space]
        low, high = bisect_right(places, after), bisect_left(places, (below, b""))
        return [self.items[ItemKey(space, *place)] for place in places[low : min(high, low + limit)]]

    async def counts(self, spaces: Sequence[int]) -> dict[int, Counted]:
        self._check()
        return {space: self._counts.get(space, Counted(0, 0)) for space in spaces}

    async def clear(self, space: int, limit: int) -> int:
        self._check()
        gone = self._places[space][:limit]
        del self._places[space][:limit]
        for place in gone:
            del self.items[ItemKey(space, *place)]
        self._counts.pop(space, None)
        await asyncio.sleep(0)
        return len(gone)

    def _check(self) -> None:
        if not self.is_open:
            raise Unavailable("this store in memory is closed")
