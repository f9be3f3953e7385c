"""From a file to a program: what runs, what is refused, and where definitions are looked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from statewright.asl.loading import DEFINITION_ENDINGS, check_definition, files_below, load_program
from statewright.errors import DefinitionError

CHOICE = {"Type": "Choice", "Choices": [{"Variable": "$.x", "IsPresent": True, "Next": "B"}]}
LOOSE = {"StartAt": "A", "States": {"A": CHOICE, "B": {"Type": "Succeed"}}}


def test_a_program_and_its_warnings(tmp_path: Path):
    path = tmp_path / "m.json"
    path.write_text(json.dumps(LOOSE))
    loaded = load_program(path)
    assert loaded.program.scopes[0].start_at == "A"
    assert loaded.document.value == LOOSE
    assert [found.code for found in loaded.diagnostics] == ["CHOICE_WITHOUT_DEFAULT"]
    assert load_program(path, lints=False).diagnostics == []


def test_every_error_is_raised_and_no_warning(tmp_path: Path):
    path = tmp_path / "m.yaml"
    path.write_text(
        "StartAt: A\nStates:\n  A: {Type: Choice, Choices: [{Variable: $.x, IsPresent: true, Next: No}]}\n  B: {}\n"
    )
    with pytest.raises(DefinitionError) as caught:
        load_program(path)
    assert len(caught.value.diagnostics) > 1
    assert {found.severity for found in caught.value.diagnostics} == {"ERROR"}


def test_a_text_that_cannot_be_read(tmp_path: Path):
    path = tmp_path / "m.json"
    path.write_text("{")
    document, findings = check_definition(path)
    assert document is None
    assert findings[0].code == "INVALID_JSON_DESCRIPTION"
    with pytest.raises(DefinitionError):
        load_program(path)
    with pytest.raises(OSError, match="No such file"):
        load_program(tmp_path / "no.json")


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"Seconds": "${S}"}, "/States/Output/Seconds"),
        ({"Timestamp": "${S}"}, "/States/Output/Timestamp"),
        ({"Seconds": 1, "OutputPath": "${P}"}, "/States/Output/OutputPath"),
        ({"Seconds": 1, "Comment": "${C}", "Assign": {"a": "${A}"}}, None),
    ],
)
def test_placeholders(tmp_path: Path, fields: dict[str, Any], where: str | None):
    # The state is called like a field in which a placeholder does no harm.
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"StartAt": "Output", "States": {"Output": {"Type": "Wait", "End": True, **fields}}}))
    if where is None:
        load_program(path)
        return
    with pytest.raises(DefinitionError) as caught:
        load_program(path)
    (found,) = caught.value.diagnostics
    assert (found.code, found.pointer, found.line) == ("PLACEHOLDER_NOT_FILLED", where, 1)


def test_bare_placeholders(tmp_path: Path):
    path = tmp_path / "m.json"
    states = '{"A": {"Type": "Pass", "Result": {"n": ${N}}, "End": true}}'
    path.write_text(f'{{"StartAt": "A", "TimeoutSeconds": ${{T}}, "States": {states}}}')
    with pytest.raises(DefinitionError) as caught:
        load_program(path)
    assert {found.pointer for found in caught.value.diagnostics} == {"/TimeoutSeconds", "/States/A/Result/n"}


def test_lists_are_looked_into(tmp_path: Path):
    path = tmp_path / "m.json"
    choice = {"Type": "Choice", "Choices": [{"Variable": "$.x", "NumericEquals": "${V}", "Next": "B"}], "Default": "B"}
    path.write_text(json.dumps({"StartAt": "A", "States": {"A": choice, "B": {"Type": "Succeed"}}}))
    with pytest.raises(DefinitionError) as caught:
        load_program(path)
    assert caught.value.diagnostics[0].pointer == "/States/A/Choices/0/NumericEquals"


def test_files_below(tmp_path: Path):
    for name in ("b/x.asl.yml", "a.asl.json", "b/.git/x.asl.json", "node_modules/x.asl.json", "c.json", "b/y.asl.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    found = [str(path.relative_to(tmp_path)) for path in files_below(tmp_path, DEFINITION_ENDINGS)]
    assert found == ["a.asl.json", "b/x.asl.yml", "b/y.asl.yaml"]
