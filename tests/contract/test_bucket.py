"""The bucket of a store in PostgreSQL: which one belongs to it, what lies in it, and blobs that move there."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from statewright.errors import OwnershipLost, StoreError, Unavailable
from statewright.stores.blobs.protocol import ORPHAN_MS, PIECE_BYTES, BlobStore
from statewright.stores.bucket import client
from statewright.stores.bucket.address import BucketAddress
from statewright.stores.bucket.blobs import BucketBlobs
from statewright.stores.bucket.client import Bucket
from statewright.stores.bucket.moving import MovingBlobs
from statewright.stores.postgres.store import PostgresStore
from tests.bucket_server import Place, with_credentials
from tests.deadlines import until, until_async
from tests.e2e.conftest import Server
from tests.emptied_databases import emptied_database
from tests.postgres_server import server_or_skip

CODE = "code/" + "c0de" * 16
LARGE = bytes(range(256)) * (11 * PIECE_BYTES // 256)


@pytest.fixture
def address() -> str:
    return emptied_database()


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    with_credentials(monkeypatch)
    return Place()


@contextlib.asynccontextmanager
async def opened(address: str, folder: Path, bucket: BucketAddress | None) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(address, files=folder, bucket=bucket)
    await store.open("test")
    try:
        yield store
    finally:
        await store.close()


def refused(address: str, folder: Path, bucket: BucketAddress | None, kind: type[StoreError] = StoreError) -> str:
    async def body() -> None:
        async with opened(address, folder, bucket):
            pytest.fail("it was opened")

    with pytest.raises(StoreError) as caught:
        asyncio.run(body())
    # A standby would try an Unavailable again.
    assert isinstance(caught.value, Unavailable) == (kind is Unavailable)
    return str(caught.value)


def used(address: str, folder: Path, bucket: BucketAddress | None, work: Callable[[BlobStore], object]) -> None:
    """Open a store once, and use its blobs from a thread."""

    async def body() -> None:
        async with opened(address, folder, bucket) as store:
            await asyncio.to_thread(work, store.blobs)

    asyncio.run(body())


def written(blobs: BlobStore, name: str, content: bytes) -> None:
    writing = blobs.create(name)
    starts = range(0, len(content), PIECE_BYTES)
    for start in starts:
        writing.put(content[start : start + PIECE_BYTES], is_last=start == starts[-1])


def in_rows(address: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


def no_rows(address: str) -> bool:
    return in_rows(address, "SELECT count(*) FROM blob") == [(0,)]


# Keys


def test_blobs_are_objects_under_the_prefix(address, place, tmp_path):
    def work(blobs: BlobStore) -> None:
        written(blobs, "object/1f", LARGE)
        written(blobs, "eu-west-1/object/20", b"small")
        written(blobs, CODE, b"code")

    used(address, tmp_path, place.address, work)
    assert place.stored() == [f"{CODE}/1", "eu-west-1/object/20", "object/1f"]
    assert place.uploads() == []
    key = f"{place.address.prefix}object/1f"
    assert place.s3.get_object(Bucket=place.name, Key=key)["Body"].read() == LARGE
    assert place.s3.head_object(Bucket=place.name, Key=key)["ETag"].endswith('-3"'), "it was not sent in parts"
    assert no_rows(address)


def test_a_package_has_an_object_for_each_epoch_that_asked_for_it(address, place, tmp_path):
    used(address, tmp_path, place.address, lambda blobs: written(blobs, CODE, b"code"))

    def work(blobs: BlobStore) -> None:
        assert blobs.touch(CODE) == 4
        assert place.stored() == [f"{CODE}/1", f"{CODE}/2"]
        # As a deletion of the owner before that comes late.
        place.s3.delete_object(Bucket=place.name, Key=f"{place.address.prefix}{CODE}/1")
        assert blobs.read(CODE, 0, 9) == b"code"
        blobs.remove_old([CODE], ORPHAN_MS)
        assert blobs.sizes("code/") == {CODE: 4}

    used(address, tmp_path, place.address, work)
    # Nothing has asked for it since, and it is no longer young.
    used(address, tmp_path, place.address, lambda blobs: blobs.remove_old([CODE], -1_000_000))
    assert place.stored() == []


def test_an_owner_deletes_no_package_of_its_own_epoch(address, place, tmp_path):
    """A deletion that takes effect late would meet one that was uploaded again meanwhile."""

    def work(blobs: BlobStore) -> None:
        written(blobs, CODE, b"code")
        blobs.remove_old([CODE], -1_000_000)
        assert place.stored() == [f"{CODE}/1"]

    used(address, tmp_path, place.address, work)


def test_a_young_package_of_another_owner_stays(address, place, tmp_path):
    used(address, tmp_path, place.address, lambda blobs: written(blobs, CODE, b"code"))
    used(address, tmp_path, place.address, lambda blobs: blobs.remove_old([CODE], ORPHAN_MS))
    assert place.stored() == [f"{CODE}/1"]


def test_the_uploads_of_an_owner_before_are_aborted(address, place, tmp_path):
    used(address, tmp_path, place.address, lambda _: None)
    for key in ("object/1", f"{CODE}/1", "of another program"):
        place.s3.create_multipart_upload(Bucket=place.name, Key=place.address.prefix + key)
    used(address, tmp_path, place.address, lambda _: None)
    assert place.uploads() == [f"{place.address.prefix}of another program"]


def test_an_upload_that_was_aborted_meanwhile_is_refused(address, place, tmp_path):
    def work(blobs: BlobStore) -> None:
        writing = blobs.create("object/1")
        for _ in range(6):
            writing.put(bytes(PIECE_BYTES), is_last=False)
        [upload] = place.s3.list_multipart_uploads(Bucket=place.name)["Uploads"]
        place.s3.abort_multipart_upload(Bucket=place.name, Key=upload["Key"], UploadId=upload["UploadId"])
        with pytest.raises(Unavailable, match="aborted by another process: try again"):
            writing.put(b"last", is_last=True)
        writing.discard()

    used(address, tmp_path, place.address, work)
    assert place.stored() == []


def test_many_objects_are_deleted_at_once(address, place, tmp_path, monkeypatch):
    monkeypatch.setattr("statewright.stores.bucket.blobs.DELETED_AT_ONCE", 2)
    names = [f"object/{number:x}" for number in range(5)]

    def work(blobs: BlobStore) -> None:
        for name in names:
            written(blobs, name, b"x")
        assert blobs.young(names, ORPHAN_MS) == set(names), "a late request may still write any of them"
        blobs.remove(names)

    used(address, tmp_path, place.address, work)
    assert place.stored() == []


# Which bucket belongs to which database


def test_a_database_is_served_with_its_bucket_alone(address, place, tmp_path):
    used(address, tmp_path, place.address, lambda _: None)
    said = refused(address, tmp_path, None)
    assert said.endswith(f"in the bucket {place.address.place}: start the server with --bucket {place.address.text}")
    other = Place()
    said = refused(address, tmp_path, other.address)
    assert f"the bucket {other.address.place} is not that of the database" in said
    assert "there is no statewright-store in it" in said
    assert other.stored() == []
    # A copy of the bucket is the bucket.
    mark = place.s3.get_object(Bucket=place.name, Key=f"{place.address.prefix}statewright-store")["Body"].read()
    other.put("statewright-store", mark)
    used(address, tmp_path, other.address, lambda _: None)
    assert in_rows(address, "SELECT bucket FROM store_identity") == [(other.address.text,)]


def test_a_bucket_of_another_store_is_refused(address, place, tmp_path):
    used(address, tmp_path / "first", place.address, lambda _: None)
    server = server_or_skip()
    said = refused(server.new_database(server.template), tmp_path / "second", place.address)
    assert f"the bucket {place.address.place} belongs to another store than" in said


def test_a_bucket_with_objects_of_another_use_is_refused(address, place, tmp_path):
    place.put("object/1")
    assert "has objects under object/ of another use: name an empty prefix" in refused(address, tmp_path, place.address)
    # Under another prefix nothing is in its way.
    used(address, tmp_path, replace(place.address, prefix=""), lambda _: None)


def test_a_claim_that_was_interrupted_is_completed(address, place, tmp_path):
    used(address, tmp_path, place.address, lambda _: None)
    in_rows(address, "UPDATE store_identity SET bucket = NULL")
    used(address, tmp_path, None, lambda _: None)
    used(address, tmp_path, place.address, lambda _: None)
    assert in_rows(address, "SELECT bucket FROM store_identity") == [(place.address.text,)]


@pytest.mark.parametrize(
    ("wrong", "said", "kind"),
    [
        (
            {"name": "no-such-bucket"},
            "s3://no-such-bucket/some/prefix at http.*: there is no such bucket",
            StoreError,
        ),
        ({"endpoint": "http://127.0.0.1:1"}, "at http://127.0.0.1:1 does not answer: Could not connect", Unavailable),
    ],
)
def test_a_bucket_that_cannot_be_used_is_refused(address, place, tmp_path, wrong, said, kind, monkeypatch):
    monkeypatch.setattr(client, "ATTEMPTS", 1)
    assert re.search(said, refused(address, tmp_path, replace(place.address, **wrong), kind))


def test_a_bucket_without_credentials_is_refused(address, place, tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    assert "there are no credentials for it in the environment" in refused(address, tmp_path, place.address)


@pytest.mark.slow
def test_a_bucket_without_rights_is_refused(address, tmp_path, monkeypatch):
    with_credentials(monkeypatch)
    settings = tmp_path / "statewright.toml"
    settings.write_text('[credentials]\nknown = "secret"\n')
    server = Server(tmp_path / "endpoint", "--store", "memory", "--config", str(settings))
    named = BucketAddress("large-bytes", "", server.url, "us-east-1")
    server.client("s3", key="known", secret="secret").create_bucket(Bucket="large-bytes")
    assert "cannot be used: the access key is unknown there" in refused(address, tmp_path / "data", named)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "known")
    assert "the secret access key does not fit" in refused(address, tmp_path / "data", named)


# From rows


def test_blobs_that_are_rows_move_into_the_bucket(address, place, tmp_path):
    contents = {"object/1": LARGE, "object/2": b"small", CODE: b"code", f"eu-west-1/{CODE}": b"other"}

    def fill(blobs: BlobStore) -> None:
        for name, content in contents.items():
            written(blobs, name, content)

    used(address, tmp_path, None, fill)

    def check(blobs: BlobStore) -> None:
        for name, content in contents.items():
            assert blobs.has(name)
            assert blobs.read(name, 0, len(LARGE)) == content
            assert blobs.read(name, len(content) - 2, 9) == content[-2:]
        assert blobs.sizes("object/") == {"object/1": len(LARGE), "object/2": 5}
        assert blobs.sizes("code/") == {CODE: 4}
        assert blobs.touch(CODE) == 4

    async def body() -> None:
        async with opened(address, tmp_path, place.address) as store:
            await asyncio.to_thread(check, store.blobs)
            await until_async(lambda: no_rows(address))
            await asyncio.to_thread(check, store.blobs)
            moving = store.blobs
            assert isinstance(moving, MovingBlobs)
            await until_async(lambda: not moving.has_rows)
            await asyncio.to_thread(check, store.blobs)

    asyncio.run(body())
    assert set(place.stored()) == {f"{name}/2" if "code/" in name else name for name in contents}


class Rows:
    """Blobs as rows, in memory; `before_read` is called before each read."""

    writes_late, read_ahead = False, 0

    def __init__(self, content: dict[str, bytes]) -> None:
        self.content = content
        self.before_read: Callable[[int], None] = lambda _: None

    def next_name(self, after: str) -> str | None:
        return next((name for name in sorted(self.content) if name > after), None)

    def read(self, name: str, start: int, length: int) -> bytes:
        self.before_read(start)
        return self.content.get(name, b"")[start : start + length]

    def has(self, name: str) -> bool:
        return name in self.content

    def sizes(self, prefix: str) -> dict[str, int]:
        return {name: len(body) for name, body in self.content.items() if name.startswith(prefix)}

    def copy(self, source: str, name: str) -> bool:
        self.content[name] = self.content[source]
        return True

    def remove(self, names: list[str]) -> None:
        for name in names:
            self.content.pop(name, None)


class Lease:
    """A lease that is held until it is lost."""

    is_lost = False

    def fence(self) -> int:
        if self.is_lost:
            raise OwnershipLost("lost")
        return 1


def moving(place: Place, content: dict[str, bytes]) -> tuple[MovingBlobs, Rows, Lease]:
    rows, lease = Rows(content), Lease()
    return MovingBlobs(rows, BucketBlobs(Bucket(place.address), lease)), rows, lease  # type: ignore[arg-type]


@pytest.mark.parametrize("content", [LARGE, b"small"])
def test_a_blob_that_is_deleted_while_it_moves_does_not_come_back(place, content):
    blobs, rows, _ = moving(place, {"object/1": content})

    def delete(start: int) -> None:
        if start >= len(content) - PIECE_BYTES:
            rows.before_read = lambda _: None
            blobs.remove(["object/1"])

    rows.before_read = delete
    assert blobs.move("object/1") is None
    assert place.stored() == place.uploads() == []
    assert not blobs.has("object/1")
    assert rows.next_name("") is None


def test_a_move_that_is_interrupted_begins_again(place):
    blobs, rows, lease = moving(place, {"object/1": LARGE})

    def lose(start: int) -> None:
        lease.is_lost = start > 8 * PIECE_BYTES

    rows.before_read = lose
    with pytest.raises(OwnershipLost):
        blobs.move("object/1")
    assert place.stored() == place.uploads() == []
    assert blobs.read("object/1", 0, len(LARGE)) == LARGE
    rows.before_read, lease.is_lost = lambda _: None, False
    assert blobs.move("object/1") == len(LARGE)
    assert rows.content == {}
    assert blobs.read("object/1", 0, len(LARGE)) == LARGE


@pytest.mark.parametrize("name", ["object/1", CODE])
def test_rows_of_an_interrupted_write_do_not_replace_the_whole_blob(place, name):
    blobs, rows, _ = moving(place, {name: LARGE[: 2 * PIECE_BYTES]})

    def write(_: int) -> None:
        rows.before_read = lambda _: None
        written(blobs, name, LARGE)

    rows.before_read = write
    assert blobs.move(name) is None
    assert rows.content == {}
    assert blobs.sizes(name) == {name: len(LARGE)}
    assert blobs.read(name, 0, len(LARGE)) == LARGE


def test_a_copy_of_what_is_still_a_row_is_one(place):
    blobs, rows, _ = moving(place, {"object/1": b"x"})
    assert blobs.copy("object/1", "object/2")
    assert rows.content.keys() == {"object/1", "object/2"}
    assert blobs.move("object/1") == 1
    assert blobs.copy("object/1", "object/3")
    assert place.stored() == ["object/1", "object/3"]


# Outages


@pytest.mark.slow
def test_an_outage_is_noticed_logged_once_and_ends(tmp_path, monkeypatch, caplog):
    with_credentials(monkeypatch)
    monkeypatch.setattr(client, "PROBE_SECONDS", 0.01)
    monkeypatch.setattr(client, "ATTEMPTS", 1)
    server = Server(tmp_path / "endpoint")
    place = Place(server)
    blobs = BucketBlobs(Bucket(place.address), Lease())
    written(blobs, "object/1", b"x")
    assert blobs.bucket.state == "ok"
    assert server.stop() == 0
    with caplog.at_level(logging.INFO, "statewright.bucket"):
        for _ in range(5):
            with pytest.raises(Unavailable, match="does not answer"):
                blobs.read("object/1", 0, 1)
        assert blobs.bucket.state == "unavailable"
        again = Server(tmp_path / "endpoint", "--port", str(server.port))
        until(lambda: blobs.bucket.state == "ok", "the end of the outage")
        assert blobs.read("object/1", 0, 1) == b"x"
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert caplog.messages[1] == f"the bucket {place.address.place} can be used again"
    blobs.bucket.close()
    assert again.stop() == 0


def test_a_bucket_that_was_deleted_is_an_outage(place, caplog):
    blobs = BucketBlobs(Bucket(place.address), Lease())
    place.s3.delete_bucket(Bucket=place.name)
    with pytest.raises(Unavailable, match="there is no such bucket"):
        blobs.has("object/1")
    assert blobs.bucket.state == "unavailable"
    blobs.bucket.close()
    assert len(caplog.records) == 1


@pytest.mark.slow
def test_a_bucket_that_was_closed_in_an_outage_can_be_used_again(tmp_path, monkeypatch):
    with_credentials(monkeypatch)
    monkeypatch.setattr(client, "ATTEMPTS", 1)
    server = Server(tmp_path / "endpoint")
    blobs = BucketBlobs(Bucket(Place(server).address), Lease())
    written(blobs, "object/1", b"x")
    assert server.stop() == 0
    with pytest.raises(Unavailable, match="does not answer"):
        blobs.read("object/1", 0, 1)
    blobs.bucket.close()
    again = Server(tmp_path / "endpoint", "--port", str(server.port))
    assert blobs.read("object/1", 0, 1) == b"x"
    assert blobs.bucket.state == "ok"
    blobs.bucket.close()
    assert again.stop() == 0


def test_a_conflict_that_nothing_asked_for_is_an_outage(place, monkeypatch):
    from botocore.client import BaseClient
    from botocore.exceptions import ClientError

    def conflict(_: BaseClient, operation: str, __: object) -> None:
        answer = {
            "Error": {"Code": "OperationAborted", "Message": "A conflicting operation is in progress."},
            "ResponseMetadata": {"HTTPStatusCode": 409},
        }
        raise ClientError(answer, operation)

    blobs = BucketBlobs(Bucket(place.address), Lease())
    monkeypatch.setattr(BaseClient, "_make_api_call", conflict)
    with pytest.raises(Unavailable, match="OperationAborted: A conflicting operation is in progress"):
        written(blobs, "object/1", b"x")
    blobs.bucket.close()


def test_an_owner_that_lost_the_store_changes_nothing(place):
    lease = Lease()
    blobs = BucketBlobs(Bucket(place.address), lease)
    written(blobs, "object/1", b"x")
    written(blobs, CODE, b"x")
    begun = blobs.create("object/2")
    for _ in range(5):
        begun.put(bytes(PIECE_BYTES), is_last=False)
    lease.is_lost = True
    for write in (
        lambda: blobs.remove(["object/1"]),
        lambda: blobs.remove_old([CODE], -1),
        lambda: begun.put(b"x", is_last=True),
        blobs.abort_left,
    ):
        with pytest.raises(OwnershipLost):
            write()
    assert place.stored() == [f"{CODE}/1", "object/1"]
    # Its own upload it may abort: no other process goes on with it.
    with contextlib.suppress(OwnershipLost):
        begun.discard()
    assert place.uploads() == []
