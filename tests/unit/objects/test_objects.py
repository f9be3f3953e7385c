from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from statewright.clock import RealClock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.objects import vault
from statewright.objects.bodies import MemoryBodies
from statewright.objects.conditions import ReadConditions
from statewright.objects.copies import Wish
from statewright.objects.intake import IN_ROW_BYTES, STEP_BYTES, Promise
from statewright.objects.locks import LOCK, ON, Lock
from statewright.objects.objects import Objects
from statewright.objects.records import Checksum, Settings
from statewright.objects.state import ObjectState
from statewright.objects.versions.ids import ENABLED, VERSIONING
from statewright.stores.memory.store import MemoryStore
from statewright.stores.object_rows import Demand
from statewright.stores.sqlite.store import SqliteStore
from tests.deadlines import until_async
from tests.unit.objects.conftest import files_in, refused

SIZES = [0, 1, IN_ROW_BYTES, IN_ROW_BYTES + 1, STEP_BYTES, 3 * STEP_BYTES + 17]


def pattern(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


async def pieces(body: bytes, size: int = 70_000) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


async def settled(objects: Objects) -> None:
    while objects.state.vault._sweeping is not None:
        await asyncio.sleep(0)


@pytest.mark.parametrize("size", SIZES)
def test_get_returns_what_was_put(with_objects, size):
    async def body(objects: Objects) -> None:
        content = pattern(size)
        view = await objects.put("bucket", "k", pieces(content))
        assert (view.size, view.etag) == (size, hashlib.md5(content).hexdigest())
        assert await objects.reading.read("bucket", "k") == content
        assert (await objects.reading.head("bucket", "k")).etag == view.etag
        if size == 0:
            assert (await refused(objects.reading.get("bucket", "k", range="bytes=-3"))).code == "InvalidRange"
            return
        found, stream, span = await objects.reading.get("bucket", "k", range="bytes=-3")
        assert b"".join([chunk async for chunk in stream]) == content[-3:]
        assert (found, span) == (view, (max(size - 3, 0), size - 1))

    with_objects(body)


KEYS = ["../../etc/passwd", "a//b", "nul\x00byte", "é/日本/😀", "/", ".", "con", "x" * 1024, "\U0010ffff", "a\nb\r"]


def test_keys_are_any_unicode_and_never_file_names(with_objects, tmp_path):
    async def body(objects: Objects) -> None:
        for key in KEYS:
            await objects.put("bucket", key, pattern(20_000) + key.encode())
        for key in KEYS:
            assert (await objects.reading.read("bucket", key))[20_000:].decode() == key
        listed = await objects.list_keys("bucket")
        assert [view.key for view in listed.objects] == sorted(KEYS, key=str.encode)
        assert all(set(name) <= set("0123456789abcdef") for name in files_in(tmp_path / "objects"))

    with_objects(body)


INVALID_KEYS = [
    ("", "InvalidArgument"), ("x" * 1025, "KeyTooLongError"), ("é" * 513, "KeyTooLongError"),
    ("\ud800", "InvalidArgument"),
]  # fmt: skip


def test_invalid_keys(with_objects):
    async def body(objects: Objects) -> None:
        for key, code in INVALID_KEYS:
            assert (await refused(objects.put("bucket", key, b""))).code == code

    with_objects(body)


INVALID_BUCKETS = [
    "ab", "a" * 64, "Upper", "under_score", "-a", "a-", "a..b", "a.-b", "192.168.0.1", "xn--abc", "x-s3alias",
    "ends--ol-s3", "",
]  # fmt: skip


def test_invalid_bucket_names(with_objects):
    async def body(objects: Objects) -> None:
        for name in INVALID_BUCKETS:
            assert (await refused(objects.create_bucket(name))).code == "InvalidBucketName", name

    with_objects(body)


def test_buckets(with_objects):
    async def body(objects: Objects) -> None:
        made = await objects.create_bucket("another.bucket-2", region="eu-west-1", tags={"a": "b"})
        assert [bucket.name for bucket in await objects.list_buckets()] == ["another.bucket-2", "bucket"]
        assert (await refused(objects.create_bucket("bucket"))).code == "BucketAlreadyOwnedByYou"
        assert await objects.bucket("another.bucket-2") == made
        await objects.set_bucket_tags("bucket", {"x": "y"})
        assert (await objects.bucket("bucket")).tags == {"x": "y"}
        await objects.put("bucket", "k", b"1")
        assert (await refused(objects.delete_bucket("bucket"))).code == "BucketNotEmpty"
        await objects.deletions.delete("bucket", "k")
        await objects.delete_bucket("bucket")
        for call in (objects.bucket("bucket"), objects.put("bucket", "k", b""), objects.list_keys("bucket"),
                     objects.reading.get("bucket", "k"), objects.deletions.delete("bucket", "k")):  # fmt: skip
            assert (await refused(call)).code == "NoSuchBucket"

    with_objects(body)


def test_settings_stay_with_an_object(with_objects):
    async def body(objects: Objects) -> None:
        settings = Settings(
            {"ContentType": "text/x"}, {"a": "b"}, {"t": "1"}, "STANDARD_IA", {"ServerSideEncryption": "AES256"}
        )
        await objects.put("bucket", "k", b"1", settings=settings)
        assert (await objects.reading.head("bucket", "k")).settings == settings
        await objects.set_tags("bucket", "k", {"u": "2"})
        assert (await objects.reading.head("bucket", "k")).settings.tags == {"u": "2"}
        assert (await objects.list_keys("bucket")).objects[0].settings.storage_class == "STANDARD_IA"
        too_much = Settings(metadata={"a": "x" * 2048})
        assert (await refused(objects.put("bucket", "k", b"", settings=too_much))).code == "MetadataTooLarge"

    with_objects(body)


PROMISES = [
    (Promise(md5="CY9rzUYh03PK3k6DJie09g=="), None),
    (Promise(md5="AAAAAAAAAAAAAAAAAAAAAA=="), "BadDigest"),
    (Promise(md5="CY9r"), "InvalidDigest"),
    (Promise(length=4), None),
    (Promise(length=5), "IncompleteBody"),
    (Promise(length=5 * 1024**3 + 1), "EntityTooLarge"),
    (Promise(sha256="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"), None),
    (Promise(sha256="0" * 64), "XAmzContentSHA256Mismatch"),
    (Promise(checksums={"CRC32": "2H9+DA=="}), None),
    (Promise(checksums={"CRC32": "AAAAAA=="}), "BadDigest"),
    (Promise(checksums={"CRC32": "AAAA"}), "InvalidRequest"),
    (Promise(checksums={"CRC32C": "hqBywA=="}), None),
    (Promise(checksums={"CRC64NVME": "+bu+zv66sUM="}), None),
    (Promise(checksums={"SHA1": "qUqP5cyxm6YcTAhz05Hph5gvu9M="}), None),
    (Promise(checksums={"SHA256": "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="}), None),
    (Promise(checksums={"SHA256": "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgA="}), "BadDigest"),
    (Promise(checksums={"XXHASH64": "AAAAAAAAAAA="}), "NotImplemented"),
    (Promise(checksums={"ADLER": "AAAAAA=="}), "InvalidRequest"),
    (Promise(algorithm="CRC32", trailers={"x-amz-checksum-crc32": "2H9+DA=="}), None),
    (Promise(algorithm="CRC32", trailers={"x-amz-checksum-crc32": "AAAAAA=="}), "BadDigest"),
]


def test_what_a_sender_promises_is_checked(with_objects, tmp_path):
    async def body(objects: Objects) -> None:
        for promise, code in PROMISES:
            call = objects.put("bucket", "k", pieces(b"test", 1), promise=promise)
            if code is None:
                view = await call
                for algorithm, value in promise.checksums.items():
                    assert view.checksum == Checksum(algorithm, value)
                await objects.deletions.delete("bucket", "k")
            else:
                assert (await refused(call)).code == code, promise
            await nothing_is_kept(objects)
            assert files_in(tmp_path / "objects") == []

    with_objects(body)


def test_what_a_sender_promises_is_not_true_of_a_longer_body(with_objects, tmp_path):
    async def body(objects: Objects) -> None:
        for promise, _ in PROMISES:
            await refused(objects.put("bucket", "k", pieces(b"test" + bytes(20_000), 100), promise=promise))
            await nothing_is_kept(objects)
            assert files_in(tmp_path / "objects") == []

    with_objects(body)


async def nothing_is_kept(objects: Objects) -> None:
    assert (await refused(objects.reading.head("bucket", "k"))).code == "NoSuchKey"


def test_an_interrupted_stream_leaves_nothing(with_objects, tmp_path):
    async def broken(steps: int) -> AsyncIterator[bytes]:
        for _ in range(steps):
            yield b"x" * STEP_BYTES
        raise ConnectionError("gone")

    async def body(objects: Objects) -> None:
        for steps in (0, 1, 3):
            with pytest.raises(ConnectionError):
                await objects.put("bucket", "k", broken(steps))
        assert files_in(tmp_path / "objects") == []
        kept = getattr(objects.state.vault.bodies, "kept", {})
        assert not kept
        assert (await objects.list_keys("bucket")).objects == []

    with_objects(body)


def test_a_cancelled_put_leaves_nothing(with_objects, tmp_path):
    async def body(objects: Objects) -> None:
        reached = asyncio.Event()

        async def endless() -> AsyncIterator[bytes]:
            yield b"x" * STEP_BYTES
            yield b"x" * STEP_BYTES
            reached.set()
            await asyncio.Event().wait()
            yield b""

        task = asyncio.ensure_future(objects.put("bucket", "k", endless()))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert files_in(tmp_path / "objects") == []

    with_objects(body)


def test_an_overwritten_object_is_read_to_its_end(with_objects, tmp_path):
    async def body(objects: Objects) -> None:
        old, new = pattern(3_000_000), b"n" * 3_000_000
        await objects.put("bucket", "k", old)
        _, stream, _ = await objects.reading.get("bucket", "k")
        first = await anext(stream)
        await objects.put("bucket", "k", new)
        await objects.deletions.delete("bucket", "k")
        rest = [chunk async for chunk in stream]
        assert first + b"".join(rest) == old
        await settled(objects)
        assert files_in(tmp_path / "objects") == []
        assert not getattr(objects.state.vault.bodies, "kept", {})

    with_objects(body)


def test_a_reader_that_ends_early_releases_its_files(with_objects, tmp_path):
    async def body(objects: Objects) -> None:
        await objects.put("bucket", "k", pattern(3_000_000))
        _, stream, _ = await objects.reading.get("bucket", "k")
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        await objects.deletions.delete("bucket", "k")
        await settled(objects)
        assert files_in(tmp_path / "objects") == []

    with_objects(body)


RANGES = [
    ("bytes=0-3", (0, 3)), ("bytes=5-", (5, 9)), ("bytes=-2", (8, 9)), ("bytes=-99", (0, 9)), ("bytes=3-99", (3, 9)),
    ("bytes=9-9", (9, 9)), ("bytes=5-3", None), ("bytes=a-b", None), ("items=0-1", None), ("bytes=0-1,3-4", None),
    ("bytes=-", None), ("bytes=10-", "InvalidRange"), ("bytes=-0", "InvalidRange"),
]  # fmt: skip


def test_ranges(with_objects):
    async def body(objects: Objects) -> None:
        content = b"0123456789"
        await objects.put("bucket", "k", content)
        for text, span in RANGES:
            if isinstance(span, str):
                assert (await refused(objects.reading.get("bucket", "k", range=text))).code == span, text
                continue
            got, stream, at = await objects.reading.get("bucket", "k", range=text)
            assert at == span, text
            wanted = content if span is None else content[span[0] : span[1] + 1]
            assert b"".join([chunk async for chunk in stream]) == wanted, text
            assert got.size == 10

    with_objects(body)


def test_a_range_at_the_end_of_a_file(with_objects):
    async def body(objects: Objects) -> None:
        await objects.put("bucket", "k", b"x" * 30_000 + b"0123456789")
        _, stream, at = await objects.reading.get("bucket", "k", range="bytes=30000-30003")
        assert b"".join([chunk async for chunk in stream]) == b"0123"
        assert at == (30_000, 30_003)

    with_objects(body)


DAY = 24 * 3600 * 1000


CONDITIONS: list[tuple[dict[str, Any], str | None]] = [
    ({"match": '"{etag}"'}, None),
    ({"match": "{etag}"}, None),
    ({"match": "*"}, None),
    ({"match": '"other"'}, "PreconditionFailed"),
    ({"none_match": '"{etag}"'}, "NotModified"),
    ({"none_match": '"other", W/"{etag}"'}, "NotModified"),
    ({"none_match": "*"}, "NotModified"),
    ({"none_match": '"other"'}, None),
    ({"modified_since_ms": -DAY}, None),
    ({"modified_since_ms": DAY}, None),
    ({"none_match": '"other"', "modified_since_ms": 0, "of_copy": True}, "PreconditionFailed"),
    ({"modified_since_ms": 0}, "NotModified"),
    ({"unmodified_since_ms": -DAY}, "PreconditionFailed"),
    ({"unmodified_since_ms": 0}, None),
    ({"match": '"{etag}"', "unmodified_since_ms": -DAY}, None),
    ({"none_match": '"other"', "modified_since_ms": DAY}, None),
    ({"none_match": '"{etag}"', "modified_since_ms": -DAY}, "NotModified"),
    ({"none_match": '"{etag}"', "of_copy": True}, "PreconditionFailed"),
]


def test_conditions_on_reading(with_objects):
    async def body(objects: Objects) -> None:
        view = await objects.put("bucket", "k", b"1")
        for conditions, code in CONDITIONS:
            given: dict[str, Any] = {
                name: value.format(etag=view.etag) if isinstance(value, str)
                else value if isinstance(value, bool) else view.modified_ms + value
                for name, value in conditions.items()
            }  # fmt: skip
            asked = objects.reading.head("bucket", "k", conditions=ReadConditions(**given))
            if code is None:
                assert await asked == view, conditions
            else:
                assert (await refused(asked)).code == code, conditions

    with_objects(body)


def test_conditions_on_writing(with_objects):
    async def body(objects: Objects) -> None:
        absent, other = Demand(absent=True), Demand(etag="other")
        assert (await refused(objects.put("bucket", "k", b"1", demand=other))).code == "NoSuchKey"
        first = await objects.put("bucket", "k", b"1", demand=absent)
        assert (await refused(objects.put("bucket", "k", b"2", demand=absent))).code == "PreconditionFailed"
        assert (await refused(objects.put("bucket", "k", b"2", demand=other))).code == "PreconditionFailed"
        await objects.put("bucket", "k", b"2", demand=Demand(etag=first.etag))
        assert await objects.reading.read("bucket", "k") == b"2"
        refusals = await objects.deletions.delete_many(
            "bucket", [("k", other, None), ("none", Demand(), "null"), ("x", Demand(), "v")]
        )
        codes = [one.code if isinstance(one, ApiError) else None for one in refusals]
        assert codes == ["PreconditionFailed", None, "NoSuchVersion"]

    with_objects(body)


def test_one_of_many_first_writers_wins(with_objects):
    async def body(objects: Objects) -> None:
        calls = [objects.put("bucket", "k", b"%d" % n * 20_000, demand=Demand(absent=True)) for n in range(8)]
        ends = await asyncio.gather(*calls, return_exceptions=True)
        won = [n for n, end in enumerate(ends) if not isinstance(end, BaseException)]
        assert len(won) == 1
        assert await objects.reading.read("bucket", "k") == b"%d" % won[0] * 20_000

    with_objects(body)


@pytest.mark.parametrize("size", [5, 50_000])
def test_copies(with_objects, size):
    async def body(objects: Objects) -> None:
        content = pattern(size)
        settings = Settings({"ContentType": "text/x"}, {"a": "b"}, {"t": "1"})
        view = await objects.put("bucket", "k", content, settings=settings)
        copied = await objects.copies.copy(("bucket", "k", None), "bucket", "copy")
        assert (copied.etag, copied.settings, copied.checksum) == (view.etag, settings, view.checksum)
        replaced = await objects.copies.copy(
            ("bucket", "k", "null"),
            "bucket",
            "k",
            wish=Wish(Settings(metadata={"c": "d"}), True, {}),
            algorithm="SHA256",
        )
        assert replaced.settings == Settings(metadata={"c": "d"})
        assert replaced.checksum is not None
        assert replaced.checksum.algorithm == "SHA256"
        await objects.deletions.delete("bucket", "k")
        await settled(objects)
        assert await objects.reading.read("bucket", "copy") == content
        missing = await refused(objects.copies.copy(("bucket", "none", None), "bucket", "x"))
        assert missing.code == "NoSuchKey"
        held = await refused(
            objects.copies.copy(
                ("bucket", "copy", None), "bucket", "x", conditions=ReadConditions(match="o", of_copy=True)
            )
        )
        assert held.code == "PreconditionFailed"

    with_objects(body)


def test_what_was_young_at_the_start_is_swept_later(tmp_path, monkeypatch):
    monkeypatch.setattr(vault, "ORPHAN_MS", 500)

    async def body() -> None:
        store = SqliteStore(tmp_path / "data", durability="process")
        await store.open("first")
        objects = Objects(ObjectState(store, RealClock(), Config(), tmp_path / "objects", None))
        await objects.create_bucket("bucket")
        number = await objects.state.vault.next_file_id()
        objects.state.vault.bodies.create(number).write([b"half an upload"])
        await objects.stop()
        [path] = (tmp_path / "objects").glob("*/*")
        # Younger than a clock can make old: it is not swept at the start, whatever the machine is at.
        os.utime(path, (2**33, 2**33))
        again = Objects(ObjectState(store, RealClock(), Config(), tmp_path / "objects", None))
        await again.start()
        assert path.exists()
        await until_async(lambda: not path.exists())
        await again.stop()
        assert number not in await store.objects.doomed(1000)
        await store.close()

    asyncio.run(body())


def test_an_id_whose_write_may_come_late_is_deleted_again_and_not_reused(monkeypatch):
    monkeypatch.setattr(vault, "ORPHAN_MS", 50)
    monkeypatch.setattr(MemoryBodies, "writes_late", True)

    async def body() -> None:
        store = MemoryStore()
        await store.open("test")
        state = ObjectState(store, RealClock(), Config(), None, None)
        await state.start()
        number = await state.vault.next_file_id()
        state.vault.return_file_id(number)
        # The write that was given up takes effect after all.
        late = state.vault.bodies.create(number)
        late.write([b"late"])
        late.finish()
        assert await state.vault.next_file_id() != number
        bodies = state.vault.bodies
        assert isinstance(bodies, MemoryBodies)
        await until_async(lambda: number not in bodies.kept)
        while number in await store.objects.doomed(1000):
            await asyncio.sleep(0)
        await state.stop()
        await store.close()

    asyncio.run(body())


def test_what_an_earlier_process_left_is_swept_at_start(tmp_path):
    async def body() -> None:
        store = SqliteStore(tmp_path / "data", durability="process")
        await store.open("first")
        objects = Objects(ObjectState(store, RealClock(), Config(), tmp_path / "objects", None))
        await objects.create_bucket("bucket")
        await objects.put("bucket", "kept", pattern(50_000))
        number = await objects.state.vault.next_file_id()
        left = objects.state.vault.bodies.create(number)
        left.write([b"half an upload"])
        assert len(files_in(tmp_path / "objects")) == 2
        await objects.stop()
        # A process that has lost the store may still write to a file so young.
        again = Objects(ObjectState(store, RealClock(), Config(), tmp_path / "objects", None))
        await again.start()
        assert len(files_in(tmp_path / "objects")) == 2
        await again.stop()
        for path in (tmp_path / "objects").glob("*/*"):
            os.utime(path, (0, 0))
        again = Objects(ObjectState(store, RealClock(), Config(), tmp_path / "objects", None))
        await again.start()
        assert len(files_in(tmp_path / "objects")) == 1
        assert await again.reading.read("bucket", "kept") == pattern(50_000)
        assert await again.state.vault.next_file_id() > number
        await again.stop()
        await store.close()

    asyncio.run(body())


def test_a_full_disk_is_reported_and_loses_nothing(tmp_path, monkeypatch):
    import errno
    import os

    from statewright.errors import Unavailable

    async def body() -> None:
        store = SqliteStore(tmp_path / "data", durability="process")
        await store.open("first")
        objects = Objects(ObjectState(store, RealClock(), Config(), tmp_path / "objects", None))
        await objects.create_bucket("bucket")
        await objects.put("bucket", "k", pattern(50_000))

        def full(*_given: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "writev", full)
        with pytest.raises(Unavailable, match="the disk is full; nothing acknowledged is lost"):
            await objects.put("bucket", "k", pattern(60_000))
        monkeypatch.undo()
        assert await objects.reading.read("bucket", "k") == pattern(50_000)
        assert len(files_in(tmp_path / "objects")) == 1
        await objects.stop()
        await store.close()

    asyncio.run(body())


def test_changes_of_tags_and_locks_at_once_are_all_kept(with_objects):
    async def body(objects: Objects) -> None:
        await objects.set_bucket_setting("bucket", VERSIONING, ENABLED)
        await objects.set_bucket_setting("bucket", LOCK, ON)
        await objects.put("bucket", "k", b"x")
        await asyncio.gather(
            objects.set_tags("bucket", "k", {"a": "b"}),
            objects.set_lock("bucket", "k", lambda lock: replace(lock, is_held=True)),
            objects.set_lock("bucket", "k", lambda lock: replace(lock, mode="COMPLIANCE", until_ms=2**50)),
        )
        settings = (await objects.reading.head("bucket", "k")).settings
        assert (dict(settings.tags), settings.lock) == ({"a": "b"}, Lock("COMPLIANCE", 2**50, is_held=True))

    with_objects(body)
