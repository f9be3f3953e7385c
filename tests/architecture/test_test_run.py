"""The run of the tests itself: which belong to a package, how much is drawn, what a skip on CI is, what is not left."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import deadlines, skips, thoroughness
from tests.architecture.source import SOURCE
from tests.belonging import ELSEWHERE, HERE, targets


def test_every_package_has_tests_that_are_there() -> None:
    for package in [path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()]:
        assert HERE / "unit" / package in targets(package)
    missing = [pattern for patterns in ELSEWHERE.values() for pattern in patterns if not any(HERE.glob(pattern))]
    assert missing == []
    with pytest.raises(LookupError, match="no tests belong to nothing"):
        targets("nothing")


def test_none_is_bounded_by_the_cpu_time_that_it_takes() -> None:
    """A slow machine is not a fault. Those that compare measure a piece of reference work in the same run."""
    bounded = {
        path.relative_to(HERE).as_posix()
        for path in HERE.rglob("*.py")
        if re.search(r"time\.(thread|process)_time(_ns)?\(", path.read_text())
    }
    assert bounded == {"attack/holding.py", "attack/test_cost_of_expressions.py", "unit/engine/engine_bench.py"}


def report(outcome: str, nodeid: str = "tests/a.py::test_b") -> pytest.TestReport:
    return pytest.TestReport(nodeid, ("", 0, ""), {}, outcome, ("a.py", 1, "Skipped: no engine"), "call")  # type: ignore[arg-type]


def test_a_skip_on_ci_is_a_failure_that_says_what_was_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    skipped = report("skipped")
    skips.judge(skipped, on_ci=False)
    assert skipped.outcome == "skipped"
    skips.judge(skipped, on_ci=True)
    assert (skipped.outcome, "no engine" in str(skipped.longrepr)) == ("failed", True)
    monkeypatch.setitem(skips.ALLOWED, "tests/a.py", "CI has no engine")
    allowed = report("skipped")
    skips.judge(allowed, on_ci=True)
    assert allowed.outcome == "skipped"


def test_expected_failures_are_no_skips() -> None:
    expected = report("skipped")
    expected.wasxfail = "known"
    skips.judge(expected, on_ci=True)
    assert expected.outcome == "skipped"


def test_a_tenth_of_the_examples_unless_thorough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thoroughness, "THOROUGH", False)
    assert [thoroughness.examples(many) for many in (5, 60, 200)] == [5, 10, 20]
    monkeypatch.setattr(thoroughness, "THOROUGH", True)
    assert thoroughness.examples(200) == 200


def test_a_process_that_a_test_leaves_is_ended() -> None:
    process = deadlines.started([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    deadlines.OPEN[id(process)]()
    assert process.returncode == -9
    assert process.stdout is not None
    assert process.stdout.closed
    assert id(process) not in deadlines.OPEN


def test_waiting_ends_at_its_deadline_and_says_for_what() -> None:
    answers = iter([0, "", "here"])
    assert deadlines.until(lambda: next(answers), "an answer") == "here"
    with pytest.raises(AssertionError, match="the thing did not happen"):
        deadlines.until(lambda: False, "the thing", seconds=0)


def test_an_interpreter_is_found_on_the_path_or_behind_the_shims_of_pyenv(tmp_path: Path) -> None:
    def script(file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def found(name: str) -> subprocess.CompletedProcess[str]:
        searched = {**os.environ, "PATH": f"{tmp_path / 'shims'}:/usr/bin:/bin"}
        finder = HERE.parent / ".ci" / "find-python"
        return subprocess.run([finder, name], env=searched, capture_output=True, text=True, check=False)

    for version in ("3.99.2", "3.99.10", "3.99.11t"):
        script(tmp_path / version / "bin" / "python3.99", "exit 0")
    script(tmp_path / "shims" / "python3.99", "exit 127")
    script(tmp_path / "shims" / "python3.98", "echo /somewhere/python3.98")
    versions = "printf '3.99.2\\n3.99.10\\n3.99.11t\\n3.9.9\\n'"
    script(tmp_path / "shims" / "pyenv", f'[ "$1" = versions ] && {versions} || echo {tmp_path}/$2')
    assert found("python3.99").stdout.strip() == str(tmp_path / "3.99.10" / "bin" / "python3.99")
    assert found("python3.98").stdout.strip() == "/somewhere/python3.98"
    missing = found("python3.97")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr == "There is no python3.97 on the PATH, in pyenv or in uv.\n"
