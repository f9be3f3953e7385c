"""The wheel, built from the source distribution, in empty environments: what a user of `pip install` gets.

pip installs the dependencies as it is configured on this machine. Nothing else is in the environments, and commands run
outside of the checkout: a module, a data file or a dependency that is missing in the wheel is missing here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deadlines import completed, running

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
PYTHONS = ("python3.11", "python3.12", "python3.13")

HEAVY = """\
QueryLanguage: JSONata
StartAt: Sum
States:
  Sum:
    Type: Pass
    Output: "{% $reduce($states.input.numbers, function($sum, $one) { $sum + $one }) %}"
    End: true
"""
PLUGIN_TEST = """\
def test_a_large_order_waits(sfn):
    order = sfn.load("order.asl.yaml")
    order.mock("Price").returns_payload({"price": 200})
    run = order.run({"item": "desk"})
    run.assert_succeeded(output={"accepted": True, "price": 200})
"""


@dataclass(frozen=True)
class Environment:
    """An environment with the wheel; `folder` is where its commands run."""

    bin: Path
    folder: Path

    def run(self, *command: str) -> str:
        """The output of a command that succeeds."""
        done = completed([self.bin / command[0], *command[1:]], cwd=self.folder, env=self.variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def variables(self) -> dict[str, str]:
        """The environment of its processes, without what points at the checkout."""
        ours = ("PYTHONPATH", "VIRTUAL_ENV", "STATEWRIGHT_", "AWS_", "COV_", "PYTEST_")
        return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel from the source distribution, as `python -m build` makes it."""
    place = tmp_path_factory.mktemp("dist")

    def build(kind: str, folder: Path) -> Path:
        done = completed([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", place / kind], cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        (built,) = (place / kind).iterdir()
        return built

    source = build("sdist", ROOT)
    with tarfile.open(source) as archive:
        archive.extractall(place, filter="data")
    return build("wheel", place / source.name.removesuffix(".tar.gz"))


@pytest.fixture(scope="module", params=PYTHONS)
def environment(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    found = subprocess.run([ROOT / ".ci" / "find-python", request.param], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(found.stderr.strip())
    place = tmp_path_factory.mktemp(request.param)
    made = Environment(place / "venv" / "bin", place)
    for command in (
        [found.stdout.strip(), "-m", "venv", place / "venv"],
        [made.bin / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel],
    ):
        done = completed(command, cwd=place, env=made.variables)
        assert done.returncode == 0, done.stdout + done.stderr
    made.run("statewright", "init", "shop")
    (place / "heavy.asl.yaml").write_text(HEAVY)
    return made


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    ours = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert inside == ours
    assert "statewright/py.typed" in inside


def test_the_command_works_without_a_server(environment: Environment) -> None:
    environment.run("python", "-m", "pip", "check")
    assert environment.run("statewright", "--version").startswith("statewright ")
    assert "4 passed" in environment.run("statewright", "test", "shop")
    given = ("run", "heavy.asl.yaml", "-i", '{"numbers": [1, 2, 39]}')
    assert environment.run("statewright", *given, "--quiet") == "42\n"
    assert "cost" in json.loads(environment.run("statewright", *given, "--cost", "-o", "json"))
    assert environment.run("statewright", "graph", "shop/order.asl.yaml", "--svg").startswith("<svg")
    assert "No problems found." in environment.run("statewright", "doctor", "--data", "shop/.statewright")


def test_a_server_runs_an_execution_with_a_function(environment: Environment) -> None:
    statewright = environment.bin / "statewright"
    command = [statewright, "dev", "shop", "--port", "0", "-o", "json"]
    with running(
        command, cwd=environment.folder, env=environment.variables, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        told = (json.loads(line) for line in server.stdout)
        endpoint = next(event["endpoint"] for event in told if "endpoint" in event)
        next(event for event in told if event.get("machine") == "order")
        given = ("order", "-i", '{"item": "book", "count": 2}', "--quiet", "--endpoint", endpoint)
        assert json.loads(environment.run("statewright", "run", *given))["accepted"] is True
        assert "SUCCEEDED" in environment.run("statewright", "execution", "list", "--endpoint", endpoint)


def test_the_pytest_plugin_comes_with_its_extra(environment: Environment, wheel: Path) -> None:
    install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[test]")
    environment.run("python", *install)
    (environment.folder / "shop" / "test_order.py").write_text(PLUGIN_TEST)
    assert "1 passed" in environment.run("python", "-m", "pytest", "-q", "shop")
