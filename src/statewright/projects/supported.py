"""The consequences of leaving out resources that are not supported.

Owns the words. Which types are deployed, and how, is `deploy/registry.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from statewright.payload import Json
from statewright.projects.deploy.compute.function_urls import PERMISSION, opens_url
from statewright.projects.deploy.registry import is_known, is_made, kind_of
from statewright.projects.resources import Resource
from statewright.projects.sources import Sources

WITHOUT_EFFECT: Final = frozenset(
    {
        "AWS::CDK::Metadata",
        "AWS::CloudFormation::WaitConditionHandle",
        "AWS::Lambda::LayerVersionPermission",
        "AWS::SNS::TopicPolicy",
        "AWS::SQS::QueuePolicy",
    }
)
"""Types that are left out without a word: permissions that are not enforced here, and plain metadata."""

NESTED: Final = {"AWS::CloudFormation::Stack": "TemplateURL", "AWS::Serverless::Application": "Location"}
"""Types that stand for another template, and the property that says where it is. Readers say more about them."""
_SERVERLESS: Final = frozenset(f"AWS::Serverless::{name}" for name in (
    "Function", "StateMachine", "SimpleTable", "LayerVersion"
))  # fmt: skip
"""Types that become others."""

_LOST: Final = {
    "AWS::ApiGateway": "only APIs, resources, methods, authorizers, deployments, stages, models, request validators, "
    "gateway responses, API keys, usage plans and the settings of the account are created",
    "AWS::ApiGatewayV2": "only APIs, routes, integrations, authorizers, deployments and stages are created",
    "AWS::Serverless::Api": "its authorizers, policy or included document cannot be made, so it stays closed",
    "AWS::Serverless::HttpApi": "its authorizers or included document cannot be made, so it stays closed",
    "AWS::Serverless": "GraphQL APIs are not supported, so nothing reaches its targets from outside",
    "AWS::CloudWatch": "only metric alarms are created; the metrics themselves are there",
    "AWS::Cognito": "user pools are not supported, so users cannot sign in",
    "AWS::EC2": "networks are not supported; functions and jobs run on this machine",
    "AWS::ECR": "only repositories are created, as records; there is no image registry",
    "AWS::ECS": "only clusters and task definitions are created; nothing keeps services running",
    "AWS::Batch": "only compute environments, queues and job definitions are created",
    "AWS::KMS": "keys encrypt nothing here; resources that name the key work without it",
    "AWS::Kinesis": "streams are not supported",
    "AWS::CloudFormation::CustomResource": "its provider is not called, so its effects are missing",
    "Custom": "its provider is not called, so its effects are missing",
    "AWS::Logs": "only log groups and their filters are created; streams and destinations are not",
    "AWS::SES": "no mail is sent",
    "AWS::Events": "only buses, rules, archives, connections and API destinations are created",
    "AWS::CodeDeploy": "aliases move to new code immediately",
    "AWS::IAM": "every caller may do everything; access keys are those in statewright.toml",
    "AWS::XRay": "tracing is not supported",
}
_OTHERWISE: Final = "this service is not supported; calls to it can go to a configured endpoint"


def what_is_lost(kind: str) -> str:
    """The consequence of leaving out a resource of a type, as the end of a sentence."""
    if kind.startswith("Custom::"):
        kind = "Custom"
    service = "::".join(kind.split("::")[:2])
    return _LOST.get(kind) or _LOST.get(service) or _OTHERWISE


def is_evaluated(kind: str, properties: Json = None) -> bool:
    """True if the properties of a resource have an effect; those of others are not evaluated, so that none can fail."""
    if kind == PERMISSION:
        return opens_url(properties)
    return is_made(kind) or kind in _SERVERLESS or kind in NESTED


def is_custom(kind: str) -> bool:
    """True for a type whose resources a function of the template makes, unless they are made here without it."""
    return kind.startswith(("Custom::", "AWS::CloudFormation::CustomResource")) and not is_made(kind)


def name_property(kind: str) -> str | None:
    """The property that `Ref` gives for a type that is left out, if the type has one."""
    return kind_of(kind).name


def left_out(resources: Iterable[Resource]) -> list[Resource]:
    """The resources that are not deployed, other than those without an effect."""
    return [one for one in resources if not is_known(one.type) and one.type not in (*WITHOUT_EFFECT, *NESTED)]


def tell_unsupported(resources: Iterable[Resource], sources: Sources) -> None:
    """Say of every resource that is not deployed what is lost."""
    for resource in left_out(resources):
        sources.warning(resource.place, f"{resource.id} ({resource.type}) is left out: {what_is_lost(resource.type)}")
