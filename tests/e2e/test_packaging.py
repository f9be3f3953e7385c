"""Starting servers elsewhere, as far as it runs here: the script of the GitHub action; the image, with an engine."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.deadlines import completed, until

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "packaging" / "start-in-workflow"


def in_workflow(folder: Path, **inputs: str) -> tuple[subprocess.CompletedProcess[str], dict[str, dict[str, str]]]:
    """Run the action's step as a runner does; its result, and what it set, by file."""
    files = {name: folder / name for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH")}
    ours = ("PYTHONPATH", "VIRTUAL_ENV", "AWS_", "INPUT_")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    variables |= {name: str(path) for name, path in files.items()}
    variables |= {"RUNNER_TEMP": str(folder), "INPUT_PYTHON": sys.executable, "INPUT_PORT": "0", **inputs}
    done = completed([SCRIPT], env=variables, cwd=folder)
    found = {
        name: {line.partition("=")[0]: line.partition("=")[2] for line in path.read_text().splitlines()}
        for name, path in files.items()
        if path.exists()
    }
    return done, found


def test_the_action_starts_a_server_and_points_the_next_steps_at_it(tmp_path):
    done, found = in_workflow(tmp_path, INPUT_OPTIONS="--store memory --time-scale 0")
    assert done.returncode == 0, done.stdout + done.stderr
    pid = int(re.findall(r"pid (\d+)", done.stdout)[0])
    try:
        endpoint = found["GITHUB_OUTPUT"]["endpoint"]
        assert found["GITHUB_ENV"]["AWS_ENDPOINT_URL"] == found["GITHUB_ENV"]["STATEWRIGHT_ENDPOINT"] == endpoint
        assert Path(found["GITHUB_OUTPUT"]["log"]).is_file()
        (added,) = found["GITHUB_PATH"]
        variables = {**os.environ, **found["GITHUB_ENV"], "PATH": f"{added}:{os.environ['PATH']}"}
        variables.pop("PYTHONPATH", None)
        for command in (["init", "shop"], ["deploy", "shop"], ["run", "order", "-i", '{"item": "book", "count": 2}']):
            said = completed([f"{added}/statewright", *command], cwd=tmp_path, env=variables)
            assert said.returncode == 0, said.stdout + said.stderr
    finally:
        os.kill(pid, signal.SIGTERM)
        until(lambda: not Path(f"/proc/{pid}").exists(), "the end of the server")


def test_the_step_fails_with_the_servers_own_words(tmp_path):
    done, found = in_workflow(tmp_path, INPUT_OPTIONS="--host 0.0.0.0")
    assert done.returncode == 1
    assert "::error::Statewright did not start" in done.stdout
    assert "without credentials" in done.stdout
    assert found == {}


def engine() -> str:
    """A container engine that answers; the test is skipped where none does."""
    for name in ("docker", "podman"):
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0:
            return name
    pytest.skip("there is no container engine")


def test_the_image_serves_as_a_user_of_its_own(tmp_path):
    run = engine()

    def said(*command: str) -> str:
        done = completed([run, *command])
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    tag = f"statewright-test-{os.getpid()}"
    said("build", "--tag", tag, str(ROOT))
    settings = tmp_path / "statewright.toml"
    settings.write_text('[credentials]\nAKIALOCAL = "a long random text"\n')
    tmp_path.chmod(0o755)
    settings.chmod(0o644)
    try:
        refused = completed([run, "run", "--rm", tag])
        assert (refused.returncode, "without credentials" in refused.stderr) == (1, True)
        mount = f"{settings}:/etc/statewright/statewright.toml:ro"
        made = said("run", "--detach", "--init", "--publish", "127.0.0.1::4566", "--volume", mount, tag)
        try:
            address = said("port", made, "4566").splitlines()[0]
            health = until(lambda: answer(f"http://{address}/health"), "an answer of the server")
            assert health["status"] == "ok"
            assert said("exec", made, "id", "-u") == "10001"
            state = ("inspect", "--format", "{{.State.Health.Status}}", made)
            until(lambda: said(*state) == "healthy", "a healthy container")
            said("stop", made)
            assert said("inspect", "--format", "{{.State.ExitCode}}", made) == "0"
        finally:
            said("rm", "--force", "--volumes", made)
    finally:
        said("rmi", "--force", tag)


def answer(url: str) -> dict[str, str] | None:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            found: dict[str, str] = json.load(response)
            return found
    except OSError:
        return None
