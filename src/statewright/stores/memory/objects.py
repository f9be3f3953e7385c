"""Objects and multipart uploads in memory: the model of the other stores. See `object_rows`."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice

from statewright.errors import Unavailable
from statewright.stores.completion import Complete, Completion
from statewright.stores.key_pages import first_versions, page_of, version_page_of
from statewright.stores.memory.object_versions import MemoryVersions
from statewright.stores.object_rows import (
    DELETED_SINCE,
    IN_FILE,
    IN_ROW,
    IN_SEGMENTS,
    MARKER,
    NULL_VERSION,
    BucketRow,
    Deletion,
    Demand,
    KeyPage,
    Missing,
    ObjectRow,
    Refused,
    SegmentRow,
    UploadRow,
    VersionPage,
    WriteOutcome,
    Written,
)
from statewright.stores.protocol import EntryRow


class MemoryObjects:
    """See `ObjectStore`. `note` writes new entries of the catalogue."""

    def __init__(self, note: Callable[[Sequence[EntryRow]], None], complete: Complete) -> None:
        self.is_open = False
        self.complete_row = complete
        self.note = note
        self.by_key: dict[int, dict[bytes, ObjectRow]] = {}
        self.parts: dict[int, dict[int, SegmentRow]] = {}
        self.inline: dict[int, bytes] = {}
        self.dead: set[int] = set()
        self.uploads = MemoryUploads(self)
        self._buckets: dict[int, BucketRow] = {}
        self._keys: dict[int, list[bytes]] = {}
        self._older: dict[int, MemoryVersions] = {}

    async def buckets(self) -> list[BucketRow]:
        self.check()
        return sorted(self._buckets.values(), key=lambda row: row.name)

    async def put_bucket(self, row: BucketRow) -> bool:
        self.check()
        if any(other.name == row.name and other.id != row.id for other in self._buckets.values()):
            return False
        self._buckets[row.id] = row
        self.by_key.setdefault(row.id, {})
        self._keys.setdefault(row.id, [])
        self._older.setdefault(row.id, MemoryVersions())
        await asyncio.sleep(0)
        return True

    async def drop_bucket(self, bucket: int) -> tuple[int, ...] | None:
        self.check()
        if self.by_key.get(bucket) or self._older.get(bucket):
            return None
        freed: list[int] = []
        for upload in [row.id for row in self.uploads.rows.values() if row.bucket == bucket]:
            del self.uploads.rows[upload]
            freed += self.drop_parts(upload)
        for kept in (self._buckets, self.by_key, self._keys, self._older):
            kept.pop(bucket, None)
        await asyncio.sleep(0)
        return self.doom_now(freed)

    async def put(
        self,
        row: ObjectRow,
        body: bytes | None,
        demand: Demand,
        notes: Sequence[EntryRow] = (),
        completion: Completion[WriteOutcome] | None = None,
    ) -> WriteOutcome:
        self.check()
        outcome = self.write(row, demand, notes)
        if isinstance(outcome, Written) and body is not None:
            self.inline[row.id] = body
        self.complete_row(completion, outcome)
        await asyncio.sleep(0)
        return outcome

    async def change_head(self, row: ObjectRow, head: bytes, notes: Sequence[EntryRow] = ()) -> bool:
        self.check()
        found = self.by_key.get(row.bucket, {}).get(row.key)
        if found is not None and found.id == row.id:
            if found.head != row.head:
                return False
            self.by_key[row.bucket][row.key] = replace(found, head=head)
        else:
            older = self._older.get(row.bucket)
            if older is None or not older.change_head(row, head):
                return False
        self.note(notes)
        await asyncio.sleep(0)
        return True

    async def find(self, bucket: int, key: bytes) -> tuple[ObjectRow, bytes | None] | None:
        self.check()
        row = self.by_key.get(bucket, {}).get(key)
        return (row, self.inline.get(row.id)) if row is not None else None

    async def find_version(self, bucket: int, key: bytes, version: int | None) -> tuple[ObjectRow, bytes | None] | None:
        self.check()
        row = self.by_key.get(bucket, {}).get(key)
        if version is None and row is None:
            row = self._older[bucket].newest(key) if bucket in self._older else None
        elif version is not None and (row is None or not row.is_version(version)):
            row = self._older_version(bucket, key, version)
        return (row, self.inline.get(row.id)) if row is not None else None

    async def segments(self, owner: int, *, after: int = 0, limit: int | None = None) -> list[SegmentRow]:
        self.check()
        rows = sorted(self.parts.get(owner, {}).items())
        return [row for number, row in rows if number > after][:limit]

    async def bodies(self, ids: Sequence[int]) -> dict[int, bytes]:
        self.check()
        return {number: self.inline[number] for number in ids if number in self.inline}

    async def keys(self, bucket: int, *, prefix: bytes, delimiter: bytes, start: bytes, limit: int) -> KeyPage:
        self.check()
        rows, keys = self.by_key.get(bucket, {}), self._keys.get(bucket, [])

        def fetch(begin: bytes, stop: bytes | None, most: int) -> list[ObjectRow]:
            low = bisect_left(keys, begin)
            high = bisect_left(keys, stop) if stop is not None else len(keys)
            return [rows[key] for key in keys[low : min(high, low + most)]]

        return page_of(fetch, prefix, delimiter, start, limit)

    async def versions(
        self, bucket: int, *, prefix: bytes, delimiter: bytes, start: tuple[bytes, int], limit: int
    ) -> VersionPage:
        self.check()
        rows, keys = self.by_key.get(bucket, {}), self._keys.get(bucket, [])
        older = self._older.get(bucket, MemoryVersions())

        def fetch(key: bytes, below: int, stop: bytes | None, most: int) -> list[ObjectRow]:
            low = bisect_left(keys, key)
            high = bisect_left(keys, stop) if stop is not None else len(keys)
            objects = [rows[one] for one in keys[low : min(high, low + most + 1)]]
            behind = (row for row in older.within(key, stop) if (row.key, -row.version) > (key, -below))
            return first_versions([*objects, *islice(behind, most)], key, below, most)

        return version_page_of(fetch, prefix, delimiter, start, limit)

    async def delete(
        self,
        bucket: int,
        wanted: Sequence[Deletion],
        notes: Sequence[Sequence[EntryRow]] = (),
        completion: Completion[list[WriteOutcome]] | None = None,
    ) -> list[WriteOutcome]:
        self.check()
        outcomes = [self._delete(bucket, one, notes[place] if notes else ()) for place, one in enumerate(wanted)]
        self.complete_row(completion, outcomes)
        await asyncio.sleep(0)
        return outcomes

    def _delete(self, bucket: int, wanted: Deletion, notes: Sequence[EntryRow]) -> WriteOutcome:
        row = self.by_key.get(bucket, {}).get(wanted.key)
        if wanted.version is not None:
            return self._delete_version(bucket, wanted, row, notes)
        if not wanted.demand.is_met_by(row):
            return Refused(row)
        if wanted.marker is not None and bucket not in self._buckets:
            return Missing()
        freed: list[int] = []
        if wanted.marker is not None:
            freed += self._make_way(wanted.marker, row)
            self._older[bucket].add(wanted.marker)
        else:
            freed += self._release(row)
        if row is not None:
            self._drop(row)
        self.note(notes)
        return Written(self.doom_now(freed))

    def _delete_version(
        self, bucket: int, wanted: Deletion, newest: ObjectRow | None, notes: Sequence[EntryRow]
    ) -> WriteOutcome:
        version = wanted.version
        assert version is not None
        if newest is not None and newest.is_version(version):
            gone: ObjectRow | None = newest
        else:
            gone = self._older_version(bucket, wanted.key, version)
        if gone is None:
            return Missing()
        if not wanted.demand.is_met_by(gone) or (wanted.older_only and gone is newest):
            return Refused(gone)
        if wanted.refuses is not None and wanted.refuses(gone):
            return Refused(gone)
        if gone is newest:
            self._drop(gone)
        else:
            self._older[bucket].drop(gone)
        if gone is newest or newest is None:
            self._restore(bucket, wanted.key)
        self.note(notes)
        return Written(self.doom_now(self._release(gone)), gone)

    async def doom(self, ids: Sequence[int]) -> None:
        self.check()
        self.dead.update(ids)

    async def doomed(self, limit: int, *, after: int = -1) -> list[int]:
        self.check()
        return sorted(number for number in self.dead if number > after)[:limit]

    async def buried(self, ids: Sequence[int]) -> None:
        self.check()
        self.dead.difference_update(ids)

    def check(self) -> None:
        """Raises: Unavailable when the store is closed."""
        if not self.is_open:
            raise Unavailable("this store in memory is closed")

    def write(self, row: ObjectRow, demand: Demand, notes: Sequence[EntryRow] = ()) -> WriteOutcome:
        """Put a row where its demand is met."""
        rows = self.by_key.get(row.bucket)
        if rows is None:
            return Missing()
        before = rows.get(row.key)
        if not demand.is_met_by(before):
            return Refused(before)
        # A version with a name is never replaced, even by a write that began before the bucket had versions.
        if row.version or (before is not None and before.named):
            freed = self._make_way(row, before)
        else:
            freed = self._release(before)
        self._put(row)
        self.note(notes)
        self.save(row.id, row.place)
        return Written(self.doom_now(freed))

    def save(self, number: int, place: int) -> None:
        """A row names a file."""
        if place == IN_FILE:
            self.dead.discard(number)

    def doom_now(self, freed: Iterable[int]) -> tuple[int, ...]:
        """Files that no row names any more."""
        ids = tuple(freed)
        self.dead.update(ids)
        return ids

    def drop_parts(self, owner: int, keep: Iterable[int] = ()) -> list[int]:
        """Delete parts but those of some numbers; returns their files."""
        kept, parts = set(keep), self.parts.get(owner, {})
        freed = [row for number, row in parts.items() if number not in kept]
        for row in freed:
            del parts[row.number]
            self.inline.pop(row.id, None)
        if not parts:
            self.parts.pop(owner, None)
        return [row.id for row in freed if row.place == IN_FILE]

    def _put(self, row: ObjectRow) -> None:
        if row.key not in self.by_key[row.bucket]:
            insort(self._keys[row.bucket], row.key)
        self.by_key[row.bucket][row.key] = row

    def _drop(self, row: ObjectRow) -> None:
        """Delete the row of an object, and note that for the uploads under way to its key."""
        for upload in self.uploads.rows.values():
            if (upload.bucket, upload.key) == (row.bucket, row.key):
                noted = SegmentRow(upload.id, DELETED_SINCE, 0, 0, IN_ROW, b"[]")
                self.parts.setdefault(upload.id, {})[DELETED_SINCE] = noted
        del self.by_key[row.bucket][row.key]
        keys = self._keys[row.bucket]
        del keys[bisect_left(keys, row.key)]

    def _make_way(self, row: ObjectRow, before: ObjectRow | None) -> list[int]:
        """Keep the newest object as an older version, or delete the null version that a row replaces: the files
        freed."""
        if before is not None and not before.named and not row.named:
            return self._release(before)
        older = self._older[row.bucket]
        if before is not None:
            older.add(before)
        null = None if row.named else older.find(row.key, NULL_VERSION)
        if null is None:
            return []
        older.drop(null)
        return self._release(null)

    def _restore(self, bucket: int, key: bytes) -> None:
        """Make the newest older version the object of a key that has none, unless it is a marker."""
        row = self._older[bucket].newest(key)
        if row is not None and row.place != MARKER:
            self._older[bucket].drop(row)
            self._put(row)

    def _older_version(self, bucket: int, key: bytes, version: int) -> ObjectRow | None:
        older = self._older.get(bucket)
        return older.find(key, version) if older is not None else None

    def _release(self, row: ObjectRow | None) -> list[int]:
        if row is None or row.place == MARKER:
            return []
        if row.place == IN_ROW:
            self.inline.pop(row.id, None)
            return []
        return self.drop_parts(row.id) if row.place == IN_SEGMENTS else [row.id]


class MemoryUploads:
    """See `UploadStore`."""

    def __init__(self, objects: MemoryObjects) -> None:
        self.rows: dict[int, UploadRow] = {}
        self._objects = objects

    async def create(self, row: UploadRow, completion: Completion[bool] | None = None) -> bool:
        self._objects.check()
        if row.bucket not in self._objects.by_key:
            return False
        self.rows[row.id] = row
        self._objects.complete_row(completion, True)
        await asyncio.sleep(0)
        return True

    async def find(self, upload: int) -> UploadRow | None:
        self._objects.check()
        return self.rows.get(upload)

    async def of_bucket(
        self, bucket: int, *, prefix: bytes, after: tuple[bytes, int] | None, limit: int
    ) -> list[UploadRow]:
        self._objects.check()
        places = sorted(
            (row.key, row.id) for row in self.rows.values() if row.bucket == bucket and row.key.startswith(prefix)
        )
        begin = bisect_right(places, after) if after is not None else 0
        return [self.rows[number] for _, number in places[begin : begin + limit]]

    async def put_part(self, row: SegmentRow, body: bytes | None) -> WriteOutcome:
        self._objects.check()
        if row.owner not in self.rows:
            return Missing()
        parts = self._objects.parts.setdefault(row.owner, {})
        before = parts.get(row.number)
        parts[row.number] = row
        self._objects.save(row.id, row.place)
        if body is not None:
            self._objects.inline[row.id] = body
        if before is not None:
            self._objects.inline.pop(before.id, None)
        await asyncio.sleep(0)
        return Written(self._objects.doom_now([before.id] if before is not None and before.place == IN_FILE else []))

    async def complete(
        self,
        row: ObjectRow,
        kept: Sequence[tuple[int, int]],
        demand: Demand,
        notes: Sequence[EntryRow] = (),
        completion: Completion[WriteOutcome] | None = None,
    ) -> WriteOutcome:
        self._objects.check()
        parts = self._objects.parts.get(row.id, {})
        if row.id not in self.rows or any(n not in parts or parts[n].id != number for n, number in kept):
            return Missing()
        if demand.seen is not None and DELETED_SINCE in parts:
            return Refused(self._objects.by_key[row.bucket].get(row.key))
        outcome = self._objects.write(row, demand, notes)
        if not isinstance(outcome, Written):
            return outcome
        del self.rows[row.id]
        freed = self._objects.drop_parts(row.id, (number for number, _ in kept))
        outcome = Written((*outcome.freed, *self._objects.doom_now(freed)))
        self._objects.complete_row(completion, outcome)
        await asyncio.sleep(0)
        return outcome

    async def abort(self, upload: int, completion: Completion[WriteOutcome] | None = None) -> WriteOutcome:
        self._objects.check()
        if self.rows.pop(upload, None) is None:
            return Missing()
        outcome = Written(self._objects.doom_now(self._objects.drop_parts(upload)))
        self._objects.complete_row(completion, outcome)
        await asyncio.sleep(0)
        return outcome
