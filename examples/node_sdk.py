"""The SDK that a function for Node.js needs: fetched once, through npm, beside what Python has installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FETCH_SECONDS = 180


@dataclass(frozen=True)
class Sdk:
    """The folder of the SDK, or why there is none."""

    folder: Path | None
    lacking: str = ""


def fetched(progress: Callable[[str], None]) -> Sdk:
    """Fetch the SDK unless it is there; without Node.js, npm or a network it says so."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            return Sdk(None, f"there is no {program} on the PATH")
    command = [
        sys.executable, "-m", "statewright.cli.main", "setup", "node-sdk", "--only", "v3", "--data", sys.prefix,
    ]  # fmt: skip
    folder = Path(sys.prefix) / "node-sdk"
    if not folder.is_dir():
        progress("fetching the SDK for Node.js (once, 70 MB)")
    try:
        # In a folder without settings.
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS, cwd=sys.prefix)
    except subprocess.TimeoutExpired:
        return Sdk(None, f"npm did not fetch the SDK within {FETCH_SECONDS} s")
    if done.returncode:
        return Sdk(None, done.stderr.strip().splitlines()[0].removeprefix("Error: "))
    return Sdk(folder)
