"""`statewright nodes`: what it says of nodes of several versions."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from statewright.cli.inspection.nodes import nodes


def node(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "address": f"http://{name}:4566", "isHome": name == "a", "cells": 16, **more}


def shown(monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], form: str = "table") -> tuple[str, str]:
    """The outputs of the command."""
    monkeypatch.setattr("statewright.cli.client.Server.call", lambda *_: answer)
    found = CliRunner().invoke(nodes, ["--endpoint", "http://127.0.0.1:9", "-o", form], catch_exceptions=False)
    assert found.exit_code == 0
    return found.stdout, found.stderr


def test_nodes_of_one_version(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [node(name, version="0.1.0", newestFormat=1, isAnswering=True) for name in "ab"]
    table, notes = shown(monkeypatch, {"nodes": both, "format": 1})
    assert table.split("\n")[0].split() == ["NODE", "ADDRESS", "VERSION", "CELLS", "IN", "MEMORY", "CLOCK"]
    assert table.split("\n")[1].split() == ["a", "http://a:4566", "0.1.0", "16", "home"]
    assert notes == ""
    json, _ = shown(monkeypatch, {"nodes": both, "format": 1}, "json")
    assert '"format": 1' in json


def test_an_upgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = [node("a", version="0.1.0", newestFormat=1), node("b", version="0.2.0", newestFormat=2), node("c")]
    _, notes = shown(monkeypatch, {"nodes": mixed, "format": 1})
    assert notes == "Nodes of several versions live: they write format 1, the newest of them knows 2.\n"


def test_a_node_that_does_not_say_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [node("a", version="0.1.0", newestFormat=1), node("b", isAnswering=False)]
    _, notes = shown(monkeypatch, {"nodes": both, "format": 1})
    assert notes == ""
