"""Shared state of a server's objects: the store, the vault, the buckets, and the notification of changes. A leaf.

Buckets are few and kept in memory; a server that uses no objects loads nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from statewright.background import Background
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.objects import faults
from statewright.objects.blobs.bodies import BlobBodies
from statewright.objects.blobs.moving import move_into_store
from statewright.objects.encryption import applied
from statewright.objects.locks import LOCK, check_lock_of_new, with_default
from statewright.objects.notifications import NOTIFICATION, Change, Outbox
from statewright.objects.records import Bucket, Settings, bucket_of
from statewright.objects.vault import Vault
from statewright.objects.versions.ids import version_text
from statewright.stores.object_rows import Demand, Missing, ObjectRow, Refused
from statewright.stores.protocol import EntryRow
from statewright.stores.store import Store

T = TypeVar("T")


class ObjectState:
    """The shared state of all objects of one server.

    `account` is the one whose buckets it finds: empty for the default account, `None` for those of all.
    """

    account: str | None = None

    def __init__(self, store: Store, clock: Clock, config: Config, data: Path | None, outbox: Outbox | None) -> None:
        """`data` is the folder of large bodies; `None` keeps them in memory. `outbox` delivers notifications."""
        self.store = store
        self.clock = clock
        self.config = config
        self.outbox = outbox
        self.vault = Vault(store, clock, data)
        self.buckets: dict[str, Bucket] = {}
        self._loading = asyncio.Lock()
        self._is_loaded = False
        self._moving = Background("the move of bodies into the store")

    async def start(self) -> None:
        """Load the buckets, and delete what an earlier process left unfinished; harmless when repeated."""
        async with self._loading:
            if not self._is_loaded:
                await self.vault.start()
                self.buckets.update({row.name: bucket_of(row) for row in await self.store.objects.buckets()})
                self._is_loaded = True
                bodies = self.vault.bodies
                if isinstance(bodies, BlobBodies) and bodies.files is not None:
                    self._moving.spawn(move_into_store(self.vault, bodies, self.clock))

    async def stop(self) -> None:
        """End the threads."""
        await self._moving.stop()
        await self.vault.stop()

    async def bucket(self, name: str) -> Bucket:
        """A bucket. Raises: ApiError (`NoSuchBucket`, `AccessDenied`)."""
        if not self._is_loaded:
            await self.start()
        found = self.buckets.get(name)
        if found is None:
            raise faults.no_such_bucket(name)
        if self.account is not None and found.account != self.account:
            raise faults.access_denied()
        return found

    def of_new(self, bucket: Bucket, settings: Settings) -> Settings:
        """The settings of a new object of a bucket, with the encryption that it shows, and its lock.

        Raises: ApiError (`InvalidRequest`, `InvalidArgument` for a lock that it cannot have).
        """
        check_lock_of_new(settings.lock, bucket.settings, self.clock.now_ms())
        encryption = applied(settings.encryption, bucket.settings, self.config)
        changed = settings if encryption is settings.encryption else replace(settings, encryption=encryption)
        return self.locked(bucket, changed)

    def locked(self, bucket: Bucket, settings: Settings) -> Settings:
        """Settings with the bucket's default retention, if they have none of their own."""
        if LOCK not in bucket.settings:
            return settings
        return replace(settings, lock=with_default(settings.lock, bucket.settings, self.clock.now_ms()))

    async def numbered(self, bucket: Bucket, row: ObjectRow) -> ObjectRow:
        """A row with the number of its version if its bucket has versions now; to be written without another await.

        Then versions of a key are written in the order of their numbers.
        """
        if not bucket.is_versioned and not self._is_versioned(bucket):
            return row
        number = await self.vault.next_id()
        home = self.buckets.get(bucket.name, bucket)
        return replace(row, version=number, named=int(home.keeps_versions))

    def _is_versioned(self, bucket: Bucket) -> bool:
        # Versions may have been enabled since a long upload began.
        home = self.buckets.get(bucket.name)
        return home is not None and home.id == bucket.id and home.is_versioned

    def notes(self, bucket: str, row: ObjectRow, event: str, trace: str | None = None) -> list[EntryRow]:
        """The outbox's entries for a change of an object, to be written with it."""
        # The bucket as it is now: notifications may have been configured since a long upload began.
        home = self.buckets.get(bucket)
        if self.outbox is None or home is None or NOTIFICATION not in home.settings:
            return []
        version = version_text(row) if row.named else None
        change = Change(event, row.key.decode(), self.clock.now_ms(), row.size, row.etag, version, trace)
        return self.outbox.prepare(home, [change])[0]

    async def announce(self, writing: Awaitable[T], notes: Sequence[EntryRow]) -> T:
        """Await a write and return its outcome; then have the outbox deliver the notes that were written with it."""
        if not notes or self.outbox is None:
            return await writing
        try:
            outcome = await writing
        except BaseException:
            # Cancelled, or the store did not answer: it may still write.
            self.outbox.unsure(notes)
            raise
        self.outbox.written(notes)
        return outcome

    @staticmethod
    def refusal(bucket: str, name: bytes, outcome: Refused | Missing, demand: Demand) -> ApiError:
        """The service's error for a write that was refused."""
        if isinstance(outcome, Missing):
            return faults.no_such_bucket(bucket)
        header = "If-None-Match" if demand.absent else "If-Match"
        if demand.seen is not None and replace(demand, seen=None).is_met_by(outcome.found):
            return faults.conditional_conflict(header, name.decode())
        if demand.etag is not None and outcome.found is None:
            return faults.no_such_key(name.decode())
        return faults.precondition_failed(header)


class AccountState(ObjectState):
    """The state as one account has it; its owner starts and stops the whole."""

    def __init__(self, whole: ObjectState, account: str, config: Config) -> None:
        self._whole = whole
        self.account = account
        self.config = config
        self.store, self.clock, self.outbox = whole.store, whole.clock, whole.outbox
        self.vault, self.buckets = whole.vault, whole.buckets
        self._is_loaded = False

    async def start(self) -> None:
        """See `ObjectState.start`."""
        await self._whole.start()
        self._is_loaded = True

    async def stop(self) -> None:
        """Do nothing: other accounts may go on."""
