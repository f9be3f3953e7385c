"""The services that answer here: the one list of them.

Owns the list, and finding a service by its names. To add a service, add its folder, and its line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.api.batch.service import SERVICE as BATCH
from statewright.api.cloudwatch.service import SERVICE as MONITORING
from statewright.api.dynamodb.service import SERVICE as DYNAMODB
from statewright.api.ecs.service import SERVICE as ECS
from statewright.api.events.service import SERVICE as EVENTS
from statewright.api.iam.service import SERVICE as IAM
from statewright.api.lambda_.service import SERVICE as LAMBDA
from statewright.api.logs.service import SERVICE as LOGS
from statewright.api.own.service import SERVICE as STATEWRIGHT
from statewright.api.s3.service import SERVICE as S3
from statewright.api.scheduler.service import SERVICE as SCHEDULER
from statewright.api.secretsmanager.service import SERVICE as SECRETSMANAGER
from statewright.api.service import Service
from statewright.api.sns.service import SERVICE as SNS
from statewright.api.sqs.service import SERVICE as SQS
from statewright.api.ssm.service import SERVICE as SSM
from statewright.api.states.service import SERVICE as STATES
from statewright.api.sts.service import SERVICE as STS
from statewright.errors import ApiError

SERVICES: Final = (
    STATES,
    BATCH,
    DYNAMODB,
    ECS,
    EVENTS,
    IAM,
    LAMBDA,
    LOGS,
    MONITORING,
    S3,
    SCHEDULER,
    SECRETSMANAGER,
    SNS,
    SQS,
    SSM,
    STATEWRIGHT,
    STS,
)
"""In the order of `docs/services.md`."""

BY_NAME: Final[Mapping[str, Service]] = {one.name: one for one in SERVICES}
"""By signing name."""


def service_named(name: str) -> Service:
    """A service by any of its names: what it signs for, botocore's, or one that SDKs have.

    Raises: ApiError (`UnknownService`).
    """
    for one in SERVICES:
        if name in (one.name, one.client, *one.sdk_names):
            return one
    raise ApiError("UnknownService", f"There is no service {name} here.")
