from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from statewright.config import Config, read_config
from statewright.projects.plain import read_folder
from tests.deadlines import completed
from tests.unit.cli.conftest import Run


@pytest.mark.parametrize("kind", ["folder", "sam"])
def test_a_new_project_passes_its_tests(statewright: Run, folder: Path, kind: str):
    result = statewright("init", "shop", "--kind", kind)
    assert result.code == 0, result.err
    assert "statewright test shop" in result.out
    tested = statewright("test", "shop")
    assert tested.code == 0, tested.out + tested.err
    assert "4 passed" in tested.out
    assert read_config(folder / "shop" / "statewright.toml").project.name == "shop"
    assert "# shop" in (folder / "shop" / "README.md").read_text()


def test_a_new_folder_is_a_project(statewright: Run, folder: Path):
    statewright("init", "shop")
    made = read_folder(folder / "shop", Config())
    assert (list(made.resources), made.findings) == (["functions.price", "machines.order"], ())


def test_nothing_is_overwritten(statewright: Run, folder: Path):
    (folder / "shop").mkdir()
    (folder / "shop" / "README.md").write_text("mine")
    result = statewright("init", "shop")
    assert (result.code, "README.md" in result.err) == (1, True)
    assert [path.name for path in (folder / "shop").iterdir()] == ["README.md"]
    assert (folder / "shop" / "README.md").read_text() == "mine"


def test_a_file_is_no_folder(statewright: Run, folder: Path):
    (folder / "shop").write_text("")
    assert statewright("init", "shop").code == 3


@pytest.mark.parametrize(("shell", "part"), [("bash", "complete -o"), ("zsh", "#compdef"), ("fish", "complete --no")])
def test_completion_is_a_script(statewright: Run, shell: str, part: str):
    result = statewright("completion", shell)
    assert (result.code, part in result.out, "_STATEWRIGHT_COMPLETE" in result.out) == (0, True, True)
    assert statewright("completion", "csh").code == 2


def test_completion_completes():
    environment = {"_STATEWRIGHT_COMPLETE": "bash_complete", "COMP_LINE": "statewright dep"}
    done = completed([sys.executable, "-m", "statewright.cli.main"], env=environment)
    assert done.stdout.strip() == "plain,deploy"


def test_nothing_is_left_where_not_all_can_be_written(statewright: Run, folder: Path):
    (folder / "shop").mkdir()
    (folder / "shop" / "functions").write_text("no folder")
    result = statewright("init", "shop")
    assert (result.code, result.out) == (1, "")
    assert result.err == "Error: Nothing was written: shop/functions/price.py: Not a directory.\n"
    assert [path.name for path in (folder / "shop").iterdir()] == ["functions"]


def test_new_folders_go_again_when_the_disk_is_full(statewright: Run, folder: Path, monkeypatch: pytest.MonkeyPatch):
    opened = Path.open

    def full(path: Path, mode: str = "r", *more: object, **options: object) -> object:
        if path.name == "statewright.toml" and mode == "x":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return opened(path, mode, *more, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", full)
    result = statewright("init", "new/shop")
    assert (result.code, result.out) == (1, "")
    assert "Nothing was written: new/shop/statewright.toml: No space left on device." in result.err
    assert not (folder / "new").exists()
