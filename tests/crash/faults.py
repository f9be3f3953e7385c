"""Faults of the machine under a running server: a disk that keeps nothing, and limits set from outside."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Final

SHIM: Final = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int is_failing(void) {
    const char *mark = getenv("FSYNC_FAILS_WHILE");
    return mark != NULL && access(mark, F_OK) == 0;
}

#define FAILING(name) \
    int name(int fd) { \
        int (*real)(int) = dlsym(RTLD_NEXT, #name); \
        if (is_failing()) { errno = EIO; return -1; } \
        return real(fd); \
    }

FAILING(fsync)
FAILING(fdatasync)
"""
MEMORY_LEFT_BYTES: Final = 4_000_000


class NoCompiler(Exception):
    """The library whose fsync fails is made by a C compiler."""


class FailingDisk:
    """A library for processes to preload: their `fsync` fails with EIO while a file exists."""

    def __init__(self, folder: Path) -> None:
        """Raises: NoCompiler."""
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None:
            raise NoCompiler("a C compiler makes the library whose fsync fails")
        (folder / "shim.c").write_text(SHIM)
        self._library = folder / "shim.so"
        self._mark = folder / "failing"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", self._library, folder / "shim.c", "-ldl"], check=True)

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process whose disk may fail."""
        return {"LD_PRELOAD": str(self._library), "FSYNC_FAILS_WHILE": str(self._mark)}

    def fail(self) -> None:
        """From now on, nothing is kept."""
        self._mark.touch()

    def recover(self) -> None:
        """The disk works again."""
        self._mark.unlink(missing_ok=True)


def limit(pid: int, kind: int, most: int) -> None:
    """Set the soft limit of a process. Raises: ProcessLookupError."""
    resource.prlimit(pid, kind, (most, resource.prlimit(pid, kind)[1]))


def lift(pid: int, kind: int) -> None:
    """Set the soft limit of a process as high as it may be. Raises: ProcessLookupError."""
    limit(pid, kind, resource.prlimit(pid, kind)[1])


def leave_no_memory(pid: int) -> None:
    """Leave a process little more address space than it has. Raises: OSError if it is dead."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    limit(pid, resource.RLIMIT_AS, pages * os.sysconf("SC_PAGESIZE") + MEMORY_LEFT_BYTES)


def leave_no_descriptor(pid: int) -> None:
    """Leave a process one descriptor. Raises: OSError if it is dead."""
    limit(pid, resource.RLIMIT_NOFILE, len(os.listdir(f"/proc/{pid}/fd")) + 1)


def fill_disk(pid: int, data: Path, room_bytes: int = 0) -> None:
    """Let no file of a process's folder grow far beyond the largest there is. Raises: OSError if it is dead."""
    largest = max(file.stat().st_size for file in data.iterdir() if file.is_file())
    limit(pid, resource.RLIMIT_FSIZE, largest + room_bytes)
