"""The job poller on a real server: start, wait, check, with a deadline, in functions written for the service."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any

import pytest

from tests.deadlines import until
from tests.e2e.conftest import Server
from tests.e2e.systems import System, ended, entered, history, system

DEADLINE_SECONDS = 4
TURN = ["Wait One Second", "Get Job Status", "Job Complete?"]


@pytest.fixture(scope="module")
def poller(server: Server) -> System:
    made = system(server, "job-poller")
    bucket = made.bucket("jobs")
    for name in ("run-job", "job-runner", "get-job-status"):
        made.function(name, variables={"BUCKET": bucket, "DEADLINE_SECONDS": str(DEADLINE_SECONDS)})
    _, failures = made.queue("failures")
    # What a failed event becomes is seen at once: its retries after one and two minutes are not waited for here.
    made.client("lambda").put_function_event_invoke_config(
        FunctionName=made.named("job-runner"), MaximumRetryAttempts=0,
        DestinationConfig={"OnFailure": {"Destination": failures}},
    )  # fmt: skip
    made.machine()
    return made


@pytest.fixture(scope="module")
def started(poller: System) -> dict[str, str]:
    """Three executions, which run at the same time."""
    machine = f"arn:aws:states:us-east-1:000000000000:stateMachine:{poller.named('machine')}"
    orders: dict[str, dict[str, Any]] = {
        "succeeds": {"seconds": 0.5},
        "sleeps too long": {"seconds": 60},
        "fails": {"seconds": 0.5, "fails": True},
    }
    return {what: poller.start(machine, order) for what, order in orders.items()}


def objects(poller: System, execution: str) -> list[str]:
    job = hashlib.md5(execution.encode()).hexdigest()
    return poller.keys(poller.named("jobs"), f"{job}/")


@pytest.mark.slow
def test_a_job_that_succeeds(poller, started):
    sfn = poller.client("stepfunctions")
    shown = ended(sfn, started["succeeds"])
    assert (shown["status"], json.loads(shown["output"])) == ("SUCCEEDED", {"status": "SUCCEEDED"})
    events = history(sfn, started["succeeds"])
    turns = entered(events).count("Get Job Status")
    assert entered(events) == ["Run Job", *TURN * turns, "Success"]
    # Start and end, the first task, nine for each turn, and the last state.
    assert len(events) == 2 + 5 + 9 * turns + 2
    assert (shown["stopDate"] - shown["startDate"]).total_seconds() >= turns
    assert objects(poller, started["succeeds"]) == ["started", "status"]


def test_the_payload_is_the_whole_context(poller, started):
    sfn = poller.client("stepfunctions")
    shown = ended(sfn, started["succeeds"])
    calls = [json.loads(event["taskScheduledEventDetails"]["parameters"])
             for event in history(sfn, started["succeeds"]) if event["type"] == "TaskScheduled"]  # fmt: skip
    assert [call["FunctionName"] for call in calls[:2]] == [poller.named("run-job"), poller.named("get-job-status")]
    context = calls[0]["Payload"]
    assert set(context) == {"Execution", "State", "StateMachine"}
    execution, state = context["Execution"], context["State"]
    assert datetime.fromisoformat(execution.pop("StartTime")) == shown["startDate"]
    assert execution == {
        "Id": started["succeeds"], "Input": {"seconds": 0.5}, "Name": shown["name"], "RedriveCount": 0,
        "RoleArn": "arn:aws:iam::000000000000:role/e2e",
    }  # fmt: skip
    assert datetime.fromisoformat(state.pop("EnteredTime")) >= shown["startDate"]
    assert state == {"Name": "Run Job", "RetryCount": 0}
    assert context["StateMachine"] == {"Id": shown["stateMachineArn"], "Name": poller.named("machine")}


@pytest.mark.slow
def test_a_job_that_sleeps_too_long(poller, started):
    sfn = poller.client("stepfunctions")
    shown = ended(sfn, started["sleeps too long"])
    assert (shown["status"], shown["error"]) == ("FAILED", "TimeoutError")
    cause = json.loads(shown["cause"])
    assert cause["errorMessage"] == f"job run timed out in {DEADLINE_SECONDS} seconds!"
    assert cause["errorType"] == "TimeoutError"
    assert "raise TimeoutError" in "".join(cause["stackTrace"])
    assert (shown["stopDate"] - shown["startDate"]).total_seconds() >= DEADLINE_SECONDS
    assert objects(poller, started["sleeps too long"]) == ["started"]


def test_a_job_that_fails(poller, started):
    sfn = poller.client("stepfunctions")
    shown = ended(sfn, started["fails"])
    # The state Fail names neither an error nor a cause.
    assert (shown["status"], shown.get("error"), shown.get("cause")) == ("FAILED", None, None)
    assert entered(history(sfn, started["fails"]))[-2:] == ["Job Complete?", "Fail"]
    assert objects(poller, started["fails"]) == ["started", "status"]


def test_the_event_of_a_job_that_fails_is_kept(poller, started):
    sqs = poller.client("sqs")
    url = sqs.get_queue_url(QueueName=poller.named("failures"))["QueueUrl"]
    received = until(lambda: sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20).get("Messages"), "the message")
    assert len(received) == 1
    record = json.loads(received[0]["Body"])
    job = hashlib.md5(started["fails"].encode()).hexdigest()
    assert record["requestPayload"] == {"job": job, "seconds": 0.5, "fails": True}
    assert record["requestContext"]["condition"] == "RetriesExhausted"
    assert record["requestContext"]["approximateInvokeCount"] == 1
    assert record["responsePayload"]["errorType"] == "RuntimeError"


# ---------------------------------------------------------------------- a deadline of so many waits


def counted(*, language: str) -> dict[str, Any]:
    """A loop that waits three times for a job that never ends, in either query language."""
    jsonata = language == "JSONata"
    count: dict[str, Any] = (
        {"Assign": {"waits": "{% $waits + 1 %}"}}
        if jsonata
        else {"Parameters": {"waits.$": "States.MathAdd($.waits, 1)"}}
    )
    first: dict[str, Any] = {"Assign": {"waits": 0}} if jsonata else {"Result": {"waits": 0}}
    rule = (
        {"Condition": "{% $waits >= 3 %}"} if jsonata else {"Variable": "$.waits", "NumericGreaterThanEquals": 3}
    )  # fmt: skip
    states = {
        "Begin": {"Type": "Pass", **first, "Next": "Over?"},
        "Over?": {"Type": "Choice", "Choices": [{**rule, "Next": "Too Late"}], "Default": "Wait"},
        "Wait": {"Type": "Wait", "Seconds": 1, "Next": "Count"},
        "Count": {"Type": "Pass", **count, "Next": "Over?"},
        "Too Late": {"Type": "Fail", "Error": "TimeoutError", "Cause": "waited three times"},
    }
    return {"QueryLanguage": language, "StartAt": "Begin", "States": states}


@pytest.mark.slow
@pytest.mark.parametrize("language", ["JSONPath", "JSONata"])
def test_so_many_waits_and_no_more(server, language):
    made = system(server)
    shown = ended(made.client("stepfunctions"), execution := made.start(made.machine(counted(language=language)), {}))
    assert (shown["status"], shown["error"], shown["cause"]) == ("FAILED", "TimeoutError", "waited three times")
    assert entered(history(made.client("stepfunctions"), execution)).count("Wait") == 3
    assert 3 <= (shown["stopDate"] - shown["startDate"]).total_seconds() < 10
