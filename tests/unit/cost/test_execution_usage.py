from __future__ import annotations

from typing import Any

from statewright.cost.execution_usage import execution_usage
from statewright.cost.hints import hints, wait_loops
from statewright.interpreter.history import HistoryEvent
from statewright.payload import Payload


def task(first: int, at_ms: int, took_ms: int, service: str, action: str, parameters: dict[str, Any]) -> list[Any]:
    details = {"resourceType": service, "resource": action, "parameters": Payload(parameters).text}
    return [
        HistoryEvent(first, first - 1, at_ms, "TaskScheduled", details),
        HistoryEvent(first + 1, first, at_ms, "TaskStarted", {}),
        HistoryEvent(first + 2, first + 1, at_ms + took_ms, "TaskSucceeded", {}),
    ]


def test_calls_are_counted_by_what_they_carry():
    history = [
        *task(2, 0, 1_500, "lambda", "invoke", {"FunctionName": "price"}),
        *task(5, 0, 10, "sqs", "sendMessage", {"QueueUrl": "http://x/q", "MessageBody": "m" * 70_000}),
        *task(8, 0, 10, "sqs", "sendMessage", {"QueueUrl": "http://x/q.fifo", "MessageBody": "m"}),
        *task(11, 0, 10, "dynamodb", "putItem", {"Item": {"k": {"S": "v" * 1_500}}}),
        *task(14, 0, 10, "aws-sdk:dynamodb", "getItem", {"ConsistentRead": True}),
        *task(17, 0, 10, "aws-sdk:s3", "getObject", {}),
        *task(20, 0, 10, "aws-sdk:s3", "listObjectsV2", {}),
        *task(23, 0, 10, "events", "putEvents", {"Entries": [{}, {}]}),
        *task(26, 0, 10, "sns", "publish", {"Message": "m"}),
        *task(29, 0, 10, "states", "startExecution", {}),
    ]
    usage = execution_usage(history, 12, duration_ms=99, memory_of={"price": 1024}.get)
    assert usage.quantities == {
        "states.transitions": 12, "lambda.requests": 1, "lambda.gb_seconds": 1.5, "sqs.requests": 2,
        "sqs.fifo_requests": 1, "dynamodb.write_units": 2, "dynamodb.read_units": 1, "s3.get_requests": 1,
        "s3.put_requests": 1, "events.events": 2, "sns.publishes": 1,
    }  # fmt: skip
    assert any("nested executions" in text for text in usage.assumptions)


def test_a_function_of_unknown_memory_is_assumed_small_and_said_so():
    history = [
        HistoryEvent(2, 1, 0, "LambdaFunctionScheduled", {"resource": "arn:aws:lambda:us-east-1:0:function:f"}),
        HistoryEvent(3, 2, 50, "LambdaFunctionStarted", {}),
        HistoryEvent(4, 3, 1_050, "LambdaFunctionFailed", {}),
    ]
    usage = execution_usage(history, 1, duration_ms=1_050)
    assert usage.quantities["lambda.gb_seconds"] == 128 / 1024
    assert any("128 MB" in text for text in usage.assumptions)


def test_express_pays_for_time():
    usage = execution_usage([], 12, duration_ms=250, express=True)
    assert usage.quantities == {"states.express_requests": 1, "states.express_gb_seconds": 0.3 * 64 / 1024}


def test_a_loop_that_looks_every_second_is_told_of_a_calmer_one():
    turn = ["Get Job Status", "Job Complete?", "Wait"]
    path = ["Run Job", *turn * 1_350, "Get Job Status", "Job Complete?", "Done"]
    (loop,) = wait_loops(path, {"Wait": 1.0})
    assert (loop.turns, loop.states, loop.transitions) == (1_350, 3, 4_050)
    assert (loop.first_seconds, loop.calm_transitions) == (900, 25)
    (text,) = hints(path, {"Wait": 1.0})
    assert "one Wait of 15 min first" in text
    assert "162 times less" in text


def test_few_turns_and_calm_ones_get_no_advice():
    assert hints(["A", "W"] * 15, {"W": 1.0}) == []
    assert hints(["A", "W"] * 500, {"W": 300.0}) == []
    assert hints(["A", "W"] * 30, {"W": 0.5}) == []


def test_calls_of_child_executions_are_said_not_to_be_counted():
    usage = execution_usage([HistoryEvent(2, 1, 0, "MapRunStarted", {})], 1, duration_ms=1)
    assert usage.assumptions == ["calls by child executions of distributed Maps are not counted"]
