"""Files over a queue from end to end, with the functions themselves; and how far a Map gets in place of the queue."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from statewright.config import Config
from statewright.functions.workers.models import Model
from statewright.limits import OPEN
from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import (
    EXAMPLES,
    QUEUE,
    counts,
    entered,
    example_function,
    machine,
    queue,
    start,
    summed,
    told,
)

FILES, BROKEN = 120, 4
RESULTS = {"done": FILES - BROKEN, "error": BROKEN, "open": 0}


def statuses(system: VirtualSystem) -> list[Any]:
    """All items of the table."""
    pages = system.client("dynamodb").get_paginator("scan").paginate(TableName="file-status")
    return [item for page in pages for item in page["Items"]]


def put_files(system: VirtualSystem) -> None:
    """Small files; some have a value that is no number."""
    system.client("s3").create_bucket(Bucket="incoming")
    for number in range(FILES):
        value = "broken" if number % (FILES // BROKEN) == 7 else str(number)
        request = {"Bucket": "incoming", "Key": f"day/{number:04}.csv", "Body": f"id,value\na,{value}\nb,1\n".encode()}
        system.call("s3", "PutObject", request)


@pytest.fixture
def pipeline():
    with VirtualSystem() as system:
        put_files(system)
        dead = queue(system, "dead", VisibilityTimeout="90")
        redrive = json.dumps({"deadLetterTargetArn": QUEUE + "dead", "maxReceiveCount": 2})
        files = queue(system, "files", VisibilityTimeout="90", RedrivePolicy=redrive)
        key = [{"AttributeName": "run_id", "KeyType": "HASH"}, {"AttributeName": "file", "KeyType": "RANGE"}]
        system.client("dynamodb").create_table(
            TableName="file-status", BillingMode="PAY_PER_REQUEST", KeySchema=key,
            AttributeDefinitions=[{"AttributeName": one["AttributeName"], "AttributeType": "S"} for one in key],
        )  # fmt: skip
        for name in ("enqueue-files", "treat-file", "mark-failed", "count-final-files", "summarise"):
            example_function(system, "file-pipeline", name, QUEUE_URL=files)
        mappings = system.client("lambda")
        mappings.create_event_source_mapping(
            EventSourceArn=QUEUE + "files", FunctionName="treat-file", BatchSize=10,
            FunctionResponseTypes=["ReportBatchItemFailures"], ScalingConfig={"MaximumConcurrency": 4},
        )  # fmt: skip
        mappings.create_event_source_mapping(EventSourceArn=QUEUE + "dead", FunctionName="mark-failed", BatchSize=10)
        assert counts(system, dead) == (0, 0, 0)
        yield system


def test_the_last_state_comes_as_soon_as_every_file_is_final(pipeline):
    text = (EXAMPLES / "file-pipeline" / "file-pipeline.asl.json").read_text()
    execution = start(pipeline, machine(pipeline, text, "files"), "run", {"prefix": "s3://incoming/day/"})
    pipeline.run_until_idle()
    shown = pipeline.call("states", "DescribeExecution", {"executionArn": execution})
    assert (shown["status"], json.loads(shown["output"])) == ("SUCCEEDED", {"run_id": "run", **RESULTS})
    # What is broken comes back once, after its visibility timeout, and is dead with the next receive after another.
    seconds = (shown["stopDate"] - shown["startDate"]) / 1000
    assert 180 <= seconds <= 240
    states = entered(told(pipeline, execution))
    turns = states.count("Wait For Workers")
    assert states == [
        "Enqueue Files", "Any Files?", *["Count Final Files", "All Final?", "Wait For Workers"] * turns,
        "Count Final Files", "All Final?", "Summarise",
    ]  # fmt: skip
    items = statuses(pipeline)
    assert Counter(item["status"]["S"] for item in items) == {"done": FILES - BROKEN, "error": BROKEN}
    assert all(item["run_id"]["S"] == "run" for item in items)
    for item in items:
        number = int(item["file"]["S"][-8:-4])
        if item["status"]["S"] == "done":
            assert item["total"]["N"] == str(number + 1)
    # As many errors as messages that came to the dead.
    assert summed(pipeline, "AWS/SQS", "NumberOfMessagesReceived", QueueName="dead") == BROKEN
    assert summed(pipeline, "AWS/SQS", "NumberOfMessagesSent", QueueName="files") == FILES
    assert summed(pipeline, "AWS/Lambda", "Errors", FunctionName="treat-file") == 0


@pytest.mark.slow
def test_a_pipeline_that_is_killed_on_the_way_forgets_no_file(pipeline):
    text = (EXAMPLES / "file-pipeline" / "file-pipeline.asl.json").read_text()
    execution = start(pipeline, machine(pipeline, text, "files"), "run", {"prefix": "s3://incoming/day/"})
    for _ in range(3):
        pipeline.advance(45)
        pipeline.restart()
    pipeline.run_until_idle()
    shown = pipeline.call("states", "DescribeExecution", {"executionArn": execution})
    assert (shown["status"], json.loads(shown["output"])) == ("SUCCEEDED", {"run_id": "run", **RESULTS})
    assert Counter(item["status"]["S"] for item in statuses(pipeline)) == {"done": FILES - BROKEN, "error": BROKEN}


# ---------------------------------------------------------------------- a Map in place of the queue

ITEMS = 5000


def mapped(system: VirtualSystem, mode: str) -> tuple[Any, str]:
    """A Map of five thousand calls of a function that takes three seconds; the execution at its end."""
    system.model("treat", Model(duration=3, answer={"ok": True}))
    task = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "OutputPath": "$.Payload.ok", "End": True,
            "Parameters": {"FunctionName": "treat", "Payload": {"file.$": "$"}}}  # fmt: skip
    kind = {"ExecutionType": "EXPRESS"} if mode == "DISTRIBUTED" else {}
    processor = {"StartAt": "Treat", "States": {"Treat": task}, "ProcessorConfig": {"Mode": mode, **kind}}
    each = {"Type": "Map", "ItemsPath": "$.files", "MaxConcurrency": 40, "ItemProcessor": processor, "End": True,
            "ResultSelector": {"count.$": "States.ArrayLength($)"}}  # fmt: skip
    execution = start(
        system, machine(system, {"StartAt": "Each", "States": {"Each": each}}), "one", {"files": list(range(ITEMS))}
    )
    system.run_until_idle()
    return system.call("states", "DescribeExecution", {"executionArn": execution}), execution


@pytest.mark.slow
def test_an_inline_map_is_at_its_end_with_25000_events():
    with VirtualSystem() as system:
        shown, execution = mapped(system, "INLINE")
        assert (shown["status"], shown["error"]) == ("FAILED", "States.Runtime")
        assert shown["cause"] == "The execution reached the maximum number of history events (25000)."
        asked = {"executionArn": execution, "reverseOrder": True, "maxResults": 1}
        [last] = system.call("states", "GetExecutionHistory", asked)["events"]
        assert (last["id"], last["type"]) == (25_000, "ExecutionFailed")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "limits"), [("DISTRIBUTED", None), ("INLINE", OPEN)], ids=["distributed", "without the limit"]
)
def test_another_map_goes_through(mode, limits):
    config = replace(Config(), limits=limits) if limits is not None else None
    with VirtualSystem(config=config) as system:
        shown, _ = mapped(system, mode)
        assert (shown["status"], json.loads(shown["output"])) == ("SUCCEEDED", {"count": ITEMS})
        # Forty at a time, three seconds each.
        assert 375 <= (shown["stopDate"] - shown["startDate"]) / 1000 <= 380
