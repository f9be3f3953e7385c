"""The readers of data blocks: what a block of JSON, YAML or TOML is, and that it is read without a mistake."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

from statewright.asl.extensions import accepted
from statewright.asl.validate import validate_value
from statewright.cli.commands import run_command
from statewright.config import parse_config
from statewright.query.event_pattern import compile_pattern
from statewright.simulation.scenario import read_scenario
from statewright.simulator.mock_config import load_mock_config
from statewright.simulator.script import load_script
from tests.docs.blocks import Block

_FOREIGN: Final = frozenset(
    {"services", "jobs", "runs", "on", "volumes", "Resources", "repos", "json.schemas", "yaml.schemas"}
)
"""Members of files of other tools: Compose, GitHub, CloudFormation, pre-commit, editors. Their form alone is read."""
_SCENARIO: Final = frozenset({"arrivals", "functions", "queues", "machines", "variants"})


def read(block: Block, folder: Path) -> None:
    """Read a block as its page's reader would; `folder` has the files that the pages speak of.

    Raises: what the reader raises; AssertionError.
    """
    if block.language == "toml":
        if "tool" not in tomllib.loads(block.text):
            parse_config(block.text)
        return
    if block.text.startswith('"'):
        _states(json.loads("{" + block.text + "}"))
        return
    value = json.loads(block.text) if block.language == "json" else yaml.safe_load(block.text)
    _reader_of(block, value)(block, value, folder)


def _reader_of(block: Block, value: Any) -> Callable[[Block, Any, Path], None]:
    members = set(value) if isinstance(value, dict) else set()
    if {"StartAt", "States"} <= members:
        return lambda _block, value, _folder: _definition(value)
    if "cases" in members:
        return _cases
    if members == {"mocks"}:
        return _mocks
    if "StateMachines" in members:
        return _mock_config
    if members & _SCENARIO and not members & {"jobs", "services"}:
        return _scenario
    if members == {"Choices"}:
        return _choices
    if {"source", "detail-type"} & members:
        return _pattern
    if members & _FOREIGN:
        return lambda _block, _value, _folder: None
    raise AssertionError(f"{block.place} has no reader in tests/docs/readers.py: {sorted(members)}")


def _definition(value: Any) -> None:
    with accepted():
        wrong = [finding for finding in validate_value(value) if finding.severity == "ERROR"]
    assert wrong == [], wrong


def _states(states: dict[str, Any]) -> None:
    """States of a definition that the page does not show."""
    targets = {states[name].get("Next") for name in states}
    targets |= {catcher["Next"] for state in states.values() for catcher in state.get("Catch", ())}
    elsewhere = {name: {"Type": "Succeed"} for name in targets - {None, *states}}
    first, *rest = states
    assert not rest, "one state at a time: the others would not be reached"
    _definition({"StartAt": first, "States": {**states, **elsewhere}})


def _choices(block: Block, value: Any, _folder: Path) -> None:
    """The rules of a Choice state, which are refused where the page says that they are wrong."""
    states = {"C": {"Type": "Choice", **value}, "Work": {"Type": "Succeed"}, "Wait": {"Type": "Succeed"}}
    found = validate_value({"StartAt": "C", "States": states})
    refused = any(one.severity == "ERROR" and "Default" in (one.hint or "") for one in found)
    assert refused == ("# wrong" in block.text), found


def _cases(block: Block, value: Any, folder: Path) -> None:
    """The cases are run: each must pass on the definition that the pages speak of."""
    name = "order" if "definition" not in value else "other"
    file = folder / f"{name}.cases.{block.language}"
    file.write_text(block.text, encoding="utf-8")
    assert run_command(["test", str(file)]) == 0


def _pattern(_block: Block, value: Any, _folder: Path) -> None:
    compile_pattern(value)


def _mocks(block: Block, _value: Any, folder: Path) -> None:
    file = folder / f"mocks.{block.language}"
    file.write_text(block.text, encoding="utf-8")
    assert load_script(file).rules


def _mock_config(block: Block, _value: Any, folder: Path) -> None:
    file = folder / "MockConfigFile.json"
    file.write_text(block.text, encoding="utf-8")
    assert load_mock_config(file)


def _scenario(block: Block, _value: Any, folder: Path) -> None:
    file = folder / "scenario.yaml"
    file.write_text(block.text, encoding="utf-8")
    read_scenario(file)
