"""Buckets and objects: the facade that the S3 API, distributed Maps and functions' code use.

Owns the meaning of operations on buckets and objects. Leaves bytes to `vault` and `intake`, rows to the store,
multipart uploads to `uploads`, and shared state to `state`. Every write is durable when its call returns.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.limits import LISTED_AT_ONCE, OBJECT_PUT_BYTES
from statewright.objects import faults
from statewright.objects.conditions import ANYWAY, ReadConditions, byte_range, check_copy_range
from statewright.objects.copies import AS_IT_IS, Wish
from statewright.objects.deletions import Deletions, Wanted
from statewright.objects.intake import NOTHING_PROMISED, Body, Promise, Received, discard, receive
from statewright.objects.names import check_bucket_name, check_metadata, key_bytes
from statewright.objects.notifications import ACL, COPIED, DELETED, PUT, TAGGED, UNTAGGED, Outbox
from statewright.objects.records import (
    Bucket,
    Checksum,
    ObjectView,
    Part,
    Settings,
    bucket_row,
    object_head,
    object_of,
    part_of,
)
from statewright.objects.state import ObjectState
from statewright.objects.uploads import Uploads, check_number
from statewright.objects.vault import Piece
from statewright.objects.version_lists import START, VersionListing, VersionPlace, listed_versions
from statewright.objects.versions import NULL, Deleted, version_number, version_text
from statewright.payload import Json, JsonMapping
from statewright.stores.completion import Completion, adapted
from statewright.stores.key_pages import after_prefix
from statewright.stores.object_rows import (
    IN_FILE,
    IN_ROW,
    IN_SEGMENTS,
    MARKER,
    NULL_VERSION,
    Demand,
    ObjectRow,
    Refused,
    SegmentRow,
    Written,
    if_written,
)
from statewright.stores.store import Store

T = TypeVar("T")

NO_DEMAND: Final = Demand()
PLAIN: Final = Settings()
TRIES: Final = 5


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

    def __init__(
        self, store: Store, clock: Clock, config: Config, data: Path | None, outbox: Outbox | None = None
    ) -> None:
        """`data` is the folder of large bodies; `None` keeps them in memory. `outbox` delivers notifications.

        Nothing is read or written before first use.
        """
        self.state = ObjectState(store, clock, config, data, outbox)
        self.uploads = Uploads(self.state)
        self._deletions = Deletions(self.state)
        self._changing = asyncio.Lock()

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

        Raises: ApiError (`InvalidBucketName`, `BucketAlreadyOwnedByYou`).
        """
        await self.state.start()
        check_bucket_name(name)
        if name in self.state.buckets:
            raise faults.bucket_exists(name)
        number = await self.state.vault.next_id()
        made = Bucket(
            number,
            name,
            self.state.clock.now_ms(),
            region or self.state.config.region,
            dict(tags or {}),
            settings or {},
        )
        if not await self.state.store.objects.put_bucket(bucket_row(made)):
            raise faults.bucket_exists(name)
        self.state.buckets[name] = made
        return made

    async def bucket(self, name: str) -> Bucket:
        """A bucket. Raises: ApiError (`NoSuchBucket`)."""
        return await self.state.bucket(name)

    async def list_buckets(self) -> list[Bucket]:
        """Every bucket, by name."""
        await self.start()
        return sorted(self.state.buckets.values(), key=lambda bucket: bucket.name)

    async def set_bucket_tags(self, name: str, tags: Mapping[str, str]) -> None:
        """Replace the tags of a bucket; none deletes them. Raises: ApiError (`NoSuchBucket`)."""
        async with self._changing:
            await self._change(replace(await self.state.bucket(name), tags=dict(tags)))

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
            await self.check_demand(home, name, demand)
        received = await receive(self.state.vault, body, promise)
        kept = self.state.encrypted(home, settings)
        return await self.write_row(home, name, received, kept, demand, completion=completion, trace=trace)

    async def write_row(
        self,
        bucket: Bucket,
        name: bytes,
        received: Received,
        settings: Settings,
        demand: Demand,
        event: str = PUT,
        completion: Completion[ObjectView] | None = None,
        trace: str | None = None,
    ) -> ObjectView:
        """Write the row of an object whose body was received. Raises: ApiError, Unavailable."""
        checksum = Checksum(received.algorithm, received.checksums[received.algorithm])
        head = object_head(settings, checksum)
        row = ObjectRow(
            bucket.id, name, received.id, received.size, self.state.clock.now_ms(), received.md5, received.place, head
        )
        row = await self.state.numbered(bucket, row)
        notes = self.state.notes(bucket.name, row, event, trace)
        view = object_of(self.state.buckets.get(bucket.name, bucket), row)
        writing = self.state.store.objects.put(row, received.body, demand, notes, if_written(completion, view))
        outcome = await self.state.announce(writing, notes)
        if isinstance(outcome, Written):
            self.state.vault.free(outcome.freed)
            return view
        await discard(self.state.vault, received)
        raise self.state.refusal(bucket.name, name, outcome, demand)

    async def head(
        self,
        bucket: str,
        key: str,
        *,
        version: str | None = None,
        conditions: ReadConditions = ANYWAY,
        method: str | None = None,
    ) -> ObjectView:
        """An object without its bytes. With `method`, a marker in front of it is refused as one by id is.

        Raises: ApiError (`NoSuchBucket`, `NoSuchKey`, `NoSuchVersion`, `PreconditionFailed`, `NotModified`).
        """
        home = await self.state.bucket(bucket)
        view, _ = await self._find(home, key, version, method=method)
        conditions.check(view.etag, view.modified_ms, self.state.clock.now_ms)
        return view

    async def get(
        self,
        bucket: str,
        key: str,
        *,
        range: str | None = None,
        part: int | None = None,
        version: str | None = None,
        conditions: ReadConditions = ANYWAY,
    ) -> tuple[ObjectView, AsyncIterator[bytes], tuple[int, int] | None]:
        """An object, its bytes, and the first and last of them if they are not all.

        `range` is a header's text; `part` a part's number. A caller that does not read to the end closes the iterator.

        Raises: as `head`; ApiError (`InvalidRange`, `InvalidPartNumber`).
        """
        home = await self.state.bucket(bucket)
        async with self.state.vault.keep_files():
            for _ in builtins.range(TRIES):
                view, body = await self._find(home, key, version)
                conditions.check(view.etag, view.modified_ms, self.state.clock.now_ms)
                span = await self.span(view, range, part)
                pieces = await self._pieces(view, body, span or (0, view.size - 1))
                if pieces is not None:
                    return view, self.state.vault.read(pieces), span
        raise faults.conflict(key)

    async def read(self, bucket: str, key: str) -> bytes:
        """Read all bytes of an object that is known to be small. Raises: ApiError, Unavailable."""
        _, stream, _ = await self.get(bucket, key)
        return b"".join([chunk async for chunk in stream])

    async def parts(self, view: ObjectView) -> list[Part]:
        """The parts of an object that a multipart upload made."""
        if view.row.place != IN_SEGMENTS:
            return []
        return [part_of(row) for row in await self.state.store.objects.segments(view.id)]

    async def span(self, view: ObjectView, range: str | None, part: int | None) -> tuple[int, int] | None:
        """First and last byte of a range or part; `None` for the whole.

        Raises: ApiError (`InvalidRange`, `InvalidPartNumber`).
        """
        if part is None:
            return byte_range(range, view.size)
        rows = await self.state.store.objects.segments(view.id) if view.row.place == IN_SEGMENTS else []
        if not 1 <= part <= max(len(rows), 1):
            raise faults.invalid_part_number(part, max(len(rows), 1))
        if not rows:
            return (0, view.size - 1) if view.size else None
        first = sum(row.size for row in rows[: part - 1])
        return first, first + rows[part - 1].size - 1

    async def delete(
        self,
        bucket: str,
        key: str,
        *,
        version: str | None = None,
        demand: Demand = NO_DEMAND,
        completion: Completion[Deleted] | None = None,
    ) -> Deleted:
        """Delete an object or a version, or put a marker in front; a missing object counts as deleted.

        Raises: ApiError (`NoSuchBucket`, `PreconditionFailed`, `NoSuchVersion`, `InvalidArgument` for an id that no
            version can have).
        """

        def deleted(answers: Sequence[ApiError | Deleted]) -> Deleted | None:
            return answers[0] if isinstance(answers[0], Deleted) else None

        if version is not None:
            version_number(version)
        wanted = [(key, demand, version)]
        (answer,) = await self.delete_many(bucket, wanted, completion=adapted(completion, deleted))
        if isinstance(answer, ApiError):
            raise answer
        return answer

    async def delete_many(
        self,
        bucket: str,
        wanted: Sequence[Wanted],
        event: str = DELETED,
        completion: Completion[list[ApiError | Deleted]] | None = None,
        *,
        older_only: bool = False,
    ) -> list[ApiError | Deleted]:
        """Delete objects and versions in one transaction; what became of each, or its refusal.

        With `older_only`, a version that is the object of its key is refused.

        Raises: ApiError (`NoSuchBucket`).
        """
        return await self._deletions.delete_many(bucket, wanted, event, completion, older_only=older_only)

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
        home = await self.state.bucket(bucket)
        for _ in range(TRIES):
            view, _ = await self._find(home, key, version, method="PUT" if tags else "DELETE")
            head = object_head(replace(view.settings, tags=dict(tags)), view.checksum, view.parts)
            notes = self.state.notes(bucket, view.row, TAGGED if tags else UNTAGGED)
            if await self.state.announce(self.state.store.objects.change_head(view.row, head, notes), notes):
                return view
        raise faults.conflict(key)

    async def note_acl(self, view: ObjectView) -> None:
        """Notify of a new ACL of an object, which is the one that it has. Raises: Unavailable."""
        notes = self.state.notes(view.bucket, view.row, ACL)
        if notes:
            await self.state.announce(self.state.store.objects.change_head(view.row, view.row.head, notes), notes)

    async def copy(
        self,
        source: tuple[str, str, str | None],
        bucket: str,
        key: str,
        *,
        conditions: ReadConditions = ANYWAY,
        wish: Wish = AS_IT_IS,
        algorithm: str | None = None,
        demand: Demand = NO_DEMAND,
        completion: Completion[ObjectView] | None = None,
    ) -> ObjectView:
        """Copy an object, named by bucket, key and version. A body in one file is shared, not copied.

        Raises: ApiError, Unavailable.
        """
        origin, home = await self.state.bucket(source[0]), await self.state.bucket(bucket)
        name = key_bytes(key)
        async with self.state.vault.keep_files():
            view, body = await self._source(origin, source[1], source[2])
            conditions.check(view.etag, view.modified_ms, self.state.clock.now_ms)
            if source == (bucket, key, None) and not wish.changes(view, home):
                await self.check_demand(home, name, demand)
                raise faults.copied_onto_itself()
            if view.size > OBJECT_PUT_BYTES:
                raise faults.invalid_request(
                    "The specified copy source is larger than the maximum allowable size for a copy source: "
                    f"{OBJECT_PUT_BYTES}"
                )
            kept = self.state.encrypted(home, wish.settings(view.settings))
            check_metadata(kept.metadata)
            wanted = algorithm or (view.checksum.algorithm if view.checksum is not None else None)
            received = await self._shared(view, body, wanted)
            if received is None:
                pieces = await self._pieces(view, body, (0, view.size - 1))
                if pieces is None:
                    raise faults.conflict(source[1])
                stream = self.state.vault.read(pieces)
        if received is None:
            received = await receive(self.state.vault, stream, Promise(length=view.size, algorithm=wanted))

        def copied(made: ObjectView) -> ObjectView:
            return replace(made, source_version=view.version)

        done = adapted(completion, copied)
        return copied(await self.write_row(home, name, received, kept, demand, COPIED, done))

    async def copy_part(
        self,
        bucket: str,
        key: str,
        upload_id: str,
        number: int,
        source: tuple[str, str, str | None],
        *,
        range: str | None = None,
        conditions: ReadConditions = ANYWAY,
    ) -> tuple[Part, ObjectView]:
        """Copy a part of an upload from an object, or from a range of it: the part, and the object.

        Raises: ApiError, Unavailable.
        """
        check_number(number)
        upload = await self.uploads.find(bucket, key, upload_id)
        view, _ = await self._source(await self.state.bucket(source[0]), source[1], source[2])
        conditions.check(view.etag, view.modified_ms, self.state.clock.now_ms)
        if range is not None:
            check_copy_range(range, view.size)
        found, stream, got = await self.get(source[0], source[1], version=source[2], range=range, conditions=conditions)
        length = got[1] - got[0] + 1 if got is not None else found.size
        return await self.uploads.put_copy(upload, number, stream, length), found

    # Steps of the operations above

    async def check_demand(self, bucket: Bucket, name: bytes, demand: Demand) -> None:
        """Refuse a write whose demand is not met now. Raises: ApiError."""
        found = await self.state.store.objects.find(bucket.id, name)
        row = found[0] if found is not None else None
        if not demand.is_met_by(row):
            raise self.state.refusal(bucket.name, name, Refused(row), demand)

    async def _find(
        self, bucket: Bucket, key: str, version: str | None, *, method: str | None = None
    ) -> tuple[ObjectView, bytes | None]:
        """An object, or a version by id. With `method`, a marker in front of an object is refused as one by id is."""
        name, rows = key_bytes(key), self.state.store.objects
        if version is None:
            found = await rows.find(bucket.id, name)
            if found is None and bucket.is_versioned:
                found = await rows.find_version(bucket.id, name, None)
        else:
            number = version_number(version)
            if bucket.is_versioned:
                found = await rows.find_version(bucket.id, name, number)
            else:
                found = await rows.find(bucket.id, name) if number == NULL_VERSION else None
        if found is None:
            if self.state.buckets.get(bucket.name) is None:
                raise faults.no_such_bucket(bucket.name)
            if version is None or (version == NULL and not bucket.is_versioned):
                raise faults.no_such_key(key)
            raise faults.no_such_version(key, version)
        if found[0].place == MARKER:
            marker = version_text(found[0])
            if version is None and method is None:
                raise faults.hidden_by_marker(key, marker)
            raise faults.marker_not_allowed(method or "GET", marker)
        return object_of(bucket, found[0]), found[1]

    async def _source(self, bucket: Bucket, key: str, version: str | None) -> tuple[ObjectView, bytes | None]:
        """The source of a copy. Raises: as `_find`; ApiError (`InvalidRequest` for a marker by id)."""
        try:
            return await self._find(bucket, key, version)
        except ApiError as problem:
            if problem.code != "MethodNotAllowed":
                raise
            raise faults.invalid_request(
                "The source of a copy request may not specifically refer to a delete marker by version id."
            ) from None

    async def _pieces(self, view: ObjectView, body: bytes | None, span: tuple[int, int]) -> list[Piece] | None:
        """The places of the bytes; `None` if the object was deleted meanwhile."""
        first, last = span
        length = last - first + 1
        if view.row.place == IN_ROW:
            assert body is not None
            return [Piece(view.id, 0, length, body if length == view.size else body[first : last + 1])]
        if view.row.place == IN_FILE:
            return [Piece(view.id, first, length)]
        rows = await self.state.store.objects.segments(view.id)
        within: list[tuple[SegmentRow, int, int]] = []
        offset = 0
        for row in rows:
            start, end = max(first - offset, 0), min(last + 1 - offset, row.size)
            if start < end:
                within.append((row, start, end - start))
            offset += row.size
        in_rows = [row.id for row, _, _ in within if row.place == IN_ROW]
        here = await self.state.store.objects.bodies(in_rows)
        if offset != view.size or len(here) != len(in_rows):
            return None
        return [
            Piece(row.id, start, length, here[row.id][start : start + length] if row.place == IN_ROW else None)
            for row, start, length in within
        ]

    async def _shared(self, view: ObjectView, body: bytes | None, algorithm: str | None) -> Received | None:
        """Give the same bytes another id, without reading them; `None` if they must be read."""
        checksum = view.checksum
        if checksum is None or checksum.algorithm != algorithm or view.row.place == IN_SEGMENTS:
            return None
        checksums = {checksum.algorithm: checksum.value}
        if view.row.place == IN_ROW:
            number = await self.state.vault.next_id()
        else:
            number = await self.state.vault.next_file_id()
            if not await self.state.vault.run(self.state.vault.bodies.link, view.id, number):
                self.state.vault.return_file_id(number)
                return None
        return Received(number, view.row.place, view.size, view.etag, checksums, checksum.algorithm, body)


def _start_after(after: str, prefix: str, delimiter: str) -> bytes:
    """The first key of a listing that continues behind a key, or behind all keys below a common prefix."""
    if not after:
        return b""
    cut = after.find(delimiter, len(prefix)) if delimiter and after.startswith(prefix) else -1
    if cut >= 0 and cut + len(delimiter) == len(after):
        return after_prefix(after.encode()) or b""
    return after.encode() + b"\0"
