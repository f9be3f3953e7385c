"""The data folder: its lock, its one SQLite file, connections to it, its version, and translation of SQLite's
errors."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from statewright.errors import InUse, StoreError, Unavailable
from statewright.files.data_folder import FILE_MODE, FOLDER_MODE
from statewright.stores import fail_points
from statewright.stores.object_rows import IN_FILE
from statewright.stores.statements import read_sql

Durability = Literal["full", "process"]
"""`full` survives a power cut; with `process` one may cost the last commits, never consistency."""

FILE_NAME: Final = "statewright.db"
LOCK_NAME: Final = "lock"
UNFINISHED: Final = "unfinished"
"""Of a data folder that is being filled: a line that says from where."""
SCHEMA_VERSION: Final = 5
"""The newest version of the file that this program knows: one `sql/schema_NNNN.sql` for each."""

APPLICATION_ID: Final = 0x53777274
"""Marks the file as ours in SQLite's header."""

OLDEST_SQLITE: Final = (3, 37, 0)
"""STRICT tables. Source: SQLite release notes."""

WRITER_CACHE_KIB: Final = 32 * 1024
READER_CACHE_KIB: Final = 8 * 1024
"""Pages that a connection keeps in memory. SQLite fills each cache and never gives it back, so these are what a server
on this store grows by in its first tens of thousands of executions. The system caches the file, too."""
CHECKPOINT_PAGES: Final = 8_000
WAL_KEPT_BYTES: Final = 64 * 1024 * 1024

_OPEN_MARK: Final = b"not closed\n"
"""The second line of a lock file while the store is open, and after a kill."""
_MOST_READ: Final = 200

_WORDS: Final = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space, nothing acknowledged is lost",
    sqlite3.SQLITE_IOERR: "reading or writing failed (a full or failing disk?)",
    sqlite3.SQLITE_READONLY: "it cannot be written; check the permissions of the folder and its files",
    sqlite3.SQLITE_PERM: "it may not be accessed; check the permissions of the folder and its files",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check the permissions of the folder and its files",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; stop the server and restore a backup",
    sqlite3.SQLITE_NOTADB: "the file is damaged or no database; stop the server and restore a backup",
    sqlite3.SQLITE_BUSY: "another program holds it locked",
    sqlite3.SQLITE_LOCKED: "another program holds it locked",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
}


def explain(error: Exception, file: Path) -> StoreError:
    """A store's error for one of SQLite's: `Unavailable` when the file or the disk is to blame."""
    if isinstance(error, StoreError):
        return error
    code = getattr(error, "sqlite_errorcode", None)
    words = _WORDS.get(code & 0xFF) if isinstance(code, int) else None
    if words is not None:
        return Unavailable(f"the store {file} does not answer: {words} ({error})")
    return StoreError(f"the store {file} refused a row: {error}")


@contextlib.contextmanager
def explained(file: Path) -> Iterator[None]:
    """Turn SQLite's errors into the store's."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, file) from error


class CannotLock(Unavailable):
    """The file system of a data folder has no locks."""


class FolderLock:
    """Keeps a data folder to one process. The system releases it when the process ends, however it ends."""

    def __init__(self, folder: Path, owner: str) -> None:
        """Take the folder, making it where it is missing.

        Raises: InUse, naming the process that has it; CannotLock; Unavailable, saying why the folder cannot be used.
        """
        self._descriptor: int | None = None
        self.file = folder / LOCK_NAME
        try:
            folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
            descriptor = os.open(self.file, os.O_RDWR | os.O_CREAT, FILE_MODE)
        except OSError as error:
            reason = "it is a file; name a folder" if folder.is_file() else error.strerror
            raise Unavailable(f"data folder {folder} cannot be used: {reason}") from error
        try:
            _lock(descriptor)
        except (BlockingIOError, PermissionError):
            raise InUse(f"data folder {folder} is in use by {_holder(descriptor)}") from None
        except OSError as error:
            os.close(descriptor)
            raise CannotLock(f"data folder {folder} cannot be locked: {error.strerror}") from error
        self._descriptor = descriptor
        held = os.fstat(descriptor)
        self.identity = held.st_dev, held.st_ino
        """Device and inode of the lock file that is held, wherever its path leads by now."""
        self.was_left_open = _OPEN_MARK in os.read(descriptor, _MOST_READ)
        """True if the last process that opened the store here has not closed it."""
        _HELD.add(self)
        try:
            # Windows locks the first byte; no other process can read it meanwhile.
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, f" {owner_line(owner)}\n".encode())
        except OSError as error:
            self.release()
            raise Unavailable(f"data folder {folder} cannot be written: {error.strerror}") from error

    def mark_open(self) -> None:
        """Note durably, behind the owner, that the store is open: its last writes may be in its log only."""
        if self._descriptor is not None:
            # Without the note, a missing log is not warned of.
            with contextlib.suppress(OSError):
                os.write(self._descriptor, _OPEN_MARK)
                os.fsync(self._descriptor)

    def mark_closed(self) -> None:
        """Take the mark back: the store was closed, and its log emptied."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)

    def release(self) -> None:
        """Release the lock; harmless when repeated."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def lacks_log(folder: Path) -> bool:
    """True if the store of a folder that no process has open was not closed, and its write-ahead log is missing."""
    try:
        was_left_open = _OPEN_MARK in (folder / LOCK_NAME).read_bytes()[:_MOST_READ]
    except OSError:
        return False
    return was_left_open and log_is_missing(folder / FILE_NAME)


def log_is_missing(file: Path) -> bool:
    """True if a database is there without its write-ahead log, as after every clean close."""
    return file.exists() and not log_of(file).exists()


def log_of(file: Path) -> Path:
    """The write-ahead log of a database."""
    return file.with_name(file.name + "-wal")


def owner_line(owner: str) -> str:
    """A process by number and name; `owner` may be the number already."""
    number = f"pid {os.getpid()}"
    return number if owner in ("", number) else f"{number} ({owner})"


_HELD: Final[weakref.WeakSet[FolderLock]] = weakref.WeakSet()


def _close_in_forked_child() -> None:
    # A forked worker that outlives a killed server would keep the folder locked.
    for lock in list(_HELD):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_forked_child)


def _holder(descriptor: int) -> str:
    """Read from the lock file which process holds the lock; closes it."""
    try:
        os.lseek(descriptor, 1, os.SEEK_SET)
        return first_line(os.read(descriptor, _MOST_READ)) or "another process"
    finally:
        os.close(descriptor)


def first_line(said: bytes) -> str:
    """The owner of a lock file, as it stands in its first line."""
    return said.decode("utf-8", "replace").strip().partition("\n")[0]


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def connect(
    file: Path, *, durability: Durability = "full", writes: bool = False, keeps_log: bool = False
) -> sqlite3.Connection:
    """A connection as the store uses it: transactions by hand, usable from any thread.

    `keeps_log` is for commands that look at a store from outside: the last connection that closes would else empty and
    delete the write-ahead log that a killed server has left.

    Raises: Unavailable.
    """
    with explained(file):
        if writes:
            _make_private(file)
        is_log_kept = keeps_log and log_of(file).exists()
        connection = sqlite3.connect(
            f"{file.absolute().as_uri()}?mode=ro" if is_log_kept else file,
            uri=is_log_kept,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            timeout=5.0,
        )
        try:
            connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KIB if writes else READER_CACHE_KIB}")
            connection.execute("PRAGMA temp_store = MEMORY")
            if writes:
                # Before the first table, or it has no effect.
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
                connection.execute(f"PRAGMA journal_size_limit = {WAL_KEPT_BYTES}")
                connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
                # Without these, macOS tells a drive to write but not to empty its own cache.
                connection.execute("PRAGMA fullfsync = ON")
                connection.execute("PRAGMA checkpoint_fullfsync = ON")
            else:
                connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
        return connection


def _make_private(file: Path) -> None:
    """Make a file that is missing, empty as a new database is: SQLite would make one that all users may read.

    Its write-ahead log gets the same mode.
    """
    # A file that exists is not opened: closing it would end the locks that SQLite holds on it in this process. Where
    # none can be made, SQLite says why.
    with contextlib.suppress(OSError):
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))


def migrate(connection: sqlite3.Connection, file: Path, newest: int = SCHEMA_VERSION) -> None:
    """Bring the file to the newest version; an older one is copied to `FILE.vN` first.

    Raises: StoreError for a file that is not ours or was written by a newer program. Unavailable.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        raise StoreError(f"Python was built with SQLite {sqlite3.sqlite_version}; Statewright needs {wanted} or newer")
    with explained(file):
        version = _version_of(connection, file)
        if version > newest:
            raise _too_new(file, version, newest)
        if version == newest:
            return
        if version > 0:
            copy_database(connection, file.with_name(f"{file.name}.v{version}"), replace=True)
        connection.execute("BEGIN IMMEDIATE")
        try:
            for number in range(version + 1, newest + 1):
                for statement in split_script(_migration(number)):
                    connection.execute(statement)
                connection.execute("INSERT INTO schema_version (version) VALUES (?)", (number,))
            fail_points.passed(fail_points.IN_MIGRATION)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def _version_of(connection: sqlite3.Connection, file: Path) -> int:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if not tables and application in (0, APPLICATION_ID):
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY) STRICT")
        return 0
    if "schema_version" not in tables or application != APPLICATION_ID:
        raise _not_ours(file)
    return int(connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchone()[0])


def refuse_others(connection: sqlite3.Connection, file: Path) -> None:
    """Check the application and the version of a file. Raises: StoreError for one that this program cannot serve."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise _not_ours(file)
    version = _version_of(connection, file)
    if version > SCHEMA_VERSION:
        raise _too_new(file, version, SCHEMA_VERSION)


def refuse_unfinished(folder: Path) -> None:
    """Check that a folder is not the target of a move that was interrupted. Raises: StoreError."""
    origin = unfinished_from(folder)
    if origin is not None:
        raise StoreError(
            f"the data folder {folder} is incomplete, because {origin} was interrupted: repeat that command, or delete "
            "the folder"
        )


def unfinished_from(folder: Path) -> str | None:
    """The command that fills a folder, or filled it when it was interrupted; None for a complete or empty folder."""
    try:
        return (folder / UNFINISHED).read_text("utf-8", "replace").strip() or "a move"
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unavailable(f"{folder / UNFINISHED} cannot be read: {error.strerror}") from error


def _not_ours(file: Path) -> StoreError:
    return StoreError(f"{file} is an SQLite file, but not one of Statewright's; name another data folder")


def _too_new(file: Path, version: int, newest: int) -> StoreError:
    return StoreError(
        f"the store {file} has version {version}; this program knows versions up to {newest}: "
        "run the newer Statewright that wrote it, or restore an older copy"
    )


def _migration(number: int) -> str:
    return read_sql(f"schema_{number:04}")


def split_script(script: str) -> Iterator[str]:
    """The statements of a script, to be run one by one inside a transaction."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        raise ValueError(f"a script ends inside a statement: {pending.strip()}")


def object_files(connection: sqlite3.Connection) -> list[int]:
    """Ids of the files that the objects, their older versions and parts name, in a database of any schema."""
    found = set[int]()
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    for table in ("object", "object_version", "segment"):
        if table in there:
            found.update(
                number for (number,) in connection.execute(f"SELECT id FROM {table} WHERE place = ?", (IN_FILE,))
            )
    return sorted(found)


def copy_database(source: sqlite3.Connection, target: Path, *, replace: bool = False) -> None:
    """Copy a database into a new file, complete or not at all.

    Raises: StoreError when the file exists and is not to be replaced; Unavailable.
    """
    with new_database(target, replace=replace) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")


@contextlib.contextmanager
def new_database(target: Path, *, replace: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection to an empty file, which is made durable and gets its name when the block ends without an exception.

    Raises: StoreError when the file exists and is not to be replaced; Unavailable.
    """
    if target.exists() and not replace:
        raise StoreError(f"{target} exists already; name a file that does not")
    unfinished = target.with_name(target.name + ".part")
    try:
        unfinished.unlink(missing_ok=True)
        _make_private(unfinished)
        with explained(unfinished):
            copy = sqlite3.connect(unfinished, isolation_level=None)
            try:
                yield copy
            finally:
                copy.close()
        _make_durable(unfinished)
        fail_points.passed(fail_points.IN_COPY)
        os.replace(unfinished, target)
    except OSError as error:
        raise Unavailable(f"the copy {target} cannot be written: {error.strerror}") from error
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


def _make_durable(file: Path) -> None:
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
