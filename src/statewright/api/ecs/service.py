"""ECS: clusters, task definitions and tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.service import APART, JSON, Service
from statewright.api.sts.service import build_role_sessions

if TYPE_CHECKING:
    from statewright.jobs.jobs import Jobs

SERVICE: Final = Service(
    name="ecs",
    title="ECS",
    document="jobs.md",
    package=__package__,
    regions=APART,
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
)


def build_jobs(make: Building) -> Jobs:
    """Build the jobs of this service and of Batch, which report their end to the tasks that wait for them."""
    from statewright.jobs.jobs import Jobs

    ground = make.ground
    folder = ground.data / "jobs" if ground.data is not None else None
    issue = make(build_role_sessions).issue
    jobs = Jobs(ground.store, ground.clock, ground.config, folder, ground.endpoint, issue)
    jobs.subscribe(ground.integrations.job_ended)
    return jobs
