"""Jobs of our own that `.sync` waits for: told of, looked at, stopped; after a restart followed, not repeated."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from statewright.asl.resources import parse_resource
from statewright.clock import RealClock, Timer
from statewright.config import Config
from statewright.engine.dispatch import Failed, ScheduledCall, Submitted
from statewright.errors import ApiError
from statewright.integrations.registry import EngineSide, Registry
from statewright.payload import Payload
from tests.unit.integrations.stub import NO_CALLS

ARN = "arn:aws:ecs:us-east-1:000000000000:task/default/1"
ENDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ecs": (
        {"lastStatus": "STOPPED", "containers": [{"exitCode": 0}]},
        {"lastStatus": "STOPPED", "containers": [{"exitCode": 3}]},
    ),
    "batch": ({"jobId": "1", "status": "SUCCEEDED"}, {"jobId": "1", "status": "FAILED"}),
}


class Still(RealClock):
    """A clock whose timers never fall due: what happens, happens without a poll."""

    def call_at(self, due_ms: int, callback: Any) -> Timer:
        return super().call_at(due_ms + 3_600_000, callback)


class Service:
    """ECS and Batch with one job, which stands as `shown` says."""

    content_type = "application/x-amz-json-1.0"

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[str] = []
        self.shown: dict[str, Any] = {"lastStatus": "RUNNING", "status": "RUNNING", "jobId": "1"}
        self.refusal: ApiError | None = None

    async def __call__(
        self, operation: str, request: dict[str, Any], *, request_id: str, completion: Any = None
    ) -> Any:
        self.asked.append(operation)
        if self.refusal is not None:
            raise self.refusal
        if operation == "RunTask":
            assert request["startedBy"] == "AWS Step Functions"
            return {"tasks": [{"taskArn": ARN, "lastStatus": "PROVISIONING"}], "failures": []}
        if operation == "SubmitJob":
            return {"jobId": "1", "jobName": "j"}
        return {"tasks": [{"taskArn": ARN, **self.shown}], "jobs": [self.shown]}


class Answers:
    def __init__(self) -> None:
        self.given: list[tuple[str, Any]] = []
        self.there = asyncio.Event()

    async def task_succeeded(self, token: str, output: str) -> None:
        self.given.append(("succeeded", json.loads(output)))
        self.there.set()

    async def task_failed(self, token: str, error: str | None, cause: str | None) -> None:
        self.given.append((error or "", json.loads(cause) if cause and cause.startswith("{") else cause))
        self.there.set()


def task(name: str, submitted: Any = None) -> ScheduledCall:
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "ecs": ("ecs:runTask.sync", {"TaskDefinition": "d"}),
        "batch": ("batch:submitJob.sync", {"JobName": "j", "JobQueue": "q", "JobDefinition": "d"}),
    }
    resource, parameters = calls[name]
    execution = "arn:aws:states:us-east-1:000000000000:execution:m:e"
    return ScheduledCall(
        execution, "S", parse_resource(f"arn:aws:states:::{resource}"), parameters, "token", 0, "7", "role",
        submitted=Payload(submitted) if submitted is not None else None,
    )  # fmt: skip


Story = Callable[[Registry, Service, Answers], Awaitable[None]]


def play(name: str, story: Story) -> tuple[Service, Answers]:
    async def run() -> tuple[Service, Answers]:
        service, answers = Service(name), Answers()
        registry = Registry(Config(), Still(), replace(NO_CALLS, services={name: service}))
        registry.connect(cast(EngineSide, answers))
        try:
            await story(registry, service, answers)
        finally:
            await registry.close()
        return service, answers

    return asyncio.run(run())


def ended(name: str, *, well: bool) -> dict[str, Any]:
    found: dict[str, Any] = ENDS[name][0 if well else 1]
    return found


async def looked_at(service: Service, times: int) -> None:
    while sum(one.startswith("Describe") for one in service.asked) < times:
        await asyncio.sleep(0)


@pytest.mark.parametrize("name", ["ecs", "batch"])
@pytest.mark.parametrize("well", [True, False])
def test_the_end_of_a_job_is_announced_not_polled(name, well):
    async def story(registry: Registry, service: Service, answers: Answers) -> None:
        assert isinstance(await registry.call(task(name)), Submitted)
        await looked_at(service, 1)
        service.shown = ended(name, well=well)
        registry.job_ended("somebody else's")
        registry.job_ended(ARN if name == "ecs" else "1")
        await answers.there.wait()

    service, answers = play(name, story)
    (how, shown), = answers.given  # fmt: skip
    assert how == ("succeeded" if well else "States.TaskFailed")
    assert shown["LastStatus" if name == "ecs" else "Status"] in ("STOPPED", "SUCCEEDED", "FAILED")
    assert len(service.asked) == 3


def test_after_a_restart_the_job_is_followed_and_not_started_again():
    async def story(registry: Registry, service: Service, answers: Answers) -> None:
        service.shown = ended("batch", well=True)
        await registry.call(task("batch", {"JobId": "1"}))
        await answers.there.wait()

    service, answers = play("batch", story)
    assert service.asked == ["DescribeJobs"]
    assert answers.given[0][0] == "succeeded"


@pytest.mark.parametrize(("name", "stop"), [("ecs", "StopTask"), ("batch", "TerminateJob")])
def test_who_leaves_the_state_stops_the_job(name, stop):
    async def story(registry: Registry, service: Service, _answers: Answers) -> None:
        await registry.call(task(name))
        await looked_at(service, 1)
        await registry.cancel(task(name))

    service, answers = play(name, story)
    assert service.asked[-1] == stop
    assert answers.given == []


def test_a_job_that_is_gone_fails_its_task():
    async def story(registry: Registry, service: Service, answers: Answers) -> None:
        await registry.call(task("ecs"))
        await looked_at(service, 1)
        service.refusal = ApiError("ClusterNotFoundException", "Cluster not found.")
        registry.job_ended(ARN)
        await answers.there.wait()

    _, answers = play("ecs", story)
    assert answers.given[0][0] == "ECS.ClusterNotFoundException"


def test_a_refused_request_is_a_failed_submission():
    async def story(registry: Registry, service: Service, _answers: Answers) -> None:
        service.refusal = ApiError("ClientException", "TaskDefinition not found.")
        result = await registry.call(task("ecs"))
        assert isinstance(result, Failed)
        assert (result.error, result.how) == ("ECS.ClientException", "submit failed")

    play("ecs", story)
