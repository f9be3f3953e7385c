"""Secrets Manager: secrets and their versions."""

from __future__ import annotations

from typing import Final

from statewright.api.service import JSON, Service

SERVICE: Final = Service(
    name="secretsmanager",
    title="Secrets Manager",
    document="small-services.md",
    package=__package__,
    operations=(
        "secrets",
        "listings",
    ),
    protocols=(JSON,),
    json_version="1.1",
    target="secretsmanager",
    sdk_names=("secretsmanager",),
    deployed_by=("statewright.projects.deploy.small",),
)
