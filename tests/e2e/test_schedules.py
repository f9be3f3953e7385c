"""EventBridge Scheduler through boto3: targets, dead letters, errors, kills and the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e.conftest import ROLE, Server, machine
from tests.unit.cli.conftest import Result

OFF = {"Mode": "OFF"}


def queue(server: Server, **attributes: str) -> tuple[str, str]:
    """URL and ARN of a new queue."""
    name = f"q-{uuid4()}" + (".fifo" if attributes.get("FifoQueue") else "")
    url = server.client("sqs").create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return url, f"arn:aws:sqs:us-east-1:000000000000:{name}"


def received(server: Server, url: str) -> dict[str, Any]:
    """The next message of a queue, once there is one."""

    def taken() -> list[dict[str, Any]] | None:
        answer: dict[str, Any] = server.client("sqs").receive_message(
            QueueUrl=url, WaitTimeSeconds=20, MessageAttributeNames=["All"], AttributeNames=["All"]
        )
        return answer.get("Messages")

    found: dict[str, Any] = until(taken, "a message")[0]
    return found


def create(server: Server, arn: str, expression: str = "rate(1 day)", **target: Any) -> str:
    name = f"s-{uuid4()}"
    server.client("scheduler").create_schedule(
        Name=name, ScheduleExpression=expression, FlexibleTimeWindow=OFF,
        Target={"Arn": arn, "RoleArn": ROLE, **target},
    )  # fmt: skip
    return name


def test_a_queue_gets_the_input_with_its_keywords(server):
    url, arn = queue(server)
    name = create(server, arn, Input="<aws.scheduler.schedule-arn> <aws.scheduler.attempt-number>")
    assert received(server, url)["Body"] == f"arn:aws:scheduler:us-east-1:000000000000:schedule/default/{name} 1"


def test_a_fifo_queue_gets_its_group(server):
    url, arn = queue(server, FifoQueue="true", ContentBasedDeduplication="true")
    create(server, arn, Input="x", SqsParameters={"MessageGroupId": "g"})
    assert received(server, url)["Attributes"]["MessageGroupId"] == "g"


def test_a_machine_is_started_with_the_default_event_or_the_input(server, sfn):
    arn = machine(sfn, {"Type": "Pass"})
    name = create(server, arn)
    [one] = until(lambda: sfn.list_executions(stateMachineArn=arn)["executions"])
    event = json.loads(sfn.describe_execution(executionArn=one["executionArn"])["input"])
    assert (event["source"], event["detail-type"]) == ("aws.scheduler", "Scheduled Event")
    assert event["resources"] == [f"arn:aws:scheduler:us-east-1:000000000000:schedule/default/{name}"]


@pytest.mark.parametrize("members", [("QueueUrl", "MessageBody"), ("queueUrl", "messageBody")])
def test_a_universal_target(server, members):
    url, _ = queue(server)
    create(
        server,
        "arn:aws:scheduler:::aws-sdk:sqs:sendMessage",
        Input=json.dumps(dict(zip(members, (url, "hello"), strict=True))),
    )
    assert received(server, url)["Body"] == "hello"


def test_universal_targets_of_other_services(server, sfn):
    arn = machine(sfn, {"Type": "Pass"})
    given = {"StateMachineArn": arn, "Input": '{"a": 1}', "Name": "once"}
    create(server, "arn:aws:scheduler:::aws-sdk:sfn:startExecution", Input=json.dumps(given))
    bucket = f"b-{uuid4()}"
    s3 = server.client("s3")
    s3.create_bucket(Bucket=bucket)
    create(
        server,
        "arn:aws:scheduler:::aws-sdk:s3:putObject",
        Input=json.dumps({"Bucket": bucket, "Key": "k", "Body": "text"}),
    )
    [one] = until(lambda: sfn.list_executions(stateMachineArn=arn)["executions"])
    assert one["name"] == "once"
    until(lambda: s3.list_objects_v2(Bucket=bucket)["KeyCount"])
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"text"


def test_a_target_that_is_not_there_leaves_a_dead_letter(server):
    url, dead = queue(server)
    create(server, "arn:aws:sqs:us-east-1:000000000000:nobody", Input="x", DeadLetterConfig={"Arn": dead})
    said = {name: one["StringValue"] for name, one in received(server, url)["MessageAttributes"].items()}
    assert said["ERROR_CODE"] == "AWS.SimpleQueueService.NonExistentQueue"
    assert said["TARGET_ARN"] == "arn:aws:scheduler:::aws-sdk:sqs:sendMessage"


@pytest.mark.parametrize(
    ("operation", "given", "code", "status", "text"),
    [
        ("get_schedule", {"Name": "none"}, "ResourceNotFoundException", 404, "Schedule none does not exist."),
        ("delete_schedule", {"Name": "none"}, "ResourceNotFoundException", 404, "Schedule none does not exist."),
        ("get_schedule_group", {"Name": "none"}, "ResourceNotFoundException", 404, "group none does not exist."),
        ("create_schedule_group", {"Name": "default"}, "ConflictException", 409, "group default already exists."),
        ("delete_schedule_group", {"Name": "default"}, "ValidationException", 400, "The default schedule group cannot"),
        ("list_schedules", {"MaxResults": 101}, "ValidationException", 400, "less than or equal to 100"),
        ("list_schedules", {"NextToken": "%%"}, "ValidationException", 400, "Invalid NextToken."),
        ("get_schedule", {"Name": "a b"}, "ValidationException", 400, "regular expression pattern: [0-9a-zA-Z-_.]+"),
    ],
)  # fmt: skip
def test_errors(server, operation, given, code, status, text):
    with pytest.raises(ClientError) as caught:
        getattr(server.client("scheduler"), operation)(**given)
    answer = caught.value.response
    assert (answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]) == (code, status)
    assert text in answer["Error"]["Message"]


def test_what_a_schedule_shows(server):
    _, arn = queue(server)
    start = datetime(2099, 1, 1, tzinfo=UTC)
    scheduler = server.client("scheduler")
    target = {"Arn": arn, "RoleArn": ROLE, "Input": "x", "RetryPolicy": {"MaximumRetryAttempts": 3}}
    scheduler.create_schedule(
        Name="shown", ScheduleExpression="cron(0 9 * * ? *)",
        ScheduleExpressionTimezone="Europe/Berlin", StartDate=start,
        FlexibleTimeWindow={"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 5}, Description="d", Target=target,
    )  # fmt: skip
    found = scheduler.get_schedule(Name="shown")
    assert (found["Target"], found["StartDate"], found["State"], found["GroupName"]) == (
        target,
        start,
        "ENABLED",
        "default",
    )
    with pytest.raises(ClientError, match=r"\(ConflictException\).*Schedule shown already exists\."):
        scheduler.create_schedule(Name="shown", ScheduleExpression="rate(1 day)", FlexibleTimeWindow=OFF, Target=target)
    [listed] = scheduler.list_schedules(NamePrefix="shown")["Schedules"]
    assert listed["Target"] == {"Arn": arn}


@pytest.mark.slow
def test_kills_lose_no_instant(tmp_path):
    data = tmp_path / "data"
    server = Server(data)
    url, arn = queue(server)
    # Whole seconds, each chosen right before it is sent: what has passed by then never fires.
    soon: list[datetime] = []
    for number in range(3):
        at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=4 + number)
        at = max(at, soon[-1] + timedelta(seconds=1)) if soon else at
        soon.append(at)
        create(server, arn, f"at({at:%Y-%m-%dT%H:%M:%S})", Input="<aws.scheduler.scheduled-time>")
    got: set[str] = set()

    def some() -> bool:
        found = server.client("sqs").receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages", [])
        got.update(one["Body"] for one in found)
        return len(got) >= wanted

    wanted = 1
    until(some, "the first instant")
    server.kill()
    until(lambda: datetime.now(UTC) > soon[-1], "the last instant")
    server = Server(data)
    try:
        wanted = 3
        url = url.replace(url.split("/")[2], server.url.split("/")[2])
        until(some, "all three instants")
        assert got == {f"{at:%Y-%m-%dT%H:%M:%SZ}" for at in soon}
    finally:
        assert server.stop() == 0, server.log.read_text()


def test_the_command_line(server, statewright):
    url, arn = queue(server)
    name = create(server, arn, "cron(0 9 1 1 ? *)", Input="by hand")

    def said(*arguments: str, code: int = 0) -> str:
        done: Result = statewright("schedule", *arguments)
        assert done.code == code, done.err
        return done.out

    assert said("next", name, "-n", "1").endswith("-01-01T09:00:00+00:00\n")
    assert json.loads(said("run", name, "-o", "json"))["target"] == arn
    assert received(server, url)["Body"] == "by hand"
    said("pause", name)
    listed = {one["Name"]: one for one in json.loads(said("list", "-o", "json"))["schedules"]}
    assert (listed[name]["State"], listed[name]["NextInstant"]) == ("DISABLED", None)
    assert json.loads(said("resume", name, "-o", "jsonl")) == {"schedule": name, "state": "ENABLED"}
    assert server.client("scheduler").get_schedule(Name=name)["State"] == "ENABLED"
    expression = said("next", "cron(30 2 * * ? *)", "--timezone", "Europe/Berlin", "--after", "2026-03-28", "-n", "2")
    assert expression == "2026-03-28T02:30:00+01:00\n2026-03-30T02:30:00+02:00\n"
    shown = json.loads(said("next", "rate(1 day)", "--after", "2026-01-01T00:00:00", "-n", "1", "-o", "json"))
    assert shown == {"scheduleExpression": "rate(1 day)", "instants": ["2026-01-02T00:00:00+00:00"]}
    for wrong, code in (("nobody", 3), ("rate(1 foo)", 2), ("a/nobody", 3)):
        assert said("next", wrong, code=code) == ""
    for command in ("run", "pause", "resume"):
        said(command, "nobody", code=3)
    # The copy by which it ran has deleted itself.
    listed_names = {one["Name"] for one in json.loads(said("list", "-o", "json"))["schedules"]}
    assert not any("-run-" in one for one in listed_names)
