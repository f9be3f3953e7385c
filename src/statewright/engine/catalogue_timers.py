"""Entries of the catalogue that fall due, for the due-soon heap: the key is a number, `sort` the instant.

Owns how such entries are named and read. Their owners (schedules, deliveries) write them with the rest of a
change in one transaction, and arm the heap (`timers.DueSoon`) afterwards. Entries below another parent than `""` rest.
"""

from __future__ import annotations

from typing import Final

from statewright.stores.protocol import CatalogueStore, EntryRow, TimerRow

PAGE: Final = 500
RESTING: Final = "resting"
"""Parent of entries that wait for nothing."""


def timer_key(number: int) -> str:
    """The key of an entry: numbers of one width, so that keys sort like numbers."""
    return f"{number:019d}"


def timer_row(kind: str, number: int, due_ms: int | None, version: int, body: bytes) -> EntryRow:
    """An entry to write; `due_ms` is None for one that rests."""
    return EntryRow(kind, timer_key(number), "" if due_ms is not None else RESTING, due_ms or 0, version, body)


class CatalogueTimers:
    """Reads the entries of one kind as timers: the number stands for the execution, the timer is 0."""

    def __init__(self, catalogue: CatalogueStore, kind: str) -> None:
        self._catalogue = catalogue
        self._kind = kind

    async def due(self, _shard: int, until_ms: int, limit: int, after: TimerRow | None = None) -> list[TimerRow]:
        """Entries due up to an instant, by (due, number), from behind the place of `after` on."""
        place = None if after is None else (after.due_ms, timer_key(max(after.execution, 0)))
        found: list[TimerRow] = []
        while len(found) < limit:
            size = min(PAGE, limit - len(found))
            page = await self._catalogue.list_entries(self._kind, "", after=place, limit=size, newest_first=False)
            for row in page:
                if row.sort > until_ms:
                    return found
                found.append(TimerRow(int(row.key), 0, row.sort))
            if len(page) < size:
                return found
            place = (page[-1].sort, page[-1].key)
        return found
