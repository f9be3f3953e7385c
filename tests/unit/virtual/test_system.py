"""A virtual system: how its time moves, what its clients see, that it repeats itself, and survives its death."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.errors import ApiError
from statewright.virtual import Model, NeverHappened, VirtualSystem, uniform
from tests.unit.virtual.building import (
    FUNCTION,
    QUEUE,
    counts,
    entered,
    function,
    history,
    invoked,
    machine,
    queue,
    start,
)

HOUR = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 3600, "End": True}}}


def status(system: VirtualSystem, execution: str) -> str:
    return str(system.client("stepfunctions").describe_execution(executionArn=execution)["status"])


# ---------------------------------------------------------------------- time


def test_time_stands_still_between_calls_and_jumps_when_it_is_told_to():
    with VirtualSystem(start=datetime(2030, 5, 1, tzinfo=UTC)) as system:
        execution = start(system, machine(system, HOUR), "one")
        assert system.now == datetime(2030, 5, 1, tzinfo=UTC)
        system.advance("59m59s")
        assert status(system, execution) == "RUNNING"
        system.advance(1)
        assert status(system, execution) == "SUCCEEDED"
        assert system.now == datetime(2030, 5, 1, 1, tzinfo=UTC)
        system.run_until(datetime(2031, 1, 1, tzinfo=UTC))
        assert system.now == datetime(2031, 1, 1, tzinfo=UTC)
        shown = system.client("stepfunctions").describe_execution(executionArn=execution)
        assert shown["stopDate"] == datetime(2030, 5, 1, 1, tzinfo=UTC)


def test_everything_of_an_instant_is_done_when_time_stops_there():
    """A wait, a task, a message and its mapping: all of it is due at one instant, one after the other."""
    with VirtualSystem() as system:
        url = queue(system, "jobs")
        system.model("work", Model(), timeout=30)
        system.client("lambda").create_event_source_mapping(EventSourceArn=QUEUE + "jobs", FunctionName="work")
        send = {
            "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "End": True,
            "Parameters": {"QueueUrl": url, "MessageBody": "m"},
        }  # fmt: skip
        steps = {"Wait": {"Type": "Wait", "Seconds": 60, "Next": "Send"}, "Send": send}
        execution = start(system, machine(system, {"StartAt": "Wait", "States": steps}), "one")
        system.advance(60)
        assert status(system, execution) == "SUCCEEDED"
        assert counts(system, url) == (0, 0, 0)


def test_a_condition_is_looked_at_at_every_instant():
    with VirtualSystem() as system:
        execution = start(system, machine(system, HOUR), "one")
        system.run_until(lambda: status(system, execution) == "SUCCEEDED")
        assert system.now_ms - 1_767_225_600_000 == 3_600_000
        with pytest.raises(NeverHappened, match="within 2h"):
            system.run_until(lambda: False, within="2h")


def test_idle_is_when_nothing_is_under_way_and_no_retry_is_to_come():
    with VirtualSystem() as system:
        system.model("fails", Model(duration="3s", failure_rate=1.0))
        system.client("lambda").invoke(FunctionName="fails", InvocationType="Event", Payload=b"{}")
        execution = start(system, machine(system, HOUR), "one")
        before = system.now_ms
        system.run_until_idle()
        assert status(system, execution) == "SUCCEEDED"
        assert system.now_ms - before == 3_600_000
        system.client("lambda").invoke(FunctionName="fails", InvocationType="Event", Payload=b"{}")
        before = system.now_ms
        system.run_until_idle()
        # Three attempts of three seconds, one and two minutes apart.
        assert system.now_ms - before == (3 + 60 + 3 + 120 + 3) * 1000


def test_a_long_poll_takes_its_time_and_nothing_else_does():
    with VirtualSystem() as system:
        url = queue(system, "empty")
        before = system.now_ms
        assert "Messages" not in system.client("sqs").receive_message(QueueUrl=url, WaitTimeSeconds=20)
        assert system.now_ms - before == 20_000
        before = system.now_ms
        system.client("sqs").send_message(QueueUrl=url, MessageBody="m", DelaySeconds=7)
        found = system.client("sqs").receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
        assert (found[0]["Body"], system.now_ms - before) == ("m", 7_000)


def test_waiting_for_what_can_never_happen_is_told():
    with VirtualSystem() as system, pytest.raises(NeverHappened):
        system.run_until(lambda: False, within="1d")


# ---------------------------------------------------------------------- calls


def test_clients_see_what_a_server_answers():
    with VirtualSystem() as system:
        s3, tables = system.client("s3"), system.client("dynamodb")
        s3.create_bucket(Bucket="files")
        s3.put_object(Bucket="files", Key="a/b c.txt", Body=b"content", Metadata={"k": "v"})
        assert s3.get_object(Bucket="files", Key="a/b c.txt")["Body"].read() == b"content"
        with pytest.raises(s3.exceptions.NoSuchKey):
            s3.get_object(Bucket="files", Key="other")
        tables.create_table(
            TableName="table", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        )  # fmt: skip
        tables.put_item(TableName="table", Item={"k": {"S": "x"}})
        assert tables.scan(TableName="table")["Items"] == [{"k": {"S": "x"}}]
        with pytest.raises(ClientError) as caught:
            system.client("stepfunctions").describe_execution(executionArn="arn:aws:states:us-east-1:0:execution:m:n")
        assert caught.value.response["Error"]["Code"] in ("InvalidArn", "ExecutionDoesNotExist")


def test_operations_can_be_called_without_a_client():
    with VirtualSystem() as system:
        made = system.call("sqs", "CreateQueue", {"QueueName": "jobs"})
        assert made["QueueUrl"].endswith("/jobs")
        assert system.call("stepfunctions", "ListStateMachines")["stateMachines"] == []
        with pytest.raises(ApiError):
            system.call("sqs", "GetQueueUrl", {"QueueName": "other"})


def test_a_system_runs_in_a_with_block_and_not_within_itself():
    system = VirtualSystem()
    with pytest.raises(RuntimeError, match="with"):
        system.advance(1)
    with system:
        system.model("nested", Model(answer=lambda _event: system.advance(1)))
        assert "within itself" in invoked(system, "nested")["errorMessage"]


def test_a_synchronous_execution_is_answered_at_its_end():
    with VirtualSystem() as system:
        made = system.client("stepfunctions").create_state_machine(
            name="express", definition=json.dumps(HOUR),
            roleArn="arn:aws:iam::000000000000:role/r", type="EXPRESS",
        )  # fmt: skip
        before = system.now_ms
        answer = system.client("stepfunctions").start_sync_execution(stateMachineArn=made["stateMachineArn"])
        assert (answer["status"], system.now_ms - before) == ("TIMED_OUT", 300_000)


# ---------------------------------------------------------------------- death and repetition


@pytest.mark.parametrize("durable", [False, True], ids=["memory", "SQLite"])
def test_a_killed_system_goes_on_where_its_store_was(durable, tmp_path):
    with VirtualSystem(data=tmp_path / "data" if durable else None) as system:
        system.model("work", Model(duration="10m", answer="done"))
        url = queue(system, "jobs", VisibilityTimeout="900")
        system.client("sqs").send_message(QueueUrl=url, MessageBody="m")
        system.client("sqs").receive_message(QueueUrl=url)
        task = {"Type": "Task", "Resource": FUNCTION + "work", "End": True}
        steps = {"Wait": {"Type": "Wait", "Seconds": 3600, "Next": "Work"}, "Work": task}
        execution = start(system, machine(system, {"StartAt": "Wait", "States": steps}), "one")
        system.advance("30m")
        before = system.now_ms
        system.restart()
        assert system.now_ms == before
        assert counts(system, url) == (1, 0, 0)
        system.advance("35m")
        # In the middle of the task, which is done once more.
        system.restart()
        system.run_until_idle()
        shown = system.client("stepfunctions").describe_execution(executionArn=execution)
        assert (shown["status"], shown["output"]) == ("SUCCEEDED", '"done"')
        assert entered(history(system, execution)) == ["Wait", "Work"]


def story(seed: int, data: Path | None = None) -> bytes:
    """Machines that draw lots, functions that fail at times, a queue with a mapping: all that came of it."""
    with VirtualSystem(seed=seed, data=data) as system:
        url, dead = queue(system, "jobs", VisibilityTimeout="30"), queue(system, "dead")
        system.call("sqs", "SetQueueAttributes", {
            "QueueUrl": url,
            "Attributes": {"RedrivePolicy": f'{{"deadLetterTargetArn":"{QUEUE}dead","maxReceiveCount":2}}'},
        })  # fmt: skip
        system.model("work", Model(duration=uniform("1s", "5s"), failure_rate=0.3, error="Flaky"), timeout=20)
        system.client("lambda").create_event_source_mapping(
            EventSourceArn=QUEUE + "jobs", FunctionName="work", BatchSize=2
        )
        retry = [{"ErrorEquals": ["Flaky"], "MaxAttempts": 3, "JitterStrategy": "FULL"}]
        steps = {
            "Work": {"Type": "Task", "Resource": FUNCTION + "work", "Retry": retry, "Next": "Name"},
            "Name": {"Type": "Pass", "Parameters": {"id.$": "States.UUID()"}, "End": True},
        }
        arn = machine(system, {"StartAt": "Work", "States": steps})
        executions = [
            system.call("states", "StartExecution", {"stateMachineArn": arn})["executionArn"] for _ in range(5)
        ]
        for number in range(20):
            system.call("sqs", "SendMessage", {"QueueUrl": url, "MessageBody": str(number)})
        system.advance(20)
        on_the_way = counts(system, url)
        system.run_until_idle()
        told = [system.call("states", "GetExecutionHistory", {"executionArn": one}) for one in executions]
        return repr((executions, told, on_the_way, counts(system, dead), system.now_ms)).encode()


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others():
    assert story(7) == story(7)
    assert story(7) != story(8)


def test_receipt_handles_follow_the_seed():
    def handle(seed: int) -> str:
        with VirtualSystem(seed=seed) as system:
            url = queue(system, "jobs")
            system.call("sqs", "SendMessage", {"QueueUrl": url, "MessageBody": "one"})
            (message,) = system.call("sqs", "ReceiveMessage", {"QueueUrl": url})["Messages"]
            return str(message["ReceiptHandle"])

    assert handle(1) == handle(1)
    assert handle(1) != handle(2)


def test_it_makes_no_difference_where_the_system_is_kept(tmp_path):
    assert story(7, tmp_path / "one") == story(7, tmp_path / "other") == story(7)


def test_two_systems_of_one_process_do_not_disturb_each_other():
    def names(system: VirtualSystem) -> Any:
        return system.call("states", "StartExecution", {"stateMachineArn": machine(system, HOUR)})["executionArn"]

    with VirtualSystem(seed=3) as alone:
        expected = names(alone)
    with VirtualSystem(seed=3) as one, VirtualSystem(seed=3) as other:
        assert names(one) == expected
        one.advance("5m")
        assert names(other) == expected
        assert one.now_ms - other.now_ms == 300_000


def test_nothing_is_left_behind():
    before = threading.active_count()
    with VirtualSystem() as system:
        function(system, "f", "def handler(event, context):\n    return 1")
        assert invoked(system, "f") == 1
    assert threading.active_count() == before


def test_a_schedule_a_table_and_a_machine_share_the_clock():
    with VirtualSystem(start=datetime(2026, 1, 1, 0, 5, tzinfo=UTC)) as system:
        tables = system.client("dynamodb")
        tables.create_table(
            TableName="ticks", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        )  # fmt: skip
        put = {"Type": "Task", "Resource": "arn:aws:states:::dynamodb:putItem", "End": True,
               "Parameters": {"TableName": "ticks", "Item": {"k": {"S.$": "$$.State.EnteredTime"}}}}  # fmt: skip
        arn = machine(system, {"StartAt": "Put", "States": {"Put": put}})
        system.client("scheduler").create_schedule(
            Name="every-ten", ScheduleExpression="cron(0/10 * * * ? *)", FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": arn, "RoleArn": "arn:aws:iam::000000000000:role/r"},
        )  # fmt: skip
        system.advance("55m")
        found = sorted(item["k"]["S"] for item in tables.scan(TableName="ticks")["Items"])
        assert [one[:16] for one in found] == [f"2026-01-01T00:{minute}" for minute in (10, 20, 30, 40, 50)] + [
            "2026-01-01T01:00"
        ]
        with pytest.raises(NeverHappened):
            system.run_until(lambda: False, within="5m")


def test_restarts_one_after_the_other_on_a_file(tmp_path: Path):
    # What is written while the last group's answers still wait for rest is a group of its own.
    task = {"Type": "Task", "Resource": "arn:aws:states:us-east-1:000000000000:activity:a", "End": True}
    definition = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 3600, "Next": "A"}, "A": task}}
    for number in range(5):
        with VirtualSystem(data=tmp_path / str(number)) as system:
            activity = system.call("stepfunctions", "CreateActivity", {"name": "a"})["activityArn"]
            role = "arn:aws:iam::000000000000:role/r"
            made = {"name": "m", "definition": json.dumps(definition), "roleArn": role}
            machine = system.call("stepfunctions", "CreateStateMachine", made)["stateMachineArn"]
            started = {"stateMachineArn": machine, "input": "{}"}
            execution = system.call("stepfunctions", "StartExecution", started)["executionArn"]
            for seconds in (1800, 1900, 5):
                system.advance(seconds)
                system.restart()
            token = system.call("stepfunctions", "GetActivityTask", {"activityArn": activity})["taskToken"]
            system.call("stepfunctions", "SendTaskSuccess", {"taskToken": token, "output": "{}"})
            shown = system.call("stepfunctions", "DescribeExecution", {"executionArn": execution})
            assert shown["status"] == "SUCCEEDED"
