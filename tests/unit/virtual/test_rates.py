"""Calls of the Step Functions API that come too often: refused as the service refuses them, and counted."""

from __future__ import annotations

from datetime import timedelta

import pytest
from botocore.exceptions import ClientError

from statewright.api.shapes import operation_names
from statewright.api.throttling import Throttle
from statewright.config import Config, parse_config
from statewright.errors import ApiError
from statewright.limits import API_RATES, EXPRESS_STARTS, Rate
from statewright.metrics.recorder import Recorder
from statewright.virtual import VirtualSystem
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.virtual.building import ROLE, history, machine, start

PASS = {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}


def limited(text: str) -> Config:
    return parse_config(f"limits.rates = {text}")


def test_every_action_but_one_has_a_bucket():
    assert operation_names("states") - set(API_RATES) == {"StartSyncExecution"}
    assert set(API_RATES) - operation_names("states") == {EXPRESS_STARTS}


def test_a_bucket_empties_and_fills_again():
    with VirtualSystem(config=limited('"aws"')) as system:
        arn = machine(system, PASS)
        sfn = system.client("stepfunctions")
        for _ in range(200):
            sfn.list_executions(stateMachineArn=arn)
        with pytest.raises(ClientError, match="Rate exceeded") as refused:
            sfn.list_executions(stateMachineArn=arn)
        assert refused.value.response["Error"]["Code"] == "ThrottlingException"
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
        # Other actions have buckets of their own.
        sfn.list_state_machines()
        system.advance(0.2)
        sfn.list_executions(stateMachineArn=arn)
        with pytest.raises(ClientError, match="Rate exceeded"):
            sfn.list_executions(stateMachineArn=arn)
        system.advance("1h")
        for _ in range(200):
            sfn.list_executions(stateMachineArn=arn)
        with pytest.raises(ClientError, match="Rate exceeded"):
            sfn.list_executions(stateMachineArn=arn)


def test_nothing_is_limited_unless_asked_for():
    with VirtualSystem() as system:
        arn = machine(system, PASS)
        for _ in range(250):
            system.call("states", "ListExecutions", {"stateMachineArn": arn})
        assert system.parts.app.throttle is None


def test_express_machines_have_a_bucket_of_their_own():
    rates = "{StartExecution = {bucket = 1, refill = 0}, StartExecutionExpress = {bucket = 2, refill = 0}}"
    with VirtualSystem(config=limited(rates)) as system:
        sfn = system.client("stepfunctions")
        standard = machine(system, PASS, "standard")
        text = '{"StartAt": "P", "States": {"P": {"Type": "Pass", "End": true}}}'
        express = sfn.create_state_machine(name="e", definition=text, roleArn=ROLE, type="EXPRESS")["stateMachineArn"]
        for arn, allowed in ((standard, 1), (express, 2)):
            for _ in range(allowed):
                system.call("states", "StartExecution", {"stateMachineArn": arn})
            with pytest.raises(ApiError, match="Rate exceeded"):
                system.call("states", "StartExecution", {"stateMachineArn": arn})
        # What is refused before it is known of which kind it is takes from no bucket.
        with pytest.raises(ApiError, match="Does Not Exist"):
            system.call("states", "StartExecution", {"stateMachineArn": standard + "x"})


def test_what_tasks_call_counts_and_fails_by_its_name():
    config = limited("{ListExecutions = {bucket = 1, refill = 0.01}}")
    with VirtualSystem(config=config) as system:
        call = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:sfn:listExecutions", "End": True,
                "Parameters": {"StateMachineArn.$": "$$.StateMachine.Id"}}  # fmt: skip
        arn = machine(system, {"StartAt": "List", "States": {"List": call}})
        ends = []
        for number in range(2):
            execution = start(system, arn, f"n{number}")
            system.advance("1s")
            ends.append(history(system, execution)[-1])
        assert ends[0]["type"] == "ExecutionSucceeded"
        failed = ends[1]["executionFailedEventDetails"]
        assert failed["error"].startswith("Sfn.")
        assert "Rate exceeded" in failed["cause"]


def test_metrics_have_the_names_of_the_service():
    with VirtualSystem(config=limited("{ListExecutions = {bucket = 2, refill = 0}}")) as system:
        arn = machine(system, PASS)
        began = system.now
        for number in range(5):
            if number < 2:
                system.call("states", "ListExecutions", {"stateMachineArn": arn})
                continue
            with pytest.raises(ApiError):
                system.call("states", "ListExecutions", {"stateMachineArn": arn})
        system.advance("2m")

        def read(name: str, statistic: str) -> float:
            points = system.client("cloudwatch").get_metric_statistics(
                Namespace="AWS/States", MetricName=name, Dimensions=[{"Name": "APIName", "Value": "ListExecutions"}],
                StartTime=began, EndTime=began + timedelta(minutes=2), Period=60, Statistics=[statistic],
            )["Datapoints"]  # fmt: skip
            return float(sum(point[statistic] for point in points))

        assert (read("ConsumedCapacity", "Sum"), read("ThrottledEvents", "Sum")) == (5, 3)
        assert (read("ProvisionedBucketSize", "Average"), read("ProvisionedRefillRate", "Maximum")) == (2, 0)


def nested(system: VirtualSystem, resource: str, child: str) -> str:
    task = {"Type": "Task", "Resource": resource, "End": True, "Parameters": {"StateMachineArn": child, "Input": {}}}
    return machine(system, {"StartAt": "Start", "States": {"Start": task}}, f"parent-{len(resource)}")


@pytest.mark.parametrize(
    ("resource", "error"),
    [
        ("arn:aws:states:::states:startExecution", "StepFunctions.ThrottlingException"),
        ("arn:aws:states:::states:startExecution.sync:2", "StepFunctions.ThrottlingException"),
        ("arn:aws:states:::aws-sdk:sfn:startExecution", "Sfn.ThrottlingException"),
    ],
)
def test_nested_executions_are_starts_as_well(resource, error):
    with VirtualSystem(config=limited("{StartExecution = {bucket = 1, refill = 0.01}}")) as system:
        parent = nested(system, resource, machine(system, PASS, "child"))
        execution = start(system, parent, "one")
        system.advance("1s")
        assert history(system, execution)[-1]["executionFailedEventDetails"]["error"] == error


def test_what_a_schedule_starts_comes_later_where_it_may_not_come_now():
    with VirtualSystem(config=limited("{StartExecution = {bucket = 1, refill = 0.005}}")) as system:
        arn = machine(system, PASS)
        sfn = system.client("stepfunctions")
        sfn.start_execution(stateMachineArn=arn)
        system.client("scheduler").create_schedule(
            Name="once", ScheduleExpression="at(2026-01-01T00:01:00)", FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": arn, "RoleArn": ROLE},
        )  # fmt: skip
        system.advance("2m")
        assert len(sfn.list_executions(stateMachineArn=arn)["executions"]) == 1
        system.advance("10m")
        assert len(sfn.list_executions(stateMachineArn=arn)["executions"]) == 2


def test_processes_that_answer_one_action_have_shares_of_its_bucket_and_refill():
    async def main(clock: VirtualClock) -> None:
        several = 3
        rates = {"ListExecutions": Rate(30, 6), "ListActivities": Rate(30, 6)}
        throttle = Throttle(rates, clock, Recorder(clock), lambda action: several if action == "ListExecutions" else 1)

        def taken(action: str) -> int:
            for count in range(100):
                try:
                    throttle.take(action)
                except ApiError:
                    return count
            raise AssertionError("nothing is refused")

        assert (taken("ListExecutions"), taken("ListActivities")) == (10, 30)
        await clock.sleep_until(clock.now_ms() + 2_000)
        assert (taken("ListExecutions"), taken("ListActivities")) == (4, 12)
        # The others have gone; then there are more than the bucket has room for.
        several = 1
        await clock.sleep_until(clock.now_ms() + 60_000)
        assert taken("ListExecutions") == 30
        several = 100
        await clock.sleep_until(clock.now_ms() + 60_000)
        assert taken("ListExecutions") == 1

    run_virtual(main)
