"""Clients of a server that verifies every signature: those that sign for each other, too, by presigned addresses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.conftest import environment_of, outcome
from tests.e2e.conftest import Server
from tests.thoroughness import slow

pytestmark = slow


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    folder = tmp_path_factory.mktemp("strict")
    settings = folder / "statewright.toml"
    settings.write_text('[credentials]\nAKIDEXAMPLE = "a/secret+key"\n')
    running = Server(folder / "data", "--config", str(settings))
    yield running, str(settings)
    assert running.stop() == 0, running.log.read_text()


@pytest.mark.parametrize(
    "program",
    [
        "aioboto3_calls.py",
        "django_storage.py",
        "lake.py",
        "pandas_and_pyarrow.py",
        "pynamodb_model.py",
        "s3fs_files.py",
        "smart_open_files.py",
    ],
)
def test_their_signatures_are_genuine(
    program: str, strict: tuple[Server, str], client_folder: Path, tmp_path: Path
) -> None:
    server, settings = strict
    assert outcome(client_folder, environment_of(server, tmp_path, settings), tmp_path, program)
