"""Secrets Manager: secrets and their versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.service import APART, JSON, Service

if TYPE_CHECKING:
    from statewright.records.secrets import Secrets

SERVICE: Final = Service(
    name="secretsmanager",
    title="Secrets Manager",
    document="small-services.md",
    package=__package__,
    regions=APART,
    operations=(
        "secrets",
        "listings",
    ),
    protocols=(JSON,),
    json_version="1.1",
    target="secretsmanager",
    sdk_names=("secretsmanager",),
)


def build_secrets(make: Building) -> Secrets:
    """Build the secrets."""
    from statewright.records.secrets import Secrets

    ground = make.ground
    return Secrets(ground.store.catalogue, ground.clock, ground.config)
