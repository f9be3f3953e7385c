"""Lambda: functions, layers and event source mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.dynamodb.service import build_tables
from statewright.api.events.service import build_buses
from statewright.api.s3.service import build_objects
from statewright.api.service import APART, REST, Service
from statewright.api.sns.service import build_topics
from statewright.api.sqs.service import build_queues
from statewright.api.sts.service import build_role_sessions

if TYPE_CHECKING:
    from statewright.functions.event_sources.mappings import EventSources
    from statewright.functions.functions import Functions

SERVICE: Final = Service(
    name="lambda",
    title="Lambda",
    document="functions.md",
    package=__package__,
    regions=APART,
    operations=(
        "functions",
        "versions",
        "settings",
        "invocations",
        "event_sources",
        "urls",
        "absent",
    ),
    protocols=(REST,),
    body_bytes=72 << 20,
    task_names=("lambda",),
    sdk_names=("lambda",),
)


def build_functions(make: Building) -> Functions:
    """Build the functions, which load code from buckets and report on Event invocations to other services."""
    from statewright.api.lambda_.reports import deliverer
    from statewright.functions.functions import Functions

    ground, objects = make.ground, make(build_objects)
    deliver = deliverer(ground.clock, make(build_queues), objects, make(build_topics), make(build_buses))
    return Functions(
        ground.store,
        ground.clock,
        ground.config,
        ground.data,
        endpoint=ground.endpoint,
        read_object=objects.reading.read,
        deliver=deliver,
        recorder=ground.metrics,
        issue=make(build_role_sessions).issue,
        around=ground.around_invocation,
    )


def build_event_sources(make: Building) -> EventSources:
    """Build the event source mappings."""
    from statewright.api.lambda_.reports import report_deliverer
    from statewright.functions.event_sources.mappings import EventSources

    queues = make(build_queues)
    report = report_deliverer(queues, make(build_objects), make(build_topics))
    return EventSources(make.ground.store, make(build_functions), queues, make(build_tables).streams, report)
