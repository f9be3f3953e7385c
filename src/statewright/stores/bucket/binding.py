"""The pair of a database and its bucket: checked before anything is served.

Both know of each other: the database has the address of its bucket, the bucket has, as the object `statewright-store`
under the prefix, the id of the database (`postgres/identity.py`).

1. A bucket without that object is taken by a database that has none yet, if it has no blobs of another use. The object
   is written first, and only if there is none: of two databases one gets it. A server that ends in between leaves a
   bucket that the next one takes with `--bucket`, and a database that is still served without.
2. A database that has a bucket is served with it alone. Another address is accepted if the same id is found there: the
   bucket was copied or renamed.
3. At each start an object is written and deleted again, and uploads in parts are listed: a right that is missing is
   found before the first call needs it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from statewright.errors import StoreError, Unavailable
from statewright.stores.bucket.address import BucketAddress, bucket_address
from statewright.stores.bucket.client import Bucket, Missing, Refused, Taken

MARK: Final = "statewright-store"
"""The object with the id of the database."""
_KINDS: Final = ("object/", "code/")

log = logging.getLogger("statewright.bucket")


@dataclass(frozen=True, slots=True)
class Bound:
    """A database by its own word: its id, None before it has one; and the address of its bucket."""

    identity: str | None
    bucket: str | None

    @property
    def address(self) -> BucketAddress | None:
        """The bucket of the database. Raises: StoreError if it cannot be read."""
        return None if self.bucket is None else bucket_address(self.bucket)


def check(bucket: Bucket | None, bound: Bound, place: str) -> None:
    """Check a bucket, None for a start without, against what the database `place` says; nothing stays written.

    Raises: StoreError; Unavailable if nothing answers.
    """
    if bucket is None:
        if bound.address is not None:
            raise StoreError(
                f"the database {place} has its objects and the code of its functions in the bucket "
                f"{bound.address.place}: start the server with --bucket {bound.bucket}"
            )
        return
    try:
        _try_rights(bucket)
        _compare(bucket, bound, place)
    except Refused as problem:
        # A standby would try again what is only unavailable.
        raise StoreError(str(problem)) from None


def claim(bucket: Bucket, bound: Bound, place: str) -> None:
    """Write the id of the database into a bucket that has none; to be called after `check`, with the lease.

    Raises: StoreError; Unavailable.
    """
    if bound.identity is None:
        raise StoreError(f"the database {place} has no id yet: a bucket needs a server with a data folder")
    if _mark(bucket) is None:
        try:
            bucket.send("PutObject", Key=bucket.key(MARK), Body=f"{bound.identity}\n".encode(), IfNoneMatch="*")
        except Taken:
            log.info("another server takes the bucket %s at the same time", bucket.place)
        # Also where the endpoint does not know the condition.
        _compare(bucket, bound, place)


def check_mark(bucket: Bucket, bound: Bound, place: str) -> None:
    """Check, to read it alone, that a bucket belongs to a database. Raises: StoreError; Unavailable."""
    _compare(bucket, bound, place)


def is_settled(bucket: Bucket, bound: Bound) -> bool:
    """True if the database knows this address already."""
    return bound.bucket == bucket.address.text


def _try_rights(bucket: Bucket) -> None:
    """Raises: Unavailable, Refused."""
    try:
        bucket.probe()
        bucket.send("ListObjectsV2", Prefix=bucket.key(MARK), MaxKeys=1)
        bucket.send("ListMultipartUploads", Prefix=bucket.key(MARK), MaxUploads=1)
    except Missing as problem:
        raise Unavailable(f"the bucket {bucket.place} cannot be used: it answers a probe with {problem}") from None


def _compare(bucket: Bucket, bound: Bound, place: str) -> None:
    """Raises: StoreError."""
    found = _mark(bucket)
    if found is not None:
        if found != bound.identity:
            raise StoreError(
                f"the bucket {bucket.place} belongs to another store than {place}: name the bucket of this one, or "
                "another prefix (s3://NAME/PREFIX)"
            )
        return
    if bound.address is not None:
        raise StoreError(
            f"the bucket {bucket.place} is not that of the database {place}, which has its objects and the code of its "
            f"functions in {bound.address.place}: there is no {MARK} in it. A copy of the bucket needs that object, too"
        )
    for kind in _KINDS:
        if bucket.send("ListObjectsV2", Prefix=bucket.key(kind), MaxKeys=1).get("Contents"):
            raise StoreError(
                f"the bucket {bucket.place} has objects under {kind} of another use: name an empty prefix "
                "(s3://NAME/PREFIX)"
            )


def _mark(bucket: Bucket) -> str | None:
    try:
        body: bytes = bucket.send("GetObject", Key=bucket.key(MARK))["Body"]
    except Missing:
        return None
    return body.decode("ascii", "replace").strip()
