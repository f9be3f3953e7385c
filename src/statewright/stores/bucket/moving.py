"""The blobs of a store with a bucket: those in the bucket, and those that are still rows of an earlier time.

A store that was served without a bucket has its blobs as rows. They are read from there until they are moved, beside
the work of the server, by a thread: each is durable in the bucket before its rows go. A move that ends in between goes
on with the next start.

A blob that is deleted while it is moved must not come back. So the end of its move and its deletion exclude each other:
the move is given up if the blob was deleted since it began.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Final, Protocol

from statewright.errors import OwnershipLost, StoreError, Unavailable
from statewright.stores.blobs.protocol import PIECE_BYTES, BlobStore, BlobWriting
from statewright.stores.bucket.blobs import BucketBlobs, BucketWriting

AGAIN_SECONDS: Final = 5.0
"""Before a move goes on that the database or the bucket has interrupted."""
REPORTED_SECONDS: Final = 10.0
"""Between two lines of progress."""

log = logging.getLogger("statewright.bucket")


class RowBlobs(BlobStore, Protocol):
    """The blobs that are rows."""

    def next_name(self, after: str) -> str | None:
        """The blob whose name follows another one, or the empty text. Raises: Unavailable."""


class MovingBlobs:
    """See `BlobStore`: new blobs go to the bucket."""

    writes_late: Final = BucketBlobs.writes_late
    read_ahead: Final = BucketBlobs.read_ahead

    def __init__(self, rows: RowBlobs, bucket: BucketBlobs) -> None:
        self.rows = rows
        self.bucket = bucket
        self.has_rows = True
        """False once no blob is a row any more, or will be."""
        self._ending = threading.Lock()
        """Held at the end of the move of a blob, and while blobs are deleted."""
        self._moving: str | None = None
        self._is_deleted = False
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    # ------------------------------------------------------------------ the move

    def start(self) -> None:
        """Begin to move the blobs that are rows. Raises: Unavailable."""
        self._stopping.clear()
        self.has_rows = self.rows.next_name("") is not None
        if self.has_rows:
            self._thread = threading.Thread(target=self._move_all, name="statewright-bucket-move", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the move after the piece that is under way; harmless when repeated. Blocks."""
        self._stopping.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    def _move_all(self) -> None:
        began = reported = time.monotonic()
        moved = total = 0
        after = ""
        while not self._stopping.is_set():
            try:
                name = self.rows.next_name(after)
                if name is None and after:
                    # Copies may have been made behind the place where the move was.
                    after = ""
                    continue
                if name is None:
                    self.has_rows = False
                    log.info(
                        "all %d blobs (%d MiB) of the database are in the bucket %s now, after %.0f s",
                        moved, total >> 20, self.bucket.bucket.place, time.monotonic() - began,
                    )  # fmt: skip
                    return
                size = self.move(name)
                after, moved, total = name, moved + (size is not None), total + (size or 0)
            except OwnershipLost:
                return
            except Unavailable as problem:
                log.debug("the move of blobs into the bucket waits: %s", problem)
                self._stopping.wait(AGAIN_SECONDS)
            except StoreError as problem:
                log.error("the move of blobs into the bucket ends before the next start: %s", problem)
                return
            if time.monotonic() - reported > REPORTED_SECONDS:
                reported = time.monotonic()
                log.info("%d blobs (%d MiB) were moved from the database into the bucket", moved, total >> 20)

    def move(self, name: str) -> int | None:
        """Move a blob from its rows into the bucket: its size; None if it was deleted, or the move stopped, meanwhile.

        Raises: Unavailable, OwnershipLost.
        """
        with self._ending:
            self._moving, self._is_deleted = name, False
        writing = self.bucket.create(name)
        try:
            size = self._write(writing, name)
            if size is None:
                writing.discard()
            return size
        except BaseException:
            self._give_up(writing)
            raise
        finally:
            with self._ending:
                self._moving = None

    def _write(self, writing: BucketWriting, name: str) -> int | None:
        start = 0
        piece = self.rows.read(name, 0, PIECE_BYTES)
        while True:
            if self._stopping.is_set() or self._is_deleted:
                return None
            start += len(piece)
            following = self.rows.read(name, start, PIECE_BYTES)
            if not following:
                break
            writing.put(piece, is_last=False)
            piece = following
        with self._ending:
            if self._is_deleted:
                return None
            writing.put(piece, is_last=True)
            self.rows.remove([name])
            return start

    @staticmethod
    def _give_up(writing: BucketWriting) -> None:
        try:
            # The parts alone: the blob may be in the bucket, and its rows may be gone.
            writing.abort()
        except StoreError as problem:
            log.debug("a part of a blob stays in the bucket until the next start: %s", problem)

    # ------------------------------------------------------------------ the blobs

    def create(self, name: str) -> BlobWriting:
        """See `BlobStore.create`."""
        return _Replacing(self, name) if self.has_rows else self.bucket.create(name)

    def drop_rows(self, name: str) -> None:
        """Delete the rows of a blob that is about to be written anew, and give up its move.

        They are those of a write that was interrupted: moved later, they would replace the whole blob.

        Raises: Unavailable, OwnershipLost.
        """
        with self._ending:
            self._is_deleted = self._is_deleted or self._moving == name
            if self.rows.has(name):
                self.rows.remove([name])

    def touch(self, name: str) -> int | None:
        """See `BlobStore.touch`."""
        found = self.bucket.touch(name)
        if found is None and self.has_rows:
            found = self.rows.touch(name)
            # Unless it was moved between the two.
            return found if found is not None else self.bucket.touch(name)
        return found

    def has(self, name: str) -> bool:
        """See `BlobStore.has`."""
        return (self.has_rows and self.rows.has(name)) or self.bucket.has(name)

    def read(self, name: str, start: int, length: int) -> bytes:
        """See `BlobStore.read`."""
        found = self.rows.read(name, start, length) if self.has_rows else b""
        if len(found) == length:
            return found
        # It ends there, or it is in the bucket, or was moved while it was read.
        return max(found, self.bucket.read(name, start, length), key=len)

    def copy(self, source: str, name: str) -> bool:
        """See `BlobStore.copy`."""
        if self.has_rows:
            with self._ending:
                # In the database a copy is made in steps, between which the source must not be moved.
                if self.rows.has(source):
                    return self.rows.copy(source, name)
        return self.bucket.copy(source, name)

    def remove(self, names: Sequence[str]) -> None:
        """See `BlobStore.remove`."""
        if self.has_rows:
            with self._ending:
                self._is_deleted = self._is_deleted or self._moving in names
                self.rows.remove(names)
        self.bucket.remove(names)

    def remove_old(self, names: Sequence[str], age_ms: int) -> None:
        """See `BlobStore.remove_old`."""
        if self.has_rows:
            self.rows.remove_old(names, age_ms)
        self.bucket.remove_old(names, age_ms)

    def young(self, names: Sequence[str], age_ms: int) -> set[str]:
        """See `BlobStore.young`."""
        return self.bucket.young(names, age_ms)

    def sizes(self, prefix: str) -> dict[str, int]:
        """See `BlobStore.sizes`."""
        found = self.rows.sizes(prefix) if self.has_rows else {}
        return {**self.bucket.sizes(prefix), **found}


class _Replacing:
    """See `BlobWriting`: a writing to the bucket, before whose first piece rows of the same name go."""

    def __init__(self, blobs: MovingBlobs, name: str) -> None:
        self._blobs = blobs
        self._name = name
        self._writing = blobs.bucket.create(name)
        self._is_begun = False

    def put(self, piece: bytes, *, is_last: bool) -> None:
        """See `BlobWriting.put`."""
        if not self._is_begun:
            self._blobs.drop_rows(self._name)
            self._is_begun = True
        self._writing.put(piece, is_last=is_last)

    def discard(self) -> None:
        """See `BlobWriting.discard`."""
        self._writing.discard()
