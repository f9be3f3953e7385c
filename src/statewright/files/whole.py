"""Files that are written whole: beside their place, and renamed once they are complete.

A reader finds the old file or the new one, never a part; a write that fails (a full disk, an interrupt) leaves the old
file as it was, and nothing beside it. What users name as a target may also be a device, a pipe or a link: devices and
pipes are written directly, and a link stays a link.

Callers own names and content. Files that grow by appending belong to the modules that read them; databases are copied
in `stores/sqlite/file.py`; the process of a job (`jobs/runner.py`) imports nothing of Statewright, and writes its own.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

SUFFIX: Final = ".part"
"""Ending of a file that is not complete yet."""
MODE: Final = 0o666
"""Permissions of new files, less those that the mask of the process forbids."""
_NAME_CHARACTERS: Final = 100
_OPEN_FILES: Final = ("/dev/fd/", "/dev/std", "/proc/")
"""Beginnings of the names of files that a process has open. `/dev/shm` has files as every folder has."""
_numbers: Final = itertools.count()


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8. Raises: OSError, with the name of the target."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes, *, durable: bool = False, mode: int = MODE) -> None:
    """Write a file; if `durable`, it survives a power failure once this returns. Raises: OSError."""
    with writing(path, durable=durable, mode=mode) as file:
        file.write(data)


@contextlib.contextmanager
def writing(path: Path, *, durable: bool = False, mode: int = MODE) -> Iterator[BinaryIO]:
    """A file for the content of `path`, which takes its place when the block ends without an exception.

    An existing file keeps its permissions. Raises: OSError, with the name of the target.
    """
    try:
        before = _mode_of(path)
        if _is_direct(path, before):
            with path.open("wb") as file:
                yield file
            return
        target = Path(os.path.realpath(path))
        staging, descriptor = _beside(target, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                if before is not None:
                    os.chmod(staging, stat.S_IMODE(before))
                yield file
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            staging.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                staging.unlink()
            raise
        if durable:
            sync_folder(target.parent)
    except OSError as problem:
        if problem.filename is None or str(problem.filename).endswith(SUFFIX):
            problem.filename, problem.filename2 = str(path), None
        raise


def _mode_of(path: Path) -> int | None:
    """Kind and permissions of what is there; None if nothing is."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _is_direct(path: Path, mode: int | None) -> bool:
    """True if the file must not be replaced: a device, a pipe, a folder, an open file of a process."""
    if mode is not None and not stat.S_ISREG(mode):
        return True
    return os.path.abspath(path).startswith(_OPEN_FILES)


def _beside(target: Path, mode: int) -> tuple[Path, int]:
    """A new file in the folder of `target`, and its descriptor. Raises: OSError."""
    while True:
        name = f".{target.name[:_NAME_CHARACTERS]}.{os.getpid()}.{next(_numbers)}{SUFFIX}"
        staging = target.with_name(name)
        with contextlib.suppress(FileExistsError):
            # One of that name was left by a process that was killed.
            return staging, os.open(staging, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable. Raises: OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
