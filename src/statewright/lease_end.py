"""The end of a lease, in a file that other processes of this machine can read.

A process that is frozen cannot end what it has begun once its lease is over. Its fork servers can, and they look here.
"""

from __future__ import annotations

import os
import struct
import tempfile
import threading
from typing import Final

INSTANT: Final = struct.Struct("<d")
"""The content of the file. `functions/runtimes/zygote.py` reads it."""


class LeaseEnd:
    """The instant until which a process trusts its lease, in monotonic seconds; any thread may move it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._instant = 0.0
        self._descriptor = -1

    def move(self, instant: float) -> None:
        """Set the instant."""
        with self._lock:
            self._instant = instant
            if self._descriptor >= 0:
                os.pwrite(self._descriptor, INSTANT.pack(instant), 0)

    @property
    def descriptor(self) -> int:
        """The file, for processes that inherit it; made at first use, and this object's to close."""
        with self._lock:
            if self._descriptor < 0:
                self._descriptor = _nameless_file()
                os.pwrite(self._descriptor, INSTANT.pack(self._instant), 0)
            return self._descriptor

    def close(self) -> None:
        """Close the file, if there is one."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("statewright-lease")
    descriptor, path = tempfile.mkstemp()
    os.unlink(path)
    return descriptor
