from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from statewright.stores.sqlite import SqliteStore
from statewright.stores.sqlite_file import FILE_NAME
from tests.unit.cli.conftest import Run


async def numbers(folder: Path, count: int) -> list[int]:
    """The next numbers of a durable counter, which tell one store from another."""
    store = SqliteStore(folder)
    await store.open("test")
    found = [await store.catalog.next_number("n") for _ in range(count)]
    await store.close()
    return found


@pytest.fixture
def backup(statewright: Run, tmp_path: Path) -> Path:
    asyncio.run(numbers(tmp_path / "data", 3))
    assert statewright("backup", "kept.db", "--data", str(tmp_path / "data")).code == 0
    return Path("kept.db")


def test_a_backup_is_restored_and_goes_on(statewright: Run, backup: Path, tmp_path: Path):
    result = statewright("restore", str(backup), "--data", "new/folder")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[0] == "new/folder: 0 executions from kept.db, checked"
    assert asyncio.run(numbers(Path("new/folder"), 1)) == [4]
    as_json = statewright("restore", str(backup), "--data", "other", "-o", "json")
    assert as_json.json["folder"] == "other"
    assert backup.exists()


def test_a_store_is_never_replaced(statewright: Run, backup: Path, tmp_path: Path):
    result = statewright("restore", str(backup), "--data", str(tmp_path / "data"))
    assert (result.code, "There is a store in" in result.err) == (2, True)
    rest = tmp_path / "rest"
    rest.mkdir()
    (rest / f"{FILE_NAME}-wal").write_bytes(b"what is left of a store")
    assert statewright("restore", str(backup), "--data", str(rest)).code == 2
    assert asyncio.run(numbers(tmp_path / "data", 1)) == [4]


def test_what_is_no_backup_leaves_nothing_behind(statewright: Run, backup: Path, tmp_path: Path):
    assert statewright("restore", "nothing.db").code == 3
    damaged = backup.read_bytes()
    Path("damaged.db").write_bytes(damaged[:4096] + bytes(len(damaged) - 4096))
    Path("other.db").write_bytes(b"something else entirely" * 200)
    theirs = sqlite3.connect("theirs.db")
    theirs.execute("CREATE TABLE customers (name)")
    theirs.close()
    newer = sqlite3.connect(backup)
    with newer:
        newer.execute("INSERT INTO schema_version VALUES (99)")
    newer.close()
    for name, words in (
        ("damaged.db", "Nothing was restored"),
        ("other.db", "no database"),
        ("theirs.db", "not one of Statewright's"),
        ("kept.db", "has version 99"),
    ):
        result = statewright("restore", name, "--data", "new")
        assert (result.code, words in " ".join(result.err.split())) == (1, True), result.err
        assert not Path("new", FILE_NAME).exists()


def test_a_folder_in_use_or_not_to_be_had(statewright: Run, backup: Path):
    Path("file").write_text("")
    result = statewright("restore", str(backup), "--data", "file")
    assert (result.code, "it is a file; name a folder" in " ".join(result.err.split())) == (1, True)
