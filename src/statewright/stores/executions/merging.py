"""The executions of several machines as one list by start: of which machine to read how many rows next.

A store reads from an index of (machine, start) or (machine, status, start), a few rows of each machine first, then more
of those whose rows are used up before the list is full. A thousand machines cost a thousand seeks, however many
executions they have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from statewright.stores.plan import STATUS_NUMBERS
from statewright.stores.protocol import BEFORE_EVERY_START, BEHIND_EVERY_START, STATUSES, Started, Thin
from statewright.stores.statements import SqlRow

_LEAST: Final = 2


@dataclass(slots=True)
class Part:
    """One machine's executions, or those of one status: the place behind the rows that were read. `status` is its
    number.
    """

    machine: int
    status: int | None
    after: Started
    is_over: bool = False


class Merge:
    """Collects the first rows of all parts, by start and id."""

    def __init__(
        self,
        machines: Sequence[int],
        statuses: Sequence[str],
        after: Started | None,
        limit: int,
        *,
        oldest_first: bool,
    ) -> None:
        place = after or (BEFORE_EVERY_START if oldest_first else BEHIND_EVERY_START)
        numbers: list[int | None] = [STATUS_NUMBERS[status] for status in statuses] or [None]
        self.parts = [Part(machine, number, place) for machine in machines for number in numbers]
        self.chunk = max(1, -(-limit // len(self.parts))) if self.parts else 0
        """Rows to read of each part that is wanted."""
        self._is_newest_first = not oldest_first
        self._limit = limit
        self._found: dict[int, SqlRow] = {}
        self._round = 0

    def wanted(self) -> list[Part]:
        """The parts to read next; none once the list is full."""
        self._round += 1
        if self._round == 1:
            return self.parts
        # Most of the list is there: what the parts still lack is little, unless one of them has nearly all rows.
        self.chunk = max(_LEAST, self.chunk // 8) if self._round == 2 else min(self.chunk * 4, self._limit)
        first = self._first()
        if len(first) < self._limit:
            return [part for part in self.parts if not part.is_over]
        last = first[-1][:2]
        if self._is_newest_first:
            return [part for part in self.parts if not part.is_over and part.after > last]
        return [part for part in self.parts if not part.is_over and part.after < last]

    def add(self, part: Part, rows: Sequence[SqlRow]) -> None:
        """Take the rows that follow a part's place: start, id, machine, name, status, end."""
        for row in rows:
            # A row that changes its status while its list is read may be read twice.
            self._found[row[1]] = row
        part.is_over = len(rows) < self.chunk
        if rows:
            part.after = rows[-1][:2]

    def taken(self) -> list[Thin]:
        """The first rows."""
        return [
            Thin(number, machine, name, STATUSES[status], started_ms, stopped_ms)
            for started_ms, number, machine, name, status, stopped_ms in self._first()
        ]

    def _first(self) -> list[SqlRow]:
        return sorted(self._found.values(), reverse=self._is_newest_first)[: self._limit]


def thin_statement(statuses: Sequence[str], *, oldest_first: bool) -> str:
    """The name of the statement that reads rows of a part."""
    return f"thin_rows{'_of_status' if statuses else ''}{'_oldest' if oldest_first else ''}"
