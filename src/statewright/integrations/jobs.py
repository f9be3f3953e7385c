"""Jobs that `.sync` waits for: how to ask for a job's state, its final statuses, its result, and how to stop it.

A table of services; requests and answers are in the optimised integrations' names.

Source: developer guide, the page of each integration, for what is waited for; service models for statuses. For ECS the
result is observed; for the others it is the description of the job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from statewright.engine.dispatch import Failed, ScheduledCall, Succeeded
from statewright.integrations.api_values import ApiMapping, ApiObject
from statewright.integrations.members import from_api, to_api
from statewright.integrations.patterns import job_failed, not_here_yet
from statewright.integrations.service_calls import Refusal
from statewright.integrations.service_names import Api, optimised_api
from statewright.payload import Json, JsonMapping, JsonObject

Named = Callable[[JsonMapping, JsonMapping], JsonObject]
"""Makes a request from what the task submitted and the parameters it gave."""
Send = Callable[[Api, ApiMapping], ApiMapping]
"""Sends a request in botocore's names; blocks. Raises: Refusal."""


@dataclass(frozen=True, slots=True)
class Job:
    """The rules for following a kind of job. `result` and `status` are paths into the answer, steps joined by dots."""

    ask: str
    named: Named
    result: str
    status: str
    good: frozenset[str]
    bad: frozenset[str]
    stop: str | None = None
    stopped: Named | None = None
    check: Callable[[JsonMapping], bool] | None = None
    """False for a job that has failed in spite of a good status."""
    name: str | None = None
    """The path, in the answer to the request, of the name by which Statewright's own services announce a job's end."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _containers_succeeded(task: JsonMapping) -> bool:
    return all(container.get("ExitCode") == 0 for container in task.get("Containers", ()))


def _sagemaker(kind: str) -> Job:
    name = f"{kind}JobName"
    named: Named = lambda _, given: {name: given[name]}  # noqa: E731
    ask, status = f"describe{kind}Job", f"{kind}JobStatus"
    return Job(ask, named, "", status, _words("Completed"), _words("Failed Stopped"), f"stop{kind}Job", named)


_JOBS: Final[Mapping[tuple[str, str], Job]] = {
    ("ecs", "runTask"): Job(
        "describeTasks",
        lambda done, given: {"Cluster": given.get("Cluster"), "Tasks": [done["Tasks"][0]["TaskArn"]]},
        "Tasks.0",
        "LastStatus",
        _words("STOPPED"),
        _words("DELETED"),
        "stopTask",
        lambda done, given: {"Cluster": given.get("Cluster"), "Task": done["Tasks"][0]["TaskArn"]},
        _containers_succeeded,
        "Tasks.0.TaskArn",
    ),
    ("batch", "submitJob"): Job(
        "describeJobs",
        lambda done, _: {"Jobs": [done["JobId"]]},
        "Jobs.0",
        "Status",
        _words("SUCCEEDED"),
        _words("FAILED"),
        "terminateJob",
        lambda done, _: {"JobId": done["JobId"], "Reason": "The state that waited for the job was left."},
        name="JobId",
    ),
    ("glue", "startJobRun"): Job(
        "getJobRun",
        lambda done, given: {"JobName": given["JobName"], "RunId": done["JobRunId"]},
        "JobRun",
        "JobRunState",
        _words("SUCCEEDED"),
        _words("FAILED TIMEOUT STOPPED ERROR EXPIRED"),
        "batchStopJobRun",
        lambda done, given: {"JobName": given["JobName"], "JobRunIds": [done["JobRunId"]]},
    ),
    ("athena", "startQueryExecution"): Job(
        "getQueryExecution",
        lambda done, _: {"QueryExecutionId": done["QueryExecutionId"]},
        "",
        "QueryExecution.Status.State",
        _words("SUCCEEDED"),
        _words("FAILED CANCELLED"),
        "stopQueryExecution",
        lambda done, _: {"QueryExecutionId": done["QueryExecutionId"]},
    ),
    ("codebuild", "startBuild"): Job(
        "batchGetBuilds",
        lambda done, _: {"Ids": [done["Build"]["Id"]]},
        "Builds.0",
        "BuildStatus",
        _words("SUCCEEDED"),
        _words("FAILED FAULT TIMED_OUT STOPPED"),
        "stopBuild",
        lambda done, _: {"Id": done["Build"]["Id"]},
    ),
    ("databrew", "startJobRun"): Job(
        "describeJobRun",
        lambda done, given: {"Name": given["Name"], "RunId": done["RunId"]},
        "",
        "State",
        _words("SUCCEEDED"),
        _words("FAILED TIMEOUT STOPPED"),
        "stopJobRun",
        lambda done, given: {"Name": given["Name"], "RunId": done["RunId"]},
    ),
    ("emr-containers", "startJobRun"): Job(
        "describeJobRun",
        lambda done, given: {"Id": done["Id"], "VirtualClusterId": given["VirtualClusterId"]},
        "JobRun",
        "State",
        _words("COMPLETED"),
        _words("FAILED CANCELLED"),
        "cancelJobRun",
        lambda done, given: {"Id": done["Id"], "VirtualClusterId": given["VirtualClusterId"]},
    ),
    ("emr-serverless", "startJobRun"): Job(
        "getJobRun",
        lambda done, _: {"ApplicationId": done["ApplicationId"], "JobRunId": done["JobRunId"]},
        "JobRun",
        "State",
        _words("SUCCESS"),
        _words("FAILED CANCELLED"),
        "cancelJobRun",
        lambda done, _: {"ApplicationId": done["ApplicationId"], "JobRunId": done["JobRunId"]},
    ),
    ("mediaconvert", "createJob"): Job(
        "getJob",
        lambda done, _: {"Id": done["Job"]["Id"]},
        "Job",
        "Status",
        _words("COMPLETE"),
        _words("ERROR CANCELED"),
        "cancelJob",
        lambda done, _: {"Id": done["Job"]["Id"]},
    ),
    ("sagemaker", "createProcessingJob"): _sagemaker("Processing"),
    ("sagemaker", "createTrainingJob"): _sagemaker("Training"),
    ("sagemaker", "createTransformJob"): _sagemaker("Transform"),
}


def refusal_of(task: ScheduledCall) -> Failed | None:
    """The failure of a `.sync` task whose job cannot be followed, before it is started; `None` if it can."""
    return None if _job_of(task) is not None else not_here_yet(task)


@dataclass(frozen=True, slots=True)
class Request:
    """A request about a job, in the names of the API's model."""

    api: Api
    request: ApiObject


def question(task: ScheduledCall, submitted: Json) -> Request | Failed:
    """The request for a job's state."""
    job = _job_of(task)
    assert job is not None
    try:
        return _request(task, job.ask, job.named(submitted, task.parameters))
    except (KeyError, IndexError, TypeError) as problem:
        return _without(task, problem)


def outcome(task: ScheduledCall, asked: Request, answer: ApiMapping) -> Succeeded | Failed | None:
    """The task's result from the answer about its job; `None` while the job runs."""
    job = _job_of(task)
    assert job is not None
    try:
        described = _at(from_api(asked.api.operation.output_shape, answer, asked.api.dialect), job.result)
        status = _at(described, job.status)
    except (KeyError, IndexError, TypeError) as problem:
        return _without(task, problem)
    if status in job.good and (job.check is None or job.check(described)):
        return Succeeded(described)
    return job_failed(described) if status in job.good | job.bad else None


def ending(task: ScheduledCall, submitted: Json) -> Request | None:
    """The request that stops a job; `None` if there is none."""
    job = _job_of(task)
    if job is None or job.stop is None or job.stopped is None:
        return None
    try:
        return _request(task, job.stop, job.stopped(submitted, task.parameters))
    except (KeyError, IndexError, TypeError):
        return None


def name_of(task: ScheduledCall, submitted: Json) -> str | None:
    """The name by which Statewright's own services announce a job's end."""
    job = _job_of(task)
    try:
        found = _at(submitted, job.name) if job is not None and job.name is not None else None
    except (KeyError, IndexError, TypeError):
        return None
    return found if isinstance(found, str) else None


def poll(send: Send, task: ScheduledCall, submitted: Json) -> Succeeded | Failed | None:
    """Ask for a job's state; `None` while it runs. Blocks."""
    asked = question(task, submitted)
    if isinstance(asked, Failed):
        return asked
    try:
        answer = send(asked.api, asked.request)
    except Refusal as refusal:
        return None if refusal.may_pass else Failed(refusal.error, refusal.cause)
    return outcome(task, asked, answer)


def stop(send: Send, task: ScheduledCall, submitted: Json) -> None:
    """Stop a job, best effort. Blocks."""
    asked = ending(task, submitted)
    if asked is None:
        return
    try:
        send(asked.api, asked.request)
    except Refusal:
        # It has ended by itself, or cannot be reached.
        return


def _job_of(task: ScheduledCall) -> Job | None:
    return _JOBS.get((task.resource.resource_type, task.resource.action.partition(".")[0]))


def _request(task: ScheduledCall, action: str, parameters: JsonMapping) -> Request:
    api = optimised_api(task.resource.resource_type, action)
    return Request(api, to_api(api.operation.input_shape, parameters, api.dialect))


def _without(task: ScheduledCall, problem: Exception) -> Failed:
    return Failed("States.TaskFailed", f"{task.resource.short_name} answered without {problem}")


def _at(value: Json, path: str) -> Json:
    for step in path.split(".") if path else ():
        value = value[int(step)] if step.isdigit() else value[step]
    return value
