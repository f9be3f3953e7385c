"""Cloud Control: single resources of stacks, for tools that change them between deployments."""

from __future__ import annotations

from typing import Final

from statewright.api.service import APART, JSON, Service

SERVICE: Final = Service(
    name="cloudcontrolapi",
    title="Cloud Control",
    document="stacks.md",
    package=__package__,
    regions=APART,
    operations=("resources",),
    protocols=(JSON,),
    target="CloudApiService",
    client="cloudcontrol",
    sdk_names=("cloudcontrol",),
)
