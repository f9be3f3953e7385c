"""Queues from the command line: our own commands, and the AWS CLI."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.deadlines import completed, until
from tests.e2e.conftest import Command, Server

SERVE = [sys.executable, "-m", "statewright.cli.main"]


@pytest.fixture(scope="module")
def sqs(server: Server) -> Any:
    return server.client("sqs")


def made(sqs: Any, **attributes: str) -> str:
    name = f"cli-{uuid4()}" + (".fifo" if "FifoQueue" in attributes else "")
    sqs.create_queue(QueueName=name, Attributes=attributes)
    return name


def arn_of(sqs: Any, name: str) -> str:
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    arn: str = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return arn


def test_list(statewright: Command, sqs: Any) -> None:
    dead = made(sqs)
    policy = json.dumps({"deadLetterTargetArn": arn_of(sqs, dead), "maxReceiveCount": 4})
    name = made(sqs, RedrivePolicy=policy)
    statewright("queue", "send", name, "b")
    statewright("queue", "send", name, "later", "--delay", "60")
    shown = statewright("queue", "list", "--prefix", name)
    assert shown.code == 0
    assert shown.out.split("\n")[1].split() == [name, "1", "0", "1", dead, "after", "4"]
    found = statewright("queue", "list", "--prefix", name, "-o", "json").json["queues"]
    assert [(one["name"], one["attributes"]["ApproximateNumberOfMessages"]) for one in found] == [(name, "1")]


def test_send_peek_and_receive(statewright: Command, sqs: Any, tmp_path: Any) -> None:
    name = made(sqs)
    (tmp_path / "body.json").write_text('{"order": 7}')
    sent = statewright("queue", "send", name, "@body.json", "--attribute", "kind=order", "-o", "json").json
    statewright("queue", "send", name, "second")
    for _ in range(2):
        looked = statewright("queue", "peek", name, "-o", "json").json["messages"]
        assert [(one["Body"], one["Attributes"]["ApproximateReceiveCount"]) for one in looked] == [
            ('{"order": 7}', "0"),
            ("second", "0"),
        ]
    assert looked[0]["MessageId"] == sent["MessageId"]
    assert looked[0]["MessageAttributes"] == {"kind": {"DataType": "String", "StringValue": "order"}}
    assert "ReceiptHandle" not in looked[0]
    assert len(statewright("queue", "peek", name, "--limit", "1", "-o", "jsonl").out.splitlines()) == 1
    received = statewright("queue", "receive", name, "--limit", "10", "--visibility", "60", "-o", "json")
    assert [one["Body"] for one in received.json["messages"]] == ['{"order": 7}', "second"]
    looked = statewright("queue", "peek", name, "-o", "json").json["messages"]
    assert [one["Attributes"]["ApproximateReceiveCount"] for one in looked] == ["1", "1"]
    assert "0 messages" in statewright("queue", "receive", name).err


def test_receive_and_delete(statewright: Command, sqs: Any) -> None:
    name = made(sqs, FifoQueue="true")
    statewright("queue", "send", name, "b", "--group", "g", "--dedup", "d")
    shown = statewright("queue", "receive", name, "--delete", "--wait", "1")
    assert shown.out.split("\n")[1].split()[-2:] == ["g", "b"]
    assert statewright("queue", "peek", name, "-o", "json").json == {"messages": []}


def test_redrive(statewright: Command, sqs: Any) -> None:
    dead = made(sqs)
    policy = json.dumps({"deadLetterTargetArn": arn_of(sqs, dead), "maxReceiveCount": 1})
    made(sqs, RedrivePolicy=policy)
    other = made(sqs)
    statewright("queue", "send", dead, "b")
    assert statewright("queue", "redrive", dead, "--to", other, "--rate", "500").code == 0
    until(lambda: "COMPLETED" in statewright("queue", "redrive", dead, "--status").out, "the move")
    assert [one["Body"] for one in statewright("queue", "peek", other, "-o", "json").json["messages"]] == ["b"]


def test_purge(statewright: Command, sqs: Any) -> None:
    name = made(sqs)
    statewright("queue", "send", name, "b")
    assert statewright("queue", "purge", name).out == f"purged {name}\n"
    assert statewright("queue", "peek", name, "-o", "json").json == {"messages": []}
    again = statewright("queue", "purge", name)
    assert (again.code, "PurgeQueueInProgress" in again.err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("peek", "none"), 3, "The specified queue does not exist"),
        (("send", "none", "b"), 3, "The specified queue does not exist"),
        (("send", "none", "@missing"), 3, "missing"),
        (("send", "none", "b", "--attribute", "x"), 2, "write NAME=TEXT"),
        (("receive", "none", "--limit", "11"), 2, "--limit"),
        (("purge", "a b"), 2, "Can only include alphanumeric characters"),
        (("redrive", "none"), 3, "The specified queue does not exist"),
    ],
)
def test_what_goes_wrong(statewright: Command, arguments: tuple[str, ...], code: int, words: str) -> None:
    result = statewright("queue", *arguments)
    assert (result.code, result.out) == (code, "")
    assert words in " ".join(result.err.split())


@pytest.mark.slow
def test_the_aws_cli(server: Server) -> None:
    environment = {
        "PATH": str(Path(sys.executable).parent), "STATEWRIGHT_ENDPOINT": server.url, "HOME": "/nonexistent"
    }  # fmt: skip

    def aws(*arguments: str) -> Any:
        done = completed(
            [*SERVE, "aws", "sqs", *arguments, "--output", "json"], env=environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    name = f"aws-{uuid4()}"
    url = aws("create-queue", "--queue-name", name, "--attributes", "VisibilityTimeout=5")["QueueUrl"]
    attributes = '{"n": {"DataType": "Number", "StringValue": "1"}}'
    sent = aws("send-message", "--queue-url", url, "--message-body", "b", "--message-attributes", attributes)
    found = aws("receive-message", "--queue-url", url, "--message-attribute-names", "All")["Messages"]
    assert [(one["MessageId"], one["Body"]) for one in found] == [(sent["MessageId"], "b")]
    assert found[0]["MessageAttributes"]["n"]["StringValue"] == "1"
    aws("delete-message", "--queue-url", url, "--receipt-handle", found[0]["ReceiptHandle"])
    aws("delete-queue", "--queue-url", url)
