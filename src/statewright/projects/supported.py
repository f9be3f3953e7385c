"""Which types of resources are deployed, and what is lost with those that are not.

Owns the words. What deployment does with a type is `deploy/`'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from statewright.projects.resources import Resource
from statewright.projects.sources import Sources

DEPLOYED: Final = frozenset(
    {
        "AWS::DynamoDB::Table",
        "AWS::Events::EventBus",
        "AWS::Events::Rule",
        "AWS::IAM::ManagedPolicy",
        "AWS::IAM::Policy",
        "AWS::IAM::Role",
        "AWS::Lambda::Alias",
        "AWS::Lambda::EventInvokeConfig",
        "AWS::Lambda::EventSourceMapping",
        "AWS::Lambda::Function",
        "AWS::Lambda::LayerVersion",
        "AWS::Lambda::Version",
        "AWS::Logs::LogGroup",
        "AWS::S3::Bucket",
        "AWS::SNS::Subscription",
        "AWS::SNS::Topic",
        "AWS::SQS::Queue",
        "AWS::SSM::Parameter",
        "AWS::Scheduler::Schedule",
        "AWS::Scheduler::ScheduleGroup",
        "AWS::SecretsManager::Secret",
        "AWS::StepFunctions::Activity",
        "AWS::StepFunctions::StateMachine",
        "AWS::StepFunctions::StateMachineAlias",
        "AWS::StepFunctions::StateMachineVersion",
    }
)
"""Types that deployment makes real."""

WITHOUT_EFFECT: Final = frozenset(
    {
        "AWS::CDK::Metadata",
        "AWS::CloudFormation::WaitConditionHandle",
        "AWS::Lambda::LayerVersionPermission",
        "AWS::Lambda::Permission",
        "AWS::S3::BucketPolicy",
        "AWS::SNS::TopicPolicy",
        "AWS::SQS::QueuePolicy",
    }
)
"""Types that change nothing here, because nobody is kept from anything, or because they are notes."""

_LOST: Final = {
    "AWS::ApiGateway": "there are no HTTP APIs here, so nothing reaches its integrations from outside",
    "AWS::ApiGatewayV2": "there are no HTTP APIs here, so nothing reaches its integrations from outside",
    "AWS::Serverless": "there are no HTTP or GraphQL APIs here, so nothing reaches its targets from outside",
    "AWS::CloudWatch": "alarms and dashboards are not kept; the metrics themselves are there",
    "AWS::Cognito": "there are no user pools, so nobody signs in",
    "AWS::EC2": "there are no networks; functions and jobs run on this machine",
    "AWS::ECR": "there is no image registry",
    "AWS::ECS": "clusters and services are not made from templates; tasks run by RunTask",
    "AWS::Batch": "job queues and definitions are not made from templates",
    "AWS::KMS": "nothing is encrypted by keys here; what names the key goes on without",
    "AWS::Kinesis": "there are no streams",
    "AWS::CloudFormation::CustomResource": "its provider is not called, so what it would have done is not done",
    "Custom": "its provider is not called, so what it would have done is not done",
    "AWS::CloudFormation::Stack": "its template is not at hand, so its resources are not there",
    "AWS::Lambda::Url": "functions have no URLs",
    "AWS::Logs": "only log groups are made; filters, streams and destinations are not",
    "AWS::Pipes": "pipes are not there: what the source holds stays there",
    "AWS::SES": "no mail is sent",
    "AWS::Events": "only buses and rules are made; archives, connections and API destinations are not",
    "AWS::CodeDeploy": "aliases move to new code at once",
    "AWS::IAM": "users and groups are not made; nobody is kept from anything",
    "AWS::XRay": "there is no tracing",
}
_OTHERWISE: Final = "there is no such service here; an endpoint may be configured for calls to it"


def what_is_lost(kind: str) -> str:
    """What is missing when a resource of a type is left out, as the end of a sentence."""
    if kind.startswith("Custom::"):
        kind = "Custom"
    service = "::".join(kind.split("::")[:2])
    return _LOST.get(kind) or _LOST.get(service) or _OTHERWISE


def tell_unsupported(resources: Iterable[Resource], sources: Sources) -> None:
    """Say of every resource that is not deployed what is lost."""
    for resource in resources:
        if resource.type not in DEPLOYED and resource.type not in WITHOUT_EFFECT:
            sources.warning(
                resource.place, f"{resource.id} ({resource.type}) is left out: {what_is_lost(resource.type)}"
            )
