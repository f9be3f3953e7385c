"""Older versions of objects, and delete markers, in memory: by key, the newest first."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import replace

from statewright.stores.object_rows import ObjectRow


class MemoryVersions:
    """The older versions and markers of one bucket."""

    def __init__(self) -> None:
        self._rows: dict[bytes, list[ObjectRow]] = {}
        self._keys: list[bytes] = []

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(self, row: ObjectRow) -> None:
        """Add a version."""
        rows = self._rows.get(row.key)
        if rows is None:
            rows = self._rows[row.key] = []
            insort(self._keys, row.key)
        insort(rows, row, key=lambda one: -one.version)

    def drop(self, row: ObjectRow) -> None:
        """Delete a version."""
        rows = self._rows[row.key]
        rows.remove(row)
        if not rows:
            del self._rows[row.key]
            del self._keys[bisect_left(self._keys, row.key)]

    def change_head(self, row: ObjectRow, head: bytes) -> bool:
        """Replace the head of a version; False when there is none of this number and id, or with another head."""
        rows = self._rows.get(row.key, [])
        for place, one in enumerate(rows):
            if (one.version, one.id, one.head) == (row.version, row.id, row.head):
                rows[place] = replace(one, head=head)
                return True
        return False

    def newest(self, key: bytes) -> ObjectRow | None:
        """The newest version of a key."""
        rows = self._rows.get(key)
        return rows[0] if rows else None

    def find(self, key: bytes, version: int) -> ObjectRow | None:
        """A version by its number, or `NULL_VERSION`."""
        return next((row for row in self._rows.get(key, ()) if row.is_version(version)), None)

    def within(self, key: bytes, stop: bytes | None) -> Iterator[ObjectRow]:
        """The versions from a key on, below another, in order."""
        for place in range(bisect_left(self._keys, key), len(self._keys)):
            if stop is not None and self._keys[place] >= stop:
                return
            yield from self._rows[self._keys[place]]
