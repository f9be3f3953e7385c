"""What a server in the storm lacks for a while: a disk that keeps what it is given, space, memory or descriptors."""

from __future__ import annotations

import os
import random
import resource
from collections.abc import Callable
from pathlib import Path

from tests.crash import faults


class Faults:
    """Faults that begin and end under a running server. They are drawn, but for a seed: the same ones again."""

    def __init__(self, folder: Path) -> None:
        """Raises: NoCompiler. To be made before the servers, which inherit the preloaded library."""
        self._disk = faults.FailingDisk(folder)
        os.environ.update(self._disk.environment)

    def begin(self, chance: random.Random, pid: int, data: Path) -> Callable[[], None]:
        """Begin a fault; how to end it. The process may be dead by then."""
        kind = chance.choice(("fsync", "space", "memory", "descriptors"))
        try:
            if kind == "fsync":
                self._disk.fail()
                return self._disk.recover
            if kind == "space":
                faults.fill_disk(pid, data)
                return lambda: _lift(pid, resource.RLIMIT_FSIZE)
            if kind == "memory":
                faults.leave_no_memory(pid)
                return lambda: _lift(pid, resource.RLIMIT_AS)
            faults.leave_no_descriptor(pid)
            return lambda: _lift(pid, resource.RLIMIT_NOFILE)
        except OSError:
            return lambda: None


def _lift(pid: int, kind: int) -> None:
    try:
        faults.lift(pid, kind)
    except OSError:
        return
