"""The tools that bundle, check and drive the console's page."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deadlines import PATIENCE_SECONDS

HERE = Path(__file__).parent
MODULES = Path(sys.prefix) / "console" / "node_modules"


@pytest.fixture(scope="module")
def tools() -> Path:
    """The packages of this folder, for Node.js."""
    if not (MODULES / "typescript").is_dir() or shutil.which("node") is None:
        pytest.skip(f"there is no node, or no packages of tests/console in {MODULES.parent.name}/: make test-slow")
    return MODULES


def run(command: list[str], cwd: Path = HERE) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
