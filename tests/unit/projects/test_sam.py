"""Serverless templates: what their resources and events stand for."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from statewright.payload import Json
from statewright.projects.resources import Project
from statewright.projects.sam.template import merged
from tests.unit.projects.reading import read, texts, write

FUNCTION_ARN = {"Fn::GetAtt": ["Work", "Arn"]}


def serverless(folder: Path, resources: str, before: str = "") -> Project:
    write(folder, {"src/app.py": "def handler(event, context): ...", "m.asl.json": "{}"})
    head = "Transform: AWS::Serverless-2016-10-31\n" + dedent(before) + "Resources:\n"
    (folder / "template.yaml").write_text(head + indent(dedent(resources), "  "))
    return read(folder, (folder / "template.yaml").read_text())


def function(folder: Path, properties: str, before: str = "") -> Project:
    body = (
        "Work:\n  Type: AWS::Serverless::Function\n  Properties:\n    CodeUri: src\n    Handler: app.handler\n"
        "    Runtime: python3.12\n" + indent(dedent(properties), "    ")
    )
    return serverless(folder, body + "Queue: {Type: AWS::SQS::Queue}\nTopic: {Type: AWS::SNS::Topic}\n", before)


def test_a_function_becomes_a_plain_one(tmp_path: Path) -> None:
    project = function(
        tmp_path,
        """\
        FunctionName: work
        MemorySize: 512
        Environment: {Variables: {QUEUE: !Ref Queue}}
        DeadLetterQueue: {Type: SQS, TargetArn: !GetAtt Queue.Arn}
        Tracing: Active
        Tags: {team: orders}
        ReservedConcurrentExecutions: 2
        Layers: [!Ref Queue]
        Policies: [AmazonS3FullAccess]
        """,
    )
    work = project.resources["Work"]
    assert (work.type, work.code) == ("AWS::Lambda::Function", tmp_path / "src")
    assert work.properties == {
        "FunctionName": "work",
        "Handler": "app.handler",
        "Runtime": "python3.12",
        "MemorySize": 512,
        "Environment": {"Variables": {"QUEUE": {"Ref": "Queue"}}},
        "DeadLetterConfig": {"TargetArn": {"Fn::GetAtt": ["Queue", "Arn"]}},
        "TracingConfig": {"Mode": "Active"},
        "Tags": [{"Key": "team", "Value": "orders"}],
        "ReservedConcurrentExecutions": 2,
        "Layers": [{"Ref": "Queue"}],
    }
    assert texts(project, "WARNING") == []
    assert [text for text in texts(project) if "Policies are ignored" in text]


MERGED: list[tuple[Json, Json, Json]] = [
    (None, 1, 1),
    (1, 2, 2),
    ({"a": 1, "b": {"c": 1}}, {"b": {"d": 2}, "e": 3}, {"a": 1, "b": {"c": 1, "d": 2}, "e": 3}),
    (["a"], ["b"], ["a", "b"]),
    ({"Ref": "A"}, {"b": 1}, {"b": 1}),
    ({"b": 1}, {"Ref": "A"}, {"Ref": "A"}),
]


@pytest.mark.parametrize(("shared", "own", "expected"), MERGED, ids=str)
def test_globals_are_merged(shared: Json, own: Json, expected: Json) -> None:
    assert merged(shared, own) == expected


def test_globals_are_read(tmp_path: Path) -> None:
    project = function(
        tmp_path,
        "Environment: {Variables: {OWN: o}}\n",
        """\
        Globals:
          Function: {Timeout: 30, Environment: {Variables: {SHARED: s}}}
          Functions: {Timeout: 3}
        """,
    )
    properties = project.resources["Work"].properties
    assert properties["Timeout"] == 30
    assert properties["Environment"] == {"Variables": {"SHARED": "s", "OWN": "o"}}
    assert texts(project, "ERROR") == ['4: Globals knows no Functions; did you mean "Function"?']


EVENTS: list[tuple[str, str, dict[str, tuple[str, Json]]]] = [
    (
        "queue",
        "{Type: SQS, Properties: {Queue: !GetAtt Queue.Arn, BatchSize: 5, ScalingConfig: {MaximumConcurrency: 2}}}",
        {
            "WorkE": (
                "AWS::Lambda::EventSourceMapping",
                {
                    "EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]},
                    "FunctionName": {"Ref": "Work"},
                    "BatchSize": 5,
                    "ScalingConfig": {"MaximumConcurrency": 2},
                },
            )
        },
    ),
    (
        "stream of a table",
        "{Type: DynamoDB, Properties: {Stream: 'arn:aws:dynamodb:x', StartingPosition: LATEST, BatchSize: 7, "
        "MaximumRetryAttempts: 2, DestinationConfig: {OnFailure: {Type: SQS, Destination: !GetAtt Queue.Arn}}}}",
        {
            "WorkE": (
                "AWS::Lambda::EventSourceMapping",
                {
                    "EventSourceArn": "arn:aws:dynamodb:x",
                    "FunctionName": {"Ref": "Work"},
                    "MaximumRetryAttempts": 2,
                    "StartingPosition": "LATEST",
                    "DestinationConfig": {"OnFailure": {"Destination": {"Fn::GetAtt": ["Queue", "Arn"]}}},
                    "BatchSize": 7,
                },
            )
        },
    ),
    (
        "schedule",
        "{Type: Schedule, Properties: {Schedule: rate(1 hour), Enabled: false, Input: '{}', Name: hourly}}",
        {
            "WorkE": (
                "AWS::Events::Rule",
                {
                    "ScheduleExpression": "rate(1 hour)",
                    "Name": "hourly",
                    "State": "DISABLED",
                    "Targets": [{"Id": "WorkELambdaTarget", "Arn": FUNCTION_ARN, "Input": "{}"}],
                },
            )
        },
    ),
    (
        "scheduler",
        "{Type: ScheduleV2, Properties: {ScheduleExpression: cron(0 9 ? * MON *), ScheduleExpressionTimezone:"
        " Europe/Rome, RetryPolicy: {MaximumRetryAttempts: 3}, DeadLetterConfig: {Type: SQS}}}",
        {
            "WorkEQueue": ("AWS::SQS::Queue", {}),
            "WorkE": (
                "AWS::Scheduler::Schedule",
                {
                    "ScheduleExpression": "cron(0 9 ? * MON *)",
                    "ScheduleExpressionTimezone": "Europe/Rome",
                    "FlexibleTimeWindow": {"Mode": "OFF"},
                    "Name": "WorkE",
                    "Target": {
                        "Arn": FUNCTION_ARN,
                        "RoleArn": "arn:aws:iam::000000000000:role/NAME-WorkERole",
                        "RetryPolicy": {"MaximumRetryAttempts": 3},
                        "DeadLetterConfig": {"Arn": {"Fn::GetAtt": ["WorkEQueue", "Arn"]}},
                    },
                },
            ),
        },
    ),
    (
        "topic",
        "{Type: SNS, Properties: {Topic: !Ref Topic, FilterPolicy: {kind: [a]}}}",
        {
            "WorkE": (
                "AWS::SNS::Subscription",
                {
                    "TopicArn": {"Ref": "Topic"},
                    "Protocol": "lambda",
                    "Endpoint": FUNCTION_ARN,
                    "FilterPolicy": {"kind": ["a"]},
                },
            )
        },
    ),
    (
        "bucket",
        "{Type: S3, Properties: {Bucket: files, Events: 's3:ObjectCreated:*',"
        " Filter: {S3Key: {Rules: [{Name: suffix, Value: .csv}]}}}}",
        {
            "WorkE": (
                "Custom::S3BucketNotifications",
                {
                    "BucketName": "files",
                    "NotificationConfiguration": {
                        "LambdaFunctionConfigurations": [
                            {
                                "Events": ["s3:ObjectCreated:*"],
                                "LambdaFunctionArn": FUNCTION_ARN,
                                "Filter": {"Key": {"FilterRules": [{"Name": "suffix", "Value": ".csv"}]}},
                            }
                        ]
                    },
                },
            )
        },
    ),
    (
        "rule",
        "{Type: EventBridgeRule, Properties: {Pattern: {source: [shop]}, EventBusName: bus, InputPath: $.detail,"
        " Target: {Id: T}}}",
        {
            "WorkE": (
                "AWS::Events::Rule",
                {
                    "EventPattern": {"source": ["shop"]},
                    "EventBusName": "bus",
                    "Targets": [{"Id": "T", "Arn": FUNCTION_ARN, "InputPath": "$.detail"}],
                },
            )
        },
    ),
]


@pytest.mark.parametrize(("event", "expected"), [case[1:] for case in EVENTS], ids=[case[0] for case in EVENTS])
def test_events(tmp_path: Path, event: str, expected: dict[str, tuple[str, Json]]) -> None:
    project = function(tmp_path, f"Events:\n  E: {event}\n")
    assert texts(project) == []
    made = {id_: found for id_, found in project.resources.items() if id_ not in ("Work", "Queue", "Topic")}
    assert list(made) == list(expected)
    for id_, (kind, properties) in expected.items():
        assert made[id_].type == kind
        assert made[id_].place.line == 10
        shown = str(made[id_].properties).replace(f"role/{project.name}-", "role/NAME-")
        assert shown == str(properties)


def test_a_topic_through_a_queue(tmp_path: Path) -> None:
    project = function(tmp_path, "Events:\n  E: {Type: SNS, Properties: {Topic: !Ref Topic, SqsSubscription: true}}\n")
    kinds = {id_: found.type for id_, found in project.resources.items() if id_.startswith("WorkE")}
    assert kinds == {
        "WorkEQueue": "AWS::SQS::Queue",
        "WorkEQueuePolicy": "AWS::SQS::QueuePolicy",
        "WorkE": "AWS::SNS::Subscription",
        "WorkEEventSourceMapping": "AWS::Lambda::EventSourceMapping",
    }
    assert project.resources["WorkE"].properties["Protocol"] == "sqs"
    assert texts(project) == []


@pytest.mark.parametrize(
    ("event", "severity", "words"),
    [
        ("{Type: HttpApi, Properties: {Path: /, Auth: {Authorizer: A}}}", "WARNING", "so it stays closed"),
        ("{Type: Kinesis, Properties: {Stream: x}}", "WARNING", "Kinesis is not supported"),
        ("{Type: S3, Properties: {Bucket: x}}", "ERROR", "needs a Bucket and Events"),
        ("{Type: SQSS, Properties: {}}", "ERROR", 'the unknown type SQSS; did you mean "SQS"?'),
        ("{Type: SQS}", "ERROR", "needs the ARN of a Queue"),
        ("{Type: Schedule, Properties: {}}", "ERROR", "needs a Schedule"),
        ("{Type: ScheduleV2, Properties: {}}", "ERROR", "needs a ScheduleExpression"),
        ("{Type: SNS, Properties: {}}", "ERROR", "needs the ARN of a Topic"),
        ("{Type: EventBridgeRule}", "ERROR", "needs a Pattern"),
        ("here", "ERROR", "must be an object with a Type"),
    ],
)
def test_events_that_cannot_be(tmp_path: Path, event: str, severity: str, words: str) -> None:
    project = function(tmp_path, f"Events:\n  E: {event}\n")
    found = [text for text in texts(project, severity) if text.startswith("10: ")]
    assert len(found) == 1
    assert words in found[0]
    assert "Work" in project.order


def test_workers_that_are_started_ahead_belong_to_the_alias(tmp_path: Path) -> None:
    ahead = "ProvisionedConcurrencyConfig: {ProvisionedConcurrentExecutions: 3}\n"
    project = function(tmp_path, f"AutoPublishAlias: live\n{ahead}")
    assert texts(project) == []
    found = project.resources["WorkAliaslive"].properties["ProvisionedConcurrencyConfig"]
    assert found == {"ProvisionedConcurrentExecutions": 3}
    project = function(tmp_path, f"{ahead}")
    assert ["ProvisionedConcurrencyConfig needs AutoPublishAlias" in text for text in texts(project)] == [True]


def test_aliases_are_what_events_reach(tmp_path: Path) -> None:
    project = function(
        tmp_path,
        """\
        AutoPublishAlias: live
        EventInvokeConfig:
          MaximumRetryAttempts: 1
          DestinationConfig: {OnFailure: {Type: SQS}, OnSuccess: {Type: SNS, Destination: !Ref Topic}}
        Events:
          Q: {Type: SQS, Properties: {Queue: !GetAtt Queue.Arn}}
          S: {Type: Schedule, Properties: {Schedule: rate(1 day)}}
        """,
        "Outputs:\n  Alias: {Value: !Ref Work.Alias}\n  Failed: {Value: !GetAtt WorkOnFailureQueue.Arn}\n",
    )
    assert texts(project) == []
    alias = project.resources["WorkAliaslive"]
    assert alias.properties == {
        "Name": "live",
        "FunctionName": {"Ref": "Work"},
        "FunctionVersion": {"Fn::GetAtt": ["WorkVersion", "Version"]},
    }
    assert project.resources["WorkQ"].properties["FunctionName"] == {"Ref": "WorkAliaslive"}
    assert project.resources["WorkS"].properties["Targets"][0]["Arn"] == {"Ref": "WorkAliaslive"}
    assert project.resources["WorkEventInvokeConfig"].properties == {
        "FunctionName": {"Ref": "Work"},
        "Qualifier": "live",
        "MaximumRetryAttempts": 1,
        "DestinationConfig": {
            "OnSuccess": {"Destination": {"Ref": "Topic"}},
            "OnFailure": {"Destination": {"Fn::GetAtt": ["WorkOnFailureQueue", "Arn"]}},
        },
    }
    assert project.outputs["Alias"] == {"Ref": "WorkAliaslive"}


def test_a_state_machine_becomes_a_plain_one(tmp_path: Path) -> None:
    project = serverless(
        tmp_path,
        """\
        Flow:
          Type: AWS::Serverless::StateMachine
          Properties:
            Name: flow
            Type: EXPRESS
            DefinitionUri: m.asl.json
            DefinitionSubstitutions: {Queue: !GetAtt Queue.Arn}
            Logging: {Level: ALL}
            Tags: {a: b}
            AutoPublishAlias: live
            UseAliasAsEventTarget: true
            Events:
              Nightly: {Type: ScheduleV2, Properties: {ScheduleExpression: cron(0 3 * * ? *)}}
              Orders: {Type: EventBridgeRule, Properties: {Pattern: {source: [shop]}}}
              Web: {Type: Api, Properties: {Path: /, Method: post}}
        Queue: {Type: AWS::SQS::Queue}
        """,
    )
    flow = project.resources["Flow"]
    assert (flow.type, flow.definition) == ("AWS::StepFunctions::StateMachine", tmp_path / "m.asl.json")
    assert flow.properties == {
        "DefinitionSubstitutions": {"Queue": {"Fn::GetAtt": ["Queue", "Arn"]}},
        "LoggingConfiguration": {"Level": "ALL"},
        "StateMachineName": "flow",
        "StateMachineType": "EXPRESS",
        "Tags": [{"Key": "a", "Value": "b"}],
    }
    assert project.resources["FlowAliaslive"].properties["RoutingConfiguration"] == [
        {"StateMachineVersionArn": {"Ref": "FlowVersion"}, "Weight": 100}
    ]
    assert project.resources["FlowNightly"].properties["Target"]["Arn"] == {"Ref": "FlowAliaslive"}
    target = project.resources["FlowOrders"].properties["Targets"][0]
    assert target["Arn"] == {"Ref": "FlowAliaslive"}
    assert target["RoleArn"].startswith("arn:aws:iam::000000000000:role/")
    template = project.resources["FlowWebMethod"].properties["Integration"]["RequestTemplates"]["application/json"]
    assert template["Fn::Sub"][1] == {"Machine": {"Ref": "FlowAliaslive"}}


def test_a_machine_without_its_file_is_told_at_the_line(tmp_path: Path) -> None:
    project = serverless(
        tmp_path,
        """\
        Flow:
          Type: AWS::Serverless::StateMachine
          Properties:
            DefinitionUri: m.asl.jsn
        """,
    )
    assert texts(project) == ['6: Flow: there is no m.asl.jsn; did you mean "m.asl.json"?']
    assert project.order == ()


def test_tables_layers_and_connectors(tmp_path: Path) -> None:
    project = serverless(
        tmp_path,
        """\
        Plain: {Type: AWS::Serverless::SimpleTable}
        Keyed:
          Type: AWS::Serverless::SimpleTable
          Properties:
            PrimaryKey: {Name: n, Type: Number}
            ProvisionedThroughput: {ReadCapacityUnits: 1, WriteCapacityUnits: 1}
        Shared:
          Type: AWS::Serverless::LayerVersion
          Properties: {ContentUri: src, CompatibleRuntimes: [python3.12]}
        Link:
          Type: AWS::Serverless::Connector
          Properties: {Source: {Id: Plain}, Destination: {Id: Keyed}, Permissions: [Read]}
        Web: {Type: AWS::Serverless::HttpApi}
        """,
    )
    assert project.resources["Plain"].properties["KeySchema"] == [{"AttributeName": "id", "KeyType": "HASH"}]
    assert project.resources["Plain"].properties["BillingMode"] == "PAY_PER_REQUEST"
    assert project.resources["Keyed"].properties["AttributeDefinitions"] == [
        {"AttributeName": "n", "AttributeType": "N"}
    ]
    assert "BillingMode" not in project.resources["Keyed"].properties
    assert project.resources["Shared"].code == tmp_path / "src"
    assert project.resources["Shared"].properties["LayerName"] == "Shared"
    assert "Link" not in project.resources
    found = "\n".join(texts(project))
    assert "the connector Link grants permissions" in found
    assert project.resources["Web"].type == "AWS::ApiGatewayV2::Api"
    assert project.resources["WebStage"].properties["AutoDeploy"] is True


def test_roles_and_apis_are_there_for_those_who_refer_to_them(tmp_path: Path) -> None:
    project = function(
        tmp_path,
        "Events:\n  E: {Type: Api, Properties: {Path: /, Method: get}}\n",
        """\
        Outputs:
          Role: {Value: !GetAtt WorkRole.Arn}
          Url: {Value: !Sub "https://${ServerlessRestApi}.execute-api.${AWS::Region}.amazonaws.com/Prod/"}
        """,
    )
    assert project.resources["WorkRole"].type == "AWS::IAM::Role"
    assert project.resources["ServerlessRestApi"].type == "AWS::ApiGateway::RestApi"
    assert texts(project, "ERROR") == []


def test_properties_that_nobody_knows_are_told(tmp_path: Path) -> None:
    project = function(tmp_path, "Timeouts: 3\nTenancyConfig: {TenantIsolationMode: PER_TENANT}\n")
    assert texts(project, "WARNING") == [
        '9: Work: AWS::Serverless::Function has no property Timeouts; did you mean "Timeout"?',
        "10: Work: TenancyConfig changes nothing here: tenants share workers",
    ]


def test_a_function_url_becomes_a_url_and_what_opens_it(tmp_path: Path) -> None:
    text = "FunctionUrlConfig: {AuthType: NONE, Cors: {AllowOrigins: ['*']}, InvokeMode: BUFFERED}\n"
    plain = function(tmp_path, text)
    assert plain.resources["WorkUrl"].properties == {
        "TargetFunctionArn": {"Ref": "Work"}, "AuthType": "NONE", "Cors": {"AllowOrigins": ["*"]},
        "InvokeMode": "BUFFERED",
    }  # fmt: skip
    assert plain.resources["WorkUrlPublicPermissions"].properties == {
        "Action": "lambda:InvokeFunctionUrl", "Principal": "*", "FunctionName": {"Ref": "Work"},
        "FunctionUrlAuthType": "NONE",
    }  # fmt: skip
    aliased = function(tmp_path, f"{text}AutoPublishAlias: live\n")
    url = aliased.resources["WorkUrl"]
    assert url.properties["Qualifier"] == "live"
    assert set(url.depends_on) == {"Work", "WorkAliaslive"}
    assert aliased.resources["WorkUrlPublicPermissions"].properties["FunctionName"] == {"Ref": "WorkAliaslive"}
    signed = function(tmp_path, "FunctionUrlConfig: {AuthType: AWS_IAM}\n")
    assert "WorkUrlPublicPermissions" not in signed.resources
    assert texts(plain, "WARNING") == []


def test_a_template_that_forgot_its_transform_is_read(tmp_path: Path) -> None:
    project = read(tmp_path, "Resources:\n  T: {Type: AWS::Serverless::SimpleTable}\n")
    assert project.resources["T"].type == "AWS::DynamoDB::Table"
    assert "no Transform" in texts(project)[0]


@pytest.mark.parametrize("auth", ["DefaultAuthorizer: A", "ResourcePolicy: {IpRangeBlacklist: [a]}"])
def test_an_api_that_was_meant_to_be_closed_is_not_opened(tmp_path: Path, auth: str) -> None:
    project = serverless(
        tmp_path,
        f"""\
        Web: {{Type: AWS::Serverless::Api, Properties: {{StageName: live, Auth: {{{auth}}}}}}}
        Work:
          Type: AWS::Serverless::Function
          Properties:
            Runtime: python3.12
            Handler: index.handler
            InlineCode: x
            Events: {{Get: {{Type: Api, Properties: {{RestApiId: !Ref Web, Path: /a, Method: get}}}}}}
        """,
    )
    assert {one.type for one in project.resources.values()} == {"AWS::Serverless::Api", "AWS::Lambda::Function"}
    assert "so it stays closed" in "\n".join(texts(project, "WARNING"))
