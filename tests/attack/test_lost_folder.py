"""The data folder goes away, or to another process, while a server has it open: no write is acknowledged in vain."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from statewright.errors import OwnershipLost
from statewright.stores.sqlite import ownership
from statewright.stores.sqlite.store import SqliteStore
from tests.attack.stores import entry, opened
from tests.deadlines import PATIENCE_SECONDS, until, until_async
from tests.e2e.conftest import Server

FILE = "statewright.db"


def _remove_lock(folder: Path) -> None:
    (folder / "lock").unlink()


def _remove_database(folder: Path) -> None:
    (folder / FILE).unlink()


def _remove_log(folder: Path) -> None:
    (folder / f"{FILE}-wal").unlink()


def _replace_database(folder: Path) -> None:
    shutil.copy(folder / FILE, folder / "copy")
    (folder / "copy").replace(folder / FILE)


def _remove_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def _rename_folder(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def _link_elsewhere(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.with_name("other").mkdir()
    folder.symlink_to(folder.with_name("other"))


HARM = [
    _remove_lock, _remove_database, _remove_log, _replace_database, _remove_folder, _rename_folder, _link_elsewhere,
]  # fmt: skip


@pytest.mark.parametrize("harm", HARM, ids=lambda harm: harm.__name__.strip("_"))
def test_a_store_whose_files_were_changed_refuses_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[Path], None]
) -> None:
    monkeypatch.setattr(ownership, "LOOK_SECONDS", 0.01)

    async def run(store: SqliteStore) -> None:
        await store.catalogue.write([entry("before")])
        store.check_lease()
        harm(store.file.folder)

        def noticed() -> bool:
            try:
                store.check_lease()
            except OwnershipLost:
                return True
            return False

        await until_async(noticed, "noticing the harm")
        with pytest.raises(OwnershipLost, match="was removed or changed under this server"):
            await store.catalogue.write([entry("after")])

    opened(tmp_path / "data", run)


def test_files_that_stay_are_not_suspected(tmp_path: Path) -> None:
    async def run(store: SqliteStore) -> None:
        await store.catalogue.write([entry("one")])
        await store.backup(str(tmp_path / "copy.db"))
        (store.file.folder / "note").write_text("of others")
        os.utime(store.file.folder / FILE)
        (store.file.folder / "lock").chmod(0o640)
        store.file.opened.ownership.look()
        store.check_lease()

    opened(tmp_path / "data", run)


def test_of_two_processes_on_one_folder_the_older_is_fenced_and_loses_nothing_silently(tmp_path: Path) -> None:
    """The lock file was removed, so that a second process could start."""

    async def main() -> None:
        older, newer = SqliteStore(tmp_path, durability="process"), SqliteStore(tmp_path, durability="process")
        assert await older.open("older") == 1
        await older.catalogue.write([entry("of the older")])
        (tmp_path / "lock").unlink()
        assert await newer.open("newer") == 2
        # Before the thread looks: the epoch alone must stop it, in every kind of write.
        for key in ("a", "b"):
            with pytest.raises(OwnershipLost, match="another process has taken over the data folder"):
                await older.catalogue.write([entry(key)])
        with pytest.raises(OwnershipLost):
            older.check_lease()
        await newer.catalogue.write([entry("of the newer")])
        await older.close()
        await newer.catalogue.write([entry("after the older has closed")])
        assert await keys(newer) == ["after the older has closed", "of the newer", "of the older"]
        await newer.close()

    asyncio.run(main())


def test_a_folder_in_the_place_of_the_removed_one_keeps_its_write_ahead_log(tmp_path: Path) -> None:
    """With its last connection SQLite deletes the write-ahead log by its path: here another database's."""

    async def main() -> None:
        folder = tmp_path / "data"
        older, newer = SqliteStore(folder, durability="process"), SqliteStore(folder, durability="process")
        await older.open("older")
        await older.catalogue.write([entry("of the older")])
        folder.rename(tmp_path / "elsewhere")
        await newer.open("newer")
        await newer.catalogue.write([entry("of the newer")])
        await older.close()
        newer.file.opened.ownership.look()
        newer.check_lease()
        assert (folder / f"{FILE}-wal").stat().st_size > 0
        assert await keys(newer) == ["of the newer"]
        await newer.close()

    asyncio.run(main())


async def keys(store: SqliteStore) -> list[str]:
    return sorted(
        [row.key for row in await store.catalogue.list_entries("note", "", newest_first=False, after=None, limit=10)]
    )


@pytest.mark.parametrize("harm", [_remove_lock, _remove_folder], ids=["lock", "folder"])
def test_a_server_whose_data_was_removed_ends_with_a_line_and_code_1(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    server = Server(tmp_path / "data")
    sqs = server.client("sqs")
    url = sqs.create_queue(QueueName="q")["QueueUrl"]
    harm(tmp_path / "data")

    def refused() -> bool:
        try:
            sqs.send_message(QueueUrl=url, MessageBody="m")
        except (ClientError, EndpointConnectionError, OSError):
            return True
        except Exception as problem:  # the connection ended with the server
            return "Connection" in type(problem).__name__
        return False

    until(refused, "the refusal of a message")
    assert server.process.wait(PATIENCE_SECONDS) == 1
    said = server.log.read_text()
    assert f"the data folder {tmp_path / 'data'} was removed or changed under this server" in said
    assert "Traceback" not in said


def test_a_server_that_another_one_has_replaced_ends_with_code_1(tmp_path: Path) -> None:
    older = Server(tmp_path / "data")
    queue = older.client("sqs").create_queue(QueueName="q")["QueueUrl"]
    (tmp_path / "data" / "lock").unlink()
    newer = Server(tmp_path / "data")
    assert older.process.wait(PATIENCE_SECONDS) == 1
    sqs = newer.client("sqs")
    url = sqs.get_queue_url(QueueName="q")["QueueUrl"]
    assert url.rpartition("/")[2] == queue.rpartition("/")[2]
    sqs.send_message(QueueUrl=url, MessageBody="m")
    assert newer.stop() == 0
