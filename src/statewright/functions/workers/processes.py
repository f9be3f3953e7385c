"""A worker's process with all its descendants: their memory, and stopping them while the worker is idle.

Reads `/proc`; on systems without it a worker has no descendants and no size. In a process namespace the first process
is the worker's ancestor, and counts with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Final

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
MOST_PROCESSES: Final = 1_024
"""Processes of an execution environment. Source: Lambda quotas, "Execution processes/threads"."""


def family(pid: int) -> list[int]:
    """A process and its descendants, parents first; at most one more than `MOST_PROCESSES`."""
    found = [pid]
    for one in found:
        try:
            threads = os.listdir(f"/proc/{one}/task")
        except OSError:
            continue
        for thread in threads:
            with contextlib.suppress(OSError, ValueError):
                found += map(int, Path(f"/proc/{one}/task/{thread}/children").read_bytes().split())
        if len(found) > MOST_PROCESSES:
            return found[: MOST_PROCESSES + 1]
    return found


def exceeds(pids: list[int], most_bytes: int) -> bool:
    """True if processes use more memory together. Pages that they share count once, if the system reports it."""
    if sum(_resident_bytes(pid) for pid in pids) <= most_bytes:
        return False
    return len(pids) == 1 or sum(_proportional_bytes(pid) for pid in pids) > most_bytes


def send(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to processes, parents first; those that have ended are skipped."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _resident_bytes(pid: int) -> int:
    """Resident memory of a process; 0 if it is gone or the system does not report it."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def _proportional_bytes(pid: int) -> int:
    """Memory of a process with its share of what it shares; resident memory if the system does not report it."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return _resident_bytes(pid)
