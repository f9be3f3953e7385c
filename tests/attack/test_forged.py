"""Tokens and handles that the server did not make: one changed bit, or one of another kind."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.e2e.conftest import ROLE, Server, session_of


@pytest.fixture
def clients(lenient: Server) -> Any:
    session = session_of("a", "b")
    settings = Config(inject_host_prefix=False, retries={"total_max_attempts": 1}, parameter_validation=False)
    return lambda service: session.client(service, endpoint_url=lenient.url, config=settings)


NO_TASK = ("InvalidToken", "TaskDoesNotExist", "ValidationException")
NO_HANDLE = ("", "ReceiptHandleIsInvalid", "InvalidParameterValue")
"""The service does not say whether a well-formed handle is one of a message."""


def outcome(call: Any, **members: Any) -> str:
    """The code of the error of a call; empty if it succeeds."""
    try:
        call(**members)
    except ClientError as refusal:
        return str(refusal.response["Error"]["Code"])
    return ""


def flipped(text: str) -> list[str]:
    """Texts that differ from a printable one in one bit each."""
    found = []
    for place in range(0, len(text), max(1, len(text) // 60)):
        for bit in (1, 4, 32):
            other = chr(ord(text[place]) ^ bit)
            if other.isprintable() and other != "/":
                found.append(text[:place] + other + text[place + 1 :])
    return found


def code_of(call: Any, **members: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(**members)
    return str(caught.value.response["Error"]["Code"])


def test_a_task_token_with_a_changed_bit_completes_nothing(clients):
    sfn = clients("stepfunctions")
    activity = sfn.create_activity(name=f"a-{uuid4()}")["activityArn"]
    definition = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": activity, "End": True}}}
    machine = sfn.create_state_machine(name=f"m-{uuid4()}", definition=json.dumps(definition), roleArn=ROLE)
    execution = sfn.start_execution(stateMachineArn=machine["stateMachineArn"])["executionArn"]
    token = sfn.get_activity_task(activityArn=activity)["taskToken"]
    for forged in (*flipped(token), token[:-1], token + "A", token[::-1], token.swapcase(), ""):
        for call, more in ((sfn.send_task_success, {"output": '"forged"'}), (sfn.send_task_heartbeat, {})):
            assert code_of(call, taskToken=forged, **more) in NO_TASK
    assert sfn.describe_execution(executionArn=execution)["status"] == "RUNNING"
    sfn.send_task_success(taskToken=token, output='"mine"')
    assert code_of(sfn.send_task_success, taskToken=token, output="2") in ("TaskTimedOut", "InvalidToken")


def test_a_receipt_handle_with_a_changed_bit_deletes_nothing(clients):
    sqs = clients("sqs")
    queue = sqs.create_queue(QueueName=f"q-{uuid4()}")["QueueUrl"]
    other = sqs.create_queue(QueueName=f"q-{uuid4()}")["QueueUrl"]
    sqs.send_message(QueueUrl=queue, MessageBody="m")
    handle = sqs.receive_message(QueueUrl=queue, VisibilityTimeout=600)["Messages"][0]["ReceiptHandle"]
    for forged in (*flipped(handle), handle[:-1], handle[::-1]):
        assert outcome(sqs.delete_message, QueueUrl=queue, ReceiptHandle=forged) in NO_HANDLE
    assert outcome(sqs.delete_message, QueueUrl=other, ReceiptHandle=handle) in NO_HANDLE
    names = ["ApproximateNumberOfMessagesNotVisible"]
    shown = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"]
    assert shown == {"ApproximateNumberOfMessagesNotVisible": "1"}, "a forged handle deleted the message"
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=handle)


def test_a_page_token_of_another_list_is_refused(clients):
    sfn = clients("stepfunctions")
    for _ in range(2):
        sfn.create_activity(name=f"a-{uuid4()}")
    token = sfn.list_activities(maxResults=1)["nextToken"]
    for forged in flipped(token)[:40]:
        assert code_of(sfn.list_activities, nextToken=forged) == "InvalidToken"
    assert code_of(sfn.list_state_machines, nextToken=token) == "InvalidToken"


@pytest.mark.parametrize("key", ["../../etc/passwd", "/etc/passwd", "a/../../b", "..", ".", "\0", "a\nb", "%2e%2e/x"])
def test_keys_of_objects_are_no_paths(clients, key):
    s3 = clients("s3")
    bucket = f"b-{uuid4()}"
    s3.create_bucket(Bucket=bucket)
    if outcome(s3.put_object, Bucket=bucket, Key=key, Body=b"content"):
        assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0
    else:
        assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == b"content"
        assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 1
