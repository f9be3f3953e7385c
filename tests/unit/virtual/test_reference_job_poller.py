"""A job that is started and looked after every second, with the handlers' own clocks and a deadline."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any

import pytest

from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import EXAMPLES, ROLE, entered, example_function, history, machine, start, summed


@pytest.fixture
def poller():
    with VirtualSystem() as system:
        system.client("s3").create_bucket(Bucket="jobs")
        for name in ("run-job", "job-runner", "get-job-status"):
            example_function(system, "job-poller", name, timeout=300)
        machine(system, (EXAMPLES / "job-poller" / "job-poller.asl.json").read_text(), "job-poller")
        yield system


def polled(system: VirtualSystem, given: Any) -> tuple[Any, list[Any]]:
    arn = "arn:aws:states:us-east-1:000000000000:stateMachine:job-poller"
    execution = start(system, arn, "one", given)
    sfn = system.client("stepfunctions")
    system.run_until(lambda: sfn.describe_execution(executionArn=execution)["status"] != "RUNNING")
    return sfn.describe_execution(executionArn=execution), history(system, execution)


def test_a_job_of_thirteen_seconds_is_seen_within_a_second_of_its_end(poller):
    shown, events = polled(poller, {})
    assert shown["status"] == "SUCCEEDED"
    # A real function adds its own time to each turn, some 0.1 s.
    assert 13 <= (shown["stopDate"] - shown["startDate"]).total_seconds() <= 16
    turns = entered(events).count("Get Job Status")
    assert 13 <= turns <= 15
    assert len(events) == 2 + 5 + 9 * turns + 2
    job = hashlib.md5(shown["executionArn"].encode()).hexdigest()
    found = poller.client("s3").list_objects_v2(Bucket="jobs")["Contents"]
    assert [one["Key"] for one in found] == [f"{job}/started", f"{job}/status"]


def test_a_job_that_takes_too_long_is_given_up_at_thirty_seconds(poller):
    shown, _ = polled(poller, {"seconds": 120})
    assert (shown["status"], shown["error"]) == ("FAILED", "TimeoutError")
    cause = json.loads(shown["cause"])
    assert (cause["errorMessage"], cause["errorType"]) == ("job run timed out in 30 seconds!", "TimeoutError")
    assert any("get-job-status" in line or "handler" in line for line in cause["stackTrace"])
    assert 30 <= (shown["stopDate"] - shown["startDate"]).total_seconds() <= 31.1


def test_a_job_that_fails_is_repeated_after_one_and_two_minutes(poller):
    began_ms = poller.now_ms
    shown, events = polled(poller, {"fails": True})
    assert (shown["status"], entered(events)[-1]) == ("FAILED", "Fail")
    assert not {"error", "cause"} & shown.keys()
    poller.run_until_idle()
    assert (poller.now_ms - began_ms) // 1000 == 3 * 13 + 60 + 120
    calls = [summed(poller, "AWS/Lambda", name, FunctionName="job-runner") for name in ("Invocations", "Errors")]
    assert calls == [3, 3]


def test_the_payload_is_the_whole_context(poller):
    given = {"seconds": 2}
    shown, events = polled(poller, given)
    parameters = [
        json.loads(one["taskScheduledEventDetails"]["parameters"]) for one in events if "Scheduled" in one["type"]
    ]
    for asked, name in zip(parameters, ["Run Job", "Get Job Status", "Get Job Status"], strict=False):
        context = asked["Payload"]
        assert context["Execution"].pop("RoleArn") == ROLE
        assert datetime.fromisoformat(context["Execution"].pop("StartTime")) == shown["startDate"]
        assert context["Execution"] == {
            "Id": shown["executionArn"], "Input": given, "Name": "one", "RedriveCount": 0,
        }  # fmt: skip
        assert context["State"].pop("EnteredTime").endswith("Z")
        assert context["State"] == {"Name": name, "RetryCount": 0}
        assert context["StateMachine"] == {"Id": shown["stateMachineArn"], "Name": "job-poller"}
