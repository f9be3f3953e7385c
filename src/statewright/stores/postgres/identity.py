"""The identity of a store: a random id that a database and its data folder both have, so that no wrong pair is served.

A store of an older version has code of functions and large objects as files in the data folder, which rows of the
database name. A server with another folder would start without a word, and answer 500 for everything that is not there.

1. The first server that owns a database without an id makes one: in the folder as pending, in the database, then in
   the folder for good. So a server that ends in between leaves a pair that the next one completes.
2. A folder that does not fit a database which has an id is refused before the lease is asked for: a standby says so
   when it is started, not when it takes over.
3. A database without an id whose folder has one is refused once the lease is held; until then its owner may be making
   the id.
4. A database is whole once no byte of its store lies in a folder: from the beginning, or from the first start that
   finds no body of an object in its folder. It takes any folder without an id: that of a new machine, or an empty one.

Leaves the meaning of the files to the modules that write them, and permissions to `files/data_folder.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from statewright import chance
from statewright.errors import StoreError
from statewright.files.data_folder import FILE_MODE, FOLDER_MODE, STORE_ID
from statewright.files.whole import write_bytes
from statewright.stores.postgres.connection import Connection, explained, run
from statewright.stores.postgres.lease import Lease
from statewright.stores.statements import statements

_LINE: Final = re.compile(r"([0-9a-f]{32})( pending)?\s*")
"""The content of the file: the id, and `pending` while the database may not have it."""
_SQL: Final = statements("postgres_lease")


@dataclass(frozen=True, slots=True)
class _Stored:
    """The id in a database, and whether that has all bytes of the store."""

    identity: str
    is_whole: bool


@dataclass(frozen=True, slots=True)
class _Known:
    """The id in a folder."""

    identity: str
    is_pending: bool


class Identity:
    """Checks the data folder of a database, and gives both of them the same id."""

    def __init__(self, folder: Path, place: str) -> None:
        """`place` is the database as messages show it."""
        self._folder = folder
        self._file = folder / STORE_ID
        self._place = place

    def check(self, connection: Connection) -> None:
        """Check the folder against a database that has an id. Raises: StoreError; Unavailable."""
        # The database first: its id is in the folder by then.
        stored = self._stored(connection)
        if stored is not None:
            self._compare(stored, self._known())

    def check_both(self, connection: Connection) -> None:
        """As `check`; refuses also a folder of another database while this one has no id. Raises: StoreError."""
        stored, known = self._stored(connection), self._known()
        if stored is None:
            self._refuse_foreign(known)
        else:
            self._compare(stored, known)

    def adopt(self, connection: Connection, lease: Lease) -> None:
        """Check the folder; if neither has an id, give both a new one. A new folder of a whole database gets its id.

        Raises: StoreError; Unavailable, OwnershipLost.
        """
        stored, known = self._stored(connection), self._known()
        if stored is None:
            self._refuse_foreign(known)
            stored = self._made(connection, lease, known)
            known = _Known(stored.identity, is_pending=True)
        elif not stored.is_whole and known is not None and known.identity == stored.identity and not self._has_bodies():
            with explained(self._place):
                if run(connection, _SQL["whole"], (lease.owner, lease.epoch)).fetchone() is None:
                    raise lease.taken_over()
        self._compare(stored, known)
        if known is None or known.is_pending:
            self._write(f"{stored.identity}\n")

    def _made(self, connection: Connection, lease: Lease, known: _Known | None) -> _Stored:
        """A new id, in the folder as pending and in the database. Raises: StoreError, OwnershipLost."""
        identity = known.identity if known is not None else chance.secret_bytes(16).hex()
        self._write(f"{identity} pending\n")
        with explained(self._place):
            found = run(connection, _SQL["put_identity"], (lease.owner, lease.epoch, identity)).fetchone()
        if found is None:
            raise lease.taken_over()
        return _Stored(identity, found[0])

    def _has_bodies(self) -> bool:
        """True while a body of an object lies in the folder, or in that of another region or account in it."""
        pending = [self._folder]
        try:
            while pending:
                folder = pending.pop()
                if any(path.is_file() for path in (folder / "objects").rglob("*")):
                    return True
                pending += [path for apart in ("regions", "accounts") for path in (folder / apart).glob("*")]
        except OSError as problem:
            raise StoreError(f"{problem.filename} cannot be read: {problem.strerror or problem}") from None
        return False

    def _stored(self, connection: Connection) -> _Stored | None:
        with explained(self._place):
            found = run(connection, _SQL["identity"]).fetchone()
        return _Stored(*found) if found is not None else None

    def _known(self) -> _Known | None:
        try:
            text = self._file.read_bytes().decode("ascii", "replace")
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise StoreError(f"{self._file} cannot be read: {problem.strerror or problem}") from None
        line = _LINE.fullmatch(text)
        if line is None:
            raise StoreError(f"{self._file} is damaged: it must have the id of the database {self._place}")
        return _Known(line[1], line[2] is not None)

    def _refuse_foreign(self, known: _Known | None) -> None:
        if known is not None and not known.is_pending:
            raise StoreError(
                f"the data folder {self._folder} belongs to another database than {self._place}, which has had no "
                "folder yet: name the database of this folder with --store, or another folder with --data. If "
                f"{self._place} was restored from a copy that is older than {self._file}, delete that file"
            )

    def _compare(self, stored: _Stored, known: _Known | None) -> None:
        if known is not None and known.identity == stored.identity:
            return
        if known is None or known.is_pending:
            if stored.is_whole:
                return
            raise StoreError(
                f"{self._folder} is not the data folder of the database {self._place}, which has the code of functions "
                "and large objects: name that one with --data. If it is lost, write "
                f"{stored.identity} into {self._file} to go on without them"
            )
        raise StoreError(
            f"the data folder {self._folder} and the database {self._place} do not belong together: each was used with "
            "another one; name the folder of this database with --data, or the database of this folder with --store"
        )

    def _write(self, line: str) -> None:
        try:
            self._folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            write_bytes(self._file, line.encode(), durable=True, mode=FILE_MODE)
        except OSError as problem:
            raise StoreError(f"{self._file} cannot be written: {problem.strerror or problem}") from None
