"""Systems Manager: the parameters of Parameter Store."""

from __future__ import annotations

from typing import Final

from statewright.api.service import JSON, Service

SERVICE: Final = Service(
    name="ssm",
    title="Systems Manager: Parameter Store",
    document="small-services.md",
    package=__package__,
    operations=(
        "parameters",
        "listings",
    ),
    protocols=(JSON,),
    json_version="1.1",
    target="AmazonSSM",
    sdk_names=("ssm",),
    deployed_by=("statewright.projects.deploy.small",),
)
