"""What the tables of statewright.toml become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from statewright.config import parse_config, read_config
from statewright.projects.plain import read_folder
from statewright.projects.resources import Project
from statewright.settings.reader import ConfigError

PASS = '{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}'


def project(root: Path, text: str) -> Project:
    (root / "statewright.toml").write_text(text)
    return read_folder(root, read_config(root / "statewright.toml"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "price.py").write_text("def handler(event, context): pass\n")
    (tmp_path / "order.asl.json").write_text(PASS)
    return tmp_path


TABLES: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        '[machines.order]\nmax_concurrent_executions = 5\nmax_starts_per_second = 0.5\ntags = {team = "a"}',
        "machines.order",
        "AWS::StepFunctions::StateMachine",
        {
            "StateMachineName": "order",
            "StateMachineType": "STANDARD",
            "Tags": [
                {"Key": "team", "Value": "a"},
                {"Key": "statewright:maxConcurrentExecutions", "Value": "5"},
                {"Key": "statewright:maxStartsPerSecond", "Value": "0.5"},
            ],
        },
    ),
    ("[queues.q]\nvisibility_timeout = 5", "queues.q", "AWS::SQS::Queue", {"QueueName": "q", "VisibilityTimeout": 5}),
    (
        '[queues.q]\nredrive = {queue = "dead", receives = 2}\n[queues.dead]',
        "queues.q",
        "AWS::SQS::Queue",
        {
            "QueueName": "q",
            "RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": ["queues.dead", "Arn"]}, "maxReceiveCount": 2},
        },
    ),
    ("[queues.q]\nfifo = true", "queues.q", "AWS::SQS::Queue", {"QueueName": "q.fifo", "FifoQueue": True}),
    ('buckets = ["files"]', "buckets.files", "AWS::S3::Bucket", {"BucketName": "files"}),
    (
        '[tables.t]\nhash = "id"\nrange = "at:N"\nttl = "end"',
        "tables.t",
        "AWS::DynamoDB::Table",
        {
            "TableName": "t",
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [
                {"AttributeName": "id", "KeyType": "HASH"},
                {"AttributeName": "at", "KeyType": "RANGE"},
            ],
            "AttributeDefinitions": [
                {"AttributeName": "id", "AttributeType": "S"},
                {"AttributeName": "at", "AttributeType": "N"},
            ],
            "TimeToLiveSpecification": {"AttributeName": "end", "Enabled": True},
        },
    ),
    (
        '[topics.t]\nsubscriptions = [{to = "functions.price", raw = true}]',
        "topics.t.functions.price",
        "AWS::SNS::Subscription",
        {
            "TopicArn": {"Ref": "topics.t"},
            "Protocol": "lambda",
            "Endpoint": {"Fn::GetAtt": ["functions.price", "Arn"]},
            "RawMessageDelivery": True,
        },
    ),
    (
        '[functions.price]\nmapping = {queue = "q", batch_size = 5, report_failures = true}\n[queues.q]',
        "functions.price.mapping",
        "AWS::Lambda::EventSourceMapping",
        {
            "EventSourceArn": {"Fn::GetAtt": ["queues.q", "Arn"]},
            "FunctionName": {"Ref": "functions.price"},
            "BatchSize": 5,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
        },
    ),
    (
        '[functions.price]\ntimeout = 9\nenvironment = {Q = "${queues.q}", A = "x-${queues.q.arn}"}\n[queues.q]',
        "functions.price",
        "AWS::Lambda::Function",
        {
            "FunctionName": "price",
            "Timeout": 9,
            "Environment": {
                "Variables": {
                    "Q": {"Fn::Join": ["", ["", {"Ref": "queues.q"}, ""]]},
                    "A": {"Fn::Join": ["", ["x-", {"Fn::GetAtt": ["queues.q", "Arn"]}, ""]]},
                }
            },
        },
    ),
    (
        '[schedules.s]\nexpression = "rate(1 hour)"\ntarget = "machines.order"\ninput = {a = 1}',
        "schedules.s",
        "AWS::Scheduler::Schedule",
        {
            "Name": "s",
            "ScheduleExpression": "rate(1 hour)",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "State": "ENABLED",
            "Target": {"Arn": {"Ref": "machines.order"}, "Input": {"Fn::ToJsonString": {"a": 1}}},
        },
    ),
    (
        '[machines.order]\ntype = "EXPRESS"\nlogging = "ERROR"',
        "machines.order",
        "AWS::StepFunctions::StateMachine",
        {
            "StateMachineName": "order",
            "StateMachineType": "EXPRESS",
            "LoggingConfiguration": {
                "Level": "ERROR",
                "IncludeExecutionData": True,
                "Destinations": [
                    {
                        "CloudWatchLogsLogGroup": {
                            "LogGroupArn": (
                                "arn:aws:logs:us-east-1:000000000000:log-group:/aws/vendedlogs/states/order:*"
                            )
                        }
                    }
                ],
            },
        },
    ),
]


@pytest.mark.parametrize(
    ("text", "key", "kind", "properties"), TABLES, ids=[one[1] + str(i) for i, one in enumerate(TABLES)]
)
def test_a_table_is_a_resource(root: Path, text: str, key: str, kind: str, properties: dict[str, Any]):
    made = project(root, text)
    assert made.findings == ()
    resource = made.resources[key]
    assert (resource.type, resource.properties) == (kind, properties)
    assert made.order.index(key) > max([made.order.index(one) for one in resource.depends_on], default=-1)


def test_places_are_lines_of_the_settings(root: Path):
    made = project(root, '[queues.a]\n\n[queues."b.fifo"]\nfifo = true\n')
    assert [made.resources[key].place.line for key in ("queues.a", "queues.b.fifo")] == [1, 3]


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ('[queues.q]\nredrive = {queue = "none"}', "queues.q", "there is no queues.none"),
        (
            '[queues.a]\nredrive = {queue = "b"}\n[queues.b]\nredrive = {queue = "a"}',
            "queues.a",
            "depends on itself: queues.a -> queues.b -> queues.a",
        ),
        ('[schedules.s]\nexpression = "rate(1 hour)"\ntarget = "order"', "schedules.s", "must be an ARN"),
        ("[functions.nobody]\ntimeout = 1", "functions.nobody", "there is no functions/nobody.py with a handler"),
        ('[machines.nobody]\ntype = "EXPRESS"', "machines.nobody", "there is no nobody.asl.json"),
        ('[tables.t]\nhash = "id:X"', "tables.t", "must be of one type"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_a_finding_of_its_own(root: Path, text: str, key: str, words: str):
    made = project(root, text)
    assert [(one.severity, words in one.message) for one in made.findings][:1] == [("ERROR", True)]
    assert 1 <= made.findings[0].place.line <= 3
    assert {"functions.price", "machines.order"} <= set(made.order)
    if words.startswith(("there is no queues", "depends")):
        assert key not in made.order


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[queues.q]\nvisibility = 5", "statewright.toml:2: queues.q.visibility is not a setting; did you mean"),
        ("[queues.q]\ndelay = -1", "statewright.toml:2: queues.q.delay must be a whole number, 0 or more"),
        ("[queues.q]\nredrive = {receives = 2}", "statewright.toml:2: queues.q.redrive has no queue"),
        ("[tables.t]\nttl = 'x'", "statewright.toml:1: tables.t has no hash"),
        ('[machines.m]\ntype = "FAST"', "statewright.toml:2: machines.m.type must be one of STANDARD, EXPRESS"),
        ("[topics.t]\nsubscriptions = 5", "statewright.toml:2: topics.t.subscriptions must be a list"),
        ("[schedules.s]\nexpression = 'rate(1 hour)'", "statewright.toml:1: schedules.s has no target"),
        ("[functions.f]\nenvironment = {A = 1}", "statewright.toml:2: functions.f.environment.A must be a string"),
        ("buckets = [1]", "statewright.toml:1: buckets must be a list of strings"),
        ("[project]\nnam = 'x'", "statewright.toml:2: project.nam is not a setting; did you mean name?"),
        ("[machines.m]\nmax_starts_per_second = 0", "statewright.toml:2: machines.m.max_starts_per_second must"),
        ("queue = {}", "statewright.toml:1: queue is not a setting; did you mean queues?"),
    ],
)  # fmt: skip
def test_mistakes_in_tables_are_told_with_their_lines(text: str, words: str):
    with pytest.raises(ConfigError) as caught:
        parse_config(text)
    assert str(caught.value).startswith(words)


def test_projects_inside_are_left_out_with_one_line_each(root: Path) -> None:
    inside = {
        "sam/template.yaml": "Resources: {}\n",
        "sam/flow.asl.json": '{"StartAt": "${Name}"}',
        "sam/functions/work.py": "def handler(event, context): pass\n",
        "cdk/cdk.out/manifest.json": '{"artifacts": {}}',
        "cdk/work.asl.json": PASS,
        "web/serverless.yml": "service: web\n",
        "web/deep/flow.asl.json": PASS,
        "plain/template.yaml": "greeting: hello\n",
        "plain/other.asl.json": PASS,
    }
    for name, text in inside.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    found = project(root, "")
    assert set(found.resources) == {"machines.order", "machines.other", "functions.price"}
    assert [(one.severity, one.message, one.place.path.name) for one in found.findings] == [
        ("INFO", f"{name} is a project of its own and is left out: statewright deploy {root / name}", file)
        for name, file in (("cdk", "cdk.out"), ("sam", "template.yaml"), ("web", "serverless.yml"))
    ]


def test_files_may_be_excluded(root: Path) -> None:
    (root / "bad").mkdir()
    (root / "bad" / "with-mistakes.asl.json").write_text("{}")
    text = '[project]\nexclude = ["*/with-mistakes.*", "functions/*"]\n'
    assert set(project(root, text).resources) == {"machines.order"}
    with pytest.raises(ConfigError, match="must be a list of strings"):
        parse_config('[project]\nexclude = "a"')
