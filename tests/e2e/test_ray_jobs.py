"""Jobs on a real Ray cluster of three nodes: output, ends, waiting, a killed server, a killed node."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deadlines import until
from tests.e2e import jobs_systems as jobs
from tests.e2e.conftest import Server, ended
from tests.e2e.ray_nodes import Nodes, needs_ray, open_again, settings, three_nodes

pytestmark = [pytest.mark.slow, needs_ray]

Start = Callable[[], Server]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with pytest.MonkeyPatch.context() as patch:
        yield from three_nodes(patch)


@pytest.fixture
def start(nodes: Nodes, tmp_path: Path) -> Iterator[Start]:
    """Starts servers on one data folder."""
    file = settings(nodes, tmp_path, '[jobs]\nbackend = "ray"')
    made: list[Server] = []

    def one() -> Server:
        made.append(Server(tmp_path / "data", "--config", str(file)))
        return made[-1]

    yield one
    made[-1].kill()
    open_again(tmp_path)


def waiting(folder: Path, code: int) -> list[str]:
    return jobs.shell(
        f"echo gpus $CUDA_VISIBLE_DEVICES; echo $$ >> {folder}/runs; echo before; "
        f"while ! [ -e {folder}/gate ]; do sleep 0.05; done; echo after; exit {code}"
    )


def runs(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "runs").read_text().split()] if (folder / "runs").exists() else []


def output_of(folder: Path, arn: str) -> str:
    file = folder / "data" / "jobs" / "ecs" / arn.rpartition("/")[2] / "c0" / "output.log"
    return file.read_text() if file.exists() else ""


def test_tasks_and_jobs_run_on_nodes_and_stop(start: Start, tmp_path: Path):
    server = start()
    ecs, batch, sfn = server.client("ecs"), server.client("batch"), server.client()
    definition = jobs.task_definition(
        ecs, jobs.shell("echo $NAME $AWS_REGION; pwd; exit 3"), cpu="512",
        c0={"environment": [{"name": "NAME", "value": "x"}]},
    )  # fmt: skip
    arn = jobs.run(ecs, definition)
    shown = jobs.stopped(ecs, arn)
    assert (shown["containers"][0]["exitCode"], shown["stopCode"]) == (3, "EssentialContainerExited")
    first, folder = output_of(tmp_path, arn).splitlines()
    assert (first, Path(folder).parent.parent) == ("x us-east-1", tmp_path / "ray" / "jobs")
    assert not Path(folder).exists()

    arn = jobs.run(ecs, jobs.task_definition(ecs, waiting(tmp_path, 0)))
    until(lambda: output_of(tmp_path, arn).endswith("before\n"), "output of a running task")
    ecs.stop_task(task=arn, reason="enough")
    shown = jobs.stopped(ecs, arn)
    assert (shown["containers"][0]["exitCode"], shown["stoppedReason"]) == (143, "enough")

    batch.create_job_queue(jobQueueName="q", priority=1)
    container = {"image": "i", "command": jobs.shell("exit $AWS_BATCH_JOB_ATTEMPT"), "memory": 64, "vcpus": 1}
    batch.register_job_definition(jobDefinitionName="j", type="container", containerProperties=container)
    parameters = {"JobName": "j", "JobQueue": "q", "JobDefinition": "j", "RetryStrategy": {"Attempts": 2}}
    execution = jobs.started(sfn, jobs.sync_machine(sfn, "batch:submitJob.sync", parameters))
    cause = json.loads(ended(sfn, execution)["cause"])
    assert [one["Container"]["ExitCode"] for one in cause["Attempts"]] == [1, 2]


def test_what_no_node_has_is_waited_for(start: Start):
    server = start()
    ecs = server.client("ecs")
    needs = [{"type": "GPU", "value": "4"}]
    arn = jobs.run(ecs, jobs.task_definition(ecs, jobs.shell("exit 0"), c0={"resourceRequirements": needs}))
    until(lambda: "wait for a place on the Ray cluster" in server.log.read_text(), "the line in the log")
    ecs.stop_task(task=arn)
    shown = jobs.stopped(ecs, arn)
    assert shown["stoppedReason"].startswith("Task stopped by user (it waited for a place: no node of the Ray cluster")
    assert "GPU = 4" in shown["stoppedReason"]
    assert "exitCode" not in shown["containers"][0]


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_the_next_server_finds_what_runs(start: Start, tmp_path: Path, how: str):
    server = start()
    ecs, sfn = server.client("ecs"), server.client()
    definition = jobs.task_definition(ecs, waiting(tmp_path, 0))
    execution = jobs.started(sfn, jobs.sync_machine(sfn, "ecs:runTask.sync", {"TaskDefinition": definition}))
    (arn,) = until(lambda: ecs.list_tasks()["taskArns"], "the task")
    until(lambda: output_of(tmp_path, arn).endswith("before\n"), "its output")
    jobs.running(ecs, arn)
    getattr(server, how)()
    again = start()
    assert jobs.running(again.client("ecs"), arn)
    (tmp_path / "gate").touch()
    shown = ended(again.client(), execution)
    assert (shown["status"], jobs.output(shown)["Containers"][0]["ExitCode"]) == ("SUCCEEDED", 0)
    assert output_of(tmp_path, arn).endswith("\nbefore\nafter\n")
    assert len(runs(tmp_path)) == 1


def test_a_killed_node_fails_its_task_and_the_retry_repeats_it(start: Start, nodes: Nodes, tmp_path: Path):
    number = nodes.start("--num-gpus=1")
    server = start()
    ecs, sfn = server.client("ecs"), server.client()
    needs: dict[str, Any] = {"resourceRequirements": [{"type": "GPU", "value": "1"}]}
    definition = jobs.task_definition(ecs, waiting(tmp_path, 0), c0=needs)
    retry = [{"ErrorEquals": ["States.TaskFailed"], "IntervalSeconds": 1, "MaxAttempts": 2}]
    machine = jobs.sync_machine(sfn, "ecs:runTask.sync", {"TaskDefinition": definition}, Retry=retry)
    execution = jobs.started(sfn, machine)
    (arn,) = until(lambda: ecs.list_tasks()["taskArns"], "the task")
    until(lambda: output_of(tmp_path, arn).endswith("before\n"), "output of the process")
    assert output_of(tmp_path, arn).startswith("gpus 0\n")
    nodes.kill(number)
    lost = jobs.stopped(ecs, arn)
    assert lost["stoppedReason"].startswith("Lost on the Ray node ")
    assert "exitCode" not in lost["containers"][0]
    other = nodes.start("--num-gpus=1")
    (tmp_path / "gate").touch()
    assert ended(sfn, execution)["status"] == "SUCCEEDED"
    # Once on the node that was lost, and once more because of the Retry.
    assert len(runs(tmp_path)) == 2
    nodes.kill(other)
    with pytest.raises(ProcessLookupError):
        os.kill(runs(tmp_path)[0], 0)
