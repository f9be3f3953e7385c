"""Pipes from queues to state machines, through the API in virtual time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from statewright.errors import ApiError
from statewright.events.pipes.running import RunningPipe
from statewright.virtual.system import VirtualSystem

ROLE = "arn:aws:iam::000000000000:role/pipe"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:orders"
MACHINE = "arn:aws:states:us-east-1:000000000000:stateMachine:flow"
FIRE: dict[str, Any] = {"StepFunctionStateMachineParameters": {"InvocationType": "FIRE_AND_FORGET"}}
WAIT: dict[str, Any] = {"StepFunctionStateMachineParameters": {"InvocationType": "REQUEST_RESPONSE"}}


@pytest.fixture
def system() -> Iterator[VirtualSystem]:
    with VirtualSystem() as made:
        made.call("sqs", "CreateQueue", {"QueueName": "orders", "Attributes": {"VisibilityTimeout": "60"}})
        machine(made, "flow")
        yield made


def machine(system: VirtualSystem, name: str, kind: str = "STANDARD", state: Any = None) -> str:
    definition = json.dumps({"StartAt": "A", "States": {"A": state or {"Type": "Pass", "End": True}}})
    request = {"name": name, "definition": definition, "roleArn": ROLE, "type": kind}
    arn: str = system.call("states", "CreateStateMachine", request)["stateMachineArn"]
    return arn


def pipes(system: VirtualSystem, operation: str, **request: Any) -> Any:
    return system.call("pipes", operation, request)


def create(system: VirtualSystem, **more: Any) -> Any:
    request = {"Name": "p", "Source": QUEUE, "Target": MACHINE, "RoleArn": ROLE, "TargetParameters": FIRE, **more}
    return pipes(system, "CreatePipe", **request)


def send(system: VirtualSystem, *bodies: Any) -> None:
    for body in bodies:
        system.call("sqs", "SendMessage", {"QueueUrl": "http://x/000000000000/orders", "MessageBody": json.dumps(body)})


def inputs(system: VirtualSystem, arn: str = MACHINE) -> list[Any]:
    """The inputs of a machine's executions, oldest first."""
    listed = system.call("states", "ListExecutions", {"stateMachineArn": arn})["executions"]
    found = [system.call("states", "DescribeExecution", {"executionArn": one["executionArn"]}) for one in listed]
    return [json.loads(one["input"]) for one in reversed(found)]


def left(system: VirtualSystem) -> int:
    """How many messages the queue has, visible or in flight."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    request = {"QueueUrl": "http://x/000000000000/orders", "AttributeNames": names}
    return sum(int(one) for one in system.call("sqs", "GetQueueAttributes", request)["Attributes"].values())


def test_messages_start_executions(system: VirtualSystem) -> None:
    made = create(system, SourceParameters={"SqsQueueParameters": {"BatchSize": 1}})
    assert (made["Arn"], made["CurrentState"]) == ("arn:aws:pipes:us-east-1:000000000000:pipe/p", "RUNNING")
    send(system, {"id": 1}, {"id": 2})
    system.advance("5s")
    found = inputs(system)
    assert sorted(json.loads(one[0]["body"])["id"] for one in found) == [1, 2]
    assert {one[0]["eventSourceARN"] for one in found} == {QUEUE}
    assert left(system) == 0


def test_a_bug_pauses_a_pipe_and_does_not_end_it(
    system: VirtualSystem, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    received = RunningPipe._received
    faults = [RuntimeError("a bug")]

    async def failing_once(pipe: RunningPipe, queue: Any) -> Any:
        if faults:
            raise faults.pop()
        return await received(pipe, queue)

    monkeypatch.setattr(RunningPipe, "_received", failing_once)
    create(system, SourceParameters={"SqsQueueParameters": {"BatchSize": 1}})
    send(system, {"id": 1})
    system.advance("59s")
    assert (len(inputs(system)), left(system)) == (0, 1)
    assert "the pipe p pauses because of a bug in Statewright" in caplog.text
    system.advance("5s")
    assert (len(inputs(system)), left(system)) == (1, 0)


def test_batches_filters_and_templates(system: VirtualSystem) -> None:
    source = {
        "FilterCriteria": {"Filters": [{"Pattern": '{"body": {"kind": ["order"]}}'}]},
        "SqsQueueParameters": {"BatchSize": 3, "MaximumBatchingWindowInSeconds": 20},
    }
    create(system, SourceParameters=source, TargetParameters={**FIRE, "InputTemplate": '{"id": <$.body.id>}'})
    send(system, *({"kind": kind, "id": id_} for id_, kind in enumerate(("order", "other", "order", "order", "order"))))
    system.advance("10s")
    assert inputs(system) == [[{"id": 0}, {"id": 2}, {"id": 3}]]
    system.advance("30s")
    assert inputs(system)[1:] == [[{"id": 4}]], "the window of the second batch has ended"
    assert left(system) == 0


def test_a_message_is_once_in_a_batch_however_long_the_window(system: VirtualSystem) -> None:
    source = {"SqsQueueParameters": {"BatchSize": 100, "MaximumBatchingWindowInSeconds": 120}}
    create(system, SourceParameters=source)
    send(system, 1)
    system.advance("20s")
    send(system, 2)
    system.advance("49s")
    assert (len(inputs(system)), left(system)) == (1, 0), "the window closes while the first message is still hidden"
    system.advance("10m")
    assert [[json.loads(one["body"]) for one in batch] for batch in inputs(system)] == [[1, 2]]


def test_a_pipe_is_stopped_changed_and_deleted(system: VirtualSystem) -> None:
    create(system, Tags={"a": "1"}, Description="d")
    pipes(system, "StopPipe", Name="p")
    send(system, 1)
    system.advance("1m")
    assert (inputs(system), left(system)) == ([], 1)
    pipes(system, "UpdatePipe", Name="p", RoleArn=ROLE, TargetParameters={**FIRE, "InputTemplate": '"x"'})
    assert pipes(system, "DescribePipe", Name="p")["CurrentState"] == "STOPPED"
    pipes(system, "StartPipe", Name="p")
    system.advance("1m")
    assert inputs(system) == [["x"]]
    shown = pipes(system, "DescribePipe", Name="p")
    assert (shown["Source"], shown["Tags"], shown["Description"]) == (QUEUE, {"a": "1"}, "d")
    pipes(system, "TagResource", resourceArn=shown["Arn"], tags={"b": "2"})
    pipes(system, "UntagResource", resourceArn=shown["Arn"], tagKeys=["a"])
    assert pipes(system, "ListTagsForResource", resourceArn=shown["Arn"])["tags"] == {"b": "2"}
    assert [one["Name"] for one in pipes(system, "ListPipes", SourcePrefix=QUEUE)["Pipes"]] == ["p"]
    pipes(system, "DeletePipe", Name="p")
    with pytest.raises(ApiError, match="Pipe p does not exist"):
        pipes(system, "DescribePipe", Name="p")


def test_an_execution_that_fails_leaves_its_messages(system: VirtualSystem) -> None:
    arn = machine(system, "express", "EXPRESS", {"Type": "Fail", "Error": "No"})
    create(system, Target=arn, TargetParameters=WAIT)
    send(system, 1)
    system.advance("30s")
    assert left(system) == 1
    pipes(system, "UpdatePipe", Name="p", RoleArn=ROLE, Target=machine(system, "good", "EXPRESS"))
    system.advance("2m")
    assert left(system) == 0


def test_a_pipe_continues_after_a_restart(system: VirtualSystem) -> None:
    create(system)
    system.restart()
    send(system, 1)
    system.advance("5s")
    assert len(inputs(system)) == 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"Source": "arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/1"}, "cannot be read"),
        ({"Source": "arn:aws:dynamodb:us-east-1:000000000000:table/t"}, "ends with /stream/"),
        ({"Source": "arn:aws:kinesis:us-east-1:000000000000:stream/s"}, "Kinesis streams are not supported"),
        ({"Source": "arn:aws:sqs:us-east-1:000000000000:none"}, "cannot be read"),
        (
            {"Source": "arn:aws:sqs:eu-west-1:000000000000:orders"},
            "a pipe connects resources of its own region and account",
        ),
        ({"Target": "arn:aws:sqs:us-east-1:000000000000:orders"}, "to Step Functions state machines only"),
        ({"Target": MACHINE + "2"}, "cannot be invoked"),
        ({"Enrichment": "arn:aws:lambda:us-east-1:000000000000:function:f"}, "call it in the first state"),
        ({"TargetParameters": WAIT}, "REQUEST_RESPONSE is not supported for STANDARD"),
        ({"SourceParameters": {"SqsQueueParameters": {"BatchSize": 11}}}, "must be at least 1 if BatchSize"),
        ({"SourceParameters": {"FilterCriteria": {"Filters": [{"Pattern": "{"}]}}}, "Filter pattern is not valid"),
    ],
)
def test_what_a_pipe_cannot_do_is_refused(system: VirtualSystem, more: dict[str, Any], words: str) -> None:
    with pytest.raises(ApiError, match=words):
        create(system, **more)
    create(system)
    with pytest.raises(ApiError, match="Pipe p already exists"):
        create(system)
