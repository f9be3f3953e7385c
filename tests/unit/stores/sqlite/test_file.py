"""The data folder: who has it, what is in it, and what happens when it cannot be used."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from statewright.errors import StoreError, Unavailable
from statewright.stores.protocol import Committed
from statewright.stores.sqlite import file as sqlite_file
from statewright.stores.sqlite.file import (
    APPLICATION_ID,
    FILE_NAME,
    FolderLock,
    connect,
    copy_database,
    explain,
    migrate,
    split_script,
)
from statewright.stores.sqlite.opened import SCAN_THREADS
from statewright.stores.sqlite.store import SqliteStore
from tests.contract.stores import start
from tests.deadlines import PATIENCE_SECONDS, completed

OPEN = """
import asyncio, fcntl, os, sys
from pathlib import Path
from statewright.errors import StoreError
from statewright.stores.sqlite.opened import SCAN_THREADS
from statewright.stores.sqlite.store import SqliteStore

async def main():
    try:
        await SqliteStore(Path(sys.argv[1])).open("child")
    except StoreError as error:
        print(type(error).__name__, error)
    else:
        print("open")
    if len(sys.argv) > 2:
        sys.stdout.flush()
        sys.stdin.read()

# Once everything is imported: another user may not read Python's own folders.
if os.environ.get("RUN_AS"):
    os.setuid(int(os.environ["RUN_AS"]))
asyncio.run(main())
"""


def open_elsewhere(folder: Path, run_as: str = "") -> str:
    """What another process is told that opens the folder."""
    done = completed(
        [sys.executable, "-c", OPEN, str(folder)],
        check=True,
        env={**os.environ, "RUN_AS": run_as},
    )
    return done.stdout.strip()


async def opened_and_closed(folder: Path) -> int:
    store = SqliteStore(folder)
    epoch = await store.open("test")
    await store.close()
    return epoch


def test_a_second_process_is_refused_by_name_and_pid(tmp_path):
    async def body() -> str:
        store = SqliteStore(tmp_path)
        await store.open("serve")
        try:
            return open_elsewhere(tmp_path)
        finally:
            await store.close()

    told = asyncio.run(body())
    assert told == f"InUse data folder {tmp_path} is in use by pid {os.getpid()} (serve)"
    assert open_elsewhere(tmp_path) == "open"


def test_the_folder_is_free_once_its_process_is_killed(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", OPEN, str(tmp_path), "stay"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        with pytest.raises(Unavailable, match=f"is in use by pid {child.pid} "):
            asyncio.run(opened_and_closed(tmp_path))
        child.kill()
        child.wait()
    assert asyncio.run(opened_and_closed(tmp_path)) == 2


FORK = """
import os, sys
from pathlib import Path
from statewright.stores.sqlite.file import FolderLock

lock = FolderLock(Path(sys.argv[1]), "parent")
child = os.fork()
if child == 0:
    os.write(1, b"child\\n")
    sys.stdin.read()
    os._exit(0)
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_a_forked_child_that_outlives_its_parent_does_not_keep_the_folder(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", FORK, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "child\n"
        assert parent.wait(PATIENCE_SECONDS) == -9
        FolderLock(tmp_path, "test").release()


def test_a_folder_that_is_asked_for_in_vain_costs_no_descriptor(tmp_path):
    lock = FolderLock(tmp_path, "first")
    before = set(os.listdir("/dev/fd"))
    for _ in range(20):
        with pytest.raises(Unavailable):
            FolderLock(tmp_path, "second")
    assert len(os.listdir("/dev/fd")) == len(before)
    lock.release()


@pytest.mark.parametrize(("owner", "told"), [("", "pid {0}"), ("pid {0}", "pid {0}"), ("x", "pid {0} (x)")])
def test_the_holder_is_named_once(tmp_path, owner, told):
    owner, told = owner.format(os.getpid()), told.format(os.getpid())
    lock = FolderLock(tmp_path, owner)
    with pytest.raises(Unavailable) as refused:
        FolderLock(tmp_path, "other")
    assert str(refused.value) == f"data folder {tmp_path} is in use by {told}"
    lock.release()
    lock.release()
    FolderLock(tmp_path, "other").release()


def test_the_folder_and_its_parents_are_made(tmp_path):
    folder = tmp_path / "a" / "b"
    assert asyncio.run(opened_and_closed(folder)) == 1
    assert asyncio.run(opened_and_closed(folder)) == 2
    # Closing leaves one file and the lock: no write-ahead log that a copy could miss.
    assert sorted(file.name for file in folder.iterdir()) == ["lock", FILE_NAME]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match=r"data folder .*file/below cannot be used: "):
        asyncio.run(opened_and_closed(tmp_path / "file" / "below"))


@pytest.mark.skipif(sys.platform == "win32", reason="permissions work differently there")
def test_a_read_only_folder_is_refused_in_words():
    # Root may write anywhere, so another user tries; pytest's own folders are closed to him.
    user = "65534" if os.getuid() == 0 else ""
    with tempfile.TemporaryDirectory() as parent:
        os.chmod(parent, 0o755)
        folder = Path(parent, "data")
        asyncio.run(opened_and_closed(folder))
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
        told = open_elsewhere(folder, user)
        assert told == f"Unavailable data folder {folder} cannot be used: Permission denied"
        (folder / "lock").chmod(0o666)
        told = open_elsewhere(folder, user)
        assert told.startswith(f"Unavailable the store {folder / FILE_NAME} does not answer: it cannot be written;")
        folder.chmod(0o755)


@pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_refused_in_words(tmp_path, content):
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(Unavailable, match=r"damaged.*restore a backup"):
        asyncio.run(opened_and_closed(tmp_path))
    assert (tmp_path / FILE_NAME).read_bytes() == content
    # The folder is free again.
    FolderLock(tmp_path, "test").release()


def test_a_file_of_another_program_is_left_alone(tmp_path):
    other = sqlite3.connect(tmp_path / FILE_NAME)
    other.execute("CREATE TABLE customers (name)")
    other.close()
    with pytest.raises(StoreError, match="not one of Statewright's"):
        asyncio.run(opened_and_closed(tmp_path))


def test_a_newer_file_is_refused_naming_both_versions(tmp_path):
    asyncio.run(opened_and_closed(tmp_path))
    file = sqlite3.connect(tmp_path / FILE_NAME)
    with file:
        file.execute("INSERT INTO schema_version VALUES (12)")
    file.close()
    with pytest.raises(
        StoreError, match=f"has version 12; this program knows versions up to {sqlite_file.SCHEMA_VERSION}"
    ):
        asyncio.run(opened_and_closed(tmp_path))


def test_an_older_file_is_copied_and_brought_up_to_date(tmp_path, monkeypatch):
    scripts = {
        1: sqlite_file._migration(1),
        2: "ALTER TABLE number ADD COLUMN note TEXT;\nCREATE TABLE extra (a TEXT);",
    }
    monkeypatch.setattr(sqlite_file, "_migration", scripts.__getitem__)
    file = tmp_path / FILE_NAME
    for _ in range(2):
        connection = connect(file, writes=True)
        migrate(connection, file, 1)
        connection.execute("INSERT INTO number VALUES ('kept', 5) ON CONFLICT DO NOTHING")
        migrate(connection, file, 2)
        assert connection.execute("SELECT * FROM number").fetchall() == [("kept", 5, None)]
        assert connection.execute("SELECT max(version) FROM schema_version").fetchone() == (2,)
        connection.close()
        before = sqlite3.connect(tmp_path / f"{FILE_NAME}.v1")
        assert before.execute("SELECT * FROM number").fetchall() == [("kept", 5)]
        before.close()
        # As if the copy had been put back: the next copy replaces this one.
        file.write_bytes((tmp_path / f"{FILE_NAME}.v1").read_bytes())


def test_a_migration_that_fails_changes_nothing(tmp_path, monkeypatch):
    scripts = {1: sqlite_file._migration(1), 2: "CREATE TABLE extra (a TEXT);\nCREATE TABLE extra (a TEXT);"}
    monkeypatch.setattr(sqlite_file, "_migration", scripts.__getitem__)
    file = tmp_path / FILE_NAME
    connection = connect(file, writes=True)
    migrate(connection, file, 1)
    with pytest.raises(StoreError, match="extra already exists"):
        migrate(connection, file, 2)
    assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'extra'").fetchone() == (0,)
    migrate(connection, file, 1)
    connection.close()


def test_a_start_that_was_cut_short_goes_on(tmp_path):
    connection = connect(tmp_path / FILE_NAME, writes=True)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("CREATE TABLE schema_version (version INTEGER PRIMARY KEY) STRICT")
    connection.close()
    assert asyncio.run(opened_and_closed(tmp_path)) == 1


def test_an_old_sqlite_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 31, 1))
    with pytest.raises(StoreError, match=r"needs 3\.37\.0 or newer"):
        asyncio.run(opened_and_closed(tmp_path))


def test_a_script_is_split_into_statements():
    script = "-- one; not a statement\nCREATE TABLE a (b);\nINSERT INTO a\nVALUES (';');\n"
    assert [text.strip().splitlines()[-1] for text in split_script(script)] == ["CREATE TABLE a (b);", "VALUES (';');"]
    with pytest.raises(ValueError, match="ends inside a statement"):
        list(split_script("CREATE TABLE a ("))


def test_errors_that_blame_nobody_are_no_reason_to_try_again(tmp_path):
    told = explain(sqlite3.IntegrityError("UNIQUE constraint failed"), tmp_path)
    assert type(told) is StoreError
    assert explain(told, tmp_path) is told


def test_the_file_is_durable_as_asked(tmp_path):
    for durability, synchronous in (("full", 2), ("process", 1)):
        connection = connect(tmp_path / FILE_NAME, durability=durability, writes=True)  # type: ignore[arg-type]
        assert connection.execute("PRAGMA synchronous").fetchone() == (synchronous,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        connection.close()


# Copies


def test_a_backup_is_taken_while_the_store_runs(tmp_path):
    async def body() -> None:
        store = SqliteStore(tmp_path / "data")
        await store.open("test")
        await asyncio.gather(*[store.executions.commit(start(n)) for n in range(1, 200)])
        target = tmp_path / "copy" / FILE_NAME
        target.parent.mkdir()
        copied = asyncio.ensure_future(store.backup(str(target)))
        more = [asyncio.ensure_future(store.executions.commit(start(n))) for n in range(200, 300)]
        await copied
        assert await asyncio.gather(*more) == [Committed(1)] * 100
        with pytest.raises(StoreError, match="exists already"):
            await store.backup(str(target))
        with pytest.raises(Unavailable, match="it cannot be opened"):
            await store.backup(str(tmp_path / "nowhere" / "copy"))
        await store.close()
        assert [file.name for file in target.parent.iterdir()] == [FILE_NAME]
        again = SqliteStore(target.parent)
        await again.open("test")
        assert (await again.executions.count_by_status(None))["RUNNING"] >= 199
        await again.close()

    asyncio.run(body())


def test_a_copy_that_fails_leaves_nothing(tmp_path):
    broken = tmp_path / "broken"
    broken.write_bytes(b"nothing like a database" * 50)
    source = sqlite3.connect(broken)
    with pytest.raises(Unavailable):
        copy_database(source, tmp_path / "copy")
    source.close()
    assert [file.name for file in tmp_path.iterdir()] == ["broken"]


def test_the_page_caches_of_a_store_are_bounded(tmp_path):
    async def cached_kib() -> int:
        store = SqliteStore(tmp_path, durability="process")
        await store.open("test")
        opened = store.file.opened
        # As many as there are threads, each on a connection of its own.
        together = threading.Barrier(SCAN_THREADS)
        await asyncio.gather(*(opened.scan(lambda _: together.wait(PATIENCE_SECONDS)) for _ in range(SCAN_THREADS)))
        every = (opened.points, opened.writer._connection, *opened._connections)
        assert len(every) == SCAN_THREADS + 2
        found = sum(-int(connection.execute("PRAGMA cache_size").fetchone()[0]) for connection in every)
        await store.close()
        return found

    assert asyncio.run(cached_kib()) <= 56 * 1024
