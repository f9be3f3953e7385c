"""STS: temporary credentials and the identity of callers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.service import QUERY, Service

if TYPE_CHECKING:
    from statewright.records.sessions import Sessions

SERVICE: Final = Service(
    name="sts",
    title="STS",
    document="small-services.md",
    package=__package__,
    operations=("callers",),
    protocols=(QUERY,),
    wires="statewright.api.iam.wires",
    version="2011-06-15",
    sdk_names=("sts",),
)


def build_sessions(make: Building) -> Sessions:
    """Build the sessions of temporary credentials."""
    from statewright.records.sessions import Sessions

    ground = make.ground
    return Sessions(ground.store.catalogue, ground.clock)
