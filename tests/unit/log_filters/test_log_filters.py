"""Metric filters and subscriptions in a virtual system: output of functions and put events reach them once."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.virtual import Model, VirtualSystem
from tests.unit.virtual.building import FUNCTION, function, machine, start

GROUP = "/shop/orders"


def stream(system: VirtualSystem, group: str = GROUP) -> None:
    logs = system.client("logs")
    logs.create_log_group(logGroupName=group)
    logs.create_log_stream(logGroupName=group, logStreamName="one")


def write(system: VirtualSystem, *messages: str, group: str = GROUP) -> None:
    events = [{"timestamp": system.now_ms, "message": one} for one in messages]
    system.client("logs").put_log_events(logGroupName=group, logStreamName="one", logEvents=events)


def metric_filter(system: VirtualSystem, pattern: str, group: str = GROUP, **transformation: Any) -> None:
    one = {"metricName": "Errors", "metricNamespace": "Shop", "metricValue": "1", **transformation}
    system.client("logs").put_metric_filter(
        logGroupName=group, filterName="errors", filterPattern=pattern, metricTransformations=[one]
    )


def total(system: VirtualSystem, statistic: str = "Sum", **dimensions: str) -> float | None:
    points = system.client("cloudwatch").get_metric_statistics(
        Namespace="Shop", MetricName="Errors", StartTime=system.now_ms / 1000 - 3600, EndTime=system.now_ms / 1000 + 60,
        Period=7200, Statistics=[statistic],
        Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
    )["Datapoints"]  # fmt: skip
    return points[0][statistic] if points else None


def test_a_metric_filter_counts_new_events() -> None:
    with VirtualSystem() as system:
        stream(system)
        write(system, "ERROR before the filter")
        metric_filter(system, "ERROR -harmless", defaultValue=0)
        (shown,) = system.client("logs").describe_metric_filters(logGroupName=GROUP)["metricFilters"]
        assert shown == {
            "filterName": "errors", "filterPattern": "ERROR -harmless", "logGroupName": GROUP,
            "metricTransformations": [
                {"metricName": "Errors", "metricNamespace": "Shop", "metricValue": "1", "defaultValue": 0.0}
            ],
            "creationTime": system.now_ms, "applyOnTransformedLogs": False,
        }  # fmt: skip
        write(system, "ERROR one", "fine", "ERROR but harmless")
        write(system, "ERROR two")
        assert total(system) == 2
        system.advance("1m")
        write(system, "fine", "fine")
        assert (total(system), total(system, "Minimum")) == (2, 0)
        system.client("logs").delete_metric_filter(logGroupName=GROUP, filterName="errors")
        write(system, "ERROR three")
        assert total(system) == 2


def test_values_and_dimensions_come_from_fields() -> None:
    with VirtualSystem() as system:
        stream(system)
        metric_filter(system, '{ $.kind = "slow*" }', metricValue="$.ms", dimensions={"Shop": "$.shop"})
        write(system, '{"kind": "slower", "ms": 250, "shop": "north"}', '{"kind": "slow", "ms": "x", "shop": "north"}')
        write(system, '{"kind": "fast", "ms": 1, "shop": "north"}', '{"kind": "slow", "ms": 50, "shop": "south"}')
        assert (total(system, Shop="north"), total(system, Shop="south")) == (250, 50)
        metric_filter(system, "[ip, user, status = 5*, bytes > 1000]", metricValue="$bytes")
        write(system, '10.0.0.1 "a b" 503 1500', "10.0.0.1 ann 503 10", "10.0.0.1 ann 200 5000")
        assert total(system) == 1500


def test_the_output_of_a_function_raises_an_alarm() -> None:
    with VirtualSystem() as system:
        function(system, "work", "def handler(event, context):\n    print('ERROR', event)\n")
        system.client("logs").create_log_group(logGroupName="/aws/lambda/work")
        metric_filter(system, "ERROR", "/aws/lambda/work")
        system.client("cloudwatch").put_metric_alarm(
            AlarmName="errors", Namespace="Shop", MetricName="Errors", Statistic="Sum", Period=60, EvaluationPeriods=1,
            Threshold=1, ComparisonOperator="GreaterThanOrEqualToThreshold",
        )  # fmt: skip
        system.client("lambda").invoke(FunctionName="work", Payload=b'{"order": 7}')
        system.advance("1m")
        (alarm,) = system.client("cloudwatch").describe_alarms()["MetricAlarms"]
        assert alarm["StateValue"] == "ALARM"


def test_the_history_of_a_machine_is_counted() -> None:
    with VirtualSystem() as system:
        stream(system, "machines")
        metric_filter(system, '{ $.type = "ExecutionFailed" }', "machines")
        arn = machine(system, {"StartAt": "F", "States": {"F": {"Type": "Fail", "Error": "Broken"}}})
        system.client("stepfunctions").update_state_machine(
            stateMachineArn=arn,
            loggingConfiguration={
                "level": "ALL",
                "destinations": [
                    {
                        "cloudWatchLogsLogGroup": {
                            "logGroupArn": "arn:aws:logs:us-east-1:000000000000:log-group:machines:*"
                        }
                    }
                ],
            },
        )
        start(system, arn, "one")
        system.advance("10s")
        assert total(system) == 1


def unpacked(event: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(event["awslogs"]["data"])))
    return found


def subscribe(system: VirtualSystem, pattern: str = "ERROR", name: str = "errors", **changes: str) -> None:
    given = {"destinationArn": f"{FUNCTION}sink", **changes}
    system.client("logs").put_subscription_filter(logGroupName=GROUP, filterName=name, filterPattern=pattern, **given)


def test_a_function_gets_the_events_that_match() -> None:
    with VirtualSystem() as system:
        seen: list[dict[str, Any]] = []
        system.model("sink", Model(answer=lambda event: seen.append(unpacked(event))))
        stream(system)
        subscribe(system)
        (shown,) = system.client("logs").describe_subscription_filters(logGroupName=GROUP)["subscriptionFilters"]
        assert (shown["distribution"], shown["destinationArn"]) == ("ByLogStream", f"{FUNCTION}sink")
        write(system, "fine", "ERROR one", "ERROR two")
        system.advance("1s")
        (data,) = seen
        events = data.pop("logEvents")
        assert data == {
            "messageType": "DATA_MESSAGE", "owner": "000000000000", "logGroup": GROUP, "logStream": "one",
            "subscriptionFilters": ["errors"],
        }  # fmt: skip
        assert [(one["message"], len(one["id"])) for one in events] == [("ERROR one", 56), ("ERROR two", 56)]
        subscribe(system, "fine")
        write(system, "fine", "ERROR three")
        system.advance("1s")
        assert [one["message"] for one in seen[1]["logEvents"]] == ["fine"]


def test_a_killed_system_delivers_each_event_once(tmp_path: Path) -> None:
    with VirtualSystem(data=tmp_path) as system:
        seen: list[dict[str, Any]] = []
        system.model("sink", Model(answer=lambda event: seen.append(unpacked(event))))
        stream(system)
        subscribe(system)
        for number in range(3):
            write(system, f"ERROR {number}")
            system.restart()
        system.advance("1m")
        found = [one["message"] for data in seen for one in data["logEvents"]]
        assert sorted(set(found)) == ["ERROR 0", "ERROR 1", "ERROR 2"]


def test_matches_of_a_pattern() -> None:
    with VirtualSystem() as system:
        lines = ['127.0.0.1 - frank [10/Oct/2029:13:55:36] "GET /a b" 404 12', "127.0.0.1 - jo [x] y 200 7", "short"]

        def matches(pattern: str, messages: list[str] = lines) -> list[tuple[int, dict[str, str]]]:
            found = system.client("logs").test_metric_filter(filterPattern=pattern, logEventMessages=messages)
            return [(one["eventNumber"], one["extractedValues"]) for one in found["matches"]]

        assert matches("[ip, id, user, time, request, status = 4*, size]") == [
            (1, {"$ip": "127.0.0.1", "$id": "-", "$user": "frank", "$time": "10/Oct/2029:13:55:36",
                 "$request": "GET /a b", "$status": "404", "$size": "12"}),
        ]  # fmt: skip
        assert [number for number, _ in matches("[ip, ..., status, size < 10]")] == [2]
        assert [number for number, _ in matches("[..., status = 404 || status = 200, size]")] == [1, 2]
        assert [number for number, _ in matches("[w1 = short]")] == [3]
        assert [number for number, _ in matches("?frank ?short")] == [1, 3]
        assert matches('{ $.code = 7 && $.who = "a*" }', ['{"code": 7, "who": "ann"}', '{"code": 8}']) == [
            (1, {"$.code": "7", "$.who": "ann"}),
        ]  # fmt: skip


def test_refusals() -> None:
    with VirtualSystem() as system:
        logs = system.client("logs")

        def refused(code: str, **transformation: Any) -> str:
            with pytest.raises(ClientError) as problem:
                metric_filter(system, transformation.pop("pattern", "ERROR"), **transformation)
            assert problem.value.response["Error"]["Code"] == code
            return str(problem.value.response["Error"]["Message"])

        assert refused("ResourceNotFoundException") == "The specified log group does not exist."
        stream(system)
        bad = "InvalidParameterException"
        assert refused(bad, pattern="{ $.a = ") == "Invalid filter pattern"
        assert refused(bad, pattern="[a, b") == "Invalid filter pattern"
        assert refused(bad, dimensions={"a": "$.a"}, defaultValue=0) == (
            "Invalid metric transformation: dimensions and default value are mutually exclusive properties."
        )
        assert refused(bad, dimensions={"a": "$.a"}) == "The specified filter pattern does not support dimensions."
        assert "neither a number nor a field" in refused(bad, metricValue="many")
        assert "has no field $b" in refused(bad, pattern="[a]", metricValue="$b")
        with pytest.raises(ClientError, match="The specified metric filter does not exist"):
            logs.delete_metric_filter(logGroupName=GROUP, filterName="errors")
        with pytest.raises(ClientError, match="The specified subscription filter does not exist"):
            logs.delete_subscription_filter(logGroupName=GROUP, filterName="errors")
        with pytest.raises(ClientError, match="Could not execute the lambda function"):
            subscribe(system)
        kinesis = "arn:aws:kinesis:us-east-1:000000000000:stream/s"
        with pytest.raises(ClientError, match="destinationArn for vendor kinesis cannot be used without roleArn"):
            subscribe(system, destinationArn=kinesis)
        with pytest.raises(ClientError, match="functions only"):
            subscribe(system, destinationArn=kinesis, roleArn="arn:aws:iam::000000000000:role/r")
        system.model("sink", Model())
        subscribe(system, name="a")
        subscribe(system, name="b")
        with pytest.raises(ClientError) as problem:
            subscribe(system, name="c")
        assert problem.value.response["Error"]["Code"] == "LimitExceededException"
        logs.delete_log_group(logGroupName=GROUP)
        stream(system)
        assert logs.describe_subscription_filters(logGroupName=GROUP)["subscriptionFilters"] == []


def together(system: VirtualSystem, *requests: tuple[str, dict[str, Any]]) -> list[Any]:
    """The answers to requests to the logs that are made at the same time, refusals among them."""

    async def all_of_them() -> list[Any]:
        calls = [system.ask("logs", operation, request) for operation, request in requests]
        return await asyncio.gather(*calls, return_exceptions=True)

    return system.run(all_of_them())


def test_filters_that_change_at_the_same_time() -> None:
    with VirtualSystem() as system:
        stream(system)
        metric_filter(system, "ERROR")
        system.model("sink", Model())
        subscribe(system)
        metric: dict[str, Any] = {"logGroupName": GROUP, "filterName": "errors"}
        one = {"metricName": "Errors", "metricNamespace": "Shop", "metricValue": "1"}
        put = {**metric, "filterName": "late", "filterPattern": "LATE", "metricTransformations": [one]}
        subscriptions = together(system, *[("DeleteSubscriptionFilter", metric)] * 2)
        assert [getattr(answer, "code", None) for answer in subscriptions] == [None, "ResourceNotFoundException"]
        deleted, again, made = together(
            system, ("DeleteMetricFilter", metric), ("DeleteMetricFilter", metric), ("PutMetricFilter", put)
        )
        assert (deleted, again.code, made) == ({}, "ResourceNotFoundException", {})
        write(system, "LATE", "ERROR")
        assert total(system) == 1
        system.restart()
        (shown,) = system.client("logs").describe_metric_filters(logGroupName=GROUP)["metricFilters"]
        assert shown["filterName"] == "late"


def test_a_filter_that_was_refused_leaves_no_place_behind() -> None:
    with VirtualSystem() as system:
        stream(system)
        with pytest.raises(ClientError):
            system.client("logs").delete_metric_filter(logGroupName=GROUP, filterName="none")
        write(system, "ERROR before the filter")
        metric_filter(system, "ERROR")
        write(system, "ERROR after it")
        assert total(system) == 1


def test_events_of_a_function_that_was_created_again_are_seen() -> None:
    with VirtualSystem() as system:
        client = system.client("lambda")
        loud = "def handler(event, context):\n    for _ in range(20):\n        print('ERROR')\n"
        function(system, "work", loud)
        system.client("logs").create_log_group(logGroupName="/aws/lambda/work")
        metric_filter(system, "ERROR", "/aws/lambda/work")
        client.invoke(FunctionName="work")
        system.advance("1s")
        assert total(system) == 20
        client.delete_function(FunctionName="work")
        function(system, "work", "def handler(event, context):\n    print('ERROR')\n")
        client.invoke(FunctionName="work")
        system.advance("1s")
        assert total(system) == 21
