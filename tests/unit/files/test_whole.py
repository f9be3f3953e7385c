"""Files that are written whole: what a failure leaves, and what must not be replaced."""

from __future__ import annotations

import errno
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from statewright.files.whole import write_bytes, write_text, writing


@contextmanager
def a_full_disk(room: int) -> Iterator[None]:
    """No file of this process grows beyond `room` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    file = tmp_path / ("ü" * 120)
    write_text(file, "first")
    write_text(file, "zweite, länger")
    write_bytes(file, b"third", durable=True)
    assert file.read_bytes() == b"third"
    assert os.listdir(tmp_path) == [file.name]


@pytest.mark.parametrize("durable", [False, True])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, durable: bool) -> None:
    file = tmp_path / "page.html"
    for before in (None, "the last run"):
        if before is not None:
            file.write_text(before)
        with a_full_disk(10_000), pytest.raises(OSError, match=r"page\.html") as problem:
            write_bytes(file, b"x" * 20_000, durable=durable)
        assert (problem.value.errno, problem.value.filename) == (errno.EFBIG, str(file))
        assert os.listdir(tmp_path) == ([] if before is None else [file.name])
    assert file.read_text() == "the last run"


def test_an_interrupt_leaves_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "copy"
    file.write_text("old")

    def interrupted() -> None:
        with writing(file) as out:
            out.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (file.read_text(), os.listdir(tmp_path)) == ("old", ["copy"])


def test_permissions_stay_and_new_files_have_those_asked_for(tmp_path: Path) -> None:
    file, private = tmp_path / "file", tmp_path / "private"
    file.write_text("old")
    file.chmod(0o640)
    write_text(file, "new")
    write_bytes(private, b"", mode=0o600)
    assert [path.stat().st_mode & 0o777 for path in (file, private)] == [0o640, 0o600]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    for text in ("created", "replaced"):
        write_text(link, text)
        assert (link.is_symlink(), target.read_text()) == (True, text)


def test_devices_pipes_and_open_files_are_written_directly(tmp_path: Path) -> None:
    write_text(Path("/dev/null"), "x")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join()
    assert (read, pipe.is_fifo()) == (["through"], True)
    with (tmp_path / "open").open("w+") as file:
        number = file.fileno()
        write_text(Path(f"/dev/fd/{number}"), "into what is open")
        assert os.fstat(number).st_nlink == 1
        assert file.read() == "into what is open"


def test_a_name_left_by_a_killed_process_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("statewright.files.whole._numbers", iter([7, 8]))
    left = tmp_path / f".file.{os.getpid()}.7.part"
    left.write_text("half")
    write_text(tmp_path / "file", "whole")
    assert sorted(os.listdir(tmp_path)) == [left.name, "file"]


def test_errors_name_the_target(tmp_path: Path) -> None:
    for path, kind in ((tmp_path / "no" / "file", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(kind) as problem:
            write_text(path, "")
        assert problem.value.filename == str(path)
