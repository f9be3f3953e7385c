"""S3: buckets and objects."""

from __future__ import annotations

from typing import Final

from statewright.api.service import REST, Service

SERVICE: Final = Service(
    name="s3",
    title="S3",
    document="objects.md",
    package=__package__,
    operations=(
        "buckets",
        "settings",
        "access",
        "notifications",
        "objects",
        "listings",
        "multipart",
    ),
    protocols=(REST,),
    wires=f"{__package__}.wires",
    body_bytes=16 << 20,
    streams=True,
    sdk_names=("s3",),
    deployed_by=("statewright.projects.deploy.buckets", "statewright.projects.deploy.bucket_rules"),
)
