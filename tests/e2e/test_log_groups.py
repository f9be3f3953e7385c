"""CloudWatch Logs through boto3 and the AWS CLI: what functions and machines write, own streams, refusals, a kill."""

from __future__ import annotations

import io
import json
import os
import sys
import time
import zipfile
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.deadlines import completed, until
from tests.e2e.conftest import ROLE, Server, ended
from tests.e2e.test_identities import refused

CODE = (
    "def handler(event, context):\n    print('hello', event['n'])\n    print('{\"level\": \"ERROR\"}')\n    return 1\n"
)


@pytest.fixture(scope="module")
def logs(server: Server) -> Any:
    return server.client("logs")


@pytest.fixture
def group(logs: Any) -> str:
    name = f"/own/{uuid4()}"
    logs.create_log_group(logGroupName=name, tags={"k": "v"})
    return name


@pytest.fixture(scope="module")
def function(server: Server) -> str:
    """A function that was invoked three times."""
    name = f"f-{uuid4()}"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("index.py", CODE)
    client = server.client("lambda")
    client.create_function(
        FunctionName=name, Runtime="python3.12", Role=ROLE, Handler="index.handler", Timeout=300,
        Code={"ZipFile": packed.getvalue()},
    )  # fmt: skip
    for number in range(3):
        client.invoke(FunctionName=name, Payload=json.dumps({"n": number}))
    return name


def messages(logs: Any, group: str, **members: Any) -> list[str]:
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group, **members)
    return [event["message"] for page in pages for event in page["events"]]


def test_a_function_s_group(logs: Any, function: str) -> None:
    group = f"/aws/lambda/{function}"
    hello = [f"hello {number}" for number in range(3)]
    assert messages(logs, group, filterPattern="hello") == hello
    assert messages(logs, group, filterPattern="hello", PaginationConfig={"PageSize": 1}) == hello
    assert messages(logs, group, filterPattern='{ $.level = "ERROR" }') == ['{"level": "ERROR"}'] * 3
    assert messages(logs, group, filterPattern="?START ?REPORT -hello") == messages(logs, group, filterPattern="-hello")
    described = logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]
    assert [one["logGroupName"] for one in described] == [group]
    assert described[0]["storedBytes"] > 0
    [stream] = logs.describe_log_streams(logGroupName=group, orderBy="LastEventTime")["logStreams"]
    assert stream["firstEventTimestamp"] <= stream["lastEventTimestamp"]
    name = stream["logStreamName"]
    assert messages(logs, group, logStreamNames=[name], filterPattern="hello") == hello
    future = int(time.time() * 1000) + 60_000
    assert messages(logs, group, startTime=future) == []
    assert messages(logs, group, endTime=future, filterPattern="hello") == hello

    everything = messages(logs, group)
    for from_head in (True, False):
        found: list[str] = []
        page = logs.get_log_events(logGroupName=group, logStreamName=name, startFromHead=from_head, limit=4)
        token = "nextForwardToken" if from_head else "nextBackwardToken"
        while page["events"]:
            taken = [one["message"] for one in page["events"]]
            found = found + taken if from_head else taken + found
            before = page[token]
            page = logs.get_log_events(logGroupName=group, logStreamName=name, nextToken=before, limit=4)
        assert found == everything
        assert page[token] == before


def test_a_machine_s_group(server: Server, logs: Any, sfn: Any) -> None:
    group = f"/aws/vendedlogs/states/{uuid4()}"
    arn = f"arn:aws:logs:us-east-1:000000000000:log-group:{group}:*"
    made = sfn.create_state_machine(
        name=f"m-{uuid4()}", roleArn=ROLE,
        definition=json.dumps({"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}),
        loggingConfiguration={
            "level": "ALL", "includeExecutionData": True,
            "destinations": [{"cloudWatchLogsLogGroup": {"logGroupArn": arn}}],
        },
    )  # fmt: skip
    execution = sfn.start_execution(stateMachineArn=made["stateMachineArn"], input='"cuttlefish"')["executionArn"]
    ended(sfn, execution)

    def last() -> list[str]:
        return (
            messages(logs, group, filterPattern='{ $.type = "ExecutionSucceeded" }')
            if logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]
            else []
        )

    [text] = until(last)
    assert json.loads(text)["execution_arn"] == execution
    assert [json.loads(one)["type"] for one in messages(logs, group)] == [
        "ExecutionStarted", "PassStateEntered", "PassStateExited", "ExecutionSucceeded",
    ]  # fmt: skip
    [stream] = logs.describe_log_streams(logGroupIdentifier=arn[:-2])["logStreams"]
    assert stream["logStreamName"].startswith("states/")
    logs.delete_log_group(logGroupName=group)
    assert logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"] == []


def test_a_machine_leaves_an_empty_stream_in_a_group_that_is_there(logs: Any, sfn: Any, group: str) -> None:
    arn = logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"][0]["arn"]
    logging = {
        "level": "ERROR", "includeExecutionData": False,
        "destinations": [{"cloudWatchLogsLogGroup": {"logGroupArn": arn}}],
    }  # fmt: skip
    definition = json.dumps({"StartAt": "F", "States": {"F": {"Type": "Fail"}}})
    for _ in range(2):
        made = sfn.create_state_machine(
            name=f"m-{uuid4()}", roleArn=ROLE, definition=definition, loggingConfiguration=logging
        )
    [stream] = logs.describe_log_streams(logGroupName=group)["logStreams"]
    assert stream["logStreamName"] == "log_stream_created_by_aws_to_validate_log_delivery_subscriptions"
    sfn.start_execution(stateMachineArn=made["stateMachineArn"])
    until(lambda: len(messages(logs, group)) == 2)
    assert len(logs.describe_log_streams(logGroupName=group)["logStreams"]) == 2


def test_own_streams(logs: Any, group: str) -> None:
    now = int(time.time() * 1000)
    for stream in ("a", "b"):
        logs.create_log_stream(logGroupName=group, logStreamName=stream)
        events = [{"timestamp": now + 10 * number, "message": f"{stream} {number}\n€"} for number in range(5)]
        assert "rejectedLogEventsInfo" not in logs.put_log_events(
            logGroupName=group, logStreamName=stream, logEvents=events
        )
    logs.create_log_stream(logGroupName=group, logStreamName="empty")
    assert messages(logs, group, filterPattern="2") == ["a 2\n€", "b 2\n€"]
    assert messages(logs, group, logStreamNamePrefix="b")[0] == "b 0\n€"
    assert messages(logs, group, startTime=now + 40) == ["a 4\n€", "b 4\n€"]
    assert messages(logs, group, endTime=now) == ["a 0\n€", "b 0\n€"]
    assert len(messages(logs, group, PaginationConfig={"PageSize": 3})) == 10
    page = logs.get_log_events(logGroupName=group, logStreamName="a", limit=2)
    assert [one["message"] for one in page["events"]] == ["a 3\n€", "a 4\n€"]
    assert logs.get_log_events(logGroupName=group, logStreamName="empty")["events"] == []
    streams = logs.describe_log_streams(logGroupName=group, descending=True)["logStreams"]
    assert [one["logStreamName"] for one in streams] == ["empty", "b", "a"]
    pages = logs.get_paginator("describe_log_streams").paginate(logGroupName=group, PaginationConfig={"PageSize": 2})
    assert [len(page["logStreams"]) for page in pages] == [2, 1]
    logs.delete_log_stream(logGroupName=group, logStreamName="a")
    assert messages(logs, group, filterPattern="2") == ["b 2\n€"]


def test_what_is_too_old_or_too_new_is_left_out(logs: Any, group: str) -> None:
    logs.create_log_stream(logGroupName=group, logStreamName="s")
    now, day = int(time.time() * 1000), 86_400_000

    def put(*instants: int) -> Any:
        events = [{"timestamp": at, "message": str(at)} for at in instants]
        return logs.put_log_events(logGroupName=group, logStreamName="s", logEvents=events).get("rejectedLogEventsInfo")

    assert put(now - 15 * day) == {"tooOldLogEventEndIndex": 1}
    assert put(now, now + day // 6) == {"tooNewLogEventStartIndex": 1}
    logs.put_retention_policy(logGroupName=group, retentionInDays=1)
    assert put(now - 2 * day) == {"expiredLogEventEndIndex": 1}
    assert messages(logs, group) == [str(now)]
    logs.delete_retention_policy(logGroupName=group)


def test_retention_and_tags(logs: Any, group: str) -> None:
    logs.put_retention_policy(logGroupName=group, retentionInDays=7)
    shown = logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"][0]
    assert (shown["retentionInDays"], shown["arn"]) == (7, f"arn:aws:logs:us-east-1:000000000000:log-group:{group}:*")
    logs.tag_resource(resourceArn=shown["logGroupArn"], tags={"a": "b"})
    logs.untag_resource(resourceArn=shown["logGroupArn"], tagKeys=["k"])
    assert logs.list_tags_for_resource(resourceArn=shown["logGroupArn"])["tags"] == {"a": "b"}
    logs.tag_log_group(logGroupName=group, tags={"c": "d"})
    logs.untag_log_group(logGroupName=group, tags=["a"])
    assert logs.list_tags_log_group(logGroupName=group)["tags"] == {"c": "d"}


def test_a_group_is_named_by_any_form_of_its_arn(logs: Any, group: str) -> None:
    (shown,) = logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]
    logs.create_log_stream(logGroupName=group, logStreamName="s")
    logs.put_log_events(
        logGroupName=group, logStreamName="s", logEvents=[{"timestamp": int(time.time() * 1000), "message": "m"}]
    )
    for name in (shown["arn"], shown["logGroupArn"], group):
        assert [one["logStreamName"] for one in logs.describe_log_streams(logGroupIdentifier=name)["logStreams"]] == [
            "s"
        ]
        assert [one["message"] for one in logs.filter_log_events(logGroupIdentifier=name)["events"]] == ["m"]
        assert len(logs.get_log_events(logGroupIdentifier=name, logStreamName="s")["events"]) == 1
        assert logs.describe_log_groups(logGroupIdentifiers=[name])["logGroups"][0]["logGroupName"] == group


@pytest.mark.parametrize(
    ("operation", "members", "code", "text"),
    [
        ("filter_log_events", {"logGroupName": "none"}, "ResourceNotFoundException", "log group does not exist."),
        ("filter_log_events", {}, "InvalidParameterException", "Exactly one of logGroupName"),
        ("delete_log_group", {"logGroupName": "none"}, "ResourceNotFoundException", "log group does not exist."),
        ("create_log_group", {"logGroupName": "a b"}, "InvalidParameterException", "'a b' at 'logGroupName'"),
        ("describe_log_groups", {"limit": 51}, "InvalidParameterException", "less than or equal to 50"),
        ("describe_log_groups", {"nextToken": "%"}, "InvalidParameterException", "nextToken is invalid"),
        (
            "start_query",
            {"startTime": 0, "endTime": 1, "queryString": "x"},
            "UnknownOperationException",
            "StartQuery yet",
        ),
        ("list_tags_log_group", {"logGroupName": "none"}, "ResourceNotFoundException", "log group does not exist."),
    ],
)
def test_refusals(logs: Any, operation: str, members: dict[str, Any], code: str, text: str) -> None:
    found = refused(getattr(logs, operation), **members)
    assert (found[0], found[1]) == (code, 400)
    assert text in found[2]


def test_refusals_in_a_group(logs: Any, group: str) -> None:
    now = int(time.time() * 1000)
    one = {"timestamp": now, "message": "m"}
    assert refused(logs.create_log_group, logGroupName=group)[0] == "ResourceAlreadyExistsException"
    in_group = {"logGroupName": group, "logStreamName": "s"}
    assert refused(logs.put_log_events, **in_group, logEvents=[one])[2] == "The specified log stream does not exist."
    assert refused(logs.get_log_events, **in_group)[0] == "ResourceNotFoundException"
    assert refused(logs.delete_log_stream, **in_group)[2] == "The specified log stream does not exist."
    logs.create_log_stream(**in_group)
    assert refused(logs.create_log_stream, **in_group)[0] == "ResourceAlreadyExistsException"
    early = {"timestamp": now - 1, "message": "m"}
    assert "chronological order" in refused(logs.put_log_events, **in_group, logEvents=[one, early])[2]
    early = {"timestamp": now - 90_000_000, "message": "m"}
    assert "more than 24 hours" in refused(logs.put_log_events, **in_group, logEvents=[early, one])[2]
    assert refused(logs.get_log_events, **in_group, nextToken="x/y")[0] == "InvalidParameterException"
    assert refused(logs.filter_log_events, logGroupName=group, nextToken="y")[0] == "InvalidParameterException"
    assert refused(logs.filter_log_events, logGroupName=group, filterPattern="{")[2] == "Invalid filter pattern"
    assert refused(logs.filter_log_events, logGroupName=group, logStreamNames=["no"])[0] == "ResourceNotFoundException"
    assert "retentionInDays" in refused(logs.put_retention_policy, logGroupName=group, retentionInDays=2)[2]


@pytest.mark.slow
def test_what_was_put_outlives_a_kill(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    logs = server.client("logs")
    logs.create_log_group(logGroupName="kept")
    logs.create_log_stream(logGroupName="kept", logStreamName="s")
    one = {"timestamp": int(time.time() * 1000), "message": "m"}
    logs.put_log_events(logGroupName="kept", logStreamName="s", logEvents=[one])
    server.kill()
    server = Server(tmp_path / "data")
    assert messages(server.client("logs"), "kept") == ["m"]
    assert server.stop() == 0


def test_a_task_reads_a_group(logs: Any, sfn: Any, group: str) -> None:
    task = {
        "Type": "Task", "Resource": "arn:aws:states:::aws-sdk:cloudwatchlogs:describeLogGroups",
        "Parameters": {"LogGroupNamePrefix": group}, "End": True,
    }  # fmt: skip
    made = sfn.create_state_machine(
        name=f"m-{uuid4()}", roleArn=ROLE, definition=json.dumps({"StartAt": "T", "States": {"T": task}})
    )
    found = ended(sfn, sfn.start_execution(stateMachineArn=made["stateMachineArn"])["executionArn"])
    assert json.loads(found["output"])["LogGroups"][0]["LogGroupName"] == group


def test_a_rule_writes_to_a_group(server: Server, logs: Any, group: str) -> None:
    events = server.client("events")
    rule = f"r-{uuid4()}"
    events.put_rule(Name=rule, EventPattern=json.dumps({"source": [rule]}))
    arn = f"arn:aws:logs:us-east-1:000000000000:log-group:{group}"
    assert events.put_targets(Rule=rule, Targets=[{"Id": "t", "Arn": arn}])["FailedEntryCount"] == 0
    events.put_events(Entries=[{"Source": rule, "DetailType": "d", "Detail": '{"n": 1}'}])
    [text] = until(lambda: messages(logs, group, filterPattern="{ $.detail.n = 1 }"))
    assert json.loads(text)["source"] == rule


def test_the_aws_cli(server: Server, function: str) -> None:
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("AWS_")},
        "AWS_ENDPOINT_URL": server.url, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }  # fmt: skip
    command = [sys.executable, "-m", "awscli", "logs", "filter-log-events", "--log-group-name",
               f"/aws/lambda/{function}", "--filter-pattern", "hello", "--output", "json"]  # fmt: skip
    done = completed(command, env=environment)
    assert done.returncode == 0, done.stderr
    assert [one["message"] for one in json.loads(done.stdout)["events"]] == ["hello 0", "hello 1", "hello 2"]
