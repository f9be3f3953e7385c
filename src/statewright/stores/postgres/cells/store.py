"""The store of a worker: it writes the executions of its node's cells, and reads everything.

It is closed by default. What a worker may write is one list (`groups.CellGroups.admit`); all other writes of the
catalogue, of queues, tables, objects, uploads and blobs, and retention, end in a StoreError, for they are the home's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Final

from statewright.clock import Clock
from statewright.errors import StoreError
from statewright.stores.blobs.protocol import BlobStore
from statewright.stores.bucket.address import BucketAddress
from statewright.stores.bucket.blobs import BucketBlobs
from statewright.stores.bucket.client import Bucket
from statewright.stores.bucket.moving import MovingBlobs
from statewright.stores.ids import first_id, last_id
from statewright.stores.job_queue import GroupFigures
from statewright.stores.postgres.catalogue import PostgresCatalogue
from statewright.stores.postgres.cells.database import CellDatabase
from statewright.stores.postgres.cells.membership import Membership
from statewright.stores.postgres.executions import PostgresExecutions
from statewright.stores.postgres.fenced.blobs import PostgresBlobs
from statewright.stores.postgres.objects import PostgresRunner
from statewright.stores.postgres.tables import PostgresTables
from statewright.stores.queue_plan import QueueTask
from statewright.stores.sql_object_store import SqlObjects, SqlUploads
from statewright.stores.sql_queues import SqlQueues


class CellStore:
    """See `Store`. Belongs to the event loop that opened it; the membership is the caller's, to join and to leave."""

    shard: Final = -1
    """None: the engine of a worker names the shards of its cells, and no other id is made for this store."""
    minutes: None = None
    """The home has the minutes of metrics."""
    lease_end: None = None
    """Work of a cell that another node has by now is done twice, as after a kill."""

    def __init__(
        self, address: str, membership: Membership, clock: Clock | None = None, *, bucket: BucketAddress | None = None
    ) -> None:
        """Nothing is touched before `open`. Time of `clock` stands still while the store is at work. `bucket` is where
        the blobs of the store are, if that has one.

        Raises: StoreError for an address that cannot be read.
        """
        self._membership = membership
        self.database = CellDatabase(address, membership, clock)
        self.executions = PostgresExecutions(self.database)
        self.catalogue = PostgresCatalogue(self.database)
        runner = PostgresRunner(self.database)
        self.objects = SqlObjects(runner)
        self.uploads = SqlUploads(runner)
        self.tables = PostgresTables(self.database)
        self.queues = SqlQueues(self._submit)
        self.bucket = Bucket(bucket) if bucket is not None else None
        rows = PostgresBlobs(self.database)
        self.blobs: BlobStore = rows
        if self.bucket is not None:
            # Never started: it is the home that moves rows into the bucket.
            self.blobs = MovingBlobs(rows, BucketBlobs(self.bucket, self.database))

    async def open(self, owner: str) -> int:
        """Connect. Neither migrates nor takes a lease, so there is no epoch, and no owner but the node.

        Raises: Unavailable, also if the membership is not there; StoreError for a database of another version.
        """
        del owner
        await self.database.open()
        return 0

    async def close(self) -> None:
        """See `Store.close`; harmless when repeated. The cells stay with the node."""
        await self.database.close()
        if self.bucket is not None:
            await asyncio.to_thread(self.bucket.close)

    def _submit(self, task: QueueTask) -> Awaitable[Any]:
        return self.database.opened.writers.submit(task)

    def check_lease(self) -> None:
        """See `Store.check_lease`: that of the node."""
        self._membership.check()

    async def newest_id(self, shard: int) -> int:
        """See `Store.newest_id`."""
        found = await self.database.opened.read("newest_id", first_id(shard), last_id(shard))
        return int(found[0][0])

    def figures(self) -> GroupFigures:
        """See `Store.figures`."""
        return self.database.opened.writers.figures

    async def examine(self) -> str | None:
        """See `Store.examine`: page checksums are PostgreSQL's own."""
        return None

    async def backup(self, target: str) -> None:
        """See `Store.backup`. Raises: StoreError, always."""
        raise StoreError(f"a worker of the store {self.database.place} does not copy it to {target}")
