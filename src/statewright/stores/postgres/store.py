"""A store in PostgreSQL 15 or newer, for one server whose data lives elsewhere. Needs the extra `postgres`.

Four threads write (`writer`), each group of commits in one round trip; reads go to a pool of threads (`opened`), each
with a connection of its own. The store belongs to one process at a time, by a lease (`lease`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Final

from statewright.clock import Clock
from statewright.errors import StoreError, Unavailable
from statewright.stores.blobs.protocol import BlobStore
from statewright.stores.bucket.address import BucketAddress
from statewright.stores.bucket.blobs import BucketBlobs
from statewright.stores.bucket.client import Bucket
from statewright.stores.bucket.moving import MovingBlobs
from statewright.stores.ids import SHARD, first_id, last_id
from statewright.stores.job_queue import GroupFigures
from statewright.stores.postgres.catalogue import PostgresCatalogue
from statewright.stores.postgres.executions import PostgresExecutions
from statewright.stores.postgres.fenced.blobs import PostgresBlobs
from statewright.stores.postgres.fenced.minutes import PostgresMinutes
from statewright.stores.postgres.objects import PostgresRunner
from statewright.stores.postgres.opened import PostgresDatabase
from statewright.stores.postgres.tables import PostgresTables
from statewright.stores.postgres.watching import Seen
from statewright.stores.queue_plan import QueueTask
from statewright.stores.sql_object_store import SqlObjects, SqlUploads
from statewright.stores.sql_queues import SqlQueues

log = logging.getLogger("statewright.bucket")


class PostgresStore:
    """A whole store in a database. Belongs to the event loop that opened it."""

    shard: Final = SHARD

    def __init__(
        self,
        address: str,
        *,
        clock: Clock | None = None,
        files: Path | None = None,
        bucket: BucketAddress | None = None,
        of_node: bool = False,
    ) -> None:
        """Nothing is touched before `open`. Time of `clock` stands still while the store is at work.

        `address` is what PostgreSQL's library takes: `postgresql://user:password@host:port/database?sslmode=...`. With
        `files`, a folder, the store opens only if that belongs to the database: see `identity`. With `bucket`, which
        needs `files`, blobs are kept there. `of_node`: the process is one of a cluster, and this the store of its home.

        Raises: StoreError for an address that cannot be read.
        """
        self.bucket = Bucket(bucket) if bucket is not None else None
        self.database = PostgresDatabase(address, clock, files, self.bucket, of_node=of_node)
        self.lease_end = self.database.lease_end
        self.executions = PostgresExecutions(self.database)
        self.catalogue = PostgresCatalogue(self.database)
        runner = PostgresRunner(self.database)
        self.objects = SqlObjects(runner)
        self.uploads = SqlUploads(runner)
        rows = PostgresBlobs(self.database)
        self._moving = MovingBlobs(rows, BucketBlobs(self.bucket, self.database)) if self.bucket is not None else None
        self.blobs: BlobStore = self._moving or rows
        self.minutes = PostgresMinutes(self.database)
        self.queues = SqlQueues(self._submit)
        self.tables = PostgresTables(self.database)

    async def open(self, owner: str) -> int:
        """See `Store.open`. Waits up to three seconds for the lease of a process that died."""
        epoch = await self.database.open(owner)
        if self._moving is not None:
            try:
                await asyncio.to_thread(_start, self._moving)
            except BaseException:
                await self.close()
                raise
        return epoch

    async def look(self) -> Seen:
        """See who has the lease, without waiting for it. Raises: Unavailable; StoreError as `open` does."""
        return await self.database.look()

    async def close(self) -> None:
        """See `Store.close`; harmless when repeated."""
        if self._moving is not None:
            await asyncio.to_thread(self._moving.stop)
        await self.database.close()
        self.lease_end.close()
        if self.bucket is not None:
            await asyncio.to_thread(self.bucket.close)

    def _submit(self, task: QueueTask) -> Awaitable[Any]:
        return self.database.opened.writers.submit(task)

    async def newest_id(self, shard: int) -> int:
        found = await self.database.opened.read("newest_id", first_id(shard), last_id(shard))
        return int(found[0][0])

    def check_lease(self) -> None:
        self.database.opened.lease.check()

    def figures(self) -> GroupFigures:
        return self.database.opened.writers.figures

    async def examine(self) -> str | None:
        """See `Store.examine`: page checksums are PostgreSQL's own."""
        return None

    async def backup(self, target: str) -> None:
        """PostgreSQL has its own tools. Raises: StoreError, always."""
        raise StoreError(
            f"the store {self.database.place} cannot be copied to {target}; use statewright backup --store"
        )


def _start(moving: MovingBlobs) -> None:
    """Clean the bucket, and begin to move what is not there yet. Raises: StoreError."""
    try:
        moving.bucket.abort_left()
    except Unavailable as problem:
        # The next start does it.
        log.debug("uploads of an earlier process stay in the bucket: %s", problem)
    moving.start()
