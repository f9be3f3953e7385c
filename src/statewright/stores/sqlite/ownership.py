"""The claim of a process on the data folder that it has opened: how its loss is noticed, and what follows.

1. The folder's lock keeps others out, as long as the lock file is in the folder. A person or a cleaning job may remove,
   rename or replace the folder or its files meanwhile: then everything written goes into files that nothing can reach.
   So a thread compares, once a second on the real clock, the files at their paths with those held open.
2. If the lock file was removed, a second process can open the same database. It raises the epoch in the database, which
   the writer compares in the transaction of each group: the older process is fenced, and its writes fail.
3. Ownership that is lost never returns. The store refuses all writes, and the server ends.
4. A connection to a database that was replaced is never closed: with the last one, SQLite deletes the write-ahead log
   by its path, and that may be another database's by now.

Leaves taking the lock to `file`, and the epoch's comparison to `writer`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sqlite3
import threading
from pathlib import Path
from typing import Final

from statewright.errors import OwnershipLost
from statewright.stores.sqlite.file import FolderLock

LOOK_SECONDS: Final = 1.0
_Identity = tuple[int, int]
_ENDINGS: Final = ("", "-wal", "-shm")
"""Endings of the files of a database, as SQLite names them."""


class Ownership:
    """The claim of an open store on its folder. `epoch` is the one that this process has written into the database."""

    def __init__(self, lock: FolderLock, file: Path, epoch: int) -> None:
        """Note the files as they are now, after the first write, and begin to watch them."""
        self.epoch = epoch
        self._file = file
        self._held: dict[Path, _Identity] = {lock.file: lock.identity}
        for ending in _ENDINGS:
            path = file.with_name(file.name + ending)
            found = _identity(path)
            if found is not None:
                self._held[path] = found
        self._lost: str | None = None
        self._stopping = threading.Event()
        threading.Thread(target=self._watch, name="statewright-folder", daemon=True).start()

    @property
    def is_held(self) -> bool:
        """True while nothing is known to the contrary."""
        return self._lost is None

    def check(self) -> None:
        """Check that nothing is known to the contrary. Raises: OwnershipLost."""
        if self._lost is not None:
            raise OwnershipLost(self._lost)

    def taken(self) -> OwnershipLost:
        """The error for a database that has another epoch; nothing is written from now on."""
        self._lost = self._lost or f"another process has taken over the data folder {self._file.parent}"
        return OwnershipLost(self._lost)

    def look(self) -> None:
        """Compare the files now."""
        for path, held in self._held.items():
            try:
                found = _identity(path)
            except OSError:
                # The disk does not answer: the store's own errors say so, and what is there is not known.
                continue
            if found != held:
                what = "is gone" if found is None else "is another one now"
                self._lost = (
                    f"the data folder {self._file.parent} was removed or changed under this server: {path} {what}"
                )
                return

    def close(self) -> None:
        """Stop watching."""
        # Not awaited: a look at a disk that does not answer may take long.
        self._stopping.set()

    def end(self, connection: sqlite3.Connection) -> None:
        """Close the last connection, unless the database at its path is another one."""
        found = None
        with contextlib.suppress(OSError):
            found = _identity(self._file)
        if found is None or found == self._held.get(self._file):
            connection.close()
        else:
            # A reference that is never dropped keeps Python from closing it at exit.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))

    def _watch(self) -> None:
        while self._lost is None and not self._stopping.wait(LOOK_SECONDS):
            self.look()


def _identity(path: Path) -> _Identity | None:
    """Device and inode of a file, None if there is none. Raises: OSError."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
