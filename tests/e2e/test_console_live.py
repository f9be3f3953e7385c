"""The stream of the console over HTTP, while executions run, and when the server stops."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.deadlines import PATIENCE_SECONDS
from tests.e2e.conftest import ROLE, Server, ended
from tests.e2e.test_console import read

ANSWERED = {
    "StartAt": "Ask",
    "States": {
        "Ask": {
            "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "Next": "Done",
            "Parameters": {"QueueUrl.$": "$.queue", "MessageBody.$": "$$.Task.Token"},
        },
        "Done": {"Type": "Succeed"},
    },
}  # fmt: skip


@contextmanager
def stream(server: Any, watch: str) -> Iterator[Iterator[Any]]:
    """The lines of a stream, from the first on."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    try:
        own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
        connection.request("GET", f"/console/api/live?{urlencode({'watch': watch})}", headers=own)
        answer = connection.getresponse()
        assert (answer.status, answer.headers["content-type"]) == (200, "application/x-ndjson")
        yield (json.loads(line) for line in answer)
    finally:
        connection.close()


@pytest.fixture(scope="module")
def machine(server):
    sfn = server.client("stepfunctions")
    made = sfn.create_state_machine(name="console-live", definition=json.dumps(ANSWERED), roleArn=ROLE)
    return made["stateMachineArn"]


@pytest.fixture(scope="module")
def queue(server):
    return server.client("sqs").create_queue(QueueName="console-live")["QueueUrl"]


def begun(server: Any, machine: str, queue: str, name: str) -> str:
    started = server.client("stepfunctions").start_execution(
        stateMachineArn=machine, name=name, input=json.dumps({"queue": queue})
    )
    arn: str = started["executionArn"]
    return arn


def answer(server: Any, queue: str) -> None:
    """Answer the one task that waits."""
    sqs = server.client("sqs")
    (message,) = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20)["Messages"]
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    server.client("stepfunctions").send_task_success(taskToken=message["Body"], output="{}")


def test_a_run_goes_on_from_the_event_that_the_page_has(server, machine, queue):
    arn = begun(server, machine, queue, "followed")
    known = len(read(server, "run", arn=arn)["events"]["type"])
    answer(server, queue)
    ended(server.client("stepfunctions"), arn)
    # It has ended before the stream begins.
    with stream(server, f"run:{arn}@{known}") as lines:
        assert set(next(lines)["hello"]) == {"server", "nowMs"}
        line = next(lines)
    history = server.client("stepfunctions").get_execution_history(executionArn=arn, maxResults=1000)["events"]
    assert (line["subject"], line["from"], line["to"]) == (f"run:{arn}", known, len(history))
    types = [line["eventTypes"][number] for number in line["events"]["type"]]
    assert types == [event["type"] for event in history][known:]
    assert line["head"]["status"] == "SUCCEEDED"


def test_a_run_and_the_list_change_while_they_are_watched(server, machine, queue):
    arn = begun(server, machine, queue, "watched")
    with stream(server, f"run:{arn}@0,list") as lines:
        next(lines)
        assert next(lines)["from"] == 0
        answer(server, queue)
        rows, status = {}, ""
        while status != "SUCCEEDED" or rows.get(arn) != "SUCCEEDED":
            line = next(lines)
            if line["subject"] == "list":
                rows.update((row["arn"], row["status"]) for row in line["rows"])
            else:
                status = line["head"]["status"]


def test_other_pages_and_wrong_names_are_refused(server):
    assert read(server, "live", watch="moon")["httpStatus"] == 400
    assert read(server, "live")["message"] == "The address lacks watch."
    missing = "arn:aws:states:us-east-1:000000000000:execution:m:missing"
    with stream(server, f"run:{missing}@0") as lines:
        next(lines)
        assert "Does Not Exist" in next(lines)["gone"]


def test_a_server_that_is_watched_stops_at_once(tmp_path):
    own = Server(tmp_path / "data", "--store", "memory")
    with stream(own, "list,project") as lines:
        next(lines)
        assert own.stop() == 0
        # The stream ends as such, and is not broken off.
        assert [line for line in lines if "subject" not in line] == []
    assert "given up" not in own.log.read_text()
