"""Elastic Container Registry: repositories as records, without images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.service import APART, JSON, Service

if TYPE_CHECKING:
    from statewright.records.image_repositories import ImageRepositories

SERVICE: Final = Service(
    name="ecr",
    title="ECR: repositories",
    document="small-services.md",
    package=__package__,
    regions=APART,
    operations=(
        "repositories",
        "policies",
    ),
    protocols=(JSON,),
    json_version="1.1",
    target="AmazonEC2ContainerRegistry_V20150921",
    sdk_names=("ecr",),
)


def build_image_repositories(make: Building) -> ImageRepositories:
    """Build the repositories."""
    from statewright.records.image_repositories import ImageRepositories

    ground = make.ground
    return ImageRepositories(ground.store.catalogue, ground.clock, ground.config)
