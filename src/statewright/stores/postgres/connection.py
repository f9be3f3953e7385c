"""Connections to PostgreSQL: opening them, translating their errors, and the versions of the schema."""

from __future__ import annotations

import contextlib
import re
import select
from collections.abc import Iterator
from typing import Final

import psycopg
from psycopg import errors as failures
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from statewright.errors import NewerStore, StoreError, Unavailable
from statewright.stores.postgres.arrays import register
from statewright.stores.statements import SqlRow, read_sql

Connection = psycopg.Connection[SqlRow]

OLDEST_SERVER: Final = 150_000
SCHEMA_VERSION: Final = 11
"""The newest version of the schema that this program knows: one `sql/postgres_NNNN.sql` for each."""

UNFINISHED: Final = "statewright_unfinished"
"""A table of a database that is being filled: one row that says from where."""

CONNECT_SECONDS: Final = 5
WRITE_TIMEOUT_MS: Final = 2_500
"""Shorter than the lease: a statement that takes longer is given up before another process takes over."""
READ_TIMEOUT_MS: Final = 10_000
LONG_TIMEOUT_MS: Final = 120_000
"""For the few statements that read all rows of something: a queue of ten million messages takes some seconds."""
_NETWORK_TIMEOUT_MS: Final = 2_500
_PREPARED: Final = 500

_SETTINGS: Final = (
    # A node that freezes inside a transaction must not keep others from taking over.
    "idle_in_transaction_session_timeout=1000",
    # Every statement looks rows up by an index, and is planned once, maybe while its tables were still empty.
    "plan_cache_mode=force_generic_plan",
    "enable_seqscan=off",
    "enable_hashjoin=off",
    "enable_mergejoin=off",
    "random_page_cost=0.1",
    "cpu_tuple_cost=1",
    # A row costs much by these settings, so that a few of a large table would seem worth several processes.
    "max_parallel_workers_per_gather=0",
    "jit=off",
    "client_min_messages=warning",
)

_DOWN: Final = ("08", "25006", "40", "53", "55P03", "57", "58")
"""SQLSTATEs, by their beginnings, of a database that cannot answer now: connection, replica, conflict, resources,
locks, intervention, system. Source: PostgreSQL's appendix of error codes."""

_AGAIN: Final = ("40001", "40P01")
"""Serialization failure and deadlock."""


_REASONS: Final = (
    'missing "="', "missing key/value separator", "extra key/value separator", "unterminated quoted string",
    "invalid connection option", "invalid URI query parameter", "invalid percent-encoded token",
    "forbidden value %00", "unexpected spaces", "unexpected character", "IPv6 host address may not be empty",
    'end of string reached when looking for matching "]"',
)  # fmt: skip
"""Why libpq refuses an address, without what it quotes of it: maybe the password."""
_PORTS: Final = re.compile(r"[0-9,]*")


def place_of(address: str) -> str:
    """An address as messages show it: host and database, never a password.

    Raises: StoreError for an address that PostgreSQL's library cannot read, or reads as if a part of the user name or
    the password were the host, the port or the database.
    """
    try:
        parts = conninfo_to_dict(address)
    except psycopg.Error as problem:
        words = _sentence(problem)
        reason = next((one for one in _REASONS if words.startswith(one)), "it has no form that is known")
        raise StoreError(f"this address of a PostgreSQL database cannot be read: {reason}") from None
    port = str(parts.get("port") or "")
    if not _PORTS.fullmatch(port) or _has_more_after_user(address):
        raise StoreError(
            "this address of a PostgreSQL database cannot be read: in a user name or a password, / must be written as "
            "%2F, @ as %40, : as %3A and ? as %3F"
        )
    host = parts.get("host") or parts.get("hostaddr") or "localhost"
    return f"postgresql://{host}{f':{port}' if port else ''}/{parts.get('dbname') or parts.get('user') or ''}"


def _has_more_after_user(address: str) -> bool:
    """True for a URI with an `@` that does not end user and password: these then go on where libpq reads a host."""
    scheme, separator, rest = address.partition("://")
    if not separator or scheme not in ("postgresql", "postgres"):
        return False
    # As libpq does: user and password end at the first @, if there is no / before it.
    before, found, after = rest.partition("@")
    if not found:
        return False
    if "/" not in before:
        return "@" in after
    # Only a parameter for the user or the password may have one.
    place, _, query = rest.partition("?")
    given = [one.partition("=")[::2] for one in query.split("&")]
    return "@" in place or any(
        "@" in value and (name not in ("user", "password") or "/" in value) for name, value in given
    )


def connect(address: str, timeout_ms: int) -> Connection:
    """A connection as the store uses it: each statement a transaction of its own unless told otherwise.

    Raises: psycopg.Error.
    """
    info = make_conninfo(
        address,
        application_name="statewright",
        connect_timeout=CONNECT_SECONDS,
        tcp_user_timeout=_NETWORK_TIMEOUT_MS,
        keepalives_idle=2,
        keepalives_interval=1,
        keepalives_count=2,
        client_encoding="UTF8",
    )
    connection: Connection = psycopg.connect(info, autocommit=True, cursor_factory=psycopg.RawCursor)
    connection.prepared_max = _PREPARED
    register(connection)
    try:
        # Not as options of the connection, which PgBouncer refuses.
        settings = [setting.partition("=") for setting in (*_SETTINGS, f"statement_timeout={timeout_ms}")]
        calls = ", ".join(f"set_config('{name}', '{value}', false)" for name, _, value in settings)
        connection.execute(f"SELECT {calls}".encode())
    except BaseException:
        connection.close()
        raise
    return connection


def run(connection: Connection, text: str, given: SqlRow = ()) -> psycopg.Cursor[SqlRow]:
    """Run a prepared statement; its rows come as binary."""
    # The text is ours: a file of `sql/`, with nothing of a caller's in it.
    return connection.execute(text.encode(), given, prepare=True, binary=True)


class NotCommittedError(Exception):
    """Raised for work whose transaction failed before its COMMIT was sent: repeating it does no harm."""

    def __init__(self, problem: psycopg.Error) -> None:
        super().__init__(str(problem))
        self.problem = problem


@contextlib.contextmanager
def transaction(connection: Connection) -> Iterator[psycopg.Transaction]:
    """A transaction. Raises: NotCommittedError for an error of the database before the COMMIT."""
    is_done = False
    try:
        with connection.transaction() as begun:
            yield begun
            is_done = True
    except psycopg.Error as problem:
        if is_done:
            raise
        raise NotCommittedError(problem) from problem


class Idle:
    """Tells whether a connection still stands while it is not in use."""

    def __init__(self, connection: Connection) -> None:
        self._poll = select.poll()
        self._poll.register(connection.fileno(), select.POLLIN)

    def is_broken(self) -> bool:
        """True if the server has sent something unasked: its farewell, or the end of the connection."""
        return bool(self._poll.poll(0))


def explain(error: Exception, place: str) -> StoreError:
    """A store's error for one of psycopg's: `Unavailable` when the database or the way to it is to blame."""
    if isinstance(error, StoreError):
        return error
    code = getattr(error, "sqlstate", None)
    if code is not None:
        is_down = code.startswith(_DOWN)
    else:
        is_down = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    if is_down:
        return Unavailable(f"the store {place} does not answer: {_sentence(error)}")
    return StoreError(f"the store {place} refused a row: {_sentence(error)}")


def is_worth_another_try(error: Exception) -> bool:
    """True if the database gave up a transaction in favour of another one."""
    return getattr(error, "sqlstate", None) in _AGAIN


@contextlib.contextmanager
def explained(place: str) -> Iterator[None]:
    """Turn psycopg's errors into the store's."""
    try:
        yield
    except psycopg.Error as error:
        raise explain(error, place) from error


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def migrate(address: str, place: str, newest: int = SCHEMA_VERSION, *, to_fill: bool = False) -> None:
    """Bring the database to the newest version. Several nodes may try at once: one does it, the others wait.

    `to_fill` is for the command that fills an empty database, also one that an interrupted command has left.

    Raises: StoreError for a database that is not ours, incomplete or was written by a newer program; Unavailable.
    """
    with explained(place), connect(address, 0) as connection:
        refuse_unsuitable(connection, place)
        # Two that create it at once get one of three errors, by how far the other has come.
        with contextlib.suppress(failures.UniqueViolation, failures.DuplicateTable, failures.DuplicateObject):
            connection.execute("CREATE TABLE IF NOT EXISTS statewright_schema (version bigint PRIMARY KEY)")
        if not to_fill:
            refuse_unfinished(connection, place)
        version = _version_of(connection)
        while version < newest:
            # The process that inserts the row first migrates; the others wait here for the end of that transaction.
            with contextlib.suppress(failures.UniqueViolation):
                _migrate_to(connection, version + 1, place)
            version = _version_of(connection)
        if version > newest:
            raise too_new(place, version, newest)


def refuse_unsuitable(connection: Connection, place: str) -> None:
    """Check the server's version and the database's encoding. Raises: StoreError."""
    if connection.info.server_version < OLDEST_SERVER:
        found = connection.info.server_version // 10_000
        raise StoreError(f"the store {place} is PostgreSQL {found}; Statewright needs 15 or newer")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(f"the database {place} is encoded as {encoding}; Statewright needs UTF8")


def refuse_unfinished(connection: Connection, place: str) -> None:
    """Check that a database is not the target of a move that was interrupted. Raises: StoreError; psycopg.Error."""
    if not has_table(connection, UNFINISHED):
        return
    found = connection.execute(f"SELECT origin FROM {UNFINISHED}".encode()).fetchone()
    origin = found[0] if found is not None else "a move"
    raise StoreError(
        f"the database {place} is incomplete, because {origin} was interrupted, or still goes on: repeat that command, "
        "or give Statewright another database"
    )


def version_of(connection: Connection) -> int:
    """The version of the schema, 0 for a database without one. Raises: psycopg.Error."""
    return _version_of(connection) if has_table(connection, "statewright_schema") else 0


def has_table(connection: Connection, name: str) -> bool:
    """True if there is a table where the store's tables are found. Raises: psycopg.Error."""
    found = connection.execute("SELECT to_regclass($1)", (name,)).fetchone()
    return found is not None and found[0] is not None


def too_new(place: str, version: int, newest: int) -> NewerStore:
    """The error for a database of a newer program."""
    return NewerStore(
        f"the store {place} has version {version}; this program knows versions up to {newest}: "
        "run the newer Statewright that wrote it"
    )


def _version_of(connection: Connection) -> int:
    found = connection.execute("SELECT coalesce(max(version), 0) FROM statewright_schema").fetchone()
    return int(found[0]) if found is not None else 0


def _migrate_to(connection: Connection, number: int, place: str) -> None:
    with connection.transaction():
        connection.execute("INSERT INTO statewright_schema (version) VALUES ($1)", (number,))
        try:
            connection.execute(read_sql(f"postgres_{number:04}").encode())
        except failures.DuplicateTable as problem:
            raise StoreError(
                f"the database {place} has tables of another program ({_sentence(problem)}); "
                "give Statewright a database or a schema of its own"
            ) from None
