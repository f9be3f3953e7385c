"""`serverless.yml`: variables, functions, state machines, events, resources."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from statewright.payload import Json
from statewright.projects.resources import Project
from statewright.projects.serverless.service import normalized
from tests.unit.projects.reading import read, resolved, texts, write

HANDLERS = {"src/app.py": "def one(event, context): ...\ndef two(event, context): ...\n"}


def service(folder: Path, text: str, **more: str | None) -> Project:
    write(folder, HANDLERS)
    head = "service: shop\nprovider: {name: aws, runtime: python3.12, stage: test}\n"
    return read(folder, head + dedent(text), name="serverless.yml", **more)


def one(folder: Path, text: str) -> Project:
    body = "functions:\n  pack-it:\n    handler: src/app.one\n"
    return service(folder, body + "".join(f"    {line}\n" for line in dedent(text).splitlines()))


def test_a_function_becomes_a_plain_one(tmp_path: Path) -> None:
    project = service(
        tmp_path,
        """\
        functions:
          pack-it:
            handler: src/app.one
            description: packs
            timeout: 20
            environment: {QUEUE: {Ref: Orders}, EMPTY: null}
            layers: [{Ref: ToolsLambdaLayer}]
            tags: {a: b}
            onError: {Ref: Topic}
            destinations: {onFailure: unpack}
            maximumRetryAttempts: 1
          unpack: {handler: src/app.two, name: unpack, memorySize: 128, reservedConcurrency: 0}
        layers:
          tools: {path: src}
        resources:
          Resources:
            Orders: {Type: AWS::SQS::Queue}
            Topic: {Type: AWS::SNS::Topic}
        """,
    )
    assert texts(project) == []
    assert (project.name, project.kind, project.parameters) == ("shop-test", "serverless", {"stage": "test"})
    found = project.resources["PackDashitLambdaFunction"]
    assert found.code == tmp_path
    assert found.properties == {
        "FunctionName": "shop-test-pack-it",
        "Description": "packs",
        "Handler": "src/app.one",
        "Layers": [{"Ref": "ToolsLambdaLayer"}],
        "Runtime": "python3.12",
        "Timeout": 20,
        "MemorySize": 1024,
        "Environment": {"Variables": {"QUEUE": {"Ref": "Orders"}}},
        "Tags": [{"Key": "a", "Value": "b"}],
        "DeadLetterConfig": {"TargetArn": {"Ref": "Topic"}},
    }
    assert project.resources["PackDashitLambdaEvConf"].properties == {
        "FunctionName": {"Ref": "PackDashitLambdaFunction"},
        "Qualifier": "$LATEST",
        "MaximumRetryAttempts": 1,
        "DestinationConfig": {"OnFailure": {"Destination": {"Fn::GetAtt": ["UnpackLambdaFunction", "Arn"]}}},
    }
    assert project.resources["UnpackLambdaFunction"].properties["ReservedConcurrentExecutions"] == 0
    assert project.resources["ToolsLambdaLayer"].code == tmp_path / "src"
    assert project.resources["PackDashitLambdaFunction"].place.line == 4


@pytest.mark.parametrize(
    ("name", "expected"), [("hello", "Hello"), ("hello-world", "HelloDashworld"), ("a_b", "AUnderscoreb"), ("", "")]
)
def test_names_in_ids(name: str, expected: str) -> None:
    assert normalized(name) == expected


FUNCTION = {"Fn::GetAtt": ["PackDashitLambdaFunction", "Arn"]}
EVENTS: list[tuple[str, str, str, Json]] = [
    (
        "{sqs: {arn: 'arn:aws:sqs:x:1:q', batchSize: 1, filterPatterns: [{a: [1]}], maximumConcurrency: 3}}",
        "PackDashitEventSourceMappingSQS1",
        "AWS::Lambda::EventSourceMapping",
        {
            "EventSourceArn": "arn:aws:sqs:x:1:q",
            "FunctionName": {"Ref": "PackDashitLambdaFunction"},
            "BatchSize": 1,
            "Enabled": True,
            "ScalingConfig": {"MaximumConcurrency": 3},
            "FilterCriteria": {"Filters": [{"Pattern": '{"a":[1]}'}]},
        },
    ),
    (
        "{schedule: rate(5 minutes)}",
        "PackDashitEventsRuleSchedule1",
        "AWS::Events::Rule",
        {
            "ScheduleExpression": "rate(5 minutes)",
            "State": "ENABLED",
            "Targets": [{"Id": "PackDashitEventsRuleSchedule1Target", "Arn": FUNCTION}],
        },
    ),
    (
        "{schedule: {rate: [cron(0 9 * * ? *)], timezone: Europe/Rome, input: {k: v}, enabled: false}}",
        "PackDashitSchedule1",
        "AWS::Scheduler::Schedule",
        {
            "ScheduleExpression": "cron(0 9 * * ? *)",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "State": "DISABLED",
            "Target": {
                "Arn": FUNCTION,
                "RoleArn": "arn:aws:iam::000000000000:role/shop-test-events",
                "Input": '{"k":"v"}',
            },
            "ScheduleExpressionTimezone": "Europe/Rome",
        },
    ),
    (
        "{sns: {arn: {Ref: T}, filterPolicy: {a: [b]}}}",
        "PackDashitSnsSubscription1",
        "AWS::SNS::Subscription",
        {"TopicArn": {"Ref": "T"}, "Protocol": "lambda", "Endpoint": FUNCTION, "FilterPolicy": {"a": ["b"]}},
    ),
    (
        "{s3: {bucket: photos, existing: true, event: 's3:ObjectRemoved:*', rules: [{prefix: a/}, {suffix: .png}]}}",
        "PackDashitS3Event1",
        "Custom::S3BucketNotifications",
        {
            "BucketName": "photos",
            "NotificationConfiguration": {
                "LambdaFunctionConfigurations": [
                    {
                        "Events": ["s3:ObjectRemoved:*"],
                        "LambdaFunctionArn": FUNCTION,
                        "Filter": {
                            "Key": {
                                "FilterRules": [
                                    {"Name": "prefix", "Value": "a/"},
                                    {"Name": "suffix", "Value": ".png"},
                                ]
                            }
                        },
                    }
                ]
            },
        },
    ),
    (
        "{eventBridge: {pattern: {source: [a]}, retryPolicy: {maximumEventAge: 60}, input: {x: 1}}}",
        "PackDashitEventBridge1",
        "AWS::Events::Rule",
        {
            "EventPattern": {"source": ["a"]},
            "State": "ENABLED",
            "Targets": [
                {
                    "Id": "PackDashitEventBridge1Target",
                    "Arn": FUNCTION,
                    "Input": '{"x":1}',
                    "RetryPolicy": {"MaximumEventAgeInSeconds": 60},
                }
            ],
        },
    ),
]


@pytest.mark.parametrize(("event", "id_", "kind", "expected"), EVENTS, ids=[case[1] for case in EVENTS])
def test_events(tmp_path: Path, event: str, id_: str, kind: str, expected: Json) -> None:
    project = one(tmp_path, f"events:\n  - {event}")
    found = project.resources[id_]
    assert (found.type, found.properties) == (kind, expected)
    assert found.place.line == 7


def test_the_bucket_of_an_event_is_made_unless_it_exists(tmp_path: Path) -> None:
    project = one(tmp_path, "events:\n  - s3: my-photos\n  - s3: {bucket: my-photos, event: 's3:ObjectRemoved:*'}")
    assert texts(project) == []
    assert project.resources["S3BucketMyphotos"].properties == {"BucketName": "my-photos"}
    for number, event in ((1, "s3:ObjectCreated:*"), (2, "s3:ObjectRemoved:*")):
        made = project.resources[f"PackDashitS3Event{number}"].properties
        assert made["BucketName"] == {"Ref": "S3BucketMyphotos"}
        assert made["NotificationConfiguration"]["LambdaFunctionConfigurations"][0]["Events"] == [event]


def test_topics_and_buses_that_only_have_a_name_are_made(tmp_path: Path) -> None:
    project = one(tmp_path, "events:\n  - sns: news\n  - eventBridge: {eventBus: orders, pattern: {source: [a]}}")
    assert texts(project) == []
    assert project.resources["SNSTopicNews"].properties == {"TopicName": "news"}
    assert project.resources["OrdersEventBridgeEventBus"].properties == {"Name": "orders"}
    assert project.resources["PackDashitEventBridge1"].properties["EventBusName"] == {
        "Ref": "OrdersEventBridgeEventBus"
    }


def test_events_reach_the_alias_with_provisioned_concurrency(tmp_path: Path) -> None:
    text = """\
        functions:
          work:
            handler: app.handler
            runtime: python3.12
            provisionedConcurrency: 3
            maximumRetryAttempts: 1
            events:
              - sqs: arn:aws:sqs:us-east-1:000000000000:jobs
              - schedule: rate(1 day)
        """
    project = service(tmp_path, text)
    alias = {"Ref": "WorkProvConcLambdaAlias"}
    assert project.resources["WorkProvConcLambdaAlias"].properties == {
        "Name": "provisioned",
        "FunctionName": {"Ref": "WorkLambdaFunction"},
        "FunctionVersion": {"Fn::GetAtt": ["WorkLambdaFunctionVersion", "Version"]},
        "ProvisionedConcurrencyConfig": {"ProvisionedConcurrentExecutions": 3},
    }
    assert project.resources["WorkEventSourceMappingSQS1"].properties["FunctionName"] == alias
    rule = next(one for one in project.resources.values() if one.type == "AWS::Events::Rule")
    assert rule.properties["Targets"][0]["Arn"] == alias
    assert project.resources["WorkLambdaEvConf"].properties["Qualifier"] == "provisioned"


def test_streams_of_tables_are_mappings(tmp_path: Path) -> None:
    event = (
        "{stream: {arn: 'arn:aws:dynamodb:x', type: dynamodb, batchWindow: 3, maximumRetryAttempts: 2, filterPatterns: "
        "[{eventName: [INSERT]}], bisectBatchOnFunctionError: true, destinations: {onFailure: {arn: a, type: sqs}}}}"
    )
    project = one(tmp_path, f"events:\n  - {event}\n  - stream: arn:aws:dynamodb:y")
    assert texts(project) == []
    mapping = project.resources["PackDashitEventSourceMappingDynamodb1"]
    assert mapping.type == "AWS::Lambda::EventSourceMapping"
    assert mapping.properties == {
        "EventSourceArn": "arn:aws:dynamodb:x",
        "FunctionName": {"Ref": "PackDashitLambdaFunction"},
        "BatchSize": 10,
        "Enabled": True,
        "StartingPosition": "TRIM_HORIZON",
        "MaximumBatchingWindowInSeconds": 3,
        "MaximumRetryAttempts": 2,
        "BisectBatchOnFunctionError": True,
        "DestinationConfig": {"OnFailure": {"Destination": "a"}},
        "FilterCriteria": {"Filters": [{"Pattern": '{"eventName":["INSERT"]}'}]},
    }
    assert (
        project.resources["PackDashitEventSourceMappingDynamodb2"].properties["EventSourceArn"] == "arn:aws:dynamodb:y"
    )


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ("{http: {path: /}}", "the event http of pack-it needs a path and a method"),
        ("{http: GETS /}", "the event http of pack-it has the method GETS; it may be any, delete, get,"),
        ("{http: {path: /, method: get, integration: lamda}}", "has no integration lamda: it may be lambda, "),
        ("{http: {path: /, method: get, integration: http}}", "the integration http of pack-it needs a request.uri"),
        ("{http: {path: /, method: get, authorizer: {ttl: 1}}}", "an authorizer needs a name or an arn"),
        ("{stream: 'arn:aws:kinesis:x'}", "Kinesis streams are not supported"),
        ("{stream: {type: kinesis, arn: x}}", "Kinesis streams are not supported"),
        ("{sqss: x}", 'the event sqss of pack-it is not known here; did you mean "sqs"?'),
        ("{schedule: {enabled: true}}", "needs a rate"),
        ("{eventBridge: {enabled: true}}", "needs a pattern or a schedule"),
        ("{sns: {displayName: x}}", "needs a topicName or an arn"),
        ("{s3: {event: x}}", "needs a bucket"),
        ("[1]", "must be an object"),
    ],
)
def test_events_that_cannot_be(tmp_path: Path, event: str, words: str) -> None:
    project = one(tmp_path, f"events:\n  - {event}")
    assert len(texts(project)) == 1
    assert words in texts(project)[0]
    assert project.order == ("PackDashitLambdaFunction",)


def test_a_state_machine_becomes_a_plain_one(tmp_path: Path) -> None:
    write(tmp_path, {"flow.yml": "StartAt: ${self:custom.first}\nStates: {A: {Type: Pass, End: true}}\n"})
    project = service(
        tmp_path,
        """\
        custom: {first: A}
        functions:
          pack-it: {handler: src/app.one}
        stepFunctions:
          stateMachines:
            flow:
              type: EXPRESS
              loggingConfig: {level: ERROR, includeExecutionData: true, destinations: [{Fn::GetAtt: [Logs, Arn]}]}
              tracingConfig: {enabled: true}
              role: FlowRole
              dependsOn: Orders
              events:
                - schedule: {rate: rate(1 day), input: {a: 1}}
                - eventBridge: {event: {source: [x]}}
                - http: {path: /, method: post}
              definition:
                StartAt: Pack
                States:
                  Pack: {Type: Task, Resource: {Fn::GetAtt: [pack-it, Arn]}, Next: Send}
                  Send:
                    Type: Task
                    Resource: "arn:${AWS::Partition}:states:::sqs:sendMessage"
                    Parameters: {QueueUrl: {Ref: Orders}, MessageBody: "#{AWS::Region} ${other}"}
                    End: true
            named: {name: flow-two, definition: "${file(flow.yml)}"}
            given: {id: Given, name: "shop-${sls:stage}", definition: "${file(flow.yml)}"}
          activities: [by-hand]
        resources:
          Resources:
            Orders: {Type: AWS::SQS::Queue}
            Logs: {Type: AWS::Logs::LogGroup}
            FlowRole: {Type: AWS::IAM::Role}
        """,
    )
    assert texts(project) == []
    method = resolved(project.resources["ApiGatewayMethodPost"].properties)
    assert method["Integration"]["Uri"] == "arn:aws:apigateway:eu-central-1:states:action/StartExecution"
    flow = project.resources["FlowStepFunctionsStateMachine"]
    made = resolved(flow.properties)
    assert json.loads(made["DefinitionString"])["States"] == {
        "Pack": {"Type": "Task", "Resource": "<PackDashitLambdaFunction.Arn>", "Next": "Send"},
        "Send": {
            "Type": "Task",
            "Resource": "arn:aws:states:::sqs:sendMessage",
            "Parameters": {"QueueUrl": "<Orders>", "MessageBody": "eu-central-1 ${other}"},
            "End": True,
        },
    }
    assert made["StateMachineType"] == "EXPRESS"
    assert made["RoleArn"] == "<FlowRole.Arn>"
    assert made["LoggingConfiguration"] == {
        "Level": "ERROR",
        "IncludeExecutionData": True,
        "Destinations": [{"CloudWatchLogsLogGroup": {"LogGroupArn": "<Logs.Arn>"}}],
    }
    assert "Orders" in flow.depends_on
    rule = project.resources["FlowEventsRuleSchedule1"].properties
    assert rule["Targets"][0] == {
        "Id": "FlowEventsRuleSchedule1Target",
        "Arn": {"Ref": "FlowStepFunctionsStateMachine"},
        "RoleArn": "arn:aws:iam::000000000000:role/shop-test-events",
        "Input": '{"a":1}',
    }
    assert project.resources["Flowtwo".replace("two", "Dashtwo")].properties["StateMachineName"] == "flow-two"
    assert project.resources["Given"].properties["StateMachineName"] == "shop-test"
    assert project.resources["ByDashhandStepFunctionsActivity"].properties == {"Name": "by-hand"}


VARIABLES: list[tuple[str, Json]] = [
    ("${self:service}", "shop"),
    ("${self:custom.list}", [1, 2]),
    ("${self:custom.list.1}", 2),
    ("${self:custom.${self:provider.stage}.size}", 7),
    ("${self:custom.byName.${sls:stage}}", "T"),
    ("a-${self:custom.list.0}-${sls:stage}", "a-1-test"),
    ("${opt:stage, 'dev'}", "dev"),
    ("${opt:stage, self:provider.stage}", "test"),
    ("${opt:none, opt:neither, 'third'}", "third"),
    ('${opt:none, "with, comma"}', "with, comma"),
    ("${self:custom.none, 12}", 12),
    ("${self:custom.none, true}", True),
    ("${self:custom.none, ${self:service}}", "shop"),
    ("${env:STATEWRIGHT_TEST_VALUE}", "from outside"),
    ("${env:STATEWRIGHT_NOT_SET, 'unset'}", "unset"),
    ("${file(more.yml):deep.value}", "shop!"),
    ("${file(more.json)}", {"a": 1}),
    ("${file(none.yml), 'no file'}", "no file"),
    ("${file(more.${opt:none, 'json'}):a}", 1),
    ("${param:size}", 3),
    ("${param:other}", "o"),
    ("${param:given}", "g"),
    ("${aws:region}", "eu-central-1"),
    ("${aws:accountId}", "000000000000"),
    ("${ssm:/shop/secret}", "{{resolve:ssm:/shop/secret}}"),
    ("${strToBool('false')}", False),
    ("${AWS::Region}-${Queue}", "${AWS::Region}-${Queue}"),
    ("plain $ { text }", "plain $ { text }"),
    ("${self:custom.alias}", "shop"),
    ("${self:custom.whole.size}", 7),
]


@pytest.mark.parametrize(("text", "expected"), VARIABLES, ids=[case[0] for case in VARIABLES])
def test_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: Json) -> None:
    monkeypatch.setenv("STATEWRIGHT_TEST_VALUE", "from outside")
    monkeypatch.delenv("STATEWRIGHT_NOT_SET", raising=False)
    write(tmp_path, {"more.yml": "deep: {value: '${self:service}!'}\n", "more.json": '{"a": 1}'})
    project = service(
        tmp_path,
        f"""\
        custom:
          list: [1, 2]
          test: {{size: 7}}
          byName: {{test: T}}
          alias: ${{self:custom.second}}
          second: ${{self:service}}
          whole: ${{self:custom.test}}
        params:
          default: {{size: 1, other: o}}
          test: {{size: 3}}
        resources:
          Outputs: {{Found: {{Value: {{a: {json.dumps(text)}}}}}}}
        """,
        parameters={"given": "g"},  # type: ignore[arg-type]
    )
    assert texts(project) == []
    assert project.outputs["Found"] == {"a": expected}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("${self:custom.aa}", 'the file has no custom.aa; did you mean "a"?'),
        ("${self:custom.a}", "it refers to itself: custom."),
        ("${env:STATEWRIGHT_NOT_SET}", "the environment has no STATEWRIGHT_NOT_SET"),
        ("${file(none.yml)}", "there is no file none.yml"),
        ("${file(code.js):x}", "code.js is a program, which is not executed here"),
        ("${opt:none}", "there is no option none"),
        ("${param:none}", "there is no parameter none for the stage test"),
        ("${vault:x}", "the source vault is not read here"),
        ("${sls:stag}", "there is no sls:stag"),
        ("a${self:custom.list}", "puts an object, a list or null into a string"),
        ("${strToBool(perhaps)}", "'perhaps' is neither true nor false"),
    ],
)
def test_variables_without_a_value_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    monkeypatch.delenv("STATEWRIGHT_NOT_SET", raising=False)
    write(tmp_path, {"code.js": ""})
    template = f"""\
        custom: {{a: "${{self:custom.b, self:custom.none}}", b: "${{self:custom.a}}", list: [1]}}
        package: {{patterns: [{json.dumps(text)}]}}
        """
    if "custom.a}" not in text:
        template = template.replace('"${self:custom.b, self:custom.none}"', "1").replace('"${self:custom.a}"', "2")
    project = service(tmp_path, template)
    assert any(words in found for found in texts(project, "ERROR")), texts(project)
    line = "3: " if "itself" in words else "4: "
    assert [found for found in texts(project, "ERROR") if found.startswith(line)]


def test_variables_that_double_each_other_end(tmp_path: Path) -> None:
    rows = "\n".join(f"  v{n}: ${{self:custom.v{n + 1}}}${{self:custom.v{n + 1}}}" for n in range(60))
    project = service(tmp_path, f"custom:\n{rows}\n  v60: xxxxxxxxxx\n")
    assert any("becomes too long" in found for found in texts(project))


def test_the_stage_is_chosen_from_outside(tmp_path: Path) -> None:
    project = service(tmp_path, "functions:\n  a: {handler: src/app.one}\n", stage="prod")
    assert project.name == "shop-prod"
    assert project.resources["ALambdaFunction"].properties["FunctionName"] == "shop-prod-a"


def test_extensions_lists_and_pieces(tmp_path: Path) -> None:
    write(tmp_path, {"queues.yml": "Resources:\n  Orders: {Type: AWS::SQS::Queue}\n"})
    project = service(
        tmp_path,
        """\
        functions:
          - a: {handler: src/app.one}
          - b: {handler: src/app.two}
        resources:
          - ${file(queues.yml)}
          - Resources: {Topic: {Type: AWS::SNS::Topic}}
            extensions:
              ALambdaFunction: {Properties: {MemorySize: 64}, DependsOn: [Orders]}
              CLambdaFunction: {Properties: {}}
        """,
    )
    assert set(project.order) == {"Orders", "Topic", "ALambdaFunction", "BLambdaFunction"}
    assert project.resources["ALambdaFunction"].properties["MemorySize"] == 64
    assert project.resources["ALambdaFunction"].depends_on == ("Orders",)
    assert len(texts(project)) == 1
    assert "there is no CLambdaFunction to extend; did you mean" in texts(project)[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("functions: {a: {runtime: python3.12}}", "the function a has no handler"),
        ("functions: {a: text}", "the function a must be an object with a handler"),
        ("functions: {a: {handler: src/ap.one}}", "the handler src/ap.one needs src/ap.py, which does not exist"),
        ("functions: {a: {handler: src/app.one, memory: 3}}", 'a function has no memory; did you mean "memorySize"?'),
        ("functions: 3", "functions must be an object"),
        ("stepFunctions: {stateMachines: {m: {name: x}}}", "the state machine X has no definition"),
        ("stepFunctions: {stateMachines: {m: 1}}", "the state machine m must be an object"),
        ("function: {}", 'the section function is not read; did you mean "functions"?'),
        ("plugins: [serverless-webpack]", "plugins are not run, so what they add is missing: serverless-webpack"),
        ("resources: text", "resources must be an object with Resources"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, words: str) -> None:
    found = texts(service(tmp_path, text + "\n"))
    assert any(words in line for line in found), found


def test_programs_are_not_run(tmp_path: Path) -> None:
    project = read(tmp_path, "export default {}", name="serverless.ts")
    assert project.kind == "serverless"
    assert "is a program, which is not executed here" in texts(project)[0]


def test_other_providers_and_missing_services(tmp_path: Path) -> None:
    found = texts(read(tmp_path, "provider: google\n", name="serverless.yml"))
    assert "0: " not in "".join(found)
    assert any("the provider google is not aws" in line for line in found)
    assert any("the file names no service" in line for line in found)


def test_patterns_of_packages(tmp_path: Path) -> None:
    project = service(
        tmp_path,
        """\
        package: {patterns: ["!**", "src/**"], exclude: [docs/**]}
        functions:
          a: {handler: src/app.one}
          b: {handler: src/app.two, package: {patterns: [extra.txt], include: [more.txt]}}
        """,
    )
    assert project.resources["ALambdaFunction"].patterns == ("!serverless.yml", "!docs/**", "!**", "src/**")
    assert project.resources["BLambdaFunction"].patterns[-2:] == ("more.txt", "extra.txt")


def test_the_framework_s_own_ids_and_its_default_runtime(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        """\
        service: shop
        provider: aws
        functions:
          web:
            handler: web.handler
            environment: {API: !Ref ApiGatewayRestApi, ROLE: !GetAtt IamRoleLambdaExecution.Arn}
        resources:
          Resources:
            Part:
              Type: AWS::ApiGateway::Resource
              Properties: {RestApiId: !Ref ApiGatewayRestApi}
          Outputs:
            Root: {Value: !GetAtt ApiGatewayRestApi.RootResourceId}
            Logs: {Value: !Ref WebLogGroup}
        """,
        name="serverless.yml",
    )
    write(tmp_path, {"web.js": ""})
    assert [text for text in texts(project, "ERROR") if "web.js" not in text] == []
    assert project.resources["WebLambdaFunction"].properties["Runtime"] == "nodejs20.x"
    kinds = {name: found.type for name, found in project.resources.items()}
    assert kinds["ApiGatewayRestApi"] == "AWS::ApiGateway::RestApi"
    assert kinds["IamRoleLambdaExecution"] == "AWS::IAM::Role"
    assert project.resources["WebLogGroup"].properties == {"LogGroupName": "/aws/lambda/shop-dev-web"}


def test_http_api_events_become_routes_of_one_api(tmp_path: Path) -> None:
    project = service(
        tmp_path,
        """\
        service: shop
        provider:
          name: aws
          runtime: python3.12
          httpApi:
            cors: true
            authorizers:
              tokens: {identitySource: $request.header.Authorization, issuerUrl: "https://i.example", audience: shop}
              door: {type: request, functionName: one, resultTtlInSeconds: 60, identitySource: [$request.header.A]}
              odd: {type: other}
        functions:
          one:
            handler: app.one
            events:
              - httpApi: GET /orders/{id}
              - httpApi: "*"
              - httpApi: {method: post, path: orders}
              - httpApi: {method: put, path: /closed, authorizer: {name: jwt}}
              - httpApi: {method: put, path: /odd, authorizer: odd}
              - httpApi: {method: put, path: /tokens, authorizer: {name: tokens, scopes: [read]}}
              - httpApi: {method: put, path: /door, authorizer: {name: door}}
              - httpApi: {method: put, path: /iam, authorizer: {type: aws_iam}}
              - httpApi: {method: put, path: /there, authorizer: {type: request, id: abc}}
        """,
    )
    names = ("AuthorizationType", "AuthorizerId", "AuthorizationScopes")
    made = {
        one.properties["RouteKey"]: [one.properties[name] for name in names if name in one.properties]
        for one in project.resources.values()
        if one.type == "AWS::ApiGatewayV2::Route"
    }
    assert made == {
        "GET /orders/{id}": [], "$default": [], "POST /orders": [], "PUT /iam": ["AWS_IAM"],
        "PUT /tokens": ["JWT", {"Ref": "HttpApiAuthorizerTokens"}, ["read"]], "PUT /there": ["CUSTOM", "abc"],
        "PUT /door": ["CUSTOM", {"Ref": "HttpApiAuthorizerDoor"}],
    }  # fmt: skip
    assert project.resources["HttpApiAuthorizerTokens"].properties == {
        "ApiId": {"Ref": "HttpApi"}, "Name": "tokens", "AuthorizerType": "JWT",
        "IdentitySource": ["$request.header.Authorization"],
        "JwtConfiguration": {"Issuer": "https://i.example", "Audience": ["shop"]},
    }  # fmt: skip
    door = project.resources["HttpApiAuthorizerDoor"].properties
    assert (door["AuthorizerType"], door["AuthorizerResultTtlInSeconds"]) == ("REQUEST", 60)
    assert project.resources["HttpApi"].properties["CorsConfiguration"]["AllowOrigins"] == ["*"]
    assert project.resources["HttpApiStage"].properties["AutoDeploy"] is True
    assert len([text for text in texts(project) if "stays closed" in text]) == 2


def test_a_url_with_an_authorizer_that_is_not_known_is_not_made(tmp_path: Path) -> None:
    project = service(tmp_path, "functions: {one: {handler: app.handler, url: {authorizer: jwt}}}")
    assert "may be aws_iam, not jwt" in texts(project, "ERROR")[0]
    assert not {"AWS::Lambda::Url", "AWS::Lambda::Permission"} & {one.type for one in project.resources.values()}


def test_urls_of_functions(tmp_path: Path) -> None:
    project = service(
        tmp_path,
        """\
        functions:
          open-one: {handler: app.handler, url: true}
          closed: {handler: app.handler, url: {authorizer: aws_iam, cors: true, invokeMode: RESPONSE_STREAM}}
          warm: {handler: app.handler, provisionedConcurrency: 1, url: {cors: {allowedOrigins: [https://a.example]}}}
          none: {handler: app.handler, url: false}
        """,
    )
    urls = {id_: one.properties for id_, one in project.resources.items() if one.type == "AWS::Lambda::Url"}
    assert urls == {
        "OpenDashoneLambdaFunctionUrl": {
            "AuthType": "NONE", "TargetFunctionArn": {"Ref": "OpenDashoneLambdaFunction"},
        },
        "ClosedLambdaFunctionUrl": {
            "AuthType": "AWS_IAM", "TargetFunctionArn": {"Ref": "ClosedLambdaFunction"},
            "InvokeMode": "RESPONSE_STREAM",
            "Cors": {
                "AllowOrigins": ["*"], "AllowMethods": ["*"],
                "AllowHeaders": ["Content-Type", "X-Amz-Date", "Authorization", "X-Api-Key", "X-Amz-Security-Token",
                                 "X-Amzn-Trace-Id"],
            },
        },
        "WarmLambdaFunctionUrl": {
            "AuthType": "NONE", "TargetFunctionArn": {"Ref": "WarmLambdaFunction"}, "Qualifier": "provisioned",
            "Cors": {"AllowOrigins": ["https://a.example"]},
        },
    }  # fmt: skip
    assert "WarmProvConcLambdaAlias" in project.resources["WarmLambdaFunctionUrl"].depends_on
    opening = {
        id_: one.properties["FunctionName"]
        for id_, one in project.resources.items()
        if one.type == "AWS::Lambda::Permission"
    }
    assert opening == {
        "OpenDashoneLambdaPermissionFnUrl": {"Ref": "OpenDashoneLambdaFunction"},
        "WarmLambdaPermissionFnUrl": {"Ref": "WarmProvConcLambdaAlias"},
    }
    assert texts(project, "WARNING") == []
