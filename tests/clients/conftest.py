"""A server for real clients, and the programs that use them: with what `statewright env` prints, and nothing else.

The packages are those of `requirements.lock`, in an environment of their own beside the one that runs the tests
(`make test-slow` installs it): a client's dependencies must not decide about Statewright's. A program is a file of
`programs/`. It knows nothing of Statewright, and prints what a test compares, as JSON in its last line.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from statewright.cli.env import variables
from tests.deadlines import PATIENCE_SECONDS, completed
from tests.e2e.conftest import Server

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
CLIENTS = Path(sys.prefix) / "clients"
"""The environment of the clients. Made by make."""
NODE_CLIENTS = Path(sys.prefix) / "node-clients"
"""The folder of the clients for Node.js, as their lock file names them. Made by make."""

Program = Callable[..., Any]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that any program on the machine may call, as `statewright serve` starts it."""
    running = Server(tmp_path_factory.mktemp("clients") / "data", "--log-level", "debug")
    yield running
    assert running.stop() == 0, running.log.read_text()
    assert "Traceback" not in running.log.read_text()


@pytest.fixture(scope="session")
def environment(server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a client: the variables of `statewright env`, a home folder without settings, the PATH."""
    return environment_of(server, tmp_path_factory.mktemp("home"))


def environment_of(server: Server, home: Path, settings: str | None = None) -> dict[str, str]:
    """The environment of clients of a server, with the credentials in its settings, if it has any."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **variables(server.url, settings)}


@pytest.fixture(scope="session")
def client_folder() -> Path:
    """The folder with the commands of the clients' environment. Skips where that could not be installed."""
    if not (CLIENTS / ".ready").is_file():
        pytest.skip("`make test-slow` installs tests/clients/requirements.lock, which is not there")
    return CLIENTS / "bin"


@pytest.fixture(scope="session")
def packages() -> Path:
    """The `node_modules` of the clients. Skips where they could not be installed."""
    if shutil.which("node") is None or not (NODE_CLIENTS / ".ready").is_file():
        pytest.skip(f"there is no node, or no packages of tests/clients/node in {NODE_CLIENTS.name}/: make test-slow")
    return NODE_CLIENTS / "node_modules"


@pytest.fixture
def program(client_folder: Path, environment: Mapping[str, str], tmp_path: Path) -> Program:
    """Runs a program of `programs/`, and returns what its last line says."""

    def run(name: str, *arguments: str) -> Any:
        return outcome(client_folder, environment, tmp_path, name, *arguments)

    return run


def outcome(client_folder: Path, environment: Mapping[str, str], folder: Path, name: str, *arguments: str) -> Any:
    """Run a program of `programs/` in a folder, and return what its last line says."""
    done = completed([client_folder / "python", PROGRAMS / name, *arguments], env=environment, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


PATIENCE = str(int(PATIENCE_SECONDS))
"""An argument of programs that wait for something."""
