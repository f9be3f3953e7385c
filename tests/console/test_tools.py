"""The console's page as its tools see it: libraries and types."""

from __future__ import annotations

import shutil

import pytest

from statewright.console.assets import FOLDER
from tests.console.conftest import HERE, run

pytestmark = pytest.mark.slow


def test_the_libraries_are_those_of_the_lock_file(tools, tmp_path):
    shutil.copy(HERE / "vendor_entry.js", tools.parent)
    run(
        [
            str(tools / ".bin" / "esbuild"), "vendor_entry.js", "--bundle", "--format=esm", "--minify",
            "--legal-comments=none", f"--outfile={tmp_path / 'vendor.js'}",
        ],
        cwd=tools.parent,
    )  # fmt: skip
    assert (tmp_path / "vendor.js").read_text() == (FOLDER / "vendor.js").read_text(), "run: make console-vendor"


def test_the_modules_are_typed(tools):
    run([str(tools / ".bin" / "tsc"), "-p", str(HERE / "tsconfig.json")])


@pytest.mark.parametrize("program", ["modules.js", "modules_insight.js"])
def test_the_pure_modules(tmp_path, program):
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    for path in (*FOLDER.glob("*.js"), HERE / program):
        shutil.copy(path, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    run(["node", program], cwd=tmp_path)
