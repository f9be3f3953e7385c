"""Items and results of distributed Maps in buckets: the sources of an ItemReader, the files of a ResultWriter.

Owns the sources: one file, a list of objects, the contents of listed objects, the files that a manifest names. Formats
are in `item_formats.py` and `parquet_items.py`, access to buckets in `buckets.py`.

Source: developer guide, "ItemReader (Map)" and "ResultWriter (Map)"; the members of a listed object are observed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing
from typing import Final
from urllib.parse import urlsplit

from statewright.engine.map_runs.data import Slice
from statewright.engine.map_runs.head import RunHead
from statewright.errors import ApiError
from statewright.integrations.api_values import ApiMapping, ApiObject
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.map_data.buckets import Buckets, put
from statewright.integrations.map_data.item_formats import (
    JsonDocument,
    Unreadable,
    decompressor,
    format_of,
    rows_of,
)
from statewright.payload import Json, JsonObject, JsonTextError, parse_json

MANIFEST_BYTES: Final = 256 * 1024 * 1024
"""The longest manifest that is accepted; manifests are read whole."""

Part = tuple[list[Json], str | None]
"""Items and their source, if that is not the object that the definition names."""


class BucketData:
    """`MapRunData` on buckets. `buckets` returns the buckets, and raises ApiError if there are none."""

    def __init__(self, buckets: Callable[[], Buckets], blocking: BlockingCalls) -> None:
        self._buckets = buckets
        self._blocking = blocking

    async def open(self, _head: RunHead, reader: Json, config: Json, resource: str) -> BucketItems:
        """Open the items of an ItemReader. Raises: ApiError whose message is the cause of the failure."""
        arguments = reader if isinstance(reader, dict) else {}
        settings = config if isinstance(config, dict) else {}
        if "Bucket" not in arguments:
            raise ApiError("Unreadable", "The ItemReader names no Bucket")
        if resource.endswith(":listObjectsV2"):
            if settings.get("Transformation") == "LOAD_AND_FLATTEN":
                return BucketItems(self._contents_of_listed(arguments, settings))
            return BucketItems(self._listed(arguments))
        if "Key" not in arguments:
            raise ApiError("Unreadable", "The ItemReader names no Key")
        kind = settings.get("InputType", "JSON")
        manifest = settings.get("ManifestType")
        if manifest == "ATHENA_DATA":
            return BucketItems(self._athena(arguments, settings, kind))
        if manifest == "S3_INVENTORY" or kind == "MANIFEST":
            return BucketItems(self._inventory(arguments))
        document = JsonDocument(settings.get("ItemsPointer")) if kind == "JSON" else None
        return BucketItems(self._file(arguments, settings, kind, None, document), document)

    async def write(self, _head: RunHead, bucket: str, key: str, pieces: Iterable[bytes], _arguments: Json) -> int:
        """Write a result file; returns its size. Raises: ApiError whose message is the cause of the failure."""
        try:
            return await put(self._buckets(), bucket, key, pieces)
        except ApiError as problem:
            raise ApiError(problem.code, f"{problem.message} (writing s3://{bucket}/{key})") from None

    # -------------------------------------------------------------- sources

    async def _file(
        self, where: JsonObject, config: JsonObject, kind: str, source: str | None,
        document: JsonDocument | None = None,
    ) -> AsyncGenerator[Part, None]:  # fmt: skip
        """The items in one object."""
        if kind == "PARQUET":
            async for items in self._parquet(where):
                yield items, source
            return
        name = f"s3://{where['Bucket']}/{where['Key']}"
        try:
            packed = decompressor(str(where["Key"]))
            reader = document or format_of(kind, config)
            async with aclosing(await self._get(where)) as body:
                async for piece in body:
                    items = list(reader.feed(packed.feed(piece)))
                    if items:
                        yield items, source
            yield [*reader.feed(packed.finish()), *reader.finish()], source
        except Unreadable as problem:
            # The service's own texts, which do not name the object, stay as they are.
            text = str(problem)
            known = text.endswith("node.") or text.startswith("CSV headers")
            raise ApiError("Unreadable", text if known else f"{text} ({name})") from None

    async def _parquet(self, where: JsonObject) -> AsyncGenerator[list[Json], None]:
        from statewright.integrations.map_data.parquet_items import ParquetFile

        file = ParquetFile()
        try:
            async with aclosing(await self._get(where)) as body:
                async for piece in body:
                    await self._blocking.run(file.write, piece)
            await self._blocking.run(file.open)
            while items := await self._blocking.run(file.next_items):
                yield items
        except Unreadable as problem:
            raise ApiError("Unreadable", f"{problem} (s3://{where['Bucket']}/{where['Key']})") from None
        finally:
            await self._blocking.run(file.close)

    async def _objects(self, where: JsonObject) -> AsyncGenerator[list[ApiObject], None]:
        """Pages of listed objects, as the API has them."""
        request = dict(where)
        while True:
            page = await self._call("ListObjectsV2", request)
            yield page.get("Contents") or []
            token = page.get("NextContinuationToken")
            if not page.get("IsTruncated") or not token:
                return
            request = {**where, "ContinuationToken": token}

    async def _listed(self, where: JsonObject) -> AsyncGenerator[Part, None]:
        async for page in self._objects(where):
            yield [_listed_item(entry) for entry in page], None

    async def _contents_of_listed(self, where: JsonObject, config: JsonObject) -> AsyncGenerator[Part, None]:
        kind, bucket = config.get("InputType", "JSON"), where["Bucket"]
        async for page in self._objects(where):
            for entry in page:
                key = entry["Key"]
                if key.endswith("/") and not entry.get("Size"):
                    continue  # The placeholder of a folder holds nothing.
                source = f"s3://{bucket}/{key}"
                async with aclosing(self._file({"Bucket": bucket, "Key": key}, config, kind, source)) as parts:
                    async for part in parts:
                        yield part

    async def _athena(self, where: JsonObject, config: JsonObject, kind: str) -> AsyncGenerator[Part, None]:
        """The files that a query's manifest lists, one address a line."""
        for row in rows_of(await self._whole(where)):
            address = urlsplit(row[0].strip())
            if address.scheme not in ("s3", "s3a") or not address.netloc:
                raise ApiError("Unreadable", f"The manifest names '{row[0][:200]}', which is not an S3 address")
            found = {"Bucket": address.netloc, "Key": address.path[1:]}
            async with aclosing(self._file(found, config, kind, row[0].strip())) as parts:
                async for part in parts:
                    yield part

    async def _inventory(self, where: JsonObject) -> AsyncGenerator[Part, None]:
        """The rows of the files of an inventory."""
        try:
            manifest = parse_json(await self._whole(where))
            headers = [name.strip() for name in manifest["fileSchema"].split(",")]
            files = [file["key"] for file in manifest["files"]]
            bucket = str(manifest.get("destinationBucket") or where["Bucket"]).rpartition(":")[2]
            form = manifest.get("fileFormat", "CSV")
        except (JsonTextError, KeyError, TypeError, AttributeError) as problem:
            raise ApiError("Unreadable", f"The manifest is not that of an S3 inventory: {problem}") from None
        if form != "CSV":
            raise ApiError("Unreadable", f"The inventory's format is {form}; only CSV can be read")
        config = {"CSVHeaderLocation": "GIVEN", "CSVHeaders": headers}
        for key in files:
            async with aclosing(self._file({"Bucket": bucket, "Key": key}, config, "CSV", None)) as parts:
                async for part in parts:
                    yield part

    # -------------------------------------------------------------- objects

    async def _call(self, operation: str, request: ApiObject) -> ApiObject:
        return await self._buckets().call(operation, request)

    async def _get(self, where: JsonObject) -> AsyncGenerator[bytes, None]:
        """The body of an object."""
        answer = await self._call("GetObject", where)
        return _closable(answer["Body"])

    async def _whole(self, where: JsonObject) -> bytes:
        packed = decompressor(str(where["Key"]))
        pieces, size = [], 0
        async with aclosing(await self._get(where)) as body:
            async for piece in body:
                pieces.append(packed.feed(piece))
                size += len(pieces[-1])
                if size > MANIFEST_BYTES:
                    raise ApiError("Unreadable", f"The manifest is longer than {MANIFEST_BYTES} bytes")
        return b"".join([*pieces, packed.finish()])


class BucketItems:
    """The items of a source, in slices."""

    def __init__(self, parts: AsyncGenerator[Part, None], document: JsonDocument | None = None) -> None:
        self._parts = parts
        self._document = document
        self._waiting: list[Json] = []
        self._at = 0
        self._source: str | None = None
        self._ended = False

    async def take(self, count: int) -> Slice:
        """Up to `count` items, all from one source. Raises: ApiError."""
        while self._at == len(self._waiting) and not self._ended:
            await self._advance()
        values = self._waiting[self._at : self._at + count]
        self._at += len(values)
        source = self._source
        # Only reading on shows that these are the last ones.
        while self._at == len(self._waiting) and not self._ended:
            await self._advance()
        total = self._document.total if self._document is not None else None
        return Slice(values, self._ended and self._at == len(self._waiting), None, total, source)

    async def _advance(self) -> None:
        try:
            self._waiting, self._source = await anext(self._parts)
            self._at = 0
        except StopAsyncIteration:
            self._ended = True

    async def close(self) -> None:
        """Close the source."""
        self._ended = True
        await self._parts.aclose()


def _listed_item(entry: ApiMapping) -> JsonObject:
    """A listed object as a child sees it."""
    modified = entry["LastModified"]
    seconds = modified / 1000 if isinstance(modified, int) else modified.timestamp()
    return {
        "Etag": entry["ETag"],
        "Key": entry["Key"],
        "LastModified": seconds,
        "Size": entry["Size"],
        "StorageClass": entry.get("StorageClass", "STANDARD"),
    }


async def _closable(body: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """A body as a generator, so that closing it early closes its source."""
    try:
        async for piece in body:
            yield piece
    finally:
        close = getattr(body, "aclose", None)
        if close is not None:
            await close()
