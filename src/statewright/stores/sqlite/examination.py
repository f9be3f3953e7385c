"""Reading a database through for damage, beside the server's work.

Owns the thread and its connection. Tables are checked one by one, each in a transaction of its own: a check of the
whole file would keep the write-ahead log from being emptied for as long as it takes. SQLite's quick_check does not find
indexes that disagree with their tables.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from statewright.stores.sqlite.file import connect, explain

_TABLES: Final = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
_LOWEST_PRIORITY: Final = 19
_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Examination:
    """The reading through of one open database."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stopping = threading.Event()
        self._connection: sqlite3.Connection | None = None
        self._pool = ThreadPoolExecutor(1, "statewright-examination")

    async def run(self) -> str | None:
        """The first fault, None if there is none or the store is closed meanwhile. Raises: StoreError."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._look)

    def stop(self) -> None:
        """Break it off, and close its connection. Blocks until the statement under way has noticed."""
        self._stopping.set()
        connection = self._connection
        if connection is not None:
            with contextlib.suppress(sqlite3.ProgrammingError):
                connection.interrupt()
        self._pool.shutdown(cancel_futures=True)

    def _look(self) -> str | None:
        _lower_priority()
        connection = self._connection = connect(self._file)
        name = "its schema"
        try:
            for (name,) in connection.execute(_TABLES).fetchall():
                if self._stopping.is_set():
                    return None
                (said,) = connection.execute(f"PRAGMA quick_check('{name}')").fetchone()
                if said != "ok":
                    return f"{name}: {said}"
        except sqlite3.Error as problem:
            if self._stopping.is_set():
                return None
            if problem.sqlite_errorcode & 0xFF in _DAMAGE:
                return f"{name}: {problem}"
            raise explain(problem, self._file) from problem
        finally:
            connection.close()
        return None


def _lower_priority() -> None:
    # On Linux each thread has a priority of its own.
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
