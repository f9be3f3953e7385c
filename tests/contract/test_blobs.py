"""Blobs in PostgreSQL and in a bucket, and the bodies of objects: one contract for all of their places."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from statewright.clock import RealClock
from statewright.config import Config
from statewright.errors import OwnershipLost, Unavailable
from statewright.objects.blobs.bodies import BlobBodies, blob_name
from statewright.objects.bodies import Bodies, FileBodies, MemoryBodies
from statewright.objects.objects import Objects
from statewright.objects.state import ObjectState
from statewright.stores.blobs.protocol import ORPHAN_MS, PIECE_BYTES, BlobStore
from statewright.stores.blobs.regional import RegionalBlobs
from statewright.stores.postgres.fenced.blobs import PIECES_AT_ONCE
from statewright.stores.postgres.store import PostgresStore
from tests.bucket_server import Place, with_credentials
from tests.deadlines import until_async
from tests.emptied_databases import emptied_database
from tests.postgres_server import server_or_skip
from tests.unit.objects.conftest import files_in

CODE = "code/" + "c0de" * 16


@pytest.fixture
def address() -> str:
    return emptied_database()


@contextmanager
def opened(store: PostgresStore) -> Iterator[PostgresStore]:
    with asyncio.Runner() as runner:
        runner.run(store.open("test"))
        yield store
        runner.run(store.close())


@pytest.fixture
def rows_store(address: str) -> Iterator[PostgresStore]:
    """An open store whose blobs are rows."""
    with opened(PostgresStore(address)) as store:
        yield store


@pytest.fixture
def bucket_store(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    """An open store whose blobs are in a bucket."""
    with_credentials(monkeypatch)
    with opened(PostgresStore(address, files=tmp_path / "data", bucket=Place().address)) as store:
        yield store


@pytest.fixture(params=["rows", pytest.param("bucket", marks=pytest.mark.slow)])
def blobs(request: pytest.FixtureRequest) -> PostgresStore:
    """An open store, whose blobs are used from this thread."""
    store: PostgresStore = request.getfixturevalue(f"{request.param}_store")
    return store


def rows(address: str, query: str) -> list[tuple[object, ...]]:
    with closing(psycopg.connect(address, autocommit=True)) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


def pattern(length: int) -> bytes:
    return (bytes(range(251)) * (length // 251 + 1))[:length]


def written(blobs: BlobStore, name: str, content: bytes) -> None:
    pieces = [content[start : start + PIECE_BYTES] for start in range(0, len(content), PIECE_BYTES)] or [b""]
    writing = blobs.create(name)
    for number, piece in enumerate(pieces):
        writing.put(piece, is_last=number == len(pieces) - 1)


# Blobs


@pytest.mark.parametrize("name", ["object/a", CODE])
def test_a_blob_is_read_in_parts(blobs, name):
    content = pattern(2 * PIECE_BYTES + 100)
    written(blobs.blobs, name, content)
    assert blobs.blobs.has(name)
    for start, length in ((0, 10), (PIECE_BYTES - 5, 10), (5, 2 * PIECE_BYTES), (2 * PIECE_BYTES, 100), (0, 1 << 22)):
        assert blobs.blobs.read(name, start, length) == content[start : start + length]
    assert blobs.blobs.read(name, 3 * PIECE_BYTES, 5) == b""
    assert blobs.blobs.sizes(name) == {name: len(content)}
    other = f"{name[:-1]}f"
    assert not blobs.blobs.has(other)
    assert blobs.blobs.read(other, 0, 5) == b""
    assert blobs.blobs.sizes(other) == {}


def test_a_package_is_asked_for_again(blobs):
    assert blobs.blobs.touch(CODE) is None
    written(blobs.blobs, CODE, b"code")
    assert blobs.blobs.touch(CODE) == 4
    blobs.blobs.remove_old([CODE], ORPHAN_MS)
    assert blobs.blobs.read(CODE, 0, 9) == b"code"
    blobs.blobs.remove([CODE])
    assert blobs.blobs.touch(CODE) is None


def test_what_was_discarded_is_not_there(blobs):
    for content in ([b"all"], [pattern(PIECE_BYTES)] * 7):
        writing = blobs.blobs.create("object/a")
        for number, piece in enumerate(content):
            writing.put(piece, is_last=number == 0 and len(content) == 1)
        writing.discard()
        writing.discard()
        assert not blobs.blobs.has("object/a")


def test_a_blob_that_the_database_lost_a_part_of_is_refused(rows_store, address):
    writing = rows_store.blobs.create("a")
    writing.put(b"first", is_last=False)
    # As after a crash: only the last piece waits until it is durable.
    rows(address, "DELETE FROM blob")
    with pytest.raises(Unavailable, match="lost a part"):
        writing.put(b"last", is_last=True)


def test_blobs_are_copied_and_deleted(blobs):
    content = pattern(9 * PIECE_BYTES)
    written(blobs.blobs, "object/a", content)
    assert blobs.blobs.copy("object/a", "object/b")
    assert not blobs.blobs.copy("object/0", "object/c")
    blobs.blobs.remove(["object/a", "object/0"])
    assert not blobs.blobs.has("object/a")
    assert blobs.blobs.read("object/b", 0, len(content)) == content
    blobs.blobs.remove([])
    assert blobs.blobs.sizes("object/") == {"object/b": len(content)}


def test_many_pieces_are_deleted_in_steps(rows_store, address):
    blobs, writing = rows_store, rows_store.blobs.create("a")
    for number in range(PIECES_AT_ONCE + 1):
        writing.put(b"x", is_last=number == PIECES_AT_ONCE)
    blobs.blobs.remove(["a"])
    assert rows(address, "SELECT count(*) FROM blob") == [(0,)]


def test_only_what_is_old_is_an_orphan(rows_store, address):
    blobs = rows_store
    for name in ("old", "young", "asked for"):
        written(blobs.blobs, name, b"x")
    rows(address, f"UPDATE blob SET at_ms = at_ms - {2 * ORPHAN_MS} WHERE name <> 'young'")
    assert blobs.blobs.touch("asked for") == 1
    names = ["asked for", "none", "old", "young"]
    assert blobs.blobs.young(names, ORPHAN_MS) == {"asked for", "young"}
    blobs.blobs.remove_old(names, ORPHAN_MS)
    assert set(blobs.blobs.sizes("o") | blobs.blobs.sizes("y") | blobs.blobs.sizes("a")) == {"asked for", "young"}


def test_a_region_has_names_of_its_own(blobs):
    region = RegionalBlobs(blobs.blobs, "eu-west-1")
    written(blobs.blobs, CODE, b"home")
    written(region, CODE, b"region")
    written(region, "object/a", b"body")
    assert blobs.blobs.sizes("code/") == {CODE: 4}
    assert region.sizes("code/") == {CODE: 6}
    assert region.copy("object/a", "object/b")
    assert region.young(["object/a"], ORPHAN_MS) == {"object/a"}
    region.remove(["object/a"])
    region.remove_old([CODE], ORPHAN_MS)
    assert region.touch(CODE) == 6
    assert region.has("object/b")
    assert not region.has("object/a")
    assert region.read(CODE, 0, 9) == b"region"
    assert blobs.blobs.read(CODE, 0, 4) == b"home"
    assert (region.writes_late, region.read_ahead) == (blobs.blobs.writes_late, blobs.blobs.read_ahead)


@pytest.mark.parametrize(
    "write",
    [
        lambda blobs: blobs.create("object/b").put(b"x", is_last=False),
        lambda blobs: blobs.create("object/b").put(b"x", is_last=True),
        lambda blobs: blobs.touch(CODE),
        lambda blobs: blobs.copy("object/a", "object/b"),
        lambda blobs: blobs.remove(["object/a"]),
        lambda blobs: blobs.remove_old([CODE], -1),
    ],
)
@pytest.mark.parametrize("place", ["rows", "bucket"])
def test_an_owner_whose_lease_was_taken_writes_no_blob(address, place, write, tmp_path, monkeypatch):
    with_credentials(monkeypatch)
    bucket = Place() if place == "bucket" else None

    def store() -> PostgresStore:
        return PostgresStore(address, files=tmp_path, bucket=bucket.address if bucket is not None else None)

    def stored() -> list[object]:
        return [*rows(address, "SELECT * FROM blob"), *(bucket.stored() if bucket is not None else ())]

    async def body() -> None:
        alice = store()
        await alice.open("alice")
        written(alice.blobs, "object/a", b"x")
        written(alice.blobs, CODE, b"x")
        before = stored()
        assert len(before) == 2
        # As if alice had been frozen for longer than her lease.
        rows(address, "UPDATE shard SET owner = 'bob', epoch = epoch + 1")
        with pytest.raises(OwnershipLost):
            write(alice.blobs)
        assert stored() == before
        assert alice.blobs.read("object/a", 0, 1) == b"x"
        await alice.close()

    asyncio.run(body())


def test_idle_connections_that_broke_harm_nobody(rows_store):
    blobs = rows_store
    written(blobs.blobs, "a", b"x")
    assert blobs.blobs.read("a", 0, 1) == b"x"
    server_or_skip().break_connections()
    written(blobs.blobs, "a", b"y")
    assert blobs.blobs.read("a", 0, 1) == b"y"


def test_a_closed_store_has_no_blobs(address):
    async def body() -> PostgresStore:
        store = PostgresStore(address)
        await store.open("test")
        written(store.blobs, "a", b"x")
        await store.close()
        return store

    store = asyncio.run(body())
    with pytest.raises(Unavailable, match="closed"):
        store.blobs.has("a")


# Bodies


@pytest.fixture(params=["memory", "files", "rows", pytest.param("bucket", marks=pytest.mark.slow)])
def bodies(request: pytest.FixtureRequest, tmp_path: Path) -> Bodies:
    kinds: dict[str, Callable[[], Bodies]] = {
        "memory": MemoryBodies,
        "files": lambda: FileBodies(tmp_path / "objects"),
        "rows": lambda: BlobBodies(request.getfixturevalue("rows_store").blobs, None),
        "bucket": lambda: BlobBodies(request.getfixturevalue("bucket_store").blobs, None),
    }
    return kinds[request.param]()


def made(bodies: Bodies, number: int, chunks: list[bytes]) -> bytes:
    writing = bodies.create(number)
    for chunk in chunks:
        writing.write([chunk])
    writing.finish()
    return b"".join(chunks)


def read(bodies: Bodies, number: int, start: int, length: int) -> bytes:
    reading = bodies.open(number)
    try:
        return reading.read(start, length)
    finally:
        reading.close()


@pytest.mark.parametrize(
    "sizes",
    [
        [1],
        [PIECE_BYTES],
        [PIECE_BYTES, 1],
        [PIECE_BYTES - 1, 1],
        [700_000, 700_000, 700_000],
        [3 * PIECE_BYTES + 5],
        [10, 2 * PIECE_BYTES, 10],
        [12 * PIECE_BYTES],
    ],
)
def test_a_body_is_read_as_it_was_written(bodies, sizes):
    content = made(bodies, 300, [pattern(size) for size in sizes])
    for start in {0, len(content) // 2, len(content) - 1}:
        assert read(bodies, 300, start, len(content) - start) == content[start:]
    reading = bodies.open(300)
    step = 300_000
    for start in [*range(0, len(content), step), 0, len(content) // 3]:
        length = min(step, len(content) - start)
        assert reading.read(start, length) == content[start : start + length]
    reading.close()


def test_a_body_under_a_second_id_outlives_the_first(bodies):
    content = made(bodies, 300, [pattern(100_000)])
    assert bodies.link(300, 301)
    bodies.remove([300, 999])
    assert read(bodies, 301, 0, len(content)) == content
    with pytest.raises(FileNotFoundError):
        bodies.open(300)
    with pytest.raises(FileNotFoundError):
        bodies.link(300, 302)


@pytest.mark.parametrize("size", [1, PIECE_BYTES + 1])
def test_nothing_stays_of_a_body_that_is_discarded(bodies, size):
    writing = bodies.create(300)
    writing.write([pattern(size)])
    writing.discard()
    writing.discard()
    with pytest.raises(FileNotFoundError):
        bodies.open(300)
    assert made(bodies, 300, [b"again"]) == read(bodies, 300, 0, 5)


# From the folder of an older version


def test_bodies_of_a_folder_are_read_and_moved_into_the_store(address, tmp_path):
    folder = tmp_path / "objects"
    contents = {"a": pattern(3 * PIECE_BYTES + 7), "b": pattern(50_000), "c": pattern(50_001)}

    async def body() -> None:
        store = PostgresStore(address)
        await store.open("test")
        before = Objects(ObjectState(store, RealClock(), Config(), folder, None))
        # As the version before it had them.
        before.state.vault.bodies = FileBodies(folder)
        await before.create_bucket("bucket")
        for key, content in contents.items():
            await before.put("bucket", key, content)
        await before.stop()
        assert len(files_in(folder)) == 3
        # A move was interrupted when the blob of one was incomplete.
        [first] = [int(path.name, 16) for path in folder.glob("*/*") if path.stat().st_size > PIECE_BYTES]
        written(store.blobs, blob_name(first), b"a part")
        bodies = BlobBodies(store.blobs, folder)
        assert read(bodies, first, 0, len(contents["a"])) == contents["a"]
        assert not bodies.link(first, first + 1)

        after = Objects(ObjectState(store, RealClock(), Config(), folder, None))
        await after.start()
        await after.copies.copy(("bucket", "b", None), "bucket", "copy")
        for key, content in {**contents, "copy": contents["b"]}.items():
            assert await after.reading.read("bucket", key) == content
        await until_async(lambda: not files_in(folder))
        for key, content in {**contents, "copy": contents["b"]}.items():
            assert await after.reading.read("bucket", key) == content
        await after.deletions.delete("bucket", "a")
        await until_async(lambda: not store.blobs.has(blob_name(first)))
        await after.stop()
        await store.close()

    asyncio.run(body())
    assert rows(address, "SELECT count(DISTINCT name) FROM blob") == [(3,)]


def test_a_body_that_is_being_deleted_is_not_moved(address, tmp_path):
    async def body() -> None:
        store = PostgresStore(address)
        await store.open("test")
        vault = ObjectState(store, RealClock(), Config(), tmp_path / "objects", None).vault
        assert vault.pin_living(7)
        vault.free([7])
        assert not vault.pin_living(7)
        vault.unpin([7])
        await until_async(lambda: vault.pin_living(7))
        await vault.stop()
        await store.close()

    asyncio.run(body())
