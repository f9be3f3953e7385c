"""Resources of jobs: ECS clusters and task definitions, Batch environments, queues and definitions.

Owns that a definition gets a new revision only where something differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json
from statewright.projects.deploy.kinds import (
    TO_COME,
    Kind,
    Known,
    Site,
    Wanted,
    holds,
    lowered,
    removal,
    text_of,
    typed,
)

_COUNTS: Final = (
    "containerPort", "hostPort", "cpu", "memory", "memoryReservation", "vcpus", "minvCpus", "maxvCpus",
    "desiredvCpus", "attempts", "attemptDurationSeconds", "priority", "order", "interval", "retries", "timeout",
    "startPeriod", "sizeInGiB", "schedulingPriority",
)  # fmt: skip
_TRUTHS: Final = ("essential", "readonlyRootFilesystem", "privileged", "propagateTags", "readOnly", "interactive")


def cluster(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a cluster."""
    answer = site.asked("ecs", "DescribeClusters", clusters=[wanted.name])
    if not any(one.get("status") == "ACTIVE" for one in answer.get("clusters", ())):
        tags = [{"key": key, "value": value} for key, value in wanted.tags().items()]
        site.create("ecs", "CreateCluster", clusterName=wanted.name, tags=tags or None)
    return {}


def task_definition(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Register a revision, unless the newest one says the same."""
    family = wanted.text("Family", wanted.name)
    given = {key: value for key, value in wanted.properties.items() if key not in ("Tags", "Family")}
    request = typed(lowered(given), numbers=_COUNTS, truths=_TRUTHS)
    for member in ("cpu", "memory"):
        if member in request:
            request[member] = text_of(request[member])
    shown = site.found("ecs", "DescribeTaskDefinition", taskDefinition=family)
    if shown is not None:
        arn = shown["taskDefinition"]["taskDefinitionArn"]
        if holds(shown["taskDefinition"], request):
            return {"Ref": arn, "TaskDefinitionArn": arn}
        site.replaced = True
    made = site.create("ecs", "RegisterTaskDefinition", family=family, **request).get("taskDefinition", {})
    arn = made.get("taskDefinitionArn", TO_COME)
    return {"Ref": arn, "TaskDefinitionArn": arn}


def environment(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a compute environment, which is kept and shown, and limits nothing."""
    answer = site.asked("batch", "DescribeComputeEnvironments", computeEnvironments=[wanted.name])
    shown = next(iter(answer.get("computeEnvironments", ())), None)
    if shown is None:
        request = typed(
            lowered(wanted.given("Type", "State", "ServiceRole", "ComputeResources", "UnmanagedvCpus")),
            numbers=_COUNTS,
        )
        request["type"] = str(request.get("type", "MANAGED")).upper()
        made = site.create("batch", "CreateComputeEnvironment", computeEnvironmentName=wanted.name, **request)
        arn = made.get("computeEnvironmentArn", wanted.arn)
    else:
        arn = shown["computeEnvironmentArn"]
    return {"Ref": arn, "ComputeEnvironmentArn": arn}


def job_queue(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a job queue, or change its priority, state and order."""
    request = typed(
        lowered(wanted.given("Priority", "State", "ComputeEnvironmentOrder", "SchedulingPolicyArn")), numbers=_COUNTS
    )
    request.setdefault("priority", 1)
    answer = site.asked("batch", "DescribeJobQueues", jobQueues=[wanted.name])
    shown = next(iter(answer.get("jobQueues", ())), None)
    if shown is None:
        made = site.create("batch", "CreateJobQueue", jobQueueName=wanted.name, **request)
        arn = made.get("jobQueueArn", wanted.arn)
    else:
        arn = shown["jobQueueArn"]
        if not holds(shown, request):
            site.change("batch", "UpdateJobQueue", jobQueue=wanted.name, **request)
    return {"Ref": arn, "JobQueueArn": arn}


def job_definition(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Register a revision of a job definition, unless the newest one says the same."""
    given = {key: value for key, value in wanted.properties.items() if key not in ("Tags", "JobDefinitionName")}
    request = typed(lowered(given), numbers=_COUNTS, truths=_TRUTHS)
    request.setdefault("type", "container")
    answer = site.asked("batch", "DescribeJobDefinitions", jobDefinitionName=wanted.name, status="ACTIVE")
    newest = max(answer.get("jobDefinitions", ()), key=lambda one: int(one["revision"]), default=None)
    if newest is not None:
        arn = newest["jobDefinitionArn"]
        if holds(newest, request):
            return {"Ref": arn, "JobDefinitionArn": arn}
        site.replaced = True
    made = site.create("batch", "RegisterJobDefinition", jobDefinitionName=wanted.name, **request)
    arn = made.get("jobDefinitionArn", TO_COME)
    return {"Ref": arn, "JobDefinitionArn": arn}


def _delete_environment(site: Site, known: Known) -> None:
    site.take_away("batch", "UpdateComputeEnvironment", computeEnvironment=known.ref, state="DISABLED")
    site.change("batch", "DeleteComputeEnvironment", computeEnvironment=known.ref)


def _delete_job_queue(site: Site, known: Known) -> None:
    site.take_away("batch", "UpdateJobQueue", jobQueue=known.ref, state="DISABLED")
    site.change("batch", "DeleteJobQueue", jobQueue=known.ref)


KINDS: Final = {
    "AWS::ECS::Cluster": Kind(
        "cluster", cluster, removal("ecs", "DeleteCluster", "cluster"), "ClusterName", 255,
        "ecs:{region}:{account}:cluster/{name}",
    ),
    "AWS::ECS::TaskDefinition": Kind(
        "task definition", task_definition, removal("ecs", "DeregisterTaskDefinition", "taskDefinition"), "Family", 255,
        "ecs:{region}:{account}:task-definition/{name}", "arn",
    ),
    "AWS::Batch::ComputeEnvironment": Kind(
        "compute environment", environment, _delete_environment,
        "ComputeEnvironmentName", 128, "batch:{region}:{account}:compute-environment/{name}", "arn",
    ),
    "AWS::Batch::JobQueue": Kind(
        "job queue", job_queue, _delete_job_queue, "JobQueueName", 128, "batch:{region}:{account}:job-queue/{name}",
        "arn",
    ),
    "AWS::Batch::JobDefinition": Kind(
        "job definition", job_definition, removal("batch", "DeregisterJobDefinition", "jobDefinition"),
        "JobDefinitionName", 128, "batch:{region}:{account}:job-definition/{name}", "arn",
    ),
}  # fmt: skip
