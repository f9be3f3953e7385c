from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from statewright.api import operations, shapes
from statewright.api.nodes import serving
from statewright.api.nodes.answers import AnswersAnywhere
from statewright.api.nodes.around import UNANSWERED
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.links import NotSent, Unanswered
from statewright.api.nodes.peers import NO_OWNER, OWNER_MS, Peer
from statewright.api.nodes.ranges import RANGE_BYTES
from statewright.api.operations import App, Call, perform
from statewright.api.protocols.uploads import Upload
from statewright.errors import ApiError, ElsewhereError, OwnershipLost, Unavailable
from statewright.stores.completion import Completion
from statewright.stores.ids import cell_shard
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.api.nodes.cluster import Node, Rows, cluster, silent
from tests.unit.api.nodes.engines import MACHINE, SHARD, FakeEngine, execution, lost, placed, token

CLIENT = {"x-amz-target": "AWSStepFunctions.Any"}


def name_of(app: App) -> str:
    return cast("FakeEngine", app.engine).name


def call_of(name: str, service: str = "states", **given: Any) -> Call:
    return Call(service, name, "request-1", **given)


@asynccontextmanager
async def three() -> Any:
    """Three nodes: a has the home, b and c a cell each."""
    async with cluster("a", "b", "c") as nodes:
        nodes[0].directory.rows.owners.update({cell_shard(1): "b", cell_shard(2): "c"})
        yield nodes, [placed(node, has_home=node.name == "a") for node in nodes]


async def stop_at(app: App | None, shard: int, **given: Any) -> Any:
    assert app is not None
    return await perform(app, call_of("StopExecution", **given), {"executionArn": execution(shard)})


def test_calls_on_an_execution_run_where_its_cell_is():
    async def test() -> None:
        async with three() as (nodes, engines):
            wanted = {0: engines[0][1], cell_shard(1): engines[1][0], cell_shard(2): engines[2][0]}
            asked = [app for node in nodes for app in (node.apps.worker, node.apps.home) if app is not None]
            assert len(asked) == 4
            for shard, engine in wanted.items():
                for app in asked:
                    assert await stop_at(app, shard) == {"stopDate": 1_700_000_000_000}
                assert engine.done == [("stop", execution(shard))] * len(asked)
            assert sum(len(engine.done) for pair in engines for engine in pair) == 12

    asyncio.run(test())


def test_the_tasks_that_wait_are_listed_where_the_cell_is():
    async def test() -> None:
        async with three() as (nodes, engines):
            by, request = call_of("ListWaitingTasks", "statewright"), {"executionArn": execution(SHARD)}
            for app in [app for node in nodes for app in (node.apps.worker, node.apps.home) if app is not None]:
                assert await perform(app, by, request) == {
                    "tasks": [
                        {
                            "state": "S", "event": 2, "resource": "r", "isActivity": False, "isStarted": True,
                            "timeoutMs": 0, "heartbeatMs": 9, "token": token(SHARD),
                        }
                    ]
                }  # fmt: skip
            assert engines[1][0].done == [("waiting", execution(SHARD))] * 4
            assert sum(len(engine.done) for pair in engines for engine in pair) == 4

    asyncio.run(test())


def test_tokens_go_with_the_completion_of_the_row_that_asks():
    async def test() -> None:
        async with three() as (nodes, engines):
            sent = call_of(
                "SendTaskSuccess", sent_by="t", completion=Completion(17, lambda answer: b"row" + bytes(answer))
            )
            request = {"taskToken": token(cell_shard(2)), "output": '{"a": 12345678901234567890}'}
            assert await perform(nodes[1].apps.worker, sent, request) == {}
            assert engines[2][0].done == [("succeeded", request["taskToken"], request["output"], (17, b"row"))]

    asyncio.run(test())


def test_what_does_not_exist_is_refused_by_the_node_that_was_asked():
    async def test() -> None:
        async with three() as (nodes, engines):
            app = nodes[1].apps.worker
            with pytest.raises(ApiError) as refused:
                await perform(app, call_of("StopExecution"), {"executionArn": "nonsense"})
            assert refused.value.code == "InvalidArn"
            with pytest.raises(ApiError):
                await perform(app, call_of("StopExecution"), {})
            elsewhere = execution(cell_shard(2)).replace("us-east-1", "eu-west-1")
            engines[1][0].problem = ApiError("ExecutionDoesNotExist", "no")
            with pytest.raises(ApiError, match="ExecutionDoesNotExist"):
                await perform(app, call_of("StopExecution"), {"executionArn": elsewhere})

    asyncio.run(test())


def test_starts_run_where_they_are_asked_for_unless_the_machine_needs_the_home():
    async def test() -> None:
        async with three() as (nodes, engines):
            for app, engine, machine in [
                (nodes[1].apps.worker, engines[1][0], MACHINE),
                (nodes[1].apps.worker, engines[0][1], MACHINE.replace(":m", ":limited")),
                (nodes[0].apps.home, engines[0][1], MACHINE),
                # It has no cell.
                (nodes[0].apps.worker, engines[0][1], MACHINE),
            ]:
                answer = await perform(
                    app, call_of("StartExecution", sent_by="task 1"), {"stateMachineArn": machine, "name": "n"}
                )
                assert answer == {"executionArn": execution(SHARD, "n"), "startDate": 1}
                assert engine.done.pop() == ("start", "n", "task 1")

    asyncio.run(test())


def test_what_the_home_starts_for_targets_runs_in_each_cell_in_turn():
    async def test() -> None:
        async with three() as (nodes, engines):
            home: Any = nodes[0].apps.home
            free: dict[str, Any] = {"sent_by": "target 1", "runs_anywhere": True}

            async def started(machine: str = MACHINE, **given: Any) -> list[str]:
                request = {"stateMachineArn": machine, "name": "n"}
                await perform(home, call_of("StartExecution", **given), request)
                found = [one.name for pair in engines for one in pair if one.done]
                for one in (one for pair in engines for one in pair):
                    assert one.done in ([], [("start", "n", given.get("sent_by"))])
                    one.done.clear()
                return found

            assert [await started(**free) for _ in range(4)] == [["worker b"], ["worker c"]] * 2
            # A cell without an owner, too, keeps no start.
            nodes[0].directory.rows.owners[cell_shard(3)] = "gone"
            assert sorted([await started(**free) for _ in range(3)])[::2] == [["worker b"], ["worker c"]]
            # These stay: its limit is at the home; it is of another region, which has no cells; its caller follows it.
            assert await started(MACHINE.replace(":m", ":limited"), **free) == ["home a"]
            assert await started(MACHINE.replace("us-east-1", "eu-west-1"), **free) == ["home a"]
            assert await started(sent_by="task 1") == ["home a"]
            completed = Completion(17, bytes)
            assert await started(**free, completion=completed) == ["home a"]
            nodes[0].directory.rows.owners.clear()
            assert await started(**free) == ["home a"]

    asyncio.run(test())


def test_errors_arrive_with_all_their_parts():
    async def test() -> None:
        async with three() as (nodes, engines):
            engines[2][0].problem = ApiError("Odd", "why", status=477, details={"x": [1]}, headers={"y": "z"})
            with pytest.raises(ApiError) as refused:
                await stop_at(nodes[1].apps.worker, cell_shard(2))
            error = refused.value
            assert (error.code, error.message, error.status) == ("Odd", "why", 477)
            assert (error.details, error.headers) == ({"x": [1]}, {"y": "z"})
            engines[2][0].problem = ApiError("ServiceUnavailable", "later")
            with pytest.raises(ApiError) as refused:
                await stop_at(nodes[1].apps.worker, cell_shard(2))
            assert refused.value.status == 503
            for problem in (Unavailable("down"), OwnershipLost("lost")):
                engines[2][0].problem = problem
                with pytest.raises(Unavailable, match=str(problem)):
                    await stop_at(nodes[1].apps.worker, cell_shard(2))
            engines[2][0].problem = ValueError("a bug")
            with pytest.raises(ApiError) as refused:
                await stop_at(nodes[1].apps.worker, cell_shard(2))
            assert refused.value.code == "InternalServerError"

    asyncio.run(test())


def moving(rows: Rows, shard: int, to: str) -> None:
    def move() -> None:
        rows.owners[shard] = to
        rows.changed.set()

    rows.on_wait = move


def test_a_call_follows_a_cell_that_moves_before_it_runs():
    async def test() -> None:
        async with three() as (nodes, engines):
            shard, rows = cell_shard(2), nodes[0].directory.rows
            engines[2][0].problem = lost()
            # The node that is asked believes that c has it, and c does not have it any more.
            seen = nodes[1].directory.owner_of
            nodes[2].directory.has = lambda _: False
            moving(rows, shard, "a")
            assert await stop_at(nodes[1].apps.worker, shard) == {"stopDate": 1_700_000_000_000}
            assert engines[0][0].done == [("stop", execution(shard))]
            assert seen(shard).name == "a"

    asyncio.run(test())


def test_a_call_whose_cell_leaves_this_process_follows_it():
    async def test() -> None:
        async with three() as (nodes, engines):
            shard, rows = cell_shard(1), nodes[0].directory.rows

            def leave(*_: Any) -> None:
                rows.owners[shard] = "c"
                raise lost()

            engines[1][0]._note = leave
            await stop_at(nodes[1].apps.worker, shard)
            assert engines[2][0].done == [("stop", execution(shard))]
            # A cell that comes is in the directory a moment before the engine has it, also for calls of other nodes.
            for node in nodes[2], nodes[1]:
                problems = [lost(), lost()]

                def come(*what: Any, problems: list[ElsewhereError] = problems) -> None:
                    if problems:
                        raise problems.pop()
                    engines[2][0].done.append(what)

                engines[2][0]._note = come
                await stop_at(node.apps.worker, shard)
                assert problems == []
            assert engines[2][0].done == [("stop", execution(shard))] * 3

    asyncio.run(test())


def alone(shard_owner: str | None, test: Any) -> None:
    """Run a test at one node in virtual time, where another one, or none, has the cell."""

    async def main(clock: VirtualClock) -> None:
        rows = Rows(clock, home="x")
        if shard_owner is not None:
            rows.owners[SHARD] = shard_owner
            rows.peers[shard_owner] = Peer(shard_owner, "http://127.0.0.1:9", 1)
        node = Node(rows, "n")
        placed(node, has_home=False)
        await test(node, clock)

    run_virtual(main)


def test_without_an_owner_a_call_waits_and_is_refused():
    async def test(node: Node, clock: VirtualClock) -> None:
        before_ms = clock.now_ms()
        with pytest.raises(ApiError) as refused:
            await stop_at(node.apps.worker, SHARD, headers=CLIENT)
        assert (refused.value.code, refused.value.status) == ("ServiceUnavailable", 503)
        assert clock.now_ms() - before_ms == OWNER_MS
        with pytest.raises(Unavailable, match="No node has"):
            await stop_at(node.apps.worker, SHARD)

    alone(None, test)


class Silent(NodeClient):
    """A client whose calls have these outcomes, one after the other."""

    outcomes: list[Any]
    asked = 0

    async def call(self, *_: Any) -> Any:
        self.asked += 1
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def test_an_owner_that_never_answers_is_asked_until_the_time_is_over():
    async def test(node: Node, clock: VirtualClock) -> None:
        client = Silent(b"", "n", clock)
        client.outcomes = [NotSent("refused")]
        node.apps.worker.around._client = client  # type: ignore[union-attr]
        before_ms = clock.now_ms()
        with pytest.raises(ApiError, match=NO_OWNER):
            await stop_at(node.apps.worker, SHARD, headers=CLIENT)
        assert clock.now_ms() - before_ms == OWNER_MS
        assert client.asked > 8

    alone("o", test)


@pytest.mark.parametrize(
    ("operation", "given", "times"),
    [
        ("SendTaskHeartbeat", {}, 2),
        # The repeat would be refused, because the token has been used.
        ("SendTaskSuccess", {}, 1),
        ("SendTaskSuccess", {"completion": Completion(1, lambda _: b""), "sent_by": "t"}, 1),
    ],
)
def test_an_unanswered_call_is_repeated_if_that_does_no_harm(operation, given, times):
    async def test(node: Node, clock: VirtualClock) -> None:
        client = Silent(b"", "n", clock)
        client.outcomes = [Unanswered("cut"), (200, b"0123456789abcdef" + b"%016x" % 2 + b"{}")]
        node.apps.worker.around._client = client  # type: ignore[union-attr]
        request = {"taskToken": token(SHARD)} | ({"output": "1"} if operation == "SendTaskSuccess" else {})
        running = perform(cast("App", node.apps.worker), call_of(operation, **given), request)
        if times == 2:
            assert await running == {}
        else:
            with pytest.raises(Unavailable, match="may have had its effect"):
                await running
        assert client.asked == times

    alone("o", test)


def test_an_unanswered_call_that_could_do_harm_is_refused():
    async def test() -> None:
        async with three() as (nodes, _), silent() as port:
            rows = nodes[0].directory.rows
            rows.peers["gone"] = Peer("gone", f"http://127.0.0.1:{port}", 1)
            rows.owners[cell_shard(3)] = "gone"
            request = {"executionArn": execution(cell_shard(3))}
            with pytest.raises(ApiError, match=UNANSWERED):
                await perform(nodes[1].apps.worker, call_of("RedriveExecution", headers=CLIENT), request)

    asyncio.run(test())


# ------------------------------------------------------------------ other services


def other_service(monkeypatch: pytest.MonkeyPatch, function: Any) -> None:
    """Have one function run all operations, without validation."""
    monkeypatch.setattr(operations, "find", lambda *_: function)
    monkeypatch.setattr(shapes, "validator", lambda *_, **__: lambda given: given)


def test_bytes_and_streams_of_other_services(monkeypatch):
    async def echo(app: App, call: Call, request: Any) -> Any:
        body = b"".join([piece async for piece in request["Body"]])

        async def pieces() -> Any:
            yield body[:1]
            yield body[1:]

        return {
            "at": name_of(app), "Body": pieces(), "raw": request["raw"], "big": request["big"],
            "host": dict(call.headers),
        }  # fmt: skip

    other_service(monkeypatch, echo)

    async def once(content: bytes) -> Any:
        yield content

    async def test() -> None:
        async with three() as (nodes, _):
            content = bytes(range(256)) * 1000
            request = {
                "Body": Upload(once(content), len(content)), "raw": [b"\0", {"x": b""}], "big": 10**30,
            }  # fmt: skip
            call = call_of("PutObject", "s3", headers={"host": "h", "authorization": "secret"})
            answer = await perform(nodes[1].apps.worker, call, request)
            assert answer == {
                "at": "home a", "Body": content, "raw": [b"\0", {"x": b""}], "big": 10**30, "host": {"host": "h"},
            }  # fmt: skip

    asyncio.run(test())


@pytest.mark.parametrize("size", [0, 1, RANGE_BYTES, RANGE_BYTES + 1, 2 * RANGE_BYTES + 5])
def test_a_worker_reads_objects_of_the_home_in_ranges(monkeypatch, size):
    content = random.Random(1).randbytes(size)
    asked: list[Any] = []

    async def get_object(app: App, _call: Call, request: Any) -> Any:
        asked.append(request)
        if name_of(app) != "home a":
            raise AssertionError("only the home has objects")
        if "Range" not in request:
            return {"ETag": "e", "Body": content, "ContentLength": size}
        if not content:
            raise ApiError("InvalidRange", "none")
        begin, end = map(int, request["Range"].removeprefix("bytes=").split("-"))
        body = content[begin : end + 1]
        span = f"bytes {begin}-{begin + len(body) - 1}/{size}"
        return {"ETag": "e", "Body": body, "ContentLength": len(body), "ContentRange": span}

    other_service(monkeypatch, get_object)

    async def test() -> None:
        async with three() as (nodes, _):
            answer = await perform(nodes[1].apps.worker, call_of("GetObject", "s3"), {"Bucket": "b"})
            body = answer["Body"]
            whole = body if isinstance(body, bytes) else b"".join([piece async for piece in body])
            assert whole == content
            assert {name: value for name, value in answer.items() if name != "Body"} == {
                "ETag": "e", "ContentLength": size,
            }  # fmt: skip
            assert [one.get("IfMatch") for one in asked[1:]] == ["e"] * (-(-size // RANGE_BYTES) - 1) or size == 0
            asked.clear()
            local = await perform(nodes[0].apps.worker, call_of("GetObject", "s3"), {"Bucket": "b"})
            assert (local["Body"], asked) == (content, [{"Bucket": "b"}])

    asyncio.run(test())


def test_a_result_by_token_reaches_a_cell_elsewhere():
    async def test() -> None:
        async with three() as (nodes, engines):

            async def states(name: str, request: Any, _sent_by: Any = None, _completion: Any = None) -> Any:
                return await perform(nodes[0].apps.home, call_of(name), request)

            answers = AnswersAnywhere(
                cast("Any", engines[0][1]), cast("Any", states), nodes[0].apps, nodes[0].directory
            )
            for shard, engine in ((0, engines[0][1]), (cell_shard(2), engines[2][0])):
                await answers.task_succeeded(token(shard), "1")
                assert engine.done == [("succeeded", token(shard), "1", None)]

    asyncio.run(test())


def test_invocations_that_wait_run_at_the_worker_and_events_at_the_home(monkeypatch):
    async def where(app: App, _call: Call, _request: Any) -> Any:
        return {"at": name_of(app)}

    other_service(monkeypatch, where)

    async def test() -> None:
        async with three() as (nodes, _):
            for request, at in (
                ({"FunctionName": "f"}, "worker b"),
                ({"FunctionName": "f", "InvocationType": "RequestResponse"}, "worker b"),
                ({"FunctionName": "f", "InvocationType": "Event"}, "home a"),
            ):
                answer = await perform(nodes[1].apps.worker, call_of("Invoke", "lambda"), request)
                assert answer == {"at": at}
            # Two calls with one id, as those of one task are: each is decided by itself.
            calls = [perform(nodes[at].apps.worker, call_of("PutItem", "dynamodb"), {}) for at in (0, 0, 1)]
            assert await asyncio.gather(*calls) == [{"at": "home a"}] * 3

    asyncio.run(test())


def test_a_long_poll_ends_at_the_home_when_its_caller_leaves(monkeypatch):
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait(_app: App, _call: Call, _request: Any) -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    other_service(monkeypatch, wait)
    monkeypatch.setattr(serving, "waits_for_events", lambda *_: True)

    async def test() -> None:
        async with three() as (nodes, _):
            polling = asyncio.ensure_future(perform(nodes[1].apps.worker, call_of("GetActivityTask"), {}))
            await begun.wait()
            polling.cancel()
            await ended.wait()

    asyncio.run(test())
