"""Outages of the PostgreSQL database behind a running server: executions wait for it, and fail because of nothing."""

from __future__ import annotations

import json
import signal

import psycopg
import pytest

from tests.deadlines import until
from tests.e2e.conftest import Server, ended, machine
from tests.postgres_server import server_or_skip

POLL = {
    "Type": "Task",
    "Resource": "arn:aws:states:::statewright:poll",
    "Parameters": {
        "Resource": "arn:aws:states:::dynamodb:getItem",
        "Parameters": {"TableName": "doors", "Key": {"name": {"S": "front"}}},
        "Until": "$states.result.Item.is.S = 'open'",
        "IntervalSeconds": 0.1,
    },
    "ResultPath": "$.door",
}
SEND = {
    "Type": "Task",
    "Resource": "arn:aws:states:::sqs:sendMessage",
    "Parameters": {"QueueUrl.$": "$.queue", "MessageBody.$": "$.name"},
}


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGINT, signal.SIGKILL])
def test_an_outage_of_the_database_fails_no_execution(tmp_path, how):
    database = server_or_skip()
    server = Server(tmp_path / "data", "--store", database.new_database())
    sfn, ddb, sqs = (server.client(name) for name in ("stepfunctions", "dynamodb", "sqs"))
    ddb.create_table(
        TableName="doors",
        AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    queue = sqs.create_queue(QueueName="passed")["QueueUrl"]
    arn = machine(sfn, POLL, SEND)
    names = {f"n{number}" for number in range(20)}
    given = {name: json.dumps({"queue": queue, "name": name}) for name in names}
    started = [sfn.start_execution(stateMachineArn=arn, input=text)["executionArn"] for text in given.values()]

    def logged(text: str, times: int) -> None:
        until(lambda: server.log.read_text().count(text) >= times, f"{text!r} in the log")

    try:
        for outage in (1, 2):
            database.stop(how)
            logged("work waits for it", outage)
            database.start()
            logged("no work waits for the store any more", outage)
            assert {sfn.describe_execution(executionArn=one)["status"] for one in started} == {"RUNNING"}
    finally:
        if not database.is_running:
            database.start()

    # The first write after the outage finds a broken connection.
    ddb.put_item(TableName="doors", Item={"name": {"S": "front"}, "is": {"S": "open"}})
    for one in started:
        shown = ended(sfn, one)
        assert shown["status"] == "SUCCEEDED", shown
    received: set[str] = set()
    while batch := sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages"):
        received |= {message["Body"] for message in batch}
    assert received == names
    assert server.stop() == 0


@pytest.mark.slow
def test_writes_after_the_end_of_all_connections_are_answered(tmp_path):
    address = server_or_skip().new_database()
    server = Server(tmp_path / "data", "--store", address)
    sfn, sqs, s3 = (server.client(name) for name in ("stepfunctions", "sqs", "s3"))
    queue = sqs.create_queue(QueueName="q")["QueueUrl"]
    s3.create_bucket(Bucket="bucket")
    arn = machine(sfn, {"Type": "Pass"})
    for number in range(10):
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        # The clients repeat nothing.
        if number % 2:
            sqs.send_message(QueueUrl=queue, MessageBody="m")
            s3.put_object(Bucket="bucket", Key=str(number), Body=b"x")
        started = sfn.start_execution(stateMachineArn=arn)["executionArn"]
        sqs.send_message(QueueUrl=queue, MessageBody="m")
        assert ended(sfn, started)["status"] == "SUCCEEDED"
    assert server.stop() == 0


@pytest.mark.slow
def test_a_server_without_its_database_ends_at_the_deadline_of_its_stop(tmp_path, monkeypatch):
    monkeypatch.setenv("STATEWRIGHT_STOP_SECONDS", "2")
    database = server_or_skip()
    address = database.new_database()
    server = Server(tmp_path / "data", "--store", address)
    sfn = server.client()
    waits = machine(sfn, {"Type": "Wait", "Seconds": 1}, {"Type": "Pass"})
    started = [sfn.start_execution(stateMachineArn=waits)["executionArn"] for _ in range(5)]
    try:
        database.stop(signal.SIGQUIT)
        until(lambda: "does not answer" in server.log.read_text(), "the outage in the log")
        assert server.stop() == 1
    finally:
        database.start()
    assert server.log.read_text().count("the stop took more than 2 s and was given up: the store ") == 1
    monkeypatch.delenv("STATEWRIGHT_STOP_SECONDS")
    again = Server(tmp_path / "data", "--store", address)
    assert {ended(again.client(), one)["status"] for one in started} == {"SUCCEEDED"}
    assert again.stop() == 0
