"""`statewright validate`: one line a finding, and exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.unit.cli.conftest import ORDER, Run

BAD = '{"StartAt": "A",\n "States": {"A": {"Type": "Pass", "Next": "Bee"}, "B": {"Type": "Succeed"}}}'
LOOSE = json.dumps(
    {"StartAt": "A", "States": {"A": {"Type": "Choice", "Choices": [{"Variable": "$.x", "IsNull": True, "Next": "B"}]},
                                "B": {"Type": "Succeed"}}}
)  # fmt: skip


def test_a_sound_definition(statewright: Run):
    result = statewright("validate", "order.asl.json")
    assert (result.code, result.out, result.err) == (0, "1 file: ✓ no errors, 0 warnings\n", "")


def test_each_finding_is_one_line_with_a_hint_below(statewright: Run, folder: Path):
    (folder / "bad.asl.json").write_text(BAD)
    result = statewright("validate", "bad.asl.json")
    assert result.code == 1
    line = "bad.asl.json:2:43 ERROR MISSING_TRANSITION_TARGET Missing 'Next' target: Bee (/States/A/Next)\n"
    assert line in result.out
    assert f"{line}    hint: did you mean B?\n" in result.out
    assert result.out.splitlines()[-1].startswith("1 file: ✗ ")


def test_folders_are_searched(statewright: Run, folder: Path):
    (folder / "sub" / ".hidden").mkdir(parents=True)
    (folder / "node_modules").mkdir()
    for place in ("sub/bad.asl.json", "sub/.hidden/bad.asl.json", "node_modules/bad.asl.json", "sub/other.json"):
        (folder / place).write_text(BAD)
    (folder / "sub" / "fine.asl.yaml").write_text("StartAt: A\nStates: {A: {Type: Succeed}}")
    result = statewright("validate", ".", "order.asl.json")
    assert result.code == 1
    assert {line.split(":")[0] for line in result.out.splitlines() if " ERROR " in line} == {"sub/bad.asl.json"}
    assert result.out.splitlines()[-1].startswith("3 files: ")


def test_json(statewright: Run, folder: Path):
    (folder / "bad.asl.json").write_text(BAD)
    result = statewright("validate", "bad.asl.json", "-o", "json")
    assert result.code == 1
    assert {
        "file": "bad.asl.json",
        "line": 2,
        "column": 43,
        "severity": "ERROR",
        "code": "MISSING_TRANSITION_TARGET",
        "message": "Missing 'Next' target: Bee",
        "pointer": "/States/A/Next",
        "hint": "did you mean B?",
    } in result.json
    assert statewright("validate", "order.asl.json", "-o", "json").json == []


def test_warnings_fail_only_if_asked(statewright: Run, folder: Path):
    (folder / "loose.json").write_text(LOOSE)
    assert statewright("validate", "loose.json").code == 0
    assert "WARNING CHOICE_WITHOUT_DEFAULT" in statewright("validate", "loose.json").out
    assert statewright("validate", "loose.json", "--strict").code == 1
    assert statewright("validate", "loose.json", "--strict", "--no-lints").code == 0


def test_the_type_matters(statewright: Run, folder: Path):
    job = {"Type": "Task", "Resource": "arn:aws:states:::batch:submitJob.sync", "Parameters": {}, "End": True}
    (folder / "job.json").write_text(json.dumps({"StartAt": "A", "States": {"A": job}}))
    assert statewright("validate", "job.json").code == 0
    assert statewright("validate", "job.json", "--type", "express").code == 1


def test_what_is_missing(statewright: Run, folder: Path):
    (folder / "empty").mkdir()
    result = statewright("validate", "nope.json", "empty", "order.asl.json")
    assert result.code == 3
    assert "nope.json: No such file or directory" in result.err
    assert "empty: no *.asl.json" in result.err
    assert "1 file: ✓ no errors" in result.out


@pytest.mark.parametrize("text", ["", "{", "{]", "[1]", '"text"', "\x00", "a: [", "{" * 5000])
def test_texts_that_are_no_definition(statewright: Run, text: str):
    result = statewright("validate", "-", stdin=text)
    assert result.code == 1
    assert re.match(r"<stdin>:\d+:\d+ ERROR [A-Z_]+ \S", result.out)


def test_the_standard_input(statewright: Run):
    assert statewright("validate", "-", stdin=json.dumps(ORDER)).code == 0


def test_placeholders_are_accepted(statewright: Run, folder: Path):
    task = '{"Type": "Task", "Resource": "${Fn}", "End": true}'
    template = f'{{"StartAt": "A", "TimeoutSeconds": ${{Timeout}}, "States": {{"A": {task}}}}}'
    (folder / "template.asl.json").write_text(template)
    assert statewright("validate", "template.asl.json").code == 0


def test_colours_only_on_a_terminal(terminal: Run, statewright: Run, folder: Path, monkeypatch: pytest.MonkeyPatch):
    (folder / "bad.asl.json").write_text(BAD)
    assert "\x1b[31mERROR\x1b[0m" in terminal("validate", "bad.asl.json").out
    assert "\x1b" not in statewright("validate", "bad.asl.json").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in terminal("validate", "bad.asl.json").out


def test_control_characters_of_a_definition_do_not_reach_the_terminal(terminal: Run, folder: Path):
    evil = {"StartAt": "\x1b[2Jx", "States": {"\x1b]0;x\x07": {"Type": "Nope\n\x9b"}}}
    (folder / "evil.json").write_text(json.dumps(evil))
    shown = re.sub(r"\x1b\[\d+m", "", terminal("validate", "evil.json").out)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)
    assert "\\x1b" in shown
