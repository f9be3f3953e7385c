"""Two nodes on one PostgreSQL, each a process: any of them answers any call, by real clients."""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright import __version__
from statewright.stores.postgres.cells.membership import FORMATS
from tests.crash.test_clock_jumps import Wall
from tests.deadlines import completed, until
from tests.e2e.conftest import ROLE, Command, Server, ended
from tests.e2e.systems import zipped
from tests.e2e.test_console_actions import asked
from tests.postgres_server import server_or_skip

Pair = tuple[Server, Server]


@pytest.fixture(scope="module")
def address() -> str:
    return server_or_skip().new_database()


@pytest.fixture(scope="module")
def pair(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """The home's node, and another one. Both have cells."""
    folder = tmp_path_factory.mktemp("nodes")
    home = Server(folder / "a", "--store", address, "--node", "a", "--cells", "5")
    other = Server(folder / "b", "--store", address, "--node", "b")
    until(lambda: [one["cells"] for one in shown(other)] == [2, 2], "a fair share of the cells")
    yield home, other
    assert (other.stop(), home.stop()) == (0, 0)


def shown(node: Server) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = listed(node)["nodes"]
    return found


def listed(node: Server) -> dict[str, Any]:
    """The answer of `ListNodes`."""
    headers = {"x-amz-target": "Statewright.ListNodes", "content-type": "application/x-amz-json-1.0"}
    with urllib.request.urlopen(urllib.request.Request(node.url, b"{}", headers)) as answer:
        found: dict[str, Any] = json.loads(answer.read())
        return found


def made(node: Server, name: str, start: str, **states: Any) -> str:
    definition = json.dumps({"StartAt": start, "States": states})
    arn: str = node.client().create_state_machine(name=name, definition=definition, roleArn=ROLE)["stateMachineArn"]
    return arn


def started(nodes: Pair, arn: str, many: int, **given: Any) -> list[str]:
    """Executions that were started at the nodes in turn."""
    return [
        nodes[number % 2].client().start_execution(stateMachineArn=arn, **given)["executionArn"]
        for number in range(many)
    ]


def test_each_shows_both(pair: Pair) -> None:
    for node in pair:
        assert [
            (one["name"], one["address"], one["isHome"], one["isAnswering"], one["executionsInMemory"] >= 0)
            for one in shown(node)
        ] == [("a", pair[0].url, True, True, True), ("b", pair[1].url, False, True, True)]
        assert {(one["version"], one["newestFormat"]) for one in shown(node)} == {(__version__, FORMATS[-1])}
        assert listed(node)["format"] == FORMATS[-1]
        # One machine, one clock.
        assert all(abs(one["clockAheadMs"]) < 500 for one in shown(node))


def test_health_and_metrics_of_a_node(pair: Pair) -> None:
    for name, node in zip("ab", pair, strict=True):
        health = json.loads(fetched(f"{node.url}/health"))
        assert (health["status"], health["node"], health["cells"], health["home"]) == ("ready", name, 2, "a")
        assert health["store"] in (("unchecked", "sound") if name == "a" else ("unchecked",))
        node.client().list_state_machines()
        figures = dict(line.rsplit(" ", 1) for line in fetched(f"{node.url}/metrics").splitlines() if line[0] != "#")
        assert float(figures["statewright_node_cells"]) == 2
        assert float(figures["statewright_node_has_home"]) == (name == "a")
        assert float(figures["statewright_node_calls_total"]) > 0
        assert (float(figures["statewright_node_requests_passed_on_total"]) > 0) == (name == "b")


def test_commands_show_the_nodes(pair: Pair, statewright: Command) -> None:
    for node in pair:
        table = statewright("nodes", "--endpoint", node.url).out
        assert [line.split()[:4] for line in table.splitlines()[1:]] == [
            ["a", pair[0].url, __version__, "2"],
            ["b", pair[1].url, __version__, "2"],
        ]
        found = statewright("doctor", "--endpoint", node.url, "-o", "json").json
        checks = {one["name"]: one for one in found["checks"]}
        assert (checks["nodes"]["status"], len(checks["nodes"]["nodes"])) == ("ok", 2)
        assert f"a at {pair[0].url}, 2 cells, the home, clock " in checks["nodes"]["message"]
        assert checks["server"]["message"].endswith(" of a cluster")


def fetched(url: str) -> str:
    with urllib.request.urlopen(url) as answer:
        text: str = answer.read().decode()
        return text


def test_tasks_of_every_kind_happen_once_wherever_they_run(pair: Pair) -> None:
    _, other = pair
    url = other.client("sqs").create_queue(QueueName="counted")["QueueUrl"]
    assert url.startswith(other.url)
    table = {"TableName": "counts", "BillingMode": "PAY_PER_REQUEST"}
    other.client("dynamodb").create_table(
        **table,
        KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
    )
    code = zipped(own="def handler(event, context):\n    return {'doubled': 2 * event['n']}\n")
    settings = {"Runtime": "python3.12", "Handler": "own.handler", "Role": ROLE, "Code": {"ZipFile": code}}
    other.client("lambda").create_function(FunctionName="double", **settings)
    update = {"TableName": "counts", "Key": {"key": {"S": "all"}}, "UpdateExpression": "ADD n :one"}
    arn = made(
        other, "kinds", "Send",
        Send={
            "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "ResultPath": None, "Next": "Count",
            "Parameters": {"QueueUrl": url, "MessageBody.$": "$$.Execution.Id"},
        },
        Count={
            "Type": "Task", "Resource": "arn:aws:states:::dynamodb:updateItem", "ResultPath": None, "Next": "Double",
            "Parameters": {**update, "ExpressionAttributeValues": {":one": {"N": "1"}}},
        },
        Double={
            "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "OutputPath": "$.Payload", "Next": "Wait",
            "Parameters": {"FunctionName": "double", "Payload": {"n.$": "$.n"}},
        },
        Wait={"Type": "Wait", "Seconds": 1, "End": True},
    )  # fmt: skip
    executions = started(pair, arn, 8, input='{"n": 21}')
    for place, execution in enumerate(executions):
        found = ended(pair[(place + 1) % 2].client(), execution)
        assert (found["status"], json.loads(found.get("output", "null"))) == ("SUCCEEDED", {"doubled": 42}), found.get(
            "cause"
        )
    item = other.client("dynamodb").get_item(TableName="counts", Key={"key": {"S": "all"}}, ConsistentRead=True)
    assert item["Item"]["n"] == {"N": "8"}
    bodies = set()
    while batch := other.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        bodies |= {one["Body"] for one in batch}
    assert bodies == set(executions)


def test_answers_and_stops_reach_executions_elsewhere(pair: Pair) -> None:
    home, other = pair
    url = home.client("sqs").create_queue(QueueName="tokens")["QueueUrl"]
    asked = {"QueueUrl": url, "MessageBody": {"token.$": "$$.Task.Token"}}
    resource = "arn:aws:states:::sqs:sendMessage.waitForTaskToken"
    arn = made(home, "waits", "Ask", Ask={"Type": "Task", "Resource": resource, "Parameters": asked, "End": True})
    executions = started(pair, arn, 5)
    tokens: list[str] = []
    while len(tokens) < 5:
        received = other.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=5)
        tokens += [json.loads(one["Body"])["token"] for one in received.get("Messages", ())]
    for place, token in enumerate(tokens[:4]):
        pair[place % 2].client().send_task_heartbeat(taskToken=token)
        pair[(place + 1) % 2].client().send_task_success(taskToken=token, output=str(place))
    with pytest.raises(ClientError, match="TaskTimedOut"):
        other.client().send_task_success(taskToken=tokens[0], output="1")
    for execution in executions:
        home.client().stop_execution(executionArn=execution)
    assert sorted(ended(other.client(), one)["status"] for one in executions) == ["ABORTED"] + ["SUCCEEDED"] * 4


def test_the_console_shows_and_answers_executions_of_all_nodes(pair: Pair, statewright: Command) -> None:
    home, other = pair
    url = home.client("sqs").create_queue(QueueName="asked")["QueueUrl"]
    ask = {
        "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
        "Parameters": {"QueueUrl": url, "MessageBody.$": "$$.Task.Token"}, "End": True,
    }  # fmt: skip
    each = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "Each"}
    run = {"Type": "Map", "Label": "each", "ItemsPath": "$.items", "End": True}
    branches = [
        {"StartAt": "Ask", "States": {"Ask": ask}},
        {"StartAt": "Map", "States": {"Map": {**run, "ItemProcessor": {**each, "States": {"Each": ask}}}}},
    ]
    arn = made(other, "shown", "Both", Both={"Type": "Parallel", "Branches": branches, "End": True})
    executions = started(pair, arn, 4, input='{"items": [1]}')
    at = {shown_by(node, execution, statewright) for node in pair for execution in executions}
    assert at == {"a", "b"}
    for node, execution in zip((other, home, home, other), executions, strict=True):
        (task,) = asked(node, "run/waiting", arn=execution)["tasks"]
        node.client().send_task_success(taskToken=task["token"], output="1")
        assert asked(home, "run/waiting", arn=execution)["tasks"] == []
        node.client().stop_execution(executionArn=execution)


def shown_by(node: Server, execution: str, statewright: Command) -> str:
    """The node that has an execution, which is shown whole by the console of this one."""
    tasks = until(lambda: asked(node, "run/waiting", arn=execution)["tasks"], "a task that waits")
    assert [one["state"] for one in tasks] == ["Ask"]
    runs = until(lambda: node.client().list_map_runs(executionArn=execution)["mapRuns"], "a Map Run")

    def has_child() -> bool:
        found = asked(node, "map-run", arn=runs[0]["mapRunArn"])
        return bool(found["mapRun"]["itemCounts"]["running"] == 1)

    until(has_child, "a child execution")
    assert json.loads(asked(node, "fork", arn=execution, state="Both")["input"]) == {"items": [1]}
    where: str = asked(node, "run", arn=execution)["node"]
    found = statewright("nodes", "--execution", execution, "--endpoint", node.url, "-o", "json").json["nodes"]
    assert [one["name"] for one in found] == [where]
    return where


def test_an_execution_waits_for_its_child_and_a_map_run_writes_its_results(pair: Pair) -> None:
    home, other = pair
    other.client("s3").create_bucket(Bucket="results")
    child = made(other, "child", "Pass", Pass={"Type": "Pass", "Result": 5, "End": True})
    nested = {"StateMachineArn": child, "Input": {}}
    each = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "P"}
    written = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "results", "Prefix": "all"}}
    arn = made(
        home, "parent", "Child",
        Child={
            "Type": "Task", "Resource": "arn:aws:states:::states:startExecution.sync:2", "Parameters": nested,
            "ResultPath": None, "Next": "Map",
        },
        Map={
            "Type": "Map", "Label": "each", "ItemsPath": "$.items", "ResultWriter": written, "End": True,
            "ItemProcessor": {**each, "States": {"P": {"Type": "Pass", "End": True}}},
        },
    )  # fmt: skip
    for place, execution in enumerate(started(pair, arn, 2, input='{"items": [1, 2, 3, 4]}')):
        found = ended(pair[1 - place].client(), execution)
        assert found["status"] == "SUCCEEDED", found.get("cause")
        for node in pair:
            (run,) = node.client().list_map_runs(executionArn=execution)["mapRuns"]
            counts = node.client().describe_map_run(mapRunArn=run["mapRunArn"])["itemCounts"]
            assert (counts["succeeded"], counts["resultsWritten"]) == (4, 4)
    keys = [one["Key"] for one in other.client("s3").list_objects_v2(Bucket="results")["Contents"]]
    assert len(keys) == 4


def test_machines_with_activities_run_at_the_home(pair: Pair) -> None:
    _, other = pair
    activity = other.client().create_activity(name="by-hand")["activityArn"]
    arn = made(other, "asks", "Ask", Ask={"Type": "Task", "Resource": activity, "End": True})
    (execution,) = started((other, other), arn, 1)
    task = other.client().get_activity_task(activityArn=activity)
    other.client().send_task_success(taskToken=task["taskToken"], output='"done"')
    assert ended(other.client(), execution)["output"] == '"done"'


def test_synchronous_express_executions_run_where_they_are_asked_for(pair: Pair) -> None:
    home, other = pair
    definition = json.dumps({"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}})
    given = {"name": "fast", "definition": definition, "roleArn": ROLE, "type": "EXPRESS"}
    arn = other.client().create_state_machine(**given)["stateMachineArn"]
    for node in (home, other):
        done = node.client().start_sync_execution(stateMachineArn=arn, input='{"n":1}')
        assert (done["status"], done["output"]) == ("SUCCEEDED", '{"n":1}')


def test_events_start_executions_at_all_nodes(pair: Pair) -> None:
    _, other = pair
    arn = made(other, "by-event", "P", P={"Type": "Pass", "End": True})
    events, executions = other.client("events"), other.client()
    events.put_rule(Name="by-event", EventPattern=json.dumps({"source": ["shop"]}))
    events.put_targets(Rule="by-event", Targets=[{"Id": "1", "Arn": arn, "RoleArn": ROLE}])
    events.put_events(Entries=[{"Source": "shop", "DetailType": "t", "Detail": "{}"}] * 4)

    def done() -> list[str]:
        found = executions.list_executions(stateMachineArn=arn, statusFilter="SUCCEEDED")["executions"]
        return [one["executionArn"] for one in found] if len(found) == 4 else []

    assert {asked(other, "run", arn=one)["node"] for one in until(done, "the executions")} == {"a", "b"}


TOGETHER = """
import json, os, time, urllib.request

def ask(operation, **request):
    headers = {"x-amz-target": "AmazonSQS." + operation, "content-type": "application/x-amz-json-1.0"}
    body = json.dumps(request).encode()
    with urllib.request.urlopen(urllib.request.Request(os.environ["AWS_ENDPOINT_URL"], body, headers)) as answer:
        return json.loads(answer.read())

def handler(event, context):
    queue = {"QueueUrl": event["queue"]}
    ask("SendMessage", MessageBody=os.environ["AWS_ENDPOINT_URL"], **queue)
    while ask("GetQueueAttributes", AttributeNames=["All"], **queue)["Attributes"]["ApproximateNumberOfMessages"] < "3":
        time.sleep(0.1)
"""
"""Each call ends once three are under way."""


def test_functions_that_events_invoke_run_at_all_nodes(pair: Pair) -> None:
    _, other = pair
    functions, queues = other.client("lambda"), other.client("sqs")
    url = queues.create_queue(QueueName="together")["QueueUrl"]
    settings = {"Runtime": "python3.12", "Handler": "own.handler", "Role": ROLE, "Timeout": 900}
    functions.create_function(FunctionName="together", **settings, Code={"ZipFile": zipped(own=TOGETHER)})
    for _ in range(3):
        body = json.dumps({"queue": url}).encode()
        functions.invoke(FunctionName="together", InvocationType="Event", Payload=body)

    def all_three() -> list[dict[str, Any]]:
        found = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        if found["ApproximateNumberOfMessages"] != "3":
            return []
        messages: list[dict[str, Any]] = queues.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0
        )["Messages"]
        return messages

    at = {one["Body"].rpartition(":")[2] for one in until(all_three, "three invocations at once")}
    assert at == {str(node.port) for node in pair}


def test_a_changed_function_is_known_to_both_once_the_change_is_answered(pair: Pair) -> None:
    _, other = pair

    def code(number: int) -> dict[str, bytes]:
        return {"ZipFile": zipped(own=f"def handler(event, context):\n    return {number}\n")}

    settings = {"Runtime": "python3.12", "Handler": "own.handler", "Role": ROLE}
    functions = other.client("lambda")
    functions.create_function(FunctionName="changed", **settings, Code=code(0))
    task = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "OutputPath": "$.Payload", "End": True}
    definition = {"StartAt": "T", "States": {"T": {**task, "Parameters": {"FunctionName": "changed"}}}}
    arn = other.client().create_state_machine(
        name="calls-changed", definition=json.dumps(definition), roleArn=ROLE, type="EXPRESS"
    )["stateMachineArn"]
    for number in range(1, 4):
        functions.update_function_code(FunctionName="changed", **code(number))
        done = [node.client().start_sync_execution(stateMachineArn=arn) for node in pair]
        assert [one.get("output") for one in done] == [str(number)] * 2, done


def test_a_changed_machine_is_known_to_both_once_the_change_is_answered(pair: Pair) -> None:
    _, other = pair

    def definition(number: int) -> str:
        return json.dumps({"StartAt": "P", "States": {"P": {"Type": "Pass", "Result": number, "End": True}}})

    machines = other.client()
    given = {"name": "changing", "roleArn": ROLE, "type": "EXPRESS", "definition": definition(0)}
    arn = machines.create_state_machine(**given)["stateMachineArn"]

    def outputs() -> list[str]:
        return [node.client().start_sync_execution(stateMachineArn=arn)["output"] for node in pair]

    assert outputs() == ["0", "0"]
    for number in range(1, 20):
        machines.update_state_machine(stateMachineArn=arn, definition=definition(number))
        assert outputs() == [str(number)] * 2
    machines.delete_state_machine(stateMachineArn=arn)
    for node in pair:
        with pytest.raises(ClientError, match="StateMachineDoesNotExist"):
            node.client().start_sync_execution(stateMachineArn=arn)


def test_metrics_of_both_are_counted_at_the_home(pair: Pair) -> None:
    _, other = pair
    arn = made(other, "measured", "P", P={"Type": "Pass", "End": True})
    for execution in started((other, other), arn, 3):
        ended(other.client(), execution)
    wanted = {
        "Namespace": "AWS/States", "MetricName": "ExecutionsSucceeded", "Period": 3600, "Statistics": ["Sum"],
        "Dimensions": [{"Name": "StateMachineArn", "Value": arn}],
        "StartTime": time.time() - 7200, "EndTime": time.time() + 7200,
    }  # fmt: skip

    def counted() -> bool:
        points = other.client("cloudwatch").get_metric_statistics(**wanted)["Datapoints"]
        return bool(sum(one["Sum"] for one in points) == 3)

    until(counted, "the counts of the other node")


def test_logs_of_both_are_in_the_log_groups(pair: Pair) -> None:
    _, other = pair
    code = zipped(own="def handler(event, context):\n    print('hello', event['id'])\n    return 1\n")
    settings = {"Runtime": "python3.12", "Handler": "own.handler", "Role": ROLE, "Code": {"ZipFile": code}}
    other.client("lambda").create_function(FunctionName="prints", **settings)
    patterns = {"orders": '{ $.type = "ExecutionSucceeded" }', "/aws/lambda/prints": "hello"}
    logs = other.client("logs")
    for group, pattern in patterns.items():
        logs.create_log_group(logGroupName=group)
        logs.put_metric_filter(
            logGroupName=group, filterName="counted", filterPattern=pattern,
            metricTransformations=[{"metricNamespace": "Own", "metricName": group, "metricValue": "1"}],
        )  # fmt: skip
    task = {"Resource": "arn:aws:states:::lambda:invoke", "End": True}
    call = {"FunctionName": "prints", "Payload": {"id.$": "$$.Execution.Id"}}
    group_arn = "arn:aws:logs:us-east-1:000000000000:log-group:orders:*"
    made = other.client().create_state_machine(
        name="logged", roleArn=ROLE,
        definition=json.dumps({"StartAt": "P", "States": {"P": {"Type": "Task", "Parameters": call, **task}}}),
        loggingConfiguration={
            "level": "ALL", "includeExecutionData": True,
            "destinations": [{"cloudWatchLogsLogGroup": {"logGroupArn": group_arn}}],
        },
    )  # fmt: skip
    executions = started(pair, made["stateMachineArn"], 4)
    for execution in executions:
        assert ended(other.client(), execution)["status"] == "SUCCEEDED"

    def logged(node: Server, group: str) -> list[str]:
        pages = node.client("logs").get_paginator("filter_log_events")
        found = pages.paginate(logGroupName=group, filterPattern=patterns[group])
        messages = [event["message"] for page in found for event in page["events"]]
        return [one.split()[1] if one.startswith("hello") else json.loads(one)["execution_arn"] for one in messages]

    def counted(group: str) -> bool:
        wanted = {"Namespace": "Own", "MetricName": group, "Period": 3600, "Statistics": ["Sum"]}
        window = {"StartTime": time.time() - 7200, "EndTime": time.time() + 7200}
        points = other.client("cloudwatch").get_metric_statistics(**wanted, **window)["Datapoints"]
        return bool(sum(one["Sum"] for one in points) == 4)

    for group in patterns:
        for node in pair:
            # At once: a read has workers send what they have.
            assert sorted(logged(node, group)) == sorted(executions)
        until(lambda: counted(group), f"a count of {group}")  # noqa: B023


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--node", "b"), "the name b is in use by the node at "),
        ((), "is in use by a cluster, of which the node a at {a} lives"),
        (("--node", "c", "--advertise", "{a}"), "--advertise {a} does not lead to this node: the node a answers there"),
        (("--node", "c", "--host", "0.0.0.0"), "a node that listens on 0.0.0.0 needs --advertise http://HOST:PORT"),
    ],
)
def test_servers_that_cannot_join_are_refused(
    pair: Pair, tmp_path: Path, address: str, options: tuple[str, ...], words: str
) -> None:
    given = [one.format(a=pair[0].url) for one in options]
    assert words.format(a=pair[0].url) in refused(tmp_path, address, *given)
    assert [(one["name"], one["cells"]) for one in shown(pair[1])] == [("a", 2), ("b", 2)]


def test_a_clock_far_from_the_databases_is_refused(
    pair: Pair, tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    del pair
    Wall(tmp_path, monkeypatch).set(-60)
    assert "the clock of this machine is 60.0 s behind the database's" in refused(tmp_path, address, "--node", "c")


def refused(folder: Path, address: str, *options: str) -> str:
    """The error output of a server that refuses to start."""
    settings = folder / "statewright.toml"
    settings.write_text('[credentials]\nAKIAEXAMPLE = "secret"\n')
    command = [sys.executable, "-m", "statewright.cli.main", "serve", "--port", "0", "--data", str(folder / "data")]
    done = completed([*command, "--config", str(settings), "--store", address, *options])
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def test_wrong_calls_are_answered_as_everywhere(pair: Pair) -> None:
    for node in pair:
        with pytest.raises(ClientError, match="StateMachineDoesNotExist"):
            node.client().start_execution(stateMachineArn=f"arn:aws:states:us-east-1:{'0' * 12}:stateMachine:none")
        with pytest.raises(ClientError, match="ExecutionDoesNotExist"):
            node.client().stop_execution(executionArn=f"arn:aws:states:us-east-1:{'0' * 12}:execution:none:one")
        with pytest.raises(ClientError, match="InvalidToken"):
            node.client().send_task_success(taskToken="no token", output="1")
        with pytest.raises(ClientError, match="InvalidName"):
            node.client().create_state_machine(name="no name", definition="{}", roleArn=ROLE)
