"""Storage of large bodies: one file per id in a data folder, or memory; `blobs.bodies` has that in the store.

Names come from ids, never from keys. Owns reading, writing and deleting by id, all of it blocking: `vault` decides
when, and in which thread. The writer of a file makes it durable with `finish` before a row may name it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from statewright.errors import StoreError, Unavailable
from statewright.files.ages import is_young

_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV, errno.ENOSYS})
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
PARTS: Final = 256
"""Folders of bodies, by the last byte of an id."""
_MOST_BUFFERS: Final = 512
"""Fewer than any system's IOV_MAX."""


class Writing(Protocol):
    """A body that is being written."""

    def write(self, chunks: Sequence[bytes]) -> None:
        """Append. Raises: Unavailable."""

    def finish(self) -> None:
        """Make it durable. Raises: Unavailable."""

    def discard(self) -> None:
        """Delete what was written; harmless when repeated."""


class Reading(Protocol):
    """A body that is being read."""

    def read(self, start: int, length: int) -> bytes:
        """Bytes from an offset on. Raises: Unavailable; StoreError for a file that is shorter than its row says."""

    def close(self) -> None:
        """Close the file; harmless when repeated."""


class Bodies(Protocol):
    """All bodies."""

    @property
    def writes_late(self) -> bool:
        """True if a write that failed may still take effect later: its id must not be used again."""

    def create(self, number: int) -> Writing:
        """Begin a body. Raises: Unavailable."""

    def open(self, number: int) -> Reading:
        """Open a body. Raises: FileNotFoundError, Unavailable."""

    def link(self, source: int, number: int) -> bool:
        """Give a body a second id, durably, without copying it; False if the file system does not support it."""

    def remove(self, numbers: Sequence[int]) -> None:
        """Delete bodies; ids without a body are ignored. Raises: Unavailable."""

    def young(self, numbers: Sequence[int], age_ms: int) -> set[int]:
        """Those of some bodies of which bytes were written within so many milliseconds. Raises: Unavailable."""


def file_name(number: int) -> str:
    """The path of the body with that id, relative to the folder of bodies."""
    return f"{number & 0xFF:02x}/{number:x}"


class FileBodies:
    """See `Bodies`: files in 256 folders."""

    writes_late: Final = False

    def __init__(self, folder: Path) -> None:
        """The folder is created with the first body."""
        self._folder = folder
        self._made: set[Path] = set()

    def create(self, number: int) -> Writing:
        """See `Bodies.create`."""
        path = self._path(number)
        try:
            self._make_folder(path.parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            return _FileWriting(path, os.open(path, flags, 0o600))
        except OSError as problem:
            raise _unavailable(path, problem) from problem

    def open(self, number: int) -> Reading:
        """See `Bodies.open`."""
        path = self._path(number)
        try:
            return _FileReading(path, os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0)))
        except FileNotFoundError:
            raise
        except OSError as problem:
            raise _unavailable(path, problem) from problem

    def link(self, source: int, number: int) -> bool:
        """See `Bodies.link`."""
        path = self._path(number)
        try:
            self._make_folder(path.parent)
            os.link(self._path(source), path)
            _sync_folder(path.parent)
        except FileNotFoundError:
            raise
        except OSError as problem:
            if problem.errno in _NO_LINKS:
                return False
            raise _unavailable(path, problem) from problem
        return True

    def remove(self, numbers: Sequence[int]) -> None:
        """See `Bodies.remove`."""
        for number in numbers:
            path = self._path(number)
            try:
                path.unlink(missing_ok=True)
            except OSError as problem:
                raise _unavailable(path, problem) from problem

    def young(self, numbers: Sequence[int], age_ms: int) -> set[int]:
        """See `Bodies.young`."""
        found = set()
        for number in numbers:
            with contextlib.suppress(FileNotFoundError):
                if is_young(self._path(number).stat(), age_ms):
                    found.add(number)
        return found

    def has(self, number: int) -> bool:
        """True if there is a file of that id."""
        return self._path(number).exists()

    def size(self, number: int) -> int:
        """The bytes of a body. Raises: FileNotFoundError."""
        return self._path(number).stat().st_size

    def numbers(self, part: int) -> list[int]:
        """The ids of the bodies of one of `PARTS` parts."""
        found = []
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self._folder / f"{part:02x}"):
                # A file manager may have left other files.
                with contextlib.suppress(ValueError):
                    found.append(int(name, 16))
        return sorted(found)

    def _path(self, number: int) -> Path:
        return self._folder / file_name(number)

    def _make_folder(self, folder: Path) -> None:
        if folder not in self._made:
            folder.mkdir(parents=True, exist_ok=True)
            for made in (folder.parent, folder.parent.parent):
                _sync_folder(made)
            self._made.add(folder)


class _FileWriting:
    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor

    def write(self, chunks: Sequence[bytes]) -> None:
        assert self._descriptor is not None
        try:
            for first in range(0, len(chunks), _MOST_BUFFERS):
                _write_all(self._descriptor, chunks[first : first + _MOST_BUFFERS])
        except OSError as problem:
            raise _unavailable(self._path, problem) from problem

    def finish(self) -> None:
        descriptor = self._descriptor
        assert descriptor is not None
        try:
            _sync(descriptor)
            # The file's name is an entry of its folder, which must reach the disk too.
            _sync_folder(self._path.parent)
        except OSError as problem:
            raise _unavailable(self._path, problem) from problem
        self._descriptor = None
        os.close(descriptor)

    def discard(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


class _FileReading:
    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor

    def read(self, start: int, length: int) -> bytes:
        assert self._descriptor is not None
        try:
            found = _read_at(self._descriptor, length, start)
        except OSError as problem:
            raise _unavailable(self._path, problem) from problem
        if len(found) != length:
            raise StoreError(f"the file {self._path} is damaged: it ends after {start + len(found)} bytes")
        return found

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _write_all(descriptor: int, chunks: Sequence[bytes]) -> None:
    left = sum(map(len, chunks))
    if hasattr(os, "writev"):
        left -= os.writev(descriptor, chunks)
        if left == 0:
            return
        # Only a part was written, as on a nearly full disk: write the rest step by step.
        joined = b"".join(chunks)
        rest = memoryview(joined)[len(joined) - left :]
    else:
        rest = memoryview(b"".join(chunks))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _read_at(descriptor: int, length: int, start: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, length, start)
    os.lseek(descriptor, start, os.SEEK_SET)
    return os.read(descriptor, length)


def _sync(descriptor: int) -> None:
    full = None
    with contextlib.suppress(ImportError):
        import fcntl

        full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        # macOS's fsync leaves the bytes in the drive's own cache.
        fcntl.fcntl(descriptor, full)
    else:
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unavailable(path: Path, problem: OSError) -> Unavailable:
    if problem.errno in _FULL:
        return Unavailable(f"{path} cannot be written: the disk is full; nothing acknowledged is lost")
    return Unavailable(f"{path} cannot be used: {problem.strerror or problem}")


class MemoryBodies:
    """See `Bodies`: nothing survives the process."""

    writes_late: Final = False

    def __init__(self) -> None:
        self.kept: dict[int, bytes] = {}

    def create(self, number: int) -> Writing:
        """See `Bodies.create`."""
        return _MemoryWriting(self.kept, number)

    def open(self, number: int) -> Reading:
        """See `Bodies.open`."""
        if number not in self.kept:
            raise FileNotFoundError(number)
        return _MemoryReading(self.kept[number])

    def link(self, source: int, number: int) -> bool:
        """See `Bodies.link`."""
        if source not in self.kept:
            raise FileNotFoundError(source)
        self.kept[number] = self.kept[source]
        return True

    def remove(self, numbers: Sequence[int]) -> None:
        """See `Bodies.remove`."""
        for number in numbers:
            self.kept.pop(number, None)

    def young(self, numbers: Sequence[int], age_ms: int) -> set[int]:  # noqa: ARG002
        """See `Bodies.young`: no earlier process has left anything."""
        return set()


class _MemoryWriting:
    def __init__(self, kept: dict[int, bytes], number: int) -> None:
        self._kept = kept
        self._number = number
        self._chunks: list[bytes] = []

    def write(self, chunks: Sequence[bytes]) -> None:
        self._chunks.extend(chunks)

    def finish(self) -> None:
        self._kept[self._number] = b"".join(self._chunks)

    def discard(self) -> None:
        self._chunks.clear()
        self._kept.pop(self._number, None)


class _MemoryReading:
    def __init__(self, body: bytes) -> None:
        self._body = body

    def read(self, start: int, length: int) -> bytes:
        return self._body[start : start + length]

    def close(self) -> None:
        return
