"""Alarms in a virtual system: when they are evaluated, what their actions send, what survives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.virtual import Model, VirtualSystem
from tests.unit.virtual.building import FUNCTION, QUEUE, machine, queue, start

TOPIC = "arn:aws:sns:us-east-1:000000000000:ops"
FAIL = {"StartAt": "Fail", "States": {"Fail": {"Type": "Fail", "Error": "Broken"}}}


def topic_with_queue(system: VirtualSystem) -> str:
    """A topic whose messages go to a queue; returns the queue's URL."""
    sns = system.client("sns")
    sns.create_topic(Name="ops")
    url = queue(system, "alerts")
    sns.subscribe(TopicArn=TOPIC, Protocol="sqs", Endpoint=f"{QUEUE}alerts")
    return url


def messages(system: VirtualSystem, url: str) -> list[dict[str, Any]]:
    """The messages of a queue, which are deleted."""
    sqs = system.client("sqs")
    found: list[dict[str, Any]] = []
    while True:
        received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        if not received:
            return found
        for one in received:
            found.append(json.loads(one["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])


def put_alarm(system: VirtualSystem, name: str = "failures", **changes: Any) -> None:
    settings: dict[str, Any] = {
        "Namespace": "Shop", "MetricName": "Errors", "Statistic": "Sum", "Period": 60, "EvaluationPeriods": 1,
        "Threshold": 1, "ComparisonOperator": "GreaterThanOrEqualToThreshold",
    }  # fmt: skip
    settings = {key: value for key, value in {**settings, **changes}.items() if value is not None}
    system.client("cloudwatch").put_metric_alarm(AlarmName=name, **settings)


def alarm(system: VirtualSystem, name: str = "failures") -> dict[str, Any]:
    found: dict[str, Any] = system.client("cloudwatch").describe_alarms(AlarmNames=[name])["MetricAlarms"][0]
    return found


def put(system: VirtualSystem, value: float, **more: Any) -> None:
    data = {"MetricName": "Errors", "Value": value, **more}
    system.client("cloudwatch").put_metric_data(Namespace="Shop", MetricData=[data])


def test_a_failed_execution_raises_an_alarm_and_its_topic_gets_a_message() -> None:
    with VirtualSystem() as system:
        url = topic_with_queue(system)
        arn = machine(system, FAIL)
        put_alarm(
            system,
            Namespace="AWS/States",
            MetricName="ExecutionsFailed",
            Dimensions=[{"Name": "StateMachineArn", "Value": arn}],
            AlarmDescription="Something broke",
            AlarmActions=[TOPIC],
            OKActions=[TOPIC],
            TreatMissingData="notBreaching",
        )
        assert alarm(system)["StateValue"] == "INSUFFICIENT_DATA"
        assert alarm(system)["StateReason"] == "Unchecked: Initial alarm creation"
        assert "StateReasonData" not in alarm(system)
        system.advance("1m")
        assert alarm(system)["StateValue"] == "OK"
        assert [one["Subject"] for one in messages(system, url)] == ['OK: "failures" in US East (N. Virginia)']
        start(system, arn, "one")
        system.advance("1m")
        (sent,) = messages(system, url)
        assert sent["Subject"] == 'ALARM: "failures" in US East (N. Virginia)'
        message = json.loads(sent["Message"])
        assert message["NewStateReason"] == (
            "Threshold Crossed: 1 datapoint [1.0 (01/01/26 00:01:00)] was greater than or equal to the threshold (1.0)."
        )
        del message["NewStateReason"]
        assert message == {
            "AlarmName": "failures",
            "AlarmDescription": "Something broke",
            "AWSAccountId": "000000000000",
            "AlarmConfigurationUpdatedTimestamp": "2026-01-01T00:00:00.000+0000",
            "NewStateValue": "ALARM",
            "StateChangeTime": "2026-01-01T00:02:00.000+0000",
            "Region": "US East (N. Virginia)",
            "AlarmArn": "arn:aws:cloudwatch:us-east-1:000000000000:alarm:failures",
            "OldStateValue": "OK",
            "ActionExecutedAfterMuteWindow": False,
            "OKActions": [TOPIC],
            "AlarmActions": [TOPIC],
            "InsufficientDataActions": [],
            "Trigger": {
                "MetricName": "ExecutionsFailed",
                "Namespace": "AWS/States",
                "StatisticType": "Statistic",
                "Statistic": "SUM",
                "Unit": None,
                "Dimensions": [{"value": arn, "name": "StateMachineArn"}],
                "Period": 60,
                "EvaluationPeriods": 1,
                "ComparisonOperator": "GreaterThanOrEqualToThreshold",
                "Threshold": 1.0,
                "TreatMissingData": "notBreaching",
                "EvaluateLowSampleCountPercentile": "",
            },
        }
        system.advance("3m")
        assert [json.loads(one["Message"])["NewStateValue"] for one in messages(system, url)] == ["OK"]


def test_an_alarm_without_new_values_has_no_timer() -> None:
    with VirtualSystem() as system:
        put_alarm(system)
        put(system, 3)
        system.advance("10m")
        assert alarm(system)["StateValue"] == "INSUFFICIENT_DATA"
        assert alarm(system)["StateReason"] == "Insufficient Data: 1 datapoint was unknown."
        assert system.next_due_ms is None


def test_the_level_of_a_queue_keeps_no_timer_either() -> None:
    with VirtualSystem() as system:
        url = queue(system, "orders")
        put_alarm(
            system, Namespace="AWS/SQS", MetricName="ApproximateNumberOfMessagesVisible", Statistic="Maximum",
            Dimensions=[{"Name": "QueueName", "Value": "orders"}], Threshold=2, EvaluationPeriods=2,
        )  # fmt: skip
        for body in "abc":
            system.client("sqs").send_message(QueueUrl=url, MessageBody=body)
        system.advance("4m")
        assert alarm(system)["StateValue"] == "ALARM"
        system.advance("10m")
        before = system.next_due_ms
        assert before is None or before > system.now_ms + 60_000
        messages_of = system.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        assert len(messages_of) == 3
        system.advance("4m")
        assert alarm(system)["StateValue"] != "INSUFFICIENT_DATA"


def test_two_of_three_and_back() -> None:
    with VirtualSystem() as system:
        put_alarm(system, EvaluationPeriods=3, DatapointsToAlarm=2, TreatMissingData="notBreaching")
        states = []
        for value in (5, 0, 5, 0, 0, 0):
            put(system, value)
            system.advance("1m")
            states.append(alarm(system)["StateValue"])
        assert states == ["OK", "OK", "ALARM", "OK", "OK", "OK"]


def test_history_tells_settings_states_and_actions() -> None:
    with VirtualSystem() as system:
        topic_with_queue(system)
        put_alarm(system, AlarmActions=[TOPIC])
        put(system, 2)
        system.advance("1m")
        cloudwatch = system.client("cloudwatch")
        items = cloudwatch.describe_alarm_history(AlarmName="failures", ScanBy="TimestampAscending")[
            "AlarmHistoryItems"
        ]
        assert [(one["HistoryItemType"], one["HistorySummary"]) for one in items] == [
            ("ConfigurationUpdate", 'Alarm "failures" created'),
            ("StateUpdate", "Alarm updated from INSUFFICIENT_DATA to ALARM"),
            ("Action", f"Successfully executed action {TOPIC}"),
        ]
        data = json.loads(items[1]["HistoryData"])
        assert data["oldState"] == {
            "stateValue": "INSUFFICIENT_DATA", "stateReason": "Unchecked: Initial alarm creation",
        }  # fmt: skip
        assert data["newState"]["stateReasonData"]["recentDatapoints"] == [2.0]
        newest = cloudwatch.describe_alarm_history(AlarmName="failures", MaxRecords=1)
        assert newest["AlarmHistoryItems"][0]["HistoryItemType"] == "Action"
        put_alarm(system, Threshold=7)
        rest = cloudwatch.describe_alarm_history(AlarmName="failures", NextToken=newest["NextToken"])
        assert [one["HistoryItemType"] for one in rest["AlarmHistoryItems"]] == ["StateUpdate", "ConfigurationUpdate"]
        states = cloudwatch.describe_alarm_history(HistoryItemType="StateUpdate")["AlarmHistoryItems"]
        assert len(states) == 1


def test_a_killed_system_continues_with_state_and_action(tmp_path: Path) -> None:
    with VirtualSystem(data=tmp_path) as system:
        url = topic_with_queue(system)
        put_alarm(system, AlarmActions=[TOPIC], Tags=[{"Key": "team", "Value": "blue"}])
        system.client("cloudwatch").set_alarm_state(AlarmName="failures", StateValue="ALARM", StateReason="a test")
        system.restart()
        assert alarm(system)["StateValue"] == "ALARM"
        assert alarm(system)["StateReason"] == "a test"
        assert len(messages(system, url)) == 1
        system.advance("1m")
        assert alarm(system)["StateValue"] == "INSUFFICIENT_DATA"
        arn = alarm(system)["AlarmArn"]
        tags = system.client("cloudwatch").list_tags_for_resource(ResourceARN=arn)["Tags"]
        assert tags == [{"Key": "team", "Value": "blue"}]
        put(system, 4)
        system.advance("1m")
        assert alarm(system)["StateValue"] == "ALARM"
        assert len(messages(system, url)) == 1


def test_disabled_actions_are_not_executed() -> None:
    with VirtualSystem() as system:
        url = topic_with_queue(system)
        cloudwatch = system.client("cloudwatch")
        put_alarm(system, AlarmActions=[TOPIC])
        cloudwatch.disable_alarm_actions(AlarmNames=["failures"])
        assert alarm(system)["ActionsEnabled"] is False
        cloudwatch.set_alarm_state(AlarmName="failures", StateValue="ALARM", StateReason="a test")
        assert messages(system, url) == []
        cloudwatch.enable_alarm_actions(AlarmNames=["failures"])
        cloudwatch.set_alarm_state(AlarmName="failures", StateValue="OK", StateReason="a test")
        cloudwatch.set_alarm_state(AlarmName="failures", StateValue="ALARM", StateReason="a test")
        cloudwatch.set_alarm_state(AlarmName="failures", StateValue="ALARM", StateReason="again")
        assert len(messages(system, url)) == 1


def test_refusals() -> None:
    with VirtualSystem() as system:
        cloudwatch = system.client("cloudwatch")

        def refused(**changes: Any) -> str:
            with pytest.raises(ClientError) as problem:
                put_alarm(system, **changes)
            assert problem.value.response["Error"]["Code"] == "ValidationError"
            return str(problem.value.response["Error"]["Message"])

        assert "10, 20, 30 or a multiple of 60" in refused(Period=45)
        assert "must be <= 86400" in refused(EvaluationPeriods=2_000)
        assert "must be <= 604800" in refused(Period=3_600, EvaluationPeriods=200)
        assert refused(Statistic=None) == "Exactly one of Statistic and ExtendedStatistic must be specified."
        assert "must not be greater than EvaluationPeriods 1" in refused(DatapointsToAlarm=2)
        assert "TreatMissingData" in refused(TreatMissingData="perhaps")
        assert "topics and functions" in refused(AlarmActions=["arn:aws:automate:us-east-1:ec2:stop"])
        assert "Only us-east-1 is supported" in refused(AlarmActions=[TOPIC.replace("us-east-1", "eu-west-1")])
        assert "anomaly detection" in refused(
            ThresholdMetricId="ad1", ComparisonOperator="GreaterThanUpperThreshold", Threshold=None
        )
        with pytest.raises(ClientError) as missing:
            cloudwatch.set_alarm_state(AlarmName="nowhere", StateValue="OK", StateReason="a test")
        error = missing.value.response["Error"]
        assert (error["Code"], error["Message"]) == ("ResourceNotFound", "")
        assert missing.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
        with pytest.raises(ClientError) as bad:
            cloudwatch.set_alarm_state(AlarmName="nowhere", StateValue="FINE", StateReason="a test")
        assert bad.value.response["Error"]["Code"] == "ValidationError"
        assert "[INSUFFICIENT_DATA, ALARM, OK]" in bad.value.response["Error"]["Message"]
        with pytest.raises(ClientError, match="composite alarms"):
            cloudwatch.put_composite_alarm(AlarmName="both", AlarmRule="ALARM(one) AND ALARM(two)")


def test_a_function_gets_the_alarm_as_recorded() -> None:
    with VirtualSystem() as system:
        seen: list[dict[str, Any]] = []
        system.model("react", Model(answer=seen.append))
        put_alarm(
            system, AlarmActions=[f"{FUNCTION}react"], AlarmDescription="Too many", Unit="Count",
            Dimensions=[{"Name": "shop", "Value": "north"}],
        )  # fmt: skip
        put(system, 3, Dimensions=[{"Name": "shop", "Value": "north"}], Unit="Count")
        system.advance("61s")
        (event,) = seen
        metrics = event["alarmData"]["configuration"].pop("metrics")
        data = json.loads(event["alarmData"]["state"].pop("reasonData"))
        assert (data["unit"], data["evaluatedDatapoints"][0]["sampleCount"]) == ("Count", 1.0)
        arn = "arn:aws:cloudwatch:us-east-1:000000000000:alarm:failures"
        assert event == {
            "source": "aws.cloudwatch",
            "alarmArn": arn,
            "accountId": "000000000000",
            "time": "2026-01-01T00:01:00.000+0000",
            "region": "us-east-1",
            "alarmData": {
                "alarmName": "failures",
                "state": {
                    "value": "ALARM",
                    "reason": "Threshold Crossed: 1 datapoint [3.0 (01/01/26 00:00:00)] was greater than or equal to "
                    "the threshold (1.0).",
                    "timestamp": "2026-01-01T00:01:00.000+0000",
                },
                "previousState": {
                    "value": "INSUFFICIENT_DATA",
                    "reason": "Unchecked: Initial alarm creation",
                    "timestamp": "2026-01-01T00:00:00.000+0000",
                },
                "configuration": {"description": "Too many"},
            },
        }
        assert len(metrics[0].pop("id")) == 36
        assert metrics == [
            {
                "metricStat": {
                    "metric": {"namespace": "Shop", "name": "Errors", "dimensions": {"shop": "north"}},
                    "period": 60, "stat": "Sum", "unit": "Count",
                },
                "returnData": True,
            }
        ]  # fmt: skip


def test_an_event_of_a_change_of_state_starts_a_machine() -> None:
    with VirtualSystem() as system:
        arn = machine(system, {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}})
        events = system.client("events")
        pattern = {
            "source": ["aws.cloudwatch"], "detail-type": ["CloudWatch Alarm State Change"],
            "detail": {"state": {"value": ["ALARM"]}},
        }  # fmt: skip
        events.put_rule(Name="alarms", EventPattern=json.dumps(pattern))
        role = "arn:aws:iam::000000000000:role/r"
        events.put_targets(Rule="alarms", Targets=[{"Id": "m", "Arn": arn, "RoleArn": role}])
        put_alarm(system)
        put(system, 1)
        system.advance("1m")
        sfn = system.client("stepfunctions")
        (execution,) = sfn.list_executions(stateMachineArn=arn)["executions"]
        event = json.loads(sfn.describe_execution(executionArn=execution["executionArn"])["input"])
        assert event["resources"] == [alarm(system)["AlarmArn"]]
        assert event["detail"]["previousState"]["value"] == "INSUFFICIENT_DATA"
        assert event["detail"]["alarmName"] == "failures"


def test_an_expression_over_metrics_is_watched() -> None:
    with VirtualSystem() as system:

        def stat(name: str) -> dict[str, Any]:
            return {"Metric": {"Namespace": "Shop", "MetricName": name}, "Period": 60, "Stat": "Sum"}

        put_alarm(
            system, Namespace=None, MetricName=None, Statistic=None, Period=None, Threshold=25,
            Metrics=[
                {"Id": "share", "Expression": "100 * errors / calls", "Label": "errors in percent"},
                {"Id": "errors", "MetricStat": stat("Errors"), "ReturnData": False},
                {"Id": "calls", "MetricStat": stat("Calls"), "ReturnData": False},
            ],
        )  # fmt: skip
        put(system, 1)
        put(system, 5, MetricName="Calls")
        system.advance("1m")
        assert (alarm(system)["StateValue"], alarm(system)["Metrics"][0]["Id"]) == ("OK", "share")
        put(system, 2)
        put(system, 5, MetricName="Calls")
        system.advance("1m")
        assert alarm(system)["StateReason"] == (
            "Threshold Crossed: 1 datapoint [40.0 (01/01/26 00:01:00)] was greater than or equal to the threshold "
            "(25.0)."
        )
        system.advance("10m")
        assert system.next_due_ms is None


def test_percentiles_fine_periods_and_long_ones() -> None:
    with VirtualSystem() as system:
        put_alarm(system, "slow", Statistic=None, ExtendedStatistic="p90", Period=10, Threshold=100)
        put_alarm(system, "rare", EvaluationPeriods=2, DatapointsToAlarm=1, Period=86_400, TreatMissingData="ignore")
        data = {"MetricName": "Errors", "Values": [10.0, 200.0], "Counts": [8, 2]}
        system.client("cloudwatch").put_metric_data(Namespace="Shop", MetricData=[data])
        system.advance("10s")
        assert alarm(system, "slow")["StateValue"] == "ALARM"
        assert alarm(system, "rare")["StateValue"] == "INSUFFICIENT_DATA"
        system.advance("1h")
        assert alarm(system, "rare")["StateValue"] == "ALARM"
        assert alarm(system, "slow")["StateValue"] == "INSUFFICIENT_DATA"


def test_lists_of_alarms() -> None:
    with VirtualSystem() as system:
        cloudwatch = system.client("cloudwatch")
        for name in ("a-1", "a-2", "b-1"):
            put_alarm(system, name, Dimensions=[{"Name": "shop", "Value": name}])
        cloudwatch.set_alarm_state(AlarmName="a-2", StateValue="OK", StateReason="fine")

        def names(**members: Any) -> list[str]:
            return [one["AlarmName"] for one in cloudwatch.describe_alarms(**members)["MetricAlarms"]]

        assert names(AlarmNamePrefix="a-") == ["a-1", "a-2"]
        assert names(StateValue="OK") == ["a-2"]
        assert names(AlarmNames=["b-1", "none"]) == ["b-1"]
        assert names(AlarmTypes=["CompositeAlarm"]) == []
        first = cloudwatch.describe_alarms(MaxRecords=2)
        assert names(NextToken=first["NextToken"]) == ["b-1"]
        dimension = [{"Name": "shop", "Value": "a-2"}]
        asked = {"Namespace": "Shop", "MetricName": "Errors", "Dimensions": dimension}
        found = cloudwatch.describe_alarms_for_metric(**asked)["MetricAlarms"]
        assert [one["AlarmName"] for one in found] == ["a-2"]
        assert cloudwatch.describe_alarms_for_metric(**asked, Period=300)["MetricAlarms"] == []
        cloudwatch.delete_alarms(AlarmNames=["a-1", "a-2", "none"])
        assert names() == ["b-1"]
        with pytest.raises(ClientError) as problem:
            cloudwatch.delete_alarms(AlarmNames=["none"])
        assert problem.value.response["Error"]["Code"] == "ResourceNotFound"
