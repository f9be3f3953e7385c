"""Systems Manager: the parameters of Parameter Store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.service import APART, JSON, Service

if TYPE_CHECKING:
    from statewright.records.parameters import Parameters

SERVICE: Final = Service(
    name="ssm",
    title="Systems Manager: Parameter Store",
    document="small-services.md",
    package=__package__,
    regions=APART,
    operations=(
        "parameters",
        "listings",
    ),
    protocols=(JSON,),
    json_version="1.1",
    target="AmazonSSM",
    sdk_names=("ssm",),
)


def build_parameters(make: Building) -> Parameters:
    """Build the parameters."""
    from statewright.records.parameters import Parameters

    ground = make.ground
    return Parameters(ground.store.catalogue, ground.clock, ground.config)
