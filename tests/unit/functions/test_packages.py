"""Code packages: what is unpacked, and what no zip may do."""

from __future__ import annotations

import io
import os
import stat
import struct
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from statewright.errors import ApiError
from statewright.functions import packages
from statewright.functions.packages import Packages
from tests.deadlines import PATIENCE_SECONDS


def archive(*members: tuple[str, bytes], mode: int = 0o644) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, content)
    return made.getvalue()


@pytest.fixture
def kept(tmp_path: Path) -> Packages:
    return Packages(tmp_path / "code")


def files_of(kept: Packages) -> list[str]:
    return sorted(path.name for path in kept.folder.iterdir()) if kept.folder.is_dir() else []


def refused(kept: Packages, data: bytes) -> str:
    with pytest.raises(ApiError) as caught:
        kept.put(data)
    assert caught.value.code == "InvalidParameterValueException"
    assert files_of(kept) == []
    return caught.value.message


def test_a_package_is_kept_by_its_hash_and_unpacked_once(kept):
    data = archive(("app.py", b"x = 1"), ("deep/er/data.txt", b"y"))
    name, _, size = kept.put(data)
    assert kept.put(data)[0] == name
    assert size == len(data)
    folder = kept.unpacked(name)
    assert (folder / "app.py").read_bytes() == b"x = 1"
    assert (folder / "deep" / "er" / "data.txt").read_bytes() == b"y"
    assert files_of(kept) == sorted([name, f"{name}.zip"])
    assert kept.zip_of(name).read_bytes() == data


def test_a_package_may_come_several_times_at_once(kept, monkeypatch):
    data = archive(("app.py", b"x = 1"))
    together = threading.Barrier(4)
    written = os.fsync

    def wait_for_the_others(number: int) -> None:
        if not stat.S_ISDIR(os.fstat(number).st_mode):
            together.wait(PATIENCE_SECONDS)
        written(number)

    monkeypatch.setattr(os, "fsync", wait_for_the_others)
    # The first call unpacks the folder; the barrier holds all of them where the zip is on its way.
    monkeypatch.setattr(Packages, "_unpack", lambda *_: None)
    with ThreadPoolExecutor(4) as pool:
        names = set(pool.map(lambda _: kept.put(data)[0], range(4)))
    assert len(names) == 1
    assert files_of(kept) == [f"{names.pop()}.zip"]


def test_a_folder_that_went_is_unpacked_again(kept):
    import shutil

    name, _, _ = kept.put(archive(("app.py", b"")))
    shutil.rmtree(kept.folder / name)
    assert (kept.unpacked(name) / "app.py").exists()


def test_programs_stay_programs(kept):
    name, _, _ = kept.put(archive(("bootstrap", b"#!/bin/sh\n"), mode=0o755))
    assert stat.S_IMODE((kept.unpacked(name) / "bootstrap").stat().st_mode) == 0o500


@pytest.mark.parametrize(
    "name", ["../outside.py", "a/../../outside.py", "/etc/outside.py", "..\\outside.py", "C:/outside.py"]
)
def test_nothing_is_written_outside(kept, name):
    assert "outside of it" in refused(kept, archive((name, b"x")))
    assert not (kept.folder.parent / "outside.py").exists()


def test_links_are_refused(kept):
    assert "symbolic link" in refused(kept, archive(("link", b"/etc/passwd"), mode=stat.S_IFLNK | 0o777))


@pytest.mark.parametrize("data", [b"", b"no zip", archive(("a", b"x"))[:-10], b"PK\x05\x06" + b"\0" * 10])
def test_what_is_no_zip(kept, data):
    assert refused(kept, data).startswith("Could not unzip uploaded file.")


def test_an_empty_zip(kept):
    assert refused(kept, archive()) == "Uploaded file must be a non-empty zip"


def test_a_file_that_is_a_folder_too(kept):
    assert refused(kept, archive(("a", b"x"), ("a/b", b"y"))).startswith("Could not unzip")


def test_too_much_by_its_own_word(kept, monkeypatch):
    monkeypatch.setattr(packages, "UNZIPPED_BYTES", 1_000)
    assert refused(kept, archive(("a", b"x" * 1_001))) == "Unzipped size must be smaller than 1000 bytes"


def test_a_bomb_that_lies_about_its_size(kept, monkeypatch):
    monkeypatch.setattr(packages, "UNZIPPED_BYTES", 1_000)
    data = bytearray(archive(("a", b"x" * 1_000_000)))
    for at in (data.index(b"PK\x03\x04") + 22, data.index(b"PK\x01\x02") + 24):
        data[at : at + 4] = struct.pack("<I", 10)
    assert refused(kept, bytes(data))


def test_too_many_files(kept, monkeypatch):
    monkeypatch.setattr(packages, "MOST_FILES", 3)
    assert "holds 4 files" in refused(kept, archive(*((str(number), b"") for number in range(4))))


def test_only_what_is_needed_is_kept(kept):
    first, _, _ = kept.put(archive(("a", b"1")))
    second, _, _ = kept.put(archive(("a", b"2")))
    kept.keep_only({second})
    assert files_of(kept) == sorted([second, f"{second}.zip"])
    assert first not in files_of(kept)
