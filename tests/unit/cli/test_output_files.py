"""Files that commands write: an exit code and a sentence when the disk is full, or the folder missing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Result, Run

COMMANDS = {
    "run": ("run", "pass.asl.json", "--history"),
    "graph": ("graph", "pass.asl.json", "--out"),
    "export": ("export", "pass.asl.json", "--out"),
}


@pytest.fixture
def written(folder: Path) -> Path:
    definition = {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}
    (folder / "pass.asl.json").write_text(json.dumps(definition))
    return folder


def said(result: Result) -> str:
    """The last line of the errors."""
    return result.err.splitlines(keepends=True)[-1]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_cannot_write_says_so(statewright: Run, written: Path, name: str) -> None:
    full = statewright(*COMMANDS[name], "/dev/full")
    assert (full.code, said(full)) == (1, "Error: /dev/full cannot be written: No space left on device\n")
    nowhere = statewright(*COMMANDS[name], "no/out.json")
    assert (nowhere.code, said(nowhere)) == (3, "Error: no/out.json cannot be written: there is no folder 'no'.\n")
    (written / "taken").mkdir()
    taken = statewright(*COMMANDS[name], "taken")
    assert (taken.code, said(taken)) == (1, "Error: taken cannot be written: Is a directory\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_writes_is_whole_and_alone(statewright: Run, written: Path, name: str) -> None:
    before = set(os.listdir(written))
    (written / "out.json").write_text("old")
    assert statewright(*COMMANDS[name], "out.json").code == 0
    assert set(os.listdir(written)) == before | {"out.json"}
    assert (written / "out.json").read_text() not in ("", "old")
