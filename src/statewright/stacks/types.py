"""Properties of resource types that cannot be changed, and those that a resource cannot be made without.

Owns what a stack must know of a type besides how it is made, which is `projects/deploy`'s: the service refuses or
replaces where an applier would change in place. The property with a resource's name is fixed for every type.

Source: CloudFormation template reference, "Update requires: Replacement" and "Required".
"""

from __future__ import annotations

from typing import Final

from statewright.payload import Json
from statewright.projects.deploy.registry import kind_of

ALL: Final = "*"
_FIXED: Final = {
    "AWS::ApiGateway::ApiKey": ("GenerateDistinctId", "Value"),
    "AWS::ApiGateway::Authorizer": ("RestApiId",),
    "AWS::ApiGateway::Deployment": ("RestApiId", "DeploymentCanarySettings"),
    "AWS::ApiGateway::GatewayResponse": ("ResponseType", "RestApiId"),
    "AWS::ApiGateway::Method": ("RestApiId", "ResourceId", "HttpMethod"),
    "AWS::ApiGateway::Model": ("ContentType", "Name", "RestApiId"),
    "AWS::ApiGateway::RequestValidator": ("Name", "RestApiId"),
    "AWS::ApiGateway::Resource": ("RestApiId", "ParentId", "PathPart"),
    "AWS::ApiGateway::Stage": ("RestApiId", "StageName"),
    "AWS::ApiGateway::UsagePlanKey": ("KeyId", "KeyType", "UsagePlanId"),
    "AWS::ApiGatewayV2::Api": ("ProtocolType",),
    "AWS::ApiGatewayV2::Authorizer": ("ApiId",),
    "AWS::ApiGatewayV2::Deployment": ("ApiId",),
    "AWS::ApiGatewayV2::Integration": ("ApiId",),
    "AWS::ApiGatewayV2::Route": ("ApiId",),
    "AWS::ApiGatewayV2::Stage": ("ApiId", "StageName"),
    "AWS::Batch::ComputeEnvironment": ("EksConfiguration", "Tags", "Type"),
    "AWS::Batch::JobDefinition": ("Tags",),
    "AWS::Batch::JobQueue": ("JobQueueType", "Tags"),
    "AWS::DynamoDB::GlobalTable": ("KeySchema", "LocalSecondaryIndexes"),
    "AWS::DynamoDB::Table": ("KeySchema", "LocalSecondaryIndexes", "ImportSourceSpecification"),
    "AWS::ECR::Repository": ("EncryptionConfiguration",),
    "AWS::ECS::TaskDefinition": (ALL,),
    "AWS::Events::Archive": ("SourceArn",),
    "AWS::Events::EventBus": ("EventSourceName",),
    "AWS::Events::Rule": ("EventBusName",),
    "AWS::IAM::GroupPolicy": ("GroupName",),
    "AWS::IAM::ManagedPolicy": ("Path", "Description"),
    "AWS::IAM::Role": ("Path",),
    "AWS::IAM::RolePolicy": ("RoleName",),
    "AWS::IAM::UserPolicy": ("UserName",),
    "AWS::Lambda::Alias": ("FunctionName",),
    "AWS::Lambda::EventInvokeConfig": ("FunctionName", "Qualifier"),
    "AWS::Lambda::EventSourceMapping": (
        "EventSourceArn", "StartingPosition", "StartingPositionTimestamp", "SelfManagedEventSource",
        "AmazonManagedKafkaEventSourceConfig", "SelfManagedKafkaEventSourceConfig",
    ),
    "AWS::Lambda::Function": ("PackageType", "TenancyConfig"),
    "AWS::Lambda::LayerVersion": (ALL,),
    "AWS::Lambda::Permission": (ALL,),
    "AWS::Lambda::Url": ("TargetFunctionArn", "Qualifier"),
    "AWS::Lambda::Version": (
        "FunctionName", "Description", "CodeSha256", "ProvisionedConcurrencyConfig", "RuntimePolicy",
    ),
    "AWS::Logs::MetricFilter": ("LogGroupName",),
    "AWS::Logs::SubscriptionFilter": ("LogGroupName",),
    "AWS::Pipes::Pipe": ("Source",),
    "AWS::S3::Bucket": ("BucketNamePrefix", "BucketNamespace", "ObjectLockEnabled"),
    "AWS::S3::BucketPolicy": ("Bucket",),
    "AWS::SNS::Subscription": ("TopicArn", "Protocol", "Endpoint"),
    "AWS::SNS::Topic": ("FifoTopic",),
    "AWS::SQS::Queue": ("FifoQueue",),
    "AWS::StepFunctions::Activity": ("EncryptionConfiguration",),
    "AWS::StepFunctions::StateMachine": ("StateMachineType",),
    "AWS::StepFunctions::StateMachineVersion": ("StateMachineArn", "StateMachineRevisionId", "Description"),
}  # fmt: skip
_REQUIRED: Final = {
    "AWS::ApiGateway::Authorizer": ("RestApiId", "Type"),
    "AWS::ApiGateway::Deployment": ("RestApiId",),
    "AWS::ApiGateway::GatewayResponse": ("ResponseType", "RestApiId"),
    "AWS::ApiGateway::Method": ("HttpMethod", "ResourceId", "RestApiId"),
    "AWS::ApiGateway::Model": ("RestApiId",),
    "AWS::ApiGateway::RequestValidator": ("RestApiId",),
    "AWS::ApiGateway::Resource": ("ParentId", "PathPart", "RestApiId"),
    "AWS::ApiGateway::Stage": ("RestApiId",),
    "AWS::ApiGateway::UsagePlanKey": ("KeyId", "KeyType", "UsagePlanId"),
    "AWS::ApiGatewayV2::Authorizer": ("ApiId", "AuthorizerType", "Name"),
    "AWS::ApiGatewayV2::Deployment": ("ApiId",),
    "AWS::ApiGatewayV2::Integration": ("ApiId", "IntegrationType"),
    "AWS::ApiGatewayV2::Route": ("ApiId", "RouteKey"),
    "AWS::ApiGatewayV2::Stage": ("ApiId", "StageName"),
    "AWS::Batch::ComputeEnvironment": ("Type",),
    "AWS::Batch::JobDefinition": ("Type",),
    "AWS::Batch::JobQueue": ("Priority",),
    "AWS::DynamoDB::GlobalTable": ("Replicas",),
    "AWS::DynamoDB::Table": ("KeySchema",),
    "AWS::Events::ApiDestination": ("ConnectionArn", "HttpMethod", "InvocationEndpoint"),
    "AWS::Events::Archive": ("SourceArn",),
    "AWS::Events::EventBus": ("Name",),
    "AWS::IAM::GroupPolicy": ("GroupName", "PolicyName"),
    "AWS::IAM::ManagedPolicy": ("PolicyDocument",),
    "AWS::IAM::Policy": ("PolicyName", "PolicyDocument"),
    "AWS::IAM::Role": ("AssumeRolePolicyDocument",),
    "AWS::IAM::RolePolicy": ("PolicyName", "RoleName"),
    "AWS::IAM::UserPolicy": ("PolicyName", "UserName"),
    "AWS::IAM::UserToGroupAddition": ("GroupName", "Users"),
    "AWS::Lambda::Alias": ("FunctionName", "FunctionVersion", "Name"),
    "AWS::Lambda::EventInvokeConfig": ("FunctionName", "Qualifier"),
    "AWS::Lambda::EventSourceMapping": ("FunctionName",),
    "AWS::Lambda::Function": ("Code", "Role"),
    "AWS::Lambda::LayerVersion": ("Content",),
    "AWS::Lambda::Permission": ("Action", "FunctionName", "Principal"),
    "AWS::Lambda::Url": ("AuthType", "TargetFunctionArn"),
    "AWS::Lambda::Version": ("FunctionName",),
    "AWS::Logs::MetricFilter": ("FilterPattern", "LogGroupName", "MetricTransformations"),
    "AWS::Logs::SubscriptionFilter": ("DestinationArn", "FilterPattern", "LogGroupName"),
    "AWS::Pipes::Pipe": ("RoleArn", "Source", "Target"),
    "AWS::S3::BucketPolicy": ("Bucket", "PolicyDocument"),
    "AWS::SNS::Subscription": ("TopicArn", "Protocol"),
    "AWS::SNS::TopicPolicy": ("PolicyDocument", "Topics"),
    "AWS::SQS::QueuePolicy": ("PolicyDocument", "Queues"),
    "AWS::SSM::Parameter": ("Type", "Value"),
    "AWS::Scheduler::Schedule": ("FlexibleTimeWindow", "ScheduleExpression", "Target"),
    "AWS::StepFunctions::Activity": ("Name",),
    "AWS::StepFunctions::StateMachine": ("RoleArn",),
    "AWS::StepFunctions::StateMachineVersion": ("StateMachineArn",),
}  # fmt: skip


_IDENTIFIERS: Final = {
    "AWS::ApiGateway::Deployment": ("DeploymentId", "RestApiId"), "AWS::ApiGateway::RestApi": ("RestApiId",),
    "AWS::ApiGateway::Authorizer": ("RestApiId", "AuthorizerId"),
    "AWS::ApiGateway::Resource": ("RestApiId", "ResourceId"),
    "AWS::ApiGateway::Method": ("RestApiId", "ResourceId", "HttpMethod"),
    "AWS::ApiGateway::Stage": ("RestApiId", "StageName"), "AWS::ApiGatewayV2::Api": ("ApiId",),
    "AWS::ApiGatewayV2::Authorizer": ("AuthorizerId", "ApiId"),
    "AWS::ApiGatewayV2::Integration": ("ApiId", "IntegrationId"), "AWS::ApiGatewayV2::Route": ("ApiId", "RouteId"),
    "AWS::CloudWatch::Alarm": ("AlarmName",), "AWS::DynamoDB::Table": ("TableName",),
    "AWS::Events::EventBus": ("Name",),
    "AWS::Events::Rule": ("Arn",), "AWS::IAM::ManagedPolicy": ("PolicyArn",), "AWS::IAM::Role": ("RoleName",),
    "AWS::Lambda::Alias": ("AliasArn",), "AWS::Lambda::EventSourceMapping": ("Id",),
    "AWS::Lambda::Function": ("FunctionName",), "AWS::Lambda::LayerVersion": ("LayerVersionArn",),
    "AWS::Lambda::Permission": ("FunctionName", "Id"), "AWS::Lambda::Url": ("FunctionArn",),
    "AWS::Lambda::Version": ("FunctionArn",), "AWS::Logs::LogGroup": ("LogGroupName",), "AWS::Pipes::Pipe": ("Name",),
    "AWS::S3::Bucket": ("BucketName",), "AWS::S3::BucketPolicy": ("Bucket",), "AWS::Scheduler::Schedule": ("Name",),
    "AWS::SecretsManager::Secret": ("Id",), "AWS::SNS::Subscription": ("Arn",), "AWS::SNS::Topic": ("TopicArn",),
    "AWS::SQS::Queue": ("QueueUrl",), "AWS::SQS::QueuePolicy": ("Id",), "AWS::SSM::Parameter": ("Name",),
    "AWS::StepFunctions::Activity": ("Arn",), "AWS::StepFunctions::StateMachine": ("Arn",),
    "AWS::StepFunctions::StateMachineAlias": ("Arn",), "AWS::StepFunctions::StateMachineVersion": ("Arn",),
}  # fmt: skip
"""Source: schemas of the resource types, primary identifiers."""


def identifiers(type: str) -> list[str]:
    """The properties and attributes that identify a resource; empty for a type that is not known here."""
    return list(_IDENTIFIERS.get(type, ()))


def is_fixed(type: str, name: str) -> bool:
    """True if another value of a property takes another resource."""
    fixed = _FIXED.get(type, ())
    return name in fixed or ALL in fixed or name == kind_of(type).name


def lacking(type: str, properties: Json) -> list[str]:
    """The properties that a resource cannot be made without and does not have."""
    given = properties if isinstance(properties, dict) else {}
    return [name for name in _REQUIRED.get(type, ()) if given.get(name) is None]
