"""What goes into a package, by patterns."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from statewright.projects.deploy.compute.packages import code_files, package_of
from tests.unit.projects.reading import write

FILES = ["a.py", "lib/b.py", "lib/deep/c.json", "lib/deep/d.txt", "serverless.yml", ".hidden", "__pycache__/a.pyc"]
SEEN = ["a.py", "lib/b.py", "lib/deep/c.json", "lib/deep/d.txt", "serverless.yml"]


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        ([], SEEN),
        (["!serverless.yml"], SEEN[:-1]),
        (["!**", "lib/**"], SEEN[1:4]),
        (["!**", "*.py"], ["a.py"]),
        (["!**", "**/*.py"], ["a.py", "lib/b.py"]),
        (["!lib/**", "lib/deep/?.json"], ["a.py", "lib/deep/c.json", "serverless.yml"]),
        (["!**/*.{json,txt}"], ["a.py", "lib/b.py", "serverless.yml"]),
        (["!./lib/deep/**"], ["a.py", "lib/b.py", "serverless.yml"]),
        (["!a.py", "a.py"], SEEN),
        (["!{a", "![a].py", "!(", "!**/{"], SEEN),
    ],
    ids=str,
)
def test_the_last_pattern_that_fits_decides(tmp_path: Path, patterns: list[str], left: list[str]) -> None:
    write(tmp_path, dict.fromkeys(FILES, "x"))
    found = code_files(tmp_path, tuple(patterns))
    assert sorted(path.relative_to(tmp_path).as_posix() for path in found) == left


def test_packages_have_what_patterns_leave(tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(FILES, "x"))
    with zipfile.ZipFile(io.BytesIO(package_of(tmp_path, ("!lib/**",)))) as made:
        assert made.namelist() == ["a.py", "serverless.yml"]
