"""Operations on jobs. Instants of jobs are epoch milliseconds on the wire, too."""

from __future__ import annotations

from typing import Final

from statewright.api.batch.paging import page
from statewright.api.operations import App, Call, operation
from statewright.jobs.batch_definitions import container_of, refused
from statewright.jobs.batch_jobs import BatchJobs
from statewright.jobs.batch_records import STATUSES, Attempt, Job, matches
from statewright.payload import Json, JsonObject

MOST_DESCRIBED: Final = 100


def _jobs(app: App) -> BatchJobs:
    return app.services.jobs.batch


def _arn(app: App, job: Job) -> str:
    return app.config.arn("batch", f"job/{job.id}")


def _known(view: JsonObject) -> JsonObject:
    return {name: value for name, value in view.items() if value is not None}


def _stream(job: Job, task: str | None) -> str | None:
    name = job.definition.rpartition("/")[2].partition(":")[0]
    return f"{name}/default/{task}" if task is not None else None


def _task_arn(app: App, task: str | None) -> str | None:
    prefix = app.config.arn("ecs", "task/statewright-batch/")
    return prefix + task if task is not None else None


def _array(app: App, job: Job) -> Json:
    if job.size is None:
        return {"index": job.index} if job.index is not None else None
    counts = _jobs(app).summary(job) or {}
    return {"size": job.size, "statusSummary": {status: counts.get(status, 0) for status in STATUSES}}


def _attempt(app: App, job: Job, one: Attempt) -> Json:
    container: JsonObject = {
        "exitCode": one.exit_code,
        "reason": one.reason,
        "logStreamName": _stream(job, one.task),
        "taskArn": _task_arn(app, one.task),
        "networkInterfaces": [],
    }
    return {
        "container": _known(container),
        "startedAt": one.started_ms,
        "stoppedAt": one.stopped_ms,
        "statusReason": one.status_reason,
    }


def shown(app: App, job: Job) -> Json:
    """A job as DescribeJobs shows it."""
    jobs = _jobs(app)
    definition, request = jobs.definitions.of_arn(job.definition), jobs.request_of(job)
    given = definition.given if definition is not None else {}
    retry = request.get("retryStrategy") or given.get("retryStrategy") or {"attempts": 1}
    view = {
        "jobArn": _arn(app, job),
        "jobId": job.id,
        "jobName": job.name,
        "jobQueue": app.config.arn("batch", f"job-queue/{job.queue}"),
        "jobDefinition": job.definition,
        "status": job.status,
        "statusReason": job.status_reason or None,
        "attempts": [_attempt(app, job, one) for one in job.attempts],
        "createdAt": job.created_ms,
        "startedAt": job.started_ms,
        "stoppedAt": job.stopped_ms,
        "retryStrategy": {"evaluateOnExit": [], **retry},
        "dependsOn": request.get("dependsOn") or [],
        "parameters": {**(given.get("parameters") or {}), **(request.get("parameters") or {})},
        "container": _container(app, job),
        "timeout": request.get("timeout") or given.get("timeout"),
        "arrayProperties": _array(app, job),
        "tags": request.get("tags") or {},
        "platformCapabilities": given.get("platformCapabilities") or ["EC2"],
        "isCancelled": job.is_cancelled,
        "isTerminated": job.is_terminated,
    }
    return _known(view)


def _container(app: App, job: Job) -> Json:
    jobs = _jobs(app)
    definition, request = jobs.definitions.of_arn(job.definition), jobs.request_of(job)
    if definition is None:
        return None
    last = job.attempts[-1] if job.attempts else None
    task = job.task or (last.task if last is not None else None)
    run, over = container_of(definition, request, {}), request.get("containerOverrides") or {}
    sizes = {name: over[name] for name in ("vcpus", "memory", "resourceRequirements", "instanceType") if over.get(name)}
    empty = ("mountPoints", "ulimits", "volumes", "secrets", "networkInterfaces", "resourceRequirements")
    view = {
        **{name: [] for name in empty},
        **definition.container,
        **sizes,
        "command": list(run.command),
        "environment": [{"name": name, "value": value} for name, value in run.environment.items()],
        "exitCode": last.exit_code if last is not None else None,
        "reason": last.reason if last is not None else None,
        "logStreamName": _stream(job, task),
        "taskArn": _task_arn(app, task),
    }
    return _known(view)


def _summary(app: App, job: Job) -> Json:
    last = job.attempts[-1] if job.attempts else None
    container = _known({"exitCode": last.exit_code, "reason": last.reason}) if last is not None else None
    view = {
        "jobArn": _arn(app, job),
        "jobId": job.id,
        "jobName": job.name,
        "jobDefinition": job.definition,
        "createdAt": job.created_ms,
        "status": job.status,
        "statusReason": job.status_reason or None,
        "startedAt": job.started_ms,
        "stoppedAt": job.stopped_ms,
        "container": container,
        "arrayProperties": _array(app, job),
    }
    return _known(view)


@operation("batch", "SubmitJob")
async def submit_job(app: App, call: Call, request: Json) -> Json:
    """Submit a job. The request id makes it idempotent: after a crash, a task repeats its call with the same id."""
    job = await _jobs(app).submit(request, call.request_id)
    return {"jobArn": _arn(app, job), "jobName": job.name, "jobId": job.id}


@operation("batch", "DescribeJobs")
async def describe_jobs(app: App, _call: Call, request: Json) -> Json:
    """Show jobs by id; unknown ones are left out."""
    if len(request["jobs"]) > MOST_DESCRIBED:
        raise refused(f"Error executing request, Exception : at most {MOST_DESCRIBED} jobs can be described at once.")
    found = [_jobs(app).find(id_) for id_ in request["jobs"]]
    return {"jobs": [shown(app, job) for job in found if job is not None]}


@operation("batch", "ListJobs")
async def list_jobs(app: App, _call: Call, request: Json) -> Json:
    """List the jobs of a queue, or the children of an array; running ones, unless a status or filter is given."""
    jobs, filters = _jobs(app), request.get("filters") or []
    if request.get("multiNodeJobId"):
        raise refused("This version of Statewright has no multi-node jobs.")
    if request.get("arrayJobId"):
        found = jobs.children(request["arrayJobId"])
    elif request.get("jobQueue"):
        found = jobs.of_queue(request["jobQueue"])
    else:
        raise refused("You must specify only one of jobQueue, arrayJobId, or multiNodeJobId.")
    if filters:
        found = [job for job in found if _passes(job, filters[0])]
    else:
        status = request.get("jobStatus") or "RUNNING"
        found = [job for job in found if job.status == status]
    return page("jobSummaryList", [_summary(app, job) for job in found], "jobId", request)


def _passes(job: Job, asked: Json) -> bool:
    name, values = asked.get("name"), asked.get("values") or []
    if name == "JOB_NAME":
        return any(matches(value, job.name) for value in values)
    if name == "JOB_DEFINITION":
        full = job.definition.rpartition("/")[2]
        wanted = [value.rpartition("/")[2] for value in values]
        return any(matches(value, one) for value in wanted for one in (full, full.partition(":")[0]))
    if name in ("BEFORE_CREATED_AT", "AFTER_CREATED_AT"):
        if len(values) != 1 or not values[0].isdigit():
            raise refused(f"The filter {name} needs one instant in milliseconds.")
        is_before = job.created_ms < int(values[0])
        return is_before if name == "BEFORE_CREATED_AT" else not is_before
    raise refused(f"There is no filter {name}.")


@operation("batch", "TerminateJob")
async def terminate_job(app: App, _call: Call, request: Json) -> None:
    """End a job of any status."""
    await _jobs(app).end(request["jobId"], request["reason"], also_running=True)


@operation("batch", "CancelJob")
async def cancel_job(app: App, _call: Call, request: Json) -> None:
    """Cancel a job that has not started."""
    await _jobs(app).end(request["jobId"], request["reason"], also_running=False)
