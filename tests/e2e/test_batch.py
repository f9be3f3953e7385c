"""Batch with boto3: definitions, queues, jobs as processes, arrays, dependencies, states that wait for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e import jobs_systems as jobs
from tests.e2e.conftest import Server, ended


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that takes timeouts of a second, and has three slots."""
    folder = tmp_path_factory.mktemp("batch")
    (folder / "settings.toml").write_text("[jobs]\nslots = 3\n")
    running = Server(folder / "data", "--limits", "open", "--config", str(folder / "settings.toml"))
    client = running.client("batch")
    client.create_compute_environment(computeEnvironmentName="here", type="UNMANAGED")
    client.create_job_queue(
        jobQueueName="q", priority=1, computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "here"}]
    )
    yield running
    assert running.stop() == 0, running.log.read_text()


@pytest.fixture
def batch(open_server: Server) -> Any:
    return open_server.client("batch")


@pytest.fixture
def sfn(open_server: Server) -> Any:
    return open_server.client()


def registered(batch: Any, command: list[str], **members: Any) -> str:
    container = {"image": "busybox", "command": command, **members.pop("container", {})}
    made = batch.register_job_definition(
        jobDefinitionName="d", type="container", containerProperties=container, **members
    )
    arn: str = made["jobDefinitionArn"]
    return arn


def submitted(batch: Any, definition: str, **members: Any) -> str:
    id_: str = batch.submit_job(jobName="j", jobQueue="q", jobDefinition=definition, **members)["jobId"]
    return id_


def described(batch: Any, id_: str) -> dict[str, Any]:
    found: dict[str, Any] = batch.describe_jobs(jobs=[id_])["jobs"][0]
    return found


def over(batch: Any, id_: str) -> dict[str, Any]:
    def final() -> dict[str, Any] | None:
        shown = described(batch, id_)
        return shown if shown["status"] in ("SUCCEEDED", "FAILED") else None

    found: dict[str, Any] = until(final, f"the end of job {id_}")
    return found


def test_a_job_runs_with_its_parameters_and_variables(batch, tmp_path, open_server):
    script = (
        f"import json, os, sys; print('said'); json.dump([sys.argv[1:], dict(os.environ)], open('{tmp_path}/out', 'w'))"
    )
    definition = registered(
        batch,
        [*jobs.python(script), "-Ref::first", "Ref::second", "Ref::third"],
        parameters={"first": "1", "second": "2"},
        container={"environment": [{"name": "A", "value": "a"}, {"name": "B", "value": "b"}]},
    )
    overrides = {"environment": [{"name": "B", "value": "c"}]}
    id_ = submitted(batch, definition, parameters={"second": "two"}, containerOverrides=overrides)
    shown = over(batch, id_)
    assert (shown["status"], shown["container"]["exitCode"]) == ("SUCCEEDED", 0)
    assert shown["createdAt"] <= shown["startedAt"] <= shown["stoppedAt"]
    arguments, variables = json.loads((tmp_path / "out").read_text())
    assert arguments == ["-1", "two", "Ref::third"]
    assert (variables["A"], variables["B"]) == ("a", "c")
    assert variables["AWS_ENDPOINT_URL"] == open_server.url
    names = ("AWS_BATCH_JOB_ID", "AWS_BATCH_JOB_ATTEMPT", "AWS_BATCH_JQ_NAME", "AWS_BATCH_CE_NAME")
    assert [variables[name] for name in names] == [id_, "1", "q", "here"]
    assert shown["container"]["command"][3:] == arguments
    stream = shown["container"]["logStreamName"]
    assert stream.startswith("d/default/")
    folder = Path(open_server.ready_line.partition("data: ")[2].partition(",")[0])
    assert (folder / "jobs" / "batch" / stream.rpartition("/")[2] / "output.log").read_text() == "said\n"


def test_failed_attempts_are_repeated(batch, tmp_path):
    definition = registered(
        batch, jobs.shell(f"echo $AWS_BATCH_JOB_ATTEMPT >> {tmp_path}/n; test $AWS_BATCH_JOB_ATTEMPT = 3")
    )
    shown = over(batch, submitted(batch, definition, retryStrategy={"attempts": 3}))
    assert shown["status"] == "SUCCEEDED"
    assert [one["container"]["exitCode"] for one in shown["attempts"]] == [1, 1, 0]
    assert (tmp_path / "n").read_text().split() == ["1", "2", "3"]


def test_what_an_exit_code_means_may_be_said(batch):
    rules = [{"onExitCode": "4*", "action": "EXIT"}]
    definition = registered(batch, jobs.shell("exit 42"), retryStrategy={"attempts": 3, "evaluateOnExit": rules})
    shown = over(batch, submitted(batch, definition))
    assert (shown["status"], len(shown["attempts"])) == ("FAILED", 1)
    assert shown["statusReason"] == "Essential container in task exited"


def test_a_job_that_takes_too_long_is_ended_and_not_repeated(batch):
    definition = registered(batch, jobs.shell("exec sleep 600"), timeout={"attemptDurationSeconds": 1})
    shown = over(batch, submitted(batch, definition, retryStrategy={"attempts": 3}))
    assert (shown["status"], shown["statusReason"]) == ("FAILED", "Job attempt duration exceeded timeout")
    assert [one["container"]["exitCode"] for one in shown["attempts"]] == [143]


def test_a_command_that_is_not_there(batch):
    shown = over(batch, submitted(batch, registered(batch, ["/no/such/program"])))
    assert shown["status"] == "FAILED"
    assert "No such file" in shown["container"]["reason"]
    assert "exitCode" not in shown["container"]


def test_an_array_and_what_depends_on_it(batch, tmp_path):
    note = jobs.shell(f"echo $AWS_BATCH_JOB_ARRAY_INDEX/$AWS_BATCH_JOB_ARRAY_SIZE >> {tmp_path}/n")
    array = submitted(batch, registered(batch, note), arrayProperties={"size": 4})
    after = submitted(batch, registered(batch, ["true"]), dependsOn=[{"jobId": array}])
    shown = over(batch, array)
    assert shown["status"] == "SUCCEEDED"
    assert shown["arrayProperties"]["statusSummary"]["SUCCEEDED"] == 4
    assert sorted((tmp_path / "n").read_text().split()) == ["0/4", "1/4", "2/4", "3/4"]
    children = batch.list_jobs(arrayJobId=array, jobStatus="SUCCEEDED")["jobSummaryList"]
    assert [one["jobId"] for one in children] == [f"{array}:{index}" for index in range(4)]
    assert over(batch, after)["status"] == "SUCCEEDED"


def test_a_failed_child_fails_its_array_and_what_depends_on_it(batch):
    array = submitted(
        batch, registered(batch, jobs.shell("exit $AWS_BATCH_JOB_ARRAY_INDEX")), arrayProperties={"size": 2}
    )
    after = submitted(batch, registered(batch, ["true"]), dependsOn=[{"jobId": array}])
    last = submitted(batch, registered(batch, ["true"]), dependsOn=[{"jobId": after}])
    shown = over(batch, array)
    assert (shown["status"], shown["statusReason"]) == ("FAILED", "Array Child Job failed")
    for id_ in (after, last):
        assert over(batch, id_)["statusReason"] == "Dependent Job failed"


def test_children_one_after_the_other_and_side_by_side(batch, tmp_path):
    note = registered(batch, jobs.shell(f"echo Ref::name$AWS_BATCH_JOB_ARRAY_INDEX >> {tmp_path}/n"))
    first = submitted(
        batch, note, arrayProperties={"size": 5}, dependsOn=[{"type": "SEQUENTIAL"}], parameters={"name": "a"}
    )
    second = submitted(
        batch,
        note,
        arrayProperties={"size": 5},
        dependsOn=[{"jobId": first, "type": "N_TO_N"}],
        parameters={"name": "b"},
    )
    assert over(batch, second)["status"] == "SUCCEEDED"
    lines = (tmp_path / "n").read_text().split()
    assert [line for line in lines if line[0] == "a"] == [f"a{index}" for index in range(5)]
    assert all(lines.index(f"a{index}") < lines.index(f"b{index}") for index in range(5))


def test_ending_jobs(batch, tmp_path):
    long = registered(batch, jobs.shell(f"echo >> {tmp_path}/up; exec sleep 600"))
    array = submitted(batch, long, arrayProperties={"size": 5})
    until(lambda: (tmp_path / "up").exists() and len((tmp_path / "up").read_text()) == 3, "three slots in use")
    waiting = [one["jobId"] for one in batch.list_jobs(arrayJobId=array, jobStatus="RUNNABLE")["jobSummaryList"]]
    assert len(waiting) == 2
    batch.cancel_job(jobId=waiting[0], reason="not needed")
    shown = described(batch, waiting[0])
    assert (shown["status"], shown["statusReason"], shown["isCancelled"]) == ("FAILED", "not needed", True)
    running = batch.list_jobs(arrayJobId=array)["jobSummaryList"][0]["jobId"]
    batch.cancel_job(jobId=running, reason="too late")
    assert described(batch, running)["status"] == "RUNNING"
    batch.terminate_job(jobId=array, reason="enough")
    assert over(batch, array)["status"] == "FAILED"
    shown = described(batch, running)
    assert (shown["statusReason"], shown["container"]["exitCode"]) == ("enough", 143)


def test_definitions_and_queues_are_shown(batch):
    arn = registered(batch, ["true"], tags={"a": "b"})
    found = batch.describe_job_definitions(jobDefinitions=[arn])["jobDefinitions"]
    assert [(one["jobDefinitionArn"], one["status"], one["tags"]) for one in found] == [(arn, "ACTIVE", {"a": "b"})]
    batch.deregister_job_definition(jobDefinition=arn)
    assert batch.describe_job_definitions(jobDefinitions=[arn])["jobDefinitions"][0]["status"] == "INACTIVE"
    assert batch.describe_job_queues(jobQueues=["q"])["jobQueues"][0]["status"] == "VALID"
    shown = batch.describe_compute_environments()["computeEnvironments"][0]
    assert (shown["computeEnvironmentName"], shown["state"]) == ("here", "ENABLED")
    batch.create_job_queue(jobQueueName="gone", priority=2)
    batch.update_job_queue(jobQueue="gone", state="DISABLED")
    batch.delete_job_queue(jobQueue="gone")
    assert batch.describe_job_queues(jobQueues=["gone"])["jobQueues"] == []


def test_jobs_are_found_by_name(batch):
    definition = registered(batch, ["true"])
    ids = [
        batch.submit_job(jobName=name, jobQueue="q", jobDefinition=definition)["jobId"]
        for name in ("Found-1", "found-2", "other")
    ]
    for id_ in ids:
        over(batch, id_)
    named = [{"name": "JOB_NAME", "values": ["found*"]}]
    listed = batch.list_jobs(jobQueue="q", filters=named)["jobSummaryList"]
    assert [one["jobId"] for one in listed] == [ids[1], ids[0]]
    page = batch.list_jobs(jobQueue="q", filters=named, maxResults=1)
    rest = batch.list_jobs(jobQueue="q", filters=named, nextToken=page["nextToken"])["jobSummaryList"]
    assert [one["jobId"] for one in rest] == [ids[0]]


SUBMIT: Any = {"jobName": "j", "jobQueue": "q", "jobDefinition": "d"}
CONTAINER: Any = {"jobDefinitionName": "e", "type": "container", "containerProperties": {"image": "i"}}
FAILING: Any = (
    ("submit_job", {**SUBMIT, "jobQueue": "none"}, "JobQueue none not found."),
    ("submit_job", {**SUBMIT, "jobDefinition": "none"}, "JobDefinition name none does not exist or is not in ACTIVE"),
    ("submit_job", {**SUBMIT, "jobName": "a b"}, "Job name should match valid pattern"),
    ("submit_job", {"jobName": "j"}, "'jobQueue'"),
    ("submit_job", {**SUBMIT, "arrayProperties": {"size": 1}}, "Array size must be between 2 and 10000"),
    ("submit_job", {**SUBMIT, "dependsOn": [{"jobId": "none"}]}, "was not found"),
    ("submit_job", {**SUBMIT, "dependsOn": [{"type": "SEQUENTIAL"}]}, "Only an array job"),
    ("submit_job", {**SUBMIT, "retryStrategy": {"attempts": 11}}, "between 1 and 10"),
    ("submit_job", {**SUBMIT, "nodeOverrides": {"numNodes": 2}}, "no job with nodeOverrides"),
    ("register_job_definition", {**CONTAINER, "containerProperties": {}}, "containerProperties"),
    ("register_job_definition", {**CONTAINER, "type": "multinode"}, "type container"),
    ("register_job_definition", {**CONTAINER, "jobDefinitionName": "a b"}, "should match valid pattern"),
    ("create_job_queue", {"jobQueueName": "q", "priority": 1}, "already exists"),
    (
        "create_job_queue",
        {"jobQueueName": "r", "priority": 1, "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "none"}]},
        "Compute environment none not found",
    ),
    ("delete_job_queue", {"jobQueue": "q"}, "must be DISABLED"),
    ("terminate_job", {"jobId": "none", "reason": "r"}, "Job none not found"),
    ("cancel_job", {"jobId": "none", "reason": "r"}, "Job none not found"),
    ("list_jobs", {}, "You must specify only one of"),
    ("list_jobs", {"arrayJobId": "none"}, "no array job"),
    ("list_jobs", {"jobQueue": "q", "nextToken": "none"}, "Invalid nextToken"),
)


@pytest.mark.parametrize(("operation", "request_", "text"), FAILING)
def test_what_is_refused(batch, operation, request_, text):
    registered(batch, ["true"])
    with pytest.raises(ClientError) as refused:
        getattr(batch, operation)(**request_)
    assert refused.value.response["Error"]["Code"] == "ClientException"
    assert text in refused.value.response["Error"]["Message"]


def test_the_service_takes_no_timeout_below_a_minute(server):
    container = {"image": "i", "command": ["true"]}
    with pytest.raises(ClientError, match="at least 60"):
        server.client("batch").register_job_definition(
            jobDefinitionName="x",
            type="container",
            containerProperties=container,
            timeout={"attemptDurationSeconds": 1},
        )


# ------------------------------------------------------------------ states that wait for a job


def waits(sfn: Any, definition: str, resource: str = "batch:submitJob.sync", **members: Any) -> str:
    parameters = {"JobName": "j", "JobQueue": "q", "JobDefinition": definition, **members.pop("job", {})}
    return jobs.sync_machine(sfn, resource, parameters, **members)


def test_sync_succeeds_with_the_job(sfn, batch):
    shown = ended(sfn, jobs.started(sfn, waits(sfn, registered(batch, ["true"]))))
    assert shown["status"] == "SUCCEEDED", shown
    result = jobs.output(shown)
    assert (result["Status"], result["Container"]["ExitCode"], result["JobName"]) == ("SUCCEEDED", 0, "j")
    assert isinstance(result["StartedAt"], int)


def test_sync_fails_with_the_job_as_cause(sfn, batch):
    shown = ended(sfn, jobs.started(sfn, waits(sfn, registered(batch, jobs.shell("exit 3")))))
    assert shown["error"] == "States.TaskFailed"
    cause = json.loads(shown["cause"])
    assert (cause["Status"], cause["Attempts"][0]["Container"]["ExitCode"]) == ("FAILED", 3)


def test_sync_and_the_jobs_own_timeout(sfn, batch):
    definition = registered(batch, jobs.shell("exec sleep 600"))
    shown = ended(sfn, jobs.started(sfn, waits(sfn, definition, job={"Timeout": {"AttemptDurationSeconds": 1}})))
    assert json.loads(shown["cause"])["StatusReason"] == "Job attempt duration exceeded timeout"


def test_a_refused_request_fails_the_state(sfn):
    shown = ended(sfn, jobs.started(sfn, waits(sfn, "none")))
    assert shown["error"] == "Batch.ClientException"
    assert "(Service: AWSBatch; Status Code: 400; Error Code: ClientException;" in shown["cause"]


@pytest.mark.parametrize("how", ["stop", "timeout"])
def test_who_leaves_the_state_ends_the_job(sfn, batch, tmp_path, how):
    definition = registered(batch, jobs.shell(f"echo $AWS_BATCH_JOB_ID > {tmp_path}/up; exec sleep 600"))
    limit: dict[str, Any] = {"TimeoutSeconds": 2} if how == "timeout" else {}
    execution = jobs.started(sfn, waits(sfn, definition, **limit))
    id_ = until(lambda: (tmp_path / "up").exists() and (tmp_path / "up").read_text().strip(), "the job")
    if how == "stop":
        sfn.stop_execution(executionArn=execution)
    shown = over(batch, id_)
    assert (shown["status"], shown["isTerminated"], shown["container"]["exitCode"]) == ("FAILED", True, 143)
    assert ended(sfn, execution)["status"] == ("ABORTED" if how == "stop" else "FAILED")


def test_a_job_answers_by_its_token(sfn, batch):
    script = (
        "import boto3, sys\n"
        "boto3.client('stepfunctions').send_task_failure(taskToken=sys.argv[1], error='Mine', cause='so')"
    )
    definition = registered(batch, [*jobs.python(script), "Ref::token"])
    parameters = {"Parameters": {"token.$": "$$.Task.Token"}}
    arn = waits(sfn, definition, "aws-sdk:batch:submitJob.waitForTaskToken", job=parameters, TimeoutSeconds=60)
    shown = ended(sfn, jobs.started(sfn, arn))
    assert (shown["error"], shown["cause"]) == ("Mine", "so")


def test_without_a_pattern_the_state_goes_on_at_once(sfn, batch):
    definition = registered(batch, jobs.shell("exec sleep 600"))
    result = jobs.output(ended(sfn, jobs.started(sfn, waits(sfn, definition, "batch:submitJob"))))
    assert result["JobId"]
    batch.terminate_job(jobId=result["JobId"], reason="done")
    assert over(batch, result["JobId"])["status"] == "FAILED"
