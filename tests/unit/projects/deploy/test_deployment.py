"""A project onto a server that is played by a table of answers: what is made, left, skipped and removed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from statewright.payload import Json
from statewright.projects.deploy.calls import CallRefused
from statewright.projects.deploy.deployment import Deployment, Report, generated_name
from statewright.projects.deploy.kinds import Known
from statewright.projects.deploy.record import OtherProjects, Record, read_record, write_record
from statewright.projects.evaluation import references
from statewright.projects.resources import Place, Project, Resource

ACCOUNT = "000000000000"
READS = ("Get", "List", "Describe", "Scan")


class Server:
    """Answers what `answers` has, else that nothing is there; keeps what was asked for."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.objects: dict[str, bytes] = {}

    def __call__(self, service: str, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if service == "s3" and operation in ("GetObject", "PutObject"):
            return self._object(operation, request)
        if operation == "ListObjectsV2":
            return {"Contents": [{"Key": key} for key in self.objects]}
        self.calls.append((operation, request))
        answer = self.answers.get(operation)
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            if operation.startswith(READS):
                raise CallRefused("ResourceNotFoundException", f"{operation}: not there")
            return {}
        return dict(answer)

    def _object(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if operation == "PutObject":
            self.objects[request["Key"]] = request["Body"]
        elif request["Key"] not in self.objects:
            raise CallRefused("NoSuchKey", "")
        return {"Body": self.objects.get(request["Key"], b"")}

    def changes(self) -> list[str]:
        return [operation for operation, _ in self.calls if not operation.startswith(READS)]

    def last(self, operation: str) -> Mapping[str, Any]:
        return next(request for name, request in reversed(self.calls) if name == operation)


def project(tmp_path: Path, resources: dict[str, tuple[str, Json]], outputs: Json = None) -> Project:
    made = {
        key: Resource(key, kind, properties, tuple(references(properties)), Place(tmp_path / "template.yaml", line))
        for line, (key, (kind, properties)) in enumerate(resources.items(), 1)
    }
    return Project("shop", tmp_path, "sam", (), made, tuple(made), outputs or {})


def deployed(server: Server, of: Project, record: Record | None = None, **settings: Any) -> Report:
    prune = settings.pop("prune", False)
    return Deployment(
        server, ACCOUNT, "us-east-1", record if record is not None else Record("shop"), **settings
    ).run(of, prune=prune)  # fmt: skip


def outcomes(report: Report) -> dict[str, str]:
    return {one.id: one.outcome for one in report.results}


QUEUE = ("AWS::SQS::Queue", {"QueueName": "orders", "VisibilityTimeout": "60"})
TOPIC: tuple[str, Json] = ("AWS::SNS::Topic", {})
MADE_QUEUE = {"QueueUrl": "http://x/000000000000/orders"}


def test_references_have_what_the_server_gave(tmp_path: Path):
    server = Server(CreateQueue=MADE_QUEUE)
    subscription = {
        "TopicArn": {"Ref": "Topic"}, "Protocol": "sqs", "Endpoint": {"Fn::GetAtt": ["Queue", "Arn"]},
    }  # fmt: skip
    resources = {"Queue": QUEUE, "Topic": TOPIC, "Sub": ("AWS::SNS::Subscription", subscription)}
    report = deployed(server, project(tmp_path, resources, {"Url": {"Ref": "Queue"}}))
    assert outcomes(report) == {"Queue": "created", "Topic": "created", "Sub": "created"}
    assert server.last("Subscribe")["Endpoint"] == "arn:aws:sqs:us-east-1:000000000000:orders"
    assert server.last("Subscribe")["TopicArn"] == "arn:aws:sns:us-east-1:000000000000:shop-Topic"
    assert server.last("CreateQueue")["Attributes"]["VisibilityTimeout"] == "60"
    assert report.outputs == {"Url": "http://x/000000000000/orders"}


SHOWN_QUEUE = {
    "Attributes": {
        "VisibilityTimeout": "60", "DelaySeconds": "0", "MessageRetentionPeriod": "345600",
        "ReceiveMessageWaitTimeSeconds": "0",
    }
}  # fmt: skip


def test_what_is_there_is_left(tmp_path: Path):
    server = Server(GetQueueUrl=MADE_QUEUE, GetQueueAttributes=SHOWN_QUEUE)
    assert outcomes(deployed(server, project(tmp_path, {"Queue": QUEUE}))) == {"Queue": "unchanged"}
    assert server.changes() == []


def test_what_another_deployment_makes_meanwhile_is_compared(tmp_path: Path):
    server = Server(GetTopicAttributes=None)
    topic = {"Attributes": {"TopicArn": "arn:aws:sns:us-east-1:000000000000:shop-Topic", "DisplayName": ""}}

    def taken(_request: Any) -> Exception:
        server.answers["GetTopicAttributes"] = topic
        return CallRefused("TopicAlreadyExistsException", "it is there")

    server.answers["CreateTopic"] = taken
    assert outcomes(deployed(server, project(tmp_path, {"Topic": TOPIC}))) == {"Topic": "unchanged"}
    server.answers["GetTopicAttributes"] = None
    server.answers["CreateTopic"] = CallRefused("ResourceConflictException", "never")
    report = deployed(server, project(tmp_path, {"Topic": TOPIC}))
    assert report.results[0].message == "ResourceConflictException: never"


def test_what_differs_is_changed_and_nothing_else(tmp_path: Path):
    attributes = {**SHOWN_QUEUE["Attributes"], "DelaySeconds": "9", "RedrivePolicy": '{"maxReceiveCount":3}'}
    server = Server(GetQueueUrl=MADE_QUEUE, GetQueueAttributes={"Attributes": attributes})
    assert outcomes(deployed(server, project(tmp_path, {"Queue": QUEUE}))) == {"Queue": "updated"}
    assert server.last("SetQueueAttributes")["Attributes"] == {"DelaySeconds": "0", "RedrivePolicy": ""}


def test_a_dry_run_changes_nothing(tmp_path: Path):
    server = Server()
    record = Record("shop", {"Old": Known("AWS::SQS::Queue", "http://x/0/old", {"Arn": "a"})})
    report = deployed(server, project(tmp_path, {"Queue": QUEUE, "Topic": TOPIC}), record, is_dry=True, prune=True)
    assert outcomes(report) == {"Queue": "created", "Topic": "created", "Old": "removed"}
    assert server.changes() == []
    assert "Old" in record.resources


def test_one_failure_skips_what_depends_on_it_and_nothing_else(tmp_path: Path):
    server = Server(CreateQueue=CallRefused("InvalidParameterValue", "no"))
    policy = {"Queues": [{"Ref": "Queue"}], "PolicyDocument": {}}
    resources = {"Queue": QUEUE, "Policy": ("AWS::SQS::QueuePolicy", policy), "Topic": TOPIC}
    report = deployed(server, project(tmp_path, resources))
    assert outcomes(report) == {"Queue": "failed", "Policy": "skipped", "Topic": "created"}
    assert report.has_failed
    failed, skipped, _ = report.results
    assert (failed.message, failed.place) == ("InvalidParameterValue: no", Place(tmp_path / "template.yaml", 1))
    assert "Queue" in skipped.message


def test_who_uses_what_could_not_be_changed_goes_on_where_that_is_wanted(tmp_path: Path):
    server = Server(CreateQueue=CallRefused("InvalidParameterValue", "no"), GetTopicAttributes={"Attributes": {}})
    record = Record("shop", {"Queue": Known("AWS::SQS::Queue", "http://x/0/orders", {"Arn": "arn:q"})})
    resources = {"Queue": QUEUE, "P": ("AWS::SQS::QueuePolicy", {"Queues": [{"Ref": "Queue"}], "PolicyDocument": {}})}
    report = deployed(server, project(tmp_path, resources), record, goes_on=True)
    assert outcomes(report) == {"Queue": "failed", "P": "created"}
    assert report.results[0].stays


@pytest.mark.parametrize("code", ["UnknownService", "UnknownOperationException"])
def test_a_service_that_nobody_serves_is_noted(tmp_path: Path, code: str):
    refused = CallRefused(code, "not here")
    server = Server(GetRole=refused, CreateQueue=MADE_QUEUE)
    queue = ("AWS::SQS::Queue", {"QueueName": "orders", "KmsMasterKeyId": {"Fn::GetAtt": ["Role", "Arn"]}})
    report = deployed(server, project(tmp_path, {"Role": ("AWS::IAM::Role", {"RoleName": "r"}), "Queue": queue}))
    assert outcomes(report) == {"Role": "noted", "Queue": "created"}
    assert not report.has_failed
    assert server.last("CreateQueue")["Attributes"]["KmsMasterKeyId"] == "arn:aws:iam::000000000000:role/r"


def test_an_unknown_type_is_left_out_and_may_be_referred_to(tmp_path: Path):
    server = Server(CreateQueue=MADE_QUEUE)
    queue = (
        "AWS::SQS::Queue",
        {"QueueName": {"Ref": "Pool"}, "KmsMasterKeyId": {"Fn::GetAtt": ["Pool", "ProviderName"]}},
    )
    report = deployed(server, project(tmp_path, {"Pool": ("AWS::Cognito::UserPool", {}), "Queue": queue}))
    assert outcomes(report) == {"Pool": "noted", "Queue": "created"}
    assert server.last("CreateQueue")["QueueName"] == "shop-Pool"
    assert server.last("CreateQueue")["Attributes"]["KmsMasterKeyId"] == "shop-Pool.ProviderName"


@pytest.mark.parametrize(
    ("kind", "properties", "words"),
    [
        ("AWS::SQS::Queue", {"QueueName": "q", "FifoQueue": True}, "FifoQueue and a QueueName"),
        ("AWS::SQS::Queue", {"KmsMasterKeyId": {"Fn::GetAtt": ["Nobody", "Arn"]}}, "Nobody does not exist"),
        ("AWS::Lambda::Function", {"Runtime": "python3.12", "Handler": "a.b"}, "it has no code"),
        ("AWS::Lambda::Function", {"Handler": "a.b", "Runtime": "provided", "Code": {"ZipFile": "x"}}, "not provided"),
        ("AWS::StepFunctions::StateMachine", {"RoleArn": "r"}, "no definition"),
        ("AWS::StepFunctions::StateMachine", {"DefinitionString": "{", "RoleArn": "r"}, "definition has errors"),
        ("AWS::SQS::Queue", [], "properties must be an object"),
        ("AWS::StepFunctions::StateMachineAlias", {"Name": "live"}, "names no version"),
        ("AWS::SecretsManager::Secret", {"GenerateSecretString": {"PasswordLength": 0}}, "PasswordLength"),
        ("AWS::Logs::LogGroup", {"RetentionInDays": "many"}, "RetentionInDays must be a number"),
        ("AWS::Scheduler::Schedule", {"Target": {"Arn": "a"}, "StartDate": "soon"}, "StartDate must be a date"),
        ("AWS::DynamoDB::Table", {"GlobalSecondaryIndexes": 5}, "expected form"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_says_why(tmp_path: Path, kind: str, properties: Json, words: str):
    server = Server(DescribeLogGroups={"logGroups": []}, GetSchedule={"Target": {"Arn": "a"}})
    report = deployed(server, project(tmp_path, {"It": (kind, properties)}))
    assert [(one.outcome, words in one.message) for one in report.results] == [("failed", True)]


def test_what_is_gone_is_told_and_removed_only_if_asked_for(tmp_path: Path):
    server = Server(GetQueueUrl=MADE_QUEUE, GetQueueAttributes=SHOWN_QUEUE)
    record = Record(
        "shop",
        {
            "Old": Known("AWS::SQS::Queue", "http://x/0/old", {"Arn": "a"}),
            "Kept": Known("AWS::DynamoDB::Table", "kept", {"Arn": "b"}, retain=True),
        },
    )
    of = project(tmp_path, {"Queue": QUEUE})
    report = deployed(server, of, record)
    assert outcomes(report) == {"Queue": "unchanged", "Kept": "gone", "Old": "gone"}
    assert set(record.resources) == {"Old", "Queue"}
    report = deployed(server, of, record, prune=True)
    assert (outcomes(report), server.changes()) == ({"Queue": "unchanged", "Old": "removed"}, ["DeleteQueue"])
    assert set(record.resources) == {"Queue"}


def test_one_that_is_gone_already_counts_as_removed(tmp_path: Path):
    server = Server(DeleteQueue=CallRefused("AWS.SimpleQueueService.NonExistentQueue", ""))
    record = Record("shop", {"Old": Known("AWS::SQS::Queue", "http://x/0/old", {"Arn": "a"})})
    assert outcomes(deployed(server, project(tmp_path, {}), record, prune=True)) == {"Old": "removed"}


def test_another_name_is_another_resource(tmp_path: Path):
    server = Server(CreateQueue={"QueueUrl": "http://x/0/new"})
    record = Record("shop", {"Queue": Known("AWS::SQS::Queue", "http://x/0/old", {"Arn": "arn:old"})})
    report = deployed(server, project(tmp_path, {"Queue": ("AWS::SQS::Queue", {"QueueName": "new"})}), record)
    assert outcomes(report) == {"Queue": "created", "Queue@http://x/0/old": "gone"}


def test_the_record_is_read_as_it_was_written():
    server = Server()
    record = Record("shop", {"Q": Known("AWS::SQS::Queue", "url", {"Arn": "a"}, retain=True)})
    write_record(server, record)
    found = read_record(server, "shop")
    assert found.resources == record.resources
    server.objects["shop.json"] = b"{"
    assert read_record(server, "shop").resources == {}


ORDER_ARN = "arn:aws:states:us-east-1:000000000000:stateMachine:order"
ORDER = ("AWS::StepFunctions::StateMachine", {
    "StateMachineName": "order",
    "Definition": {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}},
})  # fmt: skip
THERE = {"type": "STANDARD", "definition": "{}", "roleArn": "r"}


def test_a_machine_of_another_project_is_left_alone_unless_it_is_taken_over(tmp_path: Path):
    server = Server(DescribeStateMachine=THERE)
    theirs = {"Order": Known(ORDER[0], ORDER_ARN, {"Arn": ORDER_ARN}), "Q": Known(QUEUE[0], "url", {"Arn": "q"})}
    write_record(server, Record("bakery", theirs))
    of = project(tmp_path, {"Order": ORDER})
    refused = deployed(server, of, others=OtherProjects(server, "shop"))
    assert outcomes(refused) == {"Order": "failed"}
    assert "it belongs to the project bakery" in refused.results[0].message
    assert "--take-over" in refused.results[0].message
    assert server.changes() == []

    own = Record("shop")
    taken = deployed(server, of, own, others=OtherProjects(server, "shop"), takes_over=True)
    assert outcomes(taken) == {"Order": "updated"}
    assert taken.results[0].notes == ("taken over from the project bakery",)
    assert list(read_record(server, "bakery").resources) == ["Q"], "the other project's --prune leaves it alone"
    write_record(server, own)
    again = deployed(server, of, own, others=OtherProjects(server, "shop"))
    assert outcomes(again) == {"Order": "updated"}


def test_a_machine_of_no_project_is_changed_in_place(tmp_path: Path):
    server = Server(DescribeStateMachine=THERE)
    report = deployed(server, project(tmp_path, {"Order": ORDER}), others=OtherProjects(server, "shop"))
    assert outcomes(report) == {"Order": "updated"}


def test_a_dry_run_takes_nothing_over(tmp_path: Path):
    server = Server(DescribeStateMachine=THERE)
    write_record(server, Record("bakery", {"Order": Known(ORDER[0], ORDER_ARN, {"Arn": ORDER_ARN})}))
    before = dict(server.objects)
    others = OtherProjects(server, "shop")
    deployed(server, project(tmp_path, {"Order": ORDER}), others=others, takes_over=True, is_dry=True)
    assert server.objects == before


def test_secrets_and_parameters_are_looked_up(tmp_path: Path):
    server = Server(
        GetParameter={"Parameter": {"Value": "p"}}, GetSecretValue={"SecretString": '{"key": "s"}'}, CreateQueue={},
    )  # fmt: skip
    properties = {
        "QueueName": "{{resolve:ssm:/name}}", "KmsMasterKeyId": "{{resolve:secretsmanager:mine:SecretString:key}}",
    }  # fmt: skip
    deployed(server, project(tmp_path, {"Queue": ("AWS::SQS::Queue", properties)}))
    assert server.last("CreateQueue")["QueueName"] == "p"
    assert server.last("CreateQueue")["Attributes"]["KmsMasterKeyId"] == "s"


@pytest.mark.parametrize(("longest", "length"), [(80, 80), (20, 20)])
def test_long_names_stay_apart(tmp_path: Path, longest: int, length: int):
    of = project(tmp_path, {"A" * 90: TOPIC, "A" * 91: TOPIC})
    names = {generated_name(of, one, longest) for one in of.resources.values()}
    assert {len(name) for name in names} == {length}
    assert len(names) == 2


def test_a_substitution_may_have_any_name(tmp_path: Path):
    text = '{"StartAt":"A","States":{"A":{"Type":"Pass","Result":"${bucket-name}/${a.b}/${kept}","End":true}}}'
    values = {"bucket-name": "files", "a.b": 200}
    machine = ("AWS::StepFunctions::StateMachine", {"DefinitionString": text, "DefinitionSubstitutions": values})
    server = Server()
    assert outcomes(deployed(server, project(tmp_path, {"Flow": machine}))) == {"Flow": "created"}
    assert '"files/200/${kept}"' in server.last("CreateStateMachine")["definition"]


def test_what_is_never_made_is_noted_whatever_its_properties(tmp_path: Path):
    stream = ("AWS::Kinesis::Stream", {"Name": "events"})
    queue = ("AWS::SQS::Queue", {"QueueName": {"Ref": "Stream"}})
    server = Server(CreateQueue=MADE_QUEUE)
    report = deployed(server, project(tmp_path, {"Stream": stream, "Queue": queue}))
    assert outcomes(report) == {"Stream": "noted", "Queue": "created"}
    assert server.last("CreateQueue")["QueueName"] == "events"


def test_a_global_table_is_a_table_of_this_region(tmp_path: Path):
    own = {"Region": "us-east-1", "DeletionProtectionEnabled": "true", "Tags": [{"Key": "a", "Value": 1}]}
    given = {
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
        "Replicas": [{"Region": "eu-west-1"}, own],
    }
    server = Server()
    report = deployed(server, project(tmp_path, {"Table": ("AWS::DynamoDB::GlobalTable", given)}))
    assert outcomes(report) == {"Table": "created"}
    made = server.last("CreateTable")
    assert (made["TableName"], made["BillingMode"], made["DeletionProtectionEnabled"]) == (
        "shop-Table", "PAY_PER_REQUEST", True,
    )  # fmt: skip
    assert made["Tags"] == [{"Key": "a", "Value": "1"}]
    assert report.results[0].notes == ("the table is in one region: the replicas of eu-west-1 are left out",)


SEALED: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
    "SSESpecification": {"SSEEnabled": "true", "SSEType": "KMS", "KMSMasterKeyId": "alias/orders"},
    "WarmThroughput": {"ReadUnitsPerSecond": "13000", "WriteUnitsPerSecond": 5000},
    "KinesisStreamSpecification": {"StreamArn": "arn:aws:kinesis:us-east-1:000000000000:stream/clicks"},
}


def test_encryption_and_warm_throughput_of_a_table_are_passed_and_a_kinesis_stream_is_noted(tmp_path: Path):
    server = Server()
    report = deployed(server, project(tmp_path, {"Table": ("AWS::DynamoDB::Table", SEALED)}))
    made = server.last("CreateTable")
    assert made["SSESpecification"] == {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/orders"}
    assert made["WarmThroughput"] == {"ReadUnitsPerSecond": 13000, "WriteUnitsPerSecond": 5000}
    assert report.results[0].notes == ("KinesisStreamSpecification changes nothing here",)
    replica = {"Region": "us-east-1", "SSESpecification": {"KMSMasterKeyId": "own"}}
    given = {**SEALED, "SSESpecification": {"SSEEnabled": True}, "Replicas": [replica]}
    deployed(server, project(tmp_path, {"Table": ("AWS::DynamoDB::GlobalTable", given)}))
    assert server.last("CreateTable")["SSESpecification"] == {"Enabled": True, "KMSMasterKeyId": "own"}


@pytest.mark.parametrize(
    ("there", "changed"),
    [
        ({"Status": "ENABLED", "KMSMasterKeyArn": "arn:aws:kms:us-east-1:000000000000:alias/orders"}, False),
        ({"Status": "ENABLED", "KMSMasterKeyArn": "arn:aws:kms:us-east-1:000000000000:key/other"}, True),
        (None, True),
    ],
)
def test_encryption_and_warm_throughput_are_changed_only_if_they_differ(tmp_path: Path, there: Json, changed: bool):
    warm = {"ReadUnitsPerSecond": 12000 if changed else 13000, "WriteUnitsPerSecond": 5000, "Status": "ACTIVE"}
    keys = {name: SEALED[name] for name in ("AttributeDefinitions", "KeySchema")}
    shown = {**keys, "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}, "WarmThroughput": warm}
    if there is not None:
        shown["SSEDescription"] = there
    server = Server(DescribeTable={"Table": shown})
    deployed(server, project(tmp_path, {"Table": ("AWS::DynamoDB::Table", SEALED)}))
    assert server.changes().count("UpdateTable") == int(changed)
    if changed:
        assert set(server.last("UpdateTable")) == {"TableName", "SSESpecification", "WarmThroughput"}


def test_a_global_table_has_the_capacity_of_its_halves(tmp_path: Path):
    writes = {"WriteCapacityAutoScalingSettings": {"MinCapacity": 2, "MaxCapacity": 9}}
    given = {
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "WriteProvisionedThroughputSettings": writes,
        "Replicas": [{"Region": "us-east-1", "ReadProvisionedThroughputSettings": {"ReadCapacityUnits": "7"}}],
    }
    server = Server()
    deployed(server, project(tmp_path, {"Table": ("AWS::DynamoDB::GlobalTable", given)}))
    assert server.last("CreateTable")["ProvisionedThroughput"] == {"ReadCapacityUnits": 7, "WriteCapacityUnits": 2}


def test_a_global_table_without_replicas_is_refused(tmp_path: Path):
    report = deployed(Server(), project(tmp_path, {"Table": ("AWS::DynamoDB::GlobalTable", {})}))
    assert report.results[0].message.startswith("it has no Replicas")


def test_what_is_left_out_and_used_is_summed_up(tmp_path: Path):
    resources: dict[str, tuple[str, Json]] = {
        "Stream": ("AWS::Kinesis::Stream", {}),
        "Key": ("AWS::KMS::Key", {}),
        "Pool": ("AWS::Cognito::UserPool", {}),
        "Topic": ("AWS::SNS::Topic", {"DisplayName": {"Ref": "Stream"}, "KmsMasterKeyId": {"Ref": "Key"}}),
        "Queue": ("AWS::SQS::Queue", {"QueueName": {"Fn::GetAtt": ["Stream", "Arn"]}}),
        "Role": ("AWS::IAM::Role", {"RoleName": {"Ref": "Pool"}}),
    }
    report = deployed(Server(CreateQueue=MADE_QUEUE), project(tmp_path, resources))
    assert [str(need) for need in report.needs] == [
        "Stream (AWS::Kinesis::Stream) is left out, but Topic and Queue use it"
    ]


def test_a_stack_with_too_long_a_name_is_said_to_be_the_cause(tmp_path: Path):
    stack = "a-very-long-name-of-a-folder-that-came-with-the-project"
    queue = ("AWS::SQS::Queue", {"QueueName": f"{stack}-orders-of-the-european-warehouse"})
    of = replace(project(tmp_path, {"Queue": queue}), name=stack)
    report = deployed(Server(), of)
    assert report.results[0].message == (
        f"the name {stack}-orders-of-the-european-warehouse has 88 characters, at most 80 are allowed, and {stack} in "
        'it is the name of the stack: set a shorter one in statewright.toml: [project] name = "shop"'
    )


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"PackageType": "Image", "Code": {"ImageUri": "x"}}, "functions cannot run from container images here"),
        ({"Runtime": "java21", "Code": {"ZipFile": "x"}}, "the runtime java21 cannot run here"),
    ],
)
def test_a_function_that_cannot_run_is_left_out_and_its_parts_too(tmp_path: Path, properties: Json, words: str):
    refused = CallRefused("ResourceNotFoundException", "there is no function")
    server = Server(CreateAlias=refused, PublishVersion=refused)
    resources: dict[str, tuple[str, Json]] = {
        "Work": ("AWS::Lambda::Function", properties),
        "Version": ("AWS::Lambda::Version", {"FunctionName": {"Ref": "Work"}}),
    }
    report = deployed(server, project(tmp_path, resources))
    assert outcomes(report) == {"Work": "noted", "Version": "noted"}
    assert report.results[0].message.startswith(words)
    assert report.results[1].message == (
        "it uses Work, which is left out: ResourceNotFoundException: there is no function"
    )


def test_a_dry_run_knows_what_it_would_make(tmp_path: Path):
    text = "{{resolve:ssm:/shop/url}}"
    resources: dict[str, tuple[str, Json]] = {
        "Param": ("AWS::SSM::Parameter", {"Name": "/shop/url", "Type": "String", "Value": "x"}),
        "Topic": ("AWS::SNS::Topic", {"DisplayName": text}),
        "Other": ("AWS::SNS::Topic", {"DisplayName": "{{resolve:ssm:/shop/other}}"}),
    }
    report = deployed(Server(), project(tmp_path, resources), is_dry=True)
    assert outcomes(report) == {"Param": "created", "Topic": "created", "Other": "failed"}


STREAM_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/shop-Table/stream/2026-01-01T00:00:00.000"
WITH_STREAM = {
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "StreamSpecification": {"StreamViewType": "NEW_IMAGE"},
}


def test_a_table_has_its_stream_and_a_mapping_reads_it(tmp_path: Path):
    mapping = {
        "EventSourceArn": {"Fn::GetAtt": ["Table", "StreamArn"]}, "FunctionName": "index", "StartingPosition": "LATEST",
        "MaximumRecordAgeInSeconds": "60", "BisectBatchOnFunctionError": "true",
    }  # fmt: skip
    resources = {
        "Table": ("AWS::DynamoDB::Table", WITH_STREAM), "Mapping": ("AWS::Lambda::EventSourceMapping", mapping),
    }  # fmt: skip
    server = Server(
        CreateTable={"TableDescription": {"LatestStreamArn": STREAM_ARN}}, CreateEventSourceMapping={"UUID": "u"}
    )
    report = deployed(server, project(tmp_path, resources))
    assert outcomes(report) == {"Table": "created", "Mapping": "created"}
    wanted = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    assert server.last("CreateTable")["StreamSpecification"] == wanted
    made = server.last("CreateEventSourceMapping")
    assert (made["EventSourceArn"], made["StartingPosition"]) == (STREAM_ARN, "LATEST")
    assert (made["MaximumRecordAgeInSeconds"], made["BisectBatchOnFunctionError"]) == (60, True)


@pytest.mark.parametrize(
    ("there", "changes"),
    [
        ("NEW_IMAGE", []),
        (None, [{"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}]),
        ("KEYS_ONLY", [{"StreamEnabled": False}, {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}]),
    ],
)
def test_a_stream_of_another_view_is_opened_anew(tmp_path: Path, there: str | None, changes: list[Any]):
    shown: dict[str, Any] = {
        "AttributeDefinitions": WITH_STREAM["AttributeDefinitions"],
        "KeySchema": WITH_STREAM["KeySchema"],
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
    }
    if there is not None:
        shown["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": there}
    server = Server(DescribeTable={"Table": shown}, UpdateTable={"TableDescription": {"LatestStreamArn": STREAM_ARN}})
    deployed(server, project(tmp_path, {"Table": ("AWS::DynamoDB::Table", WITH_STREAM)}))
    asked = [request["StreamSpecification"] for name, request in server.calls if name == "UpdateTable"]
    assert asked == changes


@pytest.mark.parametrize(
    "location", ["s3://artifacts/abc", {"Bucket": "artifacts", "Key": "abc"}, {"Bucket": "artifacts", "Key": "missing"}]
)
def test_a_machine_whose_definition_a_tool_has_put_into_a_bucket(tmp_path: Path, location: Json) -> None:
    server = Server()
    server.objects["abc"] = b"StartAt: A\nStates: {A: {Type: Pass, Result: '${Word}', End: true}}\n"
    machine = {"DefinitionS3Location": location, "DefinitionSubstitutions": {"Word": "hello"}}
    report = deployed(server, project(tmp_path, {"Flow": ("AWS::StepFunctions::StateMachine", machine)}))
    if isinstance(location, dict) and location["Key"] == "missing":
        assert report.results[0].message == "its definition s3://artifacts/missing cannot be read: NoSuchKey"
        return
    assert outcomes(report) == {"Flow": "created"}
    made = json.loads(server.last("CreateStateMachine")["definition"])
    assert made["States"]["A"]["Result"] == "hello"


def test_a_key_that_another_one_replaces_in_a_usage_plan_is_let_in_no_more(tmp_path: Path):
    record = Record("shop", {"Link": Known("AWS::ApiGateway::UsagePlanKey", "old:p", {"KeyId": "old", "Plan": "p"})})
    link = {"KeyId": "new", "KeyType": "API_KEY", "UsagePlanId": "p"}
    server = Server()
    deployed(server, project(tmp_path, {"Link": ("AWS::ApiGateway::UsagePlanKey", link)}), record)
    assert server.changes() == ["DeleteUsagePlanKey", "CreateUsagePlanKey"]
    assert server.last("DeleteUsagePlanKey") == {"usagePlanId": "p", "keyId": "old"}


def test_an_answer_of_the_gateway_that_is_not_wanted_any_more_is_the_usual_one_again(tmp_path: Path):
    kind, record, server = "AWS::ApiGateway::GatewayResponse", Record("shop"), Server()
    answer = {"RestApiId": "abc", "ResponseType": "DEFAULT_4XX", "StatusCode": "418"}
    deployed(server, project(tmp_path, {"Teapot": (kind, answer)}), record)
    deployed(server, project(tmp_path, {}), record, prune=True)
    assert server.last("DeleteGatewayResponse") == {"restApiId": "abc", "responseType": "DEFAULT_4XX"}
