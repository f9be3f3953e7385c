"""Code packages: what is unpacked, and what no zip may do."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import stat
import struct
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from statewright.errors import ApiError
from statewright.functions.code import blobs, packages
from statewright.functions.code.packages import Packages
from statewright.stores.postgres.store import PostgresStore
from tests.deadlines import PATIENCE_SECONDS
from tests.postgres_server import server_or_skip


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


def grow_old(kept: Packages) -> None:
    for path in kept.folder.glob("*.zip"):
        os.utime(path, (0, 0))


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
    everything = files_of(kept)
    # A row may be about to name a young one, or one that was put again.
    kept.keep_only({second})
    assert files_of(kept) == everything
    grow_old(kept)
    kept.put(archive(("a", b"1")))
    kept.keep_only({second})
    assert files_of(kept) == everything
    grow_old(kept)
    kept.renew([first])
    kept.keep_only({second})
    assert files_of(kept) == everything
    grow_old(kept)
    kept.keep_only({second})
    assert files_of(kept) == sorted([second, f"{second}.zip"])


def test_a_damaged_zip_is_not_unpacked(kept):
    name, _, _ = kept.put(archive(("a", b"1")))
    kept.zip_of(name).write_bytes(archive(("a", b"2")))
    packages._remove(kept.folder / name)
    with pytest.raises(OSError, match="is damaged"):
        kept.unpacked(name)


# As a cache of the packages in a store


@pytest.fixture
def in_store(tmp_path: Path) -> Iterator[tuple[Packages, PostgresStore]]:
    """The packages of a server, and its store."""
    server = server_or_skip()
    store = PostgresStore(server.new_database(server.template))
    with asyncio.Runner() as runner:
        runner.run(store.open("test"))
        yield Packages(tmp_path / "code", store.blobs), store
        runner.run(store.close())


def test_a_package_of_the_store_comes_to_any_folder(in_store, tmp_path):
    kept, store = in_store
    data = archive(("app.py", os.urandom(3 << 20)))
    name, _, size = kept.put(data)
    for folder in ("elsewhere", "again"):
        other = Packages(tmp_path / folder, store.blobs)
        assert other.missing_in_store() == set()
        assert other.size_of(name) == size
        assert (other.unpacked(name) / "app.py").read_bytes() == (kept.folder / name / "app.py").read_bytes()
        assert other.fetched(name).read_bytes() == data
    # A damaged file is fetched again.
    packages._remove(other.folder / name)
    other.zip_of(name).write_bytes(data[:-1])
    assert (other.unpacked(name) / "app.py").exists()
    assert other.zip_of(name).read_bytes() == data


def test_a_package_that_is_damaged_in_the_store_is_refused(in_store, tmp_path):
    kept, store = in_store
    name, _, _ = kept.put(archive(("app.py", b"1")))
    store.blobs.create(f"code/{name}").put(archive(("app.py", b"2")), is_last=True)
    other = Packages(tmp_path / "elsewhere", store.blobs)
    with pytest.raises(OSError, match="in the store is damaged"):
        other.unpacked(name)
    assert files_of(other) == []
    with pytest.raises(FileNotFoundError):
        other.unpacked("0" * 64)


def test_a_package_that_was_written_in_part_is_completed(in_store, tmp_path):
    kept, store = in_store
    data = archive(("app.py", os.urandom(3 << 20)))
    name = hashlib.sha256(data).hexdigest()
    store.blobs.create(f"code/{name}").put(data[: 1 << 20], is_last=False)
    kept.put(data)
    assert (Packages(tmp_path / "elsewhere", store.blobs).unpacked(name) / "app.py").exists()


def test_unused_packages_of_the_store_are_deleted_after_an_hour(in_store, tmp_path, monkeypatch):
    kept, store = in_store
    first, _, _ = kept.put(archive(("a", b"1")))
    second, _, _ = kept.put(archive(("a", b"2")))
    kept.keep_only({second})
    assert kept.size_of(first)
    assert store.blobs.has(f"code/{first}")
    monkeypatch.setattr(blobs, "ORPHAN_MS", -1000)
    grow_old(kept)
    kept.keep_only({second})
    assert not store.blobs.has(f"code/{first}")
    assert (Packages(tmp_path / "elsewhere", store.blobs).unpacked(second) / "a").read_bytes() == b"2"


def test_packages_of_an_older_version_are_moved_into_the_store(in_store, tmp_path):
    kept, store = in_store
    before = Packages(kept.folder)
    name, _, _ = before.put(archive(("a", b"1")))
    damaged, _, _ = before.put(archive(("a", b"2")))
    before.zip_of(damaged).write_bytes(b"damaged")
    assert kept.missing_in_store() == {name, damaged}
    kept.move_into_store([name, damaged])
    assert kept.missing_in_store() == {damaged}
    assert (Packages(tmp_path / "elsewhere", store.blobs).unpacked(name) / "a").read_bytes() == b"1"


def test_the_cache_is_bounded_by_what_was_used_last(in_store):
    kept, _ = in_store
    names = [kept.put(archive(("a", os.urandom(1000))))[0] for _ in range(3)]
    for age, name in enumerate(names):
        os.utime(kept.zip_of(name), (1000 + age, 1000 + age))
    # Unpacking one is using it.
    kept.unpacked(names[0])
    kept.shrink(5_000)
    assert files_of(kept) == sorted(name + end for name in (names[0], names[2]) for end in ("", ".zip"))
    assert (kept.unpacked(names[1]) / "a").exists()
