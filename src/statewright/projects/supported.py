"""What is lost with resources that are not deployed.

Owns the words. Which types are deployed, and how, is `deploy/registry.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from statewright.projects.deploy.registry import is_known
from statewright.projects.resources import Resource
from statewright.projects.sources import Sources

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
"""Types of which nothing need be said: nobody is kept from anything here, and notes are notes."""

TOLD: Final = ("AWS::CloudFormation::Stack", "AWS::Serverless::Application")
"""Types that readers themselves say more about."""

_LOST: Final = {
    "AWS::ApiGateway": "there are no HTTP APIs here, so nothing reaches its integrations from outside",
    "AWS::ApiGatewayV2": "there are no HTTP APIs here, so nothing reaches its integrations from outside",
    "AWS::Serverless": "there are no HTTP or GraphQL APIs here, so nothing reaches its targets from outside",
    "AWS::CloudWatch": "alarms and dashboards are not kept; the metrics themselves are there",
    "AWS::Cognito": "there are no user pools, so nobody signs in",
    "AWS::EC2": "there are no networks; functions and jobs run on this machine",
    "AWS::ECR": "there is no image registry",
    "AWS::ECS": "only clusters and task definitions are made; nothing keeps services running",
    "AWS::Batch": "only compute environments, queues and job definitions are made",
    "AWS::KMS": "nothing is encrypted by keys here; what names the key goes on without",
    "AWS::Kinesis": "there are no streams",
    "AWS::CloudFormation::CustomResource": "its provider is not called, so what it would have done is not done",
    "Custom": "its provider is not called, so what it would have done is not done",
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
        if not is_known(resource.type) and resource.type not in (*WITHOUT_EFFECT, *TOLD):
            sources.warning(
                resource.place, f"{resource.id} ({resource.type}) is left out: {what_is_lost(resource.type)}"
            )
