"""Ages of files, by the time of the machine: what another process may still be writing, or about to name, is young."""

from __future__ import annotations

import os
import time


def is_young(seen: os.stat_result, age_ms: int) -> bool:
    """True if a file was written or touched within so many milliseconds. A clock that was set back makes none old."""
    return seen.st_mtime_ns // 1_000_000 > time.time_ns() // 1_000_000 - age_ms
