"""Code packages in the store, for stores whose data is not on this machine: each zip is a blob under its SHA-256.

The folder of packages is a cache of them then. A zip is checked against its name whenever it comes from the store. A
row may name a package within an hour after `keep` or `renew`: for so long `remove_old` leaves it alone.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from statewright.files.data_folder import FILE_MODE
from statewright.files.whole import writing
from statewright.stores.blobs.protocol import ORPHAN_MS, PIECE_BYTES, BlobStore

_PREFIX: Final = "code/"


class CodeBlobs:
    """The zips in a store, by the names of their packages. Its methods block.

    Raises (all methods): Unavailable; OwnershipLost.
    """

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs

    def keep(self, name: str, data: bytes) -> None:
        """Have a zip in the store, durably, for a row that is about to name it."""
        if self._blobs.touch(_PREFIX + name) == len(data):
            return
        # Pieces that a writer before left unfinished are the same bytes.
        writing = self._blobs.create(_PREFIX + name)
        last = max(0, len(data) - 1) // PIECE_BYTES
        for number in range(last + 1):
            writing.put(data[number * PIECE_BYTES : (number + 1) * PIECE_BYTES], is_last=number == last)

    def renew(self, name: str) -> None:
        """Let a row name a package within the next hour that a row names now."""
        self._blobs.touch(_PREFIX + name)

    def fetch(self, name: str, path: Path) -> None:
        """Write a zip into a file, piece by piece. Raises: OSError, also if it is missing or damaged."""
        if not self._blobs.has(_PREFIX + name):
            raise FileNotFoundError(f"the store has no package {name}")
        digest = hashlib.sha256()
        path.parent.mkdir(parents=True, exist_ok=True)
        with writing(path, durable=True, mode=FILE_MODE) as file:
            start = 0
            while piece := self._blobs.read(_PREFIX + name, start, PIECE_BYTES):
                digest.update(piece)
                file.write(piece)
                start += len(piece)
            if digest.hexdigest() != name:
                raise OSError(errno.EIO, f"the package {name} in the store is damaged: its SHA-256 is not its name")

    def sizes(self) -> dict[str, int]:
        """The sizes of all zips in the store."""
        return {name.removeprefix(_PREFIX): size for name, size in self._blobs.sizes(_PREFIX).items()}

    def remove_old(self, names: Iterable[str]) -> None:
        """Delete zips that no row names and that no writer asked for within an hour."""
        self._blobs.remove_old([_PREFIX + name for name in names], ORPHAN_MS)
