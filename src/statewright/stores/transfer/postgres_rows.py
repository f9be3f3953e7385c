"""A PostgreSQL database, read at one instant, and filled while it is empty.

1. Rows are read in one transaction with a snapshot, beside a server that runs if need be.
2. Who moves a store owns it: both a source that must not change and a target have the lease of a server.
3. A target has a table that says from where it is filled. It goes in the transaction that brings the rows. So no server
   starts on a database that an interrupted move has left, and the move can be repeated: the database is still empty.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Container, Generator, Iterable, Iterator
from pathlib import Path
from typing import Final

import psycopg

from statewright.errors import InUse, OwnershipLost, StoreError
from statewright.stores.blobs.protocol import PIECE_BYTES
from statewright.stores.bucket.binding import check_mark
from statewright.stores.bucket.blobs import BucketBlobs
from statewright.stores.bucket.client import Bucket
from statewright.stores.bucket.database import bound_of
from statewright.stores.plan import ALL_MACHINES
from statewright.stores.postgres.connection import (
    SCHEMA_VERSION,
    UNFINISHED,
    Connection,
    connect,
    explained,
    has_table,
    migrate,
    place_of,
    refuse_unfinished,
    refuse_unsuitable,
    run,
    too_new,
    version_of,
)
from statewright.stores.postgres.identity import Identity
from statewright.stores.postgres.lease import Lease
from statewright.stores.protocol import MAP_RUNS
from statewright.stores.statements import SqlRow, statements
from statewright.stores.transfer.mapping import AS_FILES, TABLES, Table
from statewright.stores.transfer.rows import Gone, SqlRows

_CELLS: Final = statements("postgres_cells")
_SETTINGS: Final = (
    # A large table takes long, and the other store may make this one wait.
    "SET idle_in_transaction_session_timeout = 0",
    # The store's other statements look up rows; these read whole tables.
    "SET enable_seqscan = on",
    "SET random_page_cost = DEFAULT",
    "SET cpu_tuple_cost = DEFAULT",
)
_SNAPSHOT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_COUNT: Final = (
    "INSERT INTO execution_count (machine, status, lane, n) "
    "SELECT machine, status, 0, count(*) FROM execution GROUP BY machine, status",
    "INSERT INTO execution_count (machine, status, lane, n) "
    f"SELECT CASE WHEN machine < 0 THEN {MAP_RUNS} ELSE {ALL_MACHINES} END, status, 0, sum(n) "
    "FROM execution_count GROUP BY 1, 2",
)
_BLOB_SIZES: Final = "SELECT name, sum(octet_length(body))::bigint FROM blob GROUP BY name"
_COMPLETE: Final = (
    "UPDATE shard SET epoch = greatest(epoch, $1), owner = NULL, lease_until_ms = 0 "
    "WHERE id = 0 AND owner = $2 AND epoch = $3 RETURNING epoch"
)


class DatabaseRows(SqlRows):
    """See `rows.Rows`: what the transaction of a connection sees."""

    def __init__(self, connection: Connection, place: str, bucket: BucketBlobs | None = None) -> None:
        """`bucket` has the blobs that are no rows, as it is now: it knows no snapshot."""
        self._connection = connection
        self._place = place
        self._bucket = bucket

    def blob_sizes(self) -> dict[str, int]:
        """See `rows.Rows.blob_sizes`."""
        found = {} if self._bucket is None else self._bucket.sizes("")
        # A blob that is being moved into the bucket is complete in the rows.
        return found | self._row_sizes()

    def _row_sizes(self) -> dict[str, int]:
        with contextlib.closing(self._found(_BLOB_SIZES)) as rows:
            return dict(rows)

    def blob_pieces(self, names: Container[str]) -> Generator[SqlRow, None, None]:
        """See `rows.Rows.blob_pieces`."""
        yield from self._found("SELECT name, n, body FROM blob ORDER BY name, n")
        if self._bucket is None:
            return
        rows = self._row_sizes()
        for name, size in self._bucket.sizes("").items():
            if name not in names or name in rows:
                continue
            for number, start in enumerate(range(0, size, PIECE_BYTES)):
                piece = self._bucket.read(name, start, PIECE_BYTES)
                if len(piece) != min(PIECE_BYTES, size - start):
                    raise Gone(f"the blob {name} was deleted from the bucket while it was copied")
                yield name, number, piece

    def count_minutes(self) -> int:
        """See `rows.Rows.count_minutes`."""
        return self._number("SELECT count(*) FROM minute")

    def minute_blocks(self) -> Generator[SqlRow, None, None]:
        """See `rows.Rows.minute_blocks`."""
        return self._found("SELECT place, body FROM minute ORDER BY place, at, node, epoch, n")

    def metric_names(self) -> Generator[SqlRow, None, None]:
        """See `rows.Rows.metric_names`."""
        return self._found("SELECT place, body FROM metric ORDER BY place, node, number")

    def _found(self, statement: str) -> Generator[SqlRow, None, None]:
        # With COPY the rows come as they are read; the answer to a query would be kept whole.
        with explained(self._place), self._connection.cursor() as cursor:
            types = _types(cursor, statement)
            with cursor.copy(f"COPY ({statement}) TO STDOUT (FORMAT BINARY)".encode()) as copy:
                copy.set_types(types)
                yield from copy.rows()


class EmptyDatabase(DatabaseRows):
    """See `rows.EmptyStore`: a database that this process owns."""

    def __init__(self, connection: Connection, place: str, lease: Lease) -> None:
        super().__init__(connection, place)
        self._lease = lease

    def mark(self, origin: str) -> None:
        """Note in the database that it is being filled. Raises: StoreError."""
        with explained(self._place), self._connection.transaction():
            self._connection.execute(f"DROP TABLE IF EXISTS {UNFINISHED}".encode())
            self._connection.execute(f"CREATE TABLE {UNFINISHED} (origin text NOT NULL)".encode())
            self._connection.execute(f"INSERT INTO {UNFINISHED} (origin) VALUES ($1)".encode(), (origin,))

    @contextlib.contextmanager
    def filling(self) -> Iterator[None]:
        """The transaction that brings all rows. Raises: StoreError, OwnershipLost."""
        with explained(self._place), self._connection.transaction():
            yield
            self._connection.execute(f"DROP TABLE {UNFINISHED}".encode())

    def put(self, table: Table, rows: Iterable[SqlRow]) -> None:
        """See `rows.EmptyStore.put`."""
        try:
            with self._connection.cursor() as cursor:
                types = _types(cursor, f"SELECT {table.listed} FROM {table.name}")
                with cursor.copy(f"COPY {table.name} ({table.listed}) FROM STDIN (FORMAT BINARY)".encode()) as copy:
                    copy.set_types(types)
                    for row in rows:
                        copy.write_row(row)
        except psycopg.DataError as problem:
            where = problem.diag.context or table.name
            raise StoreError(f"PostgreSQL refuses a row: {problem.diag.message_primary or problem} ({where})") from None

    def make_anew(self, epoch: int) -> None:
        """See `rows.EmptyStore.make_anew`. The lease ends with the transaction."""
        with explained(self._place):
            for statement in _COUNT:
                self._connection.execute(statement.encode())
            given = (epoch, self._lease.owner, self._lease.epoch)
            if self._connection.execute(_COMPLETE.encode(), given).fetchone() is None:
                raise OwnershipLost(f"the store {self._place} was taken over by another process")
            # The planner has seen empty tables only.
            self._connection.execute(f"ANALYZE {', '.join(table.name for table in TABLES)}".encode())


@contextlib.contextmanager
def snapshot(address: str) -> Iterator[DatabaseRows]:
    """The rows of a database as they are now; what is written meanwhile is not seen.

    Raises: StoreError for a database that has no store, an incomplete one, or one of another version than this
    program's; Unavailable.
    """
    place = place_of(address)
    with _connected(address, place) as connection:
        with explained(place):
            _refuse_others(connection, place)
            connection.execute(_SNAPSHOT.encode())
            # The first statement takes the snapshot.
            connection.execute(b"SELECT 1 FROM shard")
        with _bucket_of(connection, place) as bucket:
            yield DatabaseRows(connection, place, bucket)


@contextlib.contextmanager
def _bucket_of(connection: Connection, place: str) -> Iterator[BucketBlobs | None]:
    """The blobs in the bucket of a database, to be read. Raises: StoreError; Unavailable if it cannot be used."""
    bound = bound_of(connection, place)
    address = bound.address
    if address is None:
        yield None
        return
    bucket = Bucket(address)
    try:
        check_mark(bucket, bound, place)
        yield BucketBlobs(bucket, _NoLease())
    finally:
        bucket.close()


class _NoLease:
    """The lease of a reader, which writes nothing."""

    def fence(self) -> int:
        """Raises: OwnershipLost, always."""
        raise OwnershipLost("this process only reads the store")


@contextlib.contextmanager
def owned(address: str, command: str) -> Iterator[Lease]:
    """Keep servers from a database; the lease can tell whether that succeeded.

    Raises: InUse, naming the server that has it; StoreError as `snapshot` does.
    """
    place = place_of(address)
    with _connected(address, place) as connection:
        with explained(place):
            _refuse_others(connection, place)
        lease = Lease(address, place, f"{command}, pid {os.getpid()},")
        try:
            with _without_nodes(connection, place):
                yield lease
        finally:
            lease.release()


@contextlib.contextmanager
def _without_nodes(connection: Connection, place: str) -> Iterator[None]:
    """Keep nodes from joining: they write cells of which each has a lease of its own. Raises: InUse, Unavailable."""
    with explained(place):
        connection.execute(b"BEGIN")
        # Renewals wait from here on; none of a node that lives was under way.
        connection.execute(b"LOCK TABLE node IN SHARE MODE")
        found = run(connection, _CELLS["living"]).fetchone()
    if found is not None:
        raise InUse(f"the store {place} is in use by the node {found[0]} at {found[1]}")
    yield
    with explained(place):
        # An error here means that the lock was lost meanwhile.
        connection.execute(b"COMMIT")


@contextlib.contextmanager
def empty(address: str, command: str) -> Iterator[EmptyDatabase]:
    """A database without rows, with the newest schema, owned by this process.

    Raises: InUse, naming the server that has it; StoreError for one that has rows, is not ours or newer; Unavailable.
    """
    place = place_of(address)
    # Before the tables are made: a database that is refused stays as it is.
    refuse_filled(address)
    migrate(address, place, to_fill=True)
    lease = Lease(address, place, f"{command}, pid {os.getpid()},")
    try:
        with _connected(address, place) as connection:
            _refuse_filled(connection, place)
            yield EmptyDatabase(connection, place, lease)
    finally:
        lease.release()


def refuse_filled(address: str) -> None:
    """Check that a database can be filled, without changing it. Raises: StoreError; Unavailable."""
    place = place_of(address)
    with _connected(address, place) as connection, explained(place):
        refuse_unsuitable(connection, place)
        version = version_of(connection)
        if version > SCHEMA_VERSION:
            raise too_new(place, version, SCHEMA_VERSION)
        if version:
            _refuse_filled(connection, place)


def is_filled(address: str) -> bool:
    """True for a database with rows that no move or restore is still filling, or has left incomplete.

    Raises: StoreError for a database that cannot be used; Unavailable.
    """
    place = place_of(address)
    with _connected(address, place) as connection, explained(place):
        refuse_unsuitable(connection, place)
        return (
            bool(version_of(connection)) and not has_table(connection, UNFINISHED) and _filled(connection) is not None
        )


def refuse_other_folder(address: str, folder: Path) -> None:
    """Check that a data folder is that of a database, or may become it. Raises: StoreError; Unavailable."""
    place = place_of(address)
    with _connected(address, place) as connection, explained(place):
        # Without the table the database was never served with a folder.
        if has_table(connection, "store_identity"):
            Identity(folder, place).check_both(connection)


def _refuse_filled(connection: Connection, place: str) -> None:
    with explained(place):
        name = _filled(connection)
    if name is not None:
        raise StoreError(
            f"the database {place} is not empty: it has rows in the table {name}. Name an empty one; nothing in this "
            "one was changed"
        )


def _filled(connection: Connection) -> str | None:
    """A table that has rows; None for an empty database. Raises: psycopg.Error."""
    for name in (*(table.name for table in TABLES), *AS_FILES):
        # Tables of later versions are not there yet.
        if not has_table(connection, name):
            continue
        if connection.execute(f"SELECT 1 FROM {name} LIMIT 1".encode()).fetchone() is not None:
            return name
    return None


def _refuse_others(connection: Connection, place: str) -> None:
    refuse_unsuitable(connection, place)
    version = version_of(connection)
    if not version:
        raise StoreError(f"the database {place} has no store of Statewright's")
    refuse_unfinished(connection, place)
    if version > SCHEMA_VERSION:
        raise too_new(place, version, SCHEMA_VERSION)
    if version < SCHEMA_VERSION:
        raise StoreError(
            f"the store {place} has version {version} of the schema, this program has {SCHEMA_VERSION}: start a server "
            "on it once, which brings it up to date"
        )


@contextlib.contextmanager
def _connected(address: str, place: str) -> Iterator[Connection]:
    with explained(place):
        connection = connect(address, 0)
    try:
        with explained(place):
            for setting in _SETTINGS:
                connection.execute(setting.encode())
        yield connection
    finally:
        connection.close()


def _types(cursor: psycopg.Cursor[SqlRow], statement: str) -> list[int]:
    """The types of the columns of a statement, by their numbers."""
    cursor.execute(f"SELECT * FROM ({statement}) AS found LIMIT 0".encode())
    return [column.type_code for column in cursor.description or ()]
