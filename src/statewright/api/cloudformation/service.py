"""CloudFormation: stacks, change sets and their events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.service import APART, QUERY, Service

if TYPE_CHECKING:
    from statewright.stacks.change_sets import ChangeSets
    from statewright.stacks.stacks import Stacks

SERVICE: Final = Service(
    name="cloudformation",
    title="CloudFormation",
    document="stacks.md",
    package=__package__,
    regions=APART,
    operations=(
        "stacks",
        "change_sets",
        "resources",
        "templates",
    ),
    protocols=(QUERY,),
    wires=f"{__package__}.wires",
    version="2010-05-15",
    sdk_names=("cloudformation",),
)


def build_stacks(make: Building) -> Stacks:
    """Build the stacks."""
    from statewright.stacks.stacks import Stacks

    ground = make.ground

    def sign(bucket: str, key: str, seconds: int) -> str:
        from statewright.api.cloudformation.answers import address_for

        return address_for(ground.config, ground.endpoint(), f"{bucket}/{key}", seconds)

    return Stacks(ground.store.catalogue, ground.clock, ground.config, ground.invoke, sign)


def build_change_sets(make: Building) -> ChangeSets:
    """Build the change sets."""
    from statewright.stacks.change_sets import ChangeSets

    ground = make.ground
    return ChangeSets(ground.store.catalogue, ground.clock, ground.config, make(build_stacks))
