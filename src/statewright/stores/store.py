"""A whole store, as a server opens it: one protocol for each aggregate, and operations on all of them.

What an aggregate asks is in `protocol` (executions, the catalogue), `object_rows`, `queue_protocol`, `table_protocol`.
"""

from __future__ import annotations

from typing import Protocol

from statewright.lease_end import LeaseEnd
from statewright.stores.blobs.protocol import BlobStore
from statewright.stores.job_queue import GroupFigures
from statewright.stores.minutes.protocol import MinuteStore
from statewright.stores.object_rows import ObjectStore, UploadStore
from statewright.stores.protocol import CatalogueStore, ExecutionStore
from statewright.stores.queue_protocol import QueueStore
from statewright.stores.table_protocol import TableStore


class Store(Protocol):
    """A whole store: one attribute for each aggregate."""

    @property
    def shard(self) -> int:
        """The shard of the ids that are made for it: 0, or that of a region (`stores.regional`)."""

    @property
    def executions(self) -> ExecutionStore:
        """The executions."""

    @property
    def catalogue(self) -> CatalogueStore:
        """The catalogue."""

    @property
    def objects(self) -> ObjectStore:
        """Buckets and objects."""

    @property
    def uploads(self) -> UploadStore:
        """Multipart uploads."""

    @property
    def blobs(self) -> BlobStore | None:
        """Bodies of objects and packages of functions; None where these are files beside the store, or in memory."""

    @property
    def minutes(self) -> MinuteStore | None:
        """Minutes of metrics; None where these are files beside the store, or in memory."""

    @property
    def lease_end(self) -> LeaseEnd | None:
        """The end of this process's lease; None where no other process can have one meanwhile."""

    @property
    def queues(self) -> QueueStore:
        """The messages of queues."""

    @property
    def tables(self) -> TableStore:
        """The items of tables."""

    async def open(self, owner: str) -> int:
        """Take the store for this process; returns the lease's epoch. Raises: Unavailable, naming who has it."""

    async def close(self) -> None:
        """Write what is queued and release the store."""

    def check_lease(self) -> None:
        """Check that this process still owns the store, without asking the database.

        Raises: OwnershipLost once it is known that another does; Unavailable while that is not known.
        """

    async def newest_id(self, shard: int) -> int:
        """The greatest id in a shard's executions, outbox, inbox and messages, or 0: where `IdSource` continues."""

    def figures(self) -> GroupFigures:
        """Figures on the groups written since it was opened."""

    async def examine(self) -> str | None:
        """Read the store through for damage, beside its work; the first fault, None for none.

        None also if the store is closed meanwhile, or its database looks after that itself. Raises: StoreError.
        """

    async def backup(self, target: str) -> None:
        """Copy the whole store to a new file while it runs. Raises: StoreError where the store cannot."""
