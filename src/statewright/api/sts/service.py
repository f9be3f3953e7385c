"""STS: temporary credentials and the identity of callers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.iam.service import build_identities
from statewright.api.service import GLOBAL, QUERY, Service

if TYPE_CHECKING:
    from statewright.records.assumed_roles import RoleSessions
    from statewright.records.sessions import Sessions

SERVICE: Final = Service(
    name="sts",
    title="STS",
    document="small-services.md",
    package=__package__,
    regions=GLOBAL,
    operations=("callers",),
    protocols=(QUERY,),
    wires="statewright.api.iam.wires",
    version="2011-06-15",
    sdk_names=("sts",),
)


def build_sessions(make: Building) -> Sessions:
    """Build the sessions of temporary credentials."""
    from statewright.records.sessions import Sessions
    from statewright.virtual_clock import VirtualClock

    ground = make.ground
    # Virtual time verifies nothing, so its credentials need no secret.
    key = bytes(32) if isinstance(ground.clock, VirtualClock) else None
    return Sessions(ground.store.catalogue, ground.clock, key)


def build_role_sessions(make: Building) -> RoleSessions:
    """Build the credentials of roles for functions and jobs."""
    from statewright.records.assumed_roles import RoleSessions

    ground = make.ground
    return RoleSessions(make(build_identities), make(build_sessions), ground.config.account, ground.account)
