"""IAM: roles, users, groups and policies."""

from __future__ import annotations

from typing import Final

from statewright.api.service import QUERY, Service

SERVICE: Final = Service(
    name="iam",
    title="IAM",
    document="small-services.md",
    package=__package__,
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
    deployed_by=("statewright.projects.deploy.roles",),
)
