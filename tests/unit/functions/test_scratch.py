"""Temporary folders of workers: each process has its own, and leaves those of others alone while they are young."""

from __future__ import annotations

import os
from pathlib import Path

from statewright.functions.scratch import Scratch
from statewright.stores.blobs.protocol import ORPHAN_MS


def test_a_process_deletes_its_own_folder_and_old_ones(tmp_path: Path) -> None:
    parent = tmp_path / "tmp"
    own, other, killed = (Scratch(parent) for _ in range(3))
    for one in (own, other, killed):
        (one.folder / "1").mkdir(parents=True)
        (one.folder / "1" / "file").write_text("of a worker")
    old = other.folder.stat().st_mtime - 2 * ORPHAN_MS / 1000
    os.utime(killed.folder, (old, old))
    own.close()
    assert [path.name for path in parent.iterdir()] == [other.folder.name]
    assert (other.folder / "1" / "file").read_text() == "of a worker"
    other.close()
    assert not parent.exists()


def test_a_process_without_workers_leaves_nothing(tmp_path: Path) -> None:
    Scratch(tmp_path / "tmp").close()
    assert list(tmp_path.iterdir()) == []
