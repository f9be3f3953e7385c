"""Semaphores and machines with limits on a real server: boto3 starts, the command line looks."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.deadlines import until
from tests.e2e.conftest import ROLE


def guarded(door: str) -> dict[str, Any]:
    parameters = {"Name": door, "Limit": 1}
    return {
        "StartAt": "In",
        "States": {
            "In": {
                "Type": "Task", "Resource": "arn:aws:states:::statewright:acquire", "Parameters": parameters,
                "Next": "Work",
            },
            "Work": {"Type": "Wait", "Seconds": 600, "End": True},
        },
    }  # fmt: skip


def started(sfn: Any, definition: dict[str, Any], count: int, **more: Any) -> list[str]:
    name = f"limits-{uuid4()}"
    machine = sfn.create_state_machine(name=name, definition=json.dumps(definition), roleArn=ROLE, **more)
    arn = machine["stateMachineArn"]
    return [sfn.start_execution(stateMachineArn=arn, name=f"n{n}")["executionArn"] for n in range(count)]


def is_inside(sfn: Any, arn: str) -> bool:
    return any(e["type"] == "WaitStateEntered" for e in sfn.get_execution_history(executionArn=arn)["events"])


def test_a_semaphore_and_its_commands(statewright, sfn):
    door = f"door-{uuid4().hex[:8]}"
    arns = started(sfn, guarded(door), 3)
    until(lambda: is_inside(sfn, arns[0]))
    listed = statewright("limit", "list", "-o", "json").json["semaphores"]
    assert {"name": door, "key": "", "limit": 1, "held": 1, "waiting": 2} in listed
    assert door in statewright("limit", "list").out
    shown = statewright("limit", "show", door, "-o", "json").json
    assert [one["executionArn"] for one in (*shown["holders"], *shown["waiters"])] == arns
    table = statewright("limit", "show", door).out.splitlines()
    assert ["holds" in table[1], "waits" in table[2], len(table)] == [True, True, 4]
    taken = statewright("limit", "release", door, arns[0].rpartition(":")[2], "--reason", "it hangs")
    assert (taken.code, taken.out.startswith(f"✓ {door} taken from limits-")) == (0, True)
    until(lambda: is_inside(sfn, arns[1]))
    sfn.stop_execution(executionArn=arns[1])
    until(lambda: is_inside(sfn, arns[2]))
    for arn in arns:
        sfn.stop_execution(executionArn=arn)
    until(lambda: statewright("limit", "show", door).code == 3)


def test_what_is_not_there(statewright):
    assert statewright("limit", "show", "nothing").code == 3
    assert statewright("limit", "release", "nothing", "7", "--reason", "r").code == 3
    assert statewright("limit", "release", "nothing", "7").code == 2


def test_a_machine_with_a_limit(statewright, sfn):
    waiting = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 600, "End": True}}}
    tags = [{"key": "statewright:maxConcurrentExecutions", "value": "2"}]
    arns = started(sfn, waiting, 5, tags=tags)
    until(lambda: is_inside(sfn, arns[1]))
    assert [sfn.describe_execution(executionArn=arn)["status"] for arn in arns] == ["RUNNING"] * 5
    events = sfn.get_execution_history(executionArn=arns[2])["events"]
    assert [event["type"] for event in events] == ["ExecutionStarted"]
    machine = sfn.describe_execution(executionArn=arns[0])["stateMachineArn"]
    limits = statewright("limit", "list", "-o", "json").json["stateMachines"]
    assert {
        "stateMachineArn": machine, "maxConcurrentExecutions": 2, "running": 2, "queued": 3,
    } in limits  # fmt: skip
    assert "2 of 2" in statewright("limit", "list").out
    sfn.tag_resource(resourceArn=machine, tags=[{"key": "statewright:maxConcurrentExecutions", "value": "4"}])
    until(lambda: is_inside(sfn, arns[3]))
    assert not is_inside(sfn, arns[4])
    sfn.untag_resource(resourceArn=machine, tagKeys=["statewright:maxConcurrentExecutions"])
    until(lambda: is_inside(sfn, arns[4]))
    for arn in arns:
        sfn.stop_execution(executionArn=arn)


def test_a_limit_that_makes_no_sense_is_refused(sfn):
    waiting = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 600, "End": True}}}
    with pytest.raises(sfn.exceptions.ClientError, match="whole number of at least 1, not 'two'"):
        started(sfn, waiting, 1, tags=[{"key": "statewright:maxConcurrentExecutions", "value": "two"}])
