"""The list of services that Statewright serves, and the parts that their operations work on.

Owns the list, finding a service by its names, and the order in which parts start. To add a service, add its folder, its
line in `SERVICES`, and a field of `Services` for each part that it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from statewright.api.batch.service import SERVICE as BATCH
from statewright.api.building import BUILD, CALLS_OTHERS, Building, Ground, Part, built
from statewright.api.cloudwatch.service import SERVICE as MONITORING
from statewright.api.cloudwatch.service import build_dashboards, build_metrics
from statewright.api.dynamodb.service import SERVICE as DYNAMODB
from statewright.api.dynamodb.service import build_tables
from statewright.api.ecs.service import SERVICE as ECS
from statewright.api.ecs.service import build_jobs
from statewright.api.events.service import SERVICE as EVENTS
from statewright.api.events.service import build_buses
from statewright.api.iam.service import SERVICE as IAM
from statewright.api.iam.service import build_identities
from statewright.api.lambda_.service import SERVICE as LAMBDA
from statewright.api.lambda_.service import build_event_sources, build_functions
from statewright.api.logs.service import SERVICE as LOGS
from statewright.api.logs.service import build_log_extents, build_log_groups
from statewright.api.own.service import SERVICE as STATEWRIGHT
from statewright.api.s3.service import SERVICE as S3
from statewright.api.s3.service import build_lifecycles, build_object_notices, build_objects
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

if TYPE_CHECKING:
    from statewright.events.buses import Buses
    from statewright.events.object_notices import ObjectNotices
    from statewright.events.scheduler import Scheduler
    from statewright.functions.event_sources.mappings import EventSources
    from statewright.functions.functions import Functions
    from statewright.jobs.jobs import Jobs
    from statewright.metrics.recorder import Recorder
    from statewright.objects.lifecycle import Lifecycles
    from statewright.objects.objects import Objects
    from statewright.queues.queues import Queues
    from statewright.records.dashboards import Dashboards
    from statewright.records.identities import Identities
    from statewright.records.log_groups import LogGroups
    from statewright.records.log_reading import Extents
    from statewright.records.parameters import Parameters
    from statewright.records.secrets import Secrets
    from statewright.records.sessions import Sessions
    from statewright.tables.tables import Tables
    from statewright.topics.topics import Topics

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


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of a system that its services work on, in the order in which they start."""

    metrics: Recorder = built(build_metrics)
    objects: Objects = built(build_objects)
    object_notices: ObjectNotices = built(build_object_notices)
    queues: Queues = built(build_queues)
    tables: Tables = built(build_tables)
    functions: Functions = built(build_functions)
    event_sources: EventSources = built(build_event_sources)
    jobs: Jobs = built(build_jobs)
    sessions: Sessions = built(build_sessions)
    identities: Identities = built(build_identities)
    secrets: Secrets = built(build_secrets)
    parameters: Parameters = built(build_parameters)
    topics: Topics = built(build_topics)
    log_groups: LogGroups = built(build_log_groups)
    log_extents: Extents = built(build_log_extents)
    dashboards: Dashboards = built(build_dashboards)
    scheduler: Scheduler = built(build_scheduler, calls_others=True)
    buses: Buses = built(build_buses, calls_others=True)
    lifecycles: Lifecycles = built(build_lifecycles, calls_others=True)

    def parts(self, *, calls_others: bool) -> Iterator[Part]:
        """The parts that run, in the order of their start: those that call others on their own initiative, or not."""
        for one in fields(self):
            part: object = getattr(self, one.name)
            if one.metadata[CALLS_OTHERS] == calls_others and isinstance(part, Part):
                yield part


def build_services(ground: Ground) -> Services:
    """Build every part; nothing runs before it is started."""
    make = Building(ground)
    return Services(**{one.name: make(one.metadata[BUILD]) for one in fields(Services)})
