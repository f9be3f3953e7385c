"""The file of an embedded store, which is a backup, too: read as a whole, and written anew."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Container, Generator, Iterable, Iterator
from pathlib import Path
from typing import Final

from statewright.errors import StoreError
from statewright.stores.plan import ALL_MACHINES
from statewright.stores.protocol import MAP_RUNS
from statewright.stores.sqlite.file import (
    SCHEMA_VERSION,
    connect,
    explained,
    migrate,
    new_database,
    refuse_others,
)
from statewright.stores.statements import SqlRow
from statewright.stores.transfer.mapping import Table
from statewright.stores.transfer.rows import SqlRows

_COUNT: Final = (
    "INSERT INTO execution_count (machine, status, shard, n) "
    "SELECT machine, status, shard, count(*) FROM execution GROUP BY machine, status, shard",
    "INSERT INTO execution_count (machine, status, shard, n) "
    f"SELECT CASE WHEN machine < 0 THEN {MAP_RUNS} ELSE {ALL_MACHINES} END, status, shard, sum(n) "
    "FROM execution_count GROUP BY 1, 2, 3",
)


class FileRows(SqlRows):
    """See `rows.Rows`: a file that no process writes, or a backup."""

    def __init__(self, connection: sqlite3.Connection, file: Path) -> None:
        self._connection = connection
        self._file = file

    def blob_sizes(self) -> dict[str, int]:
        """See `rows.Rows.blob_sizes`."""
        return {}

    def blob_pieces(self, names: Container[str]) -> Generator[SqlRow, None, None]:  # noqa: ARG002
        """See `rows.Rows.blob_pieces`."""
        yield from ()

    def count_minutes(self) -> int:
        """See `rows.Rows.count_minutes`."""
        return 0

    def minute_blocks(self) -> Generator[SqlRow, None, None]:
        """See `rows.Rows.minute_blocks`."""
        yield from ()

    def metric_names(self) -> Generator[SqlRow, None, None]:
        """See `rows.Rows.metric_names`."""
        yield from ()

    def _found(self, statement: str) -> Generator[SqlRow, None, None]:
        # The cursor reads as it goes: nothing of the table is kept.
        with explained(self._file):
            yield from self._connection.execute(statement)


@contextlib.contextmanager
def reading(file: Path) -> Iterator[FileRows]:
    """The rows of a file, as they are at one instant; its write-ahead log stays if it has one.

    Raises: StoreError for a file that is not ours, or has another version than this program's; Unavailable.
    """
    connection = connect(file, keeps_log=True)
    try:
        with explained(file):
            refuse_others(connection, file)
            (version,) = connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchone()
            if version != SCHEMA_VERSION:
                raise StoreError(
                    f"{file} has version {version} of the schema, this program has {SCHEMA_VERSION}: start a server on "
                    "it once, which brings it up to date"
                )
            connection.execute("BEGIN")
        yield FileRows(connection, file)
    finally:
        connection.close()


class NewFile(FileRows):
    """See `rows.EmptyStore`."""

    def put(self, table: Table, rows: Iterable[SqlRow]) -> None:
        """See `rows.EmptyStore.put`."""
        marks = ", ".join("?" * len(table.columns))
        with explained(self._file):
            self._connection.executemany(f"INSERT INTO {table.name} ({table.listed}) VALUES ({marks})", rows)

    def make_anew(self, epoch: int) -> None:
        """See `rows.EmptyStore.make_anew`."""
        with explained(self._file):
            for statement in _COUNT:
                self._connection.execute(statement)
            self._connection.execute("INSERT INTO shard (id, owner, epoch) VALUES (0, NULL, ?)", (epoch,))


@contextlib.contextmanager
def new_file(file: Path, *, replace: bool = False) -> Iterator[NewFile]:
    """A new store, whose file gets its name at the end of the block, if that ends well. Raises: StoreError."""
    with new_database(file, replace=replace) as connection:
        # Before the first table, or it has no effect.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        # Until it has its name, the file is worth nothing.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        migrate(connection, file)
        connection.execute("BEGIN")
        yield NewFile(connection, file)
        connection.execute("COMMIT")
