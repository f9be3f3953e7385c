"""Bodies of objects as blobs of the store: no file of this machine has them, so any server of the store serves them.

A body is the blob `object/ID`. It is written in pieces and read in parts, so at most a piece of each is in memory. What
names and deletes it is what names and deletes a file: the row, and the doomed ids.

A store that an older version wrote has its bodies in a folder. They are read from there until they are moved.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from statewright.errors import StoreError
from statewright.objects.bodies import FileBodies, Reading, Writing
from statewright.stores.blobs.protocol import PIECE_BYTES, BlobStore

_PREFIX: Final = "object/"


def blob_name(number: int) -> str:
    """The name of the blob with that body."""
    return f"{_PREFIX}{number:x}"


class BlobBodies:
    """See `Bodies`. `folder` may have bodies of an older version."""

    def __init__(self, blobs: BlobStore, folder: Path | None) -> None:
        self.files = FileBodies(folder) if folder is not None and folder.is_dir() else None
        self._blobs = blobs

    @property
    def writes_late(self) -> bool:
        """See `Bodies.writes_late`."""
        return self._blobs.writes_late

    def create(self, number: int) -> Writing:
        """See `Bodies.create`. Nothing is written before there is a whole piece."""
        return _BlobWriting(self._blobs, blob_name(number))

    def open(self, number: int) -> Reading:
        """See `Bodies.open`."""
        if self.files is not None:
            # First, because a blob is not complete while its file is there: `move` may be at it, or have been.
            with contextlib.suppress(FileNotFoundError):
                return self.files.open(number)
        name = blob_name(number)
        if not self._blobs.has(name):
            raise FileNotFoundError(
                f"neither the store nor the data folder has the body {name}: a store of an older version has it in the "
                "data folder with which it was served before"
            )
        return _BlobReading(self._blobs, name)

    def link(self, source: int, number: int) -> bool:
        """See `Bodies.link`: the database copies; False for a body that is in a file, which must be read."""
        if self.files is not None and self.files.has(source):
            return False
        if not self._blobs.copy(blob_name(source), blob_name(number)):
            raise FileNotFoundError(blob_name(source))
        return True

    def remove(self, numbers: Sequence[int]) -> None:
        """See `Bodies.remove`."""
        self._blobs.remove([blob_name(number) for number in numbers])
        if self.files is not None:
            self.files.remove(numbers)

    def young(self, numbers: Sequence[int], age_ms: int) -> set[int]:
        """See `Bodies.young`."""
        found = self._blobs.young([blob_name(number) for number in numbers], age_ms)
        young = {int(name.removeprefix(_PREFIX), 16) for name in found}
        return young if self.files is None else young | self.files.young(numbers, age_ms)

    def move(self, number: int) -> int:
        """Move a body from its file into a blob: its bytes; 0 if it has no file any more.

        The file is deleted once the blob is durable. A move that was interrupted starts again.

        Raises: Unavailable.
        """
        if self.files is None:
            return 0
        try:
            reading = self.files.open(number)
        except FileNotFoundError:
            return 0
        writing = self.create(number)
        try:
            size = self.files.size(number)
            for start in range(0, size, PIECE_BYTES):
                writing.write([reading.read(start, min(PIECE_BYTES, size - start))])
            writing.finish()
        finally:
            reading.close()
        self.files.remove([number])
        return size


class _BlobWriting:
    def __init__(self, blobs: BlobStore, name: str) -> None:
        self._blob = blobs.create(name)
        self._chunks: list[memoryview] = []
        self._held = 0

    def write(self, chunks: Sequence[bytes]) -> None:
        for chunk in chunks:
            left = memoryview(chunk)
            # A last whole piece is held back, for `finish` to write.
            while self._held + len(left) > PIECE_BYTES:
                room = PIECE_BYTES - self._held
                self._chunks.append(left[:room])
                left = left[room:]
                self._put(is_last=False)
            self._chunks.append(left)
            self._held += len(left)

    def finish(self) -> None:
        self._put(is_last=True)

    def discard(self) -> None:
        self._chunks, self._held = [], 0
        # Its id is doomed: what cannot be deleted now is deleted at the next start.
        with contextlib.suppress(StoreError):
            self._blob.discard()

    def _put(self, *, is_last: bool) -> None:
        piece = b"".join(self._chunks)
        self._chunks, self._held = [], 0
        self._blob.put(piece, is_last=is_last)


class _BlobReading:
    """Asks for more at once, step by step, where a blob is read in order."""

    def __init__(self, blobs: BlobStore, name: str) -> None:
        self._blobs = blobs
        self._name = name
        self._held = b""
        self._start = 0
        """The offset of `_held` in the blob."""
        self._step = 0

    def read(self, start: int, length: int) -> bytes:
        offset = start - self._start
        if not 0 <= offset <= len(self._held) or offset + length > len(self._held):
            is_next = self._step > 0 and offset == len(self._held)
            self._step = min(2 * self._step, self._blobs.read_ahead) if is_next else length
            self._held, self._start, offset = self._blobs.read(self._name, start, max(length, self._step)), start, 0
        found = self._held[offset : offset + length]
        if len(found) != length:
            raise StoreError(f"the blob {self._name} of the store is damaged: it ends after {start + len(found)} bytes")
        return found

    def close(self) -> None:
        self._held = b""
