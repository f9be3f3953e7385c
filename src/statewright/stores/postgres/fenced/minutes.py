"""Minutes of metrics in the PostgreSQL store: rows of one region, written and read in bounded statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from statewright.stores.minutes.protocol import IMPORTED, NODE, MinuteBlock
from statewright.stores.postgres.arrays import bigints, byteas
from statewright.stores.postgres.connection import run
from statewright.stores.postgres.fenced.statement import write_fenced
from statewright.stores.postgres.opened import Database
from statewright.stores.statements import SqlRow, statements

PAGE_BLOCKS: Final = 60
"""Read by one statement: those of an hour."""
PAGE_SIZES: Final = 1_000
DROPPED_AT_ONCE: Final = 500
_LAST: Final = 1 << 40
"""Later than any minute."""

_SQL: Final = statements("postgres_minutes")


class PostgresMinutes:
    """See `MinuteStore`."""

    def __init__(self, database: Database, place: str = "") -> None:
        self._database = database
        self._place = place

    def of(self, place: str) -> PostgresMinutes:
        """See `MinuteStore.of`."""
        return PostgresMinutes(self._database, place)

    def names(self, most: int) -> list[tuple[int, bytes]]:
        """See `MinuteStore.names`."""
        return [(number, body) for number, body in self._read("names", NODE, most)]

    def newest(self) -> int:
        """See `MinuteStore.newest`."""
        found = self._read("newest", NODE)
        return int(found[0][0]) if found else 0

    def write(
        self, blocks: Sequence[MinuteBlock], names: Sequence[tuple[int, bytes]], now: int, *, imported: bool = False
    ) -> None:
        """See `MinuteStore.write`."""
        self._write(
            "put",
            NODE,
            now,
            bigints([number for number, _ in names]),
            byteas([body for _, body in names]),
            IMPORTED if imported else self._database.opened.lease.epoch,
            bigints([block.at for block in blocks]),
            bigints([block.n for block in blocks]),
            byteas([block.body for block in blocks]),
        )

    def read(self, start: int, end: int) -> Iterator[bytes]:
        """See `MinuteStore.read`."""
        after: tuple[object, ...] = (start, "", -1, -1)
        while True:
            page = self._read("read", end, *after, PAGE_BLOCKS)
            yield from (row[4] for row in page)
            if len(page) < PAGE_BLOCKS:
                return
            after = page[-1][:4]

    def sizes(self) -> Iterator[tuple[int, int]]:
        """See `MinuteStore.sizes`."""
        before: tuple[object, ...] = (_LAST, "", -1, -1)
        while True:
            page = self._read("sizes", *before, PAGE_SIZES)
            yield from ((row[0], row[4]) for row in page)
            if len(page) < PAGE_SIZES:
                return
            before = page[-1][:4]

    def drop(self, before: int, names_before: int) -> None:
        """See `MinuteStore.drop`."""
        self._drop("drop", before)
        self._drop("drop_names", NODE, names_before)

    def _drop(self, statement: str, *given: object) -> None:
        gone = DROPPED_AT_ONCE
        while gone == DROPPED_AT_ONCE:
            (gone,) = self._write(statement, *given, DROPPED_AT_ONCE)

    def _write(self, statement: str, *given: object) -> SqlRow:
        return write_fenced(self._database, _SQL[statement], (self._place, *given))

    def _read(self, statement: str, *given: object) -> list[SqlRow]:
        behind_place = (self._place, *given)
        return self._database.opened.read_connections.run(lambda on: run(on, _SQL[statement], behind_place).fetchall())
