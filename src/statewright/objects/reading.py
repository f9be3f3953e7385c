"""Reading objects and versions: which one a request means, whether its conditions hold, and where its bytes are.

Leaves the bytes themselves to `vault`.
"""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator
from typing import Final

from statewright.errors import ApiError
from statewright.objects import faults
from statewright.objects.conditions import ANYWAY, ReadConditions, byte_range
from statewright.objects.names import key_bytes
from statewright.objects.records import Bucket, ObjectView, Part, object_of, part_of
from statewright.objects.state import ObjectState
from statewright.objects.vault import Piece
from statewright.objects.versions.ids import NULL, version_number, version_text
from statewright.stores.object_rows import IN_FILE, IN_ROW, IN_SEGMENTS, MARKER, NULL_VERSION, SegmentRow

TRIES: Final = 5


class Reading:
    """The reads of one server."""

    def __init__(self, state: ObjectState) -> None:
        self._state = state

    async def head(
        self,
        bucket: str,
        key: str,
        *,
        version: str | None = None,
        conditions: ReadConditions = ANYWAY,
        method: str | None = None,
    ) -> ObjectView:
        """An object without its bytes. With `method`, a marker in front of it is refused as one by id is.

        Raises: ApiError (`NoSuchBucket`, `NoSuchKey`, `NoSuchVersion`, `PreconditionFailed`, `NotModified`).
        """
        home = await self._state.bucket(bucket)
        view, _ = await self.find(home, key, version, method=method)
        conditions.check(view.etag, view.modified_ms, self._state.clock.now_ms)
        return view

    async def get(
        self,
        bucket: str,
        key: str,
        *,
        range: str | None = None,
        part: int | None = None,
        version: str | None = None,
        conditions: ReadConditions = ANYWAY,
    ) -> tuple[ObjectView, AsyncIterator[bytes], tuple[int, int] | None]:
        """An object, its bytes, and the first and last of them if they are not all.

        `range` is a header's text; `part` a part's number. A caller that does not read to the end closes the iterator.

        Raises: as `head`; ApiError (`InvalidRange`, `InvalidPartNumber`).
        """
        home = await self._state.bucket(bucket)
        async with self._state.vault.keep_files():
            for _ in builtins.range(TRIES):
                view, body = await self.find(home, key, version)
                conditions.check(view.etag, view.modified_ms, self._state.clock.now_ms)
                span = await self.span(view, range, part)
                pieces = await self.pieces(view, body, span or (0, view.size - 1))
                if pieces is not None:
                    return view, self._state.vault.read(pieces), span
        raise faults.conflict(key)

    async def read(self, bucket: str, key: str) -> bytes:
        """Read all bytes of an object that is known to be small. Raises: ApiError, Unavailable."""
        _, stream, _ = await self.get(bucket, key)
        return b"".join([chunk async for chunk in stream])

    async def parts(self, view: ObjectView) -> list[Part]:
        """The parts of an object that a multipart upload made."""
        if view.row.place != IN_SEGMENTS:
            return []
        return [part_of(row) for row in await self._state.store.objects.segments(view.id)]

    async def span(self, view: ObjectView, range: str | None, part: int | None) -> tuple[int, int] | None:
        """First and last byte of a range or part; `None` for the whole.

        Raises: ApiError (`InvalidRange`, `InvalidPartNumber`).
        """
        if part is None:
            return byte_range(range, view.size)
        rows = await self._state.store.objects.segments(view.id) if view.row.place == IN_SEGMENTS else []
        if not 1 <= part <= max(len(rows), 1):
            raise faults.invalid_part_number(part, max(len(rows), 1))
        if not rows:
            return (0, view.size - 1) if view.size else None
        first = sum(row.size for row in rows[: part - 1])
        return first, first + rows[part - 1].size - 1

    async def find(
        self, bucket: Bucket, key: str, version: str | None, *, method: str | None = None
    ) -> tuple[ObjectView, bytes | None]:
        """An object, or a version by id. With `method`, a marker in front of an object is refused as one by id is."""
        name, rows = key_bytes(key), self._state.store.objects
        if version is None:
            found = await rows.find(bucket.id, name)
            if found is None and bucket.is_versioned:
                found = await rows.find_version(bucket.id, name, None)
        else:
            number = version_number(version)
            if bucket.is_versioned:
                found = await rows.find_version(bucket.id, name, number)
            else:
                found = await rows.find(bucket.id, name) if number == NULL_VERSION else None
        if found is None:
            if self._state.buckets.get(bucket.name) is None:
                raise faults.no_such_bucket(bucket.name)
            if version is None or (version == NULL and not bucket.is_versioned):
                raise faults.no_such_key(key)
            raise faults.no_such_version(key, version)
        if found[0].place == MARKER:
            marker = version_text(found[0])
            if version is None and method is None:
                raise faults.hidden_by_marker(key, marker)
            raise faults.marker_not_allowed(method or "GET", marker)
        return object_of(bucket, found[0]), found[1]

    async def source(self, bucket: Bucket, key: str, version: str | None) -> tuple[ObjectView, bytes | None]:
        """The source of a copy. Raises: as `_find`; ApiError (`InvalidRequest` for a marker by id)."""
        try:
            return await self.find(bucket, key, version)
        except ApiError as problem:
            if problem.code != "MethodNotAllowed":
                raise
            raise faults.invalid_request(
                "The source of a copy request may not specifically refer to a delete marker by version id."
            ) from None

    async def pieces(self, view: ObjectView, body: bytes | None, span: tuple[int, int]) -> list[Piece] | None:
        """The places of the bytes; `None` if the object was deleted meanwhile."""
        first, last = span
        length = last - first + 1
        if view.row.place == IN_ROW:
            assert body is not None
            return [Piece(view.id, 0, length, body if length == view.size else body[first : last + 1])]
        if view.row.place == IN_FILE:
            return [Piece(view.id, first, length)]
        rows = await self._state.store.objects.segments(view.id)
        within: list[tuple[SegmentRow, int, int]] = []
        offset = 0
        for row in rows:
            start, end = max(first - offset, 0), min(last + 1 - offset, row.size)
            if start < end:
                within.append((row, start, end - start))
            offset += row.size
        in_rows = [row.id for row, _, _ in within if row.place == IN_ROW]
        here = await self._state.store.objects.bodies(in_rows)
        if offset != view.size or len(here) != len(in_rows):
            return None
        return [
            Piece(row.id, start, length, here[row.id][start : start + length] if row.place == IN_ROW else None)
            for row, start, length in within
        ]
