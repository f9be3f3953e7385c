"""A job that is started and looked after every second, with the handlers' own clocks and a deadline."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import EXAMPLES, entered, example_function, history, machine, start


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
    assert json.loads(shown["cause"])["errorMessage"] == "job run timed out in 30 seconds!"
    assert 30 <= (shown["stopDate"] - shown["startDate"]).total_seconds() <= 31.1


def test_a_job_that_fails_is_repeated_after_one_and_two_minutes(poller):
    began_ms = poller.now_ms
    shown, events = polled(poller, {"fails": True})
    assert (shown["status"], entered(events)[-1]) == ("FAILED", "Fail")
    poller.run_until_idle()
    assert (poller.now_ms - began_ms) // 1000 == 3 * 13 + 60 + 120
