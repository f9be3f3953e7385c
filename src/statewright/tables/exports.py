"""Exports of tables into buckets: DynamoDB JSON in gzipped files, with the manifests that readers expect.

An export is an entry of the catalogue. It is written in the background, in files of some megabytes; the next process
restarts an unfinished one. It has the table as it is while it is read: no former state is kept, so a time further back
than the service's own delay is refused.

Source: developer guide, "DynamoDB table export output format"; API reference, ExportTableToPointInTime.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from statewright import chance
from statewright.background import Spawn
from statewright.clock import Clock
from statewright.errors import ApiError, StoreError
from statewright.instants import iso_ms
from statewright.payload import Json
from statewright.stores.entries import Entries, EntryKind
from statewright.stores.store import Store
from statewright.tables.catalogue import Catalogue
from statewright.tables.keys import BEHIND_PARTS
from statewright.tables.table import Table, parse
from statewright.tables.values import invalid

IN_PROGRESS: Final = "IN_PROGRESS"
FILE_BYTES: Final = 16 * 1024 * 1024
"""The approximate part of the table in one file."""
STEP: Final = 500

RECENT_MS: Final = 5 * 60 * 1000
"""The age that an export time may have: about that of the service's latest restorable time."""

PutObject = Callable[[str, str, bytes], Awaitable[str]]
"""Writes an object by bucket and key, and returns its ETag. Raises: ApiError."""

log = logging.getLogger("statewright.tables")


@dataclass(frozen=True, slots=True)
class Export:
    """An export, running or ended."""

    arn: str
    table_arn: str
    table_id: str
    started_ms: int
    export_ms: int
    token: str
    bucket: str
    prefix: str | None
    owner: str | None
    encryption: str
    status: str = IN_PROGRESS
    ended_ms: int | None = None
    items: int = 0
    bytes: int = 0
    failure: tuple[str, str] | None = None
    stored: int = 0

    @property
    def folder(self) -> str:
        """The prefix of its files, with a slash at the end."""
        prefix = f"{self.prefix.rstrip('/')}/" if self.prefix else ""
        return f"{prefix}AWSDynamoDB/{self.arn.rpartition('/')[2]}/"

    @property
    def manifest_key(self) -> str:
        """The key of the summary."""
        return f"{self.folder}manifest-summary.json"


EXPORT: Final = EntryKind("table-export", Export, lambda export: export.arn, sort=lambda export: export.started_ms)


class Exports:
    """The exports of one store."""

    def __init__(self, store: Store, clock: Clock, catalogue: Catalogue, spawn: Spawn, put: PutObject | None) -> None:
        """Without `put` the server has no buckets, and exports are refused."""
        self._store = store
        self._entries = Entries(store.catalogue, EXPORT)
        self._clock = clock
        self._catalogue = catalogue
        self._spawn = spawn
        self.put = put

    async def start(self) -> None:
        """Restart the unfinished exports of an earlier process."""
        for export in await self.all(None):
            if export.status == IN_PROGRESS:
                self._spawn(self._run(export))

    async def all(self, table_arn: str | None) -> list[Export]:
        """Exports of a table, or of all tables, newest first."""
        every = self._entries.walk(newest_first=True)
        return [export async for export in every if table_arn in (None, export.table_arn)]

    async def find(self, arn: str) -> Export:
        """An export. Raises: ApiError (`ExportNotFoundException`)."""
        found = await self._entries.get(arn)
        if found is None:
            raise ApiError("ExportNotFoundException", f"Export not found: {arn}")
        return found

    async def begin(self, request: Mapping[str, Json]) -> Export:
        """Begin an export. Raises: ApiError."""
        table = self._catalogue.find(request["TableArn"])
        if table is None:
            raise ApiError("TableNotFoundException", f"Table not found: {request['TableArn']}")
        _refuse_others(request)
        if table.definition.recovery_ms is None:
            raise ApiError(
                "PointInTimeRecoveryUnavailableException",
                f"Point in time recovery is not enabled for table '{table.definition.name}'",
            )
        now_ms = self._clock.now_ms()
        wanted_ms = request.get("ExportTime", now_ms)
        if not earliest_ms(table.definition.recovery_ms, now_ms) <= wanted_ms <= now_ms:
            raise ApiError(
                "InvalidExportTimeException",
                "The specified ExportTime is outside of the point in time recovery window: Statewright exports the "
                "current table only, so omit ExportTime",
            )
        token = request.get("ClientToken") or chance.uuid4()
        same = next((one for one in await self.all(table.arn) if one.token == token), None)
        if same is not None:
            return self._repeated(same, request)
        name = f"{now_ms:014}-{chance.random_bytes(4).hex()}"
        export = Export(
            f"{table.arn}/export/{name}",
            table.arn,
            table.definition.id,
            now_ms,
            wanted_ms,
            token,
            request["S3Bucket"],
            request.get("S3Prefix"),
            request.get("S3BucketOwner"),
            request.get("S3SseAlgorithm", "AES256"),
        )
        export = await self._entries.write(export)
        self._spawn(self._run(export))
        return export

    def _repeated(self, same: Export, request: Mapping[str, Json]) -> Export:
        if (same.bucket, same.prefix) != (request["S3Bucket"], request.get("S3Prefix")):
            raise ApiError(
                "ExportConflictException",
                "The export parameters conflict with those of an earlier export with the same client token",
            )
        return same

    # ------------------------------------------------------------------ in the background

    async def _run(self, export: Export) -> None:
        """Write an export's files, and note how it ended."""
        try:
            export = await self._write(export)
        except ApiError as problem:
            code = "S3NoSuchBucket" if problem.code == "NoSuchBucket" else problem.code
            export = replace(export, status="FAILED", failure=(code, problem.message))
        except StoreError as problem:
            log.warning("export %s is postponed: %s", export.arn, problem)
            return
        await self._entries.write(replace(export, ended_ms=self._clock.now_ms()))

    async def _write(self, export: Export) -> Export:
        table = self._catalogue.find(export.table_arn)
        if table is None or table.definition.id != export.table_id:
            raise ApiError("TableNotFound", "The table was deleted before it was exported")
        put = self._writer(export.bucket)
        await put(f"{export.folder}_started", b"")
        files: list[dict[str, Json]] = []
        lines: list[bytes] = []
        items = size = in_file = 0
        after = (b"", b"")
        while True:
            found = await self._store.tables.scan(table.definition.space, after=after, below=BEHIND_PARTS, limit=STEP)
            for stored in found:
                lines.append(b'{"Item":' + stored.body.encode() + b"}\n")
                in_file += stored.size
            items += len(found)
            if found:
                place = table.place(parse(found[-1]))
                after = place.part, place.sort
            is_end = len(found) < STEP
            if in_file >= FILE_BYTES or is_end:
                if lines or not files:
                    files.append(await _put_file(put, export, lines))
                size += in_file
                lines, in_file = [], 0
            if is_end:
                break
        await self._put_manifests(put, export, table, files, items, size)
        return replace(export, status="COMPLETED", items=items, bytes=size)

    def _writer(self, bucket: str) -> Callable[[str, bytes], Awaitable[str]]:
        put = self.put
        if put is None:
            raise ApiError("NoSuchBucket", "This server has no buckets")
        return lambda key, content: put(bucket, key, content)

    async def _put_manifests(
        self,
        put: Callable[[str, bytes], Awaitable[str]],
        export: Export,
        table: Table,
        files: Sequence[Json],
        items: int,
        size: int,
    ) -> None:
        summary = {
            "version": "2020-06-30",
            "exportArn": export.arn,
            "startTime": iso_ms(export.started_ms),
            "endTime": iso_ms(self._clock.now_ms()),
            "tableArn": table.arn,
            "tableId": export.table_id,
            "exportTime": iso_ms(export.export_ms),
            "s3Bucket": export.bucket,
            "s3Prefix": export.prefix,
            "s3SseAlgorithm": export.encryption,
            "s3SseKmsKeyId": None,
            "manifestFilesS3Key": f"{export.folder}manifest-files.json",
            "billedSizeBytes": size,
            "itemCount": items,
            "outputFormat": "DYNAMODB_JSON",
            "exportType": "FULL_EXPORT",
        }
        listed = b"".join(orjson.dumps(one) + b"\n" for one in files)
        for name, content in (("manifest-files", listed), ("manifest-summary", orjson.dumps(summary))):
            await put(f"{export.folder}{name}.json", content)
            checksum = base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest())
            await put(f"{export.folder}{name}.md5", checksum)


async def _put_file(
    put: Callable[[str, bytes], Awaitable[str]], export: Export, lines: Sequence[bytes]
) -> dict[str, Json]:
    # In a thread: compressing megabytes takes a while.
    content = await asyncio.get_running_loop().run_in_executor(None, _packed, lines)
    key = f"{export.folder}data/{chance.random_bytes(13).hex()}.json.gz"
    etag = await put(key, content)
    checksum = base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()
    return {"itemCount": len(lines), "md5Checksum": checksum, "etag": etag, "dataFileS3Key": key}


def _packed(lines: Sequence[bytes]) -> bytes:
    return gzip.compress(b"".join(lines), 6, mtime=0)


def earliest_ms(recovery_ms: int, now_ms: int) -> int:
    """The first instant that an export may ask for, in whole seconds as SDKs send them."""
    return max(recovery_ms, now_ms - RECENT_MS) // 1000 * 1000


def _refuse_others(request: Mapping[str, Json]) -> None:
    if request.get("ExportType", "FULL_EXPORT") != "FULL_EXPORT" or request.get("IncrementalExportSpecification"):
        raise invalid("One or more parameter values were invalid: Statewright does not support incremental exports")
    if request.get("ExportFormat", "DYNAMODB_JSON") != "DYNAMODB_JSON":
        raise invalid("One or more parameter values were invalid: Statewright supports only DYNAMODB_JSON exports")
    if request.get("FilterSpecification"):
        raise invalid("One or more parameter values were invalid: Statewright does not support export filters")
