"""The tools that bundle, check and drive the console's page."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from statewright.console.assets import FOLDER
from tests.deadlines import PATIENCE_SECONDS
from tests.e2e.conftest import Server

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), "")
Drive = Callable[..., Any]
MODULES = Path(sys.prefix) / "console" / "node_modules"


@pytest.fixture(scope="module")
def tools() -> Path:
    """The packages of this folder, for Node.js."""
    if not (MODULES / "typescript").is_dir() or shutil.which("node") is None:
        pytest.skip(f"there is no node, or no packages of tests/console in {MODULES.parent.name}/: make test")
    return MODULES


@pytest.fixture(scope="module")
def drive(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Drive:
    """Runs a program of this folder in the browser against a server: `drive("browser.js", port, *arguments)`, and
    returns its report (drive.js).
    """
    if not BROWSER:
        pytest.skip("there is no browser: apt-get install --no-install-recommends chromium")
    place = tmp_path_factory.mktemp("programs")
    (place / "node_modules").symlink_to(tools)
    (place / "package.json").write_text('{"type": "module"}')
    for path in HERE.glob("*.js"):
        shutil.copy(path, place)

    def driven(program: str, port: int, *given: str) -> Any:
        return json.loads(run(["node", program, BROWSER, f"http://127.0.0.1:{port}", *given], cwd=place))

    return driven


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of a module's own: what its pages show is what the module made."""
    server = Server(tmp_path_factory.mktemp("console") / "data")
    yield server
    assert server.stop() == 0, server.log.read_text()


def check_modules(program: str, place: Path) -> None:
    """Run a program of this folder that checks modules of the page which need no browser."""
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    for path in (*FOLDER.glob("*.js"), HERE / program):
        shutil.copy(path, place)
    (place / "package.json").write_text('{"type": "module"}')
    run(["node", program], cwd=place)


def run(command: list[str], cwd: Path = HERE) -> str:
    # One program visits many pages.
    patience = 5 * PATIENCE_SECONDS
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=patience, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
