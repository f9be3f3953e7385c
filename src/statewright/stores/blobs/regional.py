"""The blobs of a store as one region sees them."""

from __future__ import annotations

from collections.abc import Sequence

from statewright.stores.blobs.protocol import BlobStore, BlobWriting


class RegionalBlobs:
    """See `BlobStore`: the blobs of one region, whose names have its place in front."""

    def __init__(self, blobs: BlobStore, place: str) -> None:
        self._blobs = blobs
        self._prefix = f"{place}/"

    @property
    def writes_late(self) -> bool:
        """See `BlobStore.writes_late`."""
        return self._blobs.writes_late

    @property
    def read_ahead(self) -> int:
        """See `BlobStore.read_ahead`."""
        return self._blobs.read_ahead

    def create(self, name: str) -> BlobWriting:
        """See `BlobStore.create`."""
        return self._blobs.create(self._prefix + name)

    def touch(self, name: str) -> int | None:
        """See `BlobStore.touch`."""
        return self._blobs.touch(self._prefix + name)

    def has(self, name: str) -> bool:
        """See `BlobStore.has`."""
        return self._blobs.has(self._prefix + name)

    def read(self, name: str, start: int, length: int) -> bytes:
        """See `BlobStore.read`."""
        return self._blobs.read(self._prefix + name, start, length)

    def copy(self, source: str, name: str) -> bool:
        """See `BlobStore.copy`."""
        return self._blobs.copy(self._prefix + source, self._prefix + name)

    def remove(self, names: Sequence[str]) -> None:
        """See `BlobStore.remove`."""
        self._blobs.remove([self._prefix + name for name in names])

    def remove_old(self, names: Sequence[str], age_ms: int) -> None:
        """See `BlobStore.remove_old`."""
        self._blobs.remove_old([self._prefix + name for name in names], age_ms)

    def young(self, names: Sequence[str], age_ms: int) -> set[str]:
        """See `BlobStore.young`."""
        found = self._blobs.young([self._prefix + name for name in names], age_ms)
        return {name.removeprefix(self._prefix) for name in found}

    def sizes(self, prefix: str) -> dict[str, int]:
        """See `BlobStore.sizes`."""
        found = self._blobs.sizes(self._prefix + prefix)
        return {name.removeprefix(self._prefix): size for name, size in found.items()}
