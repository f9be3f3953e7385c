"""Every type of resource that deployment knows, by its name in templates."""

from __future__ import annotations

from typing import Final

from statewright.projects.deploy import (
    api_keys,
    bucket_rules,
    buckets,
    http_apis,
    machines,
    queues,
    rest_apis,
    schedules,
    small,
    tables,
    topics,
)
from statewright.projects.deploy.compute import function_parts, function_urls, functions, jobs
from statewright.projects.deploy.kinds import Kind, never_made
from statewright.projects.deploy.monitoring import alarms, archives, log_filters
from statewright.projects.deploy.records import image_repositories, principals, roles

IGNORED: Final = frozenset({"AWS::CDK::Metadata", "AWS::CloudFormation::WaitConditionHandle"})
"""Types that ask for nothing; nothing is said of them."""

KNOWN: Final[dict[str, Kind]] = {
    **alarms.KINDS, **archives.KINDS, **bucket_rules.KINDS, **buckets.KINDS, **function_parts.KINDS,
    **function_urls.KINDS, **functions.KINDS,
    **image_repositories.KINDS, **jobs.KINDS, **log_filters.KINDS, **http_apis.KINDS, **api_keys.KINDS,
    **machines.KINDS, **principals.KINDS, **queues.KINDS,
    **rest_apis.KINDS, **roles.KINDS, **schedules.KINDS, **small.KINDS, **tables.KINDS, **topics.KINDS,
}  # fmt: skip
"""Every type that is made, or left out for a reason of its own."""

_NAMES: Final = {
    "AWS::Cognito::UserPool": "UserPoolName",
    "AWS::Kinesis::Stream": "Name",
    "AWS::KinesisFirehose::DeliveryStream": "DeliveryStreamName",
    "AWS::Athena::WorkGroup": "Name",
    "AWS::Glue::Job": "Name",
    "AWS::RDS::DBCluster": "DBClusterIdentifier",
}
"""The property that `Ref` gives for types that are left out: tasks use it with a service at a configured endpoint."""


def kind_of(type: str) -> Kind:
    """The entry of a type; an unknown one is left out, with a made-up ARN for references to it."""
    known = KNOWN.get(type)
    if known is not None:
        return known
    parts = type.split("::")
    service = parts[1].lower() if len(parts) > 1 else "custom"
    arn = f"{service}:{{region}}:{{account}}:{{name}}"
    return never_made(parts[-1], f"{type} is not supported", arn=arn, name=_NAMES.get(type))


def is_known(type: str) -> bool:
    """True if deployment supports a type, or leaves it out for a reason of its own."""
    return type in KNOWN or type in IGNORED


def is_made(type: str) -> bool:
    """True if deployment makes resources of a type."""
    known = KNOWN.get(type)
    return known is not None and not known.lost
