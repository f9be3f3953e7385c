"""Objects and multipart uploads in the SQL stores: each write is one transaction, in either database.

Owns the order of statements and which files a write frees. `Sql` runs a named statement of `sql/objects.sql`; opening
connections and ending transactions is the stores' business.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from statewright.stores.key_pages import after_prefix, first_versions, page_of, version_page_of
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
from statewright.stores.statements import SqlRow

NO_LIMIT: Final = 2**31


class Sql(Protocol):
    """A connection inside a transaction, or reading one statement."""

    def run(self, name: str, *given: object) -> list[SqlRow]:
        """The rows of a named statement."""

    def ids(self, ids: Iterable[int]) -> object:
        """A list of ids as a parameter."""


# Writing


def put_bucket(sql: Sql, row: BucketRow) -> bool:
    """See `ObjectStore.put_bucket`."""
    holder = sql.run("bucket_named", row.name)
    if holder and holder[0][0] != row.id:
        return False
    sql.run("put_bucket", row.id, row.name, row.created_ms, row.body)
    return True


def drop_bucket(sql: Sql, bucket: int) -> tuple[int, ...] | None:
    """See `ObjectStore.drop_bucket`."""
    if sql.run("any_object", bucket) or sql.run("any_version", bucket):
        return None
    freed: list[int] = []
    for (upload,) in sql.run("upload_ids", bucket):
        sql.run("drop_upload", upload)
        freed += _drop_parts(sql, upload)
    sql.run("drop_bucket", bucket)
    return _doom(sql, freed)


def put(sql: Sql, row: ObjectRow, body: bytes | None, demand: Demand, notes: Sequence[EntryRow]) -> WriteOutcome:
    """See `ObjectStore.put`."""
    outcome = _write(sql, row, demand, notes)
    if isinstance(outcome, Written) and body is not None:
        sql.run("put_body", row.id, body)
    return outcome


def change_head(sql: Sql, row: ObjectRow, head: bytes, notes: Sequence[EntryRow]) -> bool:
    """See `ObjectStore.change_head`."""
    found = _row(sql, row.bucket, row.key)
    if found is not None and found.id == row.id:
        if found.head != row.head:
            return False
        sql.run("change_head", head, row.bucket, row.key, row.id)
    else:
        older = sql.run("version", row.bucket, row.key, -row.version)
        there = ObjectRow(*older[0]) if older else None
        if there is None or (there.id, there.head) != (row.id, row.head):
            return False
        sql.run("change_version_head", head, row.bucket, row.key, -row.version, row.id)
    _note(sql, notes)
    return True


def delete(
    sql: Sql, bucket: int, wanted: Sequence[Deletion], notes: Sequence[Sequence[EntryRow]]
) -> list[WriteOutcome]:
    """See `ObjectStore.delete`."""
    return [_delete(sql, bucket, one, notes[place] if notes else ()) for place, one in enumerate(wanted)]


def _delete(sql: Sql, bucket: int, wanted: Deletion, notes: Sequence[EntryRow]) -> WriteOutcome:
    row = _row(sql, bucket, wanted.key)
    if wanted.version is not None:
        return _delete_version(sql, bucket, wanted, row, notes)
    if not wanted.demand.is_met_by(row):
        return Refused(row)
    if wanted.marker is not None and not sql.run("bucket_there", bucket):
        return Missing()
    freed: list[int] = []
    if wanted.marker is not None:
        freed += _make_way(sql, wanted.marker, row)
        _put_version(sql, wanted.marker)
    elif row is not None:
        freed += _release(sql, row)
    if row is not None:
        _drop(sql, bucket, wanted.key)
    _note(sql, notes)
    return Written(_doom(sql, freed))


def _delete_version(
    sql: Sql, bucket: int, wanted: Deletion, newest: ObjectRow | None, notes: Sequence[EntryRow]
) -> WriteOutcome:
    version = wanted.version
    assert version is not None
    if newest is not None and newest.is_version(version):
        gone: ObjectRow | None = newest
    else:
        gone = _older(sql, bucket, wanted.key, version)
    if gone is None:
        return Missing()
    if not wanted.demand.is_met_by(gone) or (wanted.older_only and gone is newest):
        return Refused(gone)
    if wanted.refuses is not None and wanted.refuses(gone):
        return Refused(gone)
    if gone is newest:
        _drop(sql, bucket, wanted.key)
    else:
        sql.run("drop_version", bucket, wanted.key, -gone.version)
    if gone is newest or newest is None:
        _restore(sql, bucket, wanted.key)
    _note(sql, notes)
    return Written(_doom(sql, _release(sql, gone)), gone)


def create_upload(sql: Sql, row: UploadRow) -> bool:
    """See `UploadStore.create`."""
    if not sql.run("bucket_there", row.bucket):
        return False
    sql.run("create_upload", row.id, row.bucket, row.key, row.created_ms, row.head)
    return True


def put_part(sql: Sql, row: SegmentRow, body: bytes | None) -> WriteOutcome:
    """See `UploadStore.put_part`."""
    if not sql.run("upload", row.owner):
        return Missing()
    before = sql.run("segment", row.owner, row.number)
    sql.run("put_segment", row.owner, row.number, row.id, row.size, row.place, row.head)
    if body is not None:
        sql.run("put_body", row.id, body)
    if row.place == IN_FILE:
        sql.run("save", row.id)
    return Written(_doom(sql, _release_parts(sql, before)))


def complete(
    sql: Sql,
    row: ObjectRow,
    kept: Sequence[tuple[int, int]],
    demand: Demand,
    notes: Sequence[EntryRow],
) -> WriteOutcome:
    """See `UploadStore.complete`."""
    if not sql.run("upload", row.id):
        return Missing()
    there = {number: part for number, part, _ in sql.run("segment_ids", row.id)}
    if any(there.get(number) != part for number, part in kept):
        return Missing()
    if demand.seen is not None and DELETED_SINCE in there:
        return Refused(_row(sql, row.bucket, row.key))
    outcome = _write(sql, row, demand, notes)
    if not isinstance(outcome, Written):
        return outcome
    sql.run("drop_upload", row.id)
    freed = _doom(sql, _drop_parts(sql, row.id, keep={number for number, _ in kept}))
    return Written((*outcome.freed, *freed))


def abort(sql: Sql, upload: int) -> WriteOutcome:
    """See `UploadStore.abort`."""
    if not sql.run("upload", upload):
        return Missing()
    sql.run("drop_upload", upload)
    return Written(_doom(sql, _drop_parts(sql, upload)))


def _write(sql: Sql, row: ObjectRow, demand: Demand, notes: Sequence[EntryRow]) -> WriteOutcome:
    before = _row(sql, row.bucket, row.key)
    # A bucket that has an object is there.
    if before is None and not sql.run("bucket_there", row.bucket):
        return Missing()
    if not demand.is_met_by(before):
        return Refused(before)
    # A version with a name is never replaced, even by a write that began before the bucket had versions.
    if row.version or (before is not None and before.named):
        freed = _make_way(sql, row, before)
    else:
        freed = _release(sql, before)
    _put(sql, row)
    if row.place == IN_FILE:
        sql.run("save", row.id)
    _note(sql, notes)
    return Written(_doom(sql, freed))


def _make_way(sql: Sql, row: ObjectRow, before: ObjectRow | None) -> list[int]:
    """Keep the newest object as an older version, or delete the null version that a row replaces: the files freed."""
    if before is not None and not before.named and not row.named:
        return _release(sql, before)
    if before is not None:
        _put_version(sql, before)
    null = None if row.named else _older(sql, row.bucket, row.key, NULL_VERSION)
    if null is None:
        return []
    sql.run("drop_version", null.bucket, null.key, -null.version)
    return _release(sql, null)


def _restore(sql: Sql, bucket: int, key: bytes) -> None:
    """Make the newest older version the object of a key that has none, unless it is a marker."""
    found = sql.run("newest_version", bucket, key)
    row = ObjectRow(*found[0]) if found else None
    if row is not None and row.place != MARKER:
        sql.run("drop_version", bucket, key, -row.version)
        _put(sql, row)


def _drop(sql: Sql, bucket: int, key: bytes) -> None:
    """Delete the row of an object, and note that for the uploads under way to its key."""
    sql.run("drop", bucket, key)
    sql.run("note_deletion", DELETED_SINCE, IN_ROW, b"[]", bucket, key)


def _put(sql: Sql, row: ObjectRow) -> None:
    sql.run(
        "put", row.bucket, row.key, row.id, row.size, row.modified_ms, row.etag, row.place, row.head, row.version,
        row.named,
    )  # fmt: skip


def _put_version(sql: Sql, row: ObjectRow) -> None:
    sql.run(
        "put_version", row.bucket, row.key, -row.version, row.id, row.size, row.modified_ms, row.etag, row.place,
        row.head, row.named,
    )  # fmt: skip


def _older(sql: Sql, bucket: int, key: bytes, version: int) -> ObjectRow | None:
    """An older version or marker by number or `NULL_VERSION`."""
    if version == NULL_VERSION:
        found = sql.run("null_version", bucket, key)
    else:
        found = sql.run("version", bucket, key, -version)
    row = ObjectRow(*found[0]) if found else None
    return row if row is not None and row.is_version(version) else None


def _note(sql: Sql, notes: Sequence[EntryRow]) -> None:
    for one in notes:
        sql.run("note", one.kind, one.key, one.parent, one.sort, one.version, one.body)


def _row(sql: Sql, bucket: int, key: bytes) -> ObjectRow | None:
    found = sql.run("row", bucket, key)
    return ObjectRow(*found[0]) if found else None


def _release(sql: Sql, row: ObjectRow | None) -> list[int]:
    """Release the bytes of an object whose row is gone; returns their files."""
    if row is None or row.place == MARKER:
        return []
    if row.place == IN_ROW:
        sql.run("drop_body", row.id)
        return []
    return _drop_parts(sql, row.id) if row.place == IN_SEGMENTS else [row.id]


def _drop_parts(sql: Sql, owner: int, keep: Iterable[int] = ()) -> list[int]:
    kept = set(keep)
    dropped = [row for row in sql.run("segment_ids", owner) if row[0] not in kept]
    if not dropped:
        return []
    sql.run("drop_segments", owner, sql.ids(number for number, _, _ in dropped))
    return _release_parts(sql, [row[1:] for row in dropped])


def _release_parts(sql: Sql, parts: Sequence[SqlRow]) -> list[int]:
    here = [number for number, place in parts if place == IN_ROW]
    if here:
        sql.run("drop_bodies", sql.ids(here))
    return [number for number, place in parts if place == IN_FILE]


def _doom(sql: Sql, freed: Sequence[int]) -> tuple[int, ...]:
    if freed:
        sql.run("doom", sql.ids(freed))
    return tuple(freed)


# Reading


def buckets(sql: Sql) -> list[BucketRow]:
    """See `ObjectStore.buckets`."""
    return [BucketRow(*columns) for columns in sql.run("buckets")]


def find(sql: Sql, bucket: int, key: bytes) -> tuple[ObjectRow, bytes | None] | None:
    """See `ObjectStore.find`."""
    found = sql.run("found", bucket, key)
    return (ObjectRow(*found[0][:-1]), found[0][-1]) if found else None


def find_version(sql: Sql, bucket: int, key: bytes, version: int | None) -> tuple[ObjectRow, bytes | None] | None:
    """See `ObjectStore.find_version`."""
    if version is None:
        # By number: the newest first.
        found = sorted(sql.run("found_newest", bucket, key, bucket, key), key=lambda row: -row[8])
    elif version == NULL_VERSION:
        found = sql.run("found_null", bucket, key, bucket, key)
    else:
        found = sql.run("found_version", bucket, key, version, bucket, key, -version)
    return (ObjectRow(*found[0][:-1]), found[0][-1]) if found else None


def segments(sql: Sql, owner: int, after: int, limit: int | None) -> list[SegmentRow]:
    """See `ObjectStore.segments`."""
    rows = sql.run("segments", owner, after, NO_LIMIT if limit is None else limit)
    return [SegmentRow(*columns) for columns in rows]


def bodies(sql: Sql, ids: Sequence[int]) -> dict[int, bytes]:
    """See `ObjectStore.bodies`."""
    return dict(sql.run("bodies", sql.ids(ids))) if ids else {}


def keys(sql: Sql, bucket: int, prefix: bytes, delimiter: bytes, start: bytes, limit: int) -> KeyPage:
    """See `ObjectStore.keys`."""

    def fetch(begin: bytes, stop: bytes | None, most: int) -> list[ObjectRow]:
        if stop is None:
            rows = sql.run("keys", bucket, begin, most)
        else:
            rows = sql.run("keys_below", bucket, begin, stop, most)
        return [ObjectRow(*columns) for columns in rows]

    return page_of(fetch, prefix, delimiter, start, limit)


def versions(
    sql: Sql, bucket: int, prefix: bytes, delimiter: bytes, start: tuple[bytes, int], limit: int
) -> VersionPage:
    """See `ObjectStore.versions`."""

    def fetch(key: bytes, below: int, stop: bytes | None, most: int) -> list[ObjectRow]:
        if stop is None:
            found = sql.run("versions", bucket, key, most + 1, bucket, key, -below, most)
        else:
            found = sql.run("versions_below", bucket, key, stop, most + 1, bucket, key, -below, stop, most)
        return first_versions([ObjectRow(*columns) for columns in found], key, below, most)

    return version_page_of(fetch, prefix, delimiter, start, limit)


def find_upload(sql: Sql, upload: int) -> UploadRow | None:
    """See `UploadStore.find`."""
    found = sql.run("upload", upload)
    return UploadRow(*found[0]) if found else None


def uploads(sql: Sql, bucket: int, prefix: bytes, after: tuple[bytes, int] | None, limit: int) -> list[UploadRow]:
    """See `UploadStore.of_bucket`."""
    # Behind a place, but not in front of the prefix.
    key, number = max(after or (b"", -1), (prefix, -1))
    stop = after_prefix(prefix)
    if stop is None:
        rows = sql.run("uploads", bucket, key, number, limit)
    else:
        rows = sql.run("uploads_below", bucket, key, number, stop, limit)
    return [UploadRow(*columns) for columns in rows]


def doomed(sql: Sql, limit: int, after: int) -> list[int]:
    """See `ObjectStore.doomed`."""
    return [number for (number,) in sql.run("doomed", after, limit)]
