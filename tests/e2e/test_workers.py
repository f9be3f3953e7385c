from __future__ import annotations

import json
from uuid import uuid4

from tests.deadlines import until
from tests.e2e.conftest import ended, machine
from tests.e2e.test_executions import refused, types


def test_an_activity_and_its_worker(sfn):
    activity = sfn.create_activity(name=f"a-{uuid4()}")["activityArn"]
    assert sfn.create_activity(name=activity.rpartition(":")[2])["activityArn"] == activity
    assert sfn.describe_activity(activityArn=activity)["name"] == activity.rpartition(":")[2]
    arn = machine(sfn, {"Type": "Task", "Resource": activity, "HeartbeatSeconds": 60})
    execution = sfn.start_execution(stateMachineArn=arn, input='{"n": 7}')["executionArn"]
    task = sfn.get_activity_task(activityArn=activity, workerName="me")
    assert json.loads(task["input"]) == {"n": 7}
    sfn.send_task_heartbeat(taskToken=task["taskToken"])
    code, message = refused(sfn.send_task_success, taskToken=task["taskToken"], output="done")
    assert code == "InvalidOutput"
    assert message.startswith("Invalid Output: 'Unrecognized token 'done'")
    sfn.send_task_success(taskToken=task["taskToken"], output='{"done": true}')
    shown = ended(sfn, execution)
    assert (shown["status"], json.loads(shown["output"])) == ("SUCCEEDED", {"done": True})
    assert types(sfn, execution)[1:5] == ["TaskStateEntered", "ActivityScheduled", "ActivityStarted",
                                          "ActivitySucceeded"]  # fmt: skip
    code, message = refused(sfn.send_task_success, taskToken=task["taskToken"], output="{}")
    assert (code, message) == ("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")
    sfn.delete_activity(activityArn=activity)
    assert refused(sfn.get_activity_task, activityArn=activity) == (
        "ActivityDoesNotExist", f"Activity Does Not Exist: '{activity}'",
    )  # fmt: skip


def test_a_worker_that_fails(sfn):
    activity = sfn.create_activity(name=f"a-{uuid4()}")["activityArn"]
    arn = machine(sfn, {"Type": "Task", "Resource": activity})
    execution = sfn.start_execution(stateMachineArn=arn)["executionArn"]
    token = sfn.get_activity_task(activityArn=activity)["taskToken"]
    sfn.send_task_failure(taskToken=token, error="Oh", cause="no")
    shown = ended(sfn, execution)
    assert (shown["status"], shown["error"], shown["cause"]) == ("FAILED", "Oh", "no")


def test_tokens_that_are_none(sfn):
    assert refused(sfn.send_task_success, taskToken="x", output="{}") == (
        "InvalidToken", "Invalid Token: 'Invalid token'",
    )  # fmt: skip
    assert refused(sfn.send_task_failure, taskToken="x")[0] == "InvalidToken"
    assert refused(sfn.send_task_heartbeat, taskToken="x")[0] == "InvalidToken"


def test_a_machine_starts_another_and_waits_for_it(sfn):
    child = machine(sfn, {"Type": "Pass", "Result": {"from": "child"}})
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Parameters": {"StateMachineArn": child, "Input": {}},
        "OutputPath": "$.Output",
    }
    execution = sfn.start_execution(stateMachineArn=machine(sfn, task))["executionArn"]
    shown = ended(sfn, execution)
    assert (shown["status"], json.loads(shown["output"])) == ("SUCCEEDED", {"from": "child"})


def test_a_task_answered_by_its_token(sfn):
    child = machine(sfn, {"Type": "Pass"})
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.waitForTaskToken",
        "Parameters": {"StateMachineArn": child, "Input": {"token.$": "$$.Task.Token"}},
    }
    execution = sfn.start_execution(stateMachineArn=machine(sfn, task))["executionArn"]
    started = until(lambda: sfn.list_executions(stateMachineArn=child)["executions"])[0]
    token = json.loads(sfn.describe_execution(executionArn=started["executionArn"])["input"])["token"]
    sfn.send_task_heartbeat(taskToken=token)
    sfn.send_task_success(taskToken=token, output='{"answer": 42}')
    shown = ended(sfn, execution)
    assert (shown["status"], json.loads(shown["output"])) == ("SUCCEEDED", {"answer": 42})
    assert types(sfn, execution) == [
        "ExecutionStarted", "TaskStateEntered", "TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskSucceeded",
        "TaskStateExited", "ExecutionSucceeded",
    ]  # fmt: skip
    assert refused(sfn.send_task_success, taskToken=token, output="{}")[0] == "TaskTimedOut"


def test_polls_are_listed_by_their_effects_alone(sfn):
    activity = sfn.create_activity(name=f"a-{uuid4()}")["activityArn"]
    listed = until(lambda: [one for one in sfn.list_activities()["activities"] if one["activityArn"] == activity])
    assert listed[0]["name"] == activity.rpartition(":")[2]
