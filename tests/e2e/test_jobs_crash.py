"""Jobs and a killed server: found again, never started twice, their ends never lost."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deadlines import until
from tests.e2e import jobs_systems as jobs
from tests.e2e.conftest import Server, ended
from tests.unit.functions.test_misbehaving_handlers import gone


def waiting(folder: Path, code: int) -> list[str]:
    """A command that notes that it runs, waits for a gate, and ends with a code."""
    return jobs.shell(f"echo $$ >> {folder}/runs; while ! [ -e {folder}/gate ]; do sleep 0.02; done; exit {code}")


def pids(folder: Path) -> list[int]:
    path = folder / "runs"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Any]:
    """Starts servers on one data folder; the last one is stopped in the end."""
    made: list[Server] = []

    def start() -> Server:
        made.append(Server(tmp_path / "data"))
        return made[-1]

    yield start
    assert made[-1].stop() == 0, made[-1].log.read_text()


def test_what_runs_on_is_adopted_and_its_end_reaches_the_state(servers, tmp_path):
    server = servers()
    ecs, sfn = server.client("ecs"), server.client()
    definition = jobs.task_definition(ecs, waiting(tmp_path, 3))
    execution = jobs.started(sfn, jobs.sync_machine(sfn, "ecs:runTask.sync", {"TaskDefinition": definition}))
    until(lambda: pids(tmp_path), "the process")
    arn = ecs.list_tasks()["taskArns"][0]
    server.kill()
    again = servers()
    ecs, sfn = again.client("ecs"), again.client()
    assert jobs.running(ecs, arn)["desiredStatus"] == "RUNNING"
    (tmp_path / "gate").touch()
    shown = ended(sfn, execution)
    assert json.loads(shown["cause"])["Containers"][0]["ExitCode"] == 3
    assert ecs.list_tasks()["taskArns"] == []
    assert len(pids(tmp_path)) == 1


@pytest.mark.slow
def test_what_ended_meanwhile_has_its_exit_code(servers, tmp_path):
    server = servers()
    ecs, sfn = server.client("ecs"), server.client()
    definition = jobs.task_definition(ecs, waiting(tmp_path, 0))
    execution = jobs.started(sfn, jobs.sync_machine(sfn, "ecs:runTask.sync", {"TaskDefinition": definition}))
    (pid,) = until(lambda: pids(tmp_path), "the process")
    server.kill()
    (tmp_path / "gate").touch()
    until(lambda: gone(pid), "the end of the process")
    again = servers()
    shown = ended(again.client(), execution)
    assert (shown["status"], jobs.output(shown)["Containers"][0]["ExitCode"]) == ("SUCCEEDED", 0)
    assert len(pids(tmp_path)) == 1


@pytest.mark.slow
def test_what_has_vanished_fails_with_a_reason(servers, tmp_path):
    server = servers()
    ecs, sfn = server.client("ecs"), server.client()
    definition = jobs.task_definition(ecs, waiting(tmp_path, 0))
    execution = jobs.started(sfn, jobs.sync_machine(sfn, "ecs:runTask.sync", {"TaskDefinition": definition}))
    until(lambda: pids(tmp_path), "the process")
    arn = ecs.list_tasks()["taskArns"][0]
    jobs.running(ecs, arn)
    folder = tmp_path / "data" / "jobs" / "ecs" / arn.rpartition("/")[2] / "c0"
    server.kill()
    os.kill(json.loads((folder / "claim").read_text())["pid"], signal.SIGKILL)
    again = servers()
    shown = ended(again.client(), execution)
    cause = json.loads(shown["cause"])
    assert shown["error"] == "States.TaskFailed"
    assert "without an exit code" in cause["StoppedReason"]
    assert "ExitCode" not in cause["Containers"][0]
    # What the runner had started is ended, too.
    until(lambda: all(gone(pid) for pid in pids(tmp_path)), "the end of the orphan")
    assert len(pids(tmp_path)) == 1


@pytest.mark.slow
def test_an_orderly_stop_leaves_tasks_running_unless_nothing_is_kept(servers, tmp_path):
    server = servers()
    ecs = server.client("ecs")
    arn = jobs.run(ecs, jobs.task_definition(ecs, waiting(tmp_path, 0)))
    (pid,) = until(lambda: pids(tmp_path), "the process")
    assert server.stop() == 0
    assert not gone(pid)
    again = servers()
    assert jobs.running(again.client("ecs"), arn)
    again.client("ecs").stop_task(task=arn)
    assert jobs.stopped(again.client("ecs"), arn)["containers"][0]["exitCode"] == 143


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_tasks_of_a_server_that_keeps_nothing_end_with_it(tmp_path, how):
    server = Server(tmp_path / "data", "--store", "memory")
    ecs = server.client("ecs")
    jobs.run(ecs, jobs.task_definition(ecs, waiting(tmp_path, 0)))
    (pid,) = until(lambda: pids(tmp_path), "the process")
    if how == "stop":
        assert server.stop() == 0, server.log.read_text()
    else:
        server.kill()
    until(lambda: gone(pid), "the end of the process")


@pytest.mark.slow
def test_batch_jobs_are_adopted_and_what_waits_goes_on(servers, tmp_path):
    server = servers()
    batch, sfn = server.client("batch"), server.client()
    batch.create_job_queue(jobQueueName="q", priority=1)
    for name, command in (("gated", waiting(tmp_path, 0)), ("after", jobs.shell(f"echo after >> {tmp_path}/after"))):
        container = {"image": "i", "command": command}
        batch.register_job_definition(jobDefinitionName=name, type="container", containerProperties=container)
    execution = jobs.started(
        sfn,
        jobs.sync_machine(
            sfn,
            "batch:submitJob.sync",
            {"JobName": "j", "JobQueue": "q", "JobDefinition": "gated", "ArrayProperties": {"Size": 2}},
        ),
    )
    until(lambda: len(pids(tmp_path)) == 2, "two processes")
    array = batch.list_jobs(jobQueue="q", jobStatus="PENDING")["jobSummaryList"][0]["jobId"]
    after = batch.submit_job(jobName="k", jobQueue="q", jobDefinition="after", dependsOn=[{"jobId": array}])["jobId"]
    server.kill()
    again = servers()
    (tmp_path / "gate").touch()
    shown = ended(again.client(), execution)
    assert shown["status"] == "SUCCEEDED", shown
    assert jobs.output(shown)["ArrayProperties"]["StatusSummary"]["SUCCEEDED"] == 2
    found = again.client("batch")
    until(lambda: found.describe_jobs(jobs=[after])["jobs"][0]["status"] == "SUCCEEDED", "the job after the array")
    assert len(pids(tmp_path)) == 2
    assert (tmp_path / "after").read_text() == "after\n"
