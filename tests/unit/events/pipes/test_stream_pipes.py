"""Pipes from streams of tables to state machines, through the API in virtual time."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from statewright.errors import ApiError, Unavailable
from statewright.stores.memory.store import MemoryCatalogue
from statewright.virtual.system import VirtualSystem
from tests.unit.events.pipes.test_pipes import FIRE, MACHINE, WAIT, create, inputs, left, machine, pipes
from tests.unit.tables.rig import new_table

QUEUE = "arn:aws:sqs:us-east-1:000000000000:orders"


@pytest.fixture
def system() -> Iterator[VirtualSystem]:
    with VirtualSystem() as made:
        made.call("sqs", "CreateQueue", {"QueueName": "orders"})
        machine(made, "flow")
        yield made


@pytest.fixture
def stream(system: VirtualSystem) -> str:
    request = new_table("pets", "NEW_IMAGE")
    arn: str = system.call("dynamodb", "CreateTable", request)["TableDescription"]["LatestStreamArn"]
    return arn


def put(system: VirtualSystem, *names: str) -> None:
    for name in names:
        system.call("dynamodb", "PutItem", {"TableName": "pets", "Item": {"id": {"S": name}}})


def of_stream(starting: str = "TRIM_HORIZON", **more: Any) -> dict[str, Any]:
    return {"DynamoDBStreamParameters": {"StartingPosition": starting, **more}}


def names(batch: Any) -> str:
    return "".join(one["dynamodb"]["Keys"]["id"]["S"] for one in batch)


def test_records_start_executions_in_order_and_after_a_restart(system: VirtualSystem, stream: str) -> None:
    put(system, "a", "b", "c")
    create(system, Source=stream, SourceParameters=of_stream(BatchSize=2))
    system.advance("5s")
    found = inputs(system)
    assert sorted(map(names, found)) == ["ab", "c"]
    assert {one["eventSourceARN"] for batch in found for one in batch} == {stream}
    system.restart()
    put(system, "d")
    system.advance("5s")
    assert sorted(map(names, inputs(system))) == ["ab", "c", "d"]
    pipes(system, "StopPipe", Name="p")
    put(system, "e")
    system.advance("5s")
    assert len(inputs(system)) == 3
    pipes(system, "StartPipe", Name="p")
    system.advance("5s")
    assert sorted(map(names, inputs(system))) == ["ab", "c", "d", "e"]
    pipes(system, "DeletePipe", Name="p")


def test_filters_and_templates_see_the_record(system: VirtualSystem, stream: str) -> None:
    pattern = json.dumps({"dynamodb": {"NewImage": {"id": {"S": [{"prefix": "x"}]}}}})
    template = '{"id": <$.dynamodb.NewImage.id.S>, "kind": "<$.eventName>"}'
    source = {"FilterCriteria": {"Filters": [{"Pattern": pattern}]}, **of_stream("LATEST")}
    put(system, "x0")
    create(system, Source=stream, SourceParameters=source, TargetParameters={**FIRE, "InputTemplate": template})
    put(system, "a", "x1")
    system.advance("5s")
    assert inputs(system) == [[{"id": "x1", "kind": "INSERT"}]]


def test_a_batch_whose_execution_fails_is_retried_and_then_a_dead_letter(system: VirtualSystem, stream: str) -> None:
    arn = machine(system, "express", "EXPRESS", {"Type": "Fail", "Error": "No"})
    source = of_stream(MaximumRetryAttempts=2, DeadLetterConfig={"Arn": QUEUE})
    create(system, Source=stream, Target=arn, TargetParameters=WAIT, SourceParameters=source)
    put(system, "a")
    system.advance("1m")
    assert left(system) == 1
    received = system.call("sqs", "ReceiveMessage", {"QueueUrl": "http://x/000000000000/orders"})
    letter = json.loads(received["Messages"][0]["Body"])
    assert letter["context"] == {
        "partnerResourceArn": "arn:aws:pipes:us-east-1:000000000000:pipe/p",
        "condition": "RetryAttemptsExhausted",
    }
    assert letter["DDBStreamBatchInfo"]["streamArn"] == stream
    pipes(system, "UpdatePipe", Name="p", RoleArn="arn:aws:iam::000000000000:role/r", Target=MACHINE,
          TargetParameters=FIRE, SourceParameters={"DynamoDBStreamParameters": {"BatchSize": 1}})  # fmt: skip
    put(system, "c")
    system.advance("5s")
    assert [names(batch) for batch in inputs(system)] == ["c"]
    shown = pipes(system, "DescribePipe", Name="p")["SourceParameters"]["DynamoDBStreamParameters"]
    assert (shown["StartingPosition"], shown["BatchSize"], shown["MaximumRetryAttempts"]) == ("TRIM_HORIZON", 1, 2)


def test_a_system_is_idle_once_its_pipes_have_read_their_streams(system: VirtualSystem, stream: str) -> None:
    create(system, Source=stream, SourceParameters=of_stream(MaximumBatchingWindowInSeconds=60))
    put(system, "a")
    system.run_until_idle()
    assert [names(batch) for batch in inputs(system)] == ["a"]


def test_a_pipe_is_deleted_with_its_position(
    system: VirtualSystem, stream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(system, Source=stream, SourceParameters=of_stream())
    put(system, "a")
    system.advance("5s")
    write, deletes = MemoryCatalogue.write, 0

    async def dying(self: MemoryCatalogue, put: Any, delete: Any = (), completion: Any = None) -> Any:
        nonlocal deletes
        deletes += bool(delete)
        if deletes > 1:
            raise Unavailable("killed after the first delete")
        return await write(self, put, delete, completion)

    with monkeypatch.context() as during:
        during.setattr(MemoryCatalogue, "write", dying)
        with contextlib.suppress(Unavailable):
            pipes(system, "DeletePipe", Name="p")
        system.restart()
    create(system, Source=stream, SourceParameters=of_stream("LATEST"))
    put(system, "b")
    system.advance("5s")
    assert [names(batch) for batch in inputs(system)] == ["a", "b"]


def test_a_starting_position_is_needed(system: VirtualSystem, stream: str) -> None:
    with pytest.raises(ApiError, match="must have a StartingPosition"):
        create(system, Source=stream)
