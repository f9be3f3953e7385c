"""Semaphores on a real server, as people build them: ask until it is one's turn, or start no more than may run."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e.conftest import ROLE
from tests.e2e.systems import EXAMPLES, System, ended, entered, history, system

NODE_V2 = """
const AWS = require('aws-sdk')
const stepfunctions = new AWS.StepFunctions()
const list = (request) => stepfunctions.listExecutions(request).promise()
"""
NODE_V3 = """
const { SFNClient, ListExecutionsCommand } = require('@aws-sdk/client-sfn')
const client = new SFNClient({})
const list = (request) => client.send(new ListExecutionsCommand(request))
"""
NODE_HANDLER = """
exports.handler = async (event) => {
  const running = []
  let nextToken
  do {
    const page = await list({
      stateMachineArn: process.env.STATE_MACHINE_ARN, statusFilter: 'RUNNING', maxResults: 2, nextToken
    })
    running.push(...page.executions)
    nextToken = page.nextToken
  } while (nextToken)
  running.sort((one, other) => one.startDate - other.startDate)
  return { proceed: running[0].name === event.name }
}
"""


def semaphore(server: Any, critical: dict[str, Any] | None = None) -> tuple[System, str]:
    """The example with waits of a second; `critical` takes the place of the critical section's task."""
    made = system(server, "semaphore")
    definition = json.loads(made.rename((EXAMPLES / "semaphore" / "semaphore.asl.json").read_text()))
    if critical is not None:
        definition["States"]["Critical Path"] = {"Type": "Task", "ResultPath": "$.work", "End": True, **critical}
    arn = made.machine(definition, seconds=1)
    made.function("only-one-shall-run", variables={"STATE_MACHINE_ARN": arn})
    made.function("critical-work")
    return made, arn


def one_after_the_other(made: System, machine: str, seconds: float) -> None:
    """Three executions are started in a moment: never two are inside, and they come in the order of their starts."""
    sfn = made.client("stepfunctions")
    executions = [made.start(machine, {"name": name, "seconds": seconds}, name=name) for name in ("a", "b", "c")]
    stays = []
    for execution in executions:
        shown = ended(sfn, execution)
        assert shown["status"] == "SUCCEEDED"
        stays.append(json.loads(shown["output"])["work"])
    for one, following in pairwise(stays):
        assert one["ended"] <= following["began"]
    for number, execution in enumerate(executions):
        states = entered(history(sfn, execution))
        turns = states.count("Wait A Minute")
        asked = ["OnlyOneShallRunAtOneTime", "Shall Pass?"]
        assert states == [*[*asked, "Wait A Minute"] * turns, *asked, "Critical Path"]
        assert turns == 0 if number == 0 else turns >= number


@pytest.mark.slow
def test_never_two_are_inside(server):
    made, machine = semaphore(server)
    one_after_the_other(made, machine, 1.2)


def require_node_with(package: str) -> None:
    node = shutil.which("node")
    if node is None or subprocess.run([node, "-e", f"require.resolve('{package}')"], capture_output=True).returncode:
        pytest.skip(f"`node` with the package {package} (NODE_PATH) is not there")


@pytest.mark.parametrize(
    ("package", "client"), [("aws-sdk", NODE_V2), ("@aws-sdk/client-sfn", NODE_V3)], ids=["v2", "v3"]
)
def test_the_function_may_be_written_for_node(server, package, client):
    require_node_with(package)
    made, machine = semaphore(server)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("index.js", client + NODE_HANDLER)
    functions, name = made.client("lambda"), made.named("only-one-shall-run")
    functions.delete_function(FunctionName=name)
    functions.create_function(
        FunctionName=name, Runtime="nodejs20.x", Role=ROLE, Handler="index.handler", Timeout=30, MemorySize=512,
        Code={"ZipFile": packed.getvalue()}, Environment={"Variables": {"STATE_MACHINE_ARN": machine}},
    )  # fmt: skip
    one_after_the_other(made, machine, 1.2)


@pytest.mark.slow
def test_who_waits_too_long_times_out(server):
    made, machine = semaphore(server)
    sfn = made.client("stepfunctions")
    holder = made.start(machine, {"name": "holder", "seconds": 6}, name="holder")
    definition = json.loads(sfn.describe_state_machine(stateMachineArn=machine)["definition"])
    sfn.update_state_machine(stateMachineArn=machine, definition=json.dumps({**definition, "TimeoutSeconds": 2}))
    late = [made.start(machine, {"name": f"late-{number}"}, name=f"late-{number}") for number in range(2)]
    assert [ended(sfn, execution)["status"] for execution in (*late, holder)] == ["TIMED_OUT", "TIMED_OUT", "SUCCEEDED"]
    assert "Critical Path" not in entered(history(sfn, late[0]))


# ---------------------------------------------------------------------- people inside


def test_a_person_inside_answers_by_token(server):
    url, _ = system(server).queue("desk")
    critical = {
        "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
        "Parameters": {"QueueUrl": url, "MessageBody": {"name.$": "$.name", "token.$": "$$.Task.Token"}},
    }
    made, machine = semaphore(server, critical)
    sfn, sqs = made.client("stepfunctions"), made.client("sqs")
    executions = [made.start(machine, {"name": name}, name=name) for name in ("a", "b")]
    for name, execution in zip(("a", "b"), executions, strict=True):
        messages = until(lambda: sqs.receive_message(QueueUrl=url, WaitTimeSeconds=10).get("Messages"), "a request")
        asked = json.loads(messages[0]["Body"])
        assert (len(messages), asked["name"]) == (1, name)
        sqs.delete_message(QueueUrl=url, ReceiptHandle=messages[0]["ReceiptHandle"])
        assert sum(made.counts(url).values()) == 0
        sfn.send_task_success(taskToken=asked["token"], output='"approved"')
        assert json.loads(ended(sfn, execution)["output"]) == {
            "name": name, "turn": {"proceed": True}, "work": "approved",
        }  # fmt: skip


def test_a_person_inside_works_for_an_activity(server):
    activity = server.client().create_activity(name=system(server).named("desk"))["activityArn"]
    made, machine = semaphore(server, {"Resource": activity})
    sfn = made.client("stepfunctions")
    executions = [made.start(machine, {"name": name}, name=name) for name in ("a", "b")]
    for name, execution in zip(("a", "b"), executions, strict=True):
        task = sfn.get_activity_task(activityArn=activity, workerName="me")
        assert json.loads(task["input"])["name"] == name
        assert sfn.describe_execution(executionArn=execution)["status"] == "RUNNING"
        sfn.send_task_success(taskToken=task["taskToken"], output='"done"')
        assert ended(sfn, execution)["status"] == "SUCCEEDED"


# ---------------------------------------------------------------------- no more starts than there is room

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
    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=room).get("Messages", [])
    for message in messages:
        stepfunctions.start_execution(stateMachineArn=machine, input=message["Body"])
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return len(messages)
"""
MOST, ORDERS = 2, 6


@pytest.mark.slow
def test_starts_are_limited_by_a_queue_in_order(server):
    """A schedule of every minute invokes the function at once; its next minutes are moved to the next seconds."""
    made = system(server)
    function = made.function("starter", STARTER)
    url, _ = made.queue("orders", FifoQueue="true", ContentBasedDeduplication="true")
    wait = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 2, "End": True}}}
    machine = made.machine(wait)
    sfn, sqs, scheduler = made.client("stepfunctions"), made.client("sqs"), made.client("scheduler")
    for number in range(ORDERS):
        sqs.send_message(QueueUrl=url, MessageBody=str(number), MessageGroupId="orders")
    target = {
        "Arn": function, "RoleArn": ROLE, "Input": json.dumps({"machine": machine, "queue": url, "most": MOST}),
    }  # fmt: skip
    now = datetime.now(UTC)
    for number in range(12):
        expression = f"at({now + timedelta(seconds=2 + number):%Y-%m-%dT%H:%M:%S})" if number else "rate(1 minute)"
        scheduler.create_schedule(
            Name=made.named(f"minute-{number}"), ScheduleExpression=expression, Target=target,
            FlexibleTimeWindow={"Mode": "OFF"},
        )  # fmt: skip
    seen = set()

    def all_started() -> list[Any] | None:
        running = sfn.list_executions(stateMachineArn=machine, statusFilter="RUNNING")["executions"]
        seen.add(len(running))
        listed: list[Any] = sfn.list_executions(stateMachineArn=machine)["executions"]
        return listed if len(listed) == ORDERS else None

    listed = until(all_started, "every start")
    assert max(seen) == MOST
    inputs = [sfn.describe_execution(executionArn=one["executionArn"])["input"] for one in reversed(listed)]
    assert inputs == [str(number) for number in range(ORDERS)]
    # The first two were started when the schedule was made, the others when there was room again.
    starts = [one["startDate"] for one in reversed(listed)]
    assert all(later - start >= timedelta(seconds=2) for start, later in zip(starts, starts[MOST:], strict=False))
    for number in range(12):
        with suppress(ClientError):
            scheduler.delete_schedule(Name=made.named(f"minute-{number}"))


def test_a_group_with_a_message_in_flight_gives_no_other(server):
    made = system(server)
    url, _ = made.queue("orders", FifoQueue="true", ContentBasedDeduplication="true")
    sqs = made.client("sqs")
    for number in range(2):
        sqs.send_message(QueueUrl=url, MessageBody=str(number), MessageGroupId="orders")
    first = sqs.receive_message(QueueUrl=url)["Messages"]
    assert [message["Body"] for message in first] == ["0"]
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    sqs.delete_message(QueueUrl=url, ReceiptHandle=first[0]["ReceiptHandle"])
    assert [message["Body"] for message in sqs.receive_message(QueueUrl=url)["Messages"]] == ["1"]


# ---------------------------------------------------------------------- what both rely on


def test_two_hundred_and_fifty_that_run_are_listed_in_pages(server):
    made = system(server)
    machine = made.machine({"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 60, "End": True}}})
    with ThreadPoolExecutor(4) as pool:
        started = list(pool.map(lambda number: made.start(machine, number), range(250)))
    pages: list[list[dict[str, Any]]] = []
    more: dict[str, str] = {}
    while not pages or more:
        page = made.client("stepfunctions").list_executions(
            stateMachineArn=machine, statusFilter="RUNNING", maxResults=100, **more
        )
        pages.append(page["executions"])
        more = {"nextToken": page["nextToken"]} if "nextToken" in page else {}
    assert [len(page) for page in pages] == [100, 100, 50]
    listed = [one for page in pages for one in page]
    assert sorted(one["executionArn"] for one in listed) == sorted(started)
    dates = [one["startDate"] for one in listed]
    assert dates == sorted(dates, reverse=True)
    assert len({date.microsecond for date in dates}) > 1


def test_a_name_starts_once(server):
    made = system(server)
    sfn = made.client("stepfunctions")
    machine = made.machine({"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 60, "End": True}}})
    first = made.start(machine, {"order": 7}, name="one")
    assert made.start(machine, {"order": 7}, name="one") == first
    with pytest.raises(ClientError) as caught:
        made.start(machine, {"order": 8}, name="one")
    assert caught.value.response["Error"] == {
        "Code": "ExecutionAlreadyExists", "Message": f"Execution Already Exists: '{first}'",
    }  # fmt: skip
    sfn.stop_execution(executionArn=first)
