"""The reference systems with what the cloud does not have: semaphores without polling, polls in one state."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from tests.deadlines import until
from tests.e2e.conftest import Server
from tests.e2e.systems import System, ended, entered, history, system


def guarded(made: System, seconds: float) -> dict[str, Any]:
    """The semaphore's critical section between a permit taken and the execution's end, which gives it back."""
    enter = {
        "Type": "Task", "Resource": "arn:aws:states:::statewright:acquire", "ResultPath": None, "Next": "Critical Path",
        "Parameters": {"Name": made.named("door"), "Limit": 1},
    }  # fmt: skip
    work = {
        "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "OutputPath": "$.Payload", "End": True,
        "Parameters": {"FunctionName": made.named("critical-work"), "Payload": {"seconds": seconds}},
    }  # fmt: skip
    return {"StartAt": "Enter", "States": {"Enter": enter, "Critical Path": work}}


@pytest.mark.slow
def test_one_after_the_other_without_a_transition_of_waiting(server):
    made = system(server, "semaphore")
    made.function("critical-work")
    machine = made.machine(guarded(made, 0.2))
    sfn = made.client("stepfunctions")
    executions = [made.start(machine, {}, name=f"n{number}") for number in range(8)]
    stays = []
    for execution in executions:
        shown = ended(sfn, execution)
        assert shown["status"] == "SUCCEEDED", shown
        stays.append(json.loads(shown["output"]))
        assert entered(history(sfn, execution)) == ["Enter", "Critical Path"]
    # In the order of their starts, never two at once.
    for one, following in pairwise(stays):
        assert one["ended"] <= following["began"]


@pytest.mark.slow
def test_a_permit_survives_the_server_and_not_its_holder(tmp_path):
    data = tmp_path / "data"
    made = system(Server(data))
    definition = guarded(made, 0)
    definition["States"]["Critical Path"] = {"Type": "Wait", "Seconds": 3_600, "End": True}
    machine = made.machine(definition)
    holder, late = (made.start(machine, {}, name=name) for name in ("holder", "late"))

    def inside(execution: str) -> bool:
        return "Critical Path" in entered(history(made.client("stepfunctions"), execution))

    try:
        until(lambda: inside(holder), "the holder's entry")
        made.server.kill()
        made = replace(made, server=Server(data), _clients={})
        assert not inside(late)
        made.client("stepfunctions").stop_execution(executionArn=holder)
        until(lambda: inside(late), "the other's entry")
    finally:
        made.server.kill()


def test_a_poll_is_one_transition_and_has_its_deadline(server):
    made = system(server)
    table = made.table("jobs", "id")
    tables, sfn = made.client("dynamodb"), made.client("stepfunctions")
    poll = {
        "Type": "Task", "Resource": "arn:aws:states:::statewright:poll", "TimeoutSeconds": 20, "End": True,
        "Parameters": {
            "Resource": "arn:aws:states:::dynamodb:getItem", "IntervalSeconds": 0.2,
            "Parameters": {"TableName": table, "Key": {"id": {"S.$": "$.id"}}, "ConsistentRead": True},
            "Until": {"Variable": "$.Item.status.S", "StringEquals": "done"},
        },
        "Catch": [{"ErrorEquals": ["States.Timeout"], "Next": "Too Late"}],
    }  # fmt: skip
    states = {"Poll": poll, "Too Late": {"Type": "Succeed"}}
    machine = made.machine({"StartAt": "Poll", "States": states})
    tables.put_item(TableName=table, Item={"id": {"S": "a"}, "status": {"S": "running"}})
    execution = made.start(machine, {"id": "a"})
    until(lambda: len(history(sfn, execution)) >= 4, "the poll")
    assert sfn.describe_execution(executionArn=execution)["status"] == "RUNNING"
    tables.put_item(TableName=table, Item={"id": {"S": "a"}, "status": {"S": "done"}})
    shown = ended(sfn, execution)
    assert json.loads(shown["output"])["Item"]["status"] == {"S": "done"}
    assert entered(history(sfn, execution)) == ["Poll"]
    states["Poll"] = {**poll, "TimeoutSeconds": 1}
    sfn.update_state_machine(stateMachineArn=machine, definition=json.dumps({"StartAt": "Poll", "States": states}))
    tables.put_item(TableName=table, Item={"id": {"S": "b"}, "status": {"S": "running"}})
    late = made.start(machine, {"id": "b"})
    assert ended(sfn, late)["status"] == "SUCCEEDED"
    assert entered(history(sfn, late)) == ["Poll", "Too Late"]
