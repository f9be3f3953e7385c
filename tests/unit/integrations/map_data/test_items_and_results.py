from __future__ import annotations

import asyncio
import gzip
import io
import json
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from statewright.clock import RealClock
from statewright.config import Config, Endpoint
from statewright.engine.map_runs.data import Slice
from statewright.engine.map_runs.head import RunHead
from statewright.errors import ApiError
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.map_data import buckets
from statewright.integrations.map_data.buckets import OwnBuckets, put
from statewright.integrations.map_data.items_and_results import BucketData
from statewright.integrations.registry import Registry
from tests.unit.integrations.stub import NO_CALLS

HEAD = RunHead("run", 1, "parent", 1, "r", 1, "STANDARD", "role", None, None, (), 0, "Map")
GET = "arn:aws:states:::s3:getObject"
LIST = "arn:aws:states:::s3:listObjectsV2"
PAGE = 2


class FakeS3:
    """Answers as S3 does, out of a dict; lists two keys a page."""

    content_type = "application/xml"

    def __init__(self, objects: dict[str, bytes]) -> None:
        self.objects = objects
        self.closed = 0
        self.calls: list[str] = []
        self.parts: list[bytes] = []
        self.fails = ""

    async def __call__(
        self, operation: str, request: dict[str, Any], *, request_id: str, completion: Any = None
    ) -> Any:
        self.calls.append(operation)
        if operation == self.fails:
            raise ApiError("AccessDenied", "Access Denied")
        return getattr(self, operation)(request)

    def GetObject(self, request: dict[str, Any]) -> Any:  # noqa: N802
        key = request["Key"]
        if key not in self.objects:
            raise ApiError("NoSuchKey", "The specified key does not exist.")
        return {"Body": self.body(self.objects[key])}

    async def body(self, data: bytes) -> AsyncIterator[bytes]:
        try:
            for at in range(0, len(data), 64):
                yield data[at : at + 64]
        finally:
            self.closed += 1

    def ListObjectsV2(self, request: dict[str, Any]) -> Any:  # noqa: N802
        keys = sorted(key for key in self.objects if key.startswith(request.get("Prefix", "")))
        first = int(request.get("ContinuationToken", 0))
        found = [
            {"Key": key, "LastModified": 1_700_000_000_500, "ETag": '"e"', "Size": len(self.objects[key]),
             "StorageClass": "STANDARD"}
            for key in keys[first : first + PAGE]
        ]  # fmt: skip
        more = first + PAGE < len(keys)
        return {"Contents": found, "IsTruncated": more, "NextContinuationToken": str(first + PAGE) if more else None}

    def PutObject(self, request: dict[str, Any]) -> Any:  # noqa: N802
        self.objects[request["Key"]] = request["Body"]
        return {}

    def CreateMultipartUpload(self, _request: dict[str, Any]) -> Any:  # noqa: N802
        return {"UploadId": "u"}

    def UploadPart(self, request: dict[str, Any]) -> Any:  # noqa: N802
        self.parts.append(request["Body"])
        return {"ETag": f'"{request["PartNumber"]}"'}

    def CompleteMultipartUpload(self, request: dict[str, Any]) -> Any:  # noqa: N802
        assert [part["PartNumber"] for part in request["MultipartUpload"]["Parts"]] == [*range(1, len(self.parts) + 1)]
        self.objects[request["Key"]] = b"".join(self.parts)
        return {}

    def AbortMultipartUpload(self, _request: dict[str, Any]) -> Any:  # noqa: N802
        return {}


async def _read(service: FakeS3, arguments: dict[str, Any], config: Any, resource: str, count: int):
    blocking = BlockingCalls(RealClock())
    data = BucketData(lambda: OwnBuckets(service), blocking)
    try:
        stream = await data.open(HEAD, arguments, config, resource)
        parts: list[Slice] = []
        while not parts or not parts[-1].last:
            parts.append(await stream.take(count))
        await stream.close()
        return parts
    finally:
        blocking.close()


def read(objects: dict[str, bytes], key: str | None, config: Any = None, resource: str = GET, count: int = 100, **more):
    arguments = {"Bucket": "b", **({"Key": key} if key is not None else {}), **more}
    parts = asyncio.run(_read(FakeS3(objects), arguments, config, resource, count))
    return [value for part in parts for value in part.values]


def test_one_file_of_each_format():
    assert read({"k": b"[1, 2, 3]"}, "k", {"InputType": "JSON"}) == [1, 2, 3]
    assert read({"k": b'{"d": [4]}'}, "k", {"InputType": "JSON", "ItemsPointer": "/d"}) == [4]
    assert read({"k": b"1\n2\n"}, "k", {"InputType": "JSONL"}) == [1, 2]
    first_row = {"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"}
    assert read({"k": b"a,b\n1,2\n"}, "k", first_row) == [{"a": "1", "b": "2"}]
    assert read({"k.gz": gzip.compress(b"1\n2")}, "k.gz", {"InputType": "JSONL"}) == [1, 2]


def test_slices_end_with_the_last_item():
    data = "\n".join(map(str, range(250))).encode()
    service = FakeS3({"k": data})
    parts = asyncio.run(_read(service, {"Bucket": "b", "Key": "k"}, {"InputType": "JSONL"}, GET, 100))
    assert [value for part in parts for value in part.values] == list(range(250))
    assert [part.last for part in parts] == [False] * (len(parts) - 1) + [True]
    assert service.closed == 1


def test_a_document_reports_its_total_with_the_first_slice():
    parts = asyncio.run(_read(FakeS3({"k": b"[1,2,3]"}), {"Bucket": "b", "Key": "k"}, {"InputType": "JSON"}, GET, 2))
    assert [(list(part.values), part.last, part.total) for part in parts] == [([1, 2], False, 3), ([3], True, 3)]


def test_an_empty_file_has_no_items():
    assert read({"k": b""}, "k", {"InputType": "JSONL"}) == []
    assert read({"k": b"[]"}, "k", {"InputType": "JSON"}) == []


def test_a_run_that_ends_early_lets_go_of_its_file():
    async def run() -> int:
        service = FakeS3({"k": b"\n".join([b"1"] * 1000)})
        blocking = BlockingCalls(RealClock())
        data = BucketData(lambda: OwnBuckets(service), blocking)
        stream = await data.open(HEAD, {"Bucket": "b", "Key": "k"}, {"InputType": "JSONL"}, GET)
        await stream.take(1)
        await stream.close()
        return service.closed

    assert asyncio.run(run()) == 1


def test_listed_objects_page_after_page():
    objects = {f"in/{n}": b"x" * n for n in range(5)} | {"out/1": b""}
    found = read(objects, None, None, LIST, Prefix="in/")
    assert found[3] == {
        "Etag": '"e"', "Key": "in/3", "LastModified": 1_700_000_000.5, "Size": 3, "StorageClass": "STANDARD",
    }  # fmt: skip
    assert len(found) == 5


def test_the_contents_of_listed_objects():
    objects = {"in/": b"", "in/1": b"1\n2\n", "in/2": b"", "in/3": b"3\n"}
    config = {"InputType": "JSONL", "Transformation": "LOAD_AND_FLATTEN"}
    arguments = {"Bucket": "b", "Prefix": "in/"}
    parts = asyncio.run(_read(FakeS3(objects), arguments, config, LIST, 10))
    found = [(list(part.values), part.source) for part in parts if part.values]
    assert found == [([1, 2], "s3://b/in/1"), ([3], "s3://b/in/3")]


def test_the_files_of_a_query():
    objects = {"m.csv": b"s3://c/1.gz\ns3://c/2\n", "1.gz": gzip.compress(b"1\n"), "2": b"2\n"}
    config = {"ManifestType": "ATHENA_DATA", "InputType": "JSONL"}
    assert read(objects, "m.csv", config) == [1, 2]
    with pytest.raises(ApiError, match="which is not an S3 address"):
        read({"m.csv": b"/tmp/x\n"}, "m.csv", config)


INVENTORY = {
    "destinationBucket": "arn:aws:s3:::reports", "fileFormat": "CSV", "fileSchema": "Bucket, Key, Size",
    "files": [{"key": "d/1.csv.gz", "size": 1}, {"key": "d/2.csv.gz", "size": 1}],
}  # fmt: skip


@pytest.mark.parametrize("config", [{"InputType": "MANIFEST"}, {"ManifestType": "S3_INVENTORY"}])
def test_an_inventory(config):
    objects = {
        "manifest.json": json.dumps(INVENTORY).encode(),
        "d/1.csv.gz": gzip.compress(b'"photos","a.jpg","3"\n'),
        "d/2.csv.gz": gzip.compress(b'"photos","b.jpg","4"\n'),
    }
    assert read(objects, "manifest.json", config) == [
        {"Bucket": "photos", "Key": "a.jpg", "Size": "3"},
        {"Bucket": "photos", "Key": "b.jpg", "Size": "4"},
    ]


def test_an_inventory_that_is_none():
    with pytest.raises(ApiError, match="not that of an S3 inventory"):
        read({"m": b"[]"}, "m", {"InputType": "MANIFEST"})
    orc = json.dumps({**INVENTORY, "fileFormat": "ORC"}).encode()
    with pytest.raises(ApiError, match="only CSV can be read"):
        read({"m": orc}, "m", {"InputType": "MANIFEST"})


def parquet(**columns: Any) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as files

    target = io.BytesIO()
    files.write_table(pyarrow.table(columns), target)
    return target.getvalue()


def test_rows_of_parquet():
    data = parquet(
        n=[1, 2], s=["a", None], d=[date(2026, 1, 2)] * 2, t=[datetime(2026, 1, 2, 3, tzinfo=UTC)] * 2,
        b=[b"\x00\xff"] * 2, m=[Decimal("1.50")] * 2, l=[[1, 2], []],
    )  # fmt: skip
    rows = read({"k": data}, "k", {"InputType": "PARQUET"})
    assert rows[0] == {
        "n": 1, "s": "a", "d": "2026-01-02", "t": "2026-01-02T03:00:00+00:00", "b": "AP8=", "m": "1.50", "l": [1, 2],
    }  # fmt: skip
    assert rows[1]["s"] is None
    with pytest.raises(ApiError, match=r"not Parquet: .*\(s3://b/k\)"):
        read({"k": b"no"}, "k", {"InputType": "PARQUET"})


@pytest.mark.parametrize(
    ("objects", "key", "config", "words"),
    [
        ({}, "k", {}, "^NoSuchKey: The specified key does not exist.$"),
        ({"k": b"{]"}, "k", {"InputType": "JSONL"}, r"Line 1 is not JSON: .*\(s3://b/k\)"),
        ({"k": b"7"}, "k", {"InputType": "JSON"}, "Attempting to map over non-iterable node.$"),
        ({"k": b""}, None, {}, "names no Key"),
    ],
)
def test_unreadable_data_is_reported(objects, key, config, words):
    with pytest.raises(ApiError, match=words):
        read(objects, key, config)


def write(service: FakeS3, pieces: list[bytes]) -> int:
    return asyncio.run(put(OwnBuckets(service), "b", "k", pieces))


def test_a_result_file_is_put_at_once():
    service = FakeS3({})
    assert write(service, [b"ab", b"c"]) == 3
    assert (service.objects, service.calls) == ({"k": b"abc"}, ["PutObject"])


def test_a_long_result_file_is_put_in_parts(monkeypatch):
    monkeypatch.setattr(buckets, "PART_BYTES", 4)
    service = FakeS3({})
    assert write(service, [b"abc"] * 5) == 15
    assert service.objects == {"k": b"abc" * 5}
    assert service.parts == [b"abcabc", b"abcabc", b"abc"]


def test_an_upload_that_fails_is_given_up(monkeypatch):
    monkeypatch.setattr(buckets, "PART_BYTES", 4)
    service = FakeS3({})
    service.fails = "UploadPart"
    with pytest.raises(ApiError, match="Access Denied"):
        write(service, [b"abc"] * 5)
    assert service.calls[-1] == "AbortMultipartUpload"
    assert service.objects == {}


def test_without_buckets_it_is_said_what_to_do():
    async def run() -> None:
        await Registry(Config(), RealClock(), NO_CALLS).data.open(HEAD, {"Bucket": "b", "Prefix": ""}, {}, LIST)
        stream = await Registry(Config(), RealClock(), NO_CALLS).data.open(HEAD, {"Bucket": "b", "Key": "k"}, {}, GET)
        with pytest.raises(ApiError, match="no endpoint is configured"):
            await stream.take(1)

    asyncio.run(run())


def test_buckets_at_an_endpoint_that_does_not_answer():
    async def run() -> None:
        registry = Registry(Config(endpoints={"s3": Endpoint("http://127.0.0.1:9")}), RealClock(), NO_CALLS)
        with pytest.raises(ApiError, match="Unable to execute HTTP request"):
            await registry.data.write(HEAD, "b", "k", [b"x"], None)
        await registry.close()

    asyncio.run(run())
