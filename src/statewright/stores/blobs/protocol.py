"""Blobs: large bytes beside the rows of a store, for stores whose data is not on this machine.

They are rows of the database, or objects of a bucket. A blob is named by its owner: `objects` by the id of a body,
`functions` by the SHA-256 of a package. It has no meaning of its own: a committed row must name it. These rules keep
the two together, whenever a process or a database dies:

1. A blob is durable before a row that names it is written: the `put` of its last piece has returned.
2. It is deleted only once no committed row names it, and none will: an id of an object is never given out again, and
   the writer of a package asks for it (`touch`) within the hour before its row is written, while `remove_old` spares
   what was asked for within an hour.
3. Only the owner of the store writes and deletes. In the database each statement holds the fence, so what a lost owner
   leaves behind is there, and doomed, when the next owner looks for it. A bucket has no fence: `bucket/blobs.py` says
   why a request that comes late does no harm there.

All methods block: call them from a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

PIECE_BYTES: Final = 1024 * 1024
"""Of every piece but the last of a blob."""
ORPHAN_MS: Final = 60 * 60 * 1000
"""Bytes that no row names are deleted at this age: a writer may be about to name younger ones."""


class BlobWriting(Protocol):
    """A blob that is being written. Raises (all methods): Unavailable; OwnershipLost."""

    def put(self, piece: bytes, *, is_last: bool) -> None:
        """Write the next piece, of `PIECE_BYTES` if it is not the last one, which makes all of them durable.

        Raises: Unavailable also if one of them was lost meanwhile.
        """

    def discard(self) -> None:
        """Delete what was written; harmless when repeated."""


class BlobStore(Protocol):
    """The blobs of a store.

    Raises (all methods): Unavailable when the database or the bucket does not answer; those that write: OwnershipLost.
    """

    @property
    def writes_late(self) -> bool:
        """True if a write that failed may still take effect later: its name must not be used again."""

    @property
    def read_ahead(self) -> int:
        """The bytes to ask for at once when a blob is read from beginning to end; 0 for as many as are wanted."""

    def create(self, name: str) -> BlobWriting:
        """Begin a blob, or to replace it by the same bytes. Nothing is written before the first piece."""

    def touch(self, name: str) -> int | None:
        """Keep a blob from `remove_old` for another while; its size, `None` if it does not exist."""

    def has(self, name: str) -> bool:
        """True if there is such a blob, complete or not."""

    def read(self, name: str, start: int, length: int) -> bytes:
        """Bytes from an offset on; fewer where the blob ends."""

    def copy(self, source: str, name: str) -> bool:
        """Copy a blob inside the store, durably; False if it does not exist."""

    def remove(self, names: Sequence[str]) -> None:
        """Delete blobs; names without a blob are ignored."""

    def remove_old(self, names: Sequence[str], age_ms: int) -> None:
        """Delete blobs that were neither written nor touched for so long."""

    def young(self, names: Sequence[str], age_ms: int) -> set[str]:
        """Those of some blobs that were written or touched within so many milliseconds, or may yet be written."""

    def sizes(self, prefix: str) -> dict[str, int]:
        """The size of each blob whose name begins so; reads no bytes."""
