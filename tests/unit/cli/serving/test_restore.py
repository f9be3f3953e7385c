from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from statewright.cli.serving import backup_files
from statewright.clock import RealClock
from statewright.config import Config
from statewright.objects.objects import Objects
from statewright.objects.state import ObjectState
from statewright.objects.versions.ids import VERSIONING
from statewright.stores.sqlite.file import FILE_NAME
from statewright.stores.sqlite.store import SqliteStore
from tests.unit.cli.conftest import Run


async def numbers(folder: Path, count: int) -> list[int]:
    """The next numbers of a durable counter, which tell one store from another."""
    store = SqliteStore(folder)
    await store.open("test")
    found = [await store.catalogue.next_number("n") for _ in range(count)]
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
    assert (result.code, "There is already a store in" in result.err) == (2, True)
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


LARGE = bytes(range(256)) * 8_192


async def put(folder: Path, key: str, body: bytes) -> None:
    async with objects_of(folder) as objects:
        await objects.put("bucket", key, body)


async def got(folder: Path, key: str) -> bytes:
    async with objects_of(folder) as objects:
        return await objects.reading.read("bucket", key)


@asynccontextmanager
async def objects_of(folder: Path) -> AsyncIterator[Objects]:
    store = SqliteStore(folder)
    await store.open("test")
    objects = Objects(ObjectState(store, RealClock(), Config(), folder / "objects", None))
    await objects.start()
    try:
        if not (await objects.list_buckets()):
            await objects.create_bucket("bucket")
        yield objects
    finally:
        await objects.stop()
        await store.close()


def test_objects_and_code_come_with_a_backup(statewright: Run, tmp_path: Path):
    data = tmp_path / "data"
    asyncio.run(put(data, "large", LARGE))
    asyncio.run(put(data, "small", b"in a row"))
    code = data / "functions/code"
    code.mkdir(parents=True)
    (code / "0a.zip").write_bytes(b"a package")
    made = statewright("backup", "kept.db", "--data", str(data), "-o", "json")
    assert (made.code, made.json["files"], made.json["fileBytes"]) == (0, 2, len(LARGE) + 9)
    assert not (data / ".backup").exists()
    # What happens to the folder afterwards is nothing to the backup.
    asyncio.run(put(data, "large", b"short now"))
    assert statewright("restore", "kept.db", "--data", "new").code == 0
    assert asyncio.run(got(Path("new"), "large")) == LARGE
    assert asyncio.run(got(Path("new"), "small")) == b"in a row"
    assert Path("new/functions/code/0a.zip").read_bytes() == b"a package"


async def two_versions(folder: Path) -> str:
    """Write two large versions; the id of the older one."""
    async with objects_of(folder) as objects:
        await objects.set_bucket_setting("bucket", VERSIONING, "Enabled")
        older = await objects.put("bucket", "large", LARGE)
        await objects.put("bucket", "large", LARGE[::-1])
        assert older.version is not None
        return older.version


async def got_version(folder: Path, version: str) -> bytes:
    async with objects_of(folder) as objects:
        _, stream, _ = await objects.reading.get("bucket", "large", version=version)
        return b"".join([chunk async for chunk in stream])


def test_code_of_other_regions_and_accounts_comes_with_a_backup(statewright: Run, tmp_path: Path):
    data = tmp_path / "data"
    asyncio.run(put(data, "small", b"in a row"))
    names = [
        f"{place}functions/code/0a.zip" for place in ("", "regions/eu-west-1/", "accounts/111122223333/us-east-1/")
    ]
    for name in names:
        (data / name).parent.mkdir(parents=True)
        (data / name).write_bytes(name.encode())
    made = statewright("backup", "kept.db", "--data", str(data), "-o", "json")
    assert (made.code, made.json["files"]) == (0, 3)
    assert statewright("restore", "kept.db", "--data", "new").code == 0
    assert [Path("new", name).read_bytes().decode() for name in names] == names


def test_older_versions_come_with_a_backup(statewright: Run, tmp_path: Path):
    data = tmp_path / "data"
    older = asyncio.run(two_versions(data))
    assert statewright("backup", "kept.db", "--data", str(data), "-o", "json").json["files"] == 2
    assert statewright("restore", "kept.db", "--data", "new").code == 0
    assert asyncio.run(got(Path("new"), "large")) == LARGE[::-1]
    assert asyncio.run(got_version(Path("new"), older)) == LARGE


def test_a_backup_without_its_files_is_refused(statewright: Run, tmp_path: Path):
    asyncio.run(put(tmp_path / "data", "large", LARGE))
    assert statewright("backup", "kept.db", "--data", str(tmp_path / "data")).code == 0
    Path("kept.db.files").rename("elsewhere")
    result = statewright("restore", "kept.db", "--data", "new")
    assert (result.code, "keep them together" in result.err) == (1, True)
    assert not Path("new").exists()


def test_a_file_that_disappears_between_links_and_copy_makes_another_try(
    statewright: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    data = tmp_path / "data"
    asyncio.run(put(data, "large", LARGE))
    hold, held = backup_files.hold, []

    def late(folder: Path, links: Path) -> None:
        # The first links come before the object is there, and it is replaced before there are more.
        held.append(links)
        if len(held) == 2:
            asyncio.run(put(data, "large", LARGE + b"!"))
        if len(held) != 1:
            hold(folder, links)

    monkeypatch.setattr(backup_files, "hold", late)
    assert statewright("backup", "kept.db", "--data", str(data)).code == 0
    assert len(held) == 3
    assert statewright("restore", "kept.db", "--data", "new").code == 0
    assert asyncio.run(got(Path("new"), "large")) == LARGE + b"!"
