from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from statewright.api.nodes.changes import ChangeFeed
from statewright.api.nodes.peers import Peer
from statewright.api.nodes.tasks import HomeTasks, runs_here
from statewright.asl.resources import parse_resource
from statewright.engine.dispatch import Failed, ScheduledCall, Submitted, Succeeded, TaskResult, encode_answer
from statewright.engine.executions.views import ExecutionView, StatusChange
from statewright.errors import OwnershipLost, Unavailable
from statewright.payload import Payload
from statewright.stores.protocol import OutboxRow
from tests.unit.api.nodes.cluster import cluster, silent
from tests.unit.api.nodes.engines import execution, placed

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"
SEND = "arn:aws:states:::sqs:sendMessage"


def task_of(resource: str = SEND, parameters: Any = None, **given: Any) -> ScheduledCall:
    made = ScheduledCall(
        execution_arn=execution(1), state="S", resource=parse_resource(resource),
        parameters={"a": 1} if parameters is None else parameters, token=None, attempt=0, idempotency_key="77",
        role_arn="r", task_id=5, outbox=77, trace_header="t", iterations=(1, 2),
    )  # fmt: skip
    return replace(made, **given)


@pytest.mark.parametrize(
    ("resource", "parameters", "is_here"),
    [
        (FUNCTION, {"InvocationType": "Event"}, True),
        ("arn:aws:states:::lambda:invoke", {"FunctionName": "f", "Payload": {}}, True),
        ("arn:aws:states:::lambda:invoke", {"FunctionName": "f", "InvocationType": "RequestResponse"}, True),
        ("arn:aws:states:::lambda:invoke", {"FunctionName": "f", "InvocationType": "Event"}, False),
        ("arn:aws:states:::lambda:invoke.waitForTaskToken", {"FunctionName": "f"}, True),
        ("arn:aws:states:::aws-sdk:lambda:invoke", {"FunctionName": "f"}, True),
        ("arn:aws:states:::aws-sdk:lambda:invoke", {"FunctionName": "f", "InvocationType": "Event"}, False),
        ("arn:aws:states:::aws-sdk:lambda:createFunction", {}, False),
        ("arn:aws:states:::states:startExecution.sync:2", {}, True),
        ("arn:aws:states:::aws-sdk:sfn:startExecution", {}, True),
        ("arn:aws:states:::http:invoke", {}, True),
        ("arn:aws:states:::apigateway:invoke", {}, True),
        ("arn:aws:states:::statewright:poll", {}, True),
        ("arn:aws:states:::statewright:acquire", {}, False),
        ("arn:aws:states:::statewright:release", {}, False),
        (SEND, {}, False),
        ("arn:aws:states:::dynamodb:putItem", {}, False),
        ("arn:aws:states:::ecs:runTask.sync", {}, False),
        ("arn:aws:states:::aws-sdk:s3:getObject", {}, False),
    ],
)
def test_where_tasks_run(resource, parameters, is_here):
    assert runs_here(task_of(resource, parameters)) is is_here


class Integrations:
    """Integrations that note what they are asked, and answer when a test says so."""

    def __init__(self, result: TaskResult | Exception | None = None) -> None:
        self.result = result
        self.calls: list[ScheduledCall] = []
        self.cancelled: list[ScheduledCall] = []
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.ended = asyncio.Event()
        if result is not None:
            self.go_on.set()

    async def call(self, task: ScheduledCall) -> Any:
        self.calls.append(task)
        self.begun.set()
        try:
            await self.go_on.wait()
        finally:
            self.ended.set()
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    async def cancel(self, task: ScheduledCall) -> None:
        self.cancelled.append(task)


@asynccontextmanager
async def two(result: TaskResult | Exception | None = None) -> Any:
    """Two nodes, of which a has the home; the home's integrations, and the tasks of both workers."""
    async with cluster("a", "b") as nodes:
        at_home, tasks = Integrations(result), []
        for node in nodes:
            placed(node, has_home=node.name == "a")
            inner = Integrations(Succeeded("here"))
            tasks.append(HomeTasks(inner, node.tasks, node.directory, node.client))
        app = nodes[0].apps.home
        assert app is not None
        nodes[0].apps.home = replace(app, integrations=cast("Any", at_home))
        yield nodes, at_home, tasks


@pytest.mark.parametrize(
    "result",
    [
        Succeeded({"x": [1, 10**30, "é"]}),
        Succeeded(None),
        Submitted({"JobId": "j"}),
        Failed("Error", "cause"),
        Failed(None, None, "submit failed"),
    ],
)
def test_a_result_comes_from_the_home_as_it_was(result):
    async def test() -> None:
        async with two(result) as (_, at_home, tasks):
            task = task_of(token="T", deadline_ms=9, submitted=Payload({"j": 1}))
            found = [await one.call(task) for one in tasks]
            assert at_home.calls == [task, task]
            if isinstance(result, Failed):
                assert found == [result, result]
            else:
                assert [type(one) for one in found] == [type(result)] * 2
                assert [getattr(one.output, "value", one.output) for one in found] == [result.output] * 2

    asyncio.run(test())


def test_what_runs_here_is_not_sent():
    async def test() -> None:
        async with two(Succeeded("home")) as (_, at_home, tasks):
            task = task_of(FUNCTION)
            assert await tasks[1].call(task) == Succeeded("here")
            await tasks[1].cancel(task)
            assert (at_home.calls, tasks[1]._inner.cancelled) == ([], [task])

    asyncio.run(test())


@pytest.mark.parametrize("problem", [Unavailable("down"), OwnershipLost("the home's lease is gone")])
def test_a_home_that_cannot_is_unavailable(problem):
    async def test() -> None:
        async with two(problem) as (_, _, tasks):
            for one in tasks:
                with pytest.raises(Unavailable, match=str(problem)):
                    await one.call(task_of())

    asyncio.run(test())


def test_a_home_that_is_not_there_is_unavailable():
    async def test() -> None:
        async with two(Succeeded(1)) as (nodes, at_home, tasks), silent() as port:
            rows = nodes[0].directory.rows
            rows.peers["gone"] = Peer("gone", f"http://127.0.0.1:{port}", 1)
            for home in ("gone", None):
                rows.home = home
                with pytest.raises(Unavailable):
                    await tasks[1].call(task_of())
                await tasks[1].cancel(task_of())
            rows.home = "a"
            nodes[0].directory.stale_home = "b"
            nodes[1].directory.stale_home = "b"
            # Its own node says that it does not have the home, and the next look finds it.
            with pytest.raises(Unavailable, match="any more"):
                await tasks[1].call(task_of())
            assert at_home.calls == []
            assert (await tasks[1].call(task_of())).output.value == 1

    asyncio.run(test())


def test_a_second_arrival_joins_the_first_and_outlives_its_caller():
    async def test() -> None:
        async with two() as (nodes, at_home, tasks):
            first = asyncio.ensure_future(tasks[1].call(task_of()))
            await at_home.begun.wait()
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            again = [asyncio.ensure_future(one.call(task_of())) for one in tasks]
            other = asyncio.ensure_future(tasks[1].call(task_of(outbox=78, idempotency_key="78")))
            while len(at_home.calls) < 2 or len(nodes[0].tasks._running) < 2:
                await asyncio.sleep(0)
            at_home.result = Succeeded("once")
            at_home.go_on.set()
            assert [getattr(one.output, "value", one.output) for one in await asyncio.gather(*again, other)] == [
                "once"
            ] * 3
            assert [one.outbox for one in at_home.calls] == [77, 78]
            while nodes[0].tasks._running:
                await asyncio.sleep(0)

    asyncio.run(test())


def test_a_call_that_has_happened_is_not_made_again():
    """The former owner of a cell may have sent it, and the new one has not seen its answer in the row."""

    async def test() -> None:
        async with two(Failed("Refused", "because it has happened")) as (nodes, at_home, tasks):
            task = task_of()
            home = nodes[0].apps.home
            row = OutboxRow(task.outbox, 7, "task", encode_answer(task, Succeeded("once")))
            home.engine.outbox.rows[task.outbox] = row
            for one in tasks:
                found = await one.call(task)
                assert getattr(found.output, "value", found.output) == "once"
            assert at_home.calls == []
            other = task_of(outbox=78, idempotency_key="78")
            assert await tasks[1].call(other) == Failed("Refused", "because it has happened")

    asyncio.run(test())


def test_a_call_that_is_cancelled_ends_at_the_home():
    async def test() -> None:
        async with two() as (_, at_home, tasks):
            task = task_of()
            calling = asyncio.ensure_future(tasks[1].call(task))
            await at_home.begun.wait()
            # As the dispatcher does.
            calling.cancel()
            await tasks[1].cancel(task)
            assert at_home.ended.is_set()
            assert at_home.cancelled == [task]
            await asyncio.gather(calling, return_exceptions=True)

    asyncio.run(test())


def test_a_new_home_follows_the_jobs_that_tasks_wait_for():
    async def test() -> None:
        async with two(Submitted({"j": 1})) as (_, at_home, tasks):
            job = task_of(
                "arn:aws:states:::ecs:runTask.sync", outbox=1, idempotency_key="1", submitted=Payload({"j": 1})
            )
            nested = task_of("arn:aws:states:::states:startExecution.sync", submitted=Payload({}), outbox=2)
            await tasks[1].follow_again([job, nested, task_of(outbox=3)])
            assert at_home.calls == [job]

    asyncio.run(test())


def test_a_permit_is_not_asked_for_at_another_home():
    async def test() -> None:
        async with two(Succeeded(1)) as (_, at_home, tasks):
            found = await tasks[1].call(task_of("arn:aws:states:::statewright:acquire", {"Name": "n", "Limit": 1}))
            assert isinstance(found, Failed)
            assert "start it again" in (found.cause or "")
            assert at_home.calls == []

    asyncio.run(test())


# ------------------------------------------------------------------ changes


def change(number: int, status: str = "SUCCEEDED") -> StatusChange:
    arn = execution(1, str(number))
    view = ExecutionView(
        number, arn, "m", 1, "n", "STANDARD", status, 1, 2, '{"i": "é"}', "1", None, None, "r", "role", None, None,
        None, None, None, 0, None, "NOT_REDRIVABLE", "why", None,
    )  # fmt: skip
    return StatusChange(arn, status, 2, lambda: view)


def test_changes_of_status_reach_the_subscribers_of_the_home_in_order():
    async def test() -> None:
        async with two() as (nodes, _, _):
            seen: list[StatusChange] = []
            home = nodes[0].apps.home
            home.engine.status_changes.subscribe(seen.append)
            feeds = [ChangeFeed(node.apps, node.directory, node.client) for node in nodes]
            feeds[0].status_changed(change(0))
            assert [one.execution_arn for one in seen] == [execution(1, "0")]
            for number in range(1, 500):
                feeds[1].status_changed(change(number))
            while len(seen) < 500:
                await asyncio.sleep(0)
            assert [one.view for one in seen] == [change(number).view for number in range(500)]
            assert (seen[7].status, seen[7].stopped_ms) == ("SUCCEEDED", 2)
            for feed in feeds:
                await feed.stop()

    asyncio.run(test())


def test_changes_wait_for_a_home():
    async def test() -> None:
        async with two() as (nodes, _, _):
            seen: list[str] = []
            nodes[0].apps.home.engine.status_changes.subscribe(lambda one: seen.append(one.execution_arn))
            rows = nodes[0].directory.rows
            rows.home = None
            looked = asyncio.Event()
            rows.on_wait = looked.set
            feed = ChangeFeed(nodes[1].apps, nodes[1].directory, nodes[1].client)
            for number in range(3):
                feed.status_changed(change(number))
            await looked.wait()
            assert seen == []
            rows.home = "a"
            rows.changed.set()
            while len(seen) < 3:
                await asyncio.sleep(0)
            assert seen == [execution(1, str(number)) for number in range(3)]
            await feed.stop()

    asyncio.run(test())
