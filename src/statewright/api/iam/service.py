"""IAM: roles, users, groups and policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.service import GLOBAL, QUERY, Service

if TYPE_CHECKING:
    from statewright.records.identities import Identities

SERVICE: Final = Service(
    name="iam",
    title="IAM",
    document="small-services.md",
    package=__package__,
    regions=GLOBAL,
    operations=(
        "roles",
        "users",
        "entities",
        "policies",
    ),
    protocols=(QUERY,),
    wires=f"{__package__}.wires",
    version="2010-05-08",
    sdk_names=("iam",),
)


def build_identities(make: Building) -> Identities:
    """Build the roles, users and groups."""
    from statewright.records.identities import Identities

    ground = make.ground
    return Identities(ground.store.catalogue, ground.clock, ground.config)
