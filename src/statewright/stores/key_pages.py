"""Pages of keys: objects in order, with keys that share a delimiter behind the prefix merged. No I/O.

A store reads rows in order from a place on; common prefixes are skipped, with any number of keys below them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from statewright.stores.object_rows import ABOVE_ALL, KeyPage, ObjectRow, VersionPage

Fetch = Callable[[bytes, bytes | None, int], list[ObjectRow]]
"""Rows from a key on, below another, so many at most."""

FetchVersions = Callable[[bytes, int, bytes | None, int], list[ObjectRow]]
"""Versions from a key and below a number on, of keys below another, so many at most."""

GROUPED_AT_ONCE: Final = 200
"""Rows read at once where many of them may be stepped over."""


def after_prefix(prefix: bytes) -> bytes | None:
    """The first key behind all keys that begin so; `None` where there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def group_of(key: bytes, prefix: bytes, delimiter: bytes) -> bytes | None:
    """The common prefix under which a key is listed: up to the first delimiter behind `prefix`; `None` without one."""
    cut = key.find(delimiter, len(prefix)) if delimiter and key.startswith(prefix) else -1
    return key[: cut + len(delimiter)] if cut >= 0 else None


def page_of(fetch: Fetch, prefix: bytes, delimiter: bytes, start: bytes, limit: int) -> KeyPage:
    """A page of at most `limit` entries from `start` on."""
    stop = after_prefix(prefix)
    place = max(start, prefix)
    entries: list[ObjectRow | bytes] = []
    if limit <= 0:
        return KeyPage([], None)
    while True:
        # One more than asked for tells whether there is another page.
        wanted = GROUPED_AT_ONCE if delimiter else limit + 1 - len(entries)
        rows = fetch(place, stop, wanted) if stop is None or place < stop else []
        for row in rows:
            if row.key < place:
                continue
            if len(entries) == limit:
                return KeyPage(entries, row.key)
            group = group_of(row.key, prefix, delimiter)
            if group is None:
                entries.append(row)
                place = row.key + b"\0"
                continue
            entries.append(group)
            behind = after_prefix(group)
            if behind is None:
                return KeyPage(entries, None)
            place = behind
        if len(rows) < wanted:
            return KeyPage(entries, None)


def version_page_of(
    fetch: FetchVersions, prefix: bytes, delimiter: bytes, start: tuple[bytes, int], limit: int
) -> VersionPage:
    """A page of at most `limit` versions and prefixes from `start` on."""
    stop = after_prefix(prefix)
    key, below = max(start, (prefix, ABOVE_ALL), key=lambda place: (place[0], -place[1]))
    entries: list[ObjectRow | bytes] = []
    if limit <= 0:
        return VersionPage([], False)
    while True:
        wanted = GROUPED_AT_ONCE if delimiter else limit + 1 - len(entries)
        rows = fetch(key, below, stop, wanted) if stop is None or key < stop else []
        for row in rows:
            if (row.key, -row.version) <= (key, -below):
                # In a group that is listed.
                continue
            if len(entries) == limit:
                return VersionPage(entries, True)
            group = group_of(row.key, prefix, delimiter)
            if group is None:
                entries.append(row)
                key, below = row.key, row.version
                continue
            entries.append(group)
            behind = after_prefix(group)
            if behind is None:
                return VersionPage(entries, False)
            key, below = behind, ABOVE_ALL
        if len(rows) < wanted:
            return VersionPage(entries, False)


def first_versions(rows: Iterable[ObjectRow], key: bytes, below: int, most: int) -> list[ObjectRow]:
    """The first of versions that begin with a key below a number, in their order."""
    within = [row for row in rows if (row.key, -row.version) > (key, -below)]
    return sorted(within, key=lambda row: (row.key, -row.version))[:most]
