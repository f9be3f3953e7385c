"""Programs for Node.js, with the packages of `package-lock.json` beside them (`make test-slow` installs those)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.deadlines import completed

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
NodeProgram = Callable[..., Any]


@pytest.fixture
def node_folder(packages: Path, tmp_path: Path) -> Path:
    """A folder whose programs find the packages: by `import`, too, which does not read NODE_PATH."""
    (tmp_path / "node_modules").symlink_to(packages)
    return tmp_path


@pytest.fixture
def node(node_folder: Path, environment: Mapping[str, str]) -> NodeProgram:
    """Runs a program of `programs/`, and returns what its last line says."""

    def run(name: str, *arguments: str, **more: str) -> Any:
        shutil.copyfile(PROGRAMS / name, node_folder / name)
        done = completed(["node", name, *arguments], env={**environment, **more}, cwd=node_folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run
