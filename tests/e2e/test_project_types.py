# ruff: noqa: E501
"""Every type of resource that deployment knows, on a real server: made, left as it is, and taken away again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from statewright.cli.commands import run_command
from statewright.projects.deploy.registry import IGNORED, KNOWN
from tests.e2e.conftest import Server

TEMPLATE = """\
AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Resources:
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Principal: {Service: lambda.amazonaws.com}, Action: "sts:AssumeRole"}]}
      Policies: [{PolicyName: inline, PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Action: "*", Resource: "*"}]}}]
      ManagedPolicyArns: [!Ref Managed]
  Managed:
    Type: AWS::IAM::ManagedPolicy
    Properties: {PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Action: "s3:*", Resource: "*"}]}}
  Policy:
    Type: AWS::IAM::Policy
    Properties: {PolicyName: more, Roles: [!Ref Role], PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Action: "sqs:*", Resource: "*"}]}}
  RolePolicy: {Type: AWS::IAM::RolePolicy, Properties: {PolicyName: apart, RoleName: !Ref Role, PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Action: "sns:*", Resource: "*"}]}}}
  Person: {Type: AWS::IAM::User, Properties: {Groups: [!Ref Team], ManagedPolicyArns: [!Ref Managed], PermissionsBoundary: !Ref Managed, Tags: [{Key: a, Value: b}]}}
  Team: {Type: AWS::IAM::Group, Properties: {Policies: [{PolicyName: team, PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Action: "sns:*", Resource: "*"}]}}]}}
  Guest: {Type: AWS::IAM::User}
  GuestPolicy: {Type: AWS::IAM::UserPolicy, Properties: {PolicyName: guest, UserName: !Ref Guest, PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Action: "sns:*", Resource: "*"}]}}}
  TeamPolicy: {Type: AWS::IAM::GroupPolicy, Properties: {PolicyName: more, GroupName: !Ref Team, PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Action: "sns:*", Resource: "*"}]}}}
  Membership: {Type: AWS::IAM::UserToGroupAddition, Properties: {GroupName: !Ref Team, Users: [!Ref Guest]}}
  Layer:
    Type: AWS::Lambda::LayerVersion
    Properties: {Content: layer, CompatibleRuntimes: [python3.12]}
  Fn:
    Type: AWS::Lambda::Function
    Properties:
      Code: code
      Handler: app.handler
      Runtime: python3.12
      Role: !GetAtt Role.Arn
      Timeout: "20"
      Layers: [!Ref Layer]
      Environment: {Variables: {TABLE: !Ref Table, NUM: 5, FLAG: true}}
      DeadLetterConfig: {TargetArn: !GetAtt Dead.Arn}
      ReservedConcurrentExecutions: 3
      Tags: [{Key: a, Value: b}]
  FnVersion: {Type: AWS::Lambda::Version, Properties: {FunctionName: !Ref Fn}}
  FnAlias: {Type: AWS::Lambda::Alias, Properties: {FunctionName: !Ref Fn, Name: live, FunctionVersion: !GetAtt FnVersion.Version, ProvisionedConcurrencyConfig: {ProvisionedConcurrentExecutions: "2"}}}
  Inline:
    Type: AWS::Lambda::Function
    Properties: {Code: {ZipFile: "def handler(e, c):\\n    return 1\\n"}, Handler: index.handler, Runtime: python3.12, Role: !GetAtt Role.Arn}
  Permission: {Type: AWS::Lambda::Permission, Properties: {FunctionName: !Ref Fn, Action: "lambda:InvokeFunction", Principal: sns.amazonaws.com}}
  Address: {Type: AWS::Lambda::Url, Properties: {TargetFunctionArn: !Ref Fn, AuthType: NONE}}
  Invokes: {Type: AWS::Lambda::EventInvokeConfig, Properties: {FunctionName: !Ref Fn, Qualifier: live, MaximumRetryAttempts: "1", DestinationConfig: {OnFailure: {Destination: !GetAtt Dead.Arn}}}, DependsOn: FnAlias}
  Mapping:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {EventSourceArn: !GetAtt Queue.Arn, FunctionName: !Ref FnAlias, BatchSize: "5", FilterCriteria: {Filters: [{Pattern: '{"body": {"a": [1]}}'}]}, ScalingConfig: {MaximumConcurrency: 4}, FunctionResponseTypes: [ReportBatchItemFailures]}
  Dead: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600, Tags: [{Key: a, Value: b}]}}
  Queue: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 120, RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3}}}
  Fifo: {Type: AWS::SQS::Queue, Properties: {FifoQueue: true, ContentBasedDeduplication: true}}
  QueuePolicy: {Type: AWS::SQS::QueuePolicy, Properties: {Queues: [!Ref Queue], PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Principal: "*", Action: "sqs:SendMessage", Resource: !GetAtt Queue.Arn}]}}}
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PROVISIONED
      ProvisionedThroughput: {ReadCapacityUnits: "5", WriteCapacityUnits: "5"}
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}, {AttributeName: at, AttributeType: N}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      GlobalSecondaryIndexes: [{IndexName: by-at, KeySchema: [{AttributeName: at, KeyType: HASH}], Projection: {ProjectionType: ALL}, ProvisionedThroughput: {ReadCapacityUnits: 1, WriteCapacityUnits: 1}}]
      TimeToLiveSpecification: {AttributeName: end, Enabled: true}
      PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: true}
      Tags: [{Key: a, Value: b}]
  Global: {Type: AWS::DynamoDB::GlobalTable, Properties: {BillingMode: PAY_PER_REQUEST, AttributeDefinitions: [{AttributeName: id, AttributeType: S}], KeySchema: [{AttributeName: id, KeyType: HASH}], Replicas: [{Region: us-east-1}]}}
  Connection: {Type: AWS::Events::Connection, Properties: {AuthorizationType: BASIC, AuthParameters: {BasicAuthParameters: {Username: u, Password: p}}}}
  Destination: {Type: AWS::Events::ApiDestination, Properties: {ConnectionArn: !GetAtt Connection.Arn, HttpMethod: POST, InvocationEndpoint: "https://example.com/a", InvocationRateLimitPerSecond: "9"}}
  Pipe: {Type: AWS::Pipes::Pipe, Properties: {RoleArn: !GetAtt Role.Arn, Source: !GetAtt Dead.Arn, Target: !Ref Machine, SourceParameters: {SqsQueueParameters: {BatchSize: "1"}, FilterCriteria: {Filters: [{Pattern: '{"body": {"a": [1]}}'}]}}, TargetParameters: {InputTemplate: '{"b": <$.body>}', StepFunctionStateMachineParameters: {InvocationType: FIRE_AND_FORGET}}}}
  Topic: {Type: AWS::SNS::Topic, Properties: {DisplayName: hello, Subscription: [{Protocol: sqs, Endpoint: !GetAtt Dead.Arn}]}}
  FifoTopic: {Type: AWS::SNS::Topic, Properties: {FifoTopic: true, ContentBasedDeduplication: true}}
  Sub: {Type: AWS::SNS::Subscription, Properties: {TopicArn: !Ref Topic, Protocol: sqs, Endpoint: !GetAtt Queue.Arn, RawMessageDelivery: true, FilterPolicy: {kind: [a]}, RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn}}}
  TopicPolicy: {Type: AWS::SNS::TopicPolicy, Properties: {Topics: [!Ref Topic], PolicyDocument: {Version: "2012-10-17", Statement: [{Sid: x, Effect: Allow, Principal: "*", Action: "sns:Publish", Resource: !Ref Topic}]}}}
  Bucket: {Type: AWS::S3::Bucket, Properties: {Tags: [{Key: a, Value: b}], VersioningConfiguration: {Status: Enabled}, BucketEncryption: {ServerSideEncryptionConfiguration: [{ServerSideEncryptionByDefault: {SSEAlgorithm: "aws:kms"}, BucketKeyEnabled: "true"}]}, PublicAccessBlockConfiguration: {BlockPublicAcls: "true", BlockPublicPolicy: true}, OwnershipControls: {Rules: [{ObjectOwnership: ObjectWriter}]}, CorsConfiguration: {CorsRules: [{Id: web, AllowedMethods: [GET], AllowedOrigins: ["*"], ExposedHeaders: [ETag], MaxAge: "60"}]}, LifecycleConfiguration: {Rules: [{Id: old, Status: Enabled, Prefix: a/, ExpirationInDays: "7"}]}, NotificationConfiguration: {QueueConfigurations: [{Event: "s3:ObjectRemoved:*", Queue: !GetAtt Dead.Arn, Filter: {S3Key: {Rules: [{Name: suffix, Value: .csv}]}}}]}}}
  BucketNotices: {Type: Custom::S3BucketNotifications, Properties: {ServiceToken: x, BucketName: !Ref Bucket, Managed: true, NotificationConfiguration: {LambdaFunctionConfigurations: [{Events: ["s3:ObjectCreated:*"], LambdaFunctionArn: !GetAtt Fn.Arn}]}}}
  BucketPolicy: {Type: AWS::S3::BucketPolicy, Properties: {Bucket: !Ref Bucket, PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Deny, Principal: "*", Action: "s3:*", Resource: !Sub "${Bucket.Arn}/*", Condition: {Bool: {"aws:SecureTransport": "false"}}}]}}}
  Group: {Type: AWS::Scheduler::ScheduleGroup}
  Schedule: {Type: AWS::Scheduler::Schedule, Properties: {GroupName: !Ref Group, ScheduleExpression: rate(1 hour), FlexibleTimeWindow: {Mode: FLEXIBLE, MaximumWindowInMinutes: "5"}, StartDate: "2030-01-01T00:00:00Z", Target: {Arn: !GetAtt Queue.Arn, RoleArn: !GetAtt Role.Arn, Input: '{"a": 1}', RetryPolicy: {MaximumRetryAttempts: 2}}}}
  Bus: {Type: AWS::Events::EventBus, Properties: {Name: MARK-bus}}
  Rule: {Type: AWS::Events::Rule, Properties: {EventBusName: !Ref Bus, EventPattern: {source: [a]}, Targets: [{Id: q, Arn: !GetAtt Queue.Arn}, {Id: m, Arn: !Ref Machine, RoleArn: !GetAtt Role.Arn}]}}
  Tick: {Type: AWS::Events::Rule, Properties: {ScheduleExpression: rate(1 hour), State: DISABLED, Targets: [{Id: f, Arn: !GetAtt Fn.Arn, InputTransformer: {InputPathsMap: {a: $.b}, InputTemplate: '{"x": <a>}'}}]}}
  Alarm:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Namespace: AWS/States
      MetricName: ExecutionsFailed
      Dimensions: [{Name: StateMachineArn, Value: !Ref Machine}]
      Statistic: Sum
      Period: "60"
      EvaluationPeriods: 2
      DatapointsToAlarm: 1
      Threshold: "0.5"
      ComparisonOperator: GreaterThanThreshold
      TreatMissingData: notBreaching
      AlarmActions: [!Ref Topic]
      OKActions: [!Ref Topic, "arn:aws:autoscaling:us-east-1:000000000000:scalingPolicy:a:b"]
      Tags: [{Key: a, Value: b}]
  Share:
    Type: AWS::CloudWatch::Alarm
    Properties:
      EvaluationPeriods: 1
      Threshold: 10
      ComparisonOperator: GreaterThanThreshold
      Metrics:
        - {Id: rate, Expression: "100 * errors / calls", Label: share}
        - {Id: errors, ReturnData: false, MetricStat: {Metric: {Namespace: AWS/Lambda, MetricName: Errors, Dimensions: [{Name: FunctionName, Value: !Ref Fn}]}, Period: 300, Stat: Sum}}
        - {Id: calls, ReturnData: false, MetricStat: {Metric: {Namespace: AWS/Lambda, MetricName: Invocations, Dimensions: [{Name: FunctionName, Value: !Ref Fn}]}, Period: 300, Stat: Sum}}
  Both: {Type: AWS::CloudWatch::CompositeAlarm, Properties: {AlarmRule: !Sub "ALARM(${Alarm}) AND ALARM(${Share})"}}
  Errors: {Type: AWS::Logs::MetricFilter, Properties: {LogGroupName: !Ref Logs, FilterPattern: '{ $.type = "ExecutionFailed" }', MetricTransformations: [{MetricName: failed, MetricNamespace: Own, MetricValue: 1, Dimensions: [{Key: kind, Value: $.type}]}]}}
  Lines: {Type: AWS::Logs::SubscriptionFilter, Properties: {LogGroupName: !Ref Logs, FilterPattern: "", DestinationArn: !GetAtt Fn.Arn}}
  OfFn: {Type: AWS::Logs::MetricFilter, Properties: {LogGroupName: !Sub "/aws/lambda/${Inline}", FilterPattern: ERROR, MetricTransformations: [{MetricName: errors, MetricNamespace: Own, MetricValue: "1", DefaultValue: 0}]}}
  Archive: {Type: AWS::Events::Archive, Properties: {SourceArn: !GetAtt Bus.Arn, RetentionDays: "7", EventPattern: {source: [shop]}, Description: kept}}
  Logs: {Type: AWS::Logs::LogGroup, Properties: {LogGroupName: /MARK/machine, RetentionInDays: 7}}
  Param: {Type: AWS::SSM::Parameter, Properties: {Name: /MARK/one, Type: String, Value: !Ref Queue}}
  Secret: {Type: AWS::SecretsManager::Secret, Properties: {Description: d, GenerateSecretString: {SecretStringTemplate: '{"user": "me"}', GenerateStringKey: password}}}
  Images: {Type: AWS::ECR::Repository, Properties: {RepositoryName: MARK/images, ImageTagMutability: IMMUTABLE, ImageScanningConfiguration: {ScanOnPush: "true"}, RepositoryPolicyText: {Version: "2012-10-17", Statement: [{Effect: Allow, Principal: "*", Action: "ecr:BatchGetImage"}]}, LifecyclePolicy: {LifecyclePolicyText: '{"rules": [{"rulePriority": 1, "selection": {"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": 9}, "action": {"type": "expire"}}]}'}, Tags: [{Key: a, Value: b}]}}
  HttpApi: {Type: AWS::ApiGatewayV2::Api, Properties: {Name: MARK-http, ProtocolType: HTTP, CorsConfiguration: {AllowOrigins: ["https://shop.example"]}, Tags: {a: b}}}
  HttpIntegration: {Type: AWS::ApiGatewayV2::Integration, Properties: {ApiId: !Ref HttpApi, IntegrationType: AWS_PROXY, IntegrationUri: !GetAtt Fn.Arn, PayloadFormatVersion: "2.0"}}
  HttpAuthorizer: {Type: AWS::ApiGatewayV2::Authorizer, Properties: {ApiId: !Ref HttpApi, AuthorizerType: REQUEST, AuthorizerUri: !Sub "arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Fn.Arn}/invocations", AuthorizerPayloadFormatVersion: "2.0", AuthorizerResultTtlInSeconds: 60, IdentitySource: [$request.header.A]}}
  HttpRoute: {Type: AWS::ApiGatewayV2::Route, Properties: {ApiId: !Ref HttpApi, RouteKey: "GET /{id}", AuthorizationType: CUSTOM, AuthorizerId: !Ref HttpAuthorizer, Target: !Sub "integrations/${HttpIntegration}"}}
  HttpDeployment: {Type: AWS::ApiGatewayV2::Deployment, DependsOn: HttpRoute, Properties: {ApiId: !Ref HttpApi, Description: first}}
  HttpStage: {Type: AWS::ApiGatewayV2::Stage, Properties: {ApiId: !Ref HttpApi, StageName: dev, DeploymentId: !Ref HttpDeployment, StageVariables: {a: b}}}
  RestApi: {Type: AWS::ApiGateway::RestApi, Properties: {Name: MARK-rest, BinaryMediaTypes: ["image/png"], EndpointConfiguration: {Types: [REGIONAL]}}}
  RestModel: {Type: AWS::ApiGateway::Model, Properties: {RestApiId: !Ref RestApi, Name: Order, ContentType: application/json, Schema: {type: object, required: [id]}}}
  RestValidator: {Type: AWS::ApiGateway::RequestValidator, Properties: {RestApiId: !Ref RestApi, Name: bodies, ValidateRequestBody: "true"}}
  RestResource: {Type: AWS::ApiGateway::Resource, Properties: {RestApiId: !Ref RestApi, ParentId: !GetAtt RestApi.RootResourceId, PathPart: orders}}
  RestAuthorizer: {Type: AWS::ApiGateway::Authorizer, Properties: {RestApiId: !Ref RestApi, Name: door, Type: TOKEN, AuthorizerUri: !Sub "arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Fn.Arn}/invocations", IdentitySource: method.request.header.A, AuthorizerResultTtlInSeconds: 60}}
  RestMethod: {Type: AWS::ApiGateway::Method, Properties: {RestApiId: !Ref RestApi, ResourceId: !Ref RestResource, HttpMethod: POST, AuthorizationType: CUSTOM, AuthorizerId: !Ref RestAuthorizer, RequestModels: {application/json: !Ref RestModel}, RequestValidatorId: !Ref RestValidator, Integration: {Type: AWS_PROXY, IntegrationHttpMethod: POST, Uri: !Sub "arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Fn.Arn}/invocations"}}}
  RestAnswer: {Type: AWS::ApiGateway::GatewayResponse, Properties: {RestApiId: !Ref RestApi, ResponseType: DEFAULT_4XX, ResponseParameters: {gatewayresponse.header.Access-Control-Allow-Origin: "'*'"}}}
  RestDeployment: {Type: AWS::ApiGateway::Deployment, DependsOn: RestMethod, Properties: {RestApiId: !Ref RestApi}}
  Key: {Type: AWS::ApiGateway::ApiKey, Properties: {Name: MARK-key, Enabled: "true"}}
  Plan: {Type: AWS::ApiGateway::UsagePlan, Properties: {UsagePlanName: MARK-plan, ApiStages: [{ApiId: !Ref RestApi, Stage: !Ref RestStage}], Throttle: {RateLimit: "5", BurstLimit: "10"}, Quota: {Limit: "100", Period: DAY}}}
  PlanKey: {Type: AWS::ApiGateway::UsagePlanKey, Properties: {KeyId: !Ref Key, KeyType: API_KEY, UsagePlanId: !Ref Plan}}
  GatewaySettings: {Type: AWS::ApiGateway::Account, Properties: {CloudWatchRoleArn: !GetAtt Role.Arn}}
  RestStage: {Type: AWS::ApiGateway::Stage, Properties: {RestApiId: !Ref RestApi, DeploymentId: !Ref RestDeployment, StageName: prod, Variables: {a: b}}}
  Activity: {Type: AWS::StepFunctions::Activity, Properties: {Name: MARK-activity}}
  Machine:
    Type: AWS::StepFunctions::StateMachine
    Properties:
      RoleArn: !GetAtt Role.Arn
      Definition: {StartAt: A, States: {A: {Type: Task, Resource: "${Fn}", End: true}}}
      DefinitionSubstitutions: {Fn: !GetAtt Fn.Arn}
      LoggingConfiguration: {Level: ALL, IncludeExecutionData: true, Destinations: [{CloudWatchLogsLogGroup: {LogGroupArn: !GetAtt Logs.Arn}}]}
      TracingConfiguration: {Enabled: true}
      Tags: [{Key: a, Value: b}]
  MachineVersion: {Type: AWS::StepFunctions::StateMachineVersion, Properties: {StateMachineArn: !Ref Machine, StateMachineRevisionId: !GetAtt Machine.StateMachineRevisionId}}
  MachineAlias: {Type: AWS::StepFunctions::StateMachineAlias, Properties: {Name: live, DeploymentPreference: {StateMachineVersionArn: !Ref MachineVersion, Type: ALL_AT_ONCE}}}
  Cluster: {Type: AWS::ECS::Cluster}
  Task: {Type: AWS::ECS::TaskDefinition, Properties: {Family: MARK-task, Cpu: 256, Memory: 512, NetworkMode: awsvpc, RequiresCompatibilities: [FARGATE], ContainerDefinitions: [{Name: c, Image: busybox, Essential: true, Command: ["true"], Environment: [{Name: A, Value: b}]}]}}
  Compute: {Type: AWS::Batch::ComputeEnvironment, Properties: {Type: managed, ComputeResources: {Type: FARGATE, MaxvCpus: 4, Subnets: [s], SecurityGroupIds: [g]}}}
  JobQueue: {Type: AWS::Batch::JobQueue, Properties: {Priority: 1, ComputeEnvironmentOrder: [{Order: 1, ComputeEnvironment: !Ref Compute}]}}
  JobDefinition: {Type: AWS::Batch::JobDefinition, Properties: {Type: container, ContainerProperties: {Image: busybox, Command: ["true"], ResourceRequirements: [{Type: VCPU, Value: "1"}, {Type: MEMORY, Value: "512"}]}, RetryStrategy: {Attempts: 2}}}
"""

EMPTY = "Resources:\n  Other: {Type: AWS::SQS::Queue}\n"
LEFT_OUT = {"Permission", "Both"}


def deploy(capsys: pytest.CaptureFixture[str], server: Server, place: Path, *more: str) -> dict[str, Any]:
    capsys.readouterr()
    run_command(["deploy", str(place), "--endpoint", server.url, "-o", "json", *more])
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    return shown


def other(shown: dict[str, Any], *expected: str) -> list[dict[str, Any]]:
    """What came out differently."""
    return [one for one in shown["resources"] if one["outcome"] not in expected and one["id"] not in LEFT_OUT]


@pytest.mark.slow
def test_every_type(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    mark = f"all{uuid4().hex[:8]}"
    root = tmp_path / mark
    (root / "code").mkdir(parents=True)
    (root / "layer" / "python").mkdir(parents=True)
    (root / "code" / "app.py").write_text("def handler(event, context):\n    return 1\n")
    (root / "layer" / "python" / "shared.py").write_text("X = 1\n")
    (root / "template.yaml").write_text(TEMPLATE.replace("MARK", mark))

    assert other(deploy(capsys, server, root, "--dry-run"), "created") == []
    shown = deploy(capsys, server, root)
    assert other(shown, "created") == []
    assert {one["type"] for one in shown["resources"]} == set(KNOWN) - IGNORED
    assert {one["id"] for one in shown["resources"] if one["outcome"] == "noted"} == LEFT_OUT
    assert other(deploy(capsys, server, root), "unchanged") == []

    (root / "code" / "app.py").write_text("def handler(event, context):\n    return 2\n")
    changed = {one["id"]: one["outcome"] for one in other(deploy(capsys, server, root), "unchanged")}
    assert changed == {"Fn": "updated", "FnVersion": "created", "FnAlias": "updated"}

    (root / "template.yaml").write_text(EMPTY)
    assert other(deploy(capsys, server, root), "gone", "created") == []
    assert other(deploy(capsys, server, root, "--prune"), "removed", "unchanged") == []
    assert len(deploy(capsys, server, root)["resources"]) == 1
    queues = server.client("sqs").list_queues(QueueNamePrefix=mark)["QueueUrls"]
    assert [url.rpartition("/")[2] for url in queues] == [f"{mark}-Other"]
