"""Operations on job definitions, job queues and compute environments."""

from __future__ import annotations

from statewright.api.batch.paging import page
from statewright.api.operations import App, Call, operation
from statewright.jobs.batch_definitions import Definition, Definitions, Environment, Queue
from statewright.payload import Json, JsonObject


def _definitions(app: App) -> Definitions:
    return app.services.jobs.batch.definitions


def _shown(one: Definition) -> JsonObject:
    empty = ("environment", "mountPoints", "ulimits", "volumes", "resourceRequirements", "secrets")
    return {
        "parameters": {},
        "tags": {},
        **one.given,
        "containerProperties": {**{name: [] for name in empty}, **one.container},
        "containerOrchestrationType": "ECS",
        "jobDefinitionArn": one.arn,
        "revision": one.revision,
        "status": "ACTIVE" if one.is_active else "INACTIVE",
    }


@operation("batch", "RegisterJobDefinition")
async def register_job_definition(app: App, _call: Call, request: Json) -> Json:
    """Register the next revision of a job definition."""
    made = await _definitions(app).register(request)
    return {"jobDefinitionName": made.name, "jobDefinitionArn": made.arn, "revision": made.revision}


@operation("batch", "DescribeJobDefinitions")
async def describe_job_definitions(app: App, _call: Call, request: Json) -> Json:
    """Show job definitions by name, by status, or by a list."""
    found = _definitions(app).all_of(
        request.get("jobDefinitionName"), request.get("status"), request.get("jobDefinitions") or ()
    )
    return page("jobDefinitions", [_shown(one) for one in found], "jobDefinitionArn", request)


@operation("batch", "DeregisterJobDefinition")
async def deregister_job_definition(app: App, _call: Call, request: Json) -> None:
    """Deactivate a revision: no further job can be submitted with it."""
    await _definitions(app).deregister(request["jobDefinition"])


def _queue(one: Queue) -> JsonObject:
    return {
        "computeEnvironmentOrder": [],
        "tags": {},
        **one.shown,
        "jobQueueName": one.name,
        "jobQueueArn": one.arn,
        "state": one.state,
        "status": "VALID",
        "statusReason": "JobQueue Healthy",
        "priority": one.priority,
    }


@operation("batch", "CreateJobQueue")
async def create_job_queue(app: App, _call: Call, request: Json) -> Json:
    """Create a job queue."""
    made = await _definitions(app).create_queue(request)
    return {"jobQueueName": made.name, "jobQueueArn": made.arn}


@operation("batch", "UpdateJobQueue")
async def update_job_queue(app: App, _call: Call, request: Json) -> Json:
    """Change a job queue."""
    changed = await _definitions(app).update_queue(request)
    return {"jobQueueName": changed.name, "jobQueueArn": changed.arn}


@operation("batch", "DeleteJobQueue")
async def delete_job_queue(app: App, _call: Call, request: Json) -> None:
    """Delete a disabled job queue."""
    await _definitions(app).delete_queue(request["jobQueue"])


@operation("batch", "DescribeJobQueues")
async def describe_job_queues(app: App, _call: Call, request: Json) -> Json:
    """Show the named job queues, or all."""
    wanted = {name.rpartition("/")[2] for name in request.get("jobQueues") or ()}
    found = [one for name, one in sorted(_definitions(app).queues.items()) if not wanted or name in wanted]
    return page("jobQueues", [_queue(one) for one in found], "jobQueueName", request)


def _environment(one: Environment) -> JsonObject:
    return {
        "tags": {},
        **one.shown,
        "computeEnvironmentName": one.name,
        "computeEnvironmentArn": one.arn,
        "status": "VALID",
        "statusReason": "ComputeEnvironment Healthy",
        "containerOrchestrationType": "ECS",
    }


@operation("batch", "CreateComputeEnvironment")
async def create_compute_environment(app: App, _call: Call, request: Json) -> Json:
    """Store a compute environment; jobs run on this machine with any settings."""
    made = await _definitions(app).create_environment(request)
    return {"computeEnvironmentName": made.name, "computeEnvironmentArn": made.arn}


@operation("batch", "UpdateComputeEnvironment")
async def update_compute_environment(app: App, _call: Call, request: Json) -> Json:
    """Change a compute environment."""
    made = await _definitions(app).update_environment(request)
    return {"computeEnvironmentName": made.name, "computeEnvironmentArn": made.arn}


@operation("batch", "DeleteComputeEnvironment")
async def delete_compute_environment(app: App, _call: Call, request: Json) -> None:
    """Delete a disabled compute environment."""
    await _definitions(app).delete_environment(request["computeEnvironment"])


@operation("batch", "DescribeComputeEnvironments")
async def describe_compute_environments(app: App, _call: Call, request: Json) -> Json:
    """Show the named compute environments, or all."""
    wanted = {name.rpartition("/")[2] for name in request.get("computeEnvironments") or ()}
    found = [one for name, one in sorted(_definitions(app).environments.items()) if not wanted or name in wanted]
    return page("computeEnvironments", [_environment(one) for one in found], "computeEnvironmentName", request)
