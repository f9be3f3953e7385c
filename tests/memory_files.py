"""Where tests put their files: in memory, if the machine has enough of it, for they make files by the hundred thousand.

What survives is tested by killing processes, not machines, so that nothing depends on a disk. `STATEWRIGHT_TEST_FILES`
names another folder. What a run leaves in memory because it was killed, the next one deletes.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

VARIABLE = "STATEWRIGHT_TEST_FILES"
MEMORY = Path("/dev/shm")
LEAST_BYTES = 6 << 30
"""Memory that is free before tests put files there; a run takes one gigabyte."""
_PREFIX = "sw-"


def new_folder(kind: str) -> Path:
    """A new folder, for its maker to delete."""
    named = os.environ.get(VARIABLE)
    where = Path(named or (MEMORY if _free_bytes() >= LEAST_BYTES else tempfile.gettempdir()))
    if where == MEMORY:
        _delete_left()
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-{os.getpid()}-", dir=where))


def _free_bytes() -> int:
    """How much can be written into memory: 0 where there is no file system for that."""
    try:
        room = os.statvfs(MEMORY)
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    available = next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), 0)
    return min(room.f_bavail * room.f_frsize, available) if os.access(MEMORY, os.W_OK) else 0


def _delete_left() -> None:
    """Delete folders of processes that have ended."""
    for path in MEMORY.glob(f"{_PREFIX}*-*-*"):
        number = path.name.split("-")[-2]
        if number.isdecimal() and not _lives(int(number)):
            shutil.rmtree(path, ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
