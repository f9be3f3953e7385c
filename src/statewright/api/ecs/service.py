"""ECS: clusters, task definitions and tasks."""

from __future__ import annotations

from typing import Final

from statewright.api.service import JSON, Service

SERVICE: Final = Service(
    name="ecs",
    title="ECS",
    document="jobs.md",
    package=__package__,
    operations=(
        "definitions",
        "clusters",
        "tasks",
    ),
    protocols=(JSON,),
    json_version="1.1",
    target="AmazonEC2ContainerServiceV20141113",
    task_names=("ecs",),
    sdk_names=("ecs",),
    deployed_by=("statewright.projects.deploy.jobs",),
)
