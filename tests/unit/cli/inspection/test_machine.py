from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.asl.comparison import compare
from statewright.cli.inspection import machine
from tests.unit.cli.conftest import Run
from tests.unit.cli.stub_server import PREFIX, stub

MAP = {
    "StartAt": "M",
    "States": {
        "M": {"Type": "Map", "ItemProcessor": {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}},
              "End": True},
    },
}  # fmt: skip


def test_the_order_of_members_does_not_count():
    assert compare(MAP, dict(reversed(MAP.items())), "a", "b").same


def test_a_change_inside_a_map_is_the_inner_states_own():
    other = json.loads(json.dumps(MAP))
    other["States"]["M"]["ItemProcessor"]["States"]["P"]["Comment"] = "new"
    found = compare(MAP, other, "a", "b")
    assert (found.changed, found.fields, found.added, found.removed) == ({"P": ["Comment"]}, [], {}, {})
    assert found.text[:2] == ["--- a", "+++ b"]


def test_a_change_of_the_machine_itself():
    found = compare(MAP, {**MAP, "TimeoutSeconds": 5}, "a", "b")
    assert (found.changed, found.fields) == ({}, ["TimeoutSeconds"])


def test_deleting_asks_unless_told(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    running: dict[str, Any] = {"executions": [{}] * 3}
    calls = stub(monkeypatch, machine, list_executions=running, delete_state_machine={})
    assert statewright("machine", "delete", "order").code == 2
    assert "delete_state_machine" not in [name for name, _ in calls]
    assert statewright("machine", "delete", "order", "-y").out == "deleted order; 3 executions of it still running\n"
    assert calls[-1] == ("delete_state_machine", {"stateMachineArn": f"{PREFIX}:stateMachine:order"})
    assert statewright("machine", "delete", "order:prod", "-y").code == 2


@pytest.mark.parametrize("command", [("list",), ("show", "m"), ("versions", "m"), ("diff", "m", "1"), ("delete", "m")])
def test_no_server(statewright: Run, command: tuple[str, ...]):
    assert statewright("machine", *command, "--endpoint", "http://127.0.0.1:1").code == 4
