"""Statewright's own service, for features that the cloud service has no API for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.service import APART, JSON, Service

if TYPE_CHECKING:
    from statewright.records.console_sessions import ConsoleSessions

SERVICE: Final = Service(
    name="statewright",
    title="Statewright's own",
    document="limits.md",
    package=__package__,
    regions=APART,
    operations=(
        "limits",
        "forks",
        "console_sessions",
        "nodes",
        "waiting",
    ),
    protocols=(JSON,),
    target="Statewright",
    task_names=("statewright",),
)


def build_console_sessions(make: Building) -> ConsoleSessions:
    """Build the sessions of the console."""
    from statewright.records.console_sessions import ConsoleSessions

    ground = make.ground
    return ConsoleSessions(ground.store.catalogue, ground.clock, ground.config)
