"""A move that is killed leaves its source as it was, and a target that no server takes until the move is repeated."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from statewright.stores import fail_points
from statewright.stores.protocol import EntryRow
from statewright.stores.sqlite.store import SqliteStore
from tests.deadlines import completed
from tests.postgres_server import server_or_skip

POINTS = [fail_points.IN_TRANSFER, fail_points.AFTER_TRANSFER, fail_points.IN_COPY]
ROWS = 2_000


def statewright(*arguments: Any, fail_point: str = "") -> Any:
    environment = {**os.environ, fail_points.VARIABLE: fail_point}
    return completed([sys.executable, "-m", "statewright.cli.main", *map(str, arguments)], env=environment)


def refused(*options: Any) -> str:
    """What a server says that does not start."""
    done = statewright("serve", "--port", "0", *options)
    assert done.returncode == 1, done.stdout
    return str(done.stderr).splitlines()[-1]


def make(folder: Path) -> None:
    """A store with rows, and a file beside them."""

    async def write() -> None:
        store = SqliteStore(folder)
        await store.open("test")
        rows = [EntryRow("k", f"{number}", "", 0, 1, b"x" * 200) for number in range(ROWS)]
        assert await store.catalogue.write(rows)
        await store.close()

    asyncio.run(write())
    (folder / "logs").mkdir()
    (folder / "logs" / "one").write_text("a line\n")


def rows_of(folder: Path) -> int:
    async def count() -> int:
        store = SqliteStore(folder)
        await store.open("test")
        found = await store.catalogue.list_entries("k", "", after=None, limit=2 * ROWS, newest_first=False)
        await store.close()
        return len(found)

    return asyncio.run(count())


def test_killed_on_the_way_to_postgresql(tmp_path):
    address = server_or_skip().new_database()
    make(tmp_path / "one")
    before = (tmp_path / "one" / "statewright.db").read_bytes()
    move = ("move", "--from", f"sqlite:{tmp_path / 'one'}", "--to", address, "--data", tmp_path / "two")
    assert statewright(*move, fail_point=fail_points.IN_TRANSFER).returncode == -signal.SIGKILL
    assert (tmp_path / "one" / "statewright.db").read_bytes() == before
    problem = refused("--store", address, "--data", tmp_path / "two")
    assert f"is incomplete, because the move from sqlite:{tmp_path / 'one'} to " in problem
    assert problem.endswith("repeat that command, or give Statewright another database")
    back = statewright("move", "--from", address, "--to", f"sqlite:{tmp_path / 'x'}", "--data", tmp_path / "two")
    assert (back.returncode, "is incomplete" in back.stderr) == (1, True)

    # The files in the folder are this move's: another one does not replace them.
    make(tmp_path / "other")
    other = statewright("move", "--from", f"sqlite:{tmp_path / 'other'}", *move[3:])
    assert (other.returncode, f"move from sqlite:{tmp_path / 'one'}" in other.stderr) == (1, True)
    # The lease of the killed process is awaited.
    again = statewright(*move)
    assert again.returncode == 0, again.stderr
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT count(*) FROM entry").fetchone() == (ROWS,)
    assert sorted(path.name for path in (tmp_path / "two").rglob("*")) == ["lock", "logs", "one"]
    assert rows_of(tmp_path / "one") == ROWS


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.slow
def test_killed_on_the_way_to_a_data_folder(tmp_path, point):
    address = server_or_skip().new_database()
    make(tmp_path / "one")
    done = statewright("move", "--from", f"sqlite:{tmp_path / 'one'}", "--to", address, "--data", tmp_path / "two")
    assert done.returncode == 0, done.stderr
    move = ("move", "--from", address, "--to", f"sqlite:{tmp_path / 'three'}", "--data", tmp_path / "two")
    assert statewright(*move, fail_point=point).returncode == -signal.SIGKILL
    problem = refused("--data", tmp_path / "three")
    assert f"to sqlite:{tmp_path / 'three'} was interrupted: repeat that command, or delete the folder" in problem
    again = statewright(*move)
    assert again.returncode == 0, again.stderr
    assert rows_of(tmp_path / "three") == ROWS
    assert not list((tmp_path / "three").glob("*.part"))


@pytest.mark.slow
def test_a_restore_into_a_database_that_is_killed_can_be_repeated(tmp_path):
    address = server_or_skip().new_database()
    make(tmp_path / "one")
    assert statewright("backup", tmp_path / "b.db", "--data", tmp_path / "one").returncode == 0
    restore = ("restore", tmp_path / "b.db", "--store", address, "--data", tmp_path / "two")
    assert statewright(*restore, fail_point=fail_points.IN_TRANSFER).returncode == -signal.SIGKILL
    problem = refused("--store", address, "--data", tmp_path / "two")
    assert f"because the restore of {tmp_path / 'b.db'} into " in problem
    again = statewright(*restore)
    assert again.returncode == 0, again.stderr


@pytest.mark.slow
def test_killed_when_the_database_has_everything(tmp_path):
    address = server_or_skip().new_database()
    make(tmp_path / "one")
    move = ("move", "--from", f"sqlite:{tmp_path / 'one'}", "--to", address, "--data", tmp_path / "two")
    assert statewright(*move, fail_point=fail_points.AFTER_TRANSFER).returncode == -signal.SIGKILL
    assert (tmp_path / "two" / "unfinished").exists()
    # Rows that are not the source's: something else has written.
    with psycopg.connect(address) as connection:
        connection.execute("INSERT INTO number VALUES ('new', 1)")
    other = statewright(*move)
    assert (other.returncode, "has changed since or was filled by something else" in other.stderr) == (1, True)
    assert f"it is complete, and {tmp_path / 'two' / 'unfinished'} can be deleted" in other.stderr
    with psycopg.connect(address) as connection:
        connection.execute("DELETE FROM number WHERE name = 'new'")
    again = statewright(*move)
    assert again.returncode == 0, again.stderr
    assert f"{ROWS:,}" in again.stdout
    assert sorted(path.name for path in (tmp_path / "two").rglob("*")) == ["lock", "logs", "one"]
    third = statewright(*move)
    assert (third.returncode, "has files of a store already" in third.stderr) == (1, True)


@pytest.mark.slow
def test_a_restore_that_is_killed_when_the_database_has_everything_can_be_repeated(tmp_path):
    address = server_or_skip().new_database()
    make(tmp_path / "one")
    assert statewright("backup", tmp_path / "b.db", "--data", tmp_path / "one").returncode == 0
    restore = ("restore", tmp_path / "b.db", "--store", address, "--data", tmp_path / "two")
    assert statewright(*restore, fail_point=fail_points.AFTER_TRANSFER).returncode == -signal.SIGKILL
    again = statewright(*restore)
    assert again.returncode == 0, again.stderr
    assert not (tmp_path / "two" / "unfinished").exists()
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT count(*) FROM entry").fetchone() == (ROWS,)


@pytest.mark.slow
def test_a_source_that_was_killed_keeps_its_log_and_its_mark(tmp_path):
    address = server_or_skip().new_database()
    make(tmp_path / "one")
    script = (
        "import asyncio, os, sys; from pathlib import Path; from statewright.stores.sqlite.store import SqliteStore\n"
        "async def main():\n"
        "    store = SqliteStore(Path(sys.argv[1])); await store.open('test')\n"
        "    await store.catalogue.next_number('last'); os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())"
    )
    completed([sys.executable, "-c", script, tmp_path / "one"])
    log = tmp_path / "one" / "statewright.db-wal"
    before = log.read_bytes()
    move = ("move", "--from", f"sqlite:{tmp_path / 'one'}", "--to", address, "--data", tmp_path / "two")
    assert statewright(*move, "--dry-run").returncode == 0
    assert b"not closed" in (tmp_path / "one" / "lock").read_bytes()
    log.rename(tmp_path / "log")
    lost = statewright(*move)
    assert (lost.returncode, "write-ahead log is missing" in lost.stderr) == (1, True)
    (tmp_path / "log").rename(log)
    assert statewright(*move).returncode == 0
    assert log.read_bytes() == before
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT last FROM number WHERE name = 'last'").fetchone() == (1,)
