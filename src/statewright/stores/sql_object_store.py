"""`ObjectStore` and `UploadStore` over any SQL store: calls go to `sql_objects`, in the store's threads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from statewright.stores import sql_objects
from statewright.stores.completion import Completion
from statewright.stores.object_rows import (
    BucketRow,
    Deletion,
    Demand,
    KeyPage,
    ObjectRow,
    SegmentRow,
    UploadRow,
    VersionPage,
    WriteOutcome,
)
from statewright.stores.protocol import EntryRow
from statewright.stores.sql_objects import Sql

T = TypeVar("T")


class Runner(Protocol):
    """The ways in which a store runs work."""

    def write(self, work: Callable[[Sql], T], completion: Completion[T] | None = None) -> Awaitable[T]:
        """As a transaction, durable when it returns."""

    def point(self, work: Callable[[Sql], T]) -> Awaitable[T]:
        """Reading a row or two."""

    def scan(self, work: Callable[[Sql], T]) -> Awaitable[T]:
        """Reading many rows."""


class SqlObjects:
    """See `ObjectStore`."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def buckets(self) -> list[BucketRow]:
        return await self._runner.scan(sql_objects.buckets)

    async def put_bucket(self, row: BucketRow) -> bool:
        return await self._runner.write(lambda sql: sql_objects.put_bucket(sql, row))

    async def drop_bucket(self, bucket: int) -> tuple[int, ...] | None:
        return await self._runner.write(lambda sql: sql_objects.drop_bucket(sql, bucket))

    async def put(
        self,
        row: ObjectRow,
        body: bytes | None,
        demand: Demand,
        notes: Sequence[EntryRow] = (),
        completion: Completion[WriteOutcome] | None = None,
    ) -> WriteOutcome:
        return await self._runner.write(lambda sql: sql_objects.put(sql, row, body, demand, notes), completion)

    async def change_head(self, row: ObjectRow, head: bytes, notes: Sequence[EntryRow] = ()) -> bool:
        return await self._runner.write(lambda sql: sql_objects.change_head(sql, row, head, notes))

    async def find(self, bucket: int, key: bytes) -> tuple[ObjectRow, bytes | None] | None:
        return await self._runner.point(lambda sql: sql_objects.find(sql, bucket, key))

    async def find_version(self, bucket: int, key: bytes, version: int | None) -> tuple[ObjectRow, bytes | None] | None:
        return await self._runner.point(lambda sql: sql_objects.find_version(sql, bucket, key, version))

    async def segments(self, owner: int, *, after: int = 0, limit: int | None = None) -> list[SegmentRow]:
        return await self._runner.scan(lambda sql: sql_objects.segments(sql, owner, after, limit))

    async def bodies(self, ids: Sequence[int]) -> dict[int, bytes]:
        return await self._runner.scan(lambda sql: sql_objects.bodies(sql, ids)) if ids else {}

    async def keys(self, bucket: int, *, prefix: bytes, delimiter: bytes, start: bytes, limit: int) -> KeyPage:
        return await self._runner.scan(lambda sql: sql_objects.keys(sql, bucket, prefix, delimiter, start, limit))

    async def versions(
        self, bucket: int, *, prefix: bytes, delimiter: bytes, start: tuple[bytes, int], limit: int
    ) -> VersionPage:
        return await self._runner.scan(lambda sql: sql_objects.versions(sql, bucket, prefix, delimiter, start, limit))

    async def delete(
        self,
        bucket: int,
        wanted: Sequence[Deletion],
        notes: Sequence[Sequence[EntryRow]] = (),
        completion: Completion[list[WriteOutcome]] | None = None,
    ) -> list[WriteOutcome]:
        if not wanted:
            return []
        return await self._runner.write(lambda sql: sql_objects.delete(sql, bucket, wanted, notes), completion)

    async def doom(self, ids: Sequence[int]) -> None:
        await self._runner.write(lambda sql: sql.run("doom", sql.ids(ids)))

    async def doomed(self, limit: int, *, after: int = -1) -> list[int]:
        return await self._runner.scan(lambda sql: sql_objects.doomed(sql, limit, after))

    async def buried(self, ids: Sequence[int]) -> None:
        await self._runner.write(lambda sql: sql.run("buried", sql.ids(ids)))


class SqlUploads:
    """See `UploadStore`."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def create(self, row: UploadRow, completion: Completion[bool] | None = None) -> bool:
        return await self._runner.write(lambda sql: sql_objects.create_upload(sql, row), completion)

    async def find(self, upload: int) -> UploadRow | None:
        return await self._runner.point(lambda sql: sql_objects.find_upload(sql, upload))

    async def of_bucket(
        self, bucket: int, *, prefix: bytes, after: tuple[bytes, int] | None, limit: int
    ) -> list[UploadRow]:
        return await self._runner.scan(lambda sql: sql_objects.uploads(sql, bucket, prefix, after, limit))

    async def put_part(self, row: SegmentRow, body: bytes | None) -> WriteOutcome:
        return await self._runner.write(lambda sql: sql_objects.put_part(sql, row, body))

    async def complete(
        self,
        row: ObjectRow,
        kept: Sequence[tuple[int, int]],
        demand: Demand,
        notes: Sequence[EntryRow] = (),
        completion: Completion[WriteOutcome] | None = None,
    ) -> WriteOutcome:
        return await self._runner.write(lambda sql: sql_objects.complete(sql, row, kept, demand, notes), completion)

    async def abort(self, upload: int, completion: Completion[WriteOutcome] | None = None) -> WriteOutcome:
        return await self._runner.write(lambda sql: sql_objects.abort(sql, upload), completion)
