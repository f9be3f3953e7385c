"""Copies the rows of one store into another, and reads them back to compare.

1. The source is read at one instant: a transaction that sees nothing of what is written later.
2. Rows pass through one by one, so memory does not grow with the store.
3. The target gets everything or nothing: its transaction ends, or its file gets its name, after the comparison.
4. Rows are compared by their number and by the sum of their hashes, which does not depend on their order.

Leaves the two kinds of stores to `sqlite_rows` and `postgres_rows`.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from statewright.errors import StoreError
from statewright.stores import fail_points
from statewright.stores.statements import SqlRow
from statewright.stores.transfer.mapping import OBJECT_FILES, TABLES, Table

STEP_ROWS: Final = 1_000
"""Rows between two reports of progress."""
_HASH_BYTES: Final = 16
_MASK: Final = (1 << 8 * _HASH_BYTES) - 1

Progress = Callable[[int], None]
"""Called with the number of further rows that were copied or compared."""


class Gone(StoreError):
    """Bytes that a row names were deleted since the row was read: they are not part of the snapshot."""


class Rows(Protocol):
    """The rows of a store that is not written meanwhile."""

    def count(self, table: Table) -> int:
        """The number of rows. Raises: StoreError."""

    def sorted_rows(self, table: Table) -> Generator[SqlRow, None, None]:
        """All rows in the order of the table, so that the target's indexes grow at their end. Raises: StoreError."""

    def rows(self, table: Table) -> Generator[SqlRow, None, None]:
        """All rows in any order. Raises: StoreError."""

    def object_files(self) -> list[int]:
        """Ids of the files that rows of objects name, ascending. Raises: StoreError."""

    def blob_sizes(self) -> dict[str, int]:
        """The sizes of all blobs by their names; empty for a store that has files. Raises: StoreError."""

    def blob_pieces(self, names: Container[str]) -> Generator[SqlRow, None, None]:
        """The pieces of blobs, in order: name, number, bytes; of others, too, where that costs less than a choice.

        Raises: Gone for a blob that was deleted meanwhile; StoreError.
        """

    def count_minutes(self) -> int:
        """The number of blocks of minutes of metrics; 0 for a store that has files. Raises: StoreError."""

    def minute_blocks(self) -> Generator[SqlRow, None, None]:
        """All blocks of minutes, in order: place of the region, bytes. Raises: StoreError."""

    def metric_names(self) -> Generator[SqlRow, None, None]:
        """The names of the metrics in them: place of the region, bytes. Raises: StoreError."""

    def epoch(self) -> int:
        """The epoch of the last owner. Raises: StoreError."""


class SqlRows(ABC):
    """Rows as statements read them that both kinds of stores understand."""

    @abstractmethod
    def _found(self, statement: str) -> Generator[SqlRow, None, None]:
        """The rows of a statement, as they are read. Raises: StoreError."""

    def count(self, table: Table) -> int:
        """See `Rows.count`."""
        return self._number(f"SELECT count(*) FROM {table.name}")

    def sorted_rows(self, table: Table) -> Generator[SqlRow, None, None]:
        """See `Rows.sorted_rows`."""
        return self._found(f"SELECT {table.listed} FROM {table.name} ORDER BY {table.order}")

    def rows(self, table: Table) -> Generator[SqlRow, None, None]:
        """See `Rows.rows`."""
        return self._found(f"SELECT {table.listed} FROM {table.name}")

    def object_files(self) -> list[int]:
        """See `Rows.object_files`."""
        return sorted({row[0] for row in self._found(" UNION ALL ".join(OBJECT_FILES))})

    def epoch(self) -> int:
        """See `Rows.epoch`."""
        return self._number("SELECT coalesce(max(epoch), 0) FROM shard")

    def _number(self, statement: str) -> int:
        [(number,)] = self._found(statement)
        return int(number)


class FilledStore(Protocol):
    """A store that got its rows from another one."""

    def rows(self, table: Table) -> Generator[SqlRow, None, None]:
        """All rows that were written, in any order. Raises: StoreError."""


class EmptyStore(FilledStore, Protocol):
    """A new store."""

    def put(self, table: Table, rows: Iterable[SqlRow]) -> None:
        """Write rows. Raises: StoreError."""

    def make_anew(self, epoch: int) -> None:
        """Write what is not copied; `epoch` is that of the source's last owner. Raises: StoreError."""


@dataclass(slots=True)
class Tally:
    """The number of rows, and the sum of their hashes."""

    many: int = 0
    digest: int = 0

    def of(self, rows: Iterable[SqlRow], progress: Progress) -> Iterator[SqlRow]:
        """The rows as they are, tallied as they pass."""
        for row in rows:
            # In version 0 of the format, equal values are equal bytes.
            hashed = hashlib.blake2b(marshal.dumps(row, 0), digest_size=_HASH_BYTES).digest()
            self.digest = (self.digest + int.from_bytes(hashed)) & _MASK
            self.many += 1
            if not self.many % STEP_ROWS:
                progress(STEP_ROWS)
            yield row
        progress(self.many % STEP_ROWS)


def counted(source: Rows) -> dict[str, int]:
    """The number of rows of each table. Raises: StoreError."""
    return {table.name: source.count(table) for table in TABLES}


def transfer(source: Rows, target: EmptyStore, progress: Progress) -> dict[str, int]:
    """Copy all rows, and compare what arrived; returns the number of rows of each table.

    `progress` counts each row twice: when it was copied, and when it was compared.

    Raises: StoreError if a row was refused, or something else arrived.
    """
    written = {table.name: Tally() for table in TABLES}
    for table in TABLES:
        # A reading must end before its connection does, also if this one is interrupted.
        with contextlib.closing(source.sorted_rows(table)) as rows:
            target.put(table, written[table.name].of(rows, progress))
    fail_points.passed(fail_points.IN_TRANSFER)
    for table in TABLES:
        _compare(table, written[table.name], target, progress)
    target.make_anew(source.epoch())
    return {name: tally.many for name, tally in written.items()}


def compare(source: Rows, target: FilledStore, progress: Progress) -> dict[str, int]:
    """Compare all rows of two stores; returns the number of rows of each table. `progress` is as in `transfer`.

    Raises: StoreError if they differ.
    """
    many = {}
    for table in TABLES:
        wanted = Tally()
        with contextlib.closing(source.rows(table)) as rows:
            for _ in wanted.of(rows, progress):
                pass
        _compare(table, wanted, target, progress)
        many[table.name] = wanted.many
    return many


def _compare(table: Table, written: Tally, target: FilledStore, progress: Progress) -> None:
    """Read back what a table has. Raises: StoreError if it is not what was written."""
    found = Tally()
    with contextlib.closing(target.rows(table)) as rows:
        for _ in found.of(rows, progress):
            pass
    if found != written:
        what = "other contents" if found.many == written.many else f"{found.many:,} rows"
        raise StoreError(f"of {written.many:,} rows of {table.name}, {what} arrived")
