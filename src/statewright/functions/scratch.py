"""Temporary folders of workers that share the machine's `/tmp`: one folder for each process that has workers.

Two servers may share the folder above, one of which has lost the store and does not know it yet. So a process deletes
its own folder, and those of others only once they are as old as an orphan.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from statewright import chance
from statewright.files.ages import is_young
from statewright.stores.blobs.protocol import ORPHAN_MS


class Scratch:
    """The folder of this process, which its first worker makes."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self.folder = parent / chance.secret_bytes(8).hex()

    def close(self) -> None:
        """Delete it, and what processes that were killed have left; their workers have ended."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            for left in self._parent.iterdir():
                if not is_young(left.stat(), ORPHAN_MS):
                    shutil.rmtree(left, ignore_errors=True)
            self._parent.rmdir()
