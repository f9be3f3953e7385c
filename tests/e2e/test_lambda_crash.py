"""Functions and a killed server: events are run again, and no worker outlives the server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.deadlines import until
from tests.e2e.conftest import Server, ended, machine
from tests.e2e.test_lambda import made
from tests.unit.functions.test_misbehaving_handlers import gone

BLOCKING = """
import os, subprocess, sys, time

def handler(event, context):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(os.path.join(event["folder"], "runs"), "a") as runs:
        runs.write(f"{context.aws_request_id} {os.getpid()} {os.getppid()} {child.pid}\\n")
    while not os.path.exists(os.path.join(event["folder"], "gate")):
        time.sleep(0.01)
    child.kill()
    return "through"
"""


def lines(path: Path) -> list[list[str]]:
    text = path.read_text() if path.exists() else ""
    return [line.split() for line in text.splitlines() if line]


@pytest.mark.slow
def test_a_killed_server_takes_its_workers_along_and_runs_its_events_again(tmp_path):
    server = Server(tmp_path / "data")
    aws = server.client("lambda")
    name = made(aws, BLOCKING, Timeout=60)
    payload = json.dumps({"folder": str(tmp_path)})
    sent = [
        aws.invoke(FunctionName=name, InvocationType="Event", Payload=payload)["ResponseMetadata"]["RequestId"]
        for _ in range(3)
    ]
    runs = tmp_path / "runs"
    until(lambda: len(lines(runs)) == 3, "the runs of three events")
    pids = {int(pid) for line in lines(runs) for pid in line[1:]}
    server.kill()
    until(lambda: all(gone(pid) for pid in pids), f"the end of {pids}")
    (tmp_path / "gate").touch()
    again = Server(tmp_path / "data")
    try:
        until(lambda: len(lines(runs)) == 6, "the second runs")
        assert sorted(line[0] for line in lines(runs)) == sorted(2 * sent)
        assert json.load(again.client("lambda").invoke(FunctionName=name, Payload=payload)["Payload"]) == "through"
    finally:
        assert again.stop() == 0, again.log.read_text()


TELLING = """
import os

def handler(event, context):
    return os.environ["AWS_LAMBDA_INITIALIZATION_TYPE"]
"""


@pytest.mark.slow
def test_provisioned_workers_are_started_again_with_the_server(tmp_path):
    server = Server(tmp_path / "data")
    aws = server.client("lambda")
    of_version = {"FunctionName": made(aws, TELLING, Publish=True), "Qualifier": "1"}
    put = aws.put_provisioned_concurrency_config(**of_version, ProvisionedConcurrentExecutions=2)
    assert (put["ResponseMetadata"]["HTTPStatusCode"], put["Status"]) == (202, "IN_PROGRESS")

    def found_ready(aws: Any) -> None:
        until(lambda: aws.get_provisioned_concurrency_config(**of_version)["Status"] == "READY", "the workers")
        assert json.load(aws.invoke(**of_version)["Payload"]) == "provisioned-concurrency"

    found_ready(aws)
    server.kill()
    server = Server(tmp_path / "data")
    aws = server.client("lambda")
    found_ready(aws)
    (listed,) = aws.list_provisioned_concurrency_configs(FunctionName=of_version["FunctionName"])[
        "ProvisionedConcurrencyConfigs"
    ]
    assert listed["FunctionArn"].endswith(f"{of_version['FunctionName']}:1")
    assert (listed["AllocatedProvisionedConcurrentExecutions"], listed["Status"]) == (2, "READY")
    deleted = aws.delete_provisioned_concurrency_config(**of_version)
    assert deleted["ResponseMetadata"]["HTTPStatusCode"] == 204
    assert server.stop() == 0, server.log.read_text()


def test_a_failed_event_reaches_its_queue(tmp_path, server):
    aws: Any = server.client("lambda")
    sqs: Any = server.client("sqs")
    url = sqs.create_queue(QueueName=f"reports-{tmp_path.name[-20:]}")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    name = made(aws, "def handler(e, c):\n    raise KeyError('no')", DeadLetterConfig={"TargetArn": arn})
    aws.put_function_event_invoke_config(
        FunctionName=name, MaximumRetryAttempts=0, DestinationConfig={"OnFailure": {"Destination": arn}}
    )
    aws.invoke(FunctionName=name, InvocationType="Event", Payload='{"n": 1}')
    found: list[Any] = []

    def two() -> bool:
        answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"])
        found.extend(answer.get("Messages", []))
        return len(found) >= 2

    until(two, "a dead letter and a record")
    letter = next(one for one in found if "MessageAttributes" in one)
    record = json.loads(next(one for one in found if one is not letter)["Body"])
    assert json.loads(letter["Body"]) == {"n": 1}
    assert letter["MessageAttributes"]["ErrorCode"] == {"StringValue": "200", "DataType": "Number"}
    assert letter["MessageAttributes"]["ErrorMessage"]["StringValue"] == "'no'"
    assert record["requestContext"]["condition"] == "RetriesExhausted"
    assert record["responsePayload"]["errorType"] == "KeyError"


def test_code_comes_from_a_bucket(tmp_path, server):
    from tests.e2e.test_lambda import zipped

    s3 = server.client("s3")
    bucket = f"code-{tmp_path.name[-20:]}".replace("_", "-").lower()
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="f.zip", Body=zipped("def handler(e, c):\n    return 'from s3'"))
    aws = server.client("lambda")
    name = made(aws, Code={"S3Bucket": bucket, "S3Key": "f.zip"})
    assert json.load(aws.invoke(FunctionName=name)["Payload"]) == "from s3"


def test_a_state_machine_calls_functions(server, sfn):
    aws = server.client("lambda")
    name = made(aws)
    execution = sfn.start_execution(
        stateMachineArn=machine(
            sfn,
            {
                "Type": "Task",
                "Resource": "arn:aws:states:::lambda:invoke",
                "Parameters": {"FunctionName": name, "Payload.$": "$"},
                "ResultSelector": {"event.$": "$.Payload.event"},
            },
            {"Type": "Task", "Resource": f"arn:aws:lambda:us-east-1:000000000000:function:{name}"},
        ),
        input='{"n": 1}',
    )["executionArn"]
    shown = ended(sfn, execution)
    assert shown["status"] == "SUCCEEDED", shown.get("cause")
    assert json.loads(shown["output"])["event"] == {"event": {"n": 1}}
    failing = machine(sfn, {"Type": "Task", "Resource": f"arn:aws:lambda:us-east-1:000000000000:function:{name}"})
    failed = ended(sfn, sfn.start_execution(stateMachineArn=failing, input='{"fail": "no"}')["executionArn"])
    assert (failed["status"], failed["error"]) == ("FAILED", "ValueError")
    assert json.loads(failed["cause"])["errorMessage"] == "no"
