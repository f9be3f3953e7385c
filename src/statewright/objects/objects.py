"""Buckets and objects: the facade that the S3 API, distributed Maps and functions' code use.

Owns the meaning of operations on buckets and objects. Leaves bytes to `vault` and `intake`, rows to the store,
multipart uploads to `uploads`, and shared state to `state`. Every write is durable when its call returns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from statewright.config import Config
from statewright.limits import LISTED_AT_ONCE
from statewright.objects import faults
from statewright.objects.copies import Copies
from statewright.objects.deletions import Deletions
from statewright.objects.intake import NOTHING_PROMISED, Body, Promise, receive
from statewright.objects.locks import Lock
from statewright.objects.names import check_bucket_name, check_metadata, key_bytes
from statewright.objects.notifications import ACL, TAGGED, UNTAGGED
from statewright.objects.reading import TRIES, Reading
from statewright.objects.records import (
    PLAIN,
    Bucket,
    ObjectView,
    Settings,
    bucket_row,
    object_head,
    object_of,
)
from statewright.objects.state import AccountState, ObjectState
from statewright.objects.uploads import Uploads
from statewright.objects.versions.lists import START, VersionListing, VersionPlace, listed_versions
from statewright.objects.writing import NO_DEMAND, Writing
from statewright.payload import Json, JsonMapping
from statewright.stores.completion import Completion
from statewright.stores.key_pages import after_prefix, group_of
from statewright.stores.object_rows import (
    Demand,
    ObjectRow,
)
from statewright.tags import is_reserved

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of keys in UTF-8 order. `prefixes` stand for all keys below them; `next` is for the next page's `start`.

    `last` is the last key or prefix of the page.
    """

    objects: list[ObjectView]
    prefixes: list[str]
    last: str | None
    next: bytes | None


class Objects:
    """The objects of one server. Belongs to the event loop it is used on."""

    def __init__(self, state: ObjectState) -> None:
        """Nothing is read or written before first use."""
        self.state = state
        self.uploads = Uploads(state)
        self.reading = Reading(state)
        self.deletions = Deletions(state)
        self._writing = Writing(state)
        self.copies = Copies(state, self.reading, self._writing, self.uploads)
        self._changing = asyncio.Lock()

    def of_account(self, account: str, config: Config) -> Objects:
        """The same objects as one account has them, empty for the default one: it is refused the buckets of others."""
        return Objects(AccountState(self.state, account, config))

    async def start(self) -> None:
        """Load the buckets, and delete what an earlier process left unfinished; harmless when repeated."""
        await self.state.start()

    async def stop(self) -> None:
        """End the threads."""
        await self.state.stop()

    # Buckets

    async def create_bucket(
        self,
        name: str,
        *,
        region: str = "",
        tags: Mapping[str, str] | None = None,
        settings: JsonMapping | None = None,
    ) -> Bucket:
        """Create a bucket; `settings` are by subject.

        Raises: ApiError (`InvalidBucketName`, `BucketAlreadyOwnedByYou`, `BucketAlreadyExists`).
        """
        await self.state.start()
        check_bucket_name(name)
        self._check_free(name)
        number = await self.state.vault.next_id()
        made = Bucket(
            number,
            name,
            self.state.clock.now_ms(),
            region or self.state.config.region,
            dict(tags or {}),
            settings or {},
            self.state.account or "",
        )
        if not await self.state.store.objects.put_bucket(bucket_row(made)):
            self._check_free(name)
            raise faults.bucket_exists(name)
        self.state.buckets[name] = made
        return made

    def _check_free(self, name: str) -> None:
        """Refuse the name of a bucket. Raises: ApiError (`BucketAlreadyOwnedByYou`, `BucketAlreadyExists`)."""
        taken = self.state.buckets.get(name)
        if taken is not None:
            is_own = self.state.account in (None, taken.account)
            raise faults.bucket_exists(name) if is_own else faults.bucket_taken(name)

    async def bucket(self, name: str) -> Bucket:
        """A bucket. Raises: ApiError (`NoSuchBucket`, `AccessDenied`)."""
        return await self.state.bucket(name)

    async def list_buckets(self) -> list[Bucket]:
        """The buckets, by name."""
        await self.start()
        account = self.state.account
        found = [one for one in self.state.buckets.values() if account in (None, one.account)]
        return sorted(found, key=lambda bucket: bucket.name)

    async def set_bucket_tags(self, name: str, tags: Mapping[str, str]) -> None:
        """Replace the tags of a bucket; none deletes them. Reserved ones stay. Raises: ApiError (`NoSuchBucket`)."""
        async with self._changing:
            bucket = await self.state.bucket(name)
            kept = {key: value for key, value in bucket.tags.items() if is_reserved(key)}
            await self._change(replace(bucket, tags={**kept, **tags}))

    async def set_bucket_setting(self, name: str, subject: str, value: Json) -> None:
        """Set a setting of a bucket by its subject; `None` deletes it. Raises: ApiError (`NoSuchBucket`)."""
        # One after the other: tools set many subjects of one bucket concurrently.
        async with self._changing:
            bucket = await self.state.bucket(name)
            settings = {one: kept for one, kept in bucket.settings.items() if one != subject}
            if value is not None:
                settings[subject] = value
            if settings != bucket.settings:
                await self._change(replace(bucket, settings=settings))

    async def _change(self, bucket: Bucket) -> None:
        if await self.state.store.objects.put_bucket(bucket_row(bucket)):
            self.state.buckets[bucket.name] = bucket

    async def delete_bucket(self, name: str) -> None:
        """Delete an empty bucket, with its unfinished uploads.

        Raises: ApiError (`NoSuchBucket`, `BucketNotEmpty`).
        """
        # A concurrent change of its settings would write the bucket again.
        async with self._changing:
            bucket = await self.state.bucket(name)
            freed = await self.state.store.objects.drop_bucket(bucket.id)
            if freed is None:
                raise faults.bucket_not_empty(name, is_versioned=bucket.is_versioned)
            if self.state.buckets.get(name) is bucket:
                del self.state.buckets[name]
            self.state.vault.free(freed)

    # Objects

    async def put(
        self,
        bucket: str,
        key: str,
        body: Body,
        *,
        settings: Settings = PLAIN,
        promise: Promise = NOTHING_PROMISED,
        demand: Demand = NO_DEMAND,
        completion: Completion[ObjectView] | None = None,
        trace: str | None = None,
    ) -> ObjectView:
        """Write an object, replacing the one under its key; it is durable and visible when this returns.

        `trace` is a trace header, for the queues that are notified.

        Raises: ApiError, if `promise` or `demand` is not met or the bucket is missing; Unavailable.
        """
        home = await self.state.bucket(bucket)
        name = key_bytes(key)
        check_metadata(settings.metadata)
        if demand != NO_DEMAND:
            # Checked before the bytes arrive, and again when the row is written.
            await self._writing.check(home, name, demand)
        kept = self.state.of_new(home, settings)
        received = await receive(self.state.vault, body, promise)
        return await self._writing.write(home, name, received, kept, demand, completion=completion, trace=trace)

    async def list_keys(
        self,
        bucket: str,
        *,
        prefix: str = "",
        delimiter: str = "",
        after: str = "",
        start: bytes | None = None,
        limit: int = LISTED_AT_ONCE,
    ) -> Listing:
        """A page of objects by key, beginning behind `after`, or at a page's `next` as `start`.

        Raises: ApiError (`NoSuchBucket`).
        """
        home = await self.state.bucket(bucket)
        begin = start if start is not None else _start_after(after, prefix, delimiter)
        page = await self.state.store.objects.keys(
            home.id, prefix=prefix.encode(), delimiter=delimiter.encode(), start=begin, limit=limit
        )
        objects = [object_of(home, entry) for entry in page.entries if isinstance(entry, ObjectRow)]
        prefixes = [entry.decode() for entry in page.entries if isinstance(entry, bytes)]
        last = page.entries[-1] if page.entries else None
        last_key = last.key if isinstance(last, ObjectRow) else last
        return Listing(objects, prefixes, last_key.decode() if last_key is not None else None, page.next)

    async def list_versions(
        self,
        bucket: str,
        *,
        prefix: str = "",
        delimiter: str = "",
        after: VersionPlace = START,
        limit: int = LISTED_AT_ONCE,
    ) -> VersionListing:
        """A page of versions and delete markers, behind a place. See `VersionPlace`.

        Raises: ApiError (`NoSuchBucket`, `InvalidArgument`).
        """
        home = await self.state.bucket(bucket)
        return await listed_versions(self.state.store.objects, home, prefix, delimiter, after, limit)

    async def set_tags(
        self, bucket: str, key: str, tags: Mapping[str, str], *, version: str | None = None
    ) -> ObjectView:
        """Replace the tags of an object or version. Raises: ApiError (`NoSuchBucket`, `NoSuchKey` ...)."""

        def tagged(settings: Settings) -> Settings:
            return replace(settings, tags=dict(tags))

        method, event = ("PUT", TAGGED) if tags else ("DELETE", UNTAGGED)
        return await self._change_settings(bucket, key, tagged, version=version, method=method, event=event)

    async def set_lock(
        self, bucket: str, key: str, change: Callable[[Lock], Lock], *, version: str | None = None
    ) -> ObjectView:
        """Replace the lock of an object or version by what `change` makes of it. Raises: ApiError, also of `change`."""

        def locked(settings: Settings) -> Settings:
            return replace(settings, lock=change(settings.lock))

        return await self._change_settings(bucket, key, locked, version=version, method="PUT")

    async def _change_settings(
        self,
        bucket: str,
        key: str,
        change: Callable[[Settings], Settings],
        *,
        version: str | None,
        method: str,
        event: str | None = None,
    ) -> ObjectView:
        home = await self.state.bucket(bucket)
        for _ in range(TRIES):
            view, _ = await self.reading.find(home, key, version, method=method)
            head = object_head(change(view.settings), view.checksum, view.parts)
            notes = self.state.notes(bucket, view.row, event) if event is not None else []
            if await self.state.announce(self.state.store.objects.change_head(view.row, head, notes), notes):
                return view
        raise faults.conflict(key)

    async def note_acl(self, view: ObjectView) -> None:
        """Notify of a new ACL of an object, which is the one that it has. Raises: ApiError, Unavailable."""

        def same(settings: Settings) -> Settings:
            return settings

        if self.state.notes(view.bucket, view.row, ACL):
            await self._change_settings(view.bucket, view.key, same, version=view.version, method="PUT", event=ACL)


def _start_after(after: str, prefix: str, delimiter: str) -> bytes:
    """The first key of a listing that continues behind a key, or behind all keys below a common prefix."""
    if not after:
        return b""
    key = after.encode()
    if group_of(key, prefix.encode(), delimiter.encode()) == key:
        return after_prefix(key) or b""
    return key + b"\0"
