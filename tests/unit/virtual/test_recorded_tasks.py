"""Results and refusals of tasks that call Statewright's own services, as recorded from the service."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import machine, queue, start

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:"


@pytest.fixture(scope="module")
def system() -> Iterator[VirtualSystem]:
    with VirtualSystem() as system:
        yield system


def run(system: VirtualSystem, resource: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """How an execution of one Task ends."""
    task = {"Type": "Task", "Resource": resource, "Parameters": parameters, "End": True}
    name = system.now_ms
    execution = start(system, machine(system, {"StartAt": "Call", "States": {"Call": task}}, f"m{name}"), "only")
    system.advance(1)
    shown: dict[str, Any] = system.client("stepfunctions").describe_execution(executionArn=execution)
    return shown


@pytest.mark.parametrize(
    ("resource", "parameters", "named"),
    [
        ("arn:aws:states:::lambda:invoke", {"FunctionName": "none"}, "none:$LATEST"),
        ("arn:aws:states:::lambda:invoke", {"FunctionName": "none", "Qualifier": "7"}, "none:7"),
        (f"{FUNCTION}none", {}, "none:$LATEST"),
    ],
)
def test_a_function_that_does_not_exist_is_named_with_its_qualifier(system, resource, parameters, named):
    failed = run(system, resource, parameters)
    assert failed["error"] == "Lambda.ResourceNotFoundException"
    assert failed["cause"].startswith(f"Function not found: {FUNCTION}{named} (Service: AWSLambda; Status Code: 404; ")


def test_a_message_to_a_bare_name_finds_no_host(system):
    queue(system, "here")
    failed = run(system, "arn:aws:states:::sqs:sendMessage", {"QueueUrl": "here", "MessageBody": "x"})
    assert failed["error"] == "SQS.SdkClientException"
    assert failed["cause"] == "Unable to execute HTTP request: here: Name or service not known"


@pytest.mark.parametrize(
    ("name", "body", "error", "code"),
    [
        ("there", "", "SQS.AmazonSQSException", "MissingParameter"),
        ("gone", "x", "SQS.QueueDoesNotExistException", "AWS.SimpleQueueService.NonExistentQueue"),
    ],
)
def test_refusals_of_queues_have_the_codes_that_sdks_read(system, name, body, error, code):
    url = queue(system, "there").replace("there", name)
    failed = run(system, "arn:aws:states:::sqs:sendMessage", {"QueueUrl": url, "MessageBody": body})
    assert failed["error"] == error
    assert f"(Service: AmazonSQS; Status Code: 400; Error Code: {code}; " in failed["cause"]


def test_a_failure_by_token_without_error_and_cause_is_caught_with_nulls(system):
    url = queue(system, "tokens")
    task = {
        "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "End": True,
        "Parameters": {"QueueUrl": url, "MessageBody.$": "$$.Task.Token"},
        "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}],
    }  # fmt: skip
    states = {"Call": task, "Caught": {"Type": "Pass", "End": True}}
    execution = start(system, machine(system, {"StartAt": "Call", "States": states}), "token")
    (message,) = system.client("sqs").receive_message(QueueUrl=url)["Messages"]
    system.client("stepfunctions").send_task_failure(taskToken=message["Body"])
    system.advance(1)
    shown = system.client("stepfunctions").describe_execution(executionArn=execution)
    assert json.loads(shown["output"]) == {"Error": None, "Cause": None}


def test_results_of_events_say_nothing_about_the_call(system):
    entry = {"Source": "tests", "DetailType": "t", "Detail": {}}
    done = run(system, "arn:aws:states:::events:putEvents", {"Entries": [entry]})
    assert json.loads(done["output"]).keys() == {"Entries", "FailedEntryCount"}


@pytest.mark.parametrize("body", ["text data", {"a": 1}, 5, True, [None]])
def test_the_body_of_an_object_is_json_text(system, body):
    s3 = system.client("s3")
    s3.create_bucket(Bucket="bodies")
    done = run(system, "arn:aws:states:::aws-sdk:s3:putObject", {"Bucket": "bodies", "Key": "k", "Body": body})
    stored = s3.get_object(Bucket="bodies", Key="k")["Body"].read()
    assert stored == json.dumps(body, separators=(",", ":")).encode()
    checksum = base64.b64encode(zlib.crc32(stored).to_bytes(4)).decode()
    assert json.loads(done["output"])["ChecksumCRC32"] == checksum
    assert body != "text data" or checksum == "KUmHvQ=="
