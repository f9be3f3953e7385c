"""ECS: clusters, task definitions and tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.lambda_.service import build_functions
from statewright.api.service import APART, JSON, Service
from statewright.api.sts.service import build_role_sessions

if TYPE_CHECKING:
    from statewright.functions.workers.ray_link import RayLink
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
    from statewright.functions.workers.ray_link import RayLink
    from statewright.jobs.jobs import Jobs
    from statewright.virtual_clock import VirtualClock

    ground, ray, owns = make.ground, None, False
    if ground.config.jobs.backend == "ray" and not isinstance(ground.clock, VirtualClock):
        # Functions on Ray have a link already.
        ray = make(build_functions).invoker.ray if ground.config.functions.backend == "ray" else None
        owns = ray is None
        ray = ray or RayLink(ground.clock, ground.config.ray)
    folder = ground.data / "jobs" if ground.data is not None else None
    issue = make(build_role_sessions).issue
    jobs = Jobs(ground.store, ground.clock, ground.config, folder, ground.endpoint, issue, ray, owns_ray=owns)
    jobs.subscribe(ground.integrations.job_ended)
    return jobs


def found_ray(make: Building) -> RayLink | None:
    """The link to the Ray cluster that handlers or jobs run on; `None` if there is none."""
    functions, jobs = make.found(build_functions), make.found(build_jobs)
    link = functions.invoker.ray if functions is not None else None
    return link or (jobs.ray if jobs is not None else None)
