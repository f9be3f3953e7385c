"""S3: buckets and objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.events.service import build_buses
from statewright.api.service import APART, REST, Service

if TYPE_CHECKING:
    from statewright.events.object_notices import NoticesByRegion, ObjectNotices
    from statewright.objects.lifecycle import Lifecycles
    from statewright.objects.objects import Objects

SERVICE: Final = Service(
    name="s3",
    title="S3",
    document="objects.md",
    package=__package__,
    regions=APART,
    operations=(
        "buckets",
        "settings",
        "access",
        "notifications",
        "objects",
        "locks",
        "listings",
        "multipart",
        "forms",
    ),
    protocols=(REST,),
    wires=f"{__package__}.wires",
    precedence=f"{__package__}.precedence",
    body_bytes=16 << 20,
    streams=True,
    open_operations=frozenset({"PostObject"}),
    id_headers=(b"x-amz-request-id", b"x-amz-id-2"),
    headers=((b"server", b"Statewright"),),
    sdk_names=("s3",),
)


def build_all_objects(make: Building) -> Objects:
    """Build the buckets of all accounts and their objects."""
    from statewright.objects.objects import Objects
    from statewright.objects.state import ObjectState

    ground = make.ground
    folder = ground.data / "objects" if ground.data is not None else None
    return Objects(ObjectState(ground.store, ground.clock, ground.config, folder, make(build_notices_by_region)))


def build_objects(make: Building) -> Objects:
    """Build the access of an account to its buckets."""
    return make(build_all_objects).of_account(make.ground.account, make.ground.config)


def build_notices_by_region(make: Building) -> NoticesByRegion:
    """Build the notices of all buckets; those of other regions are added when these start."""
    from statewright.events.object_notices import NoticesByRegion

    return NoticesByRegion(make(build_object_notices))


def build_object_notices(make: Building) -> ObjectNotices:
    """Build the notifications of buckets to queues, topics, functions and rules."""
    from statewright.events.object_notices import ObjectNotices

    ground = make.ground
    return ObjectNotices(ground.clock, ground.config, ground.deliveries, make(build_buses))


def build_lifecycles(make: Building) -> Lifecycles:
    """Build the lifecycle rules, which expire objects."""
    from statewright.objects.lifecycle import Lifecycles

    return Lifecycles(make(build_all_objects), make.ground.clock)
