"""Alarms on a real server: an execution fails, and a topic's queue gets the alarm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.deadlines import until
from tests.e2e.conftest import Server, ended, machine


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
    )  # fmt: skip
    ended(sfn, sfn.start_execution(stateMachineArn=arn)["executionArn"])

    def received() -> dict[str, Any] | None:
        found = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages")
        return json.loads(found[0]["Body"]) if found else None

    sent = until(received, "the message of the alarm")
    assert sent["Subject"] == 'ALARM: "failures" in US East (N. Virginia)'
    assert json.loads(sent["Message"])["NewStateReason"].startswith("Threshold Crossed: 1 datapoint [1.0 (")
    server.kill()
    again = Server(tmp_path / "data")
    (shown,) = again.client("cloudwatch").describe_alarms()["MetricAlarms"]
    assert (shown["AlarmName"], shown["StateValue"]) == ("failures", "ALARM")
    history = again.client("cloudwatch").describe_alarm_history()["AlarmHistoryItems"]
    assert [one["HistoryItemType"] for one in reversed(history)] == ["ConfigurationUpdate", "StateUpdate", "Action"]
    assert again.stop() == 0, again.log.read_text()
