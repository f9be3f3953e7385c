"""Files of the store that are damaged or deleted while no server runs: the next one says so."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import sys
import urllib.request
from pathlib import Path

import pytest

from statewright.cli.serving.data_checks import check_data
from statewright.errors import Unavailable
from statewright.stores.sqlite.file import connect, lacks_log, log_of
from statewright.stores.sqlite.store import SqliteStore
from tests.attack.stores import entry, opened
from tests.deadlines import completed, started, until
from tests.e2e.conftest import Server

FILE = "statewright.db"
PAGE_BYTES = 4096
ROWS = 400
CHILD = """
import asyncio, sys
from pathlib import Path
from tests.attack.stores import entry
from statewright.stores.sqlite.store import SqliteStore
async def main():
    store = SqliteStore(Path(sys.argv[1]))
    await store.open("a server")
    await store.catalogue.write([entry("000001")])
    print("written", flush=True)
    await asyncio.sleep(10_000)
asyncio.run(main())
"""


def killed(folder: Path) -> None:
    """A folder as a server leaves it that was killed after a write."""
    process = started([sys.executable, "-c", CHILD, str(folder)], stdout=-1, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    process.send_signal(signal.SIGKILL)
    process.wait()


def damage(folder: Path) -> None:
    """Overwrite pages in the second half of the database."""
    file = folder / FILE
    pages = file.stat().st_size // PAGE_BYTES
    with file.open("r+b") as body:
        for page in range(pages // 2, pages // 2 + 20):
            body.seek(page * PAGE_BYTES)
            body.write(b"\xff" * 200)


async def filled(store: SqliteStore) -> None:
    await store.catalogue.write([entry(f"{number:06}", 3_000) for number in range(ROWS)])


async def nothing(_store: SqliteStore) -> None: ...


def test_a_sound_store_has_no_fault(tmp_path: Path) -> None:
    async def run(store: SqliteStore) -> None:
        await filled(store)
        assert await store.examine() is None

    opened(tmp_path, run)


def test_damage_is_found_by_reading_the_store_through(tmp_path: Path) -> None:
    opened(tmp_path, filled)
    damage(tmp_path)

    async def run(store: SqliteStore) -> None:
        fault = await store.examine()
        assert fault is not None
        assert fault.startswith("entry: ")

    opened(tmp_path, run)


def test_a_store_that_closes_breaks_the_examination_off(tmp_path: Path) -> None:
    opened(tmp_path, filled)

    async def run(store: SqliteStore) -> None:
        examining = asyncio.ensure_future(store.examine())
        await asyncio.sleep(0)
        await store.close()
        assert await examining is None

    opened(tmp_path, run)


def test_a_server_on_a_damaged_store_says_so(tmp_path: Path) -> None:
    data = tmp_path / "data"
    opened(data, filled)
    damage(data)
    server = Server(data)
    until(lambda: f"the store {data} is damaged (entry: " in server.log.read_text(), "the line about the damage")
    doctor = [sys.executable, "-m", "statewright.cli.main", "doctor", "--endpoint", server.url, "--data", str(data)]
    done = completed(doctor)
    assert done.returncode == 1
    assert "its store is damaged" in " ".join(done.stdout.split())
    with urllib.request.urlopen(f"{server.url}/metrics") as page:
        assert b'statewright_store_damaged{check="damaged"} 1' in page.read()
    server.kill()


def test_a_write_ahead_log_that_was_deleted_after_a_kill_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened(tmp_path, nothing)
    killed(tmp_path)
    assert not lacks_log(tmp_path)
    log_of(tmp_path / FILE).unlink()
    (tmp_path / f"{FILE}-shm").unlink()
    found = check_data(tmp_path)
    assert (found.status, "statewright.db-wal is missing" in found.message) == ("problem", True)
    with caplog.at_level(logging.WARNING):
        opened(tmp_path, nothing)
        assert [one for one in caplog.messages if "was not closed, and its write-ahead log" in one]
        caplog.clear()
        opened(tmp_path, nothing)
        assert caplog.messages == [], "it was closed this time"
    assert check_data(tmp_path).status == "ok"


def test_a_store_that_was_closed_or_whose_log_is_there_is_not_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        opened(tmp_path, filled)
        assert not log_of(tmp_path / FILE).exists()
        opened(tmp_path, nothing)
        killed(tmp_path)
        opened(tmp_path, nothing)
    assert caplog.messages == []


def test_commands_that_look_at_a_killed_store_leave_its_log(tmp_path: Path) -> None:
    killed(tmp_path / "data")
    log = log_of(tmp_path / "data" / FILE)
    before = log.stat().st_size
    assert check_data(tmp_path / "data").status == "ok"
    for command in (["doctor"], ["backup", str(tmp_path / "b.db")]):
        done = completed([sys.executable, "-m", "statewright.cli.main", *command, "--data", str(tmp_path / "data")])
        assert "damaged" not in done.stdout + done.stderr
    assert log.stat().st_size == before
    rows = connect(tmp_path / "b.db").execute("SELECT count(*) FROM entry WHERE kind = 'note'").fetchone()
    assert rows == (1,), "what is only in the log is in the backup"


def test_the_lock_still_names_its_owner(tmp_path: Path) -> None:
    async def run(store: SqliteStore) -> None:
        with pytest.raises(Unavailable, match=rf"is in use by pid {os.getpid()} \(a server\)$"):
            await SqliteStore(store.file.folder).open("another")

    opened(tmp_path, run)
    shutil.rmtree(tmp_path)
