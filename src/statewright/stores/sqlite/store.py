"""A store in one SQLite file: what `statewright` uses unless told otherwise.

One thread writes (`writer`); how it is opened and read is in `opened`, what each aggregate asks in a module of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Final

from statewright.clock import Clock
from statewright.stores.ids import SHARD, first_id, last_id
from statewright.stores.job_queue import GroupFigures
from statewright.stores.queue_plan import QueueTask
from statewright.stores.sql_object_store import SqlObjects, SqlUploads
from statewright.stores.sql_queues import SqlQueues
from statewright.stores.sqlite.catalogue import SqliteCatalogue
from statewright.stores.sqlite.executions import SqliteExecutions
from statewright.stores.sqlite.file import Durability, copy_database
from statewright.stores.sqlite.objects import SqliteRunner
from statewright.stores.sqlite.opened import SqliteFile
from statewright.stores.sqlite.tables import SqliteTables
from statewright.stores.statements import statements

_NEWEST_ID: Final = statements("executions")["newest_id"]


class SqliteStore:
    """A whole store in a data folder. Belongs to the event loop that opened it."""

    shard: Final = SHARD
    blobs: Final = None
    minutes: Final = None
    lease_end: Final = None

    def __init__(self, folder: Path, *, durability: Durability = "full", clock: Clock | None = None) -> None:
        """Nothing is touched before `open`. Time of `clock` stands still while the store is at work."""
        self.file = SqliteFile(folder, durability, clock)
        self.executions = SqliteExecutions(self.file)
        self.catalogue = SqliteCatalogue(self.file)
        runner = SqliteRunner(self.file)
        self.objects = SqlObjects(runner)
        self.uploads = SqlUploads(runner)
        self.queues = SqlQueues(self._submit)
        self.tables = SqliteTables(self.file)

    async def open(self, owner: str) -> int:
        return self.file.open(owner)

    async def close(self) -> None:
        """See `Store.close`; harmless when repeated."""
        await self.file.close()

    def check_lease(self) -> None:
        """See `Store.check_lease`: the files are those that were opened, and no other process writes them."""
        self.file.opened.ownership.check()

    def _submit(self, task: QueueTask) -> Awaitable[Any]:
        return self.file.opened.writer.submit(task)

    async def newest_id(self, shard: int) -> int:
        bounds = first_id(shard), last_id(shard)
        return self.file.opened.read(lambda on: int(on.execute(_NEWEST_ID, bounds).fetchone()[0]))

    def figures(self) -> GroupFigures:
        return self.file.opened.writer.figures

    async def examine(self) -> str | None:
        return await self.file.opened.examination.run()

    async def backup(self, target: str) -> None:
        """See `Store.backup`: one SQLite file, to be put into a data folder as `statewright.db`."""
        await self.file.opened.scan(lambda on: copy_database(on, Path(target)))
