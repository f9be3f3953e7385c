"""The permissions of data folders: what is found open, what is closed, and what is left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from statewright.files.data_folder import close_to_others, openness


def mode_of(path: Path) -> str:
    return f"{path.stat().st_mode & 0o7777:o}"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o755)
    for name in ("statewright.db", "statewright.db-wal", "lock"):
        (folder / name).touch()
        (folder / name).chmod(0o644)
    (folder / "objects").mkdir()
    (folder / "objects").chmod(0o750)
    return folder


def test_a_folder_that_is_missing_or_closed_is_fine(tmp_path: Path, data: Path) -> None:
    assert openness(tmp_path / "none").paths == []
    data.chmod(0o700)
    assert openness(data).paths == [], "nothing below a closed folder can be reached"


def test_a_folder_of_ours_is_closed_with_its_entries(data: Path) -> None:
    before, after = close_to_others(data)
    assert [path.name for path in before.closable] == [
        "data", "lock", "objects", "statewright.db", "statewright.db-wal",
    ]  # fmt: skip
    assert after.paths == []
    assert [mode_of(path) for path in (data, data / "lock", data / "objects")] == ["700", "600", "700"]


def test_files_of_others_are_left_alone(data: Path) -> None:
    (data / "README").touch()
    (data / "README").chmod(0o644)
    before, after = close_to_others(data)
    assert data not in before.paths
    assert after.paths == []
    assert [mode_of(path) for path in (data, data / "README", data / "statewright.db")] == ["755", "644", "600"]


def test_a_folder_that_users_share_is_not_closed(data: Path) -> None:
    data.chmod(0o1777)
    assert close_to_others(data)[1].paths == []
    assert mode_of(data) == "1777"
    (data / "theirs").touch()
    data.chmod(0o777)
    assert close_to_others(data)[1].others == [data], "others may replace the store"


def test_a_link_that_leads_nowhere_is_passed_over(data: Path) -> None:
    (data / "jobs").symlink_to(data / "nowhere")
    assert close_to_others(data)[1].paths == []


def test_a_folder_of_another_user_is_said(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(data, os.getuid(), os.getgid())
    monkeypatch.setattr(os, "geteuid", lambda: data.stat().st_uid + 1)
    data.chmod(0o700)
    found = openness(data).others
    assert found == ([] if data.stat().st_uid == 0 else [data]), "root may own it"
