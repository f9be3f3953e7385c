"""Alarms on a real server: an execution fails, and a topic's queue gets the alarm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from statewright.cli.commands import run_command
from tests.deadlines import until
from tests.e2e.conftest import Server, ended, machine


def kinds(cloudwatch: Any) -> list[str]:
    """The kinds of what the history of all alarms notes, the oldest first."""
    return [one["HistoryItemType"] for one in reversed(cloudwatch.describe_alarm_history()["AlarmHistoryItems"])]


@pytest.mark.slow
def test_a_failed_execution_alarms_and_the_alarm_survives_a_kill(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    sfn, sns, sqs, cloudwatch = (server.client(one) for one in ("stepfunctions", "sns", "sqs", "cloudwatch"))
    topic = sns.create_topic(Name="ops")["TopicArn"]
    url = sqs.create_queue(QueueName="alerts")["QueueUrl"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint="arn:aws:sqs:us-east-1:000000000000:alerts")
    arn = machine(sfn, {"Type": "Fail", "Error": "Broken"})
    cloudwatch.put_metric_alarm(
        AlarmName="failures", Namespace="AWS/States", MetricName="ExecutionsFailed", Statistic="Sum", Period=10,
        Dimensions=[{"Name": "StateMachineArn", "Value": arn}], EvaluationPeriods=1, Threshold=1,
        ComparisonOperator="GreaterThanOrEqualToThreshold", AlarmActions=[topic],
        # However long the second start takes, the alarm keeps its state.
        TreatMissingData="ignore",
    )  # fmt: skip
    ended(sfn, sfn.start_execution(stateMachineArn=arn)["executionArn"])

    def received() -> dict[str, Any] | None:
        found = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages")
        return json.loads(found[0]["Body"]) if found else None

    sent = until(received, "the message of the alarm")
    assert sent["Subject"] == 'ALARM: "failures" in US East (N. Virginia)'
    assert json.loads(sent["Message"])["NewStateReason"].startswith("Threshold Crossed: 1 datapoint [1.0 (")
    # The message is sent first, and that it was sent is noted then.
    until(lambda: kinds(cloudwatch)[-1] == "Action", "the note of the action in the history")
    server.kill()
    again = Server(tmp_path / "data")
    (shown,) = again.client("cloudwatch").describe_alarms()["MetricAlarms"]
    assert (shown["AlarmName"], shown["StateValue"]) == ("failures", "ALARM")
    assert kinds(again.client("cloudwatch")) == ["ConfigurationUpdate", "StateUpdate", "Action"]
    assert again.stop() == 0, again.log.read_text()


def output(capsys: pytest.CaptureFixture[str], server: Server, *words: str) -> str:
    capsys.readouterr()
    assert run_command(["alarm", *words, "--endpoint", server.url]) == 0
    return capsys.readouterr().out


def test_the_command_line_lists_shows_and_sets_alarms(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    name = f"late-{uuid4()}"
    server.client("cloudwatch").put_metric_alarm(
        AlarmName=name, Namespace="Own", MetricName="Late", Statistic="Average", Period=300, EvaluationPeriods=3,
        DatapointsToAlarm=2, Threshold=0.5, ComparisonOperator="LessThanThreshold",
        Dimensions=[{"Name": "shop", "Value": "north"}], AlarmActions=["arn:aws:sns:us-east-1:000000000000:none"],
    )  # fmt: skip
    listed = output(capsys, server, "list")
    assert name in listed
    assert "Average Late < 0.5, 2 of 3 x 300s" in listed
    assert json.loads(output(capsys, server, "list", "--state", "ALARM", "-o", "json"))["alarms"] == []
    told = json.loads(output(capsys, server, "set", name, "alarm", "--reason", "drill", "-o", "json"))
    assert told == {"alarm": name, "state": "ALARM", "before": "INSUFFICIENT_DATA"}
    shown = output(capsys, server, "show", name)
    for words in ("ALARM", "drill", "shop=north", "Alarm updated from INSUFFICIENT_DATA to ALARM"):
        assert words in shown
    whole = json.loads(output(capsys, server, "show", name, "-o", "json"))
    assert (whole["alarm"]["StateReason"], whole["history"][-1]["HistoryItemType"]) == ("drill", "ConfigurationUpdate")
    assert run_command(["alarm", "show", "nowhere", "--endpoint", server.url]) == 3
    assert "statewright alarm list" in capsys.readouterr().err
    server.client("cloudwatch").delete_alarms(AlarmNames=[name])
