"""Statewright's own service, for features that the cloud service has no API for."""

from __future__ import annotations

from typing import Final

from statewright.api.service import APART, JSON, Service

SERVICE: Final = Service(
    name="statewright",
    title="Statewright's own",
    document="limits.md",
    package=__package__,
    regions=APART,
    operations=(
        "limits",
        "forks",
    ),
    protocols=(JSON,),
    target="Statewright",
    task_names=("statewright",),
)
