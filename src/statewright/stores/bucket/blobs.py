"""Blobs as objects of an S3-compatible bucket. Keys are the names of the blobs under the bucket's prefix.

A bucket knows no lease: a request that was sent before its sender lost the store may take effect at any time after. So
every request that writes or deletes looks for the lease in the database first, and these rules make the requests that
slip through harmless:

1. **A name that is written once is never given out again** (bodies: the ids of objects). No row names a body of a lost
   owner, because rows are fenced, and its id is doomed in the database until it is deleted. All doomed ids that an
   owner finds at its start wait for an hour before they are deleted (`young`), for a late request to have ended. An id
   whose writing failed is not used again by the process itself either (`writes_late`).
2. **Only doomed ids are deleted**, whose rows are gone for good. So a deletion that comes late deletes nothing that a
   row names.
3. **A name that is written again** (packages: the SHA-256 of their code) **has one object for each epoch** of the
   lease that wrote it or asked for it: `code/SHA256/EPOCH`. Whenever a row is about to name a package, it has an
   object of the own epoch, and an owner deletes those of earlier epochs alone. So no deletion that comes late, of a
   lost owner or of the present one, meets an object that is depended on; unused packages stay until another owner.
   All objects of a name have the same bytes.
4. **An upload in parts that another process has begun is aborted** when the store is taken (`abort_left`): its parts
   take space, and no listing of objects shows them.

A writer has at most `PART_BYTES` in memory, and the copy of them that is under way.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Final, Protocol

from statewright.errors import StoreError, Unavailable
from statewright.stores.bucket.client import Bucket, Missing

PART_BYTES: Final = 5 * 1024 * 1024
"""Of each part but the last. Source: S3 user guide, multipart upload limits: 5 MiB at least."""
DELETED_AT_ONCE: Final = 1000
"""Source: S3 API reference, DeleteObjects."""
_REWRITTEN: Final = "code"
_NAME: Final = re.compile(r"(([0-9]{12}/)?[a-z]{2}(-[a-z]+)+-[0-9]+/)?(object/[0-9a-f]+|code/[0-9a-f]{64})")
"""The names of blobs, with the place of their region in front: nothing else under the prefix is touched."""


class Fence(Protocol):
    """The lease of the store."""

    def fence(self) -> int:
        """The epoch of the lease, after a look into the database. Raises: OwnershipLost, Unavailable."""


class BucketBlobs:
    """See `BlobStore`."""

    writes_late: Final = True
    read_ahead: Final = 4 * 1024 * 1024

    def __init__(self, bucket: Bucket, lease: Fence) -> None:
        self.bucket = bucket
        self._lease = lease
        self._changing = threading.Lock()
        """Held while a rewritten name is asked for, and between a look at its age and its deletion."""

    def create(self, name: str) -> BucketWriting:
        """See `BlobStore.create`."""
        return BucketWriting(self, name)

    def touch(self, name: str) -> int | None:
        """See `BlobStore.touch`: copies the object of a former epoch."""
        with self._changing:
            epoch = self._lease.fence()
            found = self._versions(name)
            if not found:
                return None
            newest = max(found)
            if newest < epoch and not self._copy(_key(name, newest), _key(name, epoch)):
                return None
            return int(found[newest]["Size"])

    def has(self, name: str) -> bool:
        """See `BlobStore.has`."""
        if _is_rewritten(name):
            return bool(self._versions(name))
        return self.size_of(name) is not None

    def read(self, name: str, start: int, length: int) -> bytes:
        """See `BlobStore.read`."""
        if length <= 0:
            return b""
        keys = [name]
        if _is_rewritten(name):
            keys = [_key(name, epoch) for epoch in sorted(self._versions(name), reverse=True)]
        for key in keys:
            try:
                found = self.bucket.send(
                    "GetObject", Key=self.bucket.key(key), Range=f"bytes={start}-{start + length - 1}"
                )
            except Missing:
                # The object of a former epoch was deleted since it was listed.
                continue
            body: bytes = found["Body"]
            # An endpoint that ignores the range sends everything.
            return body if "ContentRange" in found else body[start : start + length]
        return b""

    def copy(self, source: str, name: str) -> bool:
        """See `BlobStore.copy`: the bucket copies."""
        if _is_rewritten(source) or _is_rewritten(name):
            raise StoreError(f"the blob {source} is never copied to {name}")
        self._lease.fence()
        return self._copy(source, name)

    def remove(self, names: Sequence[str]) -> None:
        """See `BlobStore.remove`."""
        rewritten = [name for name in names if _is_rewritten(name)]
        keys = [name for name in names if not _is_rewritten(name)]
        with self._changing:
            self._delete(keys + [_key(name, epoch) for name in rewritten for epoch in self._versions(name)])

    def remove_old(self, names: Sequence[str], age_ms: int) -> None:
        """See `BlobStore.remove_old`, which is for rewritten names: objects of the own epoch stay (rule 3)."""
        for name in names:
            with self._changing:
                epoch = self._lease.fence()
                found = self._versions(name)
                if all(one["AgeMs"] > age_ms for one in found.values()):
                    self._delete([_key(name, one) for one in found if one < epoch])

    def young(self, names: Sequence[str], age_ms: int) -> set[str]:  # noqa: ARG002
        """See `BlobStore.young`: all of them, because a request for any of them may still be under way."""
        return set(names)

    def sizes(self, prefix: str) -> dict[str, int]:
        """See `BlobStore.sizes`; with an empty prefix those of all blobs."""
        found = {}
        for entry in self._listed(prefix):
            name = entry["Key"]
            if _is_rewritten(name.rpartition("/")[0]):
                name = name.rpartition("/")[0]
            if _NAME.fullmatch(name):
                found[name] = int(entry["Size"])
        return found

    def abort_left(self) -> int:
        """Abort the uploads in parts that other processes have begun; their number. Raises: OwnershipLost, Unavailable.

        To be called when the store was taken, before anything is written.
        """
        self._lease.fence()
        aborted = 0
        for page in self.bucket.pages("ListMultipartUploads", Prefix=self.bucket.address.prefix):
            for upload in page.get("Uploads", ()):
                key = upload["Key"].removeprefix(self.bucket.address.prefix)
                if _NAME.fullmatch(key) or _NAME.fullmatch(key.rpartition("/")[0]):
                    self.abort(key, upload["UploadId"])
                    aborted += 1
        return aborted

    # ------------------------------------------------------------------ for the writings

    def key_of_new(self, name: str) -> str:
        """The key of a blob that is about to be written. Raises: OwnershipLost, Unavailable."""
        epoch = self._lease.fence()
        return _key(name, epoch) if _is_rewritten(name) else name

    def fence(self) -> None:
        """Check the lease. Raises: OwnershipLost, Unavailable."""
        self._lease.fence()

    def abort(self, key: str, upload: str) -> None:
        """Abort an upload in parts; harmless when repeated. Raises: Unavailable."""
        try:
            self.bucket.send("AbortMultipartUpload", Key=self.bucket.key(key), UploadId=upload)
        except Missing:
            return

    def size_of(self, key: str) -> int | None:
        """The size of an object. Raises: Unavailable."""
        try:
            return int(self.bucket.send("HeadObject", Key=self.bucket.key(key))["ContentLength"])
        except Missing:
            # HEAD does not say whether the object or the whole bucket is missing; the list refuses in the second case.
            self.bucket.send("ListObjectsV2", Prefix=self.bucket.key(key), MaxKeys=1)
            return None

    def _copy(self, source: str, key: str) -> bool:
        given = {"Bucket": self.bucket.address.name, "Key": self.bucket.key(source)}
        try:
            self.bucket.send("CopyObject", Key=self.bucket.key(key), CopySource=given)
        except Missing:
            return False
        return True

    def _delete(self, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), DELETED_AT_ONCE):
            self._lease.fence()
            chosen = [{"Key": self.bucket.key(key)} for key in keys[start : start + DELETED_AT_ONCE]]
            answer = self.bucket.send("DeleteObjects", Delete={"Objects": chosen, "Quiet": True})
            failed = [one for one in answer.get("Errors", ()) if one.get("Code") != "NoSuchKey"]
            if failed:
                raise Unavailable(
                    f"the bucket {self.bucket.place} did not delete {len(failed)} objects, for one "
                    f"{failed[0].get('Key')}: {failed[0].get('Message') or failed[0].get('Code')}"
                )

    def _versions(self, name: str) -> dict[int, Mapping[str, Any]]:
        """The objects of a rewritten name by their epochs."""
        found = {}
        for entry in self._listed(f"{name}/"):
            epoch = entry["Key"].rpartition("/")[2]
            if re.fullmatch(r"[0-9a-f]+", epoch):
                found[int(epoch, 16)] = entry
        return found

    def _listed(self, prefix: str) -> Iterator[Mapping[str, Any]]:
        """The objects whose names begin so, with `AgeMs` by the bucket's own clock."""
        for page in self.bucket.pages("ListObjectsV2", Prefix=self.bucket.key(prefix)):
            date = page["ResponseMetadata"]["HTTPHeaders"].get("date")
            for entry in page.get("Contents", ()):
                now = parsedate_to_datetime(date) if date else entry["LastModified"]
                age_ms = int((now - entry["LastModified"]).total_seconds() * 1000)
                yield {**entry, "Key": entry["Key"].removeprefix(self.bucket.address.prefix), "AgeMs": age_ms}


class BucketWriting:
    """See `BlobWriting`: one object, or an upload in parts if it is larger than one of them."""

    def __init__(self, blobs: BucketBlobs, name: str) -> None:
        self._blobs = blobs
        self._name = name
        self._key: str | None = None
        self._upload: str | None = None
        self._parts: list[Mapping[str, object]] = []
        self._pieces: list[bytes] = []
        self._held = 0
        self._size = 0
        self._may_be_there = False

    def put(self, piece: bytes, *, is_last: bool) -> None:
        """See `BlobWriting.put`."""
        if self._key is None:
            self._key = self._blobs.key_of_new(self._name)
        self._pieces.append(piece)
        self._held += len(piece)
        self._size += len(piece)
        if is_last:
            self._finish(self._key)
        elif self._held >= PART_BYTES:
            self._send_part(self._key)

    def abort(self) -> None:
        """Abort an upload in parts that was not completed; harmless when repeated. Raises: Unavailable."""
        self._pieces, self._held = [], 0
        key, upload, self._upload = self._key, self._upload, None
        if key is not None and upload is not None:
            self._blobs.abort(key, upload)

    def discard(self) -> None:
        """See `BlobWriting.discard`."""
        self.abort()
        if self._may_be_there:
            self._blobs.remove([self._name])
            self._may_be_there = False

    def _taken(self) -> bytes:
        pieces, self._pieces, self._held = self._pieces, [], 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _send_part(self, key: str) -> None:
        bucket = self._blobs.bucket
        self._blobs.fence()
        if self._upload is None:
            self._upload = bucket.send("CreateMultipartUpload", Key=bucket.key(key))["UploadId"]
        number = len(self._parts) + 1
        given = {"Key": bucket.key(key), "UploadId": self._upload, "PartNumber": number}
        try:
            answer = bucket.send("UploadPart", **given, Body=self._taken())
        except Missing:
            raise self._aborted() from None
        self._parts.append({"PartNumber": number, "ETag": answer["ETag"]})

    def _finish(self, key: str) -> None:
        bucket = self._blobs.bucket
        if self._upload is None:
            self._blobs.fence()
            self._may_be_there = True
            bucket.send("PutObject", Key=bucket.key(key), Body=self._taken())
            return
        self._send_part(key)
        self._blobs.fence()
        self._may_be_there = True
        given = {"Key": bucket.key(key), "UploadId": self._upload, "MultipartUpload": {"Parts": self._parts}}
        try:
            bucket.send("CompleteMultipartUpload", **given)
        except Missing:
            # Repeated by botocore after an answer that was lost, or aborted by the next owner.
            if self._blobs.size_of(key) != self._size:
                raise self._aborted() from None
        self._upload = None

    def _aborted(self) -> Unavailable:
        return Unavailable(f"an upload to {self._blobs.bucket.place} was aborted by another process: try again")


def _is_rewritten(name: str) -> bool:
    return name.split("/")[-2:-1] == [_REWRITTEN]


def _key(name: str, epoch: int) -> str:
    return f"{name}/{epoch:x}"
