"""The program of the child process: `statewright simulate` with less priority and bounds on what it may use."""

from __future__ import annotations

import contextlib
import os
import resource
import runpy
import sys
from typing import Final

MOST_CPU_SECONDS: Final = 1_800
MOST_BYTES: Final = 4 * 1024**3
MOST_FILE_BYTES: Final = 128 * 1024**2
NICE: Final = 10


def main() -> None:
    """Run the command of the arguments."""
    os.nice(NICE)
    bounds = {
        resource.RLIMIT_CPU: MOST_CPU_SECONDS, resource.RLIMIT_AS: MOST_BYTES, resource.RLIMIT_FSIZE: MOST_FILE_BYTES,
    }  # fmt: skip
    for limit, most in bounds.items():
        # Some systems have no such limit.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(limit, (most, resource.getrlimit(limit)[1]))
    sys.argv[0] = "statewright"
    runpy.run_module("statewright.cli.main", run_name="__main__")


if __name__ == "__main__":
    main()
