"""The file of a store while it is open: the folder's lock, the claim on it, the thread that writes, and connections to
read on.

Point reads run on the event loop, on a connection of their own, since they cost less than a hop to a thread; lists go
to a pool of two. The data folder belongs to one process at a time, so the lease of its one shard is taken at once.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from statewright.clock import Clock
from statewright.errors import Unavailable
from statewright.stores.sqlite.examination import Examination
from statewright.stores.sqlite.file import (
    FILE_NAME,
    Durability,
    FolderLock,
    connect,
    explained,
    log_is_missing,
    log_of,
    migrate,
    refuse_unfinished,
)
from statewright.stores.sqlite.ownership import Ownership
from statewright.stores.sqlite.writer import Writer

T = TypeVar("T")

SCAN_THREADS: Final = 2

log = logging.getLogger("statewright.stores")


class SqliteFile:
    """The file of a data folder, open or not: what every part of the store works on."""

    def __init__(self, folder: Path, durability: Durability, clock: Clock | None) -> None:
        """Nothing is touched before `open`. Time of `clock` stands still while the store is at work."""
        self.folder = folder
        self._durability = durability
        self._clock = clock
        self._open: OpenFile | None = None

    @property
    def opened(self) -> OpenFile:
        """The open store. Raises: Unavailable when it is closed."""
        if self._open is None:
            raise Unavailable(f"the store in {self.folder} is closed")
        return self._open

    def open(self, owner: str) -> int:
        """Lock the folder and open the file; returns the lease's epoch. Raises: Unavailable, naming who has it."""
        if self._open is not None:
            raise Unavailable(f"data folder {self.folder} is in use by this process")
        self._open = OpenFile(self.folder, owner, self._durability, self._clock)
        return self._open.ownership.epoch

    async def close(self) -> None:
        """Write what is queued and release the store; harmless when repeated."""
        opened, self._open = self._open, None
        if opened is not None:
            await opened.close()


class OpenFile:
    """The parts of an open store: the folder's lock, the writer, and connections to read on."""

    def __init__(self, folder: Path, owner: str, durability: Durability, clock: Clock | None) -> None:
        self.file = folder / FILE_NAME
        self.clock = clock
        self._lock = FolderLock(folder, owner)
        if self._lock.was_left_open and log_is_missing(self.file):
            log.warning(
                "%s was not closed, and its write-ahead log (%s) is missing: unless another program has emptied it, "
                "what was acknowledged last is lost. Never delete that file; a backup may have more",
                self.file, log_of(self.file).name,
            )  # fmt: skip
        try:
            refuse_unfinished(folder)
            writes = connect(self.file, durability=durability, writes=True)
            try:
                migrate(writes, self.file)
                with explained(self.file):
                    epoch = _take_shard(writes, owner)
                self.points = connect(self.file)
                self._lock.mark_open()
            except BaseException:
                writes.close()
                raise
        except BaseException:
            self._lock.release()
            raise
        self.ownership = Ownership(self._lock, self.file, epoch)
        self.writer = Writer(writes, self.file, self.ownership, clock)
        self.examination = Examination(self.file)
        self._scans = ThreadPoolExecutor(SCAN_THREADS, "statewright-scan")
        self._of_thread = threading.local()
        self._connections: list[sqlite3.Connection] = []

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Read on the event loop's own connection."""
        with explained(self.file):
            return work(self.points)

    async def scan(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Read in the pool."""
        if self.clock is None:
            return await asyncio.get_running_loop().run_in_executor(self._scans, self._scan, work)
        with self.clock.busy():
            return await asyncio.get_running_loop().run_in_executor(self._scans, self._scan, work)

    def _scan(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection: sqlite3.Connection | None = getattr(self._of_thread, "connection", None)
        if connection is None:
            connection = self._of_thread.connection = connect(self.file)
            self._connections.append(connection)
        with explained(self.file):
            return work(connection)

    async def close(self) -> None:
        """Write what is queued, close all connections and unlock the folder."""
        self.examination.stop()
        self._scans.shutdown()
        for connection in (self.points, *self._connections):
            connection.close()
        self.ownership.close()
        # Last, because the last connection to close empties the write-ahead log.
        await self.writer.close()
        if self.ownership.is_held:
            self._lock.mark_closed()
        self._lock.release()


def _take_shard(connection: sqlite3.Connection, owner: str) -> int:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "INSERT INTO shard (id, owner, epoch) VALUES (0, ?, 1) "
        "ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, epoch = epoch + 1",
        (owner,),
    )
    (epoch,) = connection.execute("SELECT epoch FROM shard WHERE id = 0").fetchone()
    connection.execute("COMMIT")
    return int(epoch)
