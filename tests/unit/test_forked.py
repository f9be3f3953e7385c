"""Copies of the template behave as processes that `subprocess` starts."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

from statewright.stores import fail_points
from tests.deadlines import PATIENCE_SECONDS, completed, running, until
from tests.forked import COMMAND, Forked, can_fork

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux alone")

PIPES: dict[str, Any] = {
    "stdin": subprocess.DEVNULL,
    "stdout": subprocess.PIPE,
    "stderr": subprocess.PIPE,
    "text": True,
}
SERVE = [*COMMAND, "serve", "--port", "0", "--store", "memory"]


def first_line(process: subprocess.Popen[Any]) -> str:
    assert process.stdout is not None
    line: str = process.stdout.readline()
    return line


def test_a_command_prints_and_ends_as_in_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "wrong.asl.json").write_text("{")
    for words in (["--version"], ["validate", "wrong.asl.json"], ["nonsense"], ["validate", "none.json"]):
        forked = completed([*COMMAND, *words], cwd=tmp_path)
        own = subprocess.run([*COMMAND, *words], cwd=tmp_path, check=False, capture_output=True, text=True)
        assert (forked.returncode, forked.stdout, forked.stderr) == (own.returncode, own.stdout, own.stderr), words


def test_a_copy_has_its_own_folder_environment_and_mask(tmp_path: Path) -> None:
    made = {}
    for name, begin in (("forked", completed), ("own", subprocess.run)):
        folder = tmp_path / name
        folder.mkdir()
        settings: dict[str, Any] = {**PIPES, "cwd": folder, "env": {**os.environ, "COLUMNS": "50"}, "umask": 0o027}
        done = begin([*COMMAND, "init", "project"], **settings)
        shown = begin([*COMMAND, "--help"], **settings).stdout
        files = {path.relative_to(folder): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}
        made[name] = (done.returncode, shown, files)
    assert made["forked"] == made["own"]
    assert made["own"][1] != completed([*COMMAND, "--help"]).stdout
    assert set(made["own"][2].values()) == {0o750, 0o640}


@pytest.mark.parametrize(
    "settings",
    [
        {"preexec_fn": os.getpid},
        {"env": {**os.environ, "PYTHONHASHSEED": "4217"}},
        {"env": {**os.environ, "LC_ALL": "of another place"}},
        {"env": {**os.environ, fail_points.VARIABLE: "after-commit:1"}},
        {"pass_fds": (0,)},
    ],
    ids=["a function", "Python", "a language", "a fail point", "a descriptor"],
)
def test_what_a_copy_cannot_do_is_left_to_a_process_of_its_own(settings: dict[str, Any]) -> None:
    assert not can_fork(SERVE, settings)
    assert not can_fork([sys.executable, "-c", "0"], {})
    assert can_fork(SERVE, PIPES)


def test_a_copy_has_no_pipe_of_another_one() -> None:
    with running(SERVE, **PIPES, start_new_session=True) as one, running(SERVE, **PIPES) as other:
        assert isinstance(one, Forked)
        assert "ready" in first_line(one)
        assert (os.getsid(one.pid), os.getsid(other.pid) == other.pid) == (one.pid, False)
        links = {number: os.readlink(f"/proc/{one.pid}/fd/{number}") for number in (0, 1, 2)}
        assert links[0] == "/dev/null"
        pipes = [link for link in map(os.readlink, Path(f"/proc/{one.pid}/fd").iterdir()) if link.startswith("pipe:")]
        assert set(links.values()) - {"/dev/null"} <= set(pipes)
        theirs = {os.readlink(f"/proc/{other.pid}/fd/{number}") for number in (1, 2)}
        assert theirs.isdisjoint(pipes)


def test_the_end_of_a_copy_is_seen() -> None:
    with running(SERVE, **PIPES) as stopped, running(SERVE, **PIPES) as killed:
        assert "ready" in first_line(stopped)
        assert "ready" in first_line(killed)
        assert (stopped.poll(), killed.poll()) == (None, None)
        with pytest.raises(subprocess.TimeoutExpired):
            stopped.wait(0.01)
        stopped.send_signal(signal.SIGTERM)
        killed.kill()
        assert (stopped.wait(PATIENCE_SECONDS), killed.wait(PATIENCE_SECONDS)) == (0, -signal.SIGKILL)
        assert (stopped.poll(), killed.poll()) == (0, -signal.SIGKILL)
        until(lambda: not psutil.pid_exists(killed.pid), "the end of a process")


def test_a_variable_of_python_that_a_test_sets_is_there_for_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SHOWN", "yes")
    assert can_fork(SERVE, PIPES)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    assert not can_fork(SERVE, PIPES)
