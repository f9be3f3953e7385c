"""The store as `objects` needs it: rows of buckets, objects and multipart uploads, and the protocols over them.

A row says where the bytes are: in a row of their own (small ones), in a file that `objects.bodies` keeps under the
row's id, or in the segments that a multipart upload left. Every id is given out once and never again. Keys are UTF-8
bytes and sort as such.

In a bucket with versions, a write keeps the object that it replaces, and a delete puts a marker in front. The newest
object of each key is where it is without versions, so that reading and listing keys are the same; older versions and
markers are rows apart. Versions of a key are ordered by number, and those with a name are found by it. At most one, the
null version, has no name: it was written before the bucket had versions, or while they were suspended.

A file without a row must not stay forever, whenever a process dies. So an id is *doomed* before its file is made, and
a statement that displaces or deletes a row dooms its files in the same transaction; naming an id in a row saves it.
Doomed files are deleted when a process starts, those that were written just before it an hour later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from statewright.stores.completion import Completion, adapted
from statewright.stores.protocol import EntryRow

T = TypeVar("T")

IN_ROW: Final = 0
IN_FILE: Final = 1
IN_SEGMENTS: Final = 2
NO_OBJECT: Final = -1
"""Stands for the id of an object if there is none."""
DELETED_SINCE: Final = 0
"""Number of a part that no caller uploads: the object under the key was deleted since the upload began."""
MARKER: Final = 3
"""In place of bytes: the row is a delete marker."""
NULL_VERSION: Final = 0
"""Names the null version, which has a number but is not found by it."""
ABOVE_ALL: Final = 2**62
"""More than any version's number."""


@dataclass(frozen=True, slots=True)
class BucketRow:
    """A bucket. `body` is opaque."""

    id: int
    name: str
    created_ms: int
    body: bytes


@dataclass(frozen=True, slots=True)
class ObjectRow:
    """An object, a version of one, or a delete marker. `head` is opaque.

    `place` is one of `IN_ROW`, `IN_FILE`, `IN_SEGMENTS`, `MARKER`. (bucket, key) is unique for objects, (bucket, key,
    version) for older versions and markers. `version` grows from one write of a key to the next; it is 0 where the
    bucket has never had versions. `named` is 1 unless it is the null version.
    """

    bucket: int
    key: bytes
    id: int
    size: int
    modified_ms: int
    etag: str
    place: int
    head: bytes
    version: int = 0
    named: int = 0

    def is_version(self, version: int) -> bool:
        """True if a number, or `NULL_VERSION`, names this version."""
        return not self.named if version == NULL_VERSION else bool(self.named) and self.version == version


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A part of a multipart upload, or of the object it became: both have the same id, `owner`."""

    owner: int
    number: int
    id: int
    size: int
    place: int
    head: bytes


@dataclass(frozen=True, slots=True)
class UploadRow:
    """A multipart upload under way."""

    id: int
    bucket: int
    key: bytes
    created_ms: int
    head: bytes


@dataclass(frozen=True, slots=True)
class Demand:
    """The condition of a write on a key: no object there (`absent`), or one with this ETag.

    With `seen`, it must also be the object of that id, or none for `NO_OBJECT`: nothing has been written since. A
    completed upload with `seen` is refused if the object under its key was deleted since it began, too.
    """

    absent: bool = False
    etag: str | None = None
    """`*` stands for any."""
    seen: int | None = None

    def is_met_by(self, row: ObjectRow | None) -> bool:
        """True if the object under the key meets the condition; `None` stands for no object."""
        if self.seen is not None and self.seen != (row.id if row is not None else NO_OBJECT):
            return False
        if self.absent:
            return row is None
        return self.etag is None or (row is not None and self.etag in ("*", row.etag))


@dataclass(frozen=True, slots=True)
class Deletion:
    """A deletion of an object, or of one of its versions by number (or `NULL_VERSION`), if `demand` is met.

    With a `marker`, nothing but the null version is deleted, and that only if the marker has no name either: the marker
    becomes the newest version. With `older_only`, a version that is the object of its key is refused; with
    `refuses`, one for which that holds, asked inside the transaction, in the thread of the store.
    """

    key: bytes
    demand: Demand = Demand()
    version: int | None = None
    marker: ObjectRow | None = None
    older_only: bool = False
    refuses: Callable[[ObjectRow], bool] | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A write went through. `freed` are the files that it doomed; `gone` is the version that it deleted by number."""

    freed: tuple[int, ...] = ()
    gone: ObjectRow | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A write whose demand was not met; `found` is the existing object."""

    found: ObjectRow | None


@dataclass(frozen=True, slots=True)
class Missing:
    """A write to a bucket or upload that does not exist, or a deletion of a version that does not."""


WriteOutcome = Written | Refused | Missing


def if_written(completion: Completion[T] | None, value: T) -> Completion[WriteOutcome] | None:
    """The completion of a write, for a caller that has this value if it went through."""
    return adapted(completion, lambda outcome: value if isinstance(outcome, Written) else None)


@dataclass(frozen=True, slots=True)
class KeyPage:
    """A page of a listing, in order: objects, and prefixes that stand for all keys below them.

    `next` is where the next page starts; `None`: the end.
    """

    entries: list[ObjectRow | bytes]
    next: bytes | None


@dataclass(frozen=True, slots=True)
class VersionPage:
    """A page of a listing of versions: keys ascending, the newest version of each first; and prefixes as in `KeyPage`.

    `is_cut` is true if more follows.
    """

    entries: list[ObjectRow | bytes]
    is_cut: bool


class ObjectStore(Protocol):
    """Buckets and objects.

    Raises (all methods): Unavailable when the database does not answer; OwnershipLost.
    """

    async def buckets(self) -> list[BucketRow]:
        """Every bucket, by name."""

    async def put_bucket(self, row: BucketRow) -> bool:
        """Insert a bucket, or change the body of the one with this id; False when another has the name."""

    async def drop_bucket(self, bucket: int) -> tuple[int, ...] | None:
        """Delete a bucket without objects, versions and markers, and the uploads under way in it: the files freed.

        `None`: not empty.
        """

    async def put(
        self,
        row: ObjectRow,
        body: bytes | None,
        demand: Demand,
        notes: Sequence[EntryRow] = (),
        completion: Completion[WriteOutcome] | None = None,
    ) -> WriteOutcome:
        """Write an object, replacing an existing one. `body` is its bytes where `row.place` is `IN_ROW`.

        If the row has the number of a version, an existing one is kept as an older version, except the null version
        where the row has no name.

        `notes`, here and below, are new entries of the catalogue, written in the same transaction if it writes.
        """

    async def change_head(self, row: ObjectRow, head: bytes, notes: Sequence[EntryRow] = ()) -> bool:
        """Replace the head of an object or version as it was read; False when it, or its head, is another by now."""

    async def find(self, bucket: int, key: bytes) -> tuple[ObjectRow, bytes | None] | None:
        """An object, with its bytes where they are in a row."""

    async def find_version(self, bucket: int, key: bytes, version: int | None) -> tuple[ObjectRow, bytes | None] | None:
        """A version of a key by number or `NULL_VERSION`; `None` for the newest. It may be a marker."""

    async def segments(self, owner: int, *, after: int = 0, limit: int | None = None) -> list[SegmentRow]:
        """Parts of an object or upload, by number, from behind one on."""

    async def bodies(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Bytes that are in rows, by id: of parts."""

    async def keys(self, bucket: int, *, prefix: bytes, delimiter: bytes, start: bytes, limit: int) -> KeyPage:
        """Keys with a prefix, from `start` on; those that share the part up to the delimiter behind the prefix are
        merged."""

    async def versions(
        self, bucket: int, *, prefix: bytes, delimiter: bytes, start: tuple[bytes, int], limit: int
    ) -> VersionPage:
        """Versions and markers of keys with a prefix; `start` is a key, and a number below which its versions begin.

        Keys that share the part up to the delimiter behind the prefix are merged.
        """

    async def delete(
        self,
        bucket: int,
        wanted: Sequence[Deletion],
        notes: Sequence[Sequence[EntryRow]] = (),
        completion: Completion[list[WriteOutcome]] | None = None,
    ) -> list[WriteOutcome]:
        """Delete objects and versions, or put markers in front of them; a missing object counts as deleted.

        `notes`, if any, are for each that is not refused, existing or not.
        """

    async def doom(self, ids: Sequence[int]) -> None:
        """Note files that no row names yet."""

    async def doomed(self, limit: int, *, after: int = -1) -> list[int]:
        """The first of the doomed ids, in order, from behind one on."""

    async def buried(self, ids: Sequence[int]) -> None:
        """Forget doomed ids whose files are gone."""


class UploadStore(Protocol):
    """Multipart uploads under way. Their parts are segments, read by `ObjectStore.segments`.

    Raises (all methods): Unavailable when the database does not answer; OwnershipLost.
    """

    async def create(self, row: UploadRow, completion: Completion[bool] | None = None) -> bool:
        """Begin an upload; False when the bucket is gone."""

    async def find(self, upload: int) -> UploadRow | None:
        """An upload."""

    async def of_bucket(
        self, bucket: int, *, prefix: bytes, after: tuple[bytes, int] | None, limit: int
    ) -> list[UploadRow]:
        """Uploads by (key, id), from behind a place on."""

    async def put_part(self, row: SegmentRow, body: bytes | None) -> WriteOutcome:
        """Write a part over the one with its number."""

    async def complete(
        self,
        row: ObjectRow,
        kept: Sequence[tuple[int, int]],
        demand: Demand,
        notes: Sequence[EntryRow] = (),
        completion: Completion[WriteOutcome] | None = None,
    ) -> WriteOutcome:
        """Turn an upload into an object of the same id, with these parts alone: by number and id.

        `Missing` also where one of them has been replaced.
        """

    async def abort(self, upload: int, completion: Completion[WriteOutcome] | None = None) -> WriteOutcome:
        """Delete an upload and its parts."""
