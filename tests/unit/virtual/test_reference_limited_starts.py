"""At most so many at once without asking: starts from a FIFO queue, a machine's own limit, and permits."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
import yaml

from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import (
    EXAMPLES,
    FUNCTION,
    ROLE,
    entered,
    function,
    machine,
    queue,
    start,
    told,
)

STARTER = """
import boto3

stepfunctions = boto3.client("stepfunctions")
sqs = boto3.client("sqs")

def handler(event, context):
    machine, url = event["machine"], event["queue"]
    running = stepfunctions.list_executions(stateMachineArn=machine, statusFilter="RUNNING")["executions"]
    room = event["most"] - len(running)
    if room <= 0:
        return 0
    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=min(10, room)).get("Messages", [])
    for message in messages:
        stepfunctions.start_execution(stateMachineArn=machine, input=message["Body"])
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return len(messages)
"""
FIVE_MINUTES = {"StartAt": "Critical Path", "States": {"Critical Path": {"Type": "Wait", "Seconds": 300, "End": True}}}
HUNDRED = 100


def running(system: VirtualSystem, arn: str) -> list[Any]:
    asked = {"stateMachineArn": arn, "statusFilter": "RUNNING", "maxResults": 1000}
    found: list[Any] = system.call("states", "ListExecutions", asked)["executions"]
    return found


# ---------------------------------------------------------------------- starts from a queue, every minute


def test_a_schedule_starts_no_more_than_may_run():
    most, orders = 3, 20
    with VirtualSystem() as system:
        function(system, "starter", STARTER)
        url = queue(system, "orders.fifo", FifoQueue="true", ContentBasedDeduplication="true")
        arn = machine(system, FIVE_MINUTES)
        for number in range(orders):
            asked = {"QueueUrl": url, "MessageBody": str(number), "MessageGroupId": "orders"}
            system.call("sqs", "SendMessage", asked)
        given = {"machine": arn, "queue": url, "most": most}
        system.client("scheduler").create_schedule(
            Name="every-minute", ScheduleExpression="rate(1 minute)", FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": FUNCTION + "starter", "RoleArn": ROLE, "Input": json.dumps(given)},
        )  # fmt: skip
        seen = set()
        for _ in range(50 * 6):
            seen.add(len(running(system, arn)))
            system.advance(10)
        assert max(seen) == most
        listed = system.call("states", "ListExecutions", {"stateMachineArn": arn})["executions"]
        described = [
            system.call("states", "DescribeExecution", {"executionArn": one["executionArn"]}) for one in listed
        ]
        # Those that start at the same instant are listed in any order.
        begun = sorted((one["startDate"], int(one["input"])) for one in described)
        assert [order for _, order in begun] == list(range(orders))
        starts = [start for start, _ in begun]
        # Room is found by the minute: never before one has ended, and no more than a minute later.
        assert all(300_000 <= later - one <= 361_000 for one, later in zip(starts, starts[most:], strict=False))


def test_a_group_whose_message_is_in_flight_gives_no_other():
    with VirtualSystem() as system:
        url = queue(system, "orders.fifo", FifoQueue="true", ContentBasedDeduplication="true")
        sqs = system.client("sqs")
        for number in range(2):
            sqs.send_message(QueueUrl=url, MessageBody=str(number), MessageGroupId="orders")
        [first] = sqs.receive_message(QueueUrl=url)["Messages"]
        began = system.now
        assert "Messages" not in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)
        assert (system.now - began).total_seconds() == 20
        sqs.delete_message(QueueUrl=url, ReceiptHandle=first["ReceiptHandle"])
        assert [one["Body"] for one in sqs.receive_message(QueueUrl=url)["Messages"]] == ["1"]


# ---------------------------------------------------------------------- ours: a limit, and permits


def limited(system: VirtualSystem) -> str:
    arn = machine(system, FIVE_MINUTES, "limited")
    tags = [{"key": "statewright:maxConcurrentExecutions", "value": "1"}]
    system.client("stepfunctions").tag_resource(resourceArn=arn, tags=tags)
    return arn


def permitted(system: VirtualSystem) -> str:
    text = yaml.safe_load((EXAMPLES / "semaphore" / "with-permit.asl.yaml").read_text())
    # The last of a hundred waits for eight hours.
    del text["States"]["Enter"]["TimeoutSeconds"]
    return machine(system, text, "permitted")


def stays(system: VirtualSystem, executions: list[str], path: list[str]) -> list[tuple[int, int]]:
    """When each was in the critical section; all have gone the same way, without a state for waiting."""
    found = []
    for execution in executions:
        events = told(system, execution)
        assert events[-1]["type"] == "ExecutionSucceeded"
        assert entered(events) == path
        inside = [one["timestamp"] for one in events if one["type"] in ("WaitStateEntered", "WaitStateExited")]
        found.append((inside[0], inside[1]))
    return found


@pytest.mark.parametrize(
    ("build", "path"),
    [(limited, ["Critical Path"]), (permitted, ["Enter", "Critical path", "Leave"])],
    ids=["by a tag", "by a permit"],
)
def test_a_hundred_without_polling_lose_no_time(build, path):
    with VirtualSystem() as system:
        arn = build(system)
        began_ms = system.now_ms
        executions = [start(system, arn, f"n{number}") for number in range(HUNDRED)]
        shown = system.call("states", "DescribeExecution", {"executionArn": executions[-1]})
        assert (shown["status"], shown["startDate"]) == ("RUNNING", began_ms)
        assert len(running(system, arn)) == HUNDRED
        system.run_until_idle()
        # 8 h 20 min and no second more, where asking every minute takes nine hours.
        assert 0 <= system.now_ms - began_ms - HUNDRED * 300_000 < 1000
        inside = stays(system, executions, path)
        assert all(after[0] - 1000 < one[1] <= after[0] for one, after in pairwise(inside))


@pytest.mark.parametrize("build", [limited, permitted], ids=["by a tag", "by a permit"])
def test_who_is_stopped_inside_makes_room_and_a_kill_forgets_nobody(build):
    with VirtualSystem() as system:
        arn = build(system)
        executions = [start(system, arn, f"n{number}") for number in range(4)]
        system.advance(100)
        system.restart()
        system.advance(100)

        def is_inside(number: int) -> bool:
            return any(one["type"] == "WaitStateEntered" for one in told(system, executions[number]))

        assert [is_inside(number) for number in range(4)] == [True, False, False, False]
        stopped_ms = system.now_ms
        system.call("states", "StopExecution", {"executionArn": executions[0]})
        system.advance(1)
        assert [is_inside(number) for number in range(4)] == [True, True, False, False]
        # One that waits may be taken out of the row.
        system.call("states", "StopExecution", {"executionArn": executions[2]})
        system.restart()
        system.run_until_idle()
        statuses = [system.call("states", "DescribeExecution", {"executionArn": one})["status"] for one in executions]
        assert statuses == ["ABORTED", "SUCCEEDED", "ABORTED", "SUCCEEDED"]
        assert 0 <= system.now_ms - stopped_ms - 600_000 < 1000


# ---------------------------------------------------------------------- what all rely on


def test_two_hundred_and_fifty_that_run_are_listed_in_pages():
    with VirtualSystem() as system:
        arn = machine(system, FIVE_MINUTES)
        begun = []
        for number in range(250):
            begun.append(start(system, arn, f"n{number}"))
            system.advance(0.007)
        paginator = system.client("stepfunctions").get_paginator("list_executions")
        pages = [
            page["executions"]
            for page in paginator.paginate(
                stateMachineArn=arn, statusFilter="RUNNING", PaginationConfig={"PageSize": 100}
            )
        ]
        assert [len(page) for page in pages] == [100, 100, 50]
        listed = [one for page in pages for one in page]
        assert [one["executionArn"] for one in listed] == begun[::-1]
        assert all(one["startDate"] - after["startDate"] for one, after in pairwise(listed))
        assert len({one["startDate"].microsecond for one in listed}) > 100
