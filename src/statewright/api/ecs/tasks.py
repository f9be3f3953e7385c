"""Operations on tasks."""

from __future__ import annotations

from typing import Final

from statewright.api.ecs.paging import page
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.jobs.ecs_definitions import invalid
from statewright.jobs.ecs_tasks import Task, TaskContainer, Tasks
from statewright.payload import Json, JsonMapping, JsonObject

MOST_DESCRIBED: Final = 100


def _tasks(app: App) -> Tasks:
    return app.services.jobs.tasks


def shown(app: App, task: Task, *, tags: bool = True) -> Json:
    """A task as answers show it."""
    definition = _tasks(app).definitions.find(task.definition)
    sizes = {one["name"]: one for one in definition.given["containerDefinitions"]} if definition is not None else {}
    rest = {name: value for name, value in task.shown.items() if name != "tags"}
    arn = task.arn.partition(":task/")[0]
    return {
        "attachments": [],
        "attributes": [],
        "availabilityZone": f"{app.config.region}a",
        "clusterArn": f"{arn}:cluster/{task.cluster}",
        "connectivity": "CONNECTED" if task.started_ms is not None else None,
        "connectivityAt": task.started_ms,
        "containers": [_container(task, one, sizes.get(one.name, {})) for one in task.containers],
        "createdAt": task.created_ms,
        "desiredStatus": task.desired,
        "executionStoppedAt": task.stopped_ms,
        "healthStatus": "UNKNOWN",
        "lastStatus": task.status,
        "launchType": task.launch_type,
        "overrides": {
            "inferenceAcceleratorOverrides": [],
            **task.overrides,
            "containerOverrides": task.overrides.get("containerOverrides")
            or [{"name": one.name} for one in task.containers],
        },
        "pullStartedAt": task.started_ms,
        "pullStoppedAt": task.started_ms,
        "startedAt": task.started_ms,
        "startedBy": task.started_by,
        "stopCode": task.stop_code,
        "stoppedAt": task.stopped_ms,
        "stoppedReason": task.stopped_reason,
        "stoppingAt": task.stopping_ms,
        "tags": task.shown.get("tags", []) if tags else [],
        "taskArn": task.arn,
        "taskDefinitionArn": task.definition,
        "version": task.version,
        **rest,
    }


def _container(task: Task, one: TaskContainer, sizes: JsonMapping) -> Json:
    prefix, _, name = task.arn.partition(":task/")
    memory = sizes.get("memory")
    view: JsonObject = {
        "containerArn": f"{prefix}:container/{name}/{one.id}",
        "taskArn": task.arn,
        "name": one.name,
        "image": one.image,
        "runtimeId": f"{task.id}-{one.id[:10]}" if one.began else None,
        "lastStatus": one.status,
        "exitCode": one.exit_code,
        "reason": one.reason,
        "networkBindings": [] if one.began else None,
        "networkInterfaces": [],
        "healthStatus": "UNKNOWN",
        "cpu": str(sizes.get("cpu") or 0),
        "memory": str(memory) if memory is not None else None,
    }
    return {member: value for member, value in view.items() if value is not None}


@operation("ecs", "RunTask")
async def run_task(app: App, call: Call, request: Json) -> Json:
    """Run tasks; the answer shows them before they have started."""
    # After a crash, a task repeats its call with the same request id.
    token = request.get("clientToken") or call.request_id
    tasks = await _tasks(app).run(request, token)
    return {"tasks": [shown(app, task) for task in tasks], "failures": []}


@operation("ecs", "DescribeTasks")
async def describe_tasks(app: App, _call: Call, request: Json) -> Json:
    """Show tasks by id or ARN."""
    cluster, names = _tasks(app).clusters.require(request.get("cluster")), request["tasks"]
    if not names:
        raise invalid("Tasks cannot be empty.")
    if len(names) > MOST_DESCRIBED:
        raise invalid(f"Tasks cannot be more than {MOST_DESCRIBED}.")
    tags = "TAGS" in (request.get("include") or ())
    tasks, failures = [], []
    for name in names:
        task = _tasks(app).find(cluster, name)
        if task is None:
            prefix = f"{cluster.arn.partition(':cluster/')[0]}:task/{cluster.name}/"
            failures.append({"arn": name if name.startswith("arn:") else prefix + name, "reason": "MISSING"})
        else:
            tasks.append(shown(app, task, tags=tags))
    return {"tasks": tasks, "failures": failures}


@operation("ecs", "ListTasks")
async def list_tasks(app: App, _call: Call, request: Json) -> Json:
    """List tasks by ARN: those that are to run, unless stopped ones are requested."""
    cluster = _tasks(app).clusters.require(request.get("cluster"))
    if request.get("serviceName"):
        raise ApiError("ServiceNotFoundException", "Service not found.")
    wanted = request.get("desiredStatus") or "RUNNING"
    asked = {"family": request.get("family"), "started_by": request.get("startedBy"),
             "launch_type": request.get("launchType")}  # fmt: skip
    found = [
        task.arn
        for task in _tasks(app).of_cluster(cluster)
        if task.desired == wanted
        and not request.get("containerInstance")
        and all(value is None or getattr(task, name) == value for name, value in asked.items())
    ]
    return page("taskArns", found, request)


@operation("ecs", "StopTask")
async def stop_task(app: App, _call: Call, request: Json) -> Json:
    """Stop a task: its containers receive SIGTERM, and SIGKILL after their grace period."""
    return {
        "task": shown(app, await _tasks(app).stop_task(request.get("cluster"), request["task"], request.get("reason")))
    }
