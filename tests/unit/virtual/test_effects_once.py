"""Effects of tasks on Statewright's own services happen once, also where the process dies before it has the answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from statewright.assembly import Hooks, System
from statewright.engine.dispatch import Integrations, Later, ScheduledCall, TaskResult
from statewright.virtual.system import VirtualSystem

ACCOUNT = "us-east-1:000000000000"
URL = "http://sqs.us-east-1.amazonaws.com/000000000000/{}"
TOPIC = f"arn:aws:sns:{ACCOUNT}:t"
ROLE = "arn:aws:iam::000000000000:role/r"
TARGET = {"Arn": f"arn:aws:sqs:{ACCOUNT}:other", "RoleArn": ROLE}
SCHEDULE = {
    "Name": "s",
    "ScheduleExpression": "rate(1 day)",
    "FlexibleTimeWindow": {"Mode": "OFF"},
    "Target": TARGET,
}
KEY = {"id": {"S": "a"}}
ADD_ONE = {
    "TableName": "table",
    "Key": KEY,
    "UpdateExpression": "ADD n :one",
    "ExpressionAttributeValues": {":one": {"N": "1"}},
}


@dataclass
class Losing:
    """Integrations that make their calls, and lose the answers of the first ones: the process is about to die."""

    lose: int = 1
    calls: list[ScheduledCall] = field(default_factory=list)
    lost: list[TaskResult | Later] = field(default_factory=list)
    inner: Integrations | None = None

    @property
    def hooks(self) -> Hooks:
        """Have a system call these."""
        return Hooks(around_tasks=self.around)

    def around(self, inner: Integrations) -> Losing:
        self.inner = inner
        return self

    async def call(self, task: ScheduledCall) -> TaskResult | Later:
        assert self.inner is not None
        self.calls.append(task)
        result = await self.inner.call(task)
        if len(self.lost) < self.lose:
            self.lost.append(result)
            await asyncio.get_running_loop().create_future()
        return result

    async def cancel(self, task: ScheduledCall) -> None:
        assert self.inner is not None
        await self.inner.cancel(task)


def prepare_all(system: VirtualSystem) -> None:
    """Something of everything that a task may act on."""
    sqs, sns, s3 = system.client("sqs"), system.client("sns"), system.client("s3")
    for name in ("q", "other", "gone"):
        sqs.create_queue(QueueName=name)
    sqs.create_queue(QueueName="q.fifo", Attributes={"FifoQueue": "true"})
    sqs.send_message(QueueUrl=URL.format("other"), MessageBody="held")
    sns.create_topic(Name="t")
    for name in ("q", "other"):
        sns.subscribe(TopicArn=TOPIC, Protocol="sqs", Endpoint=f"arn:aws:sqs:{ACCOUNT}:{name}")
    system.client("dynamodb").create_table(
        TableName="table",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    s3.create_bucket(Bucket="bucket")
    s3.put_object(Bucket="bucket", Key="old", Body=b"old")
    events = system.client("events")
    events.put_rule(Name="r", EventPattern=json.dumps({"source": ["mine"]}))
    events.put_targets(Rule="r", Targets=[{"Id": "1", "Arn": f"arn:aws:sqs:{ACCOUNT}:q"}])
    system.client("scheduler").create_schedule(**{**SCHEDULE, "Name": "there"})


def machine(system: VirtualSystem, resource: str, parameters: Any, name: str = "m", **more: Any) -> str:
    sfn = system.client("stepfunctions")
    task = {"Type": "Task", "Resource": f"arn:aws:states:::{resource}", "Parameters": parameters, "End": True}
    definition = {"StartAt": "T", "States": {"T": task}}
    made = sfn.create_state_machine(name=name, definition=json.dumps(definition), roleArn=ROLE, **more)
    return str(made["stateMachineArn"])


def held_handle(system: VirtualSystem) -> str:
    [message] = system.client("sqs").receive_message(QueueUrl=URL.format("other"))["Messages"]
    return str(message["ReceiptHandle"])


def short(system: VirtualSystem) -> str:
    """An EXPRESS machine, whose executions have no names of their own."""
    return machine(system, "sqs:sendMessage", {"QueueUrl": URL.format("q"), "MessageBody": "m"}, "x", type="EXPRESS")


def waiting_token(system: VirtualSystem) -> str:
    parameters = {"QueueUrl": URL.format("q"), "MessageBody.$": "$$.Task.Token"}
    waits = machine(system, "sqs:sendMessage.waitForTaskToken", parameters, "waits")
    system.client("stepfunctions").start_execution(stateMachineArn=waits)
    [message] = system.client("sqs").receive_message(QueueUrl=URL.format("q"))["Messages"]
    return str(message["Body"])


def entries(**more: Any) -> list[dict[str, Any]]:
    return [{"Id": name, "MessageBody": name, **more} for name in ("a", "b")]


Parameters = dict[str, Any] | Callable[[VirtualSystem], dict[str, Any]]

KINDS: dict[str, Parameters] = {
    "sqs:sendMessage": {"QueueUrl": URL.format("q"), "MessageBody": {"n": 1}},
    "aws-sdk:sqs:sendMessage": {"QueueUrl": URL.format("q.fifo"), "MessageBody": "m", "MessageGroupId": "g",
                                "MessageDeduplicationId": "d"},
    "aws-sdk:sqs:sendMessageBatch": {"QueueUrl": URL.format("q"), "Entries": entries()},
    "aws-sdk:sqs:changeMessageVisibility": lambda system: {
        "QueueUrl": URL.format("other"), "ReceiptHandle": held_handle(system), "VisibilityTimeout": 0,
    },
    "aws-sdk:sqs:changeMessageVisibilityBatch": lambda system: {
        "QueueUrl": URL.format("other"),
        "Entries": [{"Id": "a", "ReceiptHandle": held_handle(system), "VisibilityTimeout": 0}],
    },
    "aws-sdk:sqs:purgeQueue": {"QueueUrl": URL.format("q")},
    "aws-sdk:sqs:deleteQueue": {"QueueUrl": URL.format("gone")},
    "sns:publish": {"TopicArn": TOPIC, "Message": "hello"},
    "aws-sdk:sns:publishBatch": {
        "TopicArn": TOPIC, "PublishBatchRequestEntries": [{"Id": "a", "Message": "1"}, {"Id": "b", "Message": "2"}],
    },
    "dynamodb:putItem": {"TableName": "table", "Item": {**KEY, "n": {"N": "1"}}, "ReturnValues": "ALL_OLD"},
    "dynamodb:updateItem": {**ADD_ONE, "ReturnValues": "UPDATED_NEW"},
    "dynamodb:deleteItem": {"TableName": "table", "Key": KEY},
    "aws-sdk:dynamodb:updateItem": {**ADD_ONE, "ReturnValues": "ALL_NEW", "ReturnConsumedCapacity": "TOTAL"},
    "aws-sdk:dynamodb:batchWriteItem": {
        "RequestItems": {"table": [{"PutRequest": {"Item": KEY}}]}, "ReturnConsumedCapacity": "TOTAL",
    },
    "aws-sdk:dynamodb:transactWriteItems": {"TransactItems": [{"Update": ADD_ONE}], "ReturnConsumedCapacity": "TOTAL"},
    "events:putEvents": {"Entries": [{"Source": "mine", "DetailType": "d", "Detail": {"n": 1}}]},
    "aws-sdk:eventbridge:putEvents": {"Entries": [{"Source": "mine", "DetailType": "d", "Detail": "{}"}]},
    "aws-sdk:scheduler:createSchedule": SCHEDULE,
    "aws-sdk:scheduler:updateSchedule": {**SCHEDULE, "Name": "there"},
    "aws-sdk:scheduler:deleteSchedule": {"Name": "there"},
    "aws-sdk:scheduler:createScheduleGroup": {"Name": "new"},
    "aws-sdk:s3:putObject": {"Bucket": "bucket", "Key": "new", "Body": {"n": 1}},
    "aws-sdk:s3:copyObject": {"Bucket": "bucket", "Key": "new", "CopySource": "bucket/old"},
    "aws-sdk:s3:deleteObject": {"Bucket": "bucket", "Key": "old"},
    "aws-sdk:s3:deleteObjects": {"Bucket": "bucket", "Delete": {"Objects": [{"Key": "old"}, {"Key": "never"}]}},
    "states:startExecution": lambda system: {"StateMachineArn": short(system), "Input": {"n": 1}},
    "aws-sdk:sfn:startExecution": lambda system: {"StateMachineArn": short(system), "Input": "{}", "Name": "twice"},
    "aws-sdk:sfn:sendTaskSuccess": lambda system: {"TaskToken": waiting_token(system), "Output": "1"},
    "aws-sdk:sfn:sendTaskFailure": lambda system: {"TaskToken": waiting_token(system), "Error": "E"},
    "aws-sdk:s3:createMultipartUpload": {"Bucket": "bucket", "Key": "whole"},
}  # fmt: skip


def outcome(system: VirtualSystem, arn: str) -> tuple[str, Any]:
    shown = system.client("stepfunctions").describe_execution(executionArn=arn)
    return shown["status"], json.loads(shown["output"]) if "output" in shown else shown.get("cause")


@pytest.mark.parametrize("resource", KINDS)
def test_a_call_whose_answer_is_lost_has_it_from_its_row(resource: str) -> None:
    losing = Losing()
    with VirtualSystem(hooks=losing.hooks) as system:
        prepare_all(system)
        given = KINDS[resource]
        losing.lose = 0
        parameters = given if isinstance(given, dict) else given(system)
        losing.lose = 1
        before = len(losing.calls)
        arn = system.client("stepfunctions").start_execution(stateMachineArn=machine(system, resource, parameters))
        (lost,) = losing.lost
        system.restart()
        system.run_until_idle()
        assert outcome(system, arn["executionArn"]) == ("SUCCEEDED", lost.output)  # type: ignore[union-attr]
        assert [call.resource.short_name for call in losing.calls[before:] if call.outbox] == [resource]
        outbox, _ = system.run(system.parts.engine.store.executions.pending(0))
        assert outbox == []


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_what_was_done_is_done_once(is_on_disk: bool, tmp_path: Path) -> None:
    losing = Losing(lose=5)
    resources = ("sqs:sendMessage", "sns:publish", "dynamodb:updateItem", "events:putEvents")
    with VirtualSystem(hooks=losing.hooks, data=tmp_path / "data" if is_on_disk else None) as system:
        prepare_all(system)
        sfn = system.client("stepfunctions")
        for number, resource in enumerate(resources):
            sfn.start_execution(stateMachineArn=machine(system, resource, KINDS[resource], f"m{number}"))
        for _ in range(3):
            system.restart()
            system.run_until_idle()
        assert len(losing.calls) == len(resources)
        sqs = system.client("sqs")
        got = sqs.get_queue_attributes(QueueUrl=URL.format("q"), AttributeNames=["ApproximateNumberOfMessages"])
        assert got["Attributes"] == {"ApproximateNumberOfMessages": "3"}
        assert system.client("dynamodb").get_item(TableName="table", Key=KEY)["Item"]["n"] == {"N": "1"}


def test_a_request_that_is_answered_by_token_is_sent_once() -> None:
    losing = Losing()
    parameters = {"QueueUrl": URL.format("q"), "MessageBody": {"token.$": "$$.Task.Token"}}
    with VirtualSystem(hooks=losing.hooks) as system:
        prepare_all(system)
        sfn, sqs = system.client("stepfunctions"), system.client("sqs")
        made = machine(system, "sqs:sendMessage.waitForTaskToken", parameters)
        arn = sfn.start_execution(stateMachineArn=made)["executionArn"]
        system.restart()
        types = [one["type"] for one in sfn.get_execution_history(executionArn=arn)["events"]]
        assert types[-1] == "TaskSubmitted"
        [message] = sqs.receive_message(QueueUrl=URL.format("q"), MaxNumberOfMessages=10)["Messages"]
        sfn.send_task_success(taskToken=json.loads(message["Body"])["token"], output='{"done": 1}')
        assert outcome(system, arn) == ("SUCCEEDED", {"done": 1})
        assert len(losing.calls) == 1


def test_an_answer_that_fails_the_task_is_its_answer() -> None:
    losing = Losing()
    parameters = {"Entries": [{"Source": "mine", "DetailType": "d", "Detail": "{}"}, {"Source": "mine"}]}
    with VirtualSystem(hooks=losing.hooks) as system:
        prepare_all(system)
        made = machine(system, "events:putEvents", parameters)
        arn = system.client("stepfunctions").start_execution(stateMachineArn=made)["executionArn"]
        system.restart()
        shown = system.client("stepfunctions").describe_execution(executionArn=arn)
        assert (shown["status"], shown["error"]) == ("FAILED", "EventBridge.FailedEntry")
        assert len(losing.calls) == 1


def test_a_call_that_was_refused_is_made_again() -> None:
    losing = Losing()
    with VirtualSystem(hooks=losing.hooks) as system:
        made = machine(system, "sqs:sendMessage", {"QueueUrl": URL.format("late"), "MessageBody": "m"})
        arn = system.client("stepfunctions").start_execution(stateMachineArn=made)["executionArn"]
        system.client("sqs").create_queue(QueueName="late")
        system.restart()
        system.run_until_idle()
        assert outcome(system, arn)[0] == "SUCCEEDED"
        assert len(losing.calls) == 2


def test_calls_of_express_executions_have_no_row() -> None:
    losing = Losing(lose=0)
    with VirtualSystem(hooks=losing.hooks) as system:
        prepare_all(system)
        made = machine(system, "sqs:sendMessage", KINDS["sqs:sendMessage"], type="EXPRESS")
        system.client("stepfunctions").start_execution(stateMachineArn=made)
        system.run_until_idle()
        assert [call.outbox for call in losing.calls] == [0]


def test_rules_are_loaded_before_tasks_continue() -> None:
    """An event that a task puts while the system starts would otherwise reach no rule."""
    known: list[list[str]] = []

    def prepare(system: System) -> None:
        start = system.engine.start

        async def noted() -> None:
            known.append([rule.name for rule in system.app.services.buses.rules.of("default")])
            await start()

        system.engine.start = noted  # type: ignore[method-assign]

    with VirtualSystem(prepare=prepare) as system:
        prepare_all(system)
        system.restart()
    assert known == [[], ["r"]]
