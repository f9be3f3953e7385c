"""ECS tasks and Batch jobs on a cluster that needs no Ray: what their descriptions say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from statewright.clock import RealClock
from statewright.config import Config
from statewright.functions.workers.ray_link import RayLink
from statewright.jobs import ray_processes
from statewright.jobs.batch_jobs import RAY_SLOTS
from statewright.jobs.jobs import Jobs
from statewright.settings.server import JobSettings, RaySettings
from statewright.stores.memory.store import MemoryStore
from tests.deadlines import until_async
from tests.unit.functions.workers.ray.bench import FakeRay, fake_ray


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeRay]:
    monkeypatch.setattr(ray_processes, "AGAIN_MS", 50)
    yield from fake_ray(monkeypatch, tmp_path)


def play(ray: FakeRay, folder: Path, story: Callable[[Jobs], Awaitable[Any]], store: MemoryStore | None = None) -> Any:
    """Run a story on a server of its own."""

    async def main() -> Any:
        used = store or MemoryStore()
        await used.open("tests")
        config = Config(jobs=JobSettings(backend="ray"), ray=RaySettings(folder=str(ray.folder)))
        link = RayLink(RealClock(), config.ray)
        jobs = Jobs(used, RealClock(), config, folder, lambda: "http://127.0.0.1:1", ray=link, owns_ray=True)
        await jobs.start()
        try:
            return await story(jobs)
        finally:
            await jobs.stop()
            await used.close()

    return asyncio.run(main())


async def defined(jobs: Jobs, *scripts: str, **members: Any) -> None:
    containers = [
        {"name": f"c{number}", "image": "i", "command": ["/bin/sh", "-c", script], **members}
        for number, script in enumerate(scripts)
    ]
    await jobs.tasks.definitions.register({"family": "f", "containerDefinitions": containers})


def test_containers_of_a_task_wait_beside_each_other(ray, tmp_path):
    ray.become({"a": 1})

    async def story(jobs: Jobs) -> None:
        # The first one never gets a place; the second one runs all the same, and ends the task.
        containers = [
            {"name": "large", "image": "i", "command": ["/bin/true"], "cpu": 8192, "essential": False},
            {"name": "main", "image": "i", "command": ["/bin/sh", "-c", "exit 4"], "cpu": 1024},
        ]
        await jobs.tasks.definitions.register({"family": "f", "containerDefinitions": containers})
        (task,) = await jobs.tasks.run({"taskDefinition": "f"}, "token")
        await until_async(lambda: task.is_over, "the end of the task")
        large, main = task.containers
        assert (main.exit_code, task.stop_code) == (4, "EssentialContainerExited")
        assert (large.exit_code, large.reason) == (
            None, "it waited for a place: no node of the Ray cluster has CPU = 8",
        )  # fmt: skip

    play(ray, tmp_path / "data", story)


def test_a_task_that_is_stopped_while_it_waits_says_for_what(ray, tmp_path, caplog):
    async def story(jobs: Jobs) -> None:
        await defined(jobs, "exit 0", cpu=8192)
        (task,) = await jobs.tasks.run({"taskDefinition": "f"}, "token")
        await until_async(lambda: "wait for a place" in caplog.text, "the line in the log")
        assert task.status == "PENDING"
        await jobs.tasks.stop_task(None, task.id, "no more")
        await until_async(lambda: task.is_over, "the end of the task")
        assert task.stopped_reason == "no more (it waited for a place: no node of the Ray cluster has CPU = 8)"

    play(ray, tmp_path / "data", story)


def test_a_lost_node_is_the_reason_of_a_task_and_an_attempt_of_a_job(ray, tmp_path):
    ray.become({"a": 2})
    gate = tmp_path / "gate"
    script = f"echo x >> {tmp_path}/runs; while ! [ -e {gate} ]; do sleep 0.02; done"

    def runs() -> int:
        return len((tmp_path / "runs").read_text().split()) if (tmp_path / "runs").exists() else 0

    async def story(jobs: Jobs) -> None:
        await defined(jobs, script)
        (task,) = await jobs.tasks.run({"taskDefinition": "f"}, "token")
        batch = jobs.batch
        container = {"image": "i", "command": ["/bin/sh", "-c", script], "vcpus": 1, "memory": 1}
        await batch.definitions.create_queue({"jobQueueName": "q", "priority": 1})
        await batch.definitions.register(
            {"jobDefinitionName": "j", "type": "container", "containerProperties": container}
        )
        strategy = {"attempts": 3, "evaluateOnExit": [{"onStatusReason": "Lost on the Ray node*", "action": "RETRY"}]}
        request = {"jobName": "j", "jobQueue": "q", "jobDefinition": "j", "retryStrategy": strategy}
        job = await batch.submit(request, "unique")
        await until_async(lambda: runs() == 2, "two processes")
        ray.become({"b": 2})
        await until_async(lambda: task.is_over, "the end of the task")
        lost = "Lost on the Ray node a: the node a is gone"
        assert (task.stopped_reason, task.containers[0].exit_code) == (lost, None)
        # The job's own strategy has it repeated; nothing else is.
        await until_async(lambda: runs() == 3, "the second attempt")
        gate.touch()
        await until_async(lambda: job.is_over, "the end of the job")
        assert (job.status, job.attempts[0].status_reason) == ("SUCCEEDED", lost)

    play(ray, tmp_path / "data", story)


def test_a_job_that_is_terminated_while_it_waits_says_for_what(ray, tmp_path, caplog):
    async def story(jobs: Jobs) -> None:
        batch = jobs.batch
        container = {"image": "i", "command": ["/bin/true"], "vcpus": 8, "memory": 1}
        await batch.definitions.create_queue({"jobQueueName": "q", "priority": 1})
        await batch.definitions.register(
            {"jobDefinitionName": "j", "type": "container", "containerProperties": container}
        )
        job = await batch.submit({"jobName": "j", "jobQueue": "q", "jobDefinition": "j"}, "unique")
        await until_async(lambda: "wait for a place" in caplog.text, "the line in the log")
        assert job.status == "STARTING"
        await batch.end(job.id, "no more", also_running=True)
        await until_async(lambda: job.is_over, "the end of the job")
        assert job.status == "FAILED"
        assert job.status_reason == "no more (it waited for a place: no node of the Ray cluster has CPU = 8)"

    play(ray, tmp_path / "data", story)


def test_a_restarted_server_finds_all_containers_although_one_still_waits(ray, tmp_path):
    ray.become({"a": 1})
    store, gate = MemoryStore(), tmp_path / "gate"

    async def begin(jobs: Jobs) -> None:
        containers = [
            {"name": "large", "image": "i", "command": ["/bin/true"], "cpu": 8192, "essential": False},
            {"name": "main", "image": "i", "cpu": 1024,
             "command": ["/bin/sh", "-c", f"while ! [ -e {gate} ]; do sleep 0.02; done; exit 6"]},
        ]  # fmt: skip
        await jobs.tasks.definitions.register({"family": "f", "containerDefinitions": containers})
        (task,) = await jobs.tasks.run({"taskDefinition": "f"}, "token")
        await until_async(lambda: task.containers[1].status == "RUNNING", "the second container")

    async def go_on(jobs: Jobs) -> int | None:
        (task,) = jobs.tasks.of_cluster(jobs.tasks.clusters.require(None))
        gate.touch()
        await until_async(lambda: task.is_over, "the end of the task")
        return task.containers[1].exit_code

    play(ray, tmp_path / "data", begin, store)
    assert play(ray, tmp_path / "data", go_on, store) == 6


def test_batch_has_more_slots_than_this_machine_has_processors(ray, tmp_path):
    async def story(jobs: Jobs) -> int:
        return jobs.batch._slots

    assert play(ray, tmp_path / "data", story) == RAY_SLOTS
