"""Batch: job queues and definitions, and jobs."""

from __future__ import annotations

from typing import Final

from statewright.api.service import APART, REST, Service

SERVICE: Final = Service(
    name="batch",
    title="Batch",
    document="jobs.md",
    package=__package__,
    regions=APART,
    operations=(
        "definitions",
        "jobs",
    ),
    protocols=(REST,),
    task_names=("batch",),
    sdk_names=("batch",),
)
