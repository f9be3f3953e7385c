"""The AWS CLI, version 1, with what `statewright env` prints: files, items, functions, workflows, queues, logs."""

from __future__ import annotations

import json
import urllib.request
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import Program
from tests.deadlines import completed, until
from tests.e2e.conftest import ROLE, Server
from tests.thoroughness import slow

pytestmark = slow
MACHINE = {
    "StartAt": "Double",
    "States": {
        "Double": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName": "cli", "Payload.$": "$"},
            "OutputPath": "$.Payload",
            "End": True,
        }
    },
}


@pytest.fixture
def aws(client_folder: Path, environment: Mapping[str, str], tmp_path: Path) -> Program:
    """Runs `aws`, and returns its output: as JSON if it is that."""

    def run(*arguments: str) -> Any:
        done = completed([client_folder / "python", client_folder / "aws", *arguments], env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout) if done.stdout.startswith(("{", "[")) else done.stdout.strip()

    return run


def test_files(aws: Program, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "sub/c.txt"):
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).write_text(name)
    (tmp_path / "long.bin").write_bytes(bytes(20 << 20))
    aws("s3", "mb", "s3://cli")
    aws("s3", "sync", "site", "s3://cli/site", "--quiet")
    aws("s3", "cp", "long.bin", "s3://cli/long.bin", "--quiet")
    assert len(aws("s3", "ls", "s3://cli", "--recursive").splitlines()) == 4
    assert aws("s3", "sync", "s3://cli/site", "copy", "--quiet") == ""
    assert (tmp_path / "copy" / "sub" / "c.txt").read_text() == "sub/c.txt"
    assert aws("s3", "cp", "s3://cli/site/a.txt", "-") == "a.txt"
    with urllib.request.urlopen(aws("s3", "presign", "s3://cli/site/b.txt")) as answer:
        assert answer.read() == b"b.txt"
    aws("s3", "mv", "s3://cli/site/a.txt", "s3://cli/moved.txt", "--quiet")
    assert aws("s3api", "head-object", "--bucket", "cli", "--key", "long.bin")["ContentLength"] == 20 << 20
    aws("s3", "rb", "s3://cli", "--force")


def test_items(aws: Program) -> None:
    aws("dynamodb", "create-table", "--table-name", "cli", "--billing-mode", "PAY_PER_REQUEST",
        "--key-schema", "AttributeName=id,KeyType=HASH",
        "--attribute-definitions", "AttributeName=id,AttributeType=S")  # fmt: skip
    aws("dynamodb", "wait", "table-exists", "--table-name", "cli")
    aws("dynamodb", "put-item", "--table-name", "cli", "--item", '{"id": {"S": "a"}, "n": {"N": "7"}}')
    query = ("--query", "Items[].n.N", "--output", "text")
    assert aws("dynamodb", "scan", "--table-name", "cli", *query) == "7"


def test_workflows_of_functions(aws: Program, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as code:
        code.writestr("app.py", "def handler(event, context):\n    print('doubling')\n    return event['n'] * 2\n")
    aws("lambda", "create-function", "--function-name", "cli", "--runtime", "python3.12", "--role", ROLE,
        "--handler", "app.handler", "--zip-file", "fileb://code.zip")  # fmt: skip
    aws("lambda", "wait", "function-active-v2", "--function-name", "cli")
    payload = ("--payload", '{"n": 21}')
    assert aws("lambda", "invoke", "--function-name", "cli", *payload, "out.json")["StatusCode"] == 200
    assert (tmp_path / "out.json").read_text() == "42"
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    made = ("--role-arn", ROLE, "--definition", "file://machine.json", "--query", "stateMachineArn", "--output", "text")
    machine = aws("stepfunctions", "create-state-machine", "--name", "cli", *made)
    started = aws("stepfunctions", "start-execution", "--state-machine-arn", machine, "--input", '{"n": 4}')
    execution = ("--execution-arn", started["executionArn"])

    def ended() -> Any:
        shown = aws("stepfunctions", "describe-execution", *execution)
        return shown if shown["status"] != "RUNNING" else None

    assert until(ended)["output"] == "8"
    express = aws("stepfunctions", "create-state-machine", "--name", "cli-express", "--type", "EXPRESS", *made)
    ran = aws("stepfunctions", "start-sync-execution", "--state-machine-arn", express, "--input", '{"n": 5}')
    assert (ran["status"], ran["output"]) == ("SUCCEEDED", "10")
    until(lambda: "doubling" in aws("logs", "filter-log-events", "--log-group-name", "/aws/lambda/cli",
                                    "--query", "events[].message", "--output", "text"), "the log")  # fmt: skip


def test_queues_need_the_endpoint_once_more(aws: Program, server: Server) -> None:
    """Version 1 has an address of its own for SQS, which wins over the environment."""
    here = ("--endpoint-url", server.url)
    queue = aws("sqs", "create-queue", "--queue-name", "cli", *here)["QueueUrl"]
    aws("sqs", "send-message", "--queue-url", queue, "--message-body", "hello", *here)
    assert aws("sqs", "receive-message", "--queue-url", queue, *here)["Messages"][0]["Body"] == "hello"
