"""A wall clock that is wrong in server processes of tests: by the nanoseconds in a file, which may change at any time.

`VARIABLE` in the environment names the file. Imports nothing of the server's, so that it can come first.
"""

from __future__ import annotations

import mmap
import os
import sys
import time
from pathlib import Path
from typing import Final

VARIABLE: Final = "STATEWRIGHT_TEST_WRONG_CLOCK"


class WrongClock:
    """The wall clock of the servers that are given its file."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        self.set(0)

    def set(self, seconds: float) -> None:
        """Be wrong by so much from now on."""
        # In place: the servers have the file mapped.
        with self.path.open("r+b" if self.path.exists() else "wb") as file:
            file.write(round(1e9 * seconds).to_bytes(8, "little", signed=True))


def read_wrong_clock() -> None:
    """Have the wall clock of this process and its forks read wrong, if its environment names a file."""
    path = os.environ.get(VARIABLE)
    if path is None:
        return
    with open(path, "rb") as file:
        wrong = mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ)
    right_ns = time.time_ns
    time.time_ns = lambda: right_ns() + int.from_bytes(wrong[:8], "little", signed=True)
    time.time = lambda: time.time_ns() / 1e9
    clock = sys.modules.get("statewright.clock")
    if clock is not None:
        # It was imported before, and has the right one as a default.
        clock.RealClock.__init__.__defaults__ = (time.time_ns, time.monotonic_ns)
