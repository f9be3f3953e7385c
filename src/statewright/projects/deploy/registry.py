"""Every type of resource that deployment knows, by its name in templates."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from statewright.api.services import SERVICES
from statewright.projects.deploy.kinds import Kind, never_made

IGNORED: Final = frozenset({"AWS::CDK::Metadata", "AWS::CloudFormation::WaitConditionHandle"})
"""Types that ask for nothing; nothing is said of them."""

_KNOWN: Final[dict[str, Kind]] = {
    name: kind
    for service in SERVICES
    for module in service.deployed_by
    for name, kind in import_module(module).KINDS.items()
}


_NAMES: Final = {
    "AWS::ApiGateway::Stage": "StageName",
    "AWS::ApiGatewayV2::Stage": "StageName",
    "AWS::Cognito::UserPool": "UserPoolName",
    "AWS::ECR::Repository": "RepositoryName",
    "AWS::Kinesis::Stream": "Name",
    "AWS::KinesisFirehose::DeliveryStream": "DeliveryStreamName",
    "AWS::Athena::WorkGroup": "Name",
    "AWS::Glue::Job": "Name",
    "AWS::RDS::DBCluster": "DBClusterIdentifier",
}
"""The property that `Ref` gives for types that are left out: tasks use it with a service at a configured endpoint."""


def kind_of(type: str) -> Kind:
    """The entry of a type; an unknown one is left out, with a made-up ARN for references to it."""
    known = _KNOWN.get(type)
    if known is not None:
        return known
    parts = type.split("::")
    service = parts[1].lower() if len(parts) > 1 else "custom"
    arn = f"{service}:{{region}}:{{account}}:{{name}}"
    return never_made(parts[-1], f"{type} is not supported", arn=arn, name=_NAMES.get(type))


def is_known(type: str) -> bool:
    """True if deployment supports a type, or leaves it out for a reason of its own."""
    return type in _KNOWN or type in IGNORED


def is_made(type: str) -> bool:
    """True if deployment makes resources of a type."""
    known = _KNOWN.get(type)
    return known is not None and not known.lost
