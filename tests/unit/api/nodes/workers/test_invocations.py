"""Invocations that the home has admitted: the least busy node runs the next one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from statewright.api.nodes.peers import Peer
from statewright.api.nodes.workers.invocations import SpreadInvocations
from statewright.config import Config
from statewright.errors import ApiError, Unavailable
from statewright.functions.invoke import Invocation, Target
from statewright.functions.outcomes import Invoked
from statewright.stores.ids import cell_shard
from tests.unit.api.apps import app_of
from tests.unit.api.nodes.cluster import Node, cluster, silent

ARN = "arn:aws:lambda:us-east-1:000000000000:function:f:live"


class FakeInvoker:
    """Notes the invocations that it runs, and answers once a test lets it."""

    def __init__(self) -> None:
        self.ran: list[tuple[Target, Invocation]] = []
        self.free = asyncio.Event()
        self.free.set()
        self.problem: BaseException | None = None
        self.pools = SimpleNamespace(closed=False)

    async def resolve(self, name: str, qualifier: str | None) -> Target:
        return target_of(f"{name}:{qualifier}", name, str(qualifier))

    async def run_here(self, target: Target, call: Invocation) -> Invoked:
        self.ran.append((target, call))
        await self.free.wait()
        if self.problem is not None:
            raise self.problem
        log = b"\xff a line" if call.log_tail else None
        return Invoked(200, call.payload, "Unhandled", log, target.version, call.request_id)


def target_of(arn: str = ARN, name: str = "f", version: str = "7") -> Target:
    settings: Any = None
    return Target(name, version, settings, arn, 3_000, b"")


class Rig:
    """Nodes a, b and c with a cell each; a has the home."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.rows = nodes[0].directory.rows
        self.rows.owners.update({cell_shard(9 - place): node.name for place, node in enumerate(nodes)})
        self.invokers = [FakeInvoker() for _ in nodes]
        self.home = self.invokers[0]
        for node, invoker in zip(nodes, self.invokers, strict=True):
            node.apps.worker = app_of(functions=SimpleNamespace(invoker=invoker))
        self.spread = SpreadInvocations(Config(), nodes[0].directory, nodes[0].client, "a")

    async def invoke(self, payload: bytes = b"1", *, target: Target | None = None, **given: Any) -> Invoked:
        chosen, call = target or target_of(), Invocation(payload, "r-1", **given)
        return await self.spread(chosen, call, lambda: self.home.run_here(chosen, call))

    def counts(self) -> list[int]:
        return [len(one.ran) for one in self.invokers]

    def under_way(self, *payloads: bytes) -> list[asyncio.Task[Invoked]]:
        return [asyncio.ensure_future(self.invoke(payload)) for payload in payloads]

    async def until(self, counts: list[int]) -> None:
        while self.counts() != counts:
            await asyncio.sleep(0)


@asynccontextmanager
async def three() -> AsyncIterator[Rig]:
    async with cluster("a", "b", "c") as nodes:
        yield Rig(nodes)


@asynccontextmanager
async def busy() -> AsyncIterator[Rig]:
    """With one invocation under way at the home, so that the next one leaves it."""
    async with three() as rig:
        rig.home.free.clear()
        (first,) = rig.under_way(b"first")
        await rig.until([1, 0, 0])
        yield rig
        rig.home.free.set()
        await first


def test_those_under_way_are_spread_over_the_nodes_and_one_at_a_time_stays():
    async def test() -> None:
        async with three() as rig:
            for _ in range(3):
                await rig.invoke()
            assert rig.counts() == [3, 0, 0]
            for invoker in rig.invokers:
                invoker.free.clear()
            running = rig.under_way(*[b"%d" % number for number in range(7)])
            await rig.until([6, 2, 2])
            for invoker in rig.invokers:
                invoker.free.set()
            assert [one.payload for one in await asyncio.gather(*running)] == [b"%d" % number for number in range(7)]
            await rig.invoke()
            assert rig.counts() == [7, 2, 2]

    asyncio.run(test())


def test_all_parts_of_an_invocation_and_its_answer_arrive():
    async def test() -> None:
        async with busy() as rig:
            done = await rig.invoke(
                b'{"a": 1}', client_context={"custom": {"x": 1}}, trace_header="Root=1", log_tail=True
            )
            ((target, call),) = rig.invokers[1].ran
            # Its handler sees the alias by which it was called.
            assert (target.name, target.version, target.arn) == ("f", "7", ARN)
            assert call == Invocation(b'{"a": 1}', "r-1", {"custom": {"x": 1}}, "Root=1", True)
            assert done == Invoked(200, b'{"a": 1}', "Unhandled", b"\xff a line", "7", "r-1")

    asyncio.run(test())


def test_refusals_and_outages_of_a_node_are_those_of_the_call():
    async def test() -> None:
        async with busy() as rig:
            rig.invokers[1].problem = ApiError("InvalidRuntimeException", "no", status=502, details={"Type": "User"})
            with pytest.raises(ApiError) as refused:
                await rig.invoke()
            error = refused.value
            assert (error.code, error.message, error.status, error.details) == (
                "InvalidRuntimeException", "no", 502, {"Type": "User"},
            )  # fmt: skip
            rig.invokers[1].problem = Unavailable("the database does not answer")
            with pytest.raises(Unavailable):
                await rig.invoke()

    asyncio.run(test())


def test_what_a_node_that_is_gone_was_running_runs_again_at_the_home():
    async def test() -> None:
        async with busy() as rig, silent() as port:
            rig.rows.peers["b"] = Peer("b", f"http://127.0.0.1:{port}", 1)
            (lost,) = rig.under_way(b"2")
            await rig.until([2, 0, 0])
            rig.rows.peers["b"] = Peer("b", "http://127.0.0.1:1", 1)
            (unreached,) = rig.under_way(b"3")
            await rig.until([3, 0, 0])
            rig.home.free.set()
            assert [(await one).payload for one in (lost, unreached)] == [b"2", b"3"]

    asyncio.run(test())


@pytest.mark.parametrize("problem", [None, asyncio.CancelledError()], ids=["its handlers ended", "its calls ended"])
def test_what_a_node_that_stops_was_running_runs_again_at_the_home(problem):
    async def test() -> None:
        async with busy() as rig:
            rig.invokers[1].free.clear()
            (ended,) = rig.under_way(b"2")
            await rig.until([1, 1, 0])
            rig.invokers[1].problem = problem
            rig.invokers[1].pools.closed = True
            rig.invokers[1].free.set()
            await rig.until([2, 1, 0])
            rig.home.free.set()
            assert (await ended).payload == b"2"

    asyncio.run(test())


def test_a_node_that_has_no_worker_or_is_of_an_older_version_runs_none(monkeypatch):
    async def test() -> None:
        async with busy() as rig:
            rig.home.free.set()
            rig.nodes[1].apps.worker = None
            await rig.invoke()
            monkeypatch.setattr(rig.nodes[1].calls, "_answers", {})
            await rig.invoke()
            assert rig.counts() == [3, 0, 0]

    asyncio.run(test())


def test_other_regions_stay_and_nodes_without_cells_get_none():
    async def test() -> None:
        async with three() as rig:
            rig.home.free.clear()
            elsewhere = target_of(ARN.replace("us-east-1", "eu-west-1"))
            there = [asyncio.ensure_future(rig.invoke(target=elsewhere)) for _ in range(3)]
            await rig.until([3, 0, 0])
            rig.rows.owners = {cell_shard(1): "a"}
            here = rig.under_way(b"1", b"2")
            await rig.until([5, 0, 0])
            rig.home.free.set()
            await asyncio.gather(*there, *here)

    asyncio.run(test())
