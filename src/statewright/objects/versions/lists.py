"""Listings of versions and delete markers: where a page begins, and which version of a key is its latest.

Source: service API reference, ListObjectVersions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from statewright.objects import faults
from statewright.objects.records import Bucket, ObjectView, object_of
from statewright.objects.versions.ids import known_number, version_text
from statewright.stores.key_pages import after_prefix, group_of
from statewright.stores.object_rows import ABOVE_ALL, MARKER, NULL_VERSION, ObjectRow, ObjectStore


@dataclass(frozen=True, slots=True)
class VersionPlace:
    """A place in a listing: behind a version of a key, or behind all of them."""

    key: str = ""
    version: str | None = None


START: Final = VersionPlace()


@dataclass(frozen=True, slots=True)
class ListedVersion:
    """A version, or a delete marker, which has a size of 0 and no ETag."""

    view: ObjectView
    id: str
    is_latest: bool
    is_marker: bool


@dataclass(frozen=True, slots=True)
class VersionListing:
    """A page of versions: keys in UTF-8 order, the newest version of each first. `prefixes` stand for all below them.

    `next` is where the next page begins; `None` at the end.
    """

    versions: list[ListedVersion]
    prefixes: list[str]
    next: VersionPlace | None


async def listed_versions(
    rows: ObjectStore, bucket: Bucket, prefix: str, delimiter: str, after: VersionPlace, limit: int
) -> VersionListing:
    """A page of versions behind a place. Raises: ApiError (`InvalidArgument`)."""
    start = await _start(rows, bucket, prefix, delimiter, after)
    page = await rows.versions(
        bucket.id, prefix=prefix.encode(), delimiter=delimiter.encode(), start=start, limit=limit
    )
    found: list[ListedVersion] = []
    prefixes: list[str] = []
    before: bytes | None = None
    for entry in page.entries:
        if not isinstance(entry, ObjectRow):
            prefixes.append(entry.decode())
            continue
        is_latest = entry.key != before
        if is_latest and entry.key == start[0] and start[1] != ABOVE_ALL:
            newest = await rows.find_version(bucket.id, entry.key, None)
            is_latest = newest is not None and newest[0].version == entry.version
        before = entry.key
        found.append(ListedVersion(object_of(bucket, entry), version_text(entry), is_latest, entry.place == MARKER))
    following = None
    if page.is_cut:
        last = page.entries[-1]
        if isinstance(last, ObjectRow):
            following = VersionPlace(last.key.decode(), version_text(last))
        else:
            following = VersionPlace(last.decode())
    return VersionListing(found, prefixes, following)


async def _start(
    rows: ObjectStore, bucket: Bucket, prefix: str, delimiter: str, after: VersionPlace
) -> tuple[bytes, int]:
    """The first key of a page, and the number below which its versions are listed."""
    if not after.key:
        if after.version:
            said = "A version-id marker cannot be specified without a key marker."
            raise faults.invalid_argument(said, "version-id-marker", after.version)
        return b"", ABOVE_ALL
    key = after.key.encode()
    group = group_of(key, prefix.encode(), delimiter.encode())
    if group is not None:
        return after_prefix(group) or group + b"\xff", ABOVE_ALL
    if not after.version:
        return key + b"\0", ABOVE_ALL
    number = known_number(after.version)
    if number is None:
        raise faults.invalid_argument("Invalid version id specified", "version-id-marker", after.version)
    if number == NULL_VERSION:
        found = await rows.find_version(bucket.id, key, NULL_VERSION)
        # If it has been deleted, its place is unknown: the key is listed again, rather than left out.
        return key, found[0].version if found is not None else ABOVE_ALL
    return key, number
