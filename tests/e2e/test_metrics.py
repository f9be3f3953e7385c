"""What a server publishes about itself, compared with what was done: executions, functions, mappings, queues."""

from __future__ import annotations

import contextlib
import json
import re
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from statewright.cli.commands import run_command
from tests.deadlines import until
from tests.e2e.conftest import Server, ended, machine
from tests.e2e.test_lambda import made

STATES, LAMBDA, SQS = "AWS/States", "AWS/Lambda", "AWS/SQS"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that nobody else talks to."""
    running = Server(tmp_path_factory.mktemp("metrics") / "data")
    yield running
    assert running.stop() == 0, running.log.read_text()


def span() -> dict[str, datetime]:
    now = datetime.now(UTC)
    return {"StartTime": now - timedelta(minutes=5), "EndTime": now + timedelta(minutes=1)}


_CLIENTS: dict[str, Any] = {}


def cloudwatch(server: Server) -> Any:
    """A client, made once: making one takes longer than all it is asked for."""
    if server.url not in _CLIENTS:
        _CLIENTS[server.url] = server.client("cloudwatch")
    return _CLIENTS[server.url]


def stats(server: Server, space: str, name: str, statistic: str = "Sum", period: int = 3600, **dimensions: str) -> Any:
    """One statistic of the last minutes; None where there is no point."""
    plain = statistic in ("Sum", "SampleCount", "Average", "Minimum", "Maximum")
    points = cloudwatch(server).get_metric_statistics(
        Namespace=space,
        MetricName=name,
        Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
        Period=period,
        **{"Statistics" if plain else "ExtendedStatistics": [statistic]},
        **span(),
    )["Datapoints"]
    if not points:
        return None
    (point,) = points
    return point[statistic] if plain else point["ExtendedStatistics"][statistic]


def settles(read: Callable[[], Any], wanted: Any) -> None:
    """Wait for counts: they follow the commit, whose result a client may see first."""
    with contextlib.suppress(AssertionError):
        until(lambda: read() == wanted, "the counts")
    assert read() == wanted


def query(name: str, space: str, metric: str, stat: str, period: int = 60, **dimensions: str) -> dict[str, Any]:
    shown = [{"Name": key, "Value": value} for key, value in dimensions.items()]
    wanted = {"Namespace": space, "MetricName": metric, "Dimensions": shown}
    return {"Id": name, "MetricStat": {"Metric": wanted, "Period": period, "Stat": stat}}


def test_executions_are_counted_as_they_ended(own: Server) -> None:
    sfn = own.client()
    fine = machine(sfn, {"Type": "Pass"}, {"Type": "Wait", "Seconds": 1})
    bad = machine(sfn, {"Type": "Fail", "Error": "no"})
    quick = machine(sfn, {"Type": "Pass"}, express=True)
    runs = [sfn.start_execution(stateMachineArn=fine)["executionArn"] for _ in range(5)]
    runs += [sfn.start_execution(stateMachineArn=bad)["executionArn"] for _ in range(3)]
    for _ in range(4):
        sfn.start_sync_execution(stateMachineArn=quick)
    sfn.stop_execution(executionArn=runs[0])
    for run in runs:
        ended(sfn, run)

    def counted(arn: str) -> list[float]:
        names = ("Started", "Succeeded", "Failed", "Aborted", "TimedOut")
        return [stats(own, STATES, f"Executions{name}", StateMachineArn=arn) for name in names]

    settles(lambda: counted(fine), [5, 4, 0, 1, 0])
    settles(lambda: counted(bad), [3, 0, 3, 0, 0])
    settles(lambda: counted(quick), [4, 4, 0, 0, 0])
    # Source: developer guide: two ExecutionsStarted for each execution.
    assert stats(own, STATES, "ExecutionsStarted", "SampleCount", StateMachineArn=fine) == 10
    assert 1000 <= stats(own, STATES, "ExecutionTime", "p50", StateMachineArn=fine) < 10_000
    assert stats(own, STATES, "ExpressExecutionBilledDuration", "Minimum", StateMachineArn=quick) >= 100
    assert stats(own, STATES, "OpenExecutionCount", "Maximum") >= 1


def test_tasks_are_counted_by_what_they_call(own: Server) -> None:
    sfn, functions = own.client(), own.client("lambda")
    name = made(functions)
    arn = functions.get_function(FunctionName=name)["Configuration"]["FunctionArn"]
    url = own.client("sqs").create_queue(QueueName=f"q-{uuid4()}")["QueueUrl"]
    send = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage"}
    both = machine(
        sfn, {"Type": "Task", "Resource": arn}, {**send, "Parameters": {"QueueUrl": url, "MessageBody": "m"}}
    )
    fails = machine(sfn, {"Type": "Task", "Resource": arn, "Parameters": {"fail": "no"}})
    for of in (both, both, fails):
        ended(sfn, sfn.start_execution(stateMachineArn=of)["executionArn"])

    def tasks(kind: str, **dimension: str) -> list[Any]:
        names = ("Scheduled", "Started", "Succeeded", "Failed", "TimedOut")
        return [stats(own, STATES, f"{kind}{one}", "Sum", 3600, **dimension) for one in names]

    settles(lambda: tasks("LambdaFunctions", LambdaFunctionArn=arn), [3, 3, 2, 1, None])
    assert stats(own, STATES, "LambdaFunctionTime", "SampleCount", LambdaFunctionArn=arn) == 3
    sending = "arn:aws:states:us-east-1:000000000000:sqs:sendMessage"
    assert tasks("ServiceIntegrations", ServiceIntegrationResourceArn=sending) == [2, 2, 2, None, None]
    assert stats(own, LAMBDA, "Invocations", FunctionName=name) == 3
    assert stats(own, LAMBDA, "Errors", FunctionName=name) == 1
    assert stats(own, LAMBDA, "Errors", "Average", FunctionName=name) == pytest.approx(1 / 3)


def test_redrives_versions_and_aliases_are_counted_apart(own: Server) -> None:
    sfn = own.client()
    arn = machine(sfn, {"Type": "Fail", "Error": "no"})
    version = sfn.publish_state_machine_version(stateMachineArn=arn)["stateMachineVersionArn"]
    alias = sfn.create_state_machine_alias(
        name="live", routingConfiguration=[{"stateMachineVersionArn": version, "weight": 100}]
    )["stateMachineAliasArn"]
    run = sfn.start_execution(stateMachineArn=alias)["executionArn"]
    ended(sfn, run)
    sfn.redrive_execution(executionArn=run)
    ended(sfn, run)

    def count(name: str, **more: str) -> Any:
        return stats(own, STATES, name, "Sum", 3600, StateMachineArn=arn, **more)

    settles(lambda: count("ExecutionsFailed"), 2)
    for more in ({}, {"Version": "1"}, {"Alias": "live"}):
        assert [count(name, **more) for name in ("ExecutionsStarted", "ExecutionsFailed")] == [1, 2]
        assert [count(name, **more) for name in ("ExecutionsRedriven", "RedrivenExecutionsFailed")] == [1, 1]


def test_events_that_a_function_refuses_are_counted(own: Server) -> None:
    functions = own.client("lambda")
    name = made(functions)
    functions.put_function_event_invoke_config(FunctionName=name, MaximumRetryAttempts=0)
    functions.invoke(FunctionName=name, InvocationType="Event", Payload=b'{"fail": "no"}')
    until(lambda: stats(own, LAMBDA, "AsyncEventsDropped", FunctionName=name), "the end of the event")
    assert stats(own, LAMBDA, "AsyncEventsReceived", FunctionName=name) == 1
    assert stats(own, LAMBDA, "AsyncEventAge", "Maximum", FunctionName=name) < 60_000
    assert stats(own, LAMBDA, "Errors", FunctionName=name, Resource=name) == 1


@pytest.mark.slow
def test_a_kill_loses_no_more_than_the_last_minute(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    server.client("sqs").send_message(
        QueueUrl=server.client("sqs").create_queue(QueueName="killed")["QueueUrl"], MessageBody="x"
    )
    # What has an instant of its own is written at once, as a minute that is over is.
    past = datetime.now(UTC) - timedelta(minutes=3)
    cloudwatch(server).put_metric_data(
        Namespace="Own", MetricData=[{"MetricName": "Kept", "Value": 4, "Timestamp": past}]
    )
    server.kill()
    again = Server(tmp_path / "data")
    try:
        assert stats(again, "Own", "Kept") == 4
    finally:
        assert again.stop() == 0


def test_activities_are_timed(own: Server) -> None:
    sfn = own.client()
    arn = sfn.create_activity(name=f"a-{uuid4()}")["activityArn"]
    run = sfn.start_execution(stateMachineArn=machine(sfn, {"Type": "Task", "Resource": arn}))["executionArn"]
    token = sfn.get_activity_task(activityArn=arn)["taskToken"]
    sfn.send_task_success(taskToken=token, output="{}")
    ended(sfn, run)
    settles(lambda: stats(own, STATES, "ActivitiesSucceeded", ActivityArn=arn), 1)
    assert [stats(own, STATES, f"Activities{one}", ActivityArn=arn) for one in ("Scheduled", "Started")] == [1, 1]
    times = [
        stats(own, STATES, f"Activity{one}", "SampleCount", ActivityArn=arn) for one in ("ScheduleTime", "RunTime")
    ]
    assert times == [1, 1]


def test_queues_say_what_went_through_and_what_stands_where(own: Server) -> None:
    sqs = own.client("sqs")
    name = f"q-{uuid4()}"
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    for size in (10, 20, 90):
        sqs.send_message(QueueUrl=url, MessageBody="x" * size)
    sqs.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=900)
    received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    sqs.receive_message(QueueUrl=url)
    sqs.delete_message(QueueUrl=url, ReceiptHandle=received[0]["ReceiptHandle"])

    def of(metric: str, statistic: str = "Sum") -> Any:
        return stats(own, SQS, metric, statistic, QueueName=name)

    assert [of(f"NumberOf{one}") for one in ("MessagesSent", "MessagesReceived", "MessagesDeleted", "EmptyReceives")] \
        == [4, 3, 1, 1]  # fmt: skip
    assert [of("SentMessageSize", one) for one in ("Sum", "Maximum", "p50")] == [125, 90, 10]
    levels = cloudwatch(own).get_metric_data(
        MetricDataQueries=[query("n", SQS, "ApproximateNumberOfMessagesNotVisible", "Maximum", 1, QueueName=name)],
        **span(),
    )["MetricDataResults"][0]["Values"]
    assert levels[0] == 2
    assert of("ApproximateNumberOfMessagesDelayed", "Maximum") == 1
    assert of("ApproximateAgeOfOldestMessage", "Maximum") > 0
    sqs.delete_queue(QueueUrl=url)


def test_the_curves_of_a_queue_a_mapping_and_its_function(own: Server) -> None:
    """The pipeline's dashboard: depth, concurrency, throttles, dead letters, and what the mapping has done."""
    sqs, functions, metrics = own.client("sqs"), own.client("lambda"), cloudwatch(own)
    name, dead, work = made(functions), f"dead-{uuid4()}", f"work-{uuid4()}"
    dead_url = sqs.create_queue(QueueName=dead)["QueueUrl"]
    dead_arn = sqs.get_queue_attributes(QueueUrl=dead_url, AttributeNames=["All"])["Attributes"]["QueueArn"]
    redrive = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": 1})
    attributes = {"VisibilityTimeout": "300", "RedrivePolicy": redrive}
    url = sqs.create_queue(QueueName=work, Attributes=attributes)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]["QueueArn"]
    sqs.send_message_batch(
        QueueUrl=url, Entries=[{"Id": str(number), "MessageBody": json.dumps({"n": number})} for number in range(10)]
    )
    # Levels are read at the end of a second, and here: the work may take less.
    assert stats(own, SQS, "ApproximateNumberOfMessagesVisible", "Maximum", QueueName=work) == 10
    functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    with pytest.raises(ClientError, match="TooManyRequests"):
        functions.invoke(FunctionName=name)
    functions.delete_function_concurrency(FunctionName=name)
    functions.update_function_configuration(FunctionName=name, Timeout=300)
    mapping = functions.create_event_source_mapping(EventSourceArn=arn, FunctionName=name, BatchSize=5)["UUID"]
    search = f'{{AWS/SQS,QueueName}} QueueName="{work}" MetricName="NumberOfMessagesSent"'
    curves = [
        query("depth", SQS, "ApproximateNumberOfMessagesVisible", "Maximum", QueueName=work),
        query("left", SQS, "ApproximateNumberOfMessagesVisible", "Minimum", QueueName=work),
        query("dead", SQS, "ApproximateNumberOfMessagesVisible", "Maximum", QueueName=dead),
        query("running", LAMBDA, "ConcurrentExecutions", "Maximum", FunctionName=name),
        query("throttles", LAMBDA, "Throttles", "Sum", FunctionName=name),
        query("invocations", LAMBDA, "Invocations", "Sum", FunctionName=name),
        query("errors", LAMBDA, "Errors", "Sum", FunctionName=name),
        query("polled", LAMBDA, "PolledEventCount", "Sum", EventSourceMappingUUID=mapping),
        query("deleted", LAMBDA, "DeletedEventCount", "Sum", EventSourceMappingUUID=mapping),
        {"Id": "rate", "Expression": "100 * (1 - errors / invocations)", "Label": "success"},
        {"Id": "filled", "Expression": "FILL(METRICS('dead'), 0)"},
        {"Id": "all", "Expression": f"SEARCH('{search}', 'Sum', 60)"},
    ]

    def done() -> dict[str, list[float]] | None:
        answer = metrics.get_metric_data(MetricDataQueries=curves, ScanBy="TimestampAscending", **span())
        values = {one["Id"] + one["Label"][:4]: one["Values"] for one in answer["MetricDataResults"]}
        found = {key: values[key] for key in values}
        return found if sum(found["deletedDele"]) == 10 else None

    found = until(done, "the mapping's work")
    assert max(found["depthAppr"]) == 10
    assert found["leftAppr"][-1] == 0
    assert sum(found["polledPoll"]) == 10
    assert max(found["runningConc"]) >= 1
    assert sum(found["throttlesThro"]) == 1
    assert sum(found["invocationsInvo"]) >= 2
    assert set(found["ratesucc"]) == {100.0}
    assert sum(found["deadAppr"]) == 0
    assert sum(found["allNumb"]) == 10
    functions.delete_event_source_mapping(UUID=mapping)


def test_metrics_of_callers_own(own: Server) -> None:
    metrics = cloudwatch(own)
    dimensions = [{"Name": "Shop", "Value": "one"}]
    many = [{"MetricName": "Many", "Values": [float(n) for n in range(150)], "Counts": [2.0] * 150}] * 20
    metrics.put_metric_data(Namespace="Own", MetricData=many)
    metrics.put_metric_data(
        Namespace="Own",
        MetricData=[
            {"MetricName": "Sold", "Dimensions": dimensions, "Value": 3, "Unit": "Count"},
            {"MetricName": "Sold", "Dimensions": dimensions, "Unit": "Count",
             "StatisticValues": {"SampleCount": 4, "Sum": 10, "Minimum": 1, "Maximum": 7}},
            {"MetricName": "Past", "Value": 5, "Timestamp": datetime.now(UTC) - timedelta(hours=30)},
        ],
    )  # fmt: skip
    assert stats(own, "Own", "Sold", Shop="one") == 13
    assert stats(own, "Own", "Sold", "Maximum", Shop="one") == 7
    assert stats(own, "Own", "Sold") is None
    assert stats(own, "Own", "Many", "SampleCount") == 20 * 300
    assert stats(own, "Own", "Many", "p90") == pytest.approx(134, rel=0.011)
    listed = metrics.list_metrics(Namespace="Own", Dimensions=[{"Name": "Shop"}])["Metrics"]
    assert listed == [{"Namespace": "Own", "MetricName": "Sold", "Dimensions": dimensions}]
    now = datetime.now(UTC)
    old = metrics.get_metric_statistics(
        Namespace="Own", MetricName="Past", Period=86_400, Statistics=["Sum"], StartTime=now - timedelta(days=2),
        EndTime=now,
    )["Datapoints"]  # fmt: skip
    assert [point["Sum"] for point in old] == [5]


@pytest.mark.parametrize(
    ("operation", "members", "code"),
    [
        ("get_metric_statistics", {"Period": 7, "Statistics": ["Sum"]}, "InvalidParameterValue"),
        ("get_metric_statistics", {"Period": 60}, "MissingParameter"),
        ("get_metric_statistics", {"Period": 60, "Statistics": ["Sum"], "ExtendedStatistics": ["p9"]},
         "InvalidParameterCombination"),
        ("get_metric_statistics", {"Period": 60, "ExtendedStatistics": ["p101"]}, "InvalidParameterValue"),
        ("get_metric_statistics", {"Period": 1, "Statistics": ["Sum"], "StartTime": 0}, "InvalidParameterCombination"),
        ("get_metric_statistics", {"Period": 60, "Statistics": ["Sum"], "EndTime": 0}, "InvalidParameterValue"),
        ("get_metric_data", {"MetricDataQueries": [{"Id": "a", "Expression": "b +"}]}, "ValidationError"),
        ("get_metric_data", {"MetricDataQueries": [{"Id": "a", "Expression": "a"}]}, "ValidationError"),
        ("get_metric_data", {"MetricDataQueries": [{"Id": "a", "Expression": "1"}]}, "ValidationError"),
        ("get_metric_data", {"MetricDataQueries": [{"Id": "a", "Expression": "SELECT AVG(x) FROM y"}]},
         "ValidationError"),
        ("get_metric_data", {"MetricDataQueries": [{"Id": "a"}]}, "InvalidParameterValue"),
        ("get_metric_data", {"NextToken": "???", "MetricDataQueries": []}, "InvalidNextToken"),
        ("put_metric_data", {"Namespace": "AWS/Own", "MetricData": [{"MetricName": "a", "Value": 1}]},
         "InvalidParameterValue"),
        ("put_metric_data", {"MetricData": [{"MetricName": "a"}]}, "MissingParameter"),
        ("put_metric_data", {"MetricData": []}, "MissingParameter"),
        ("put_metric_data", {"MetricData": [{"MetricName": "a", "Value": 1, "Values": [1]}]},
         "InvalidParameterCombination"),
        ("put_metric_data", {"MetricData": [{"MetricName": "a", "Values": [1], "Counts": []}]},
         "InvalidParameterValue"),
        ("put_metric_data", {"MetricData": [{"MetricName": "a", "Value": 1, "Timestamp": 0}]}, "InvalidParameterValue"),
        ("put_metric_data", {"MetricData": [{"MetricName": "a", "Value": 1, "Unit": "Dozen"}]}, "ValidationError"),
        ("put_dashboard", {"DashboardName": "a b", "DashboardBody": "{}"}, "InvalidParameterInput"),
        ("put_dashboard", {"DashboardName": "a", "DashboardBody": "{"}, "InvalidParameterInput"),
        ("get_dashboard", {"DashboardName": "nobody"}, "ResourceNotFound"),
        ("describe_anomaly_detectors", {}, "InvalidAction"),
    ],
)  # fmt: skip
def test_what_is_refused(own: Server, operation: str, members: dict[str, Any], code: str) -> None:
    given = dict(members)
    if operation.startswith("get_metric"):
        given = {**span(), **given}
    if operation == "get_metric_statistics":
        given = {"Namespace": "Own", "MetricName": "Sold", **given}
    if operation == "put_metric_data":
        given = {"Namespace": "Own", **given}
    with pytest.raises(ClientError) as refused:
        getattr(cloudwatch(own), operation)(**given)
    assert refused.value.response["Error"]["Code"] == code


def test_answers_come_in_pages(own: Server) -> None:
    metrics = cloudwatch(own)
    now = datetime.now(UTC)
    for minutes in range(6):
        for name in ("A", "B"):
            at = now - timedelta(minutes=20 + minutes)
            metrics.put_metric_data(
                Namespace="Paged", MetricData=[{"MetricName": name, "Value": minutes, "Timestamp": at}]
            )
    asked = {
        "MetricDataQueries": [query("a", "Paged", "A", "Sum"), query("b", "Paged", "B", "Sum")],
        "StartTime": now - timedelta(hours=1),
        "EndTime": now,
        "MaxDatapoints": 5,
    }
    seen: dict[str, list[float]] = {"a": [], "b": []}
    token: dict[str, str] = {}
    pages = 0
    while True:
        page = metrics.get_metric_data(**asked, **token)
        pages += 1
        for one in page["MetricDataResults"]:
            seen[one["Id"]] += one["Values"]
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert pages == 3
    assert seen == {"a": [0, 1, 2, 3, 4, 5], "b": [0, 1, 2, 3, 4, 5]}


def test_the_query_protocol_of_older_tools(own: Server) -> None:
    now = datetime.now(UTC)
    fields = {
        "Action": "PutMetricData", "Version": "2010-08-01", "Namespace": "Form", "MetricData.member.1.MetricName": "n",
        "MetricData.member.1.Value": "2.5", "MetricData.member.1.Dimensions.member.1.Name": "k",
        "MetricData.member.1.Dimensions.member.1.Value": "v",
        "MetricData.member.1.Timestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }  # fmt: skip

    def post(form: dict[str, str]) -> str:
        body = urllib.parse.urlencode(form).encode()
        with urllib.request.urlopen(own.url, data=body) as answer:
            text: str = answer.read().decode()
        return text

    assert "<PutMetricDataResponse" in post(fields)
    answer = post(
        {
            "Action": "GetMetricStatistics", "Version": "2010-08-01", "Namespace": "Form", "MetricName": "n",
            "Dimensions.member.1.Name": "k", "Dimensions.member.1.Value": "v", "Period": "60",
            "Statistics.member.1": "Sum", "StartTime": (now - timedelta(minutes=5)).isoformat(),
            "EndTime": (now + timedelta(minutes=1)).isoformat(),
        }
    )  # fmt: skip
    assert re.search(r"<Datapoints><member>.*<Sum>2.5</Sum>.*</member></Datapoints>", answer)
    assert "http://monitoring.amazonaws.com/doc/2010-08-01/" in answer


def test_dashboards_are_kept(own: Server) -> None:
    metrics = cloudwatch(own)
    body = json.dumps({"widgets": []})
    metrics.put_dashboard(DashboardName="main", DashboardBody=body)
    metrics.put_dashboard(DashboardName="main", DashboardBody=body)
    assert metrics.get_dashboard(DashboardName="main")["DashboardBody"] == body
    (entry,) = metrics.list_dashboards(DashboardNamePrefix="ma")["DashboardEntries"]
    assert (entry["DashboardName"], entry["Size"]) == ("main", len(body))
    metrics.delete_dashboards(DashboardNames=["main"])
    assert metrics.list_dashboards()["DashboardEntries"] == []


def test_prometheus_sees_the_same(own: Server) -> None:
    sqs = own.client("sqs")
    name = f"q-{uuid4()}"
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="hello")
    with urllib.request.urlopen(f"{own.url}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    assert f'statewright_sqs_number_of_messages_sent_total{{queue_name="{name}"}} 1' in lines
    assert f'statewright_sqs_sent_message_size_bytes_total{{queue_name="{name}"}} 5' in lines
    assert f'statewright_sqs_approximate_number_of_messages_visible{{queue_name="{name}"}} 1' in lines
    names = [line.partition("{")[0].partition(" ")[0] for line in lines if not line.startswith("#")]
    groups = [name for place, name in enumerate(names) if place == 0 or names[place - 1] != name]
    assert [one for one in groups if not one.startswith("statewright_api_call_seconds")].count(names[-1]) == 1
    assert len({line for line in lines if line.startswith("# TYPE")}) == len(
        [line for line in lines if line.startswith("# TYPE")]
    )


def test_the_command_lists_and_shows(own: Server, capsys: pytest.CaptureFixture[str]) -> None:
    sqs = own.client("sqs")
    name = f"q-{uuid4()}"
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="hello")
    where = ["--endpoint", own.url]
    assert run_command(["metrics", "--queue", name, "-o", "json", *where]) == 0
    listed = json.loads(capsys.readouterr().out)["metrics"]
    assert "NumberOfMessagesSent" in [one["MetricName"] for one in listed]
    assert {one["Dimensions"][0]["Value"] for one in listed} == {name}
    assert (
        run_command(["metrics", "NumberOfMessagesSent", "--queue", name, "--period", "1s", "-o", "json", *where]) == 0
    )
    (one,) = json.loads(capsys.readouterr().out)["metrics"]
    assert (one["statistic"], one["period"], [point["value"] for point in one["points"]]) == ("Sum", 1, [1])
    assert run_command(["metrics", "SentMessageSize", "--queue", name, "--statistic", "p99", *where]) == 0
    said = capsys.readouterr().out
    assert "P99" in said
    assert "1 point" in said
    for arguments, code in (
        (["Nobody"], 3), (["NumberOfMessagesSent", "--queue", "nobody"], 3), (["--dimension", "x"], 2),
        (["--since", "never"], 2), (["NumberOfMessagesSent", "--period", "7s"], 2), (["--machine", "nobody"], 3),
    ):  # fmt: skip
        assert run_command(["metrics", *arguments, *where]) == code, arguments
    assert run_command(["metrics", "--endpoint", "http://127.0.0.1:9"]) == 4


@pytest.mark.slow
def test_minutes_survive_a_stop(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    try:
        url = server.client("sqs").create_queue(QueueName="kept")["QueueUrl"]
        server.client("sqs").send_message(QueueUrl=url, MessageBody="x")
    finally:
        assert server.stop() == 0
    again = Server(tmp_path / "data")
    try:
        assert stats(again, SQS, "NumberOfMessagesSent", QueueName="kept") == 1
        # The queue's depth is read before it is shown.
        assert stats(again, SQS, "ApproximateNumberOfMessagesVisible", "Maximum", QueueName="kept") == 1
    finally:
        assert again.stop() == 0
