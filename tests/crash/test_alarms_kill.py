"""`kill -9` while an alarm changes its state: the new state and its action are there, or neither is."""

from __future__ import annotations

import contextlib
import json
from functools import partial
from pathlib import Path

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from statewright.stores.fail_points import AFTER_COMMIT, BEFORE_COMMIT, VARIABLE
from tests.deadlines import until
from tests.e2e.conftest import Server

TOPIC = "arn:aws:sns:us-east-1:000000000000:ops"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:alerts"
COMMITS = 4
"""Commits after each of which a server is killed: that of the state, and those of its deliveries."""


def prepare(server: Server) -> None:
    """An alarm with a topic whose messages go to a queue."""
    server.client("sns").create_topic(Name="ops")
    server.client("sqs").create_queue(QueueName="alerts")
    server.client("sns").subscribe(TopicArn=TOPIC, Protocol="sqs", Endpoint=QUEUE)
    server.client("cloudwatch").put_metric_alarm(
        AlarmName="a", Namespace="Own", MetricName="m", Statistic="Sum", Period=3600, EvaluationPeriods=1, Threshold=1,
        ComparisonOperator="GreaterThanThreshold", AlarmActions=[TOPIC], OKActions=[TOPIC], TreatMissingData="ignore",
    )  # fmt: skip


def states(server: Server) -> list[str]:
    """The states of the messages in the queue, which are deleted."""
    sqs = server.client("sqs")
    url = sqs.get_queue_url(QueueName="alerts")["QueueUrl"]
    found = []
    for one in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", []):
        found.append(json.loads(json.loads(one["Body"])["Message"])["NewStateValue"])
        sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("point", [BEFORE_COMMIT, AFTER_COMMIT])
def test_a_state_and_its_action_are_one(point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    server = Server(data)
    prepare(server)
    assert server.stop() == 0, server.log.read_text()
    state, died = "INSUFFICIENT_DATA", 0
    for number in range(1, COMMITS + 1):
        wanted = "ALARM" if state != "ALARM" else "OK"
        monkeypatch.setenv(VARIABLE, f"{point}:{number}")
        acknowledged = False
        with contextlib.suppress(AssertionError):
            # A server that is killed while it starts has no state to change.
            server = Server(data)
            with contextlib.suppress(BotoCoreError, ClientError):
                server.client("cloudwatch").set_alarm_state(AlarmName="a", StateValue=wanted, StateReason="a test")
                acknowledged = True
        monkeypatch.delenv(VARIABLE)
        with contextlib.suppress(Exception):
            server.process.wait(timeout=2)
        died += server.process.poll() is not None
        server.kill()
        server = Server(data)
        (shown,) = server.client("cloudwatch").describe_alarms()["MetricAlarms"]
        assert shown["StateValue"] in ((wanted,) if acknowledged else (wanted, state))
        changed = shown["StateValue"] != state
        state = shown["StateValue"]
        history = server.client("cloudwatch").describe_alarm_history(HistoryItemType="StateUpdate", MaxRecords=1)
        if changed:
            assert f"to {state}" in history["AlarmHistoryItems"][0]["HistorySummary"]
            assert until(partial(states, server), "the message of the alarm")[-1] == state
        else:
            assert states(server) == []
        assert server.stop() == 0, server.log.read_text()
    assert died
