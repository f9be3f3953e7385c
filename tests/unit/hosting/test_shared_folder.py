"""The lock of a data folder that a server on PostgreSQL shares with its standby follows the lease."""

from __future__ import annotations

from pathlib import Path

import pytest

from statewright.errors import InUse, Unavailable
from statewright.hosting import shared_folder
from statewright.hosting.shared_folder import KIND, SharedFolder
from statewright.stores.sqlite import file
from statewright.stores.sqlite.file import FolderLock
from statewright.virtual_clock import VirtualClock, run_virtual


def test_a_free_folder_is_locked_and_released(tmp_path: Path) -> None:
    async def scenario(clock: VirtualClock) -> None:
        folder = SharedFolder(tmp_path, clock)
        await folder.hold()
        assert folder.is_locked
        with pytest.raises(InUse, match=KIND):
            FolderLock(tmp_path, "another")
        await folder.release()
        await folder.release()
        FolderLock(tmp_path, "another").release()

    run_virtual(scenario)


def test_a_former_owner_may_let_go_in_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(clock: VirtualClock) -> None:
        former = FolderLock(tmp_path, KIND)
        clock.call_at(clock.now_ms() + shared_folder.PATIENCE_MS // 2, former.release)
        folder = SharedFolder(tmp_path, clock)
        await folder.hold()
        assert folder.is_locked
        await folder.release()

    run_virtual(scenario)
    assert not caplog.records


def test_a_frozen_former_owner_is_not_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(clock: VirtualClock) -> None:
        former = FolderLock(tmp_path, KIND)
        began_ms = clock.now_ms()
        folder = SharedFolder(tmp_path, clock)
        await folder.hold()
        assert not folder.is_locked
        assert clock.now_ms() - began_ms <= shared_folder.PATIENCE_MS + shared_folder.LOOK_MS
        await clock.sleep_until(clock.now_ms() + 10 * shared_folder.LATER_MS)
        assert not folder.is_locked
        former.release()
        await clock.sleep_until(clock.now_ms() + shared_folder.LATER_MS)
        assert folder.is_locked
        await folder.release()

    run_virtual(scenario)
    assert [record.levelname for record in caplog.records].count("WARNING") == 1


def test_the_folder_of_a_server_on_sqlite_is_refused(tmp_path: Path) -> None:
    async def scenario(clock: VirtualClock) -> None:
        other = FolderLock(tmp_path, "pid 7")
        with pytest.raises(InUse, match="in use by pid"):
            await SharedFolder(tmp_path, clock).hold()
        other.release()

    run_virtual(scenario)


def test_a_file_system_without_locks_is_left_to_the_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_descriptor: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(file, "_lock", refuse)

    async def scenario(clock: VirtualClock) -> None:
        folder = SharedFolder(tmp_path, clock)
        await folder.hold()
        assert not folder.is_locked
        await folder.release()

    run_virtual(scenario)
    assert "No locks available: the lease" in caplog.text


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")

    async def scenario(clock: VirtualClock) -> None:
        with pytest.raises(Unavailable, match="cannot be used"):
            await SharedFolder(tmp_path / "data", clock).hold()

    run_virtual(scenario)
