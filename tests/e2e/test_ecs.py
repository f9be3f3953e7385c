"""ECS with boto3: task definitions, tasks as processes, states that wait for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e import jobs_systems as jobs
from tests.e2e.conftest import ended, machine


@pytest.fixture
def ecs(server: Any) -> Any:
    return server.client("ecs")


def test_a_definition_and_its_revisions(ecs):
    first = jobs.task_definition(ecs, ["true"], cpu="256", tags=[{"key": "a", "value": "b"}])
    family = first.rpartition("/")[2].partition(":")[0]
    shown = ecs.describe_task_definition(taskDefinition=family, include=["TAGS"])
    assert shown["taskDefinition"]["taskDefinitionArn"] == first
    assert shown["taskDefinition"]["status"] == "ACTIVE"
    assert shown["tags"] == [{"key": "a", "value": "b"}]
    container = {"name": "c", "image": "i", "command": ["true"]}
    second = ecs.register_task_definition(family=family, containerDefinitions=[container])["taskDefinition"]
    assert second["revision"] == 2
    assert ecs.list_task_definitions(familyPrefix=family, sort="DESC")["taskDefinitionArns"] == [
        second["taskDefinitionArn"], first,
    ]  # fmt: skip
    ecs.deregister_task_definition(taskDefinition=f"{family}:2")
    assert ecs.describe_task_definition(taskDefinition=family)["taskDefinition"]["revision"] == 1
    assert ecs.list_task_definitions(familyPrefix=family, status="INACTIVE")["taskDefinitionArns"] == [
        second["taskDefinitionArn"]
    ]


def test_a_task_runs_with_its_overrides_and_reaches_the_server(ecs, server, tmp_path):
    out = tmp_path / "out"
    script = f"import json, os; open({str(out)!r}, 'w').write(json.dumps([dict(os.environ), os.getcwd()]))"
    variables = {"environment": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}
    definition = jobs.task_definition(ecs, ["false"], c0=variables)
    overrides = {
        "containerOverrides": [
            {"name": "c0", "command": jobs.python(script), "environment": [{"name": "B", "value": "3"}]}
        ]
    }
    arn = jobs.run(ecs, definition, overrides=overrides, startedBy="me", tags=[{"key": "k", "value": "v"}])
    shown = jobs.stopped(ecs, arn)
    assert shown["containers"][0]["exitCode"] == 0
    assert (shown["stopCode"], shown["stoppedReason"]) == (
        "EssentialContainerExited", "Essential container in task exited",
    )  # fmt: skip
    assert shown["startedBy"] == "me"
    assert shown["startedAt"] <= shown["stoppingAt"] <= shown["stoppedAt"]
    variables, folder = json.loads(out.read_text())
    assert (variables["A"], variables["B"]) == ("1", "3")
    assert variables["AWS_ENDPOINT_URL"] == server.url
    assert folder.endswith("/work")
    assert ecs.describe_tasks(tasks=[arn], include=["TAGS"])["tasks"][0]["tags"] == [{"key": "k", "value": "v"}]


def test_the_same_token_runs_nothing_twice(ecs, tmp_path):
    definition = jobs.task_definition(ecs, jobs.shell(f"echo x >> {tmp_path}/runs"))
    first = ecs.run_task(taskDefinition=definition, clientToken=tmp_path.name, count=2)
    again = ecs.run_task(taskDefinition=definition, clientToken=tmp_path.name, count=2)
    arns = sorted(one["taskArn"] for one in first["tasks"])
    assert sorted(one["taskArn"] for one in again["tasks"]) == arns
    for arn in arns:
        jobs.stopped(ecs, arn)
    assert (tmp_path / "runs").read_text() == "x\nx\n"
    with pytest.raises(ClientError) as refused:
        ecs.run_task(taskDefinition=definition, clientToken=tmp_path.name, count=1)
    assert refused.value.response["Error"]["Code"] == "ConflictException"


def test_essential_containers_decide_and_order_is_kept(ecs, tmp_path):
    note = f"echo $$ >> {tmp_path}/order;"
    definition = jobs.task_definition(
        ecs,
        jobs.shell("exec sleep 600"),
        jobs.shell(f"{note} exit 0"),
        jobs.shell(f"test -s {tmp_path}/order && exit 7"),
        c1={"essential": False},
        c2={"dependsOn": [{"containerName": "c1", "condition": "SUCCESS"}]},
    )
    shown = jobs.stopped(ecs, jobs.run(ecs, definition))
    assert [one["exitCode"] for one in shown["containers"]] == [143, 0, 7]
    assert shown["stopCode"] == "EssentialContainerExited"


def test_a_container_that_cannot_start_fails_its_task(ecs):
    for command, text in ((["/no/such/program"], "No such file"), ([], "neither command nor entryPoint")):
        shown = jobs.stopped(ecs, jobs.run(ecs, jobs.task_definition(ecs, command)))
        assert shown["stopCode"] == "TaskFailedToStart"
        assert shown["stoppedReason"].startswith("CannotStartContainerError")
        assert text in shown["stoppedReason"]
        assert "exitCode" not in shown["containers"][0]


def test_stopping_a_task_asks_first_and_kills_then(ecs, tmp_path):
    stubborn = jobs.shell(
        f"trap 'echo asked > {tmp_path}/asked' TERM; echo > {tmp_path}/up; while :; do sleep 0.05; done"
    )
    definition = jobs.task_definition(ecs, stubborn, c0={"stopTimeout": 1})
    arn = jobs.run(ecs, definition)
    until((tmp_path / "up").exists)
    assert arn in ecs.list_tasks(startedBy="nobody")["taskArns"] + ecs.list_tasks()["taskArns"]
    answer = ecs.stop_task(task=arn, reason="enough")["task"]
    assert answer["desiredStatus"] == "STOPPED"
    shown = jobs.stopped(ecs, arn)
    assert (tmp_path / "asked").exists()
    assert shown["containers"][0]["exitCode"] == 137
    assert (shown["stopCode"], shown["stoppedReason"]) == ("UserInitiated", "enough")
    assert arn not in ecs.list_tasks()["taskArns"]
    assert (
        arn
        in ecs.list_tasks(desiredStatus="STOPPED", family=definition.rpartition("/")[2].partition(":")[0])["taskArns"]
    )


def test_clusters_group_tasks(ecs, tmp_path):
    name = f"cluster-{tmp_path.name[-20:]}"
    made = ecs.create_cluster(clusterName=name)["cluster"]
    assert made["clusterArn"] in ecs.list_clusters()["clusterArns"]
    definition = jobs.task_definition(ecs, jobs.shell("exec sleep 600"))
    arn = jobs.run(ecs, definition, cluster=name)
    with pytest.raises(ClientError) as refused:
        ecs.delete_cluster(cluster=name)
    assert refused.value.response["Error"]["Code"] == "ClusterContainsTasksException"
    assert ecs.describe_tasks(tasks=[arn])["failures"] == [{"arn": arn, "reason": "MISSING"}]
    ecs.stop_task(cluster=made["clusterArn"], task=arn)
    until(lambda: ecs.describe_tasks(cluster=name, tasks=[arn])["tasks"][0]["lastStatus"] == "STOPPED")
    assert ecs.delete_cluster(cluster=name)["cluster"]["status"] == "INACTIVE"
    assert ecs.describe_clusters(clusters=["default", "none"])["failures"][0]["reason"] == "MISSING"


FAILING: Any = (
    ("run_task", {"taskDefinition": "none"}, "ClientException", "TaskDefinition not found."),
    ("run_task", {"taskDefinition": "none", "cluster": "none"}, "ClusterNotFoundException", "Cluster not found."),
    ("run_task", {"taskDefinition": "known", "count": 11}, "InvalidParameterException", "count must be"),
    (
        "run_task",
        {"taskDefinition": "known", "overrides": {"containerOverrides": [{"name": "x"}]}},
        "InvalidParameterException",
        "Override for container named x is not a container in the TaskDefinition.",
    ),
    ("run_task", {}, "InvalidParameterException", "'taskDefinition'"),
    ("stop_task", {"task": "none"}, "InvalidParameterException", "The referenced task was not found."),
    ("describe_tasks", {"tasks": []}, "InvalidParameterException", "Tasks cannot be empty."),
    ("list_tasks", {"serviceName": "s"}, "ServiceNotFoundException", "Service not found."),
    ("list_tasks", {"nextToken": "s"}, "InvalidParameterException", "Invalid token"),
    ("describe_task_definition", {"taskDefinition": "none"}, "ClientException", "Unable to describe task definition."),
    ("deregister_task_definition", {"taskDefinition": "none"}, "InvalidParameterException", "revision"),
    ("deregister_task_definition", {"taskDefinition": "none:1"}, "ClientException", "does not exist"),
    ("delete_cluster", {"cluster": "none"}, "ClusterNotFoundException", "Cluster not found."),
    ("create_cluster", {"clusterName": "a b"}, "InvalidParameterException", "Invalid identifier"),
    ("register_task_definition", {"family": "a b", "containerDefinitions": []}, "ClientException", "Family contains"),
    ("register_task_definition", {"family": "a", "containerDefinitions": []}, "ClientException", "cannot be empty"),
    (
        "register_task_definition",
        {"family": "a", "containerDefinitions": [{"image": "i"}]},
        "ClientException",
        "Container.name should not be null or empty.",
    ),
    (
        "register_task_definition",
        {"family": "a", "containerDefinitions": [{"name": "i"}]},
        "ClientException",
        "Container.image should not be null or empty.",
    ),
    (
        "register_task_definition",
        {"family": "a", "containerDefinitions": [{"name": "i", "image": "i", "essential": False}]},
        "ClientException",
        "essential",
    ),
    (
        "register_task_definition",
        {"family": "a", "containerDefinitions": [
            {"name": "i", "image": "i", "secrets": [{"name": "a", "valueFrom": "b"}]}
        ]},
        "ClientException",
        "secrets",
    ),
    ("create_service", {"serviceName": "s"}, "UnknownOperationException", "does not have ecs CreateService yet"),
)  # fmt: skip


@pytest.mark.parametrize(("operation", "request_", "code", "text"), FAILING)
def test_what_is_refused(ecs, operation, request_, code, text):
    if request_.get("taskDefinition") == "known":
        request_ = {**request_, "taskDefinition": jobs.task_definition(ecs, ["true"])}
    with pytest.raises(ClientError) as refused:
        getattr(ecs, operation)(**request_)
    assert refused.value.response["Error"]["Code"] == code
    assert text in refused.value.response["Error"]["Message"]


# ------------------------------------------------------------------ states that wait for a task


def test_sync_succeeds_with_the_task_once_it_is_told_of_its_end(sfn, ecs):
    definition = jobs.task_definition(ecs, ["true"])
    arn = jobs.sync_machine(sfn, "ecs:runTask.sync", {"TaskDefinition": definition, "LaunchType": "FARGATE"})
    shown = ended(sfn, jobs.started(sfn, arn))
    assert shown["status"] == "SUCCEEDED"
    result = jobs.output(shown)
    assert result["LastStatus"] == "STOPPED"
    assert result["Containers"][0]["ExitCode"] == 0
    assert result["StartedBy"] == "AWS Step Functions"
    assert result["StopCode"] == "EssentialContainerExited"


def test_sync_fails_with_the_task_as_cause(sfn, ecs):
    definition = jobs.task_definition(ecs, jobs.shell("exit 3"))
    shown = ended(sfn, jobs.started(sfn, jobs.sync_machine(sfn, "ecs:runTask.sync", {"TaskDefinition": definition})))
    assert (shown["status"], shown["error"]) == ("FAILED", "States.TaskFailed")
    assert json.loads(shown["cause"])["Containers"][0]["ExitCode"] == 3


def test_a_refused_request_fails_the_state(sfn):
    shown = ended(sfn, jobs.started(sfn, jobs.sync_machine(sfn, "ecs:runTask.sync", {"TaskDefinition": "none"})))
    assert (shown["status"], shown["error"]) == ("FAILED", "ECS.ClientException")
    assert shown["cause"].startswith("TaskDefinition not found. (Service: AmazonECS; Status Code: 400;")


@pytest.mark.parametrize("how", ["stop", "timeout"])
def test_who_leaves_the_state_stops_the_task(sfn, ecs, tmp_path, how):
    definition = jobs.task_definition(ecs, jobs.shell(f"echo > {tmp_path}/up; exec sleep 600"))
    limit = {"TimeoutSeconds": 2} if how == "timeout" else {}
    arn = jobs.sync_machine(sfn, "ecs:runTask.sync", {"TaskDefinition": definition}, **limit)
    execution = jobs.started(sfn, arn)
    until((tmp_path / "up").exists)
    if how == "stop":
        sfn.stop_execution(executionArn=execution)
    shown = ended(sfn, execution)
    assert shown["status"] == ("ABORTED" if how == "stop" else "FAILED")
    family = definition.rpartition("/")[2].partition(":")[0]
    found = until(lambda: ecs.list_tasks(family=family, desiredStatus="STOPPED")["taskArns"], "a stop")
    over = jobs.stopped(ecs, found[0])
    assert (over["stopCode"], over["containers"][0]["exitCode"]) == ("UserInitiated", 143)


def test_a_task_answers_by_its_token(sfn, ecs):
    script = (
        "import boto3, os\n"
        "boto3.client('stepfunctions').send_task_success(taskToken=os.environ['TOKEN'], output='{\"x\": 1}')"
    )
    definition = jobs.task_definition(ecs, jobs.python(script))
    variables = [{"Name": "TOKEN", "Value.$": "$$.Task.Token"}]
    parameters = {
        "TaskDefinition": definition,
        "Overrides": {"ContainerOverrides": [{"Name": "c0", "Environment": variables}]},
    }
    arn = jobs.sync_machine(sfn, "ecs:runTask.waitForTaskToken", parameters, TimeoutSeconds=60)
    shown = ended(sfn, jobs.started(sfn, arn))
    assert (shown["status"], jobs.output(shown)) == ("SUCCEEDED", {"x": 1})


def test_sdk_tasks_run_in_process(sfn, ecs):
    definition = jobs.task_definition(ecs, ["true"])
    resource = "arn:aws:states:::aws-sdk:ecs:"
    arn = machine(
        sfn,
        {
            "Type": "Task",
            "Resource": f"{resource}runTask",
            "Parameters": {"TaskDefinition": definition},
            "OutputPath": "$.Tasks[0]",
        },
        {"Type": "Task", "Resource": f"{resource}describeTasks", "Parameters": {"Tasks.$": "States.Array($.TaskArn)"}},
    )
    shown = ended(sfn, jobs.started(sfn, arn))
    assert shown["status"] == "SUCCEEDED", shown
    assert jobs.output(shown)["Tasks"][0]["TaskDefinitionArn"] == definition


def test_output_is_kept_in_a_file(ecs, server):
    arn = jobs.run(ecs, jobs.task_definition(ecs, jobs.shell("echo out; echo err >&2")))
    jobs.stopped(ecs, arn)
    folder = Path(server.ready_line.partition("data: ")[2].partition(",")[0])
    assert (folder / "jobs" / "ecs" / arn.rpartition("/")[2] / "c0" / "output.log").read_text() == "out\nerr\n"
