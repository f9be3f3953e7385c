"""Queues through boto3: what SDKs send and get back."""

from __future__ import annotations

import hashlib
import json
import socket
import struct
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import PATIENCE_SECONDS, until
from tests.e2e.conftest import Server, ended, machine, with_trace_header

ACCOUNT = "000000000000"


@pytest.fixture(scope="module")
def sqs(server: Server) -> Any:
    return server.client("sqs")


@pytest.fixture
def url(sqs: Any) -> Iterator[str]:
    made = sqs.create_queue(QueueName=f"q-{uuid4()}")["QueueUrl"]
    yield made
    sqs.delete_queue(QueueUrl=made)


@pytest.fixture
def fifo(sqs: Any) -> Iterator[str]:
    made = sqs.create_queue(QueueName=f"q-{uuid4()}.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    yield made
    sqs.delete_queue(QueueUrl=made)


def arn_of(sqs: Any, url: str) -> str:
    arn: str = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return arn


def counts(sqs: Any, url: str) -> tuple[int, int, int]:
    """Messages that are visible, in flight, delayed."""
    names = [f"ApproximateNumberOfMessages{what}" for what in ("", "NotVisible", "Delayed")]
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    visible, in_flight, delayed = (int(found[name]) for name in names)
    return visible, in_flight, delayed


def receive(sqs: Any, url: str, most: int = 10, **rest: Any) -> list[Any]:
    found: list[Any] = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=most, **rest).get("Messages", [])
    return found


# ------------------------------------------------------------------ queues


def test_a_queue_has_a_url_by_the_callers_host(server: Server, sqs: Any, url: str) -> None:
    name = url.rpartition("/")[2]
    assert url == f"{server.url}/{ACCOUNT}/{name}"
    assert sqs.get_queue_url(QueueName=name)["QueueUrl"] == url
    assert sqs.create_queue(QueueName=name)["QueueUrl"] == url


@pytest.mark.parametrize(
    "form", ["{url}", "/{account}/{name}", "https://sqs.us-east-1.amazonaws.com/{account}/{name}", "http://h/queue/us-east-1/{account}/{name}"]
)  # fmt: skip
def test_forms_of_a_queues_url(sqs: Any, url: str, form: str) -> None:
    written = form.format(url=url, account=ACCOUNT, name=url.rpartition("/")[2])
    assert counts(sqs, written) == (0, 0, 0)


def test_attributes(sqs: Any, url: str) -> None:
    every = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    moments = [int(every.pop(f"{what}Timestamp")) for what in ("Created", "LastModified")]
    assert all(abs(time.time() - moment) < 60 for moment in moments)
    assert every == {
        "ApproximateNumberOfMessages": "0",
        "ApproximateNumberOfMessagesNotVisible": "0",
        "ApproximateNumberOfMessagesDelayed": "0",
        "QueueArn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:{url.rpartition('/')[2]}",
        "VisibilityTimeout": "30",
        "DelaySeconds": "0",
        "MessageRetentionPeriod": "345600",
        "MaximumMessageSize": "1048576",
        "ReceiveMessageWaitTimeSeconds": "0",
        "SqsManagedSseEnabled": "true",
    }
    assert "Attributes" not in sqs.get_queue_attributes(QueueUrl=url)
    assert "Attributes" not in sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "5", "Policy": '{"Statement": []}'})
    some = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout", "Policy"])["Attributes"]
    assert some == {"VisibilityTimeout": "5", "Policy": '{"Statement": []}'}
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": ""})
    assert "Attributes" not in sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])


def test_listing_page_by_page(server: Server, sqs: Any) -> None:
    prefix = f"page-{uuid4().hex[:8]}"
    made = [sqs.create_queue(QueueName=f"{prefix}-{number}")["QueueUrl"] for number in range(5)]
    assert sqs.list_queues(QueueNamePrefix=prefix)["QueueUrls"] == made
    pages = sqs.get_paginator("list_queues").paginate(
        QueueNamePrefix=prefix, PaginationConfig={"PageSize": 2}
    )  # fmt: skip
    assert [page["QueueUrls"] for page in pages] == [made[:2], made[2:4], made[4:]]
    for url in made:
        sqs.delete_queue(QueueUrl=url)
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix=prefix)


def test_tags(sqs: Any) -> None:
    url = sqs.create_queue(QueueName=f"q-{uuid4()}", tags={"a": "1"})["QueueUrl"]
    sqs.tag_queue(QueueUrl=url, Tags={"b": "2", "c": ""})
    sqs.untag_queue(QueueUrl=url, TagKeys=["a", "none"])
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"b": "2", "c": ""}
    sqs.untag_queue(QueueUrl=url, TagKeys=["b", "c"])
    assert "Tags" not in sqs.list_queue_tags(QueueUrl=url)
    sqs.delete_queue(QueueUrl=url)


def test_permissions_are_statements_of_the_policy(sqs: Any, url: str) -> None:
    arn = arn_of(sqs, url)
    sqs.add_permission(QueueUrl=url, Label="one", AWSAccountIds=["1" * 12], Actions=["SendMessage"])
    sqs.add_permission(
        QueueUrl=url, Label="two", AWSAccountIds=["2" * 12, "3" * 12], Actions=["ReceiveMessage", "DeleteMessage"]
    )

    def policy() -> Any:
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"]).get("Attributes")
        return json.loads(found["Policy"]) if found else None

    one = {
        "Sid": "one",
        "Effect": "Allow",
        "Principal": {"AWS": f"arn:aws:iam::{'1' * 12}:root"},
        "Action": "SQS:SendMessage",
        "Resource": arn,
    }
    two = {
        "Sid": "two",
        "Effect": "Allow",
        "Principal": {"AWS": [f"arn:aws:iam::{'2' * 12}:root", f"arn:aws:iam::{'3' * 12}:root"]},
        "Action": ["SQS:ReceiveMessage", "SQS:DeleteMessage"],
        "Resource": arn,
    }
    assert policy() == {"Version": "2008-10-17", "Id": f"{arn}/SQSDefaultPolicy", "Statement": [one, two]}
    with pytest.raises(sqs.exceptions.ClientError, match="Label is invalid"):
        sqs.add_permission(QueueUrl=url, Label="one", AWSAccountIds=["1" * 12], Actions=["SendMessage"])
    sqs.remove_permission(QueueUrl=url, Label="one")
    assert policy()["Statement"] == [two]
    sqs.remove_permission(QueueUrl=url, Label="two")
    assert policy() is None


# ------------------------------------------------------------------ messages


def md5_of(attributes: dict[str, dict[str, Any]]) -> str:
    """The guide's recipe."""
    parts = b""
    for name, value in sorted(attributes.items()):
        raw = value["BinaryValue"] if "BinaryValue" in value else value["StringValue"].encode()
        for part in (name.encode(), value["DataType"].encode()):
            parts += struct.pack(">I", len(part)) + part
        parts += (b"\2" if "BinaryValue" in value else b"\1") + struct.pack(">I", len(raw)) + raw
    return hashlib.md5(parts).hexdigest()


def test_a_message_with_everything(sqs: Any, url: str) -> None:
    attributes: dict[str, dict[str, Any]] = {
        "kind.of": {"DataType": "String", "StringValue": "ä"},
        "kind.size": {"DataType": "Number.int", "StringValue": "42"},
        "picture": {"DataType": "Binary.png", "BinaryValue": b"\x00\xff"},
    }
    trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-2"}}
    body = 'a "body"\twith ä€😀\r\n'
    sent = sqs.send_message(
        QueueUrl=url, MessageBody=body, MessageAttributes=attributes, MessageSystemAttributes=trace, MessageGroupId="t"
    )
    assert sent["MD5OfMessageBody"] == hashlib.md5(body.encode()).hexdigest()
    assert sent["MD5OfMessageAttributes"] == md5_of(attributes)
    assert sent["MD5OfMessageSystemAttributes"] == md5_of(trace)
    assert "SequenceNumber" not in sent
    [message] = receive(sqs, url, MessageAttributeNames=["All"], MessageSystemAttributeNames=["All"])
    assert (message["MessageId"], message["Body"]) == (sent["MessageId"], body)
    assert message["MD5OfBody"] == sent["MD5OfMessageBody"]
    assert message["MessageAttributes"] == attributes
    assert message["MD5OfMessageAttributes"] == md5_of(attributes)
    system = message["Attributes"]
    assert (system["ApproximateReceiveCount"], system["AWSTraceHeader"], system["MessageGroupId"]) == (
        "1",
        "Root=1-2",
        "t",
    )
    assert system["SenderId"]
    assert 0 <= int(system["ApproximateFirstReceiveTimestamp"]) - int(system["SentTimestamp"]) < 60_000
    assert set(system) == {
        "SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp", "AWSTraceHeader",
        "MessageGroupId",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (["kind.*"], {"kind.of", "kind.size"}),
        (["picture", "none"], {"picture"}),
        ([".*"], {"kind.of", "kind.size", "picture"}),
        ([], set()),
    ],
)
def test_message_attributes_are_chosen(sqs: Any, url: str, wanted: list[str], names: set[str]) -> None:
    given = {name: {"DataType": "String", "StringValue": name} for name in ("kind.of", "kind.size", "picture")}
    sqs.send_message(QueueUrl=url, MessageBody="b", MessageAttributes=given)
    [message] = receive(sqs, url, MessageAttributeNames=wanted, AttributeNames=["SentTimestamp"])
    assert set(message.get("MessageAttributes", {})) == names
    if names:
        assert message["MD5OfMessageAttributes"] == md5_of({name: given[name] for name in names})
    else:
        assert "MD5OfMessageAttributes" not in message
    assert set(message["Attributes"]) == {"SentTimestamp"}


def test_the_life_of_a_message(sqs: Any, url: str) -> None:
    sqs.send_message(QueueUrl=url, MessageBody="b")
    assert counts(sqs, url) == (1, 0, 0)
    [message] = receive(sqs, url)
    assert "Attributes" not in message
    assert counts(sqs, url) == (0, 1, 0)
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
    assert counts(sqs, url) == (1, 0, 0)
    [again] = receive(sqs, url, AttributeNames=["ApproximateReceiveCount"])
    assert again["Attributes"] == {"ApproximateReceiveCount": "2"}
    assert again["ReceiptHandle"] != message["ReceiptHandle"]
    sqs.delete_message(QueueUrl=url, ReceiptHandle=again["ReceiptHandle"])
    sqs.delete_message(QueueUrl=url, ReceiptHandle=again["ReceiptHandle"])
    assert counts(sqs, url) == (0, 0, 0)


def test_a_delayed_message(sqs: Any, url: str) -> None:
    sqs.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=900)
    assert counts(sqs, url) == (0, 0, 1)
    assert receive(sqs, url) == []


def test_a_batch_is_split(sqs: Any) -> None:
    url = sqs.create_queue(QueueName=f"q-{uuid4()}", Attributes={"MaximumMessageSize": "1024"})["QueueUrl"]
    entries = [
        {"Id": "good", "MessageBody": "b"},
        {"Id": "long", "MessageBody": "x" * 1025},
        {"Id": "late", "MessageBody": "b", "DelaySeconds": 901},
        {"Id": "odd", "MessageBody": "\x01"},
        {"Id": "named", "MessageBody": "b", "MessageAttributes": {"n": {"DataType": "String", "StringValue": "v"}}},
    ]
    answer = sqs.send_message_batch(QueueUrl=url, Entries=entries)
    assert [(one["Id"], one["MD5OfMessageBody"]) for one in answer["Successful"]] == [
        (name, hashlib.md5(b"b").hexdigest()) for name in ("good", "named")
    ]
    assert answer["Successful"][1]["MD5OfMessageAttributes"] == md5_of(entries[4]["MessageAttributes"])  # type: ignore[index]
    assert [(one["Id"], one["SenderFault"], one["Code"]) for one in answer["Failed"]] == [
        ("long", True, "InvalidParameterValue"),
        ("late", True, "InvalidParameterValue"),
        ("odd", True, "InvalidMessageContents"),
    ]
    words = "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes."
    assert answer["Failed"][0]["Message"] == words
    handles = [one["ReceiptHandle"] for one in receive(sqs, url)]
    changes = [
        {"Id": "a", "ReceiptHandle": handles[0], "VisibilityTimeout": 60},
        {"Id": "b", "ReceiptHandle": handles[1], "VisibilityTimeout": 43_201},
        {"Id": "c", "ReceiptHandle": "foreign", "VisibilityTimeout": 1},
    ]
    changed = sqs.change_message_visibility_batch(QueueUrl=url, Entries=changes)
    assert [one["Id"] for one in changed["Successful"]] == ["a"]
    assert {one["Id"]: one["Code"] for one in changed["Failed"]} == {
        "b": "InvalidParameterValue",
        "c": "ReceiptHandleIsInvalid",
    }
    deletions = [{"Id": str(number), "ReceiptHandle": handle} for number, handle in enumerate([*handles, "foreign"])]
    deleted = sqs.delete_message_batch(QueueUrl=url, Entries=deletions)
    assert [one["Id"] for one in deleted["Successful"]] == ["0", "1"]
    assert [(one["Id"], one["Code"]) for one in deleted["Failed"]] == [("2", "ReceiptHandleIsInvalid")]
    assert counts(sqs, url) == (0, 0, 0)
    sqs.delete_queue(QueueUrl=url)


def test_batches_of_the_greatest_size(sqs: Any, url: str) -> None:
    sqs.send_message(QueueUrl=url, MessageBody="ä" * 524_288)
    halves = [{"Id": name, "MessageBody": "\u20ac" * 174_762} for name in "ab"]
    assert len(sqs.send_message_batch(QueueUrl=url, Entries=halves)["Successful"]) == 2
    assert counts(sqs, url) == (3, 0, 0)


def test_fifo(sqs: Any, fifo: str) -> None:
    def send(body: str, group: str, dedup: str) -> Any:
        return sqs.send_message(QueueUrl=fifo, MessageBody=body, MessageGroupId=group, MessageDeduplicationId=dedup)

    first = send("1", "a", "d1")
    again = send("other", "a", "d1")
    assert (again["MessageId"], again["SequenceNumber"]) == (first["MessageId"], first["SequenceNumber"])
    second = send("2", "a", "d2")
    assert len(first["SequenceNumber"]) == len(second["SequenceNumber"]) == 20
    assert first["SequenceNumber"] < second["SequenceNumber"]
    send("3", "b", "d3")
    [message] = receive(sqs, fifo, 1, MessageSystemAttributeNames=["All"], ReceiveRequestAttemptId="try")
    assert message["Body"] == "1"
    system = message["Attributes"]
    assert (system["MessageGroupId"], system["MessageDeduplicationId"]) == ("a", "d1")
    assert system["SequenceNumber"] == first["SequenceNumber"]
    replayed = receive(sqs, fifo, 1, ReceiveRequestAttemptId="try")
    assert [one["ReceiptHandle"] for one in replayed] == [message["ReceiptHandle"]]
    # The group is held back while one of its messages is in flight.
    assert [one["Body"] for one in receive(sqs, fifo)] == ["3"]
    assert receive(sqs, fifo) == []
    sqs.delete_message(QueueUrl=fifo, ReceiptHandle=message["ReceiptHandle"])
    assert [one["Body"] for one in receive(sqs, fifo)] == ["2"]


def test_purging(sqs: Any, url: str) -> None:
    for body in "abc":
        sqs.send_message(QueueUrl=url, MessageBody=body)
    receive(sqs, url, 1)
    sqs.purge_queue(QueueUrl=url)
    assert counts(sqs, url) == (0, 0, 0)
    with pytest.raises(sqs.exceptions.PurgeQueueInProgress) as caught:
        sqs.purge_queue(QueueUrl=url)
    name = url.rpartition("/")[2]
    error = caught.value.response["Error"]
    assert error["Message"] == f"Only one PurgeQueue operation on {name} is allowed every 60 seconds."
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


# ------------------------------------------------------------------ long polls


def test_a_long_poll_ends_with_the_first_message(server: Server, sqs: Any, url: str) -> None:
    with ThreadPoolExecutor() as pool:
        polled = pool.submit(receive, server.client("sqs"), url, 10, WaitTimeSeconds=20)
        until(lambda: _polls(server) > 0, "the poll")
        sqs.send_message(QueueUrl=url, MessageBody="here")
        assert [one["Body"] for one in polled.result(PATIENCE_SECONDS)] == ["here"]


def _polls(server: Server) -> int:
    from urllib.request import urlopen

    with urlopen(f"{server.url}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return int(float(next(line for line in lines if line.startswith("statewright_api_polls ")).split()[1]))


def test_a_poll_whose_caller_goes_takes_nothing(server: Server, sqs: Any, url: str) -> None:
    before = _polls(server)
    body = json.dumps({"QueueUrl": url, "WaitTimeSeconds": 20}).encode()
    head = (
        "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.ReceiveMessage\r\n"
        f"Content-Type: application/x-amz-json-1.0\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port)) as poller:
        poller.sendall(head.encode() + body)
        until(lambda: _polls(server) == before + 1, "the poll")
    until(lambda: _polls(server) == before, "the poll's end")
    sqs.send_message(QueueUrl=url, MessageBody="for another")
    [message] = receive(sqs, url, AttributeNames=["ApproximateReceiveCount"])
    assert (message["Body"], message["Attributes"]["ApproximateReceiveCount"]) == ("for another", "1")


# ------------------------------------------------------------------ dead letters


def test_dead_letters_and_back(sqs: Any, url: str) -> None:
    policy = {"deadLetterTargetArn": arn_of(sqs, url), "maxReceiveCount": 1}
    source = sqs.create_queue(QueueName=f"src-{uuid4()}", Attributes={"RedrivePolicy": json.dumps(policy)})["QueueUrl"]
    assert sqs.list_dead_letter_source_queues(QueueUrl=url)["queueUrls"] == [source]
    assert sqs.list_dead_letter_source_queues(QueueUrl=source)["queueUrls"] == []
    sqs.send_message(QueueUrl=source, MessageBody="b")
    receive(sqs, source, VisibilityTimeout=0)
    assert receive(sqs, source) == []
    [dead] = receive(sqs, url, MessageSystemAttributeNames=["All"], VisibilityTimeout=0)
    assert dead["Attributes"]["DeadLetterQueueSourceArn"] == arn_of(sqs, source)
    task = sqs.start_message_move_task(SourceArn=arn_of(sqs, url))["TaskHandle"]
    assert task

    def done() -> Any:
        [shown] = sqs.list_message_move_tasks(SourceArn=arn_of(sqs, url))["Results"]
        return shown if shown["Status"] != "RUNNING" else None

    shown = until(done, "the move")
    assert (shown["Status"], shown["ApproximateNumberOfMessagesMoved"]) == ("COMPLETED", 1)
    assert "TaskHandle" not in shown
    [back] = receive(sqs, source)
    assert back["Body"] == "b"
    assert back["MessageId"] != dead["MessageId"]
    with pytest.raises(sqs.exceptions.ResourceNotFoundException, match="Task does not exist"):
        sqs.cancel_message_move_task(TaskHandle=task)
    sqs.delete_queue(QueueUrl=source)


def test_a_workflow_sends_and_waits(server: Server, sqs: Any, url: str) -> None:
    sfn = server.client()
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
        "Parameters": {"QueueUrl": url, "MessageBody": {"token.$": "$$.Task.Token", "order.$": "$.order"}},
    }
    arn = machine(sfn, task)
    execution = sfn.start_execution(stateMachineArn=arn, input='{"order": 7}')["executionArn"]
    [message] = receive(sqs, url, WaitTimeSeconds=20)
    body = json.loads(message["Body"])
    assert body["order"] == 7
    sfn.send_task_success(taskToken=body["token"], output='"done"')
    assert ended(sfn, execution)["output"] == '"done"'


def test_a_batch_with_one_entry_over_the_limit_of_batches_is_refused_whole(sqs):
    url = sqs.create_queue(QueueName="whole")["QueueUrl"]
    entries = [{"Id": "a", "MessageBody": "x" * (1 << 20)}, {"Id": "b", "MessageBody": "yy"}]
    with pytest.raises(ClientError, match=r"cannot be longer than 1048576 bytes. You have sent 1048578 bytes."):
        sqs.send_message_batch(QueueUrl=url, Entries=entries)
    assert sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"][
        "ApproximateNumberOfMessages"
    ] == "0"  # fmt: skip


def test_a_bare_name_is_an_address(sqs):
    sqs.create_queue(QueueName="bare-name")
    sqs.send_message(QueueUrl="bare-name", MessageBody="m")
    assert sqs.receive_message(QueueUrl="bare-name")["Messages"][0]["Body"] == "m"


def test_a_queues_own_address_creates_and_lists_none(sqs):
    url = sqs.create_queue(QueueName="own-address")["QueueUrl"]
    for action in ("CreateQueue&QueueName=other", "ListQueues"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{url}?Action={action}")
        assert f"The action {action.partition('&')[0]} is not valid for this endpoint.".encode() in refused.value.read()


def test_a_queues_own_address_without_an_action_is_no_operation(sqs):
    url = sqs.create_queue(QueueName="no-action")["QueueUrl"]
    scope = "AWS4-HMAC-SHA256 Credential=test/20260102/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0"
    request = urllib.request.Request(url, headers={"Accept": "application/json", "Authorization": scope})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert (refused.value.code, refused.value.read()) == (404, b"<UnknownOperationException/>")
    assert b"<ReceiveMessageResult/>" in urllib.request.urlopen(f"{url}?Action=ReceiveMessage").read()


def test_the_trace_header_of_a_request_stays_with_its_messages(server, sqs):
    url = sqs.create_queue(QueueName="traced")["QueueUrl"]
    traced = "Root=1-5f2a-77;Sampled=0;own=1"
    with with_trace_header(server, "sqs", traced) as client:
        client.send_message(QueueUrl=url, MessageBody="alone")
        own = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-own"}}
        entries = [
            {"Id": "a", "MessageBody": "in a batch"},
            {"Id": "b", "MessageBody": "own", "MessageSystemAttributes": own},
        ]
        client.send_message_batch(QueueUrl=url, Entries=entries)
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["AWSTraceHeader"])
    assert {one["Body"]: one["Attributes"]["AWSTraceHeader"] for one in found["Messages"]} == {
        "alone": traced,
        "in a batch": traced,
        "own": "Root=1-own",
    }
