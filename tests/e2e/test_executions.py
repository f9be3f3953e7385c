from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e.conftest import ended, machine

WAIT = {"Type": "Wait", "Seconds": 3600}
PASS = {"Type": "Pass"}


def refused(call: Any, **arguments: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def types(sfn: Any, execution: str, **arguments: Any) -> list[str]:
    return [event["type"] for event in sfn.get_execution_history(executionArn=execution, **arguments)["events"]]


def test_an_execution_from_start_to_end(sfn):
    arn = machine(sfn, {"Type": "Pass", "Result": {"n": 1}}, PASS)
    before = datetime.now(UTC)
    started = sfn.start_execution(stateMachineArn=arn, name="first", input='{"a": 1}')
    assert started["executionArn"] == arn.replace(":stateMachine:", ":execution:") + ":first"
    assert abs((started["startDate"] - before).total_seconds()) < 30
    shown = ended(sfn, started["executionArn"])
    assert shown["status"] == "SUCCEEDED"
    assert json.loads(shown["input"]) == {"a": 1}
    assert json.loads(shown["output"]) == {"n": 1}
    assert shown["inputDetails"] == shown["outputDetails"] == {"included": True}
    assert shown["stateMachineArn"] == arn
    assert (shown["redriveCount"], shown["redriveStatus"]) == (0, "NOT_REDRIVABLE")
    assert shown["stopDate"] >= shown["startDate"] == started["startDate"]
    meta = sfn.describe_execution(executionArn=started["executionArn"], includedData="METADATA_ONLY")
    assert "input" not in meta
    assert "output" not in meta


def test_history_forwards_backwards_and_in_pages(sfn):
    execution = sfn.start_execution(stateMachineArn=machine(sfn, PASS, PASS))["executionArn"]
    ended(sfn, execution)
    forwards = types(sfn, execution)
    assert forwards == [
        "ExecutionStarted", "PassStateEntered", "PassStateExited", "PassStateEntered", "PassStateExited",
        "ExecutionSucceeded",
    ]  # fmt: skip
    assert types(sfn, execution, reverseOrder=True) == forwards[::-1]
    pages = sfn.get_paginator("get_execution_history").paginate(
        executionArn=execution, PaginationConfig={"PageSize": 2}
    )
    assert [event["type"] for page in pages for event in page["events"]] == forwards
    first = sfn.get_execution_history(executionArn=execution, includeExecutionData=False, maxResults=1)["events"][0]
    assert "input" not in first["executionStartedEventDetails"]
    assert refused(sfn.get_execution_history, executionArn=execution, nextToken="made up")[0] == "InvalidToken"


def test_starts_by_name_are_idempotent(sfn):
    arn = machine(sfn, WAIT)
    first = sfn.start_execution(stateMachineArn=arn, name="once", input="{}")
    again = sfn.start_execution(stateMachineArn=arn, name="once", input="{}")
    assert (again["executionArn"], again["startDate"]) == (first["executionArn"], first["startDate"])
    code, message = refused(sfn.start_execution, stateMachineArn=arn, name="once", input="[]")
    assert (code, message) == ("ExecutionAlreadyExists", f"Execution Already Exists: '{first['executionArn']}'")
    sfn.stop_execution(executionArn=first["executionArn"])
    assert refused(sfn.start_execution, stateMachineArn=arn, name="once", input="{}")[0] == "ExecutionAlreadyExists"


def test_a_stopped_execution(sfn):
    execution = sfn.start_execution(stateMachineArn=machine(sfn, WAIT))["executionArn"]
    until(lambda: "WaitStateEntered" in types(sfn, execution))
    stopped = sfn.stop_execution(executionArn=execution, error="Enough", cause="we had it")
    shown = sfn.describe_execution(executionArn=execution)
    assert (shown["status"], shown["error"], shown["cause"]) == ("ABORTED", "Enough", "we had it")
    assert shown["stopDate"] == stopped["stopDate"]
    assert types(sfn, execution)[-1] == "ExecutionAborted"


def test_lists_and_their_filters(sfn):
    arn = machine(sfn, WAIT)
    made = [sfn.start_execution(stateMachineArn=arn, name=f"e{number}")["executionArn"] for number in range(5)]
    sfn.stop_execution(executionArn=made[0])
    pages = sfn.get_paginator("list_executions").paginate(stateMachineArn=arn, PaginationConfig={"PageSize": 2})
    listed = [one["executionArn"] for page in pages for one in page["executions"]]
    assert sorted(listed) == sorted(made)
    aborted = sfn.list_executions(stateMachineArn=arn, statusFilter="ABORTED")["executions"]
    assert [one["executionArn"] for one in aborted] == made[:1]
    assert len(sfn.list_executions(stateMachineArn=arn, statusFilter="RUNNING")["executions"]) == 4


def test_a_sync_execution(sfn):
    arn = machine(sfn, {"Type": "Pass", "Result": [1]}, express=True)
    done = sfn.start_sync_execution(stateMachineArn=arn, name="now", input="{}")
    assert (done["status"], done["output"], done["name"]) == ("SUCCEEDED", "[1]", "now")
    assert ":express:" in done["executionArn"]
    assert done["billingDetails"]["billedMemoryUsedInMB"] % 64 == 0
    failing = machine(sfn, {"Type": "Fail", "Error": "Bad", "Cause": "it was"}, express=True)
    done = sfn.start_sync_execution(stateMachineArn=failing)
    assert (done["status"], done["error"], done["cause"]) == ("FAILED", "Bad", "it was")
    standard = machine(sfn, PASS)
    assert refused(sfn.start_sync_execution, stateMachineArn=standard) == (
        "StateMachineTypeNotSupported", "This operation is not supported by this type of state machine",
    )  # fmt: skip


def test_a_failed_execution_is_redriven(sfn):
    activity = sfn.create_activity(name=f"a-{machine(sfn, PASS)[-36:]}")["activityArn"]
    arn = machine(sfn, PASS, {"Type": "Task", "Resource": activity})
    execution = sfn.start_execution(stateMachineArn=arn)["executionArn"]
    token = sfn.get_activity_task(activityArn=activity)["taskToken"]
    sfn.send_task_failure(taskToken=token, error="Once", cause="only")
    assert ended(sfn, execution)["redriveStatus"] == "REDRIVABLE"
    sfn.redrive_execution(executionArn=execution)
    token = sfn.get_activity_task(activityArn=activity)["taskToken"]
    sfn.send_task_success(taskToken=token, output='"done"')
    shown = ended(sfn, execution)
    assert (shown["status"], shown["output"], shown["redriveCount"]) == ("SUCCEEDED", '"done"', 1)
    assert "ExecutionRedriven" in types(sfn, execution)
    assert refused(sfn.redrive_execution, executionArn=execution)[0] == "ExecutionNotRedrivable"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not json", "Unrecognized token 'not': was expecting (JSON String, Number, Array, Object or token 'null', "
         "'true' or 'false')"),
        ("{'a': 1}", "Unexpected character (''' (code 39)): was expecting double-quote to start field name"),
    ],
)  # fmt: skip
def test_input_that_is_not_json(sfn, text, said):
    arn = machine(sfn, PASS)
    expected = ("InvalidExecutionInput", f"Invalid State Machine Execution Input: '{said}'")
    assert refused(sfn.start_execution, stateMachineArn=arn, input=text) == expected


def test_errors_of_names_and_arns(sfn):
    arn = machine(sfn, PASS)
    missing = arn[:-5] + "zzzzz"
    assert refused(sfn.start_execution, stateMachineArn=missing) == (
        "StateMachineDoesNotExist", f"State Machine Does Not Exist: '{missing}'",
    )  # fmt: skip
    assert refused(sfn.start_execution, stateMachineArn="nothing") == (
        "InvalidArn", "Invalid Arn: 'Invalid ARN prefix: nothing'",
    )  # fmt: skip
    assert refused(sfn.start_execution, stateMachineArn=arn, name="a b") == ("InvalidName", "Invalid Name: 'a b'")
    execution = arn.replace(":stateMachine:", ":execution:") + ":nobody"
    for call in (sfn.describe_execution, sfn.stop_execution, sfn.get_execution_history, sfn.redrive_execution):
        assert refused(call, executionArn=execution) == (
            "ExecutionDoesNotExist", f"Execution Does Not Exist: '{execution}'",
        )  # fmt: skip
        assert refused(call, executionArn=execution.replace(":execution:", ":express:") + ":1") == (
            "InvalidArn", "Invalid Arn: 'Resource type not valid in this context: express'",
        )  # fmt: skip


def test_values_out_of_range(sfn):
    assert refused(sfn.list_executions, stateMachineArn=machine(sfn, PASS), maxResults=1001) == (
        "ValidationException",
        "1 validation error detected: Value '1001' at 'maxResults' failed to satisfy constraint: "
        "Member must have value less than or equal to 1000",
    )
