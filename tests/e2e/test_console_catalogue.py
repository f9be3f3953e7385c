"""The console's reads and actions of schedules, topics, tables, objects, jobs, buses, APIs and stacks."""

from __future__ import annotations

import base64
import json
import urllib.parse
import urllib.request
from typing import Any

import pytest

from tests.deadlines import until
from tests.e2e.conftest import ROLE
from tests.e2e.console_calls import call, lines, post, read

HOSTILE = "a</script>\u202e"


@pytest.fixture
def queue(server, request):
    """URL and ARN of a queue of the test's own: a rate fires as soon as it is created."""
    sqs = server.client("sqs")
    url = sqs.create_queue(QueueName=request.node.name[:80])["QueueUrl"]
    return url, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def received(server: Any, url: str) -> str:
    """The body of the next message."""
    found = server.client("sqs").receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"][0]
    server.client("sqs").delete_message(QueueUrl=url, ReceiptHandle=found["ReceiptHandle"])
    return str(found["Body"])


def schedule(server: Any, name: str, expression: str, target: str, **more: Any) -> None:
    server.client("scheduler").create_schedule(
        Name=name, ScheduleExpression=expression, FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": target, "RoleArn": ROLE, "Input": '{"by": "hand"}'}, **more,
    )  # fmt: skip


# ------------------------------------------------------------------ schedules


def test_schedules_and_rules_with_schedules_are_one_list(server, queue):
    schedule(server, "list-nightly", "cron(30 2 * * ? *)", queue[1], ScheduleExpressionTimezone="Europe/Berlin")
    schedule(server, "list-paused", "rate(1 day)", queue[1], State="DISABLED")
    server.client("events").put_rule(Name="list-hourly", ScheduleExpression="rate(1 hour)")
    server.client("events").put_rule(Name="list-by-pattern", EventPattern='{"source": ["a"]}')
    rows = read(server, "schedules", q="LIST-")["rows"]
    assert [(row["kind"], row["name"], row["words"]) for row in rows] == [
        ("schedule", "list-nightly", "at 02:30, every day"),
        ("schedule", "list-paused", "every day"),
        ("rule", "list-hourly", "every hour"),
    ]
    assert [len(row["nextMs"]) for row in rows] == [1, 0, 1]
    pages, cursor = [], ""
    while cursor is not None:
        page = read(server, "schedules", q="list-", limit=1, cursor=cursor)
        pages += [row["name"] for row in page["rows"]]
        cursor = page["next"]
    assert pages == ["list-nightly", "list-paused", "list-hourly"]
    assert [row["name"] for row in read(server, "schedules", q="list-", state="DISABLED")["rows"]] == ["list-paused"]


def test_a_schedule_has_its_next_instants(server, queue):
    schedule(server, "next", "rate(1 day)", queue[1])
    found = read(server, "schedule", id="schedule:default/next")
    steps = {after - before for before, after in zip(found["nextMs"], found["nextMs"][1:], strict=False)}
    assert (len(found["nextMs"]), steps) == (5, {86_400_000})
    assert found["request"]["Target"]["Input"] == '{"by": "hand"}'
    refused = read(server, "schedule", id="schedule:default/missing")
    assert (refused["httpStatus"], refused["error"]) == (400, "ResourceNotFoundException")


def test_an_expression_is_explained_as_it_is_typed(server):
    found = read(server, "schedules/preview", expression="cron(0 8 ? * MON-FRI *)", zone="Europe/Berlin")
    assert (found["words"], len(found["nextMs"])) == ("at 08:00, Monday to Friday", 5)
    for wrong in ({"expression": "rate(0 minutes)"}, {"expression": "rate(1 day)", "zone": "Mars/Olympus"}):
        assert read(server, "schedules/preview", **wrong)["error"] == "ValidationException"


def test_a_schedule_runs_now_even_while_it_is_paused(server, queue):
    schedule(server, "by-hand", "rate(1 day)", queue[1], State="DISABLED")
    assert post(server, "schedule/run", {"id": "schedule:default/by-hand"})["invocations"] == 1
    assert received(server, queue[0]) == '{"by": "hand"}'
    found = until(lambda: read(server, "schedule", id="schedule:default/by-hand")["last"])
    assert (found["what"], found["target"]) == ("delivered", queue[1])
    assert read(server, "schedule", id="schedule:default/by-hand")["state"] == "DISABLED"


def test_the_execution_that_a_schedule_starts_is_named(server):
    sfn = server.client("stepfunctions")
    definition = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    machine = sfn.create_state_machine(name="by-schedule", definition=definition, roleArn=ROLE)["stateMachineArn"]
    schedule(server, "starts", "rate(1 day)", machine, State="DISABLED")
    arn = post(server, "schedule/run", {"id": "schedule:default/starts"})["execution"]
    last = until(lambda: read(server, "schedule", id="schedule:default/starts")["last"])
    assert last["execution"] == arn
    assert json.loads(sfn.describe_execution(executionArn=arn)["input"]) == {"by": "hand"}


def test_a_failed_delivery_is_the_last_outcome(server):
    schedule(server, "broken", "rate(1 day)", "arn:aws:lambda:us-east-1:000000000000:function:gone", State="DISABLED")
    post(server, "schedule/run", {"id": "schedule:default/broken"})
    last = until(lambda: read(server, "schedule", id="schedule:default/broken")["last"])
    assert (last["what"], last["error"], last["execution"]) == ("given up", "ResourceNotFoundException", None)


def test_a_rule_with_a_schedule_runs_now(server, queue):
    events = server.client("events")
    events.put_rule(Name="run-rule", ScheduleExpression="rate(1 day)", State="DISABLED")
    events.put_targets(Rule="run-rule", Targets=[{"Id": "1", "Arn": queue[1]}])
    assert post(server, "schedule/run", {"id": "rule:default/run-rule"})["invocations"] == 1
    assert json.loads(received(server, queue[0]))["detail-type"] == "Scheduled Event"
    events.put_rule(Name="run-pattern", EventPattern='{"source": ["a"]}')
    assert post(server, "schedule/run", {"id": "rule:default/run-pattern"})["httpStatus"] == 400


def test_a_schedule_is_paused_by_its_own_operations(server, queue):
    schedule(server, "toggle", "rate(1 day)", queue[1])
    now = call(server, "scheduler", "GetSchedule", Name="toggle")
    kept = {name: now[name] for name in ("Name", "ScheduleExpression", "Target", "FlexibleTimeWindow")}
    assert call(server, "scheduler", "UpdateSchedule", **kept, State="DISABLED")["httpStatus"] == 200
    assert read(server, "schedule", id="schedule:default/toggle")["state"] == "DISABLED"
    assert call(server, "scheduler", "CreateScheduleGroup", Name="g")["error"] == "AccessDenied"


# ------------------------------------------------------------------ topics


def test_a_topic_shows_its_subscriptions_and_what_failed(server, queue):
    sns = server.client("sns")
    arn = sns.create_topic(Name="catalogue")["TopicArn"]
    policy = json.dumps({"kind": [HOSTILE]})
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue[1], Attributes={"FilterPolicy": policy})
    missing = "arn:aws:lambda:us-east-1:000000000000:function:missing"
    sns.subscribe(TopicArn=arn, Protocol="lambda", Endpoint=missing)
    (row,) = read(server, "topics", q="CATA")["rows"]
    assert (row["name"], row["subscriptions"], row["filtered"], row["deadLetters"]) == ("catalogue", 2, 1, 0)
    found = read(server, "topic", arn=arn, limit=1)
    assert [one["filterPolicy"] for one in found["subscriptions"]] == [policy]
    rest = read(server, "topic", arn=arn, limit=1, cursor=found["next"])
    assert ([one["endpoint"] for one in rest["subscriptions"]], rest["next"]) == ([missing], None)
    assert call(server, "sns", "Publish", TopicArn=arn, Message="hello")["httpStatus"] == 200
    figures = until(
        lambda: next((one for one in [read(server, "topic", arn=arn)["figures"]] if one["failed"]), None)
    )  # fmt: skip
    assert (figures["published"], figures["filtered"], figures["failed"]) == (1, 1, 1)


# ------------------------------------------------------------------ tables


@pytest.fixture(scope="module")
def table(server):
    dynamodb = server.client("dynamodb")
    dynamodb.create_table(
        TableName="catalogue", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
    )  # fmt: skip
    dynamodb.put_item(TableName="catalogue", Item={"k": {"S": HOSTILE}, "n": {"N": "12345678901234567890.5"}})
    return "catalogue"


def test_tables_have_counts(server, table):
    (row,) = read(server, "tables", q="catalogue")["rows"]
    assert (row["items"], row["hash"], row["range"], row["stream"], row["ttl"]) == (1, "k", "", None, None)


def test_items_keep_their_numbers_and_bytes(server, table):
    item = {"k": {"S": "bytes"}, "b": {"B": base64.b64encode(b"\0\xff").decode()}, "n": {"N": "1" * 38}}
    assert call(server, "dynamodb", "PutItem", TableName=table, Item=item)["httpStatus"] == 200
    assert call(server, "dynamodb", "GetItem", TableName=table, Key={"k": {"S": "bytes"}})["Item"] == item
    stored = server.client("dynamodb").get_item(TableName=table, Key={"k": {"S": "bytes"}})["Item"]
    assert stored["b"]["B"] == b"\0\xff"


def test_statements_only_read(server, table):
    found = post(server, "tables/select", {"statement": f"SELECT * FROM {table} WHERE k = '{HOSTILE}'"})
    assert found["items"] == [{"k": {"S": HOSTILE}, "n": {"N": "12345678901234567890.5"}}]
    for statement in (
        f"DELETE FROM {table} WHERE k = 'bytes'",
        f"INSERT INTO {table} VALUE {{'k': 'new'}}",
        f"UPDATE {table} SET n = 1 WHERE k = 'bytes'",
    ):
        assert post(server, "tables/select", {"statement": statement})["error"] == "AccessDenied"
    assert post(server, "tables/select", {"statement": "SELECT"})["error"] == "ValidationException"
    assert call(server, "dynamodb", "ExecuteStatement", Statement="x")["error"] == "AccessDenied"


# ------------------------------------------------------------------ objects


@pytest.fixture(scope="module")
def bucket(server):
    s3 = server.client("s3")
    s3.create_bucket(Bucket="catalogue")
    s3.put_bucket_versioning(Bucket="catalogue", VersioningConfiguration={"Status": "Enabled"})
    return "catalogue"


PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_folders_are_read_page_by_page(server, bucket):
    s3 = server.client("s3")
    for key in ("f/a/1", "f/b", "f/c", f"f/{HOSTILE}x", "other"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")
    names, cursor = [], ""
    while cursor is not None:
        page = read(server, "objects", bucket=bucket, prefix="f/", limit=2, cursor=cursor)
        names += [(row["name"], row["isFolder"]) for row in page["rows"]]
        cursor = page["next"]
    assert sorted(names) == sorted([("a/", True), ("b", False), ("c", False), ("a</", True)])
    assert [row["name"] for row in read(server, "objects", bucket=bucket, prefix="f/", q="b")["rows"]] == ["b"]
    assert read(server, "objects", bucket="missing-bucket")["error"] == "NoSuchBucket"


def test_a_preview_is_what_the_bytes_are(server, bucket):
    s3 = server.client("s3")
    contents = {
        "pixel.txt": (PIXEL, "text/plain"),
        "picture.svg": (b"<svg><script>alert(1)</script></svg>", "image/svg+xml"),
        "fake.png": (b"<script>alert(1)</script>", "image/png"),
        "bytes.txt": (b"\0\1\2", "text/plain"),
        "long.txt": ("ä".encode() * 150_000, "text/plain"),
        "empty": (b"", "text/plain"),
        "long.png": (PIXEL + b"\0" * 1_000_000, "image/png"),
    }
    for key, (body, kind) in contents.items():
        s3.put_object(Bucket=bucket, Key=key, Body=body, ContentType=kind, Metadata={"by": "test"}, Tagging="t=1")
    found = {key: read(server, "object", bucket=bucket, key=key) for key in contents}
    assert {key: one["preview"]["kind"] for key, one in found.items()} == {
        "pixel.txt": "image", "picture.svg": "text", "fake.png": "text", "bytes.txt": "none", "long.txt": "text",
        "empty": "none", "long.png": "none",
    }  # fmt: skip
    assert base64.b64decode(found["pixel.txt"]["preview"]["data"]) == PIXEL
    long = found["long.txt"]["preview"]
    assert (long["isWhole"], len(long["text"])) == (False, 100_000)
    assert (found["fake.png"]["metadata"], found["fake.png"]["tags"]) == ({"by": "test"}, {"t": "1"})


def test_a_download_is_an_attachment_without_an_origin(server, bucket):
    server.client("s3").put_object(Bucket=bucket, Key="ä b/page.html", Body=b"<script>", ContentType="text/html")
    host = f"127.0.0.1:{server.port}"
    path = post(server, "object/link", {"bucket": bucket, "key": "ä b/page.html", "host": host})["path"]
    with urllib.request.urlopen(f"http://{host}{path}", timeout=60) as answer:
        assert answer.read() == b"<script>"
        assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''page.html"
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-security-policy"] == "sandbox"
    odd = post(server, "object/link", {"bucket": bucket, "key": "a/../b", "host": host})
    assert (odd["httpStatus"], odd["error"]) == (400, "BadRequest")


def test_versions_are_listed_and_deleted_one_by_one(server, bucket):
    s3 = server.client("s3")
    first = s3.put_object(Bucket=bucket, Key="v", Body=b"1")["VersionId"]
    s3.put_object(Bucket=bucket, Key="v", Body=b"2")
    s3.put_object(Bucket=bucket, Key="v2", Body=b"3")
    assert call(server, "s3", "DeleteObject", Bucket=bucket, Key="v")["DeleteMarker"] is True
    rows = read(server, "object/versions", bucket=bucket, key="v")["rows"]
    assert [(row["isMarker"], row["isLatest"]) for row in rows] == [(True, True), (False, False), (False, False)]
    assert read(server, "object", bucket=bucket, key="v")["httpStatus"] == 404
    assert read(server, "object", bucket=bucket, key="v", version=first)["preview"]["text"] == "1"


def test_an_upload_replaces_only_on_request(server, bucket):
    given = {"bucket": bucket, "key": "up", "type": "text/plain", "data": base64.b64encode(b"one").decode()}
    assert post(server, "object/put", given)["httpStatus"] == 200
    assert post(server, "object/put", given)["error"] == "PreconditionFailed"
    assert post(server, "object/put", {**given, "data": "dHdv", "replaces": True})["httpStatus"] == 200
    assert server.client("s3").get_object(Bucket=bucket, Key="up")["Body"].read() == b"two"
    assert post(server, "object/put", {**given, "data": "no base64!"})["error"] == "BadRequest"
    long = base64.b64encode(b"x" * 8_000_001).decode()
    assert "up to 8 MB" in post(server, "object/put", {**given, "data": long})["message"]


# ------------------------------------------------------------------ jobs


def test_a_task_shows_its_output_and_exit_code(server):
    ecs = server.client("ecs")
    command = ["sh", "-c", f"printf '%s' '{HOSTILE}'; exit 3"]
    ecs.register_task_definition(
        family="catalogue", containerDefinitions=[{"name": "main", "image": "sh", "memory": 64, "command": command}]
    )
    arn = ecs.run_task(taskDefinition="catalogue", startedBy="a test")["tasks"][0]["taskArn"]
    id_ = f"ecs:default/{arn.rpartition('/')[2]}"
    row = until(lambda: next(iter(read(server, "jobs", q="catalogue", status="failed")["rows"]), None))
    assert (row["id"], row["exitCode"], row["kind"], row["startedBy"]) == (id_, 3, "ECS task", "a test")
    found = read(server, "job", id=id_)
    assert (found["outputs"], found["containers"][0]["command"]) == (["main"], command)
    assert read(server, "job/output", id=id_, of="main")["text"] == HOSTILE
    assert read(server, "job/output", id=id_, of="../../secrets")["httpStatus"] == 404
    assert read(server, "jobs", q="catalogue", status="running")["rows"] == []


def test_a_job_is_stopped(server):
    batch = server.client("batch")
    batch.create_compute_environment(computeEnvironmentName="ce", type="UNMANAGED", serviceRole=ROLE)
    order = [{"order": 1, "computeEnvironment": "ce"}]
    batch.create_job_queue(jobQueueName="jq", priority=1, computeEnvironmentOrder=order)
    properties = {"image": "sh", "command": ["sleep", "600"], "vcpus": 1, "memory": 64}
    batch.register_job_definition(jobDefinitionName="sleeper", type="container", containerProperties=properties)
    id_ = batch.submit_job(jobName="sleeper", jobQueue="jq", jobDefinition="sleeper")["jobId"]
    until(lambda: read(server, "job", id=f"batch:{id_}")["group"] == "running")
    assert call(server, "batch", "TerminateJob", jobId=id_, reason="enough")["httpStatus"] == 200
    until(lambda: read(server, "job", id=f"batch:{id_}")["group"] == "failed")
    assert read(server, "job", id="batch:missing")["error"] == "NotFound"


# ------------------------------------------------------------------ events


def test_a_tap_shows_events_of_all_kinds_once_it_watches(server):
    sfn = server.client("stepfunctions")
    definition = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    machine = sfn.create_state_machine(name="tapped", definition=definition, roleArn=ROLE)["stateMachineArn"]
    with lines(server, "bus/tap?source=aws.states") as states, lines(server, "bus/tap?bus=default&source=SHOP") as shop:
        assert next(states) == next(shop) == {"events": [], "more": 0}
        put(server, "shop", {"n": HOSTILE})
        put(server, "other", {})
        arn = sfn.start_execution(stateMachineArn=machine)["executionArn"]
        (seen,) = next(shop)["events"]
        assert (seen["bus"], seen["event"]["detail"], seen["isCut"]) == ("default", {"n": HOSTILE}, False)
        details = [one["event"]["detail"] for one in next(states)["events"]]
        assert {one["executionArn"] for one in details} == {arn}


def test_a_tap_counts_what_it_does_not_show_and_cuts_long_events(server):
    pattern = urllib.parse.quote(json.dumps({"detail": {"wanted": [True]}}))
    with lines(server, f"bus/tap?pattern={pattern}") as found:
        next(found)
        entries = [entry("many", {"wanted": True, "text": "x" * 50 if n else "x" * 80_000}) for n in range(10)]
        for _ in range(12):
            call(server, "events", "PutEvents", Entries=entries)
        put(server, "many", {"wanted": False})
        shown = more = 0
        lengths = set()
        while shown + more < 120:
            line = next(found)
            shown, more = shown + len(line["events"]), more + line["more"]
            lengths |= {one["isCut"] for one in line["events"]}
            assert len(line["events"]) <= 50
        assert (shown + more, lengths) == (120, {True, False})
    refused = read(server, "bus/tap", pattern="{")
    assert refused["error"] == "InvalidEventPatternException"


def entry(source: str, detail: Any) -> Any:
    return {"Source": source, "DetailType": "t", "Detail": json.dumps(detail)}


def put(server: Any, source: str, detail: Any) -> None:
    assert call(server, "events", "PutEvents", Entries=[entry(source, detail)])["FailedEntryCount"] == 0


def test_the_rules_that_an_event_matches_are_named(server):
    events = server.client("events")
    events.create_event_bus(Name="matching")
    for name, pattern in (("big", {"detail": {"total": [{"numeric": [">", 100]}]}}), ("small", {"source": ["x"]})):
        events.put_rule(Name=name, EventBusName="matching", EventPattern=json.dumps(pattern))
    event = json.dumps({"source": "shop", "detail-type": "t", "detail": {"total": 150}})
    found = post(server, "bus/match", {"bus": "matching", "event": event})
    assert [(rule["name"], rule["matches"]) for rule in found["rules"]] == [("big", True), ("small", False)]
    assert [row["name"] for row in read(server, "bus/rules", bus="matching", q="SMA")["rows"]] == ["small"]
    for wrong in ("{", "[]", '{"source": "x"}'):
        assert post(server, "bus/match", {"bus": "matching", "event": wrong})["error"] == "BadRequest"
    assert {"name": "matching", "rules": 2}.items() <= read(server, "buses")["rows"][-1].items()


# ------------------------------------------------------------------ APIs and stacks


def test_apis_and_stacks_are_listed(server):
    made = server.client("apigatewayv2").create_api(Name=f"shop {HOSTILE}", ProtocolType="HTTP")["ApiId"]
    rest = server.client("apigateway").create_rest_api(name="legacy")["id"]
    rows = {row["id"]: row for row in read(server, "apis")["rows"]}
    assert (rows[made]["protocol"], rows[rest]["protocol"]) == ("HTTP", "REST")
    assert call(server, "apigatewayv2", "GetRoutes", ApiId=made)["Items"] == []
    template = {"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}
    server.client("cloudformation").create_stack(StackName="listed", TemplateBody=json.dumps(template))
    until(lambda: read(server, "stacks", q="LIST")["rows"][0]["status"] == "CREATE_COMPLETE")
    summaries = call(server, "cloudformation", "ListStackResources", StackName="listed")["StackResourceSummaries"]
    assert [one["LogicalResourceId"] for one in summaries] == ["Q"]


def test_the_flow_map_follows_resources_from_schedules_to_dead_letters(server):
    sqs, sfn = server.client("sqs"), server.client("stepfunctions")
    sqs.create_queue(QueueName="flow-dead")
    dead = "arn:aws:sqs:us-east-1:000000000000:flow-dead"
    policy = json.dumps({"deadLetterTargetArn": dead, "maxReceiveCount": 3})
    url = sqs.create_queue(QueueName="flow-queue", Attributes={"RedrivePolicy": policy})["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="x")
    send = {
        "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "End": True,
        "Parameters": {"QueueUrl": url, "MessageBody": "x"},
    }  # fmt: skip
    definition = json.dumps({"StartAt": "A", "States": {"A": send}})
    machine = sfn.create_state_machine(name="flow-machine", definition=definition, roleArn=ROLE)["stateMachineArn"]
    schedule(server, "flow-schedule", "rate(1 day)", machine, State="DISABLED")
    found = read(server, "flow", q="FLOW-QUEUE")
    names = {node["id"]: node["name"] for node in found["nodes"]}
    assert [(names[one["source"]], names[one["target"]], one["kind"]) for one in found["pairs"]] == [
        ("flow-schedule", "flow-machine", "next"),
        ("flow-machine", "flow-queue", "next"),
        ("flow-queue", "flow-dead", "catch"),
    ]
    figures = {node["name"]: (node["figure"], node["tone"]) for node in found["nodes"]}
    assert figures["flow-queue"] == ("1 message", "wait")
    assert figures["flow-dead"] == ("0 messages", "")
    assert {shape["id"] for shape in found["drawing"]["states"]} == names.keys()
    assert len(found["drawing"]["edges"]) == 3
    assert read(server, "flow", q="no-such-name")["nodes"] == []
