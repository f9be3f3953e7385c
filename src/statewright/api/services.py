"""The list of services that Statewright serves, and the parts that their operations work on.

Owns the list, finding a service by its names, and the order in which parts start. To add a service, add its folder, its
line in `SERVICES`, and a field of `Services` for each part that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Generic, Self, TypeVar, overload

from statewright.api.apigateway.service import SERVICE as APIGATEWAY
from statewright.api.apigatewayv2.service import SERVICE as APIGATEWAYV2
from statewright.api.apigatewayv2.service import build_apis, build_data_plane, build_function_urls
from statewright.api.batch.service import SERVICE as BATCH
from statewright.api.building import Building, Part
from statewright.api.cloudcontrolapi.service import SERVICE as CLOUDCONTROLAPI
from statewright.api.cloudformation.service import SERVICE as CLOUDFORMATION
from statewright.api.cloudformation.service import build_change_sets, build_stacks
from statewright.api.cloudwatch.service import SERVICE as MONITORING
from statewright.api.cloudwatch.service import build_alarms, build_dashboards, build_metrics
from statewright.api.dynamodb.service import SERVICE as DYNAMODB
from statewright.api.dynamodb.service import build_tables
from statewright.api.dynamodbstreams.service import SERVICE as DYNAMODBSTREAMS
from statewright.api.ecr.service import SERVICE as ECR
from statewright.api.ecr.service import build_image_repositories
from statewright.api.ecs.service import SERVICE as ECS
from statewright.api.ecs.service import build_jobs
from statewright.api.events.service import SERVICE as EVENTS
from statewright.api.events.service import build_archives, build_buses
from statewright.api.iam.service import SERVICE as IAM
from statewright.api.iam.service import build_identities
from statewright.api.lambda_.service import SERVICE as LAMBDA
from statewright.api.lambda_.service import build_event_sources, build_functions
from statewright.api.logs.service import SERVICE as LOGS
from statewright.api.logs.service import (
    build_log_export,
    build_log_extents,
    build_log_filters,
    build_log_groups,
    build_log_sender,
)
from statewright.api.own.service import SERVICE as STATEWRIGHT
from statewright.api.own.service import build_console_sessions
from statewright.api.pipes.service import SERVICE as PIPES
from statewright.api.pipes.service import build_pipes
from statewright.api.s3.service import SERVICE as S3
from statewright.api.s3.service import build_all_objects, build_lifecycles, build_object_notices, build_objects
from statewright.api.scheduler.service import SERVICE as SCHEDULER
from statewright.api.scheduler.service import build_scheduler
from statewright.api.secretsmanager.service import SERVICE as SECRETSMANAGER
from statewright.api.secretsmanager.service import build_secrets
from statewright.api.service import Service
from statewright.api.sns.service import SERVICE as SNS
from statewright.api.sns.service import build_topics
from statewright.api.sqs.service import SERVICE as SQS
from statewright.api.sqs.service import build_queues
from statewright.api.ssm.service import SERVICE as SSM
from statewright.api.ssm.service import build_parameters
from statewright.api.states.service import SERVICE as STATES
from statewright.api.sts.service import SERVICE as STS
from statewright.api.sts.service import build_sessions
from statewright.errors import ApiError

T = TypeVar("T")

SERVICES: Final = (
    STATES,
    APIGATEWAY,
    APIGATEWAYV2,
    BATCH,
    CLOUDCONTROLAPI,
    CLOUDFORMATION,
    DYNAMODB,
    DYNAMODBSTREAMS,
    ECR,
    ECS,
    EVENTS,
    IAM,
    LAMBDA,
    LOGS,
    MONITORING,
    PIPES,
    S3,
    SCHEDULER,
    SECRETSMANAGER,
    SNS,
    SQS,
    SSM,
    STATEWRIGHT,
    STS,
)
"""All services, in the sequence of `docs/services.md`."""

BY_NAME: Final[Mapping[str, Service]] = {one.name: one for one in SERVICES}
"""The services by signing name."""


def service_named(name: str) -> Service:
    """Find a service by any of its names: its signing name, botocore's, or one that SDKs use.

    Raises: ApiError (`UnknownService`).
    """
    for one in SERVICES:
        if name in (one.name, one.client, *one.sdk_names):
            return one
    raise ApiError("UnknownService", f"There is no service {name} here.")


class Built(Generic[T]):
    """A field of `Services`: the part that a function builds, when it is first read."""

    def __init__(self, build: Callable[[Building], T], *, calls_others: bool = False) -> None:
        self.build: Final = build
        self.calls_others: Final = calls_others
        self.name = ""

    def __set_name__(self, owner: type[Services], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, services: None, owner: type[Services]) -> Self: ...

    @overload
    def __get__(self, services: Services, owner: type[Services]) -> T: ...

    def __get__(self, services: Services | None, owner: type[Services]) -> Self | T:
        if services is None:
            return self
        part = services.make(self.build)
        services.make.start(services.parts())
        # The next reads find the part without this descriptor.
        vars(services)[self.name] = part
        return part


@dataclass(frozen=True)
class Services:
    """The parts of a system that its services work on, in the order in which they start.

    Those that call others on their own initiative start after the engine, and stop before it.
    """

    make: Building

    metrics = Built(build_metrics)
    # It stops last, so that what others write while they stop is exported.
    log_sender = Built(build_log_sender)
    log_export = Built(build_log_export)
    all_objects = Built(build_all_objects)
    objects = Built(build_objects)
    object_notices = Built(build_object_notices)
    queues = Built(build_queues)
    tables = Built(build_tables)
    sessions = Built(build_sessions)
    identities = Built(build_identities)
    functions = Built(build_functions)
    event_sources = Built(build_event_sources)
    jobs = Built(build_jobs)
    apis = Built(build_apis)
    data_plane = Built(build_data_plane)
    function_urls = Built(build_function_urls)
    secrets = Built(build_secrets)
    parameters = Built(build_parameters)
    image_repositories = Built(build_image_repositories)
    topics = Built(build_topics)
    log_groups = Built(build_log_groups)
    log_extents = Built(build_log_extents)
    dashboards = Built(build_dashboards)
    console_sessions = Built(build_console_sessions)
    scheduler = Built(build_scheduler, calls_others=True)
    buses = Built(build_buses, calls_others=True)
    archives = Built(build_archives, calls_others=True)
    log_filters = Built(build_log_filters, calls_others=True)
    alarms = Built(build_alarms, calls_others=True)
    pipes = Built(build_pipes, calls_others=True)
    lifecycles = Built(build_lifecycles, calls_others=True)
    stacks = Built(build_stacks, calls_others=True)
    change_sets = Built(build_change_sets, calls_others=True)

    def part(self, build: Callable[[Building], object]) -> object:
        """The part that a function builds, started if the system runs."""
        return next(one for one in PARTS if one.build is build).__get__(self, Services)

    def build_all(self) -> None:
        """Build every part that has not been built, and start it if the system runs."""
        for one in PARTS:
            one.__get__(self, Services)

    def parts(self, *, calls_others: bool | None = None) -> Iterator[Part]:
        """The parts that run, as far as they are built, in the order of their start: all, or those that call others on
        their own initiative, or those that do not."""
        for one in PARTS:
            part: object = self.make.found(one.build)
            if calls_others in (None, one.calls_others) and isinstance(part, Part):
                yield part


OF_ALL: Final = frozenset(
    {build_all_objects, build_lifecycles, build_sessions, build_console_sessions, build_log_sender}
)
"""The functions of the parts that all accounts have in common: names of buckets and access keys are global,
and there is one collector."""
SHARED: Final = OF_ALL | {build_objects, build_identities}
"""The functions of the parts that all regions of an account have in common."""

PARTS: Final = tuple(one for one in vars(Services).values() if isinstance(one, Built))
"""The fields of `Services`, in their order."""
