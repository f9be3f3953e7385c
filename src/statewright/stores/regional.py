"""The store as one region sees it: the rows of one store, in a namespace of their own.

Owns the namespaces, and the list of regions that a store has rows of. The default region has the rows as they are. Each
other region has the kinds of its catalogue entries under its name (`eu-west-1/queue`), and a shard of its own, which is
in the id of every execution and message. The regions of an account other than the default one have its number in front
(`111122223333/eu-west-1/queue`): that is their place. The whole store has one sequence of each counter, so that numbers
of machines, queues and tables are never given twice, and one list of buckets, whose names are global.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from statewright.errors import StoreError
from statewright.lease_end import LeaseEnd
from statewright.stores.blobs.regional import RegionalBlobs
from statewright.stores.completion import Completion
from statewright.stores.entries import MarkKind
from statewright.stores.ids import MOST_CELLS, MOST_SHARDS, SHARD
from statewright.stores.job_queue import GroupFigures
from statewright.stores.object_rows import ObjectStore, UploadStore
from statewright.stores.protocol import CatalogueStore, EntryRow, ExecutionStore
from statewright.stores.queue_protocol import QueueStore
from statewright.stores.store import Store
from statewright.stores.table_protocol import TableStore

REGION: Final = MarkKind("region")
"""A region that a store has rows of: its place is the key, its shard the sort. The default region has shard 0."""
_ALL: Final = 10 * MOST_SHARDS


class RegionalCatalogue:
    """See `CatalogueStore`: the entries of one region."""

    def __init__(self, catalogue: CatalogueStore, place: str) -> None:
        self._catalogue = catalogue
        self._prefix = f"{place}/"

    def stored(self, rows: Sequence[EntryRow]) -> list[EntryRow]:
        """Entries of this region as the whole store has them."""
        return [replace(row, kind=self._prefix + row.kind) for row in rows]

    def has(self, row: EntryRow) -> bool:
        """True if an entry of the whole store is of this region."""
        return row.kind.startswith(self._prefix)

    def seen(self, rows: Sequence[EntryRow]) -> list[EntryRow]:
        """Entries of the whole store as this region has them."""
        start = len(self._prefix)
        return [replace(row, kind=row.kind[start:]) for row in rows]

    async def get(self, kind: str, key: str) -> EntryRow | None:
        """See `CatalogueStore.get`."""
        row = await self._catalogue.get(self._prefix + kind, key)
        return None if row is None else replace(row, kind=kind)

    async def write(
        self,
        put: Sequence[EntryRow],
        delete: Sequence[tuple[str, str]] = (),
        completion: Completion[bool] | None = None,
    ) -> bool:
        """See `CatalogueStore.write`."""
        deleted = [(self._prefix + kind, key) for kind, key in delete]
        return await self._catalogue.write(self.stored(put), deleted, completion)

    async def list_entries(
        self, kind: str, parent: str, *, after: tuple[int, str] | None, limit: int, newest_first: bool
    ) -> list[EntryRow]:
        """See `CatalogueStore.list_entries`."""
        found = await self._catalogue.list_entries(
            self._prefix + kind, parent, after=after, limit=limit, newest_first=newest_first
        )
        return self.seen(found)

    async def next_number(self, name: str) -> int:
        """See `CatalogueStore.next_number`: the counters are the whole store's."""
        return await self._catalogue.next_number(name)


class RegionalStore:
    """See `Store`: one region of a store that the server has opened, and closes."""

    def __init__(self, whole: Store, place: str, shard: int) -> None:
        self._whole: Final = whole
        self.shard: Final = shard
        self.catalogue: Final = RegionalCatalogue(whole.catalogue, place)
        self.executions: Final[ExecutionStore] = whole.executions
        self.objects: Final[ObjectStore] = whole.objects
        self.uploads: Final[UploadStore] = whole.uploads
        self.blobs: Final = None if whole.blobs is None else RegionalBlobs(whole.blobs, place)
        self.minutes: Final = None if whole.minutes is None else whole.minutes.of(place)
        self.lease_end: Final[LeaseEnd | None] = whole.lease_end
        self.queues: Final[QueueStore] = whole.queues
        self.tables: Final[TableStore] = whole.tables

    async def open(self, owner: str) -> int:
        """Raises: StoreError, always: the whole store is opened."""
        raise StoreError(f"a region of a store is not opened on its own, not by {owner} either")

    async def close(self) -> None:
        """See `Store.close`: the whole store is closed."""

    def check_lease(self) -> None:
        """See `Store.check_lease`."""
        self._whole.check_lease()

    async def newest_id(self, shard: int) -> int:
        """See `Store.newest_id`."""
        return await self._whole.newest_id(shard)

    def figures(self) -> GroupFigures:
        """See `Store.figures`."""
        return self._whole.figures()

    async def examine(self) -> str | None:
        """See `Store.examine`."""
        return await self._whole.examine()

    async def backup(self, target: str) -> None:
        """See `Store.backup`: the whole store, with all its regions."""
        await self._whole.backup(target)


async def shards(store: Store) -> dict[str, int]:
    """The shards of the regions that a store has rows of, by place; empty while the default region is the only one."""
    rows = await store.catalogue.list_entries(REGION.name, "", after=None, limit=_ALL, newest_first=False)
    return {row.key: row.sort for row in rows}


def place_of(account: str, region: str) -> str:
    """The place of a region; `account` is empty for the default one."""
    return f"{account}/{region}" if account else region


def account_of(place: str) -> str:
    """The account of a place; empty for the default one."""
    return place.rpartition("/")[0]


async def add_region(store: Store, place: str, default: str) -> int:
    """Give a region a shard, which is durable once this returns. The first one also fixes which region has shard 0.

    Raises: StoreError, also if a store cannot have more regions.
    """
    number = await store.catalogue.next_number(REGION.name)
    if number > MOST_SHARDS - MOST_CELLS:
        raise StoreError(f"this store has {MOST_SHARDS - MOST_CELLS + 1} regions; it cannot have more")
    known = await shards(store)
    new = {place: number, **({} if default in known else {default: SHARD})}
    rows = [REGION.row(name, sort=shard) for name, shard in new.items()]
    if not await store.catalogue.write(rows):
        raise StoreError(f"the region {place} was added twice at once; try again")
    return number
