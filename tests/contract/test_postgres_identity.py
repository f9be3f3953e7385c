"""A database and its data folder know each other; other pairs are refused at the start, and crashes part no pair."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import psycopg
import pytest

from statewright.errors import InUse, OwnershipLost, StoreError
from statewright.files.data_folder import STORE_ID
from statewright.stores.postgres import identity
from statewright.stores.postgres.connection import Connection, connect, migrate, run
from statewright.stores.postgres.lease import Lease
from statewright.stores.postgres.store import PostgresStore
from statewright.stores.statements import SqlRow
from tests.postgres_server import Server, server_or_skip


@pytest.fixture
def server() -> Server:
    return server_or_skip()


@pytest.fixture
def address(server: Server) -> str:
    return server.new_database(server.template)


def start(address: str, folder: Path | None) -> None:
    """A start and an end of a store with a data folder."""

    async def body() -> None:
        store = PostgresStore(address, files=folder)
        await store.open("test")
        await store.close()

    asyncio.run(body())


def refused(address: str, folder: Path) -> str:
    with pytest.raises(StoreError) as caught:
        start(address, folder)
    assert type(caught.value) is StoreError, "an Unavailable would be tried again by a standby"
    return str(caught.value)


def in_database(address: str) -> list[str]:
    with psycopg.connect(address) as connection:
        return [row[0] for row in connection.execute("SELECT identity FROM store_identity")]


def written_before(address: str) -> None:
    """Give a database something that an older version may have written, with bytes in a folder."""
    with psycopg.connect(address) as connection:
        values = "('k', 'k', '', 0, 1, '')"
        connection.execute(f"INSERT INTO entry (kind, key, parent, sort, version, body) VALUES {values}".encode())


def in_folder(folder: Path) -> str:
    return (folder / STORE_ID).read_text()


def test_a_pair_that_exists_is_adopted_and_served_again(address, tmp_path):
    folder = tmp_path / "data"
    start(address, folder)
    (known,) = in_database(address)
    assert in_folder(folder) == f"{known}\n"
    assert stat.S_IMODE((folder / STORE_ID).stat().st_mode) == 0o600
    start(address, folder)
    assert in_database(address) == [known]


def test_a_store_without_a_folder_has_no_identity(address):
    start(address, None)
    assert in_database(address) == []


def test_a_fresh_folder_is_refused_and_not_made(address, tmp_path):
    written_before(address)
    start(address, tmp_path / "data")
    (known,) = in_database(address)
    fresh = tmp_path / "fresh"
    words = refused(address, fresh)
    assert words.startswith(f"{fresh} is not the data folder of the database postgresql://")
    assert "--data" in words
    assert not fresh.exists()
    # What the message says to do, without the files.
    fresh.mkdir()
    (fresh / STORE_ID).write_text(known)
    start(address, fresh)


def test_a_fresh_database_is_refused_and_left_alone(server, address, tmp_path):
    folder = tmp_path / "data"
    start(address, folder)
    fresh = server.new_database(server.template)
    words = refused(fresh, folder)
    assert words.startswith(f"the data folder {folder} belongs to another database than postgresql://")
    assert "delete that file" in words
    assert in_database(fresh) == []
    # The lease was released: another folder is taken at once.
    start(fresh, tmp_path / "other")
    assert in_database(fresh) != in_database(address)


def test_a_whole_database_takes_any_new_folder(server, address, tmp_path):
    start(address, tmp_path / "a")
    (known,) = in_database(address)
    start(address, tmp_path / "b")
    assert in_folder(tmp_path / "b") == in_folder(tmp_path / "a") == f"{known}\n"
    other = server.new_database(server.template)
    start(other, tmp_path / "c")
    assert "do not belong together" in refused(address, tmp_path / "c")


@pytest.mark.parametrize("apart", ["", "regions/eu-west-1", "accounts/1/regions/eu-west-1"])
def test_a_database_is_whole_once_its_folder_has_no_body(address, tmp_path, apart):
    written_before(address)
    folder = tmp_path / "data"
    body = folder / apart / "objects" / "01" / "1"
    body.parent.mkdir(parents=True)
    body.write_bytes(b"x")
    start(address, folder)
    start(address, folder)
    assert "is not the data folder" in refused(address, tmp_path / "fresh")
    body.unlink()
    start(address, folder)
    start(address, tmp_path / "fresh")


def test_a_folder_of_another_database_is_refused(server, address, tmp_path):
    other = server.new_database(server.template)
    start(address, tmp_path / "a")
    start(other, tmp_path / "b")
    assert "do not belong together" in refused(address, tmp_path / "b")
    start(address, tmp_path / "a")


def test_a_standby_with_another_folder_is_refused_while_the_owner_lives(address, tmp_path):
    written_before(address)

    async def body() -> None:
        owner = PostgresStore(address, files=tmp_path / "data")
        await owner.open("owner")
        with pytest.raises(StoreError, match="is not the data folder of the database") as caught:
            await PostgresStore(address, files=tmp_path / "other").open("standby")
        assert not isinstance(caught.value, InUse)
        with pytest.raises(InUse):
            await PostgresStore(address, files=tmp_path / "data").open("standby")
        await owner.close()

    asyncio.run(body())


@pytest.mark.parametrize("writes", [0, 1])
def test_a_start_that_ends_while_it_adopts_is_completed_by_the_next_one(address, tmp_path, monkeypatch, writes):
    """It ends before or after the database has the id; the folder has it as pending."""
    folder = tmp_path / "data"
    done: list[str] = []

    def ending(connection: Connection, text: str, given: SqlRow = ()) -> psycopg.Cursor[SqlRow]:
        if "INSERT" in text and writes == 0:
            raise KeyboardInterrupt
        found = run(connection, text, given)
        if "INSERT" in text:
            done.append(text)
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(identity, "run", ending)
    with pytest.raises(KeyboardInterrupt):
        adopt(address, folder)
    monkeypatch.undo()
    assert len(done) == writes
    pending = in_folder(folder).split()[0]
    assert in_folder(folder) == f"{pending} pending\n"
    assert in_database(address) == [pending] * writes
    start(address, folder)
    assert in_database(address) == [pending]
    assert in_folder(folder) == f"{pending}\n"


def adopt(address: str, folder: Path) -> None:
    lease = Lease(address, "test", "test")
    try:
        with connect(address, 0) as connection:
            identity.Identity(folder, "test").adopt(connection, lease)
    finally:
        lease.release()


def test_a_process_that_lost_the_store_gives_it_no_identity(address, tmp_path):
    lease = Lease(address, "test", "alice")
    try:
        with connect(address, 0) as connection:
            connection.execute("UPDATE shard SET owner = 'bob', epoch = epoch + 1")
            with pytest.raises(OwnershipLost):
                identity.Identity(tmp_path / "data", "test").adopt(connection, lease)
    finally:
        lease.release()
    assert in_database(address) == []


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"0123 pending\n"])
def test_a_damaged_id_is_named(address, tmp_path, content):
    start(address, tmp_path)
    (tmp_path / STORE_ID).write_bytes(content)
    assert refused(address, tmp_path).startswith(f"{tmp_path / STORE_ID} is damaged")


def test_a_folder_that_cannot_be_made_is_named(address, tmp_path):
    (tmp_path / "file").write_text("")
    words = refused(address, tmp_path / "file" / "data")
    assert words.startswith(f"{tmp_path / 'file' / 'data' / STORE_ID} cannot be ")
    start(address, tmp_path / "data")


def test_a_database_of_the_version_before_is_adopted_with_its_folder(server, tmp_path):
    address = server.new_database()
    migrate(address, "test", newest=5)
    (tmp_path / "objects").mkdir()
    start(address, tmp_path)
    assert in_database(address) == [in_folder(tmp_path).strip()]
