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
    "AWS::ApiGateway::Deployment": ("RestApiId",),
    "AWS::ApiGateway::Resource": ("RestApiId", "ParentId", "PathPart"),
    "AWS::ApiGateway::Method": ("RestApiId", "ResourceId", "HttpMethod"),
    "AWS::ApiGateway::Stage": ("RestApiId",),
    "AWS::ApiGatewayV2::Api": ("ProtocolType",),
    "AWS::ApiGatewayV2::Authorizer": ("ApiId",),
    "AWS::ApiGatewayV2::Integration": ("ApiId",),
    "AWS::ApiGatewayV2::Route": ("ApiId",),
    "AWS::ApiGatewayV2::Stage": ("ApiId",),
    "AWS::DynamoDB::Table": ("KeySchema", "LocalSecondaryIndexes", "ImportSourceSpecification"),
    "AWS::ECS::TaskDefinition": (ALL,),
    "AWS::Events::Archive": ("SourceArn",),
    "AWS::Events::Rule": ("EventBusName",),
    "AWS::IAM::Role": ("Path",),
    "AWS::IAM::ManagedPolicy": ("Path", "Description"),
    "AWS::Lambda::Alias": ("FunctionName",),
    "AWS::Lambda::EventInvokeConfig": ("FunctionName", "Qualifier"),
    "AWS::Lambda::EventSourceMapping": (
        "EventSourceArn", "StartingPosition", "StartingPositionTimestamp", "SelfManagedEventSource",
    ),
    "AWS::Lambda::Function": ("PackageType",),
    "AWS::Lambda::LayerVersion": (ALL,),
    "AWS::Lambda::Permission": (ALL,),
    "AWS::Lambda::Url": ("TargetFunctionArn", "Qualifier"),
    "AWS::Lambda::Version": ("FunctionName", "Description", "CodeSha256"),
    "AWS::Logs::MetricFilter": ("LogGroupName",),
    "AWS::Logs::SubscriptionFilter": ("LogGroupName",),
    "AWS::Pipes::Pipe": ("Source", "SourceParameters"),
    "AWS::S3::BucketPolicy": ("Bucket",),
    "AWS::SNS::Subscription": ("TopicArn", "Protocol", "Endpoint"),
    "AWS::SNS::Topic": ("FifoTopic",),
    "AWS::SQS::Queue": ("FifoQueue",),
    "AWS::StepFunctions::StateMachine": ("StateMachineType",),
    "AWS::StepFunctions::StateMachineVersion": ("StateMachineArn", "StateMachineRevisionId", "Description"),
}  # fmt: skip
_REQUIRED: Final = {
    "AWS::DynamoDB::Table": ("KeySchema",),
    "AWS::Events::Connection": ("AuthorizationType", "AuthParameters"),
    "AWS::IAM::ManagedPolicy": ("PolicyDocument",),
    "AWS::IAM::Policy": ("PolicyName", "PolicyDocument"),
    "AWS::IAM::Role": ("AssumeRolePolicyDocument",),
    "AWS::Lambda::Alias": ("FunctionName", "FunctionVersion", "Name"),
    "AWS::Lambda::EventSourceMapping": ("FunctionName",),
    "AWS::Lambda::Function": ("Code", "Role"),
    "AWS::Lambda::LayerVersion": ("Content",),
    "AWS::Lambda::Version": ("FunctionName",),
    "AWS::Pipes::Pipe": ("RoleArn", "Source", "Target"),
    "AWS::Scheduler::Schedule": ("FlexibleTimeWindow", "ScheduleExpression", "Target"),
    "AWS::SNS::Subscription": ("TopicArn", "Protocol"),
    "AWS::SQS::QueuePolicy": ("PolicyDocument", "Queues"),
    "AWS::SSM::Parameter": ("Type", "Value"),
    "AWS::StepFunctions::StateMachine": ("RoleArn",),
    "AWS::StepFunctions::Activity": ("Name",),
}


_IDENTIFIERS: Final = {
    "AWS::ApiGateway::Deployment": ("DeploymentId", "RestApiId"), "AWS::ApiGateway::RestApi": ("RestApiId",),
    "AWS::ApiGateway::Resource": ("RestApiId", "ResourceId"),
    "AWS::ApiGateway::Method": ("RestApiId", "ResourceId", "HttpMethod"),
    "AWS::ApiGateway::Stage": ("RestApiId", "StageName"), "AWS::ApiGatewayV2::Api": ("ApiId",),
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
