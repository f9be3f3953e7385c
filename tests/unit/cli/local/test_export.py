"""`statewright export`: what is written where, what is said, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.conftest import Run

POLL: dict[str, Any] = {
    "Type": "Task",
    "Resource": "arn:aws:states:::statewright:poll",
    "Parameters": {"Resource": "arn:aws:states:::sqs:sendMessage", "Parameters": {"QueueUrl": "q"}, "Until": "true"},
    "End": True,
}
LOCK: dict[str, Any] = {
    "Type": "Task",
    "Resource": "arn:aws:states:::statewright:acquire",
    "Parameters": {"Name": "door", "Limit": 1},
    "End": True,
}


def written(folder: Path, state: dict[str, Any], name: str = "own.asl.json") -> str:
    definition = {"StartAt": "Own", "States": {"Own": state}}
    text = yaml.safe_dump(definition) if name.endswith(".yaml") else json.dumps(definition, indent=1)
    (folder / name).write_text(text)
    return name


def test_nothing_to_rewrite_leaves_every_character(statewright: Run, folder: Path):
    result = statewright("export", "order.asl.json")
    assert (result.code, result.out) == (0, (folder / "order.asl.json").read_text() + "\n")
    assert result.err == "order.asl.json uses no extensions and is unchanged\n"
    again = statewright("export", "-", stdin=(folder / "order.asl.json").read_text())
    assert again.json == result.json
    assert yaml.safe_load(statewright("export", "order.asl.json", "-o", "yaml").out) == result.json


def test_what_was_rewritten_is_listed_and_the_result_is_valid(statewright: Run, folder: Path):
    result = statewright("export", written(folder, POLL), "--out", "cloud.asl.json")
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines() == [
        "Wrote cloud.asl.json",
        "own.asl.json:4:3 rewritten 'Own' asks in a loop of Task, Choice and Wait",
        "✓ 1 rewriting",
    ]
    assert statewright("validate", "cloud.asl.json").code == 0


def test_permits_and_the_machine_that_cleans_up(statewright: Run, folder: Path):
    name = written(folder, LOCK)
    result = statewright("export", name, "--semaphore-table", "locks", "--wait", "7", "--cleanup", "cleanup.asl.json")
    assert result.code == 0
    assert '"locks"' in result.out
    assert '"Seconds": 7' in result.out
    assert "statewright-semaphores" not in result.out
    assert "own.asl.json:1:1 differs permits are not granted in the order of requests" in result.err
    assert "ABORTED" in json.loads((folder / "cleanup.asl.json").read_text())["Comment"]
    assert statewright("validate", "cleanup.asl.json").code == 0


def test_a_bound_on_executions(statewright: Run):
    result = statewright("export", "order.asl.json", "--max-concurrent", "3")
    assert result.code == 0
    assert "at most 3 executions run at once" in result.err
    assert result.json["StartAt"] == "Machine: enter"
    express = statewright("export", "order.asl.json", "--max-concurrent", "3", "--type", "EXPRESS")
    assert (express.code, express.out) == (1, "")


def test_yaml_stays_yaml_and_repeats_without_anchors(statewright: Run, folder: Path):
    result = statewright("export", written(folder, LOCK, "own.asl.yaml"))
    assert result.code == 0
    assert yaml.safe_load(result.out)["StartAt"] == "Machine: all of it"
    assert "&id" not in result.out
    assert statewright("export", "own.asl.yaml", "-o", "json").json == yaml.safe_load(result.out)


def test_what_cannot_be_rewritten_is_said(statewright: Run, folder: Path):
    parameters = {"Resource.$": "$.resource", "Until": "true"}
    result = statewright("export", written(folder, {**POLL, "Parameters": parameters}))
    assert result.code == 1
    assert "own.asl.json:4:3 cannot 'Own' its Resource" in result.err
    assert result.err.endswith("0 rewritings, ✗ 1 cannot be rewritten\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nowhere.asl.json"], 3, "nowhere.asl.json: No such file"),
        (["bad.asl.json"], 1, "MISSING_TRANSITION_TARGET"),
        (["order.asl.json", "--out", "no/such/folder"], 3, "no/such/folder"),
        (["order.asl.json", "--max-concurrent", "0"], 2, "--max-concurrent"),
        (["order.asl.json", "--semaphore-table", "a b"], 2, "--semaphore-table"),
    ],
)
def test_what_goes_wrong(statewright: Run, folder: Path, arguments: list[str], code: int, said: str):
    (folder / "bad.asl.json").write_text('{"StartAt": "A", "States": {"B": {"Type": "Succeed"}}}')
    result = statewright("export", *arguments)
    assert (result.code, result.out) == (code, "")
    assert said in result.err


def test_placeholders_are_pointed_out(statewright: Run, folder: Path):
    state = '{"Type": "Wait", "Seconds": ${N}, "End": true}'
    (folder / "t.asl.json").write_text('{"StartAt": "A", "States": {"A": ' + state + "}}")
    assert "${Placeholders}" in statewright("export", "t.asl.json", "-o", "yaml").err
    assert "${Placeholders}" not in statewright("export", "t.asl.json").err


@pytest.mark.parametrize("target", ["out.asl.json", "out.asl.yaml", "out.yml"])
def test_the_ending_of_the_output_names_its_format(statewright: Run, folder: Path, target: str):
    name = written(folder, {"Type": "Pass", "End": True}, "own.asl.yaml")
    assert statewright("export", name, "--out", target).code == 0
    is_json = (folder / target).read_text().startswith("{")
    assert is_json == target.endswith(".json")
    assert statewright("export", name, "-O", target, "-o", "json").code == 0
    assert (folder / target).read_text().startswith("{")


def test_what_export_wrote_earns_no_warnings(statewright: Run, folder: Path):
    name = written(folder, LOCK)
    options = ["--max-concurrent", "2", "--max-starts-per-second", "1", "--cleanup", "cleanup.asl.json"]
    assert statewright("export", name, "--out", "cloud.asl.json", *options).code == 0
    result = statewright("validate", "cloud.asl.json", "cleanup.asl.json", "--strict")
    assert (result.code, result.out) == (0, "2 files: ✓ no errors, 0 warnings\n")
